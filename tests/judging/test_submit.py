"""What is stored, what is answered again, and what is refused with a sentence."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.judging import ordering
from annotation.judging.models import Draft, Handback, Item, Judgment, Participation, Slot
from annotation.judging.work import queue, submit
from tests.judging.test_queue import choose, expire_now


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


# An answer that brings the next item leaves what an answer and a claim leave.

PEOPLE = ("Ann", "Bo", "Chen")
ACTS = ("submit", "submit", "submit", "skip", "release", "expire", "draft", "claim")
HISTORIES = st.lists(
    st.tuples(st.sampled_from(PEOPLE), st.sampled_from(ACTS)), min_size=4, max_size=12
)


def at_once(study, slot, person, key):
    """One submit that hands out the next slot: that slot's id."""
    return submit.submit(study, slot, person, choose(slot), key=key, claim_next=True).next_slot


def in_two_steps(study, slot, person, key):
    """Its twin: nothing is handed out with the answer, and a claim follows."""
    submit.submit(study, slot, person, choose(slot), key=key)
    return queue.claim(study, person)


def play(study, people, history, submit_and_next) -> tuple:
    """Everything that a history of (person, act) leaves behind, and what was handed out."""
    handed = []
    for place, (name, act) in enumerate(history):
        person = people[name]
        slot = queue.in_hand(study, person) or queue.claim(study, person)
        if slot and act == "submit":
            slot = submit_and_next(study, slot, person, f"k{place}")
        elif slot and act in ("skip", "release"):
            queue.hand_back(slot, person, {"skip": "skipped", "release": "released"}[act])
        elif slot and act == "expire":
            expire_now(slot)
        elif slot and act == "draft":
            submit.save_draft(study, slot, person, {"reason": ["Half"]})
        handed.append(slot)
    return handed, *map(list, stored())


def stored() -> tuple:
    """The rows of all that judging writes, without ids that are counted and times."""
    slot = ("pk", "status", "annotator", "returned", "reserved_for", "lead")
    desk = ("annotator", "cursor", "lapped", "done", "walked_in")
    judgment = ("slot", "annotator", "key", "digest", "revision", "shown", "answers__label")
    return (
        Slot.objects.order_by("pk").values_list(*slot),
        Judgment.objects.order_by("slot", "revision").values_list(*judgment),
        Item.objects.order_by("pk").values_list("pk", "done", "counts"),
        Participation.objects.order_by("annotator").values_list(*desk),
        Participation.objects.exclude(exhausted_at=None)
        .order_by("annotator")
        .values_list("annotator"),
        Draft.objects.order_by("slot").values_list("slot", "data"),
        Handback.objects.order_by("pk").values_list("slot", "annotator", "cause"),
    )


@pytest.fixture
def people(cast, tea):
    cast.open(tea, items=5, overlap=2, reason="optional")
    return {name: cast.person(name) for name in PEOPLE}


@settings(
    max_examples=7, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(HISTORIES)
def test_submit_with_the_next_slot_leaves_what_submit_and_claim_leave(tea, people, history):
    ends = []
    for submit_and_next in (at_once, in_two_steps):
        with transaction.atomic():
            ends.append(play(tea, people, history, submit_and_next))
            transaction.set_rollback(True)
    assert ends[0] == ends[1]
