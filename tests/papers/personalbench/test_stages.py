"""Stage 1 shows evidence in its context, stage 2 all attributes of a prompt on one screen."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.core.errors import DomainError
from annotation.core.templatetags.attune import passages
from annotation.judging.batches.open import open_batch
from annotation.judging.kinds import kind_of
from annotation.judging.kinds.presets import folded
from annotation.judging.models import Judgment, Participation, Slot
from annotation.judging.work import queue, submit
from annotation.personas.models import Attribute, Evidence

pytestmark = pytest.mark.django_db


def turns(count, *marked):
    return [
        {"role": "user", "text": f"Turn {n} here"} | ({"spans": [[0, 4]]} if n in marked else {})
        for n in range(count)
    ]


def test_context_is_folded_beyond_a_turn_before_and_after_the_evidence():
    runs = folded(turns(8, 4))
    assert [(folded, len(run)) for folded, run in runs] == [(True, 3), (False, 3), (True, 2)]
    assert [folded for folded, _run in folded(turns(3))] == [False]
    assert folded([]) == []


def test_a_passage_is_highlighted_and_stays_text():
    html = passages({"text": "I like <b>tea</b> & bread", "spans": [[2, 13], [18, 25]]})
    assert '<mark title="Evidence">like &lt;b&gt;tea</mark>' in html
    assert html.count("<mark") == 2
    assert "<mark" not in passages({"text": "plain"})


def test_raters_see_the_evidence_and_may_unfold_the_rest(tea, cast, login):
    persona = cast.persona(tea)
    attribute = Attribute.objects.create(persona=persona, external_id="a", text="Bakes bread.")
    Evidence.objects.create(attribute=attribute, messages=turns(8, 4))
    open_batch(tea, tea.tasks.create(name="traits", kind="attribute", overlap=3, config={}))
    page = login(cast.member("Ann", tea, "annotator")).get("/studies/tea/judge/").text
    assert page.count("<mark") == 1
    assert "3 more turns" in page and "2 more turns" in page


JUDGE = "/studies/tea/judge/"


@pytest.fixture
def judging(login, ann):
    """Ann's browser."""
    return login(ann)


@pytest.fixture
def matter(tea, cast):
    """A prompt, three attributes, two judgments each; Ann and Bo judge."""
    persona = cast.persona(tea)
    for key in "abc":
        Attribute.objects.create(persona=persona, external_id=key, text=f"Likes {key}.")
    cast.query(tea, persona=persona)
    config = kind_of("relevance").check_config({"together": True, "reason": "optional"})
    task = tea.tasks.create(name="matter", kind="relevance", overlap=2, config=config)
    for name in ("Ann", "Bo", "Chen"):
        cast.member(name, tea, "annotator")
    return open_batch(tea, task)


def opened(client) -> dict:
    """{field: attribute} of the screen, and the fields of its form."""
    page = client.get(JUDGE).text
    rows = re.findall(
        r'<legend dir="auto">(.*?)</legend>.*?name="(answer-relevant-[^"]+)"', page, re.S
    )
    slot = re.search(r'name="slot" value="([^"]+)"', page)
    return {"rows": {name: words for words, name in rows}, "slot": slot and slot[1], "page": page}


def answers(screen, says="yes", **more):
    fields = dict.fromkeys(screen["rows"], says)
    return fields | {"slot": screen["slot"], "key": f"page-{screen['slot']}"} | more


def test_one_screen_stores_a_judgment_an_attribute(matter, judging):
    screen = opened(judging)
    assert sorted(screen["rows"].values()) == ["Likes a.", "Likes b.", "Likes c."]
    first = next(iter(screen["rows"]))
    done = judging.post(JUDGE, answers(screen, **{first: "no", "seconds": "30", "reason": "Hm."}))
    assert done.status_code == 302
    rows = Judgment.objects.select_related("slot__item")
    assert sorted(row.answers.get().label for row in rows) == ["no", "yes", "yes"]
    assert {row.seconds for row in rows} == {10}
    assert sorted(row.reason for row in rows) == ["", "", "Hm."]
    assert list(matter.items.values_list("done", flat=True)) == [1, 1, 1]
    assert Participation.objects.get().done == 3
    # The same submit again, and the next visit: nothing new.
    assert judging.post(JUDGE, answers(screen, **{first: "no", "reason": "Hm."})).status_code == 302
    assert Judgment.objects.count() == 3
    assert opened(judging)["slot"] is None


