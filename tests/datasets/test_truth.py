"""Tier and winner of an item, and the pair that it gives."""

from dataclasses import replace
from fractions import Fraction

import pytest

from annotation.core.errors import DomainError
from annotation.datasets.records import Pair
from annotation.datasets.truth import majority, pair, verdict
from tests.datasets.test_tally import A, B, C, item


@pytest.mark.parametrize(
    ("votes", "tier", "winner"),
    [
        ("aaaaaaaaa", "medium", "a"),
        ("baaaaaaaa", "hard", "a"),
        ("bbaaaaaaa", "borderline", "a"),
        ("bbbaaaaaa", "ambiguous", "a"),
        ("aaaabbbb", "ambiguous_tie", None),
        ("aaaaaa", "pending", None),
        ("", "pending", None),
        ("aaaaaaaaabb", "medium", "a"),
    ],
)
def test_the_rule_is_applied_to_the_first_nine_votes(votes, tier, winner):
    found = verdict(item(votes))
    assert (found.tier, found.winner, found.n) == (tier, winner, min(len(votes), 9))


def test_an_item_that_still_collects_has_no_tier_before_its_ninth_vote():
    assert verdict(item("aaaaaaaa", closed=False)).tier == "pending"
    assert verdict(item("aaaaaaaaa", closed=False)).tier == "medium"


def test_a_label_the_task_does_not_offer_is_refused():
    with pytest.raises(DomainError, match="does not offer"):
        verdict(item("aaat"))
    assert verdict(item("aaaaaaaat", extras=("tie",))).counts == (8, 0, 1)


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        ("aaaabbbcc", (Pair("easy", A, C), "")),
        ("ccccccccc", (None, "question_alone_won")),
        ("aaaabbbbc", (None, "ambiguous_tie")),
        ("nnnnnnnnn", (None, "no_answer_won")),
    ],
)
def test_three_answers_give_an_easy_pair_where_a_person_beat_the_question_alone(votes, expected):
    one = item(votes, answers=(A, B, C), extras=("none",))
    assert pair(one, verdict(one)) == expected


@pytest.mark.parametrize(
    ("least", "reason"),
    [(Fraction(5, 9), ""), (Fraction(51, 90), "ground_truth_below_its_share")],
)
def test_the_ground_truth_of_an_easy_pair_needs_its_share(least, reason):
    voted = item("aaaaabbcc", answers=(A, B, C), extras=("none",))
    assert pair(voted, verdict(voted), easy_share=least)[1] == reason


def test_an_answer_for_another_persona_is_rejected_where_nobody_saw_the_question_alone():
    other = replace(C, strategy="mismatch")
    won = item("aaaaabbbc", answers=(A, B, other))
    assert pair(won, verdict(won)) == (Pair("easy", A, other), "")
    lost = item("cccccaabb", answers=(A, B, other))
    assert pair(lost, verdict(lost)) == (None, "mismatching_answer_won")


def test_no_preference_counts_for_neither_answer_of_a_majority():
    points = tuple("12345")
    rated = replace(item("3334", answers=(A, B)), kind="preference", labels=points)
    found = majority(rated, 1, 1)
    assert (found.counts, found.winner, found.tier) == ((0, 1, 3), "tie", "majority")
    assert majority(replace(rated, votes=rated.votes[2:]), 1, 1).tier == "margin_too_small"
