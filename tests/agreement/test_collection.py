import csv
from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.agreement import recompute
from annotation.agreement.models import StoppedItem
from annotation.agreement.tiers import collection
from annotation.agreement.tiers.rules import DEFAULT, TierRule, may_stop, tier_of
from annotation.core.errors import DomainError
from annotation.judging.models import Slot
from tests import corpora

DICES = corpora.DATA / "dices-990" / "judgments.csv"
BELOW = {name: replace(DEFAULT, stop_below=name) for name in ("hard", "borderline")}


def replay(sequences: list[list[int]], options: int, rule: TierRule) -> dict:
    """What stopping would have done to votes that were collected in full.

    ``sequences`` are the labels (0 to ``options`` - 1) of each item in order of submission.
    ``{"items", "votes", "saved", "stopped", "different"}``: ``different`` counts items whose
    released tier (medium or hard, by the rule without stopping) is another with it.
    """
    totals = {"items": len(sequences), "votes": 0, "saved": 0, "stopped": 0, "different": 0}
    for sequence in sequences:
        panel = sequence[: rule.panel]
        used = until_stop(panel, options, rule)
        full = tier_of(counts(panel, options), options, replace(rule, stop_below=None))
        early = tier_of(counts(panel[:used], options), options, rule)
        totals["votes"] += len(panel)
        totals["saved"] += len(panel) - used
        totals["stopped"] += used < len(panel)
        released = ("medium", "hard")
        totals["different"] += (full in released or early in released) and full != early
    return totals


def until_stop(panel: list[int], options: int, rule: TierRule) -> int:
    for used in range(2, len(panel)):
        if may_stop(counts(panel[:used], options), options, rule):
            return used
    return len(panel)


def counts(labels: list[int], options: int) -> list[int]:
    return [labels.count(label) for label in range(options)]


@pytest.mark.parametrize("below", BELOW)
@given(sequence=st.lists(st.integers(0, 1), min_size=9, max_size=9))
def test_a_released_tier_is_the_full_panels_whatever_the_votes(below, sequence):
    assert replay([sequence], 2, BELOW[below])["different"] == 0


@pytest.mark.parametrize("below", BELOW)
@given(sequence=st.lists(st.integers(0, 2), min_size=9, max_size=9))
def test_so_it_is_with_three_options(below, sequence):
    assert replay([sequence], 3, BELOW[below])["different"] == 0


def test_a_split_item_is_stopped_as_soon_as_it_is_lost():
    two_sides = [0, 1, 0, 1, 0, 0, 0, 0, 0]
    assert replay([two_sides], 2, BELOW["hard"]) == {
        "items": 1, "votes": 9, "saved": 5, "stopped": 1, "different": 0,
    }  # fmt: skip
    assert replay([[0] * 9], 2, BELOW["hard"])["saved"] == 0  # never on success


@pytest.mark.skipif(not DICES.exists(), reason="the real votes are not part of a clone")
def test_real_votes_keep_their_tiers_and_many_are_saved():
    votes, labels = defaultdict(list), {}
    with DICES.open(newline="") as file:
        for row in csv.DictReader(file):
            label = labels.setdefault(row["is_safe"], len(labels))
            votes[row["item_id"]].append(label)
    full = [sequence[:9] for sequence in votes.values()]
    strict = replay(full, len(labels), BELOW["hard"])
    loose = replay(full, len(labels), BELOW["borderline"])
    assert (strict["items"], strict["votes"]) == (990, 8910)
    assert (strict["different"], loose["different"]) == (0, 0)
    # In the order of the file: 16.5 % and 6.9 % of all votes.
    assert (strict["saved"], loose["saved"]) == (1472, 614)


def test_items_that_are_lost_get_no_more_votes(tea, split):
    even, clear, held = split
    task = even.batch.task.name
    collection.choose_stop(tea, task, "hard")
    assert recompute.due() == [(tea, task)]
    recompute.recompute(tea, task)
    open_slots = Slot.objects.filter(status="open").values_list("item", flat=True)
    assert set(open_slots) == {clear.pk}
    assert collection.stop_state(tea, task) == {"below": "hard", "items": 2, "saved": 5 + 4}
    held.refresh_from_db()
    assert held.overlap == 5  # four votes, and the one that is being given
    recompute.recompute(tea, task)
    assert StoppedItem.objects.count() == 2
    even.refresh_from_db()
    assert even.tier.tier == "ambiguous"


def test_without_the_option_nothing_stops_and_it_can_be_switched_off(tea, split):
    even, _clear, _held = split
    task = even.batch.task.name
    recompute.recompute(tea, task)
    assert not StoppedItem.objects.exists()
    with pytest.raises(DomainError, match="Stop below hard"):
        collection.choose_stop(tea, task, "medium")
    collection.choose_stop(tea, task, "hard")
    collection.choose_stop(tea, task, "")
    recompute.recompute(tea, task)
    assert not StoppedItem.objects.exists()
    assert collection.stop_state(tea, task)["below"] == ""
