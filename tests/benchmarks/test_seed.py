"""The measured study stands beside others: a database that has the demo studies can be measured."""

import pytest

from annotation.studies.models import Study
from benchmarks.seed import seed
from tests.conftest import Cast

pytestmark = pytest.mark.django_db(transaction=True)


def test_seeding_leaves_other_studies_as_they_are():
    cast = Cast()
    tea = cast.study("tea")
    cast.query(tea, "1")  # named like one of the seed's
    cast.open(tea, items=2)
    before = (tea.candidates.count(), tea.items.count(), tea.queries.count())
    made = seed(4, overlap=2, people=1, queries=2, length=100)
    bench = Study.objects.get(slug=made["slug"])
    assert (bench.items.count(), bench.queries.count()) == (4, 2)
    assert all(item.options.count() == 2 for item in bench.items.all())
    assert (tea.candidates.count(), tea.items.count(), tea.queries.count()) == before
