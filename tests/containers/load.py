"""People who judge while the containers under them are upgraded, restarted and killed.

`python -m tests.containers.compose --kills 300` kills that many containers more.
"""

import contextlib
import http.client
import json
import os
import random
import signal
import ssl
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from benchmarks.chaos import OVERLAP, PATIENCE, Annotator, Journal, compare
from tests.containers.engine import ROOT, run

PEOPLE = 16
ITEMS = 12_000
PACKAGE = "/data/load"


class Encrypted(http.client.HTTPSConnection):
    """A connection to the proxy, which names the page it comes from as a browser does."""

    def __init__(self, url: str, certificate: Path) -> None:
        address = urlsplit(url)
        context = ssl.create_default_context(cafile=certificate)
        super().__init__(address.hostname, address.port, timeout=30, context=context)
        self.origin = url

    def request(self, method, url, body=None, headers=None, **_options) -> None:
        """Send a request with the header Origin."""
        super().request(method, url, body, {"Origin": self.origin, **(headers or {})})


class Load:
    """Annotators at work on a study of their own, and what the server acknowledged to them."""

    def __init__(self, stack) -> None:
        self.stack = stack
        self.end = threading.Event()
        self.journal = Journal(Path(tempfile.mkdtemp(prefix="attune-load-")) / "acknowledged.jsonl")
        self.crowd = [self._annotator(person) for person in self._seed()["people"]]

    def _seed(self) -> dict:
        """Make the study, with the benchmarks' own command in the web server's container."""
        web = self.stack.container("web")
        run("exec", web, "mkdir", "-p", PACKAGE)
        run("cp", ROOT / "benchmarks", f"{web}:{PACKAGE}/benchmarks")
        sizes = ["--items", ITEMS, "--overlap", OVERLAP, "--people", PEOPLE, "--length", 300]
        command = ["python", "-m", "benchmarks.seed", *map(str, sizes)]
        return json.loads(run("exec", "--env", f"PYTHONPATH={PACKAGE}", web, *command))

    def _annotator(self, person: dict) -> Annotator:
        annotator = Annotator(0, person, self.journal, self.end, seed=1)
        for client in (annotator.browser, annotator.program):
            client.http = Encrypted(self.stack.url, self.stack.certificate)
        return annotator

    def connect(self) -> psycopg.Connection:
        """A connection of the application's role to the database's container."""
        networks = "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"
        address = run("inspect", "--format", networks, self.stack.container("postgres")).split()[0]
        password = self.stack.settings["POSTGRES_PASSWORD"]
        url = f"postgresql://attune:{password}@{address}:5432/attune"
        return psycopg.connect(url, autocommit=True)

    def kill(self, kills: int) -> None:
        """Kill containers at random; something is acknowledged between two of them."""
        dice = random.Random(1)  # noqa: S311 (the choice of what dies)
        while kills and not self.end.is_set():
            before, patience = self.journal.count, time.monotonic() + PATIENCE
            pid = int(self.stack.state(dice.choice(self.stack.services), "Pid"))
            if pid:
                os.kill(pid, signal.SIGKILL)
                kills -= 1
            while self.journal.count == before and time.monotonic() < patience:
                time.sleep(0.1)
            assert self.journal.count > before, f"nothing is acknowledged in {PATIENCE} s"
            time.sleep(dice.uniform(0, 2))

    def compare(self) -> str:
        """Stop, and compare what was acknowledged with the database."""
        self.end.set()
        for annotator in self.crowd:
            annotator.join(2 * PATIENCE)
            assert not annotator.trouble, annotator.trouble
            assert not annotator.is_alive(), annotator.name
        faults = compare(self, self.journal.read())
        counts = " ".join(f"{name}={number}" for name, number in faults.items())
        assert self.journal.count and not any(faults.values()), counts
        return f"acknowledged={self.journal.count} {counts}"


@contextlib.contextmanager
def judging(stack) -> Iterator[Load]:
    """Have annotators judge while the block runs."""
    load = Load(stack)
    for annotator in load.crowd:
        annotator.start()
    try:
        yield load
    finally:
        load.end.set()
