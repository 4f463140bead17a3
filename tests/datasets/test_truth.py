"""Tier, winner and pair of an item, the hard tier that is filled, and what is counted of them."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import pytest
from django.core.management import CommandError, call_command

from annotation.core.errors import DomainError
from annotation.datasets import freeze
from annotation.datasets.records import Answer, Item, Pair, Vote
from annotation.datasets.truth import Tally, majority, outside_bands, pair, verdict
from annotation.questions.base import Measure
from tests.datasets.conftest import card, left_out, lines

A, B, C = Answer("a", "A", "A1", "m"), Answer("b", "B", "A2", "m"), Answer("c", "C", "A3", "m")


def item(votes: str, *, answers=(A, B), extras=(), closed=True) -> Item:
    """An item with one vote a character: an answer's id, "t" or "n"."""
    names = {"t": "tie", "n": "none"}
    labels = (*(one.id for one in answers), *extras)
    given = tuple(
        Vote(f"w{n}", names.get(mark, mark), [], "", [], None, "2026-01-01", False)
        for n, mark in enumerate(votes)
    )
    return Item(
        id="i", task="better", task_version=1, kind="selection", labels=labels, overlap=9,
        closed=closed, query_id="q", query_version=1, question="", need="", type="specific",
        scenario="", asked_on=None, user_id="", persona_version=None, profile=None,
        answers=answers, votes=given,
    )  # fmt: skip


def tally(*items) -> Tally:
    out = Tally()
    for one in items:
        found = verdict(one)
        out.add(one, found, *pair(one, found))
    return out


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


def test_own_questions_are_counted_by_unit_and_class():
    """Two people on classes in order of each of two answers, and on classes that are ticked."""
    fit = Measure("fit", "ordinal", ("no", "unsure", "yes"), "fit")
    calm = Measure("tone: calm", "nominal", ("yes", "no"), "tone", of_class="calm")
    given = [
        ({"1/fit": "yes", "2/fit": "no"}, ["warm", "calm"]),
        ({"1/fit": "unsure", "2/fit": "no"}, ["warm"]),
    ]
    tone = {"question": "tone", "option": None}
    votes = tuple(
        Vote(f"w{n}", None, [], "", [], None, "2026-01-01", False,
             [tone | {"label": name} for name in names], parts=parts)
        for n, (parts, names) in enumerate(given)
    )  # fmt: skip
    own = replace(item(""), kind="questions", labels=(), measures=(fit, calm), votes=votes)
    agreement = tally(own).agreement()
    found = agreement["better v1: fit"]
    assert (found["level"], found["all"]["items"], found["all"]["votes"]) == ("ordinal", 2, 4)
    assert found["all"]["percent_agreement"]["value"] == 0.5
    assert found["all"]["krippendorff_alpha"]["ordinal"]["value"] == pytest.approx(5 / 6)
    assert agreement["better v1: tone: calm"]["all"]["percent_agreement"]["value"] == 0


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


HALF, FIFTH, NINTH = Fraction(1, 2), Fraction(1, 5), Fraction(1, 9)


@pytest.fixture
def judged(items, vote):
    """Eight hard items and three borderline ones.

    Of these the last has the surest winner: one of the two against it is against everybody always.
    """
    made = items(11)
    for item in made[:8]:
        vote(item, "111111112")
    for item, pattern in zip(made[8:], ("221111111", "221111111", "111111122"), strict=True):
        vote(item, pattern)
    return made


def test_borderline_items_stay_out_unless_they_are_asked_for(judged, built):
    release = built("personafeedback")
    assert len(lines(release, "data/specific/hard.jsonl")) == 8
    rules = release.manifest["rules"]["tiers"]
    assert (rules["parameters"]["hard_fill"], rules["filled"]) == ("0", 0)
    assert left_out(release) == {"borderline": 3}


def test_the_surest_join_up_to_the_share_and_the_release_says_so(judged, built):
    release = built("personafeedback", hard_fill=NINTH)
    rows = lines(release, "data/specific/hard.jsonl")
    (joined,) = (row for row in rows if row["share"] == 7 / 9)
    assert (joined["item_id"], joined["tier"]) == (judged[10].external_id, "hard")
    rules = release.manifest["rules"]["tiers"]
    assert (rules["parameters"]["hard_fill"], rules["filled"]) == ("1/9", 1)
    assert release.manifest["counts"]["pairs"]["hard"] == 9
    assert left_out(release) == {"borderline": 2}
    hard = release.manifest["agreement"]["better v1"]["tiers"]["hard"]
    assert hard["items"] == 9
    assert hard["symmetric_kappa"]["value"] == pytest.approx((8 * 5 + 2) / 9 / 9)
    assert "1 borderline items were taken into the hard tier" in card(release)


def test_the_filled_release_comes_out_the_same_again(judged, built, tmp_path):
    release = built("dpo", hard_fill=FIFTH)
    assert freeze.write(release, tmp_path) == release.manifest


def test_the_share_is_asked_for_by_command(judged, _data, tmp_path):
    out = tmp_path / "out"
    call_command("release", "tea", "--layout", "dpo", "--hard-fill", "0.2", "--out", str(out))
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["rules"]["tiers"]["parameters"]["hard_fill"] == "1/5"
    with pytest.raises(CommandError, match=r"Write a number such as 3/5 or 0\.6"):
        call_command("release", "tea", "--hard-fill", "a fifth", "--out", str(tmp_path / "no"))
