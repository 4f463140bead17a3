"""What a slot shows: the total gives no hidden check away."""

import pytest

from annotation.judging.batches.open import open_batch
from annotation.judging.models import Slot
from annotation.judging.work import present, queue
from tests.judging.test_checks import add_checks, rates
from tests.judging.test_queue import judge


@pytest.fixture
def ann(cast, tea):
    return cast.person("Ann")


def totals(study, user):
    """The totals seen until nothing is left, and what the items were for: places are drawn."""
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


def test_nobody_sees_what_another_person_holds(cast, tea, ann):
    cast.open(tea)
    slot = queue.claim(tea, ann)
    assert present.show(slot, ann).in_all == 1
    with pytest.raises(present.NotFound):
        present.show(slot, cast.person("Bo"))
