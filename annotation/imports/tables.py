"""Opens a foreign table: a process of its own reads it (`child`, started by core.foreign)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from annotation.core import foreign
from annotation.core.records import Rows
from annotation.core.scratch import scratch_folder

READER = "annotation.imports.child:messages"
SAMPLE = 100


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
    """The table in the file ``path``; ForeignFileError where it is none, or exceeds a limit.

    What a zip or gzip holds is unpacked into a temporary folder for the time of the block.
    """
    with scratch_folder() as scratch:
        first = foreign.read(READER, Path(path), scratch)
        begun = [first]

        def read() -> Iterator[Any]:
            # The process that told the format goes on to the rows, once.
            return begun.pop() if begun else foreign.read(READER, Path(path), scratch)

        try:
            head = next(first)
            folder = head["folder"] and Path(head["folder"])
            yield Table(head["format"], head["notes"], folder, read)
        finally:
            first.close()
