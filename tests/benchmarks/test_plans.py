"""What a judgment and the first pages of results read of the database does not grow with a study.

Every statement of them runs under EXPLAIN (ANALYZE, BUFFERS) in a small study and in one
that is ten times as large, half of which is judged; rows and pages read must stay about the same.
"""

import pytest
from django.db import connection, transaction

from annotation.judging.models import Batch, Judgment, Slot
from benchmarks import plans

pytestmark = pytest.mark.django_db(transaction=True)
SMALL, LARGE = 100, 1_000


def both(items):
    """What a judgment reads, and what first pages of results do, in a study of so many items."""
    study, person = plans.study_of(items)
    return plans.hot_path(study, person), plans.results_path(study)


def test_what_a_judgment_and_first_pages_of_results_read_does_not_grow_with_the_study():
    small = both(SMALL)
    with connection.cursor() as cursor:  # the ids of what is made are the same each time
        cursor.execute("TRUNCATE studies_study, accounts_user, agreement_votecount CASCADE")
    large = both(LARGE)
    for before, after in zip(small, large, strict=True):
        assert [read.statement for read in after] == [read.statement for read in before]
        assert len(before) > 7
        pairs = zip(before, after, strict=True)
        assert [pair for pair in pairs if pair[1].grew_from(pair[0])] == []


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
