import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from annotation.local import postgres, redis
from annotation.local.folders import private_folder
from benchmarks.stack import delete_folder
from tests.services import end, spawn, wait_until

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another account")


def as_nobody(action: Callable[[], object]) -> str:
    """Run `action` in a child that has become `nobody`; return its result or its error's name."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        nobody = pwd.getpwnam("nobody")
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)
        try:
            answer = str(action())
        except BaseException as error:  # noqa: BLE001 (the answer is the error)
            answer = type(error).__name__
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give a folder that every account can enter: nothing above the data hides it."""
    folder = Path(tempfile.mkdtemp(prefix="attune-open-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@dataclass
class Services:
    """A running database and a running Redis below a deep and long path of open folders."""

    data: Path
    cluster: postgres.Cluster
    postgres: subprocess.Popen
    redis: subprocess.Popen
    modes_before: dict[Path, int]


@pytest.fixture(scope="module")
def services() -> Iterator[Services]:
    top = Path(tempfile.mkdtemp(prefix="attune-deep-"))
    data = top / ("a folder with a very long name " * 3) / ("deeper " * 9) / "var"
    data.parent.mkdir(parents=True)
    parents = [path for path in data.parents if top in {path, *path.parents}]
    for path in parents:
        path.chmod(0o755)
    modes = {path: path.stat().st_mode for path in [*parents, top.parent]}
    log = private_folder(data / "log")
    cluster = postgres.cluster(data)
    database = spawn(cluster.program(), log / "postgres.log")
    program = redis.program(data)
    broker = spawn(program, log / "redis.log")
    wait_until(lambda: postgres.is_ready(cluster), database, log / "postgres.log")
    postgres.provision(cluster)
    wait_until(lambda: redis.is_ready(data), broker, log / "redis.log")
    yield Services(data, cluster, database, broker, modes)
    end(broker, program)
    end(database, cluster.program())
    for folder in (cluster.home, redis.socket_folder(data), top):
        delete_folder(folder)
