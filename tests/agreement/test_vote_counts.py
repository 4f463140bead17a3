"""Counts that triggers add up with each vote are those of the items, whatever happened to them."""

from collections import Counter

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.accounts import consent
from annotation.agreement import reading, recompute, vote_counts
from annotation.agreement.models import AgreementResult, ItemTier, VoteCount
from annotation.agreement.task_votes import TaskVotes
from annotation.judging.batches import open as opening
from annotation.judging.models import Item, Selection, Slot
from annotation.judging.work import queue, submit, voids

PEOPLE = ("Ann", "Bo", "Chen")
ACTS = ("vote", "vote", "vote", "revise", "void", "leave", "return", "top_up", "batch", "fold")
HISTORIES = st.lists(
    st.tuples(st.sampled_from(PEOPLE), st.sampled_from(ACTS), st.integers(1, 2)),
    min_size=4, max_size=12,
)  # fmt: skip
VOTES = ("overlap", "done", *Item.COUNTERS.values())


def play(study, person, act, number, place) -> bool:
    """Do one act of a history; whether it changed a vote."""
    if act == "vote":
        slot = queue.in_hand(study, person) or queue.claim(study, person)
        if slot:
            submit.submit(study, slot, person, answer(slot, number), key=f"k{place}")
        return bool(slot)
    if act == "revise":
        judged = Slot.objects.filter(study=study, annotator=person, status="done").first()
        if judged:
            submit.revise(study, judged.pk, person, answer(judged.pk, number), key=f"k{place}")
        return bool(judged)
    if act == "void":
        return voids.void(study, person, cause="A test.") > 0
    if act == "leave":
        consent.withdraw(person, study.consent_text)
    elif act == "return":
        consent.grant(person, study.consent_text)
    elif act == "top_up":
        Item.objects.filter(study=study, position=number).update(overlap=5)
    elif act == "batch":
        opening.open_batch(study, study.tasks.get())
    else:
        vote_counts.fold()
    return False


def answer(slot, number):
    option = Slot.objects.get(pk=slot).item.options.get(number=number)
    return {"choice": str(option.candidate_id)}


def counted(study) -> Counter:
    """{(batch, votes): items} as the counts have it."""
    sums = Counter()
    for *votes, items in VoteCount.objects.filter(batch__study=study).values_list(
        "batch", *VOTES, "items"
    ):
        sums[tuple(votes)] += items
    return sums


def of_items(study) -> Counter:
    """The same, from the items."""
    return Counter(Item.objects.filter(study=study).values_list("batch", *VOTES))


def of_judgments(study) -> dict[str, int]:
    """{task: votes that count}, from the judgments."""
    names = reading.judgments(study, Selection).values_list(
        "slot__item__batch__task__name", flat=True
    )
    return dict(Counter(names))


def from_items(task_votes) -> tuple:
    """What pages show of a task, from its items one by one."""
    rows = list(task_votes.items.values_list(*task_votes.counts, "judged", "overlap"))
    totals = {
        "votes": sum(row[-2] for row in rows),
        "wanted": sum(row[-1] for row in rows),
        "items": len(rows),
        "complete": sum(row[-2] >= row[-1] for row in rows),
    }
    patterns = Counter(row for row in rows if row[-2])
    return totals, sorted((row[:-2], row[-2] >= row[-1], n) for row, n in patterns.items())


def results(study) -> list:
    """What is stored of all results, without the time."""
    fields = ("task", "votes", "closed", "agreement", "tiers")
    tiers = ItemTier.objects.order_by("item").values_list("item", "tier", "winner", "share")
    return [*study.agreement_results.order_by("task").values(*fields), *tiers]


@pytest.fixture
def people(cast, tea):
    cast.open(tea, items=3, options=2, overlap=3)
    return {name: cast.person(name) for name in PEOPLE}


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(HISTORIES)
def test_counts_are_those_of_items_and_judgments_after_every_history(
    tea, people, monkeypatch, history
):
    monkeypatch.setattr(vote_counts, "_MANY", 0)
    with transaction.atomic():
        before = recompute.digests(tea)
        for place, (name, act, number) in enumerate(history):
            changed = play(tea, people[name], act, number, place)
            assert +counted(tea) == of_items(tea)
            assert reading.voted_tasks(tea) == of_judgments(tea)
            counts = people[name].pk not in reading.withdrawn_from(tea)
            now = recompute.digests(tea)
            assert not (changed and counts) or now != before
            before = now
        task_votes = TaskVotes(tea, tea.tasks.get())
        totals, patterns = from_items(task_votes)
        assert task_votes.totals == totals == reading.progress(tea)
        assert sorted(task_votes.patterns) == patterns
        transaction.set_rollback(True)


@settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(HISTORIES)
def test_results_brought_up_to_date_are_those_computed_from_scratch(tea, people, history):
    with transaction.atomic():
        for place, (name, act, number) in enumerate(history):
            play(tea, people[name], act, number, place)
            for study, task in recompute.due():
                recompute.recompute(study, task)
        stored = results(tea)
        AgreementResult.objects.all().delete()
        ItemTier.objects.all().delete()
        for study, task in recompute.due():
            recompute.recompute(study, task)
        assert results(tea) == stored
        transaction.set_rollback(True)


def test_a_revision_and_two_that_cancel_out_are_changes(tea, people):
    for person in ("Ann", "Bo"):
        play(tea, people[person], "vote", 1 if person == "Ann" else 2, person)
    seen = [recompute.digests(tea)]
    for number in (1, 1, 2, 1):  # the second leaves the label as it was
        play(tea, people["Ann"], "revise", number, f"r{len(seen)}")
        seen.append(recompute.digests(tea))
    assert len({digest["better"] for digest in seen}) == 5


def test_folded_rows_are_one_for_each_split_of_the_votes_and_keep_the_changes(tea, people):
    for place in range(3):
        play(tea, people["Ann"], "vote", 1, place)
    before, digest = +counted(tea), recompute.digests(tea)
    rows = VoteCount.objects.filter(batch__study=tea)
    many = rows.count()
    vote_counts.fold()
    assert rows.count() == many  # few rows are left as they are
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vote_counts, "_MANY", 3)
        vote_counts.fold()
    assert (many, rows.count()) == (7, 2)
    assert +counted(tea) == before
    assert recompute.digests(tea) == digest


def test_counts_that_are_wrong_are_mended_with_the_recomputation(tea, people, caplog):
    play(tea, people["Ann"], "vote", 1, 0)
    VoteCount.objects.filter(done=1).update(items=5)
    assert reading.progress(tea)["votes"] == 5
    recompute.recompute(tea, "better")
    assert caplog.messages == ["Study tea, task better: 1 counts were not its items'"]
    assert +counted(tea) == of_items(tea)
    assert AgreementResult.objects.get().votes == 1
    caplog.clear()
    recompute.recompute(tea, "better")
    assert caplog.messages == []


def test_items_are_counted_off_with_their_study(cast, tea, people):
    play(tea, people["Ann"], "vote", 1, 0)
    rain = cast.study("rain")
    cast.open(rain, items=2, options=2)
    batch = rain.batches.get().pk
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM judging_slot WHERE study_id = %s", [rain.pk])
        cursor.execute("DELETE FROM judging_itemoption WHERE item_id IN "
                       "(SELECT id FROM judging_item WHERE study_id = %s)", [rain.pk])  # fmt: skip
        cursor.execute("DELETE FROM judging_item WHERE study_id = %s", [rain.pk])
    assert sum(VoteCount.objects.filter(batch=batch).values_list("items", flat=True)) == 0
    assert +counted(tea) == of_items(tea)
