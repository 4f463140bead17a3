"""Hand-out: exactly n judgments an item, nobody twice, nobody waits for somebody else's tab."""

import re
from collections import Counter
from datetime import timedelta

import pytest
from django.db.models import Count
from django.db.models.functions import Now
from django.utils import timezone

from annotation.candidates.models import Candidate
from annotation.core.errors import Conflict, NotFound
from annotation.judging.batches.open import (
    close_batch,
    hold_back,
    open_batch,
    reopen_batch,
    reopen_slots,
)
from annotation.judging.models import Handback, Item, ItemSet, Judgment, Participation, Slot
from annotation.judging.work import queue, submit
from tests.api.caller import Caller
from tests.at_once import race
from tests.judging.conftest import choose, judge


def in_parallel(jobs):
    """Run every job in a thread of its own, all let go at once; their results or errors."""

    def run(job):
        try:
            return job()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            return error

    return race(run, jobs)


def test_a_claim_gives_the_same_slot_until_it_is_judged(cast, tea, ann):
    cast.open(tea, items=2, overlap=3)
    first = queue.claim(tea, ann)
    assert queue.claim(tea, ann) == first
    result = submit.submit(tea, first, ann, choose(first, 2), key="k1", claim_next=True)
    assert result.next_slot not in (None, first)
    assert Judgment.objects.get().answers.get().label == "2"
    item = Slot.objects.get(pk=first).item
    assert (item.done, item.counts) == (1, {"2": 1})


def test_slots_are_handed_out_item_by_item_in_the_items_order(cast, tea, ann):
    cast.open(tea, items=3, overlap=2)
    order = [Slot.objects.get(pk=judge(tea, ann)).item.position for _ in range(3)]
    assert order == sorted(order)
    assert judge(tea, ann) is None
    assert Participation.objects.get(annotator=ann).done == 3


@pytest.mark.parametrize("hours", [-1, 1])
def test_an_item_stays_with_its_person_when_the_clock_of_a_machine_jumps(
    cast, tea, monkeypatch, hours
):
    cast.open(tea, items=1, overlap=1)
    ann, now = cast.person("Ann"), timezone.now
    slot = queue.claim(tea, ann)
    monkeypatch.setattr(timezone, "now", lambda: now() + timedelta(hours=hours))
    assert queue.expire() == 0
    assert queue.claim(tea, cast.person("Bo")) is None
    assert queue.claim(tea, ann) == slot
    submit.submit(tea, slot, ann, choose(slot), key="k")
    assert abs(Judgment.objects.get().submitted_at - now()) < timedelta(minutes=1)


def test_a_returned_slot_is_handed_out_before_new_ones(cast, tea, ann, bo):
    cast.open(tea, items=3, overlap=1)
    first = queue.claim(tea, ann)
    assert queue.claim(tea, bo) != first
    judged = queue.claim(tea, bo)
    submit.submit(tea, judged, bo, choose(judged), key="b")
    queue.hand_back(first, ann, "released")
    assert queue.claim(tea, bo) == first
    assert Handback.objects.get().cause == "released"


def test_a_skipped_item_is_not_offered_to_the_same_person_again(cast, tea, ann):
    cast.open(tea, items=1, overlap=2)
    slot = queue.claim(tea, ann)
    queue.hand_back(slot, ann, "skipped", "cannot read it")
    assert queue.claim(tea, ann) is None
    assert queue.claim(tea, cast.person("Bo")) is not None


def test_a_judged_slot_cannot_be_given_back(cast, tea, ann):
    cast.open(tea, overlap=2)
    slot = judge(tea, ann)
    with pytest.raises(Conflict):
        queue.hand_back(slot, ann, "released")
    with pytest.raises(NotFound):
        queue.hand_back(slot, cast.person("Bo"), "released")


@pytest.fixture
def in_sets(cast, tea):
    """Two personas with five general questions each, asked by turns, opened in sets of three."""
    task = cast.task(tea, options=2, overlap=2)
    personas = [cast.persona(tea, f"p{n}", Name=name) for n, name in enumerate(("Ada", "Ben"))]
    for n in range(10):
        cast.candidates(cast.query(tea, f"q{n}", personas[n % 2], type="general"), 2)
    open_batch(tea, task, sets=3)
    return list(ItemSet.objects.order_by("first"))


