# As the image's: settings from the environment, listening on port 5432.
set -eu
umask 077
folder=$(mktemp -d)
rest=${DATABASE_URL#postgresql://}
user=${rest%%:*}
rest=${rest#*:}
password=${rest%%@*}
rest=${rest#*@}
server=${rest%%:*}
echo "\"$user\" \"$password\"" >"$folder/users"
cat >"$folder/pgbouncer.ini" <<END
[databases]
* = host=$server port=5432
[pgbouncer]
listen_addr = *
listen_port = 5432
auth_file = $folder/users
auth_type = $AUTH_TYPE
pool_mode = $POOL_MODE
default_pool_size = $DEFAULT_POOL_SIZE
max_client_conn = $MAX_CLIENT_CONN
ignore_startup_parameters = $IGNORE_STARTUP_PARAMETERS
END
chown -R postgres-wheel "$folder"
exec setpriv --reuid=postgres-wheel --regid=postgres-wheel --clear-groups pgbouncer "$folder/pgbouncer.ini"
