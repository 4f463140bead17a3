"""Results computed from counts of votes are those computed from the votes, whatever happened."""

from dataclasses import replace
from datetime import timedelta
from fractions import Fraction

import pytest
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.accounts import consent
from annotation.agreement import reading, recompute, tallies
from annotation.agreement.models import AgreementResult, ItemTier, TopUp
from annotation.agreement.tiers import early_stop
from annotation.agreement.tiers.rules import TierRule
from annotation.judging.batches import open as opening
from annotation.judging.models import Item, Selection, Slot
from annotation.judging.work import submit, voids

PEOPLE = ("Ann", "Bo", "Chen", "Dora", "Emil", "Fay", "Gus")
# All tiers with few votes: 4 to 1 is borderline, and six people are asked about such an item.
RULE = TierRule(
    panel=5, minimum=4, top_up=6,
    borderline_above=Fraction(0), hard_above=Fraction(1, 5), medium_above=Fraction(3, 5),
)  # fmt: skip
VOTES = st.lists(st.text("12t", min_size=0, max_size=7), min_size=3, max_size=3)
ACTS = st.lists(
    st.tuples(
        st.sampled_from(PEOPLE),
        st.sampled_from(("revise", "void", "leave", "return", "top_up", "close")),
        st.integers(0, 2),
    ),
    max_size=4,
)
ANSWERS = {"1": 1, "2": 2}


@pytest.fixture
def by_counts(monkeypatch):
    """Few votes are enough, and single votes are not read a second time."""
    monkeypatch.setattr(recompute, "READ_AT_ONCE", 0)
    monkeypatch.setattr(recompute, "CHECK_SHARE", 10**7)
    monkeypatch.setattr(recompute, "DEFAULT", RULE)


@pytest.fixture
def items(cast, tea, by_counts):
    """Three items of a task that takes ties, for seven people."""
    for name in PEOPLE:
        cast.member(name, tea, "annotator")
    cast.open(tea, items=3, options=2, overlap=7, tie=True)
    return list(tea.items.order_by("position"))


def vote(study, item, person, label) -> None:
    """The person's vote on an item: its first answer, its second, or a tie."""
    slot = item.slots.filter(status="open").order_by("ordinal").first()
    Slot.objects.filter(pk=slot.pk).update(status="held", annotator=person)
    submit.submit(study, slot.pk, person, answer(item, label), key=f"k{slot.pk}")


def answer(item, label) -> dict:
    if label == "t":
        return {"choice": "tie"}
    return {"choice": str(item.options.get(number=int(label)).candidate_id)}


def act(study, items, person, name, place, key) -> None:
    """Do one act of a history with a person and an item."""
    item = items[place]
    if name == "revise":
        slot = Slot.objects.filter(item=item, annotator=person, status="done").first()
        if slot:
            submit.revise(study, slot.pk, person, answer(item, "2"), key=key)
    elif name == "void":
        voids.void(study, person, cause="A test.")
    elif name == "leave":
        consent.withdraw(person, study.consent_text)
    elif name == "return":
        consent.grant(person, study.consent_text)
    elif name == "top_up":
        TopUp.objects.get_or_create(item=item)
    else:
        opening.close_batch(study.batches.get())


def compute(study) -> list:
    """All that is stored once every due result is computed, but for figures of single votes."""
    for _study, task in recompute.due():
        recompute.recompute(study, task)
    return stored(study)


def stored(study) -> list:
    results = list(study.agreement_results.values("votes", "closed", "agreement", "tiers"))
    for result in results:
        for name in ("workers", "cohen_kappa"):
            result["agreement"].pop(name)
    tiers = ItemTier.objects.filter(item__study=study).order_by("item")
    return [*results, *tiers.values_list("item", "tier", "winner", "share", "votes")]


def from_scratch(study) -> list:
    AgreementResult.objects.all().delete()
    ItemTier.objects.all().delete()
    return compute(study)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(VOTES, ACTS, st.integers(0, 20))
def test_counts_give_the_results_of_votes_after_every_history(
    cast, tea, items, caplog, votes, acts, first
):
    people = [cast.person(name) for name in PEOPLE]
    given = [(item, *vote) for item, row in zip(items, votes, strict=True)
             for vote in zip(people, row, strict=False)]  # fmt: skip
    with transaction.atomic():
        for place, vote_ in enumerate(given):
            vote(tea, *vote_)
            if place == first:
                compute(tea)
        for place, (name, *rest) in enumerate(acts):
            act(tea, items, cast.person(name), *rest, f"r{place}")
            counted = compute(tea)
            assert not caplog.messages
        counted = compute(tea)
        assert counted == from_scratch(tea)
        for result in tea.agreement_results.all():
            assert result.differed_at is None
        assert not caplog.messages
        transaction.set_rollback(True)


