from dataclasses import replace
from itertools import permutations

import pytest

from annotation.datasets.records import Answer, Item, Vote
from annotation.datasets.truth import Tally, outside_bands, pair, verdict
from annotation.questions.base import Measure

A, B, C = Answer("a", "A", "A1", "m"), Answer("b", "B", "A2", "m"), Answer("c", "C", "A3", "m")


def item(votes: str, *, answers=(A, B), extras=(), closed=True) -> Item:
    """An item with one vote a character: an answer's id, "t" or "n"."""
    names = {"t": "tie", "n": "none"}
    labels = (*(one.id for one in answers), *extras)
    return Item(
        id="i", task="better", task_version=1, kind="selection", labels=labels,
        overlap=9,
        closed=closed, query_id="q", query_version=1, question="", need="", type="specific",
        scenario="", asked_on=None, user_id="", persona_version=None, profile=None, answers=answers,
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
        {"1/fit": "yes", "2/fit": "no", "tone": "warm, calm"},
        {"1/fit": "unsure", "2/fit": "no", "tone": "warm"},
    ]
    votes = tuple(
        Vote(f"w{n}", None, [], "", [], None, "2026-01-01", False, parts=parts)
        for n, parts in enumerate(given)
    )
    own = replace(item(""), kind="questions", labels=(), measures=(fit, calm), votes=votes)
    agreement = tally(own).agreement()
    found = agreement["better v1: fit"]
    assert (found["level"], found["all"]["items"], found["all"]["votes"]) == ("ordinal", 2, 4)
    assert found["all"]["percent_agreement"]["value"] == 0.5
    assert found["all"]["krippendorff_alpha"]["ordinal"]["value"] == pytest.approx(5 / 6)
    assert agreement["better v1: tone: calm"]["all"]["percent_agreement"]["value"] == 0
