"""A page of disputed items, whose places come from counts, is that of all items in order."""

from fractions import Fraction

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.agreement.board import Board
from annotation.agreement.statistics.tiers import item_kappa
from annotation.judging.models import Item

ITEMS = 7
COUNTS = st.tuples(*[st.integers(0, 3)] * 3)


@pytest.fixture
def study(cast, tea):
    cast.open(tea, items=ITEMS, options=2, overlap=9, tie=True)
    return tea


def count(study, rows) -> None:
    """Give the study's items these votes by label."""
    for position, votes in enumerate(rows, start=1):
        counts = dict(zip(("1", "2", "tie"), votes, strict=True))
        Item.objects.filter(study=study, position=position).update(done=sum(votes), counts=counts)


def in_order(rows) -> list[tuple]:
    """(position, own kappa) of the items with two votes or more, the most disputed first."""
    keys = [
        (item_kappa(votes, 3), -sum(votes), position)
        for position, votes in enumerate(rows, start=1)
        if sum(votes) > 1
    ]
    return [(position, float(kappa)) for kappa, _votes, position in sorted(keys)]


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(COUNTS, min_size=ITEMS, max_size=ITEMS), st.integers(0, ITEMS), st.integers(1, 4))
def test_every_part_of_the_list_is_that_part_of_all_items_in_order(study, rows, start, size):
    with transaction.atomic():
        count(study, rows)
        disputed = Board(study, study.tasks.get()).disputed()
        expected = in_order(rows)
        assert len(disputed) == len(expected)
        part = disputed[start : start + size]
        for items, wanted in ((list(disputed), expected), (part, expected[start : start + size])):
            assert [item.position for item in items] == [position for position, _ in wanted]
            assert [item.kappa for item in items] == pytest.approx([kappa for _, kappa in wanted])
        transaction.set_rollback(True)


def test_a_part_of_many_groups_takes_two_statements(study):
    count(study, [(1, 1, 0), (2, 0, 0), (2, 1, 0), (3, 0, 0), (3, 1, 0), (3, 2, 1), (1, 1, 1)])
    disputed = Board(study, study.tasks.get()).disputed()
    with CaptureQueriesContext(connection) as asked:
        assert len(disputed[0:6]) == 6
    assert len(asked) == 2
    assert [item.kappa for item in disputed[6:7]] == [pytest.approx(float(Fraction(1)))]


def test_an_item_that_changes_while_its_page_is_read_comes_last(study):
    count(study, [(1, 1, 0), (2, 0, 0), (2, 1, 0), *[(0, 0, 0)] * 4])
    disputed, statements = Board(study, study.tasks.get()).disputed(), []

    def change(execute, sql, parameters, many, context):
        statements.append(sql)
        if len(statements) == 2:  # the places are known, the items are not yet
            Item.objects.filter(study=study, position=1).update(done=5, counts={"1": 4})
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(change):
        page = disputed[0:25]
    assert [item.position for item in page] == [3, 2, 1]
    assert page[-1].judged == 5