def asked_of(slots) -> str:
    """The first letters of the people whom the items of these slots are about, in order."""
    rows = dict(Slot.objects.values_list("pk", "item__query__persona__external_id"))
    return "".join(rows[slot] for slot in slots).replace("p0", "A").replace("p1", "B")


def test_items_of_one_person_are_handed_out_in_sets(tea, in_sets, ann):
    assert [(row.first, row.last, row.type) for row in in_sets] == [
        (1, 3, "general"), (4, 6, "general"), (7, 8, "general"), (9, 10, "general")
    ]  # fmt: skip
    assert asked_of([judge(tea, ann) for _ in range(10)]) == "AAABBBAABB"


def test_whoever_chose_a_set_gets_its_items_alone_until_it_has_none_for_them(cast, tea, in_sets):
    ann, bo = cast.person("Ann"), cast.person("Bo")
    held = queue.claim(tea, ann)
    queue.choose(tea, ann, in_sets[1].pk)
    # What is in hand stays; then the set, and nothing that others give back elsewhere.
    other = queue.claim(tea, bo)
    queue.hand_back(other, bo, "released")
    slots = [judge(tea, ann) for _ in range(5)]
    assert slots[0] == held and slots[-1] is None
    assert asked_of(slots[:4]) == "ABBB"
    assert [row["id"] for row in queue.open_sets(tea, ann)] == [in_sets[0].pk, in_sets[3].pk]
    with pytest.raises(NotFound):
        queue.choose(tea, ann, in_sets[-1].pk + 1)
    rest = [judge(tea, person) for person in (ann, bo) for _ in range(11)]
    assert sum(slot is not None for slot in rest) == 6 + 10
    items = Item.objects.annotate(n=Count("slots__judgments"))
    assert set(items.values_list("n", "done", "overlap")) == {(2, 2, 2)}
    assert queue.open_sets(tea, ann) == queue.open_sets(tea, cast.person("Cy")) == []


def test_a_program_lists_sets_and_chooses_one(cast, tea, in_sets, client):
    call = Caller(client, cast.person("Ann"))
    listed = call("GET", "studies/tea/sets/").json()
    assert [(row["id"], row["size"], row["persona"]["Name"]) for row in listed] == [
        (in_sets[0].pk, 3, "Ada"), (in_sets[1].pk, 3, "Ben")
    ]  # fmt: skip
    assert {row["type"] for row in listed} == {"general"}
    chosen = {"set": in_sets[1].pk}
    assert call("POST", "studies/tea/sets/", chosen).json() == chosen
    assert call("POST", "studies/tea/claim/").json()["persona"]["Name"] == "Ben"
    for wrong, status in (({"set": in_sets[-1].pk + 1}, 404), ({"set": "x"}, 400), ({}, 400)):
        assert call("POST", "studies/tea/sets/", wrong).status_code == status
    assert call("POST", "studies/tea/sets/", {"set": None}).status_code == 200
    assert Participation.objects.get(annotator__name="Ann").chosen is None


def test_a_person_is_chosen_on_the_page_and_the_end_of_a_set_leads_back_to_it(
    cast, tea, in_sets, login
):
    ann = cast.member("ann", tea, "annotator")
    page = login(ann)
    assert "/studies/tea/judge/sets/" in page.get("/").text
    shown = page.get("/studies/tea/judge/sets/").text
    assert "Ada" in shown and "Ben" in shown
    assert re.findall(r'class="n"[^>]*>(\d+)</td>', shown) == ["3", "3"]
    assert page.post("/studies/tea/judge/sets/", {"set": in_sets[3].pk}).status_code == 302
    slots = [judge(tea, ann), judge(tea, ann)]
    assert asked_of(slots) == "BB"
    for slot, other, rel in ((slots[0], slots[1], "next"), (slots[1], slots[0], "prev")):
        past = page.get(f"/studies/tea/judged/{slot}/").text
        assert re.findall(r'rel="(prev|next)"\s+href="[^"]+/([^/]+)/"', past) == [(rel, str(other))]
    assert "This set is done" in page.get("/studies/tea/judge/").text
    assert page.post("/studies/tea/judge/sets/", {"set": "0"}).status_code == 404
    assert page.post("/studies/tea/judge/sets/").status_code == 302
    assert asked_of([judge(tea, ann)]) == "A"


