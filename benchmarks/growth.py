"""Judgments in numbers, by SQL: `python -m benchmarks.growth --items N --items-judged M`.

Fills the running installation as `benchmarks.seed` does, and stores a judgment of each of
`--overlap` people for the first `--items-judged` items. Every counter equals its rows. Constraints
and indexes of the tables with a row for each judgment are dropped before and made again after.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator

from benchmarks.figures import setup_django

# Keeps a worker from `recompute` as long as the connection lasts: it would read half of a study,
# without indexes.
LOCK = """
    SELECT pg_advisory_lock(hashtextextended(format('recompute %%s %%s', id, %s::text), 0))
    FROM studies_study"""
FILLED = ("judging_slot", "judging_judgment", "judging_answer")
# Those that refer to a table, or to which it refers, foreign keys first; checks cost little.
CONSTRAINTS = """
    SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid)
    FROM pg_constraint
    WHERE contype IN ('f', 'p', 'u') AND (conrelid = ANY(%(tables)s::regclass[])
                                          OR confrelid = ANY(%(tables)s::regclass[]))
    ORDER BY contype <> 'f', conname"""
INDEXES = """
    SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = ANY(%(tables)s::regclass[])"""

# Person number n (from 0) judges the slot with the ordinal n.
SLOTS = """
    UPDATE judging_slot s
    SET status = 'done', annotator_id = (%(people)s::bigint[])[1 + s.ordinal],
        claimed_at = now() - interval '1 minute'
    FROM judging_item i
    WHERE i.id = s.item_id AND s.study_id = %(study)s AND i.position <= %(judged)s
      AND s.ordinal < cardinality(%(people)s::bigint[])"""
JUDGMENTS = """
    INSERT INTO judging_judgment (slot_id, annotator_id, revision, key, digest, shown, reason,
                                  flags, chips, marks, circumstances, seconds, submitted_at,
                                  imported, dated)
    SELECT s.id, s.annotator_id, 1, 'made-' || s.id, md5(s.id::text), '[1, 2]', '',
           '[]', '[]', '[]', '{}', 5 + s.position %% 40,
           now() - CASE WHEN s.position <= %(earlier)s THEN interval '7 days' ELSE '0' END, false,
           true
    FROM judging_slot s WHERE s.study_id = %(study)s AND s.status = 'done' ORDER BY s.position"""
# Two of three people agree; which answer most of them choose differs from item to item.
ANSWERS = """
    INSERT INTO judging_answer (judgment_id, question, label, text, chips)
    SELECT j.id, 'choice', 1 + (i.position + (s.ordinal %% 3 = 0)::int) %% 2, '', '[]'
    FROM judging_judgment j JOIN judging_slot s ON s.id = j.slot_id
    JOIN judging_item i ON i.id = s.item_id
    WHERE s.study_id = %(study)s"""
COUNTS = """
    UPDATE judging_item i SET done = v.n,
           counts = jsonb_build_object('1', v.first, '2', v.n - v.first), last_judgment = v.last
    FROM (SELECT s.item_id, count(*) AS n, count(*) FILTER (WHERE v.label = '1') AS first,
                 max(j.id) AS last
          FROM judging_answer v JOIN judging_judgment j ON j.id = v.judgment_id
          JOIN judging_slot s ON s.id = j.slot_id
          WHERE s.study_id = %(study)s GROUP BY 1) v
    WHERE i.id = v.item_id"""
DESKS = """
    INSERT INTO judging_desk (study_id, annotator_id, cursor, done, toured, stop_reason)
    SELECT study_id, annotator_id, max(position), count(*), '["better"]', ''
    FROM judging_slot WHERE study_id = %(study)s AND status = 'done' GROUP BY 1, 2"""


def judge(
    study_id: int, people: list[int], judged: int, *, earlier: int = 0, analyze: bool = True
) -> None:
    """Store the judgments of `people` (ids, one an ordinal) for the first `judged` items.

    Those of the first `earlier` items are a week old. Without `analyze` PostgreSQL's statistics
    stay those of before.
    """
    from django.db import connection

    values = {"study": study_id, "people": people, "judged": judged, "earlier": earlier}
    with connection.cursor() as cursor:
        for statement in (SLOTS, JUDGMENTS, ANSWERS, COUNTS, DESKS):
            cursor.execute(statement, values)
            if analyze:
                cursor.execute("ANALYZE")


@contextlib.contextmanager
def loosened(tables: tuple[str, ...]) -> Iterator[None]:
    """Let `tables` be filled without their indexes and keys, which are made again at the end."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SET work_mem = '256MB'")
        cursor.execute("SET maintenance_work_mem = '512MB'")
        cursor.execute(CONSTRAINTS, {"tables": list(tables)})
        constraints = cursor.fetchall()
        for table, name, _definition in constraints:
            cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        cursor.execute(INDEXES, {"tables": list(tables)})
        indexes = cursor.fetchall()
        for name, _definition in indexes:
            cursor.execute(f"DROP INDEX {name}")
        yield
        for _name, definition in indexes:
            cursor.execute(definition)
        # A foreign key needs the primary key to which it refers.
        for table, name, definition in reversed(constraints):
            cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
        cursor.execute("VACUUM (ANALYZE)")


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--items", type=int, required=True)
    parser.add_argument("--overlap", type=int, default=9)
    parser.add_argument("--items-judged", type=int, required=True)
    parser.add_argument("--queries", type=int, default=0, help="0: one an item")
    parser.add_argument("--length", type=int, default=2_100)
    chosen = parser.parse_args()
    setup_django()
    from django.db import connection

    from annotation.accounts.models import User
    from annotation.studies.models import Study
    from benchmarks.seed import TASK, seed

    with loosened(FILLED):
        sizes = {"queries": chosen.queries, "length": chosen.length}
        made = seed(chosen.items, overlap=chosen.overlap, people=chosen.overlap, **sizes)
        emails = [person["email"] for person in made["people"]]
        people = User.objects.filter(email__in=emails).order_by("pk").values_list("pk", flat=True)
        study = Study.objects.get(slug=made["slug"])
        with connection.cursor() as cursor:
            cursor.execute(LOCK, [TASK])
        judge(study.pk, list(people), chosen.items_judged)
    json.dump(made, sys.stdout)


if __name__ == "__main__":
    _main()
