"""A bound on how far this process may grow. Only Linux tells a process how large it is."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STATM = Path("/proc/self/statm")


def _taken() -> int:
    # The sixth number is what the kernel holds against this limit, in pages.
    return int(_STATM.read_text().split()[5]) * resource.getpagesize()


@contextmanager
def bounded(room: int) -> Iterator[None]:
    """Let the process grow by ``room`` bytes and no more: MemoryError, or an abort of a library.

    Elsewhere than on Linux there is no bound.
    """
    if not _STATM.exists():
        yield
        return
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [n for n in (_taken() + room, before, hard) if n != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


@contextmanager
def uncounted() -> Iterator[None]:
    """Do not hold what the block takes, such as a library's own memory, against a bound."""
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if before == resource.RLIM_INFINITY or not _STATM.exists():
        yield
        return
    taken = _taken()
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before + _taken() - taken, hard))