@pytest.fixture
def voted(cast, tea, items):
    """Results as of three people's votes, and then those of two more on two items."""
    people = [cast.person(name) for name in PEOPLE]
    for person in people[:3]:
        vote(tea, items[0], person, "1")
    compute(tea)
    for person in people[3:5]:
        vote(tea, items[0], person, "1")
        vote(tea, items[1], person, "2")
    return tea


def test_many_votes_are_counted_until_single_votes_are_due_again(voted, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(reading, "read", None)
        compute(voted)
    result = AgreementResult.objects.get()
    assert (result.votes, result.agreement["workers"]) == (7, 3)
    assert result.digest != result.checked
    assert ItemTier.objects.get(item__position=1).tier == "medium"
    assert recompute.due() == []
    AgreementResult.objects.update(check_at=timezone.now() - timedelta(seconds=1))
    assert recompute.due() == [(voted, "better")]
    compute(voted)
    result = AgreementResult.objects.get()
    assert (result.votes, result.agreement["workers"], result.differed_at) == (7, 5, None)
    assert result.digest == result.checked
    assert recompute.due() == []


def test_few_votes_are_always_read(voted, monkeypatch):
    monkeypatch.setattr(recompute, "READ_AT_ONCE", 7)
    compute(voted)
    assert AgreementResult.objects.get().agreement["workers"] == 5


def test_single_votes_are_read_of_items_with_more_than_the_panel_and_of_who_left(
    cast, voted, items
):
    for name in PEOPLE[5:]:
        vote(voted, items[0], cast.person(name), "2")
    state = recompute._State(voted)
    (definition,) = state.definitions.values()
    counts = tallies.read(state, definition, RULE)
    assert counts.apart == [items[0].pk]
    assert len(counts.votes) == 7
    assert counts.groups == {((0, 2, 0), False): 1}
    consent.withdraw(cast.person("Emil"), voted.consent_text)
    counts = tallies.read(recompute._State(voted), definition, RULE)
    assert set(counts.apart) == {items[0].pk, items[1].pk}
    assert (len(counts.votes), counts.groups) == (7, {})


def test_all_votes_are_read_where_too_many_items_are_apart_or_collection_stops_early(
    voted, items, monkeypatch
):
    state = recompute._State(voted)
    (definition,) = state.definitions.values()
    assert tallies.read(state, definition, replace(RULE, stop_below="hard")) is None
    assert tallies.read(state, definition, replace(RULE, panel=4)).apart == [items[0].pk]
    monkeypatch.setattr(tallies, "MOST_APART", 0)
    assert tallies.read(state, definition, replace(RULE, panel=4)) is None
    early_stop.choose(voted, "better", "hard")
    monkeypatch.setattr(recompute, "DEFAULT", TierRule())
    compute(voted)
    assert AgreementResult.objects.get().agreement["workers"] == 5


def test_a_label_that_nobody_declared_is_named_as_ever(voted, items):
    Selection.objects.filter(slot__item=items[1]).update(outcome="none", choice=None)
    Item.objects.filter(pk=items[1].pk).update(votes_2=0, nones=F("done"))
    with pytest.raises(ValueError, match="'none' is not one of the declared labels"):
        compute(voted)


def test_counts_that_give_other_figures_are_reported_and_those_of_votes_are_stored(voted, caplog):
    compute(voted)
    ItemTier.objects.filter(item__position=1).update(tier="hard")
    AgreementResult.objects.update(check_at=None)
    recompute.recompute(voted, "better")
    message = "Study tea, task better: counts gave other figures than votes"
    assert caplog.messages == [message]
    assert AgreementResult.objects.get().differed_at
    assert ItemTier.objects.get(item__position=1).tier == "medium"
    # An item whose counters are wrong.
    caplog.clear()
    Item.objects.filter(position=2).update(votes_1=2, votes_2=0)
    AgreementResult.objects.update(check_at=None)
    assert compute(voted)[0]["agreement"]["fleiss_kappa"]["value"] is not None
    assert caplog.messages == [message]
    Item.objects.filter(position=2).update(votes_1=0, votes_2=2)
    AgreementResult.objects.update(check_at=None)
    compute(voted)
    assert AgreementResult.objects.get().differed_at is None
    assert caplog.messages == [message]


def test_an_item_without_votes_loses_its_tier(cast, voted):
    compute(voted)
    for name in ("Dora", "Emil"):
        voids.void(voted, cast.person(name), cause="A test.")
    compute(voted)
    assert list(ItemTier.objects.values_list("item__position", "votes")) == [(1, 3)]
