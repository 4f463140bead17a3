"""Replays of votes: what is read, and what a part of the votes gives."""

import numpy as np
import pytest

from annotation.datasets import folders
from benchmarks import fewer_votes
from tests.datasets.conftest import (
    _data,  # noqa: F401 - fixtures
    built,  # noqa: F401
    items,  # noqa: F401
    store_votes,
)

ORDER = [
    {"item": f"{first}{second}{n}", "worker": str(n), "first": first, "second": second,
     "value": 0.0 if n == 0 else 1.0, "predicted": 1.0}
    for first, second in ("ab", "bc", "ac") for n in range(20)
]  # fmt: skip


def test_all_votes_alike_drawn_give_what_all_votes_give():
    groups = fewer_votes.groups_of(ORDER)
    rows = {row[:3]: row[3:] for row in fewer_votes.replay(groups, seeds=4)}
    assert rows["no judge", "equal", "100%"] == ("1.00", "1.000", "1.00")
    assert {rule for _judge, rule, _part in rows} == {"equal", "uncertain", "close"}
    assert {judge for judge, _rule, _part in rows} == {"given judge", *fewer_votes.JUDGES}
    assert rows["no judge", "equal", "until"] == ("100%", "", "")


def test_conclusions_are_sides_of_a_value_or_the_order_of_systems():
    rows = [{"item": n, "group": "all", "worker": n, "value": n % 4 > 0, "reference": 0.5}
            for n in range(80)]  # fmt: skip
    (group,) = fewer_votes.groups_of(rows).values()
    high, low = (fewer_votes.Coefficient(each, 0.1, each - 0.1, each + 0.1) for each in (0.7, 0.3))
    open_ = fewer_votes.Coefficient(0.5, 0.1, 0.4, 0.6)
    assert group.concluded([high], [high]) == 1
    assert group.concluded([high], [open_]) == 0
    assert group.concluded([low], [high]) == 0
    assert np.isnan(group.concluded([open_], [high]))
    (order,) = fewer_votes.groups_of(ORDER).values()
    assert order.concluded([high, open_, low], [high, low, open_]) == pytest.approx(2 / 3)


def test_the_votes_until_as_narrow_lie_between_the_parts_that_were_replayed():
    assert fewer_votes._until([2.0, 1.5, 1.25, 1.1, 1.0, 1.0]) == "75%"
    assert fewer_votes._until([2.0, 1.5, 1.25, 1.1, 0.9, 1.0]) == "62%"
    assert fewer_votes._until([1.0] * 6) == "10%"
    assert fewer_votes._until([2.0] * 6) == "never"


def test_a_releases_choices_between_two_are_replayed_by_what_wrote_them(items, cast, built):  # noqa: F811
    item = items(1)[0]
    people = [cast.person(name) for name in ("Ann", "Bo", "Chen")]
    store_votes(item, "121", people)
    rows = list(fewer_votes.of_release(folders.folder_of(built("long"))))
    names = [item.options.get(number=number).candidate.strategy for number in (1, 2)]
    assert {(row["first"], row["second"]) for row in rows} == {tuple(names)}
    assert [row["value"] for row in rows] == [1.0, 0.0, 1.0]
    assert len({row["worker"] for row in rows}) == 3
