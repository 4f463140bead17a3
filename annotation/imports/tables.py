"""Opens a foreign table: a process of its own reads it (`child`), within limits (`limits`).

Only workers and commands do so, never a web request.
"""

import json
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, Any, cast

from django.utils.translation import get_language

from annotation.core.records import Rows
from annotation.core.scratch import scratch_folder
from annotation.imports.limits import (
    END,
    OUT_OF_MEMORY,
    Limits,
    TableError,
    broken,
    out_of_memory,
    out_of_time,
)

log = logging.getLogger(__name__)
SAMPLE = 100
# What is logged of the words that a child ended with.
ERRORS = 4_000
HOME = Path(__file__).parents[2]
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_ENDS = {
    OUT_OF_MEMORY: out_of_memory,
    -signal.SIGABRT: out_of_memory,
    -signal.SIGKILL: out_of_memory,
    -signal.SIGXCPU: out_of_time,
}


@dataclass
class Table:
    """A file as rows: ``rows()`` begins anew each time.

    ``notes`` says what was assumed about the file; ``folder`` is where a zipped bundle or release
    was unpacked, in the formats "bundle" and "release", which have no rows.
    """

    format: str
    notes: list[str] = field(default_factory=list)
    folder: Path | None = None
    read: Callable[[], Iterator[Any]] = lambda: iter(())

    def rows(self) -> Rows:
        """Line and record of each row, or the reason why it is none."""
        columns: list[str] = []
        for message in self.read():
            if isinstance(message, dict):
                columns = message.get("columns", columns)
                continue
            line, cells = message
            yield line, cells if isinstance(cells, str) else dict(zip(columns, cells, strict=True))

    @cached_property
    def sample(self) -> list[tuple[int, dict]]:
        """The first rows that can be read, at most SAMPLE."""
        taken: list[tuple[int, dict]] = []
        for line, row in self.rows():
            if isinstance(row, dict):
                taken.append((line, row))
            if len(taken) == SAMPLE:
                break
        return taken


@contextmanager
def opened(path: Path) -> Iterator[Table]:
    """The table in the file ``path``; TableError where it is none, or exceeds a limit.

    What a zip or gzip holds is unpacked into a temporary folder for the time of the block.
    """
    with scratch_folder() as scratch:
        first = _messages(Path(path), scratch)
        begun = [first]

        def read() -> Iterator[Any]:
            # The process that told the format goes on to the rows, once.
            return begun.pop() if begun else _messages(Path(path), scratch)

        try:
            head = next(first)
            folder = head["folder"] and Path(head["folder"])
            yield Table(head["format"], head["notes"], folder, read)
        finally:
            first.close()


def command(path: Path, scratch: Path, limits: Limits) -> list[str]:
    """What starts the process that reads the file ``path``."""
    words = [str(path.absolute()), str(scratch), json.dumps(asdict(limits)), get_language() or "en"]
    return [sys.executable, "-m", "annotation.imports.child", *words]


def _messages(path: Path, scratch: Path) -> Generator[Any]:
    """What the child says of the file, to its end; TableError where that is a refusal."""
    limits = Limits.of(path.stat().st_size)
    folder = Path(mkdtemp(dir=scratch))
    with (folder / "errors").open("w+b") as errors:
        process = subprocess.Popen(  # noqa: S603 - our own words
            command(path, folder, limits),
            cwd=HOME,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        try:
            for line in cast(IO[bytes], process.stdout):
                message = json.loads(line.decode("utf-8", "surrogatepass"))
                if message == END:
                    return
                if isinstance(message, dict) and "refusal" in message:
                    raise TableError(message["refusal"], code=message["code"])
                yield message
            raise _ended(process.wait(), errors, limits)
        finally:
            process.kill()
            process.wait()
            cast(IO[bytes], process.stdout).close()


def _ended(code: int, errors: IO[bytes], limits: Limits) -> TableError:
    """The refusal of a file at which the child ended."""
    if code in _ENDS:
        return _ENDS[code](limits)
    errors.seek(0)
    log.error("the reader of a table ended with %d: %s", code, errors.read()[-ERRORS:].decode())
    return broken(limits)
