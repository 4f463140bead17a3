from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import pytest

from annotation.core.errors import DomainError
from annotation.datasets.records import Answer, Item, Pair, Vote, shuffled, workers
from annotation.datasets.tally import Tally, outside_bands
from annotation.datasets.truth import pair, verdict

A, B, C = Answer("a", "A", "A1", "m"), Answer("b", "B", "A2", "m"), Answer("c", "C", "A3", "m")


def item(votes: str, *, answers=(A, B), extras=(), closed=True) -> Item:
    """An item with one vote a character: an answer's id, "t" or "n"."""
    names = {"t": "tie", "n": "none"}
    labels = (*(one.id for one in answers), *extras)
    return Item(
        id="i", task="better", task_version=1, kind="selection", labels=labels,
        overlap=9,
        closed=closed, query_id="q", query_version=1, question="", need="", type="specific",
        scenario="", user_id="", persona_version=None, profile=None, answers=answers,
        votes=tuple(
            Vote(f"w{n}", names.get(mark, mark), [], "", [], None, "2026-01-01", False)
            for n, mark in enumerate(votes)
        ),
    )  # fmt: skip


def tally(*items) -> Tally:
    out = Tally()
    for one in items:
        found = verdict(one)
        out.add(one, found, *pair(one, found))
    return out


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


def test_a_tier_of_thirty_items_inside_its_band_is_released():
    agreement = tally(*[item("aaaaaaaab")] * 30).agreement()
    hard = agreement["better v1"]["tiers"]["hard"]
    assert (hard["items"], hard["in_band"], hard["new_panel_in_band"]) == (30, True, True)
    assert hard["symmetric_kappa"]["value"] == pytest.approx(5 / 9)
    assert outside_bands(agreement) == ""


def test_a_tier_that_a_new_panel_would_not_confirm_blocks_but_not_below_thirty_items():
    noise = [item("aaaaabbbb")] * 30
    blocked = tally(*[item("aaaaaaaab")] * 30, *noise).agreement()
    assert "hard of better v1: a new panel's kappa of 0.364" in outside_bands(blocked)
    assert outside_bands(tally(*[item("aaaaaaaab")] * 29, *noise).agreement()) == ""


def test_the_counts_do_not_depend_on_the_order_of_the_items():
    items = [item("aaaaaaaaa"), item("bbaaaaaaa"), item("abababab")]
    results = [(t.counts(), t.agreement()) for t in (tally(*p) for p in permutations(items))]
    assert all(result == results[0] for result in results)


def test_pseudonyms_are_decided_by_the_salt_alone():
    ids = list(range(40))
    one, other = "00" * 32, "01" * 32
    assert workers(one, ids) == workers(one, reversed(ids))
    assert workers(one, ids) != workers(other, ids)
    assert shuffled(one, ids) != ids
    assert sorted(workers(one, range(1001)).values())[0] == "worker-0001"
