"""How many votes items get by their tiers, and the audit of the easy tier: draw to verdict."""

import csv
from collections import defaultdict
from dataclasses import replace
from types import SimpleNamespace

import pytest
from django.db.models import F
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from annotation.accounts import consent
from annotation.agreement import recompute
from annotation.agreement.models import ItemTier, StoppedItem
from annotation.agreement.statistics.tiers import DEFAULT, TierRule, may_stop, tier_of
from annotation.agreement.tasks import recompute_due
from annotation.agreement.tiers import collection
from annotation.core.errors import Conflict, DomainError
from annotation.core.models import AuditEvent
from annotation.datasets import freeze
from annotation.datasets.frozen import Reading
from annotation.datasets.truth import verdict
from annotation.judging.models import Item, ItemOption, Slot
from annotation.judging.work import queue
from annotation.votes.counting import AUDIT_TASK
from tests import corpora

from .test_figures import give

DICES = corpora.DATA / "dices-990" / "judgments.csv"
BELOW = {name: replace(DEFAULT, stop_below=name) for name in ("hard", "borderline")}
pytestmark = pytest.mark.usefixtures("without_rests")


def replay(sequences: list[list[int]], options: int, rule: TierRule) -> dict:
    """What stopping would have done to votes that were collected in full.

    ``sequences`` are the labels (0 to ``options`` - 1) of each item in order of submission.
    ``{"items", "votes", "saved", "stopped", "different"}``: ``different`` counts items whose
    released tier (medium or hard, by the rule without stopping) is another with it.
    """
    totals = {"items": len(sequences), "votes": 0, "saved": 0, "stopped": 0, "different": 0}
    for sequence in sequences:
        panel = sequence[: rule.panel]
        used = until_stop(panel, options, rule)
        full = tier_of(counts(panel, options), options, replace(rule, stop_below=None))
        early = tier_of(counts(panel[:used], options), options, rule)
        totals["votes"] += len(panel)
        totals["saved"] += len(panel) - used
        totals["stopped"] += used < len(panel)
        released = ("medium", "hard")
        totals["different"] += (full in released or early in released) and full != early
    return totals


def until_stop(panel: list[int], options: int, rule: TierRule) -> int:
    for used in range(2, len(panel)):
        if may_stop(counts(panel[:used], options), options, rule):
            return used
    return len(panel)


def counts(labels: list[int], options: int) -> list[int]:
    return [labels.count(label) for label in range(options)]


@pytest.mark.parametrize("below", BELOW)
@pytest.mark.parametrize("options", [2, 3])
@given(data=st.data())
def test_a_released_tier_is_the_full_panels_whatever_the_votes(below, options, data):
    labels = st.integers(0, options - 1)
    sequence = data.draw(st.lists(labels, min_size=9, max_size=9))
    assert replay([sequence], options, BELOW[below])["different"] == 0


def test_a_split_item_is_stopped_as_soon_as_it_is_lost():
    two_sides = [0, 1, 0, 1, 0, 0, 0, 0, 0]
    assert replay([two_sides], 2, BELOW["hard"]) == {
        "items": 1, "votes": 9, "saved": 5, "stopped": 1, "different": 0,
    }  # fmt: skip
    assert replay([[0] * 9], 2, BELOW["hard"])["saved"] == 0  # never on success


@pytest.mark.skipif(not DICES.exists(), reason="the real votes are not part of a clone")
def test_real_votes_keep_their_tiers_and_many_are_saved():
    votes, labels = defaultdict(list), {}
    with DICES.open(newline="") as file:
        for row in csv.DictReader(file):
            label = labels.setdefault(row["is_safe"], len(labels))
            votes[row["item_id"]].append(label)
    full = [sequence[:9] for sequence in votes.values()]
    strict = replay(full, len(labels), BELOW["hard"])
    loose = replay(full, len(labels), BELOW["borderline"])
    assert (strict["items"], strict["votes"]) == (990, 8910)
    assert (strict["different"], loose["different"]) == (0, 0)
    # In the order of the file: 16.5 % and 6.9 % of all votes.
    assert (strict["saved"], loose["saved"]) == (1472, 614)


def test_items_that_are_lost_get_no_more_votes(tea, split):
    even, clear, held = split
    task = even.batch.task.name
    collection.choose_stop(tea, task, "hard")
    assert recompute.results_due() == [(tea, task)]
    recompute.recompute(tea, task)
    open_slots = Slot.objects.filter(status="open").values_list("item", flat=True)
    assert set(open_slots) == {clear.pk}
    assert collection.stop_state(tea, task) == {"below": "hard", "items": 2, "saved": 5 + 4}
    held.refresh_from_db()
    assert held.overlap == 5  # four votes, and the one that is being given
    recompute.recompute(tea, task)
    assert StoppedItem.objects.count() == 2
    even.refresh_from_db()
    assert even.tier.tier == "ambiguous"


