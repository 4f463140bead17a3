"""Searches of one day that are all equal, or all different, through `store.store`: seconds.

The floor copies the same rows into the same temporary table and reads nothing. Equal rows are the
worst case of de-duplication: `growth` is what twice as many rows cost, which a comparison of each
row with each would make 4.
"""

import time
from datetime import UTC, datetime

from benchmarks import stack
from benchmarks.figures import figure, setup_django

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
ROWS = 100_000


def main(rows: int = ROWS) -> dict[str, dict]:
    """Store `rows` searches of each sort, half as many before, and the same rows again."""
    with stack.running() as run:
        setup_django(DATABASE_URL=run.database_url, ATTUNE_DATA=str(run.data))
        return _figures("equal", rows) | _figures("different", rows)


def _figures(sort: str, rows: int) -> dict[str, dict]:
    half, _again = _stored(sort, rows // 2)
    first, again = _stored(sort, rows)
    name = f"history_events_{sort}"
    return figure(name, first, _copied(sort, rows), "s", again=again, growth=first / half)


def _events(sort: str, rows: int):
    from annotation.histories.records import Search

    texts = ("tea" if sort == "equal" else f"tea {number}" for number in range(rows))
    return (Search("google-search", text, NOON) for text in texts)


def _stored(sort: str, rows: int) -> tuple[float, float]:
    """Seconds of storing the rows for a new person, and of storing the same rows again."""
    from annotation.accounts.models import User
    from annotation.histories.locks import changing
    from annotation.histories.models import Upload
    from annotation.histories.store import store

    owner = User.objects.create_user(f"{sort}{rows}@example.org")
    seconds = []
    for _ in range(2):
        upload = Upload.objects.create(owner=owner, size=1, received=1, status="running")
        begin = time.perf_counter()
        with changing(owner):
            counts = store(upload, _events(sort, rows))
        seconds.append(time.perf_counter() - begin)
        assert counts.searches == (1 if sort == "equal" else rows), counts
    return seconds[0], seconds[1]


def _copied(sort: str, rows: int) -> float:
    from django.db import connection, transaction

    from annotation.histories.store import _WAITING

    begin = time.perf_counter()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_WAITING)
        with cursor.copy("COPY history_event (kind, provider, day, at, text) FROM STDIN") as copy:
            for event in _events(sort, rows):
                copy.write_row(("search", event.provider, "2026-03-14", event.at, event.text))
        transaction.set_rollback(True)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
