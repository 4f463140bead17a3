"""The embedded database and broker: closed to every other account, and they keep what they got."""

import os
import pwd
import signal
import socket
import stat
from pathlib import Path

import psycopg
import pytest
import redis as redis_client
from redis.backoff import NoBackoff
from redis.retry import Retry

from annotation.local import postgres, redis
from annotation.local.folders import LocalServiceError, private_folder, socket_folder, write_private
from tests.local.conftest import as_nobody, needs_root
from tests.services import end, spawn, wait_until


def connect(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


def files_of(services) -> list[Path]:
    roots = {services.data, services.cluster.home, socket_folder(services.data)}
    return [path for root in roots for path in (root, *root.rglob("*"))]


@needs_root
def test_another_account_reaches_no_socket_and_reads_nothing_of_the_data_folder(services):
    redis_socket = socket_folder(services.data) / "redis.sock"
    for path in (services.cluster.sockets / ".s.PGSQL.5432", redis_socket):
        connect(path)
        assert as_nobody(lambda path=path: connect(path)) == "PermissionError"
    for folder in (services.data, services.cluster.home):
        assert as_nobody(lambda folder=folder: os.listdir(folder)) == "PermissionError"
    secret = services.data / "secrets" / "postgres_attune"
    assert as_nobody(secret.read_text) == "PermissionError"


def test_no_file_or_folder_is_open_to_others(services):
    modes = {path: path.lstat().st_mode for path in files_of(services)}
    assert len(modes) > 500
    assert [path for path, mode in modes.items() if not stat.S_ISLNK(mode) and mode & 0o077] == []


def test_folders_above_the_data_keep_their_modes(services):
    assert {path: path.stat().st_mode for path in services.modes_before} == services.modes_before


def test_the_database_lets_nobody_in_without_the_password(services):
    parts = {"host": str(services.cluster.sockets), "dbname": "attune"}
    for user in ("attune", "postgres"):
        for password in (None, "", "attune", "postgres"):
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(**parts, user=user, password=password)


def test_every_login_rule_of_the_database_asks_for_scram(services):
    with postgres._superuser(services.cluster, "postgres") as connection:
        rules = connection.execute("SELECT DISTINCT auth_method FROM pg_hba_file_rules")
        assert rules.fetchall() == [("scram-sha-256",)]


def test_the_application_is_no_superuser_and_has_vectors(services):
    with psycopg.connect(services.cluster.url()) as connection:
        rights = connection.execute(
            "SELECT rolsuper, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = current_user"
        )
        assert rights.fetchone() == (False, False, True)
        distance = connection.execute("SELECT '[0,3]'::vector <-> '[4,0]'::vector")
        assert distance.fetchone() == (5.0,)


def test_the_database_is_durable_and_has_no_port(services):
    wanted = {
        "data_checksums": "on",
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "listen_addresses": "",
        "password_encryption": "scram-sha-256",
    }
    with psycopg.connect(services.cluster.url()) as connection:
        found = connection.execute(
            "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [list(wanted)]
        )
        assert dict(found.fetchall()) == wanted


def test_a_failing_statement_leaves_no_text_in_the_log(services):
    with psycopg.connect(services.cluster.url(), autocommit=True) as connection:
        connection.execute("CREATE TEMPORARY TABLE words (word text PRIMARY KEY)")
        connection.execute("INSERT INTO words VALUES ('a private thought')")
        with pytest.raises(psycopg.errors.UniqueViolation, match="private thought"):
            connection.execute("INSERT INTO words VALUES ('a private thought')")
    log = (services.data / "log" / "postgres.log").read_text()
    assert "duplicate key" in log
    assert "private thought" not in log


def test_redis_has_a_password_no_port_and_keeps_its_log(services):
    path = str(socket_folder(services.data) / "redis.sock")
    with pytest.raises(redis_client.AuthenticationError):
        redis_client.Redis(unix_socket_path=path, retry=Retry(NoBackoff(), 0)).ping()
    with redis_client.Redis.from_url(redis.url(services.data), decode_responses=True) as client:
        settings = client.config_get()
    wanted = {
        "port": "0",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "maxmemory-policy": "noeviction",
        "unixsocketperm": "700",
    }
    assert {name: settings[name] for name in wanted} == wanted


def test_no_password_is_among_a_process_arguments(services):
    secrets = [path.read_text().strip() for path in (services.data / "secrets").iterdir()]
    assert len(secrets) == 3
    for process in (services.postgres, services.redis):
        line = Path(f"/proc/{process.pid}/cmdline").read_text()
        assert not [secret for secret in secrets if secret in line]


def test_a_running_database_is_not_started_twice(services, monkeypatch):
    monkeypatch.setattr(postgres, "ENDING_SECONDS", 0.2)
    with pytest.raises(LocalServiceError) as caught:
        postgres.cluster(services.data)
    assert str(caught.value) == (
        f"The database in {services.cluster.data} is already being served by process "
        f"{services.postgres.pid}: stop that server first."
    )


def test_a_killed_database_starts_again_with_every_committed_row(services):
    with psycopg.connect(services.cluster.url()) as connection:
        connection.execute("CREATE TABLE votes AS SELECT generate_series(1, 1000) AS id")
    services.postgres.send_signal(signal.SIGKILL)
    services.postgres.wait()
    assert (services.cluster.data / "postmaster.pid").exists()
    log = services.data / "log" / "postgres.log"
    again = postgres.cluster(services.data)
    services.postgres = spawn(again.program(), log)
    wait_until(lambda: postgres.is_ready(again), services.postgres, log)
    with psycopg.connect(again.url()) as connection:
        assert connection.execute("SELECT count(*) FROM votes").fetchone() == (1000,)


def test_a_lost_password_of_the_application_is_made_anew_at_the_next_start(services):
    (services.data / "secrets" / "postgres_attune").unlink()
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(services.cluster.url())
    postgres.provision(services.cluster)
    with psycopg.connect(services.cluster.url()) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_lost_password_of_the_superuser_is_named(services):
    secret = services.data / "secrets" / "postgres_superuser"
    kept = secret.read_text()
    secret.unlink()
    try:
        with pytest.raises(LocalServiceError) as caught:
            postgres.provision(services.cluster)
    finally:
        write_private(secret, kept)
    assert str(caught.value) == (
        f"The database in {services.cluster.home} refuses the password in {secret}: "
        "restore that file from a backup."
    )


def test_a_stale_pid_that_now_belongs_to_another_program_is_cleared(tmp_path):
    tmp_path.joinpath("data").mkdir()
    stale = tmp_path / "data" / "postmaster.pid"
    stale.write_text(f"{os.getpid()}\n/somewhere\n")
    cluster = postgres.Cluster(tmp_path, tmp_path, tmp_path, None, tmp_path)
    postgres._check_not_running(cluster)
    assert not stale.exists()


@needs_root
def test_an_ordinary_account_runs_the_database_by_itself(open_folder):
    """The way without root: everything lies in the data folder, nothing outside is made."""
    if as_nobody(postgres.wheel_binaries().stat) == "PermissionError":
        pytest.skip("the virtual environment lies in a folder that only root can enter")
    data = open_folder / "var"
    data.mkdir(mode=0o700)
    os.chown(data, pwd.getpwnam("nobody").pw_uid, -1)
    assert as_nobody(lambda: version_from_a_new_cluster(data)) == "PostgreSQL 18.4"
    assert {path.name for path in data.iterdir()} == {"log", "postgres", "run", "secrets"}
    assert [path for path in data.rglob("*") if path.stat().st_mode & 0o077] == []


def version_from_a_new_cluster(data: Path) -> str:
    log = private_folder(data / "log") / "postgres.log"
    cluster = postgres.cluster(data)
    process = spawn(cluster.program(), log)
    wait_until(lambda: postgres.is_ready(cluster), process, log)
    postgres.provision(cluster)
    with psycopg.connect(cluster.url()) as connection:
        found = connection.execute("SELECT version()").fetchone()[0]
    end(process, cluster.program())
    return " ".join(found.split()[:2])
