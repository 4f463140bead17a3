"""What one judgment reads of the database does not grow with its study.

Every statement of the hot path runs under EXPLAIN (ANALYZE, BUFFERS) in a small study and in one
that is ten times as large; the pages read must stay about the same.
"""

import json
from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from annotation.accounts.models import User
from annotation.judging.models import Batch, ItemOption, Judgment, Slot
from annotation.judging.work import drafts, present, queue, submit
from annotation.studies.access import study_for
from annotation.studies.models import Study
from benchmarks import growth, seed

pytestmark = pytest.mark.django_db(transaction=True)
PLANNED = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
SMALL, LARGE = 100, 1_000


@contextmanager
def plans():
    """A list that collects (the statement's beginning, pages of 8 kB it read)."""
    read = []

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
            read.append((" ".join(statement.split())[:70], pages))
        return execute(statement, params, many, context)

    with connection.execute_wrapper(explain):
        yield read


def study_of(items: int) -> tuple[Study, User]:
    made = seed.seed(items, overlap=4, people=4, length=100)
    study = Study.objects.get(slug=made["slug"])
    people = User.objects.filter(memberships__study=study).order_by("pk")
    growth.judge(study.pk, [person.pk for person in people][:3], items // 2)
    return study, people.last()


def hot_path(study, person) -> list[tuple[str, int]]:
    """What the page, a draft and a submit with the next item read."""
    slot = queue.claim(study, person)
    choice = str(ItemOption.objects.filter(item__slots=slot).first().candidate_id)
    with plans() as read, transaction.atomic():
        study_for(person, study.slug)
        queue.claim(study, person)
        present.show(slot, person)
        drafts.save(study, slot, person, {"reason": ["Typed."]})
        stored = submit.submit(study, slot, person, {"choice": choice}, key="k", claim_next=True)
        present.show(stored.next_slot, person)
    return read


def test_what_a_judgment_reads_does_not_grow_with_the_study():
    small = hot_path(*study_of(SMALL))
    with connection.cursor() as cursor:  # the ids of what is made are the same each time
        cursor.execute("TRUNCATE studies_study, accounts_user CASCADE")
    large = hot_path(*study_of(LARGE))
    assert [name for name, _ in large] == [name for name, _ in small]
    assert len(small) > 10
    grown = {
        name: (before, after)
        for (name, before), (_, after) in zip(small, large, strict=True)
        # A level of an index more, for each of the joined tables.
        if after > before * 1.5 + 12
    }
    assert grown == {}


def test_made_judgments_agree_with_every_counter():
    study, _person = study_of(20)
    assert Batch.objects.get(study=study).size == 20
    assert Judgment.objects.count() == Slot.objects.filter(status="done").count()
    items = list(study.items.values_list("done", "votes_1", "votes_2"))
    assert sum(done for done, _, _ in items) == Judgment.objects.count()
    assert all(done == first + second for done, first, second in items)
