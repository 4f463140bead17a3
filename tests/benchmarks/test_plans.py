"""What a judgment and the first pages of results read of the database does not grow with a study.

Every statement of them runs under EXPLAIN (ANALYZE, BUFFERS) in a small study and in one
that is ten times as large, half of which is judged; rows and pages read must stay about the same.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from django.db import connection, transaction
from django.test import Client

from annotation import policies
from annotation.accounts.models import User
from annotation.agreement import board, recompute
from annotation.judging.models import Batch, ItemOption, Judgment, Slot
from annotation.judging.work import present, queue, submit
from annotation.studies.access import study_for
from annotation.studies.models import Membership, Study
from benchmarks import seed

pytestmark = pytest.mark.django_db(transaction=True)
SMALL, LARGE = 100, 1_000
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
        # A changed row that finds no room on its own page is entered in all of the table's indexes:
        # whether it does hangs on when PostgreSQL last pruned the page.
        room = 30 if self.statement.startswith("UPDATE") else 12
        return self.rows > small.rows * 1.5 + 12 or self.pages > small.pages * 1.5 + room


@contextmanager
def reads() -> Iterator[list[Read]]:
    """A list to which each statement adds what it reads, until the context ends."""
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
    made = seed.seed(items, overlap=4, people=4, length=100)
    study = Study.objects.get(slug=made["slug"])
    # As in a study that began after its statistics were gathered: nobody has judged anything.
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE judging_slot")
    people = User.objects.filter(memberships__study=study).order_by("pk")
    judges, judged = [person.pk for person in people][:3], items // 2
    seed.judge(study.pk, judges, judged, earlier=judged - TODAY, analyze=False)
    return study, people.first()


def hot_path(study, person) -> list[Read]:
    """What the page, a draft and a submit with the next item read."""

    slot = queue.claim(study, person)
    choice = str(ItemOption.objects.filter(item__slots=slot).first().candidate_id)
    with reads() as read, transaction.atomic():
        study_for(person, study.slug, policies.judgment.may_give)
        queue.claim(study, person)
        submit.last_answered(study, person)
        present.show(slot, person)
        submit.save_draft(study, slot, person, {"reason": ["Typed."]})
        submit.submit(study, slot, person, {"choice": choice}, key="k", claim_next=True)
    return read


def results_path(study) -> list[Read]:
    """What the study's page of results and an item's page read, where very many votes are kept."""

    researcher = User.objects.create_user("researcher@bench.example.org", None)
    Membership.objects.create(study=study, user=researcher, role="researcher")
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(researcher)
    task, item = study.tasks.get(), study.items.order_by("position").first()
    recompute.recompute(study, task.name)
    with connection.cursor() as cursor:  # whenever PostgreSQL would have done it
        cursor.execute("ANALYZE")
    with reads() as read, transaction.atomic():
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


def both(items):
    """What a judgment reads, and what first pages of results do, in a study of so many items."""
    study, person = study_of(items)
    return hot_path(study, person), results_path(study)


def test_what_a_judgment_and_first_pages_of_results_read_does_not_grow_with_the_study(monkeypatch):
    monkeypatch.setattr(board, "READ_AT_ONCE", 50)
    small = both(SMALL)
    with connection.cursor() as cursor:  # the ids of what is made are the same each time
        cursor.execute("TRUNCATE studies_study, accounts_user CASCADE")
    large = both(LARGE)
    for before, after in zip(small, large, strict=True):
        assert [read.statement for read in after] == [read.statement for read in before]
        assert len(before) > 7
        pairs = zip(before, after, strict=True)
        assert [pair for pair in pairs if pair[1].grew_from(pair[0])] == []


def test_a_statement_that_reads_a_whole_study_is_noticed():
    study_of(SMALL)
    with reads() as read, transaction.atomic():
        list(Slot.objects.filter(ordinal=3, study__slug="bench").values_list("pk"))
    assert read[0].rows >= SMALL
    assert read[0].grew_from(Read("", SMALL / 10, 5))


def test_made_judgments_agree_with_every_counter():
    study, _person = study_of(20)
    assert Batch.objects.get(study=study).size == 20
    assert Judgment.objects.count() == Slot.objects.filter(status="done").count()
    items = list(study.items.values_list("done", "counts"))
    assert sum(done for done, _counts in items) == Judgment.objects.count()
    assert all(done == sum(counts.values()) for done, counts in items)