def expire_now(slot):
    Slot.objects.filter(pk=slot).update(lease_expires_at=Now() - timedelta(seconds=1))
    return queue.expire()


def test_a_lease_that_ran_out_reopens_the_slot_and_is_noted(cast, tea, ann, bo):
    cast.open(tea, overlap=1)
    slot = queue.claim(tea, ann)
    assert queue.expire() == 0
    assert expire_now(slot) == 1
    assert Handback.objects.get().annotator == ann
    assert queue.claim(tea, bo) == slot
    assert expire_now(slot) == 1
    assert queue.claim(tea, ann) == slot


def test_a_late_submit_is_stored_where_the_slot_is_still_free(cast, tea, ann):
    cast.open(tea, overlap=1)
    slot = queue.claim(tea, ann)
    expire_now(slot)
    submit.submit(tea, slot, ann, choose(slot), key="late")
    row = Slot.objects.get(pk=slot)
    assert (row.status, row.annotator) == ("done", ann)


def test_a_late_submit_is_refused_where_somebody_else_has_the_slot(cast, tea, ann, bo):
    cast.open(tea, overlap=1)
    slot = queue.claim(tea, ann)
    expire_now(slot)
    queue.claim(tea, bo)
    with pytest.raises(Conflict) as refusal:
        submit.submit(tea, slot, ann, choose(slot), key="late")
    assert refusal.value.code == "lease_lost"
    assert Judgment.objects.count() == 0


def test_a_reopened_batch_hands_out_what_it_lacks_but_what_is_held_back(cast, tea, ann, bo):
    batch = cast.open(tea, items=3, overlap=2)
    first, second, third = Item.objects.order_by("position")
    judged = queue.claim(tea, ann)
    submit.submit(tea, judged, ann, choose(judged), key="k")
    hold_back(Item.objects.filter(pk=third.pk))
    close_batch(batch)
    assert queue.claim(tea, bo) is None
    assert reopen_batch(batch) == 3
    batch.refresh_from_db()
    assert batch.closed_at is None
    assert [Slot.objects.get(pk=judge(tea, bo)).item for _ in range(2)] == [first, second]
    assert queue.claim(tea, bo) is None
    assert set(third.slots.values_list("status", flat=True)) == {"closed"}


def test_a_batch_of_a_closed_study_is_not_reopened(cast, tea):
    batch = cast.open(tea)
    close_batch(batch)
    tea.status = "closed"
    tea.save()
    with pytest.raises(Conflict, match="study is closed"):
        reopen_batch(batch)


@pytest.mark.parametrize("way", ["released", "expired", "voided"])
def test_an_item_held_back_while_in_hand_is_handed_out_to_nobody_else(cast, tea, ann, bo, way):
    cast.open(tea, overlap=1)
    slot = judge(tea, ann) if way == "voided" else queue.claim(tea, ann)
    assert hold_back(Item.objects.all()) == 0
    if way == "released":
        queue.hand_back(slot, ann, "released")
    elif way == "expired":
        expire_now(slot)
    else:
        queue.void(tea, ann, cause="test")
    assert queue.claim(tea, bo) is None
    Item.objects.update(retired_at=None)
    assert reopen_slots(tea, Item.objects.all()) == 1
    assert queue.claim(tea, bo) is not None


def test_three_answers_of_the_most_complete_endpoint_are_compared(cast, tea):
    query = cast.query(tea, "q1")
    answers = [("one", "A1"), ("two", "A1"), ("one", "A2"), ("two", "A2"), ("two", "A3")]
    for endpoint, strategy in answers:
        fields = {"text": f"{strategy} of {endpoint}", "strategy": strategy, "endpoint": endpoint}
        query.candidates.create(study=tea, external_id=f"{strategy}-{endpoint}", **fields)
    options = open_batch(tea, cast.task(tea)).items.get().options
    names = options.values_list("candidate__external_id", flat=True)
    assert sorted(names) == ["A1-two", "A2-two", "A3-two"]
    pairs = open_batch(tea, cast.task(tea, "better", options=2, pairs_per_query=100))
    assert pairs.size == 10


