"""A `long` release against COPY of the same judgments: time and peak memory.

The floor is one COPY of the columns that `judgments` has, joined as they are stored, to a file. The
release writes those and items, answers, votes, soft labels and agreement besides. Each run is a
process of its own, which tells its peak memory. `python -m benchmarks.export 1000000` takes a
million judgments.
"""

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from benchmarks import stack
from benchmarks.figures import figure

SIZES, OVERLAP, PEOPLE = (10_000, 100_000), 9, 60
JUDGE = """
    WITH people AS (
        SELECT array_agg(id ORDER BY id) AS ids FROM accounts_user WHERE email LIKE 'annotator%'
    ), done AS (
        UPDATE judging_slot s SET status = 'done', annotator_id = ids[1 + (s.ordinal * 7
               + s.position) % cardinality(ids)] FROM people
        RETURNING s.id, s.annotator_id, s.position, s.ordinal
    ), made AS (
        INSERT INTO judging_judgment (slot_id, annotator_id, key, digest, shown, reason, flags,
               chips, marks, circumstances, seconds, submitted_at, imported, revision)
        SELECT id, annotator_id, 'k' || id, '', '[2,1]', 'Because it fits better.', '[]',
               '[]', '[]', '{}', 12.5, now() + position * interval '1 second', false, 1
        FROM done RETURNING id, slot_id
    )
    INSERT INTO judging_selection (judgment_ptr_id, outcome, choice_id, strength)
    SELECT m.id, 'choice', o.id, '' FROM made m JOIN done d ON d.id = m.slot_id
    JOIN judging_slot s ON s.id = m.slot_id
    JOIN judging_itemoption o ON o.item_id = s.item_id
        AND o.number = 1 + (('x' || substr(md5(d.position || '-' || d.ordinal % 4), 1, 4))::bit(16)
                            ::int % 2)"""
COUNT = """
    UPDATE judging_item i SET done = v.n, votes_1 = v.one, votes_2 = v.n - v.one
    FROM (SELECT o.item_id, count(*) AS n, count(*) FILTER (WHERE o.number = 1) AS one
          FROM judging_selection c JOIN judging_itemoption o ON o.id = c.choice_id
          GROUP BY o.item_id) v WHERE v.item_id = i.id"""
FLOOR = """
    COPY (SELECT i.external_id, q.external_id, j.annotator_id, t.kind, t.name, t.version, q.version,
                 a.external_id, c.strength, j.shown, j.reason, j.flags, j.chips, j.marks, j.seconds,
                 j.submitted_at, j.revision, j.imported
          FROM judging_judgment j JOIN judging_slot s ON s.id = j.slot_id
          JOIN judging_item i ON i.id = s.item_id JOIN judging_batch b ON b.id = i.batch_id
          JOIN studies_taskdefinition t ON t.id = b.task_id
          JOIN queries_query q ON q.id = i.query_id
          JOIN judging_selection c ON c.judgment_ptr_id = j.id
          JOIN judging_itemoption o ON o.id = c.choice_id
          JOIN candidates_candidate a ON a.id = o.candidate_id
          ORDER BY i.position, j.submitted_at, j.id) TO STDOUT"""


def main(sizes=SIZES) -> dict[str, dict]:
    """Seconds and peak memory of both formats at each number of judgments."""
    figures = {}
    for size in sizes:
        with stack.running() as run:
            words = ("--items", size // OVERLAP, "--overlap", OVERLAP, "--people", PEOPLE)
            run.run("benchmarks.seed", *words, "--length", 300)
            with run.connect() as connection:
                for statement in (JUDGE, COUNT, "VACUUM (ANALYZE)"):
                    connection.execute(statement)
            floor = _floor(run.database_url)
            for format in ("jsonl", "parquet"):
                ours = run.run("benchmarks.export", "--child", format)
                name = f"export_{format}_{size}"
                figures |= figure(name, ours["seconds"], floor, "s", peak_mb=ours["peak_mb"])
    return figures


def _floor(url: str) -> float:
    best = float("inf")
    for _ in range(2):
        with tempfile.TemporaryFile() as file, psycopg.connect(url) as connection:
            begin = time.perf_counter()
            with connection.cursor().copy(FLOOR) as copy:
                for block in copy:
                    file.write(block)
            best = min(best, time.perf_counter() - begin)
    return best


def _child(format: str) -> dict:
    """Freeze the study and write its release."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation.settings")
    import django

    django.setup()
    from annotation.datasets import freeze
    from annotation.studies.models import Study

    release = freeze.request(Study.objects.get(slug="bench"), "long", format, None)
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        freeze.write(release, Path(folder))
        seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "peak_mb": peak}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        json.dump(_child(sys.argv[2]), sys.stdout)
    else:
        main([int(size) for size in sys.argv[1:]] or SIZES)
