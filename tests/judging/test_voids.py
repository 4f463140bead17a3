"""Voided judgments: the rows stay, the counters and the hand-out are as if they had never been."""

import contextlib
from collections import Counter

import pytest

from annotation.core.errors import Conflict, NotFound
from annotation.core.models import AuditEvent
from annotation.imports.bring import import_votes
from annotation.judging.batches.open import close_batch
from annotation.judging.models import Batch, Handback, Item, Judgment, Slot
from annotation.judging.work import queue, submit
from annotation.judging.work.queue import void
from tests.judging.test_queue import choose, in_parallel, judge


def counters() -> dict:
    """Of every item with votes: (done, its counts), as stored."""
    rows = Item.objects.filter(batch__purpose="work", done__gt=0)
    counts = {pk: (done, counts) for pk, done, counts in rows.values_list("pk", "done", "counts")}
    return {pk: (done, {k: n for k, n in row.items() if n}) for pk, (done, row) in counts.items()}


def counted() -> dict:
    """The same, from the rows."""
    rows = Judgment.objects.standing().select_related("slot")
    found = {}
    for row in rows.filter(slot__item__batch__purpose="work"):
        found.setdefault(row.slot.item_id, Counter())[row.answers.get().label] += 1
    return {pk: (n.total(), dict(n)) for pk, n in found.items()}


def test_the_counters_are_taken_back_and_the_rows_stay(cast, tea, ann, bo):
    cast.open(tea, items=3, overlap=3)
    for number in (1, 2, 3):
        judge(tea, ann, number)
        judge(tea, bo, number)
    assert void(tea, ann, cause="clicked through", by=cast.person("Carol")) == 3
    assert counters() == counted()
    assert [row[0] for row in counters().values()] == [1, 1, 1]
    assert Judgment.objects.filter(annotator=ann).count() == 3
    assert set(Judgment.objects.standing().values_list("annotator", flat=True)) == {bo.pk}
    assert void(tea, ann, cause="once more") == 0
    event = AuditEvent.objects.get(action="judgments.void")
    details = {"study": "tea", "cause": "clicked through", "voided": 3}
    assert (event.actor, event.details) == (cast.person("Carol").pk, details)


def test_a_tie_a_none_and_a_revised_answer_are_taken_back_as_they_stand(cast, tea, ann):
    cast.open(tea, items=3, overlap=2, tie=True, none=True)
    slots = []
    for answer in ({"choice": "tie"}, {"choice": "none"}, None):
        slot = queue.claim(tea, ann)
        submit.submit(tea, slot, ann, answer or choose(slot, 1), key=f"k{slot}")
        slots.append(slot)
    submit.revise(tea, slots[2], ann, choose(slots[2], 3), key="again")
    assert counters() == counted()
    void(tea, ann, cause="left")
    assert counters() == {}


def test_each_gets_a_new_slot_of_its_ordinal_that_goes_out_first(cast, tea, ann, bo):
    cast.open(tea, items=3, overlap=1)
    old = Slot.objects.get(pk=judge(tea, ann))
    queue.claim(tea, bo)
    void(tea, ann, cause="left")
    new = Slot.objects.get(item=old.item, status="open")
    assert (new.ordinal, new.position, new.returned) == (old.ordinal, old.position, True)
    assert queue.claim(tea, cast.person("Chen")) == new.pk
    assert Slot.objects.get(pk=old.pk).status == "void"


def test_the_voided_person_never_gets_the_items_again_and_others_complete_them(cast, tea, ann):
    cast.open(tea, items=2, overlap=2)
    while judge(tea, ann):
        pass
    void(tea, ann, cause="left")
    assert queue.claim(tea, ann) is None
    for name in ("Bo", "Chen"):
        while judge(tea, cast.person(name), 2):
            pass
    assert list(Item.objects.values_list("done", "counts")) == [(2, {"2": 2})] * 2
    assert counters() == counted()


def test_what_the_person_holds_is_handed_back(cast, tea, ann):
    cast.open(tea, items=2, overlap=1)
    slot = queue.claim(tea, ann)
    assert void(tea, ann, cause="left") == 0
    assert Slot.objects.get(pk=slot).status == "open"
    assert Handback.objects.get().reason == "left"
    with pytest.raises(NotFound):
        queue.hand_back(slot, ann, "released")


