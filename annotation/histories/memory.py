"""A bound on the memory that a strange file can take from the process that reads it."""

from collections.abc import Iterator
from contextlib import contextmanager

from annotation.core import memory
from annotation.histories.records import Refused

# The readers keep far below this by themselves: it stands behind them.
ROOM = 256 << 20


@contextmanager
def bounded(room: int | None = None) -> Iterator[None]:
    """Let the process grow by ``room`` bytes (ROOM) and no more; Refused("too_large") beyond."""
    try:
        with memory.bounded(ROOM if room is None else room):
            yield
    except MemoryError:
        raise Refused("too_large") from None
