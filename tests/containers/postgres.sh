# As the image's: a new volume gets a cluster and the scripts of /docker-entrypoint-initdb.d.
set -eu
export PGDATA=/var/lib/postgresql/18/docker
if [ "$(id -u)" = 0 ]; then
    mkdir -p -m 0700 "$PGDATA"
    chown -R postgres-wheel /var/lib/postgresql
    exec setpriv --reuid=postgres-wheel --regid=postgres-wheel --clear-groups sh "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    printf %s "$POSTGRES_PASSWORD" >/tmp/password
    # The options are words.
    initdb -U "$POSTGRES_USER" --pwfile=/tmp/password --encoding=UTF8 \
        --locale-provider=builtin --builtin-locale=C.UTF-8 --locale=C $POSTGRES_INITDB_ARGS
    rm /tmp/password
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    pg_ctl -o "-c listen_addresses=" -w start
    export PGPASSWORD=$POSTGRES_PASSWORD PGUSER=$POSTGRES_USER
    createdb "$POSTGRES_DB"
    for script in /docker-entrypoint-initdb.d/*.sql; do psql -d "$POSTGRES_DB" -f "$script"; done
    pg_ctl -m fast -w stop
fi
exec "$@" -c "listen_addresses=*"
