"""`manage.py up` on real parts: what it prints, what it survives, and that it leaves nothing."""

import contextlib
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import psutil
import psycopg
import pytest

from annotation.local import postgres, supervisor
from annotation.local.folders import private_folder
from annotation.local.model import free_port
from benchmarks.stack import MARKS, delete_data_folder

REPOSITORY = Path(__file__).parents[2]
PARTS = {"postgres", "redis", "model", "web", "worker"}
OTHERS = ("postgres", "redis", "web")
SECONDS = 120

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc"),
    pytest.mark.long,
]


class Up:
    """One run of `manage.py up` in a data folder; its words are in `words`."""

    def __init__(self, data: Path, port: int | None = None) -> None:
        self.data = data
        self.port = port or free_port()
        self.words = data.parent / f"{data.name}.stderr"
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in {"DATABASE_URL", "REDIS_URL", "ATTUNE_ENDPOINTS", "PORT"}
        }
        with self.words.open("w") as words:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--no-demo", "--port", str(self.port)],
                cwd=REPOSITORY,
                env=environment | {"ATTUNE_DATA": str(data)},
                stdout=subprocess.PIPE,
                stderr=words,
                text=True,
            )

    def ready(self) -> "Up":
        """Wait for the line that the contract promises."""
        assert (
            self.process.stdout.readline() == f"Attune is ready: http://127.0.0.1:{self.port}\n"
        ), self.words.read_text()
        return self

    def get(self, path: str) -> int:
        """The status of an answer, 0 without one."""
        address = f"http://127.0.0.1:{self.port}{path}"
        with contextlib.suppress(httpx2.HTTPError):
            return httpx2.get(address, timeout=20, trust_env=False).status_code
        return 0

    def services(self) -> dict:
        return json.loads((self.data / "run" / "services.json").read_text())

    def pids(self) -> dict[int, str]:
        return descendants(self.process.pid)

    def end(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.process.wait(SECONDS)


def descendants(pid: int) -> dict[int, str]:
    """Every process below `pid` that has not ended, and its command line."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return {child.pid: command(child.pid) for child in psutil.Process(pid).children(True)}
    return {}


def command(pid: int) -> str:
    """Its command line, "" of one that has ended, waited for or not."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen in {SECONDS} s"
        time.sleep(0.05)


def still_running(pids: dict[int, str]) -> dict[int, str]:
    return {pid: line for pid, line in pids.items() if line and command(pid) == line}


@contextlib.contextmanager
def data_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="attune-up-"))
    data = folder / "var"
    yield data
    delete_data_folder(data)


@pytest.fixture(scope="module")
def installation() -> Iterator[Up]:
    """One start that the tests of a running installation share."""
    with data_folder() as data:
        run = Up(data).ready()
        yield run
        if run.process.poll() is None:
            run.end()


@pytest.fixture
def up(installation) -> Up:
    """The running installation, started again where the test before this one ended it."""
    if installation.process.poll() is not None:
        installation.__init__(installation.data, installation.port)
        installation.ready()
    return installation


def test_a_start_prints_the_address_and_a_link_and_everything_serves(up):
    assert re.fullmatch(r".*http://127\.0\.0\.1:\d+/\S+\n", up.process.stdout.readline())
    assert up.get("/health/live") == 200
    assert up.get("/health/ready") == 200
    assert {path.stem for path in (up.data / "log").glob("*.log")} == PARTS | {"access", "prepare"}