def test_in_a_closed_batch_the_new_slots_are_closed(cast, tea, ann):
    batch = cast.open(tea, items=2, overlap=1)
    judge(tea, ann)
    queue.claim(tea, ann)
    close_batch(batch)
    assert void(tea, ann, cause="left") == 1
    assert sorted(Slot.objects.values_list("status", flat=True)) == ["closed", "closed", "void"]


@pytest.mark.parametrize(("owned", "status"), [(True, "closed"), (False, "open")])
def test_the_item_of_an_owner_waits_for_nobody_else_an_assigned_one_for_anybody(
    cast, tea, ann, owned, status
):
    cast.open(tea, items=1, overlap=1)
    tea.queries.update(owner=ann if owned else None)
    Slot.objects.update(reserved_for=ann)
    judge(tea, ann)
    void(tea, ann, cause="left")
    rows = Slot.objects.order_by("status").values_list("status", "reserved_for")
    assert list(rows) == [(status, ann.pk if owned else None), ("void", ann.pk)]


def test_checks_are_taken_out_and_nobody_is_given_them_anew(cast, tea, ann):
    cast.open(tea, items=1, overlap=1)
    judge(tea, ann)
    Batch.objects.update(purpose="gold")
    assert void(tea, ann, cause="left") == 0
    assert Slot.objects.get().status == "void"


def test_a_voided_submit_sent_again_is_answered_and_stores_nothing(cast, tea, ann):
    cast.open(tea, items=1, overlap=1)
    slot = queue.claim(tea, ann)
    submit.submit(tea, slot, ann, choose(slot), key="k")
    void(tea, ann, cause="left")
    assert submit.submit(tea, slot, ann, choose(slot), key="k").repeated
    with pytest.raises(Conflict):
        submit.submit(tea, slot, ann, choose(slot), key="other")
    with pytest.raises(NotFound):
        submit.revise(tea, slot, ann, choose(slot, 2), key="third")
    with pytest.raises(Conflict):
        queue.hand_back(slot, ann, "released")
    assert counters() == {}
    assert Slot.objects.get(pk=slot).status == "void"


def test_a_study_keeps_its_hands_off_another(cast, tea, ann):
    rain = cast.study("rain")
    cast.open(tea, items=1, overlap=1)
    cast.open(rain, items=1, overlap=1)
    judge(tea, ann)
    slot = judge(rain, ann)
    void(tea, ann, cause="left")
    assert Slot.objects.get(pk=slot).status == "done"


def test_voids_and_submits_at_once_leave_counters_that_equal_the_rows(cast, rush):
    cast.open(rush, items=6, overlap=4)
    people = cast.members(rush, {f"P{n}": "annotator" for n in range(4)})
    for person in people:
        for _ in range(3):
            judge(rush, person)

    def work(person):
        for _ in range(20):
            # What a void takes out of somebody's hands cannot be submitted any more.
            with contextlib.suppress(NotFound):
                judge(rush, person, 2)

    jobs = [lambda p=p: work(p) for p in people]
    jobs += [lambda p=p: void(rush, p, cause="rush") for p in people[:2]] * 2
    assert [one for one in in_parallel(jobs) if isinstance(one, Exception)] == []
    assert counters() == counted()
    for item in Item.objects.all():
        slots = Counter(item.slots.values_list("status", flat=True))
        assert slots["done"] == item.done
        assert slots.total() - slots["void"] == item.overlap


def test_votes_of_a_voided_worker_imported_again_stay_out(cast, tea, tmp_path):
    batch = cast.open(tea, items=1, overlap=1)
    item = batch.items.get()
    candidate = item.options.get(number=1).candidate.external_id
    votes = tmp_path / "votes.csv"
    votes.write_text(f"task,worker,label\n{item.external_id},w1,{candidate}\n")
    assert import_votes(tea, votes)["votes"] == 1
    void(tea, Slot.objects.get().annotator, cause="spam")
    assert import_votes(tea, votes)["rejected"] == []
    assert counters() == {}
    assert Judgment.objects.count() == 1
