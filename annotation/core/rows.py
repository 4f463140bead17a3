"""Long streams of rows: cut into chunks, and watched on the way."""

from collections.abc import Iterable, Iterator
from itertools import islice

from tqdm import tqdm


def chunks(rows: Iterable, size: int) -> Iterator[list]:
    """``rows`` as lists of at most ``size``."""
    rows = iter(rows)
    while chunk := list(islice(rows, size)):
        yield chunk


def silent(rows: Iterable, name: str, total: int | None) -> Iterable:
    """``rows`` as they are: what takes a ``bar`` shows nothing by default."""
    return rows


def bar(rows: Iterable, name: str, total: int | None) -> Iterable:
    """``rows``, with a progress bar called ``name`` where stderr is a terminal."""
    return tqdm(rows, desc=name, total=total, unit="", disable=None, leave=False)
