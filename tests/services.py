"""One PostgreSQL and one Redis for a whole run of the suite, from the wheels.

Their addresses are in the environment before Django's settings are loaded; they are started when a
test that is going to run needs them. A DATABASE_URL or REDIS_URL that is set already is used
instead.
"""

import atexit
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from annotation.local import postgres, redis
from annotation.local.folders import private_folder
from annotation.local.process import Program, tail
from benchmarks.stack import delete_folder

SECONDS = 60

# A crash of the machine may lose the test database: nothing waits for the disk.
FAST = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "300",
}

_waiting: list[Callable[[], None]] = []
_running: list[tuple[subprocess.Popen, Program]] = []
_folders: list[Path] = []


def announce() -> dict[str, str]:
    """What to add to the environment: the addresses of services that ``start`` starts.

    ATTUNE_DATA is a private temporary folder, unless it is set: the suite never touches `var`.
    """
    atexit.register(stop)
    data = Path(tempfile.mkdtemp(prefix="attune-test-"))
    _folders.append(data)
    log = private_folder(data / "log")
    found = {} if os.environ.get("ATTUNE_DATA") else {"ATTUNE_DATA": str(data)}
    if not os.environ.get("DATABASE_URL"):
        cluster = postgres.locate(data)
        if cluster.home != data / "postgres":
            _folders.append(cluster.home)  # started by root: it lies elsewhere
        found["DATABASE_URL"] = cluster.url()
        _waiting.append(partial(_start_postgres, data, log / "postgres.log"))
    if not os.environ.get("REDIS_URL"):
        found["REDIS_URL"] = redis.url(data)
        _waiting.append(partial(_start_redis, data, log / "redis.log"))
    return found


def start() -> None:
    """Start what was announced; a second call does nothing."""
    while _waiting:
        _waiting.pop(0)()


def spawn(program: Program, log: Path) -> subprocess.Popen:
    """Start `program` in a session of its own; what it prints goes to `log`, for this account."""
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as output:
        return subprocess.Popen(
            program.command(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=program.cwd,
            umask=0o077,
            start_new_session=True,
        )


def wait_until(serves: Callable[[], bool], process: subprocess.Popen, log: Path) -> None:
    """Wait until a server serves; AssertionError with its last words where it ends instead."""
    deadline = time.monotonic() + SECONDS
    while not serves():
        assert process.poll() is None and time.monotonic() < deadline, tail(log)
        time.sleep(0.05)


def end(process: subprocess.Popen, program: Program) -> None:
    """Ask a server to end, and kill it where it does not."""
    process.send_signal(program.stop_signal)
    try:
        process.wait(program.stop_seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def stop() -> None:
    """End what was started and delete its folders; a second call does nothing."""
    while _running:
        end(*_running.pop())
    while _folders:
        delete_folder(_folders.pop())


def _start_postgres(data: Path, log: Path) -> None:
    cluster = postgres.cluster(data)
    program = cluster.program(FAST)
    process = spawn(program, log)
    _running.append((process, program))
    wait_until(lambda: postgres.is_ready(cluster), process, log)
    postgres.provision(cluster)


def _start_redis(data: Path, log: Path) -> None:
    program = redis.program(data)
    process = spawn(program, log)
    _running.append((process, program))
    wait_until(lambda: redis.is_ready(data), process, log)
