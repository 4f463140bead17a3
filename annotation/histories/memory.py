"""A bound on the memory that a strange file can take from the process that reads it."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from annotation.histories.records import Refused

# The readers keep far below this by themselves: it stands behind them.
ROOM = 256 << 20
_STATM = Path("/proc/self/statm")


@contextmanager
def bounded(room: int | None = None) -> Iterator[None]:
    """Let the process grow by ``room`` bytes (ROOM) and no more; Refused("too_large") beyond.

    Only Linux tells a process how large it is: elsewhere there is no bound.
    """
    if not _STATM.exists():
        yield
        return
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    # The sixth number is what the kernel holds against this limit, in pages.
    taken = int(_STATM.read_text().split()[5]) * resource.getpagesize()
    limit = taken + (ROOM if room is None else room)
    limits = [bound for bound in (limit, before, hard) if bound != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    except MemoryError:
        raise Refused("too_large") from None
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))
