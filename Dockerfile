# One image for web, worker and beat; docker-compose.yml starts the three. Everything in it is
# Debian's or PyPI's. Pin the base with BASE=debian@sha256:… .
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS packages
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3-venv tzdata
COPY locks/server.lock /
COPY annotation/local/slim.sh /
RUN python3 -m venv /opt/attune \
    && /opt/attune/bin/pip install --no-cache-dir --no-compile --only-binary :all: --require-hashes -r /server.lock \
    && sh /slim.sh /opt/attune server
COPY attune manage.py /app/
COPY annotation /app/annotation
COPY templates /app/templates
COPY static /app/static
COPY locale /app/locale
COPY demo /app/demo
# A read-only root cannot keep compiled modules, so what a start loads is compiled here; by their
# content, not their date, these are the same in every build.
RUN cd /app && export PATH=/opt/attune/bin:$PATH ATTUNE_DATA=/tmp PYTHONHASHSEED=0 \
    && python -m annotation.core.made && find locale -name "*.po" -delete \
    && python manage.py check \
    && python -c "import celery.bin.worker, celery.beat, gunicorn.app.wsgiapp, gunicorn.workers.gthread" \
    && find /app /opt/attune -name '*.pyc' | sed 's#__pycache__/\(.*\)\.cpython-.*#\1.py#' | LC_ALL=C sort > /compiled \
    && find /app /opt/attune -name __pycache__ -prune -exec rm -rf {} + \
    && python -m compileall -q --invalidation-mode unchecked-hash -i /compiled annotation

FROM ${BASE}
# The fonts are for PNG figures; the second has Chinese and Korean.
RUN apt-get update && apt-get install -y --no-install-recommends \
        ca-certificates fonts-dejavu-core fonts-droid-fallback python3 tzdata \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin attune \
    && install -d -o attune -g attune -m 0700 /data \
    && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* /etc/passwd- /etc/group- /etc/shadow- /etc/gshadow- \
        /usr/share/doc/* /usr/share/man/*
# The code belongs to root and is only read; the account owns nothing but its data.
COPY --from=packages /opt/attune /opt/attune
COPY --from=packages /app /app
ENV PATH=/opt/attune/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    ATTUNE_DATA=/data
WORKDIR /app
USER attune
VOLUME /data
EXPOSE 8000

CMD ["gunicorn", "--config", "annotation/local/gunicorn.conf.py", "--bind", "0.0.0.0:8000"]