def test_the_running_services_are_described_for_other_shells(up):
    services = up.services()
    assert set(services) == {"DATABASE_URL", "REDIS_URL", "ATTUNE_ENDPOINTS"}
    assert services["ATTUNE_ENDPOINTS"][0]["name"] == "smollm2"
    environment = {k: v for k, v in os.environ.items() if k not in services}
    done = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--check"],
        cwd=REPOSITORY,
        env=environment | {"ATTUNE_DATA": str(up.data)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_nothing_in_the_data_folder_is_open_to_others(up):
    files = [up.data, *up.data.rglob("*")]
    assert len(files) > 50
    modes = {path: path.lstat().st_mode for path in files}
    assert [p for p, mode in modes.items() if not stat.S_ISLNK(mode) and mode & 0o077] == []


def test_the_access_log_holds_no_query_and_no_key(up):
    key = "3-c1a2b3-0123456789abcdef0123456789abcdef"
    up.get(f"/accounts/password/reset/key/{key}/?word=private")
    log = up.data / "log" / "access.log"
    wait_for(lambda: "/reset/key/.../" in log.read_text(), "a masked line")
    assert key not in log.read_text()
    assert "private" not in log.read_text()


@pytest.mark.parametrize(
    "part", ["worker", *(pytest.param(name, marks=pytest.mark.proof) for name in OTHERS)]
)
def test_a_killed_part_is_named_and_started_again(up, part):
    mark = MARKS[part]
    # The test before this one may have ended it with another part.
    wait_for(lambda: any(mark in line for line in up.pids().values()), part)
    before = up.pids()
    parts = [pid for pid, line in before.items() if mark in line]
    sentence = f"exited: {part} (terminated by SIGKILL; not expected)"
    times = up.words.read_text().count(sentence)
    os.kill(min(parts), signal.SIGKILL)
    wait_for(lambda: up.words.read_text().count(sentence) > times, sentence)
    wait_for(lambda: not still_running({pid: before[pid] for pid in parts}), "their end")
    wait_for(lambda: any(mark in line for line in up.pids().values()), f"a new {part}")
    wait_for(lambda: up.get("/health/ready") == 200, "being ready")
    assert up.words.read_text().count(sentence) == times + 1


@pytest.mark.proof
def test_a_task_that_waits_holds_up_neither_the_next_nor_a_page(up):
    with psycopg.connect(up.services()["DATABASE_URL"]) as connection:
        # What the task writes every quarter of a minute has to wait for this transaction.
        connection.execute(
            "INSERT INTO core_heartbeat VALUES ('beat', now())"
            " ON CONFLICT (name) DO UPDATE SET at = excluded.at"
        )
        query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        with psycopg.connect(up.services()["DATABASE_URL"], autocommit=True) as other:
            waiting = [0]
            while waiting[-1] < 2:
                wait_for(lambda: other.execute(query).fetchone()[0] > waiting[-1], "a task")
                waiting.append(other.execute(query).fetchone()[0])
            assert waiting == [0, 1, 2]
            assert up.get("/health/ready") == 200


def test_a_database_that_is_there_and_does_nothing_is_not_ready(up):
    pid = next(pid for pid, line in up.pids().items() if "bin/postgres" in line)
    server = psutil.Process(pid)
    parts = [server, *server.children()]
    for part in parts:
        part.suspend()
    try:
        assert up.get("/health/ready") == 503
        assert up.get("/health/live") == 200
    finally:
        for part in parts:
            part.resume()
    assert up.get("/health/ready") == 200


def test_a_second_start_on_the_same_folder_is_refused(up):
    second = Up(up.data)
    assert second.process.wait(SECONDS) == 1
    assert second.words.read_text() == (
        f"Attune already runs from {up.data} (process {up.process.pid}).\n"
    )
    assert up.get("/health/live") == 200


def test_a_taken_port_is_named_before_anything_starts(up):
    with data_folder() as data:
        run = Up(data, port=up.port)
        assert run.process.wait(SECONDS) == 1
        assert run.words.read_text() == (
            f"Port {up.port} cannot be used (Address already in use): "
            "stop the other program, or choose a port with PORT=8001.\n"
        )
        assert not (data / "postgres").exists()


@pytest.mark.proof
def test_killed_without_a_word_it_leaves_no_orphan_and_the_next_start_has_every_row(up):
    with psycopg.connect(up.services()["DATABASE_URL"]) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    pids = up.pids()
    assert len(pids) > len(PARTS)
    up.end(signal.SIGKILL)
    wait_for(lambda: not still_running(pids), "the end of every child")
    again = Up(up.data, up.port).ready()
    with psycopg.connect(again.services()["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
    pids = again.pids()
    again.end(signal.SIGINT)
    assert again.process.returncode == 0
    assert still_running(pids) == {}
    assert not (up.data / "run" / "services.json").exists()


def test_a_part_that_dies_at_once_is_shown_with_its_last_words():
    with data_folder() as data:
        private_folder(data)
        cluster = postgres.cluster(data)
        with (cluster.data / "postgresql.conf").open("a") as file:
            file.write("shared_buffers = nonsense\n")
        run = Up(data)
        assert run.process.wait(SECONDS) == 1
        words = run.words.read_text()
        assert f"PostgreSQL did not start; its log {data}/log/postgres.log ends:\n" in words
        assert 'invalid value for parameter "shared_buffers": "nonsense"' in words
        assert descendants(run.process.pid) == {}


def test_a_port_that_is_no_number_is_a_usage_error():
    done = subprocess.run(
        [sys.executable, "manage.py", "up", "--port", "eighty"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "eighty is no port: give a number from 1 to 65535" in done.stderr


def test_the_port_is_checked_on_the_loopback_address_only():
    with socket.socket() as other:
        other.bind(("127.0.0.2", 0))
        other.listen()
        assert supervisor._check_port(other.getsockname()[1]) is None
