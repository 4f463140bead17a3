"""What is stored, what is answered again, and what is refused with a sentence."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.judging import ordering
from annotation.judging.models import Judgment, Slot
from annotation.judging.work import queue, submit


@pytest.fixture
def held(cast, tea, ann):
    """Ann holds a slot of a task that allows a tie and none, and wants a reason."""
    cast.open(tea, items=2, overlap=3, tie=True, none=True, reason="required")
    return tea, queue.claim(tea, ann), ann


def choice(slot_id, number=1):
    return str(Slot.objects.get(pk=slot_id).item.options.get(number=number).candidate_id)


def test_a_judgment_keeps_reason_flags_seconds_and_the_shown_order(held):
    study, slot, ann = held
    data = {"choice": choice(slot, 3), "reason": " it fits ", "flags": ["unsafe"]}
    submit.submit(study, slot, ann, data, key="k", seconds="12.5")
    stored = Judgment.objects.get()
    assert (stored.answers.get().label, stored.reason) == ("3", "it fits")
    assert (stored.flags, stored.seconds, stored.imported) == (["unsafe"], 12.5, False)
    row = Slot.objects.get(pk=slot)
    assert stored.shown == list(ordering.shown_order(row.item_id, row.ordinal, 3))


def test_the_same_key_with_other_words_is_refused(held):
    study, slot, ann = held
    submit.submit(study, slot, ann, {"choice": choice(slot), "reason": "why"}, key="k")
    with pytest.raises(Conflict) as refusal:
        submit.submit(study, slot, ann, {"choice": choice(slot, 2), "reason": "why"}, key="k")
    assert refusal.value.code == "key_reused"
    assert Judgment.objects.get().answers.get().label == "1"


def test_a_key_of_another_item_is_refused_and_nothing_is_stored(held):
    study, slot, ann = held
    data = {"choice": choice(slot), "reason": "why"}
    following = submit.submit(study, slot, ann, data, key="k", claim_next=True).next_slot
    with pytest.raises(Conflict):
        other = {"choice": choice(following), "reason": "why"}
        submit.submit(study, following, ann, other, key="k")
    assert Judgment.objects.count() == 1
    assert Slot.objects.get(pk=following).status == "held"


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"choice": ["tie"]},
        {"choice": "tie", "reason": "   "},
        {"choice": "tie", "reason": "x", "flags": [1]},
    ],
)
def test_an_incomplete_answer_is_refused_and_the_slot_stays_held(held, data):
    study, slot, ann = held
    with pytest.raises(DomainError) as refusal:
        submit.submit(study, slot, ann, data, key="k")
    assert refusal.value.sentence.endswith(".")
    assert Judgment.objects.count() == 0
    assert Slot.objects.get(pk=slot).annotator == ann


@pytest.mark.parametrize("seconds", ["-1", "soon", "nan", "inf", True, [1], 10**400])
def test_seconds_that_are_no_time_are_refused(held, seconds):
    study, slot, ann = held
    with pytest.raises(DomainError):
        submit.submit(study, slot, ann, {"choice": "tie"}, key="k", seconds=seconds)


@pytest.mark.parametrize("key", ["", "x" * 201, "a\nb", "a\x00"])
def test_a_submit_without_a_proper_key_is_refused(held, key):
    study, slot, ann = held
    with pytest.raises(DomainError):
        submit.submit(study, slot, ann, {"choice": "tie", "reason": "x"}, key=key)


def test_a_slot_of_somebody_else_or_of_another_study_is_not_found(cast, held):
    study, slot, ann = held
    with pytest.raises(NotFound):
        submit.submit(study, slot, cast.person("Bo"), {"choice": "tie", "reason": "x"}, key="k")
    with pytest.raises(NotFound):
        submit.submit(cast.study("rain"), slot, ann, {"choice": "tie", "reason": "x"}, key="k")


def test_an_answer_may_be_changed_for_so_many_hours_after_the_first_one(held):
    study, slot, ann = held
    study.edit_hours = 24
    answers = ({"choice": choice(slot, number), "reason": "why"} for number in (1, 2, 3))
    submit.submit(study, slot, ann, next(answers), key="first")
    first = Judgment.objects.filter(slot=slot, revision=1)
    first.update(submitted_at=timezone.now() - timedelta(hours=23, minutes=59))
    submit.revise(study, slot, ann, next(answers), key="second")
    assert submit.last_answered(study, ann) == slot
    first.update(submitted_at=timezone.now() - timedelta(hours=24))
    with pytest.raises(Conflict, match="The time to change this answer is over"):
        submit.revise(study, slot, ann, next(answers), key="third")
    assert submit.last_answered(study, ann) is None
    assert Judgment.objects.filter(slot=slot).count() == 2
