"""What statements read, as PostgreSQL counts it: rows of scans, and pages.

`python -m benchmarks plans` runs those of a judgment, of the study's first page of results, of an
item's page and of the look for results that are due under EXPLAIN (ANALYZE, BUFFERS) in a small
study and in one that is ten times as large, half of which is judged, and fails where what one reads
grows. tests/benchmarks/test_plans.py does the same.
"""

import argparse
import concurrent.futures
import json
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks import stack
from benchmarks.figures import figure, setup_django

# Items whose judgments may still be changed: a person judges as many a day in any study.
TODAY = 3
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


def study_of(items: int):
    """A new study of which three of four people judged half, and one of the three."""
    from django.db import connection

    from annotation.accounts.models import User
    from annotation.studies.models import Study
    from benchmarks import growth, seed

    made = seed.seed(items, overlap=4, people=4, length=100)
    study = Study.objects.get(slug=made["slug"])
    # As in a study that began after its statistics were gathered: nobody has judged anything.
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE judging_slot")
    people = User.objects.filter(memberships__study=study).order_by("pk")
    judges, judged = [person.pk for person in people][:3], items // 2
    growth.judge(study.pk, judges, judged, earlier=judged - TODAY, analyze=False)
    return study, people.first()


def hot_path(study, person) -> list[Read]:
    """What the page, a draft and a submit with the next item read."""
    from django.db import transaction

    from annotation import policies
    from annotation.judging.models import ItemOption
    from annotation.judging.work import drafts, present, queue, submit
    from annotation.studies.access import study_for

    slot = queue.claim(study, person)
    choice = str(ItemOption.objects.filter(item__slots=slot).first().candidate_id)
    with reads() as read, transaction.atomic():
        study_for(person, study.slug, policies.judgment.may_give)
        queue.claim(study, person)
        submit.last_answered(study, person)
        present.show(slot, person)
        drafts.save(study, slot, person, {"reason": ["Typed."]})
        submit.submit(study, slot, person, {"choice": choice}, key="k", claim_next=True)
    return read


def results_path(study) -> list[Read]:
    """What the look for due results, the study's page of results and an item's page read."""
    from django.db import transaction
    from django.test import Client

    from annotation.accounts.models import User
    from annotation.agreement import recompute
    from annotation.studies.models import Membership

    researcher = User.objects.create_user("researcher@bench.example.org", None)
    Membership.objects.create(study=study, user=researcher, role="researcher")
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(researcher)
    task, item = study.tasks.get(), study.items.order_by("position").first()
    with reads() as read, transaction.atomic():
        recompute.due()
        for page in ("", f"results/{task.name}/items/{item.pk}/"):
            assert client.get(f"/studies/{study.slug}/{page}").status_code == 200
    return read


def scanned(plan: dict) -> float:
    """The rows that the scans below a node of a plan looked at, those they left out too."""
    rows = sum(scanned(child) for child in plan.get("Plans", ()))
    if "Scan" in plan["Node Type"]:
        looked = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
        rows += looked * plan["Actual Loops"]
    return rows


def main(small: int = 200, large: int = 2_000) -> dict[str, dict]:
    """The rows that all statements read in the large study, against those in the small one.

    AssertionError with the statements that read more in a larger study.
    """
    spawn, sides = multiprocessing.get_context("spawn"), []
    for items in (small, large):
        with (
            stack.running() as run,
            concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool,
        ):
            sides.append(pool.submit(_measure, run.database_url, str(run.data), items).result())
    pairs = list(zip(*sides, strict=True))
    for first, second in pairs:
        print(f"{second.statement[:60]:60}  rows {first.rows:6.0f} {second.rows:6.0f}  "
              f"pages {first.pages:5} {second.pages:5}")  # fmt: skip
    grew = [pair for pair in pairs if pair[1].grew_from(pair[0])]
    assert not grew, f"these read more in a larger study: {grew}"
    rows = [sum(read.rows for read in side) for side in sides]
    return figure("plans", rows[1], rows[0], " rows", statements=len(pairs))


def _measure(database_url: str, data: str, items: int) -> list[Read]:
    setup_django(DATABASE_URL=database_url, ATTUNE_DATA=data, ATTUNE_ENDPOINTS="[]")
    study, person = study_of(items)
    return hot_path(study, person) + results_path(study)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plans", description=__doc__)
    for name, default in (("small", 200), ("large", 2_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    main(**vars(parser.parse_args()))
