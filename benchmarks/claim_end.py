"""What a claim costs somebody for whom nothing is left, while many slots are open for others.

The floor is the same claim in a study without an open slot. Times are those of this process and of
its database connection's server process together (processor time), so that whatever else the
machine does counts little; `first` is the claim that notices that nothing is left.
"""

import argparse
import statistics
import time
from pathlib import Path

from benchmarks import stack
from benchmarks.figures import figure, setup_django

OVERLAP = 5
JUDGED = """
    UPDATE judging_slot SET status = 'done', annotator_id = %(me)s
    WHERE study_id = %(study)s AND ordinal = 0"""
AT_THE_END = """
    INSERT INTO judging_desk (study_id, annotator_id, cursor, done, toured, stop_reason)
    SELECT study_id, %(me)s, max(position), count(*), '["better"]', ''
    FROM judging_slot WHERE study_id = %(study)s AND annotator_id = %(me)s GROUP BY 1"""
CLOSED = """
    UPDATE judging_slot SET status = 'closed' WHERE study_id = %(study)s AND status = 'open'"""


def main(items: int = 200_000, claims: int = 50) -> dict[str, dict]:
    """Milliseconds of a claim that finds nothing among items * 4 open slots, and among none."""
    with stack.running() as run:
        words = ("--items", items, "--overlap", OVERLAP, "--people", 1, "--length", 100)
        run.run("benchmarks.seed", *words, "--queries", max(items // 10, 1))
        setup_django(DATABASE_URL=run.database_url, ATTUNE_DATA=str(run.data))
        first, ours = _claims(claims, JUDGED, AT_THE_END)
        open_slots = items * (OVERLAP - 1)
        _first, floor = _claims(claims, CLOSED, "UPDATE judging_desk SET exhausted_at = NULL")
    return figure("claim_end", ours, floor, "ms", first=first, open_slots=open_slots)


def _claims(count: int, *statements: str) -> tuple[float, float]:
    """The first claim after `statements`, and the median of those that follow, in milliseconds."""
    from django.db import connection

    from annotation.accounts.models import User
    from annotation.judging.work import queue
    from annotation.studies.models import Study

    study, person = Study.objects.get(), User.objects.exclude(memberships=None).get()
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement, {"study": study.pk, "me": person.pk})
        cursor.execute("VACUUM (ANALYZE)")
    times = []
    for _ in range(count):
        begin = time.process_time() + server_seconds(connection)
        assert queue.claim(study, person) is None
        times.append((time.process_time() + server_seconds(connection) - begin) * 1e3)
    return times[0], statistics.median(times[1:])


def server_seconds(connection) -> float:
    """Processor seconds that the connection's server process has used, to the nanosecond."""
    process = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
    return int(process.read_text().split()[0]) / 1e9


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claim_end", description=__doc__)
    parser.add_argument("--items", type=int, default=200_000)
    main(parser.parse_args().items)