def test_three_answers_of_two_endpoints_are_not_compared(cast, tea):
    answers = cast.candidates(cast.query(tea, "q1"))
    Candidate.objects.filter(pk=answers[2].pk).update(endpoint="other")
    assert open_batch(tea, cast.task(tea)) is None


def test_fifty_parallel_claims_never_exceed_the_overlap(cast, rush):
    cast.open(rush, items=3, overlap=5)
    people = cast.members(rush, {f"P{n}": "annotator" for n in range(50)})
    slots = in_parallel([lambda p=p: queue.claim(rush, p) for p in people])
    assert not [s for s in slots if isinstance(s, Exception)]
    held = [s for s in slots if s]
    assert len(held) == len(set(held)) == 15
    per_item = Slot.objects.filter(pk__in=held).values_list("item").annotate(n=Count("pk"))
    assert {n for _, n in per_item} == {5}


def test_one_person_in_ten_tabs_holds_one_slot(cast, rush):
    cast.open(rush, items=5, overlap=3)
    ann = cast.member("Ann", rush, "annotator")
    slots = in_parallel([lambda: queue.claim(rush, ann)] * 10)
    assert len(set(slots)) == 1
    assert Slot.objects.filter(status="held").count() == 1


def test_one_submit_sent_ten_times_at_once_is_stored_once(cast, rush):
    cast.open(rush, items=2, overlap=3)
    ann = cast.member("Ann", rush, "annotator")
    slot = queue.claim(rush, ann)
    answer = choose(slot)
    results = in_parallel(
        [lambda: submit.submit(rush, slot, ann, answer, key="one", claim_next=True)] * 10
    )
    assert Counter(r.repeated for r in results) == {True: 9, False: 1}
    assert len({r.next_slot for r in results}) == 1
    assert (Judgment.objects.count(), Participation.objects.get().done) == (1, 1)


def test_expiry_and_submit_at_once_leave_one_holder(cast, rush):
    cast.open(rush, items=1, overlap=1)
    ann, bo = cast.members(rush, {"Ann": "annotator", "Bo": "annotator"})
    slot = queue.claim(rush, ann)
    answer = choose(slot)
    Slot.objects.update(lease_expires_at=Now() - timedelta(seconds=1))
    submitted = lambda: submit.submit(rush, slot, ann, answer, key="a")  # noqa: E731
    in_parallel([queue.expire, submitted, lambda: queue.claim(rush, bo)])
    stored = Judgment.objects.count()
    row = Slot.objects.get()
    assert (row.status, stored) in {("done", 1), ("held", 0), ("open", 0)}
    assert Item.objects.get().done == stored


def test_a_closed_batch_takes_what_is_in_hand_and_what_comes_back_is_handed_to_nobody(cast, tea):
    batch = cast.open(tea, items=4, overlap=1)
    people = [cast.person(name) for name in ("Ann", "Bo", "Chen", "Dan")]
    slots = [queue.claim(tea, person) for person in people]
    close_batch(batch)
    queue.hand_back(slots[0], people[0], "released")
    queue.hand_back(slots[1], people[1], "skipped", "no")
    expire_now(slots[2])
    submit.submit(tea, slots[3], people[3], choose(slots[3]), key="k")
    statuses = Slot.objects.order_by("status").values_list("status", flat=True)
    assert list(statuses) == ["closed", "closed", "closed", "done"]
    assert [queue.claim(tea, person) for person in people] == [None] * 4
    submit.submit(tea, slots[2], people[2], choose(slots[2]), key="late")
    assert Judgment.objects.count() == 2


