"""An Attune of its own, run by `manage.py up` in a temporary folder, and its parts by name."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg

from annotation.local.folders import private_folder
from annotation.local.model import free_port

REPOSITORY = Path(__file__).parents[1]
ENDING_SECONDS = 60
# What names services of somebody else's in the caller's environment.
NOT_OURS = {"PORT", "DATABASE_URL", "REDIS_URL", "ATTUNE_ENDPOINTS", "ATTUNE_BASE_URL"}
MARKS = {
    "web": "gunicorn",
    "postgres": "bin/postgres -D",
    "redis": "redis-server",
    "worker": "celeryd: imports@",  # its title
}


class Stack:
    """One installation: `data` is its folder, `port` its address; `start` and `stop` as often as
    you like.

    `environment` is added to what the parts see. No model runs unless ATTUNE_ENDPOINTS names one.
    """

    def __init__(self, data: Path, **environment: str) -> None:
        self.data = private_folder(data).resolve()
        self.port = free_port()
        self.words = self.data.with_name(f"{self.data.name}.stderr")
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name.removesuffix("_FILE") not in NOT_OURS
        }
        self.environment = {
            **inherited,
            "ATTUNE_DATA": str(self.data),
            "ATTUNE_ENDPOINTS": "[]",
            "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
            "ATTUNE_WEB_PROCESSES": "2",  # a server's, forked from one import
            **environment,
        }
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        """Run `manage.py up` until it says that it is ready; RuntimeError with its words if not."""
        with self.words.open("a") as words:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--no-demo", "--port", str(self.port)],
                cwd=REPOSITORY,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=words,
                text=True,
            )
        if not self.process.stdout.readline().startswith("Attune is ready"):
            raise RuntimeError(f"Attune did not start:\n{self.words.read_text()}")

    def stop(self) -> None:
        """Ask for the end and wait for it."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(120)

    def run(self, *words: object) -> dict:
        """Run `python -m WORDS` in this installation and return the JSON document it prints."""
        return json.loads(self.call(*words))

    def call(self, *words: object) -> str:
        """Run `python -m WORDS` in this installation and return what it prints."""
        done = subprocess.run(
            [sys.executable, "-m", *map(str, words)],
            cwd=REPOSITORY,
            env=self.environment,
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
        return done.stdout

    @property
    def database_url(self) -> str:
        """The database's address while the stack runs."""
        return json.loads((self.data / "run" / "services.json").read_text())["DATABASE_URL"]

    def connect(self) -> psycopg.Connection:
        """A connection of the application's role that commits every statement."""
        return psycopg.connect(self.database_url, autocommit=True)

    def part(self, name: str) -> psutil.Process | None:
        """The supervisor's child of the name `name` (of MARKS); None while it does not run."""
        for child in psutil.Process(self.process.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess):
                if MARKS[name] in " ".join(child.cmdline()):
                    return child
        return None

    def children(self, name: str) -> list[psutil.Process]:
        """The processes that the part `name` started itself."""
        with contextlib.suppress(psutil.NoSuchProcess):
            part = self.part(name)
            return part.children() if part else []
        return []

    def cpu_seconds(self, name: str) -> float:
        """CPU seconds, user and system, that a part used so far, its dead children's too."""
        total = 0.0
        for process in [self.part(name), *self.children(name)]:
            with contextlib.suppress(psutil.NoSuchProcess):  # counted by its parent from now on
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
        return total


@contextlib.contextmanager
def running(**environment: str) -> Iterator[Stack]:
    """Start a stack in a new folder below the temporary one; stop it and delete all of it after."""
    folder = Path(tempfile.mkdtemp(prefix="attune-bench-"))
    stack = Stack(folder / "var", **environment)
    try:
        stack.start()
        yield stack
    finally:
        if stack.process and stack.process.poll() is None:
            stack.stop()
        delete_data_folder(stack.data)


def figure(name: str, ours: float, floor: float, unit: str, **more: float) -> dict[str, dict]:
    """Print `NAME ours=… floor=… ratio=…` and what is `more`; return {name: entry}."""
    entry = {"ours": ours, "floor": floor, "ratio": ours / floor, "unit": unit, **more}
    words = f"{name} ours={ours:.1f}{unit} floor={floor:.1f}{unit} ratio={ours / floor:.3f}"
    print(words + "".join(f" {key}={value:.2f}" for key, value in more.items()), flush=True)
    return {name: entry}


def delete_folder(folder: Path) -> None:
    """Delete `folder`, in which processes of a server just killed may write for another moment.

    PostgreSQL's processes have sessions of their own: they outlive a killed postmaster until they
    notice, and files appear while the folder is being emptied. Raises OSError after a minute.
    """
    deadline = time.monotonic() + ENDING_SECONDS
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=time.monotonic() < deadline)
        time.sleep(0.05)


def delete_data_folder(data: Path) -> None:
    """Delete the data folder `data`, the folder around it, and root's cluster, elsewhere."""
    home = (data / "postgres").resolve()
    delete_folder(data.parent)
    delete_folder(home)
