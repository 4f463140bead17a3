"""The audit of the easy tier: from the draw to the verdict."""

from types import SimpleNamespace

import pytest
from django.db.models import F

from annotation.agreement import recompute
from annotation.agreement.tiers import easy_audit
from annotation.core.errors import Conflict, DomainError
from annotation.judging.models import Item, ItemOption, Slot
from annotation.votes.counting import AUDIT_TASK

from .test_dashboard import give


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
    before = easy_audit.audit_of(triples)
    assert (before.size, before.wanted, before.missing, before.drawn) == (4, 4, 4, [])
    assert easy_audit.open_audit(triples) == 4
    assert easy_audit.open_audit(triples) == 0
    for item in audits(triples):
        strategies = set(item.options.values_list("candidate__strategy", flat=True))
        assert (strategies, item.overlap, item.slots.count()) == ({"A1", "A3"}, 9, 9)
    assert easy_audit.audit_of(triples).verdict["note"] == "0 of the 4 pairs to audit"


def test_the_place_of_an_answer_does_not_tell_which_is_the_ground_truth():
    pairs = [
        easy_audit.EasyPair(SimpleNamespace(pk=n, query=None), f"chosen-{n}", f"generic-{n}")
        for n in range(400)
    ]
    first = sum(easy_audit._row(pair)["candidates"][0] == pair.chosen for pair in pairs)
    assert 170 < first < 230


def test_pairs_on_which_all_agree_hold(triples, people):
    easy_audit.open_audit(triples)
    vote(triples, people)
    verdict = easy_audit.audit_of(triples).verdict
    assert (verdict["accepted"], verdict["drop"], verdict["kappa"]) == (True, [], 1.0)
    assert verdict["chose_truth"]["value"] == 1.0


def test_a_pair_whose_ground_truth_is_not_clear_is_dropped(triples, people):
    easy_audit.open_audit(triples)
    vote(triples, people, against=2)
    found = easy_audit.audit_of(triples)
    last = audits(triples).last()
    source = next(pair.item for pair in found.drawn if pair.audited == last)
    assert found.verdict["drop"] == [source.external_id]
    assert found.verdict["accepted"] is False
    assert found.as_json()["audited"] == 4


def test_the_draw_is_seeded_and_takes_a_tenth(triples, monkeypatch):
    monkeypatch.setattr(easy_audit.rules, "audit_size", lambda n: 2)
    easy_audit.open_audit(triples)
    drawn = sorted(audits(triples).values_list("external_id", flat=True))
    names = sorted(pair.name for pair in easy_audit._pairs(triples))
    assert drawn == names[:2]
    Slot.objects.filter(item__in=audits(triples)).delete()
    audits(triples).delete()
    easy_audit.open_audit(triples)
    assert sorted(audits(triples).values_list("external_id", flat=True)) == drawn


def test_another_ground_truth_asks_for_another_pair(triples, people):
    easy_audit.open_audit(triples)
    vote(triples, people)
    item = triples.items.get(external_id=easy_audit.audit_of(triples).drawn[0].item.external_id)
    other = ItemOption.objects.get(item=item, candidate__strategy="A2").number
    item.tier.winner = other
    item.tier.save()
    found = easy_audit.audit_of(triples)
    assert (len(found.drawn), found.missing) == (3, 1)
    assert found.verdict["accepted"] is None


def test_without_easy_pairs_nothing_can_be_drawn(tea):
    with pytest.raises(DomainError, match="no easy pairs"):
        easy_audit.open_audit(tea)


def test_a_task_of_the_audits_name_that_is_no_task_of_two_is_refused(cast, triples):
    cast.task(triples, AUDIT_TASK, options=3)
    with pytest.raises(Conflict, match="two answers"):
        easy_audit.open_audit(triples)


def test_the_audits_votes_are_no_ground_truth_of_the_easy_tier(triples, people):
    easy_audit.open_audit(triples)
    vote(triples, people)
    recompute.recompute(triples, AUDIT_TASK)
    assert easy_audit.audit_of(triples).size == 4


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
    easy_audit.open_audit(triples)
    vote(triples, people)
    Item.objects.filter(pk=audits(triples).first().pk).update(
        done=F("done") - 1, counts={"1": 4, "2": 4}
    )
    assert sum(pair.complete for pair in easy_audit.audit_of(triples).drawn) == 3


def test_votes_of_who_withdrew_are_not_heard_in_the_audit(triples, people):
    from annotation.accounts import consent

    easy_audit.open_audit(triples)
    vote(triples, people, against=2)
    for one in people[:2]:
        consent.withdraw(one, triples.consent_text)
    last = next(
        p for p in easy_audit.audit_of(triples).drawn if p.audited == audits(triples).last()
    )
    assert (last.truth, last.against) == (7, 0)