def test_without_the_option_nothing_stops_and_it_can_be_switched_off(tea, split):
    even, _clear, _held = split
    task = even.batch.task.name
    recompute.recompute(tea, task)
    assert not StoppedItem.objects.exists()
    with pytest.raises(DomainError, match="Stop below hard"):
        collection.choose_stop(tea, task, "medium")
    collection.choose_stop(tea, task, "hard")
    collection.choose_stop(tea, task, "")
    recompute.recompute(tea, task)
    assert not StoppedItem.objects.exists()
    assert collection.stop_state(tea, task)["below"] == ""


@pytest.fixture
def items(cast, tea, say):
    """Three items: borderline, hard, and one that waits for votes."""
    found = list(cast.open(tea, items=3, options=2, overlap=9).items.order_by("position"))
    for item, pattern in zip(found, ("aaaaaaabb", "aaaaaaaab", "aab"), strict=True):
        say(item, pattern)
    recompute_due()
    return found


def tier(item) -> tuple:
    return ItemTier.objects.values_list("tier", "votes").get(item=item)


def test_more_people_are_asked_about_borderline_items_alone_and_first(cast, tea, items, say):
    assert [tier(item) for item in items] == [("borderline", 9), ("hard", 9), ("pending", 3)]
    assert collection.top_up(tea, "better", by=cast.person("Carol")) == 1
    items[0].refresh_from_db()
    assert (items[0].overlap, items[0].slots.filter(status="open").count()) == (13, 4)
    event = AuditEvent.objects.get(action="tiers.top_up")
    assert event.details == {"task": "better", "items": 1, "slots": 4}
    newcomer = cast.member("Nora", tea, "annotator")
    assert Slot.objects.get(pk=queue.claim(tea, newcomer)).item == items[0]
    # Whoever has judged it is not asked again.
    rater = cast.person("Rater0")
    assert Slot.objects.get(pk=queue.claim(tea, rater)).item == items[2]


def test_the_tier_follows_with_the_thirteenth_vote(tea, items, say):
    collection.top_up(tea, "better")
    say(items[0], "aaa")
    recompute_due()
    assert tier(items[0]) == ("borderline", 9)
    say(items[0], "a")
    recompute_due()
    assert tier(items[0]) == ("hard", 13)
    assert recompute.results_due() == []


def test_an_item_is_topped_up_once_and_only_while_the_study_is_open(tea, items):
    collection.top_up(tea, "better")
    with pytest.raises(DomainError, match="No borderline item"):
        collection.top_up(tea, "better")
    tea.status = "paused"
    assert collection.reserve(tea, "better").count() == 0


def test_votes_beyond_nine_count_only_where_an_item_was_topped_up(cast, tea, say):
    item = cast.open(tea, items=1, options=2, overlap=13).items.get()
    say(item, "aaaaaaabbaaaa")
    recompute_due()
    assert tier(item) == ("borderline", 9)
    assert collection.top_up(tea, "better") == 1
    assert item.slots.count() == 13
    recompute_due()
    assert tier(item) == ("hard", 13)


def test_a_release_judges_by_the_votes_that_were_asked_for_before_it(tea, items, say):
    before = freeze.request_release(tea, "long", "", None)
    collection.top_up(tea, "better")
    say(items[0], "aaaa")
    after = freeze.request_release(tea, "long", "", None)

    def found(release):
        one = next(Reading(release, lambda: None).items())
        return verdict(one).tier, verdict(one).n

    assert (found(before), found(after)) == (("borderline", 9), ("hard", 13))


def test_a_curator_does_it_from_the_list_of_borderline_items(tea, items, carol):
    page = reverse("results", args=["tea", "better"])
    html = carol.get(f"{page}?tier=borderline").content.decode()
    assert "Ask more people about 1 item" in html
    assert items[0].external_id in html
    assert items[1].external_id not in html
    answer = carol.post(reverse("top-up", args=["tea", "better"]), follow=True)
    assert "More people are asked about 1 item." in answer.content.decode()
    assert "Ask more people about" not in answer.content.decode()
    answer = carol.post(reverse("top-up", args=["tea", "better"]), follow=True)
    assert "No borderline item waits to be topped up." in answer.content.decode()


@pytest.fixture
def people(cast, tea):
    return [cast.member(f"P{n}", tea, "annotator") for n in range(9)]


@pytest.fixture
def triples(cast, tea, people):
    """Five questions: the answer A1 wins four, the answer to the question alone (A3) wins one."""
    cast.open(tea, items=5, options=3, overlap=9)
    for item in tea.items.order_by("position"):
        numbers = dict(item.options.values_list("candidate__strategy", "number"))
        winner = numbers["A3" if item.position == 5 else "A1"]
        for one in people:
            give(item, one, str(winner))
    recompute.recompute(tea, "best")
    return tea


def audits(study):
    return study.items.filter(batch__task__name=AUDIT_TASK).order_by("position")


def truth_of(item):
    return ItemOption.objects.get(item=item, candidate__strategy="A1").number


def vote(study, people, against=0):
    """Everybody votes for the ground truth, but for so many on the last item."""
    found = list(audits(study))
    for item in found:
        truth = truth_of(item)
        for n, one in enumerate(people):
            wrong = item == found[-1] and n < against
            give(item, one, str(3 - truth if wrong else truth))


