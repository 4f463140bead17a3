"""How much of what an endpoint's concurrency allows `evaluate` uses.

A scripted server in a process of its own takes 300 ms a call. The floor is the time that all calls
take back to back over so many connections, without any work of ours; ours is a whole run with
reading, asking, storing and its result. ``used`` is floor / ours and must be 0.9 or more.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import stack
from benchmarks.figures import figure, setup_django

LATENCY = 0.3
ANSWER = "word " * 150


def main(pairs=400, concurrency=16) -> dict[str, dict]:
    """Evaluate a model on a made-up release and print what of the concurrency was used."""
    with stack.running() as run, tempfile.TemporaryDirectory() as folder, _server() as address:
        server = {"name": "scripted", "base_url": address, "model": "scripted-1"}
        setup_django(
            DATABASE_URL=run.database_url,
            ATTUNE_DATA=str(run.data),
            ATTUNE_ENDPOINTS=json.dumps([server | {"concurrency": concurrency}]),
        )
        _write(Path(folder), pairs)
        _evaluate(folder, limit=concurrency)  # what is loaded once
        begin = time.perf_counter()
        _evaluate(folder)
        ours = time.perf_counter() - begin
    floor = math.ceil(2 * pairs / concurrency) * LATENCY
    return figure("evaluate", ours, floor, "s", used=floor / ours, calls=2 * pairs)


class _server:  # noqa: N801 - used as a function
    """The scripted server's address, for as long as the block runs."""

    def __enter__(self) -> str:
        command = [sys.executable, "-m", "benchmarks.scripted_endpoint"]
        self.process = subprocess.Popen(
            [*command, "--latency", str(LATENCY), "--text", "Verdict: 1"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self.process.stdout.readline().strip()

    def __exit__(self, *error):
        self.process.stdin.close()
        self.process.wait()


def _write(folder: Path, pairs: int) -> None:
    row = {"user_id": "1", "question": "Which tea?", "chosen": ANSWER, "reject": ANSWER + "more"}
    for path, rows in (
        ("persona/all_personas.jsonl", [{"Name": "Mina", "Preference": "tea " * 100}]),
        ("data/specific/easy.jsonl", [row] * pairs),
    ):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text("".join(json.dumps(row) + "\n" for row in rows))


def _evaluate(folder: str, **options) -> None:
    from django.core.management import call_command

    with open(os.devnull, "w") as silence:
        call_command(
            "evaluate", release=Path(folder), endpoint="scripted", setting="persona",
            stdout=silence, stderr=silence, **options,
        )  # fmt: skip


if __name__ == "__main__":
    main()
