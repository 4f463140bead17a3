"""What statements read, as PostgreSQL counts it: rows that scans look at, and pages.

Every statement that runs within `reads()` is run under EXPLAIN (ANALYZE, BUFFERS) too.
tests/benchmarks/test_plans.py compares a judgment's in a small and in a large study.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

PLANNED = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")


@dataclass(frozen=True)
class Read:
    """What one statement read: rows that scans looked at, and pages of 8 kB."""

    statement: str
    rows: float
    pages: int

    def grew_from(self, small: "Read") -> bool:
        """Whether it reads more than ``small`` by more than a level of the indexes it uses."""
        return self.rows > small.rows * 1.5 + 12 or self.pages > small.pages * 1.5 + 12


@contextmanager
def reads() -> Iterator[list[Read]]:
    """A list to which each statement adds what it reads, until the context ends."""
    from django.db import connection

    collected: list[Read] = []

    def explain(execute, statement, params, many, context):
        if statement.lstrip().startswith(PLANNED) and not many:
            cursor = context["cursor"].cursor
            cursor.execute("SAVEPOINT plan")
            # Where an index serves, a scan of a table that is still small is no reason to use none.
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", params)
            plan = cursor.fetchone()[0]
            plan = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
            cursor.execute("ROLLBACK TO SAVEPOINT plan")
            pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
            collected.append(Read(" ".join(statement.split())[:70], scanned(plan), pages))
        return execute(statement, params, many, context)

    with connection.execute_wrapper(explain):
        yield collected


def scanned(plan: dict) -> float:
    """The rows that the scans below a node of a plan looked at, those they left out too."""
    rows = sum(scanned(child) for child in plan.get("Plans", ()))
    if "Scan" in plan["Node Type"]:
        looked = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
        rows += looked * plan["Actual Loops"]
    return rows