def test_the_audit_asks_about_the_ground_truth_and_the_answer_to_the_question_alone(triples):
    before = collection.audit_of(triples)
    assert (before.size, before.wanted, before.missing, before.drawn) == (4, 4, 4, [])
    assert collection.open_audit(triples) == 4
    assert collection.open_audit(triples) == 0
    for item in audits(triples):
        strategies = set(item.options.values_list("candidate__strategy", flat=True))
        assert (strategies, item.overlap, item.slots.count()) == ({"A1", "A3"}, 9, 9)
    assert collection.audit_of(triples).verdict["note"] == "0 of the 4 pairs to audit"


def test_the_place_of_an_answer_does_not_tell_which_is_the_ground_truth():
    pairs = [
        collection.EasyPair(SimpleNamespace(pk=n, query=None), f"chosen-{n}", f"generic-{n}")
        for n in range(400)
    ]
    first = sum(collection._row(pair)["candidates"][0] == pair.chosen for pair in pairs)
    assert 170 < first < 230


def test_pairs_on_which_all_agree_hold(triples, people):
    collection.open_audit(triples)
    vote(triples, people)
    verdict = collection.audit_of(triples).verdict
    assert (verdict["accepted"], verdict["drop"], verdict["kappa"]) == (True, [], 1.0)
    assert verdict["chose_truth"]["value"] == 1.0


def test_a_pair_whose_ground_truth_is_not_clear_is_dropped(triples, people):
    collection.open_audit(triples)
    vote(triples, people, against=2)
    found = collection.audit_of(triples)
    last = audits(triples).last()
    source = next(pair.item for pair in found.drawn if pair.audited == last)
    assert found.verdict["drop"] == [source.external_id]
    assert found.verdict["accepted"] is False
    assert found.as_json()["audited"] == 4


def test_the_draw_is_seeded_and_takes_a_tenth(triples, monkeypatch):
    monkeypatch.setattr(collection, "audit_size", lambda n: 2)
    collection.open_audit(triples)
    drawn = sorted(audits(triples).values_list("external_id", flat=True))
    names = sorted(pair.name for pair in collection._pairs(triples))
    assert drawn == names[:2]
    Slot.objects.filter(item__in=audits(triples)).delete()
    audits(triples).delete()
    collection.open_audit(triples)
    assert sorted(audits(triples).values_list("external_id", flat=True)) == drawn


def test_another_ground_truth_asks_for_another_pair(triples, people):
    collection.open_audit(triples)
    vote(triples, people)
    item = triples.items.get(external_id=collection.audit_of(triples).drawn[0].item.external_id)
    other = ItemOption.objects.get(item=item, candidate__strategy="A2").number
    item.tier.winner = other
    item.tier.save()
    found = collection.audit_of(triples)
    assert (len(found.drawn), found.missing) == (3, 1)
    assert found.verdict["accepted"] is None


def test_without_easy_pairs_nothing_can_be_drawn(tea):
    with pytest.raises(DomainError, match="no easy pairs"):
        collection.open_audit(tea)


def test_a_task_of_the_audits_name_that_is_no_task_of_two_is_refused(cast, triples):
    cast.task(triples, AUDIT_TASK, options=3)
    with pytest.raises(Conflict, match="two answers"):
        collection.open_audit(triples)


def test_the_audits_votes_are_no_ground_truth_of_the_easy_tier(triples, people):
    collection.open_audit(triples)
    vote(triples, people)
    recompute.recompute(triples, AUDIT_TASK)
    assert collection.audit_of(triples).size == 4


def test_one_button_opens_the_audit_and_the_page_shows_its_pairs(triples, login, cast):
    client = login(cast.person("Rui"))
    assert "Draw and open" not in client.get("/studies/tea/audit/").content.decode()
    assert client.post("/studies/tea/audit/open/").status_code == 403
    client = login(cast.person("Carol"))
    assert "Draw and open 4 pairs" in client.get("/studies/tea/audit/").content.decode()
    answer = client.post("/studies/tea/audit/open/", follow=True).content.decode()
    assert "4 pairs are drawn and open." in answer
    assert answer.count("waits for votes") == 4
    assert "/studies/tea/audit/" in client.get("/studies/tea/").content.decode()


def test_a_panel_that_is_not_complete_is_not_judged(triples, people):
    collection.open_audit(triples)
    vote(triples, people)
    Item.objects.filter(pk=audits(triples).first().pk).update(
        done=F("done") - 1, counts={"1": 4, "2": 4}
    )
    assert sum(pair.complete for pair in collection.audit_of(triples).drawn) == 3


def test_votes_of_who_withdrew_are_not_heard_in_the_audit(triples, people):
    collection.open_audit(triples)
    vote(triples, people, against=2)
    for one in people[:2]:
        consent.withdraw(one, triples.consent_text)
    last = next(
        p for p in collection.audit_of(triples).drawn if p.audited == audits(triples).last()
    )
    assert (last.truth, last.against) == (7, 0)
