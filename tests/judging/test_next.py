"""Storing an answer and handing out the next item in one statement equals doing it in two steps."""

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.judging.models import Desk, Draft, Handback, Item, Judgment, Slot
from annotation.judging.work import queue, submit
from tests.judging.test_queue import choose, expire_now

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
        Desk.objects.order_by("annotator").values_list(*desk),
        Desk.objects.exclude(exhausted_at=None).order_by("annotator").values_list("annotator"),
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
