"""A `long` release against COPY of the same rows: processor time and peak memory.

The floor is COPY of the columns that its tables `judgments`, `items`, `candidates` and `votes`
have, joined as they are stored, to files; soft labels and agreement are computed besides.
`judgments` is what the whole release takes of COPY of the judgments alone. Processor time is that
of the process and of its PostgreSQL backend, without parallel workers. Each run is a process of its
own, which tells its peak memory, without pandas: a server has none, and Arrow loads it where the
tests' is installed. `python -m benchmarks.export 1000000` takes a million judgments.
"""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from benchmarks import stack
from benchmarks.results import server_seconds
from benchmarks.seed import setup_django

SIZES, OVERLAP = (10_000, 100_000), 9
JUDGMENTS = """
    SELECT i.external_id, q.external_id, j.annotator_id, t.kind, t.name, t.version, q.version,
           a.external_id, c.value, j.shown, j.reason, j.flags, j.chips, j.marks, j.seconds,
           j.submitted_at, j.revision, j.imported
    FROM judging_judgment j JOIN judging_slot s ON s.id = j.slot_id
    JOIN judging_item i ON i.id = s.item_id JOIN judging_batch b ON b.id = i.batch_id
    JOIN studies_taskdefinition t ON t.id = b.task_id
    JOIN queries_query q ON q.id = i.query_id
    JOIN judging_answer c ON c.judgment_id = j.id
    JOIN judging_itemoption o ON o.item_id = i.id AND o.number::text = c.label
    JOIN candidates_candidate a ON a.id = o.candidate_id
    ORDER BY i.position, j.submitted_at, j.id"""
OTHERS = (
    """SELECT i.external_id, t.name, t.version, t.kind, q.external_id, q.version, q.text, q.need,
              q.type, q.scenario, array_agg(a.external_id ORDER BY o.number), i.done, i.overlap,
              i.counts
       FROM judging_item i JOIN judging_batch b ON b.id = i.batch_id
       JOIN studies_taskdefinition t ON t.id = b.task_id
       JOIN queries_query q ON q.id = i.query_id
       JOIN judging_itemoption o ON o.item_id = i.id
       JOIN candidates_candidate a ON a.id = o.candidate_id
       GROUP BY i.id, t.id, q.id ORDER BY i.position""",
    """SELECT a.external_id, q.external_id, q.version, a.text, a.strategy, a.model, a.urls,
              a.template, a.prompt_digest, a.parameters
       FROM candidates_candidate a JOIN queries_query q ON q.id = a.query_id
       ORDER BY a.query_id, a.id""",
    """SELECT i.external_id, j.annotator_id, a.external_id
       FROM judging_judgment j JOIN judging_slot s ON s.id = j.slot_id
       JOIN judging_item i ON i.id = s.item_id
       JOIN judging_answer c ON c.judgment_id = j.id
       JOIN judging_itemoption o ON o.item_id = i.id AND o.number::text = c.label
       JOIN candidates_candidate a ON a.id = o.candidate_id
       ORDER BY i.position, j.submitted_at, j.id""",
)


def main(sizes=SIZES) -> dict[str, dict]:
    """Seconds and peak memory of both formats at each number of judgments."""
    figures = {}
    for size in sizes:
        with stack.running() as run:
            items = size // OVERLAP
            words = ("--items", items, "--items-judged", items, "--overlap", OVERLAP)
            run.run("benchmarks.seed", *words, "--length", 300)
            with psycopg.connect(run.database_url) as connection:
                judgments, *others = (_copied(connection, q) for q in (JUDGMENTS, *OTHERS))
            floor = judgments + sum(others)
            for format in ("jsonl", "parquet"):
                ours = run.run("benchmarks.export", "--child", format)
                name, seconds = f"export_{format}_{size}", ours["seconds"]
                more = {"judgments": seconds / judgments, "peak_mb": ours["peak_mb"]}
                figures |= stack.figure(name, seconds, floor, "s", **more)
    return figures


def _copied(connection: psycopg.Connection, query: str) -> float:
    """Processor seconds of COPY to a file, the better of two."""
    times = []
    for _ in range(2):
        begin = _spent(connection)
        with (
            tempfile.TemporaryFile() as file,
            connection.cursor().copy(f"COPY ({query}) TO STDOUT") as copy,
        ):
            file.writelines(copy)
        times.append(_spent(connection) - begin)
    return min(times)


def _spent(connection: psycopg.Connection) -> float:
    """Processor seconds so far of this process and of the connection's backend."""
    return time.process_time() + server_seconds(connection)


class _WithoutPandas:
    """A finder of modules that refuses pandas."""

    def find_spec(self, name: str, *where: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _child(format: str) -> dict:
    """Freeze the study and write its release."""
    sys.meta_path.insert(0, _WithoutPandas())
    setup_django()
    from django.db import connection

    from annotation.datasets import freeze
    from annotation.studies.models import Study

    release = freeze.request_release(Study.objects.get(slug="bench"), "long", format, None)
    begin = _spent(connection.connection)
    with tempfile.TemporaryDirectory() as folder:
        freeze.write(release, Path(folder))
        seconds = _spent(connection.connection) - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "peak_mb": peak}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        json.dump(_child(sys.argv[2]), sys.stdout)
    else:
        main([int(size) for size in sys.argv[1:]] or SIZES)