def test_two_people_at_once_get_all_and_a_third_gets_none(matter, cast, login):
    screens = [opened(login(cast.person(name))) for name in ("Ann", "Bo", "Chen")]
    assert [len(screen["rows"]) for screen in screens] == [3, 3, 0]
    for name, screen in zip(("Ann", "Bo"), screens, strict=False):
        login(cast.person(name)).post(JUDGE, answers(screen))
    assert list(matter.items.values_list("done", flat=True)) == [2, 2, 2]


def test_a_missing_vote_stores_nothing_and_keeps_what_was_chosen(matter, judging):
    screen = opened(judging)
    data = answers(screen)
    del data[next(iter(screen["rows"]))]
    refused = judging.post(JUDGE, data)
    page = refused.text
    assert (refused.status_code, Judgment.objects.count()) == (400, 0)
    chosen = re.findall(r'name="answer-relevant-[^>]* checked', page)
    assert "Choose yes or no first." in page and len(chosen) == 2


def test_what_is_typed_comes_back_and_the_lease_is_renewed_for_all(matter, judging):
    screen = opened(judging)
    Slot.objects.filter(status="held").update(lease_expires_at=timezone.now())
    field = next(iter(screen["rows"]))
    draft = {"slot": screen["slot"], field: "no"}
    assert judging.post(f"{JUDGE}draft/", draft).status_code == 204
    assert queue.expire() == 0
    assert re.search(rf'name="{field}" value="no"[^>]* checked', opened(judging)["page"])


def test_skipping_hands_all_of_the_screen_back_and_offers_none_again(matter, cast, login, judging):
    judging.post(f"{JUDGE}skip/", {"slot": opened(judging)["slot"]})
    assert opened(judging)["slot"] is None
    assert not Slot.objects.exclude(status="open").exists()
    assert len(opened(login(cast.person("Bo")))["rows"]) == 3


def test_votes_that_others_gave_meanwhile_are_left_out(matter, cast, judging):
    screen = opened(judging)
    Slot.objects.filter(status="held").update(lease_expires_at=timezone.now() - timedelta(hours=1))
    assert queue.expire() == 3
    item = matter.items.exclude(slots__pk=screen["slot"]).first()
    _taken(item, cast)
    assert judging.post(JUDGE, answers(screen)).status_code == 302
    assert Judgment.objects.filter(annotator=cast.person("Ann")).count() == 2


def _taken(item, cast):
    """Bo and Chen hold both slots of the item."""
    for slot, name in zip(item.slots.order_by("ordinal"), ("Bo", "Chen"), strict=True):
        Slot.objects.filter(pk=slot.pk).update(status="held", annotator=cast.person(name))


def test_a_program_that_judges_one_slot_gives_the_others_back(matter, tea, login, ann):
    slot = opened(login(ann))["slot"]
    assert Slot.objects.filter(status="held").count() == 3
    submit.submit(tea, slot, ann, {"relevant": "yes"}, key="k-1")
    assert (Judgment.objects.count(), Slot.objects.filter(status="held").count()) == (1, 0)
    assert len(opened(login(ann))["rows"]) == 2


def test_foreign_slots_in_a_form_change_nothing(matter, cast, judging):
    screen = opened(judging)
    foreign = queue.claim(matter.study, cast.person("Bo"))
    more = {f"answer-relevant-{foreign}": "yes", "answer-relevant-nonsense": "yes"}
    assert judging.post(JUDGE, answers(screen, **more)).status_code == 302
    assert set(Judgment.objects.values_list("annotator", flat=True)) == {cast.person("Ann").pk}


def test_a_reason_for_a_whole_screen_cannot_be_required():
    with pytest.raises(DomainError, match="optional, not required"):
        kind_of("relevance").check_config({"together": True, "reason": "required"})
