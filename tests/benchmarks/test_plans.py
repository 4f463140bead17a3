"""What one judgment reads of the database does not grow with its study.

Every statement of the hot path runs under EXPLAIN (ANALYZE, BUFFERS) in a small study and in one
that is ten times as large, for somebody who judged half of it; rows and pages read must stay about
the same.
"""

import pytest
from django.db import connection, transaction

from annotation.judging.models import Batch, Judgment, Slot
from benchmarks import plans

pytestmark = pytest.mark.django_db(transaction=True)
SMALL, LARGE = 100, 1_000


def test_what_a_judgment_reads_does_not_grow_with_the_study():
    small = plans.hot_path(*plans.study_of(SMALL))
    with connection.cursor() as cursor:  # the ids of what is made are the same each time
        cursor.execute("TRUNCATE studies_study, accounts_user CASCADE")
    large = plans.hot_path(*plans.study_of(LARGE))
    assert [read.statement for read in large] == [read.statement for read in small]
    assert len(small) > 7
    pairs = zip(small, large, strict=True)
    assert [(before, after) for before, after in pairs if after.grew_from(before)] == []


def test_a_statement_that_reads_a_whole_study_is_noticed():
    plans.study_of(SMALL)
    with plans.reads() as read, transaction.atomic():
        list(Slot.objects.filter(ordinal=3, study__slug="bench").values_list("pk"))
    assert read[0].rows >= SMALL
    assert read[0].grew_from(plans.Read("", SMALL / 10, 5))


def test_made_judgments_agree_with_every_counter():
    study, _person = plans.study_of(20)
    assert Batch.objects.get(study=study).size == 20
    assert Judgment.objects.count() == Slot.objects.filter(status="done").count()
    items = list(study.items.values_list("done", "votes_1", "votes_2"))
    assert sum(done for done, _, _ in items) == Judgment.objects.count()
    assert all(done == first + second for done, first, second in items)
