"""Programs forked from one process that has imported what they share."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from annotation.local.forkserver import ForkServer
from annotation.local.process import Adopted, Program, pause, stop

REPOSITORY = Path(__file__).parents[2]
SLEEP = "import time; time.sleep(600)"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fork server needs Linux")


class Server:
    """A fork server that has imported `colorsys`, and what this test has it fork."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.forks = ForkServer()
        self.started: list[Adopted] = []
        argv = [sys.executable, "-m", "annotation.local.forkserver", "colorsys"]
        program = Program("forkserver", argv, {**os.environ, "WORD": "shared"}, cwd=REPOSITORY)
        self.process = self.forks.start(program, folder / "forkserver.log")
        while not self.forks.is_ready():
            assert self.process.poll() is None, (folder / "forkserver.log").read_text()
            pause()

    def fork(self, statement: str) -> Adopted | None:
        """Run a statement once in a forked process."""
        argv = [sys.executable, "-m", "timeit", "-n1", "-r1", statement]
        process = self.forks.fork(Program("forked", argv), self.folder / "forked.log")
        if process:
            self.started.append(process)
        return process


@pytest.fixture
def server(tmp_path) -> Iterator[Server]:
    running = Server(tmp_path)
    yield running
    for process in [running.process, *running.started]:
        process.kill()
        process.wait(10)


def test_a_program_runs_with_its_words_in_its_log_and_ends_as_it_says(server):
    statement = (
        "import os, sys; print('colorsys' in sys.modules, os.environ['WORD'], os.getppid(),"
        " os.getsid(0) == os.getpid(), os.read(0, 1),"
        " flush=True); os._exit(3)"
    )
    process = server.fork(statement)
    assert process.wait(60) == process.poll() == 3
    log = server.folder / "forked.log"
    assert log.read_text() == f"True shared {os.getpid()} True b''\n"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_signal_reaches_one_program_and_neither_the_server_nor_another(server):
    first, second = server.fork(SLEEP), server.fork(SLEEP)
    first.send_signal(signal.SIGKILL)
    assert first.wait(60) == -signal.SIGKILL
    first.send_signal(signal.SIGKILL)  # to nobody
    assert (second.poll(), server.process.poll()) == (None, None)
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(0.05)
    stop(second, Program("forked", []))
    assert second.returncode == -signal.SIGTERM


def test_programs_outlive_the_server_and_none_is_started_without_it(server):
    process = server.fork(SLEEP)
    server.process.kill()
    server.process.wait(60)
    assert server.fork(SLEEP) is None
    assert not server.forks.is_ready()
    assert process.poll() is None
    assert psutil.Process(process.pid).ppid() == os.getpid()


def test_the_server_ends_when_nobody_can_ask_it_any_more(server):
    server.forks.connection.close()
    assert server.process.wait(60) == 0


def test_a_server_that_cannot_import_is_never_ready(tmp_path):
    forks = ForkServer()
    argv = [sys.executable, "-m", "annotation.local.forkserver", "no_such_module"]
    program = Program("forkserver", argv, {**os.environ}, cwd=REPOSITORY)
    process = forks.start(program, tmp_path / "log")
    assert process.wait(60) == 1
    assert not forks.is_ready()
    assert "No module named 'no_such_module'" in (tmp_path / "log").read_text()
    assert forks.fork(program, tmp_path / "log") is None
