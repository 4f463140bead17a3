"""One PostgreSQL and one Redis for a whole run of the suite, from the wheels.

The run's first process starts them before Django's settings are loaded; the workers of pytest-xdist
inherit the environment. A DATABASE_URL or REDIS_URL that is set already is used instead.
"""

import atexit
import os
import tempfile
from pathlib import Path

from annotation.local import postgres, redis
from annotation.local.folders import private_folder
from annotation.local.process import Program, spawn
from annotation.local.process import stop as stop_process
from benchmarks.folders import delete_folder

# A crash of the machine may lose the test database: nothing waits for the disk.
FAST = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "300",
}

_running: list[tuple[object, Program]] = []
_folders: list[Path] = []


def start_for_tests() -> dict[str, str]:
    """Start what the environment does not name; return the variables to add to it.

    ATTUNE_DATA is a private temporary folder, unless it is set: the suite never touches `var`.
    """
    atexit.register(stop)
    data = Path(tempfile.mkdtemp(prefix="attune-test-"))
    _folders.append(data)
    log = private_folder(data / "log")
    found = {} if os.environ.get("ATTUNE_DATA") else {"ATTUNE_DATA": str(data)}
    if not os.environ.get("DATABASE_URL"):
        found["DATABASE_URL"] = _start_postgres(data, log / "postgres.log")
    if not os.environ.get("REDIS_URL"):
        program = redis.program(data)
        process = spawn(program, log / "redis.log")
        _running.append((process, program))
        redis.wait_ready(data, process, log / "redis.log")
        found["REDIS_URL"] = redis.url(data)
    return found


def stop() -> None:
    """End what was started and delete its folders; a second call does nothing."""
    while _running:
        stop_process(*_running.pop())
    while _folders:
        delete_folder(_folders.pop())


def _start_postgres(data: Path, log: Path) -> str:
    cluster = postgres.cluster(data)
    if cluster.home != data / "postgres":
        _folders.append(cluster.home)  # started by root: it lies elsewhere
    program = cluster.program(FAST)
    process = spawn(program, log)
    _running.append((process, program))
    postgres.wait_ready(cluster, process, log)
    return cluster.url()