def test_a_late_answer_beside_another_item_in_hand_is_stored(cast, tea, ann, bo):
    cast.open(tea, items=2, overlap=1)
    first = queue.claim(tea, ann)
    expire_now(first)
    assert queue.claim(tea, bo) == first
    second = queue.claim(tea, ann)
    queue.hand_back(first, bo, "released")
    result = submit.submit(tea, first, ann, choose(first), key="late", claim_next=True)
    assert result.next_slot == second
    assert Slot.objects.get(pk=second).status == "held"
    assert Participation.objects.get(annotator=ann).done == 1


def test_an_item_shows_the_persona_its_answers_were_written_for(cast, tea):
    persona = cast.persona(tea)
    old = persona.current
    query = cast.query(tea, "q", persona)
    for candidate in cast.candidates(query):
        candidate.persona_version = old
        candidate.save()
    persona.versions.create(version=2, profile={"Name": "Somebody else"})
    open_batch(tea, cast.task(tea))
    assert Item.objects.get().persona_version == old


def test_a_lap_that_gave_nothing_is_noted_and_a_new_batch_ends_the_note(cast, tea, ann):
    cast.open(tea, items=1, overlap=2)
    assert judge(tea, ann) is not None
    assert queue.claim(tea, ann) is None
    assert Participation.objects.get(study=tea, annotator=ann).exhausted_at is not None
    cast.open(tea, items=1, overlap=2, options=2)
    assert Participation.objects.get(study=tea, annotator=ann).exhausted_at is None
    assert queue.claim(tea, ann) is not None


def test_who_had_nothing_left_gets_a_slot_that_comes_back(cast, tea, ann, bo):
    cast.open(tea, items=1, overlap=1)
    slot = queue.claim(tea, bo)
    assert queue.claim(tea, ann) is None
    assert Participation.objects.get(study=tea, annotator=ann).exhausted_at is not None
    queue.hand_back(slot, bo, Handback.Cause.SKIPPED)
    assert queue.claim(tea, ann) == slot


def test_a_noted_lap_is_repeated_after_a_quarter_of_an_hour(cast, tea, ann):
    """A slot that somebody's undone claim had locked is met then."""
    cast.open(tea, items=1, overlap=1)
    Participation.objects.create(
        study=tea, annotator=ann, exhausted_at=Now() - timedelta(minutes=14)
    )
    assert queue.claim(tea, ann) is None
    Participation.objects.update(exhausted_at=Now() - timedelta(minutes=16))
    assert queue.claim(tea, ann) is not None


def test_who_finds_nothing_ahead_does_not_walk_there_again(cast, tea, ann):
    """Slots of somebody else's lie ahead; the next claim begins behind them."""
    cast.open(tea, items=3, overlap=1)
    Slot.objects.update(reserved_for=cast.person("Bo"))
    assert queue.claim(tea, ann) is None
    participation = Participation.objects.get(study=tea, annotator=ann)
    assert participation.cursor == max(Slot.objects.values_list("position", flat=True))
    cast.open(tea, items=1, overlap=1, options=2)
    assert Slot.objects.get(pk=queue.claim(tea, ann)).reserved_for is None


def test_what_lies_behind_is_gone_through_in_steps_and_met_once(cast, tea, monkeypatch, ann):
    """Of open slots behind somebody one alone is for them: the claims come to it step by step."""
    monkeypatch.setattr(queue, "LAP_STEP", 2)
    cast.open(tea, items=7, overlap=1)
    slots = list(Slot.objects.order_by("position"))
    Slot.objects.exclude(pk=slots[4].pk).update(reserved_for=cast.person("Bo"))
    Participation.objects.create(study=tea, annotator=ann, cursor=slots[-1].position)
    lapped = []
    while (slot := queue.claim(tea, ann)) is None:
        lapped.append(Participation.objects.get(annotator=ann).lapped)
        assert len(lapped) < 9
    assert slot == slots[4].pk
    assert lapped == [2, 4]
    queue.hand_back(slot, ann, Handback.Cause.SKIPPED)
    Slot.objects.update(returned=False)
    while Participation.objects.get(annotator=ann).exhausted_at is None:
        assert queue.claim(tea, ann) is None
    assert Participation.objects.get(annotator=ann).lapped == 0
