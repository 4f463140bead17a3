"""What a slot shows: the total gives no hidden check away."""

import random
from datetime import date

import pytest

from annotation.judging.batches.open import open_batch
from annotation.judging.models import Slot
from annotation.judging.work import hidden_checks, present, queue
from tests.judging.test_checks import add_checks, rates
from tests.judging.test_queue import judge


@pytest.fixture(autouse=True)
def _places(monkeypatch):
    """The places of checks are drawn alike each time: with another key one more may come."""
    drawn = lambda _desk, *parts: random.Random(str(parts))  # noqa: E731, S311
    monkeypatch.setattr(hidden_checks, "_drawn", drawn)


def totals(study, user):
    """The totals seen until nothing is left, and what the items were for."""
    seen, purposes = set(), set()
    while slot := queue.claim(study, user):
        shown = present.show(slot, user)
        seen.add(shown.in_all)
        purposes.add(Slot.objects.get(pk=shown.slot).item.batch.purpose)
        judge(study, user)
    return seen, purposes


def test_the_total_is_the_same_before_and_after_repeats_are_handed_out(cast, tea, ann):
    cast.open(tea, items=8, overlap=1)
    add_checks(cast, tea, "gold", 2)
    rates(tea, repeat_every=2)
    # A half of eight items may come again; no gold item is handed out.
    assert totals(tea, ann) == ({12}, {"work", "repeat"})


def test_the_total_of_own_items_is_the_same_before_and_after_repeats_are_handed_out(cast, tea, ann):
    task = cast.task(tea, owner_only=True, overlap=1)
    persona = cast.persona(tea)
    for n in range(8):
        cast.candidates(cast.query(tea, f"q{n}", persona, owner=ann))
    open_batch(tea, task)
    rates(tea, repeat_every=2)
    assert totals(tea, ann) == ({12}, {"work", "repeat"})


def test_the_card_tells_what_holds_for_a_time_on_the_day_of_the_question(cast, tea, ann):
    cast.open(tea)
    persona, day = tea.personas.get(), date(2026, 5, 1)
    for n, (since, until) in enumerate([(1, None), (2, None), (None, 1), (None, 2), (None, None)]):
        days = {"since": since and date(2026, 5, since), "until": until and date(2026, 5, until)}
        persona.attributes.create(external_id=f"a{n}", text=f"Fact {n}", **days)
    slot = queue.claim(tea, ann)
    before = present.show(slot, ann).person.card
    tea.queries.update(asked_on=day)
    *card, (title, rows) = present.show(slot, ann).person.card
    assert (card, title) == (before, "As of 1 May 2026")
    assert rows == [("Attributes", ["Fact 0", "Fact 3"])]


def test_nobody_sees_what_another_person_holds(cast, tea, ann):
    cast.open(tea)
    slot = queue.claim(tea, ann)
    assert present.show(slot, ann).in_all == 1
    with pytest.raises(present.NotFound):
        present.show(slot, cast.person("Bo"))
