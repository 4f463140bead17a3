"""The judging page over HTTP: one request a judgment, and what is typed is never lost."""

import gzip
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.judging.models import (
    Batch,
    Checks,
    Draft,
    Handback,
    Item,
    Judgment,
    Participation,
    Slot,
)
from annotation.judging.work import queue
from annotation.queries.models import Query
from annotation.studies.models import Study
from tests.judging.conftest import join_by_a_link

URL = "/studies/tea/judge/"
HTMX = {"headers": {"HX-Request": "true"}}


def hidden(response, name: str) -> str:
    return re.search(rf'name="{name}" value="([^"]*)"', response.text)[1]


def filled(response, number=1, **more) -> dict:
    """The page's form with one answer chosen."""
    choices = re.findall(r'name="answer-choice" id="[^"]*"[^>]* value="([^"]*)"', response.text)
    fields = {name: hidden(response, name) for name in ("slot", "key")}
    return fields | {"answer-choice": choices[number - 1], "seconds": "3.5"} | more


@pytest.fixture
def ann(cast, tea, login):
    return login(cast.person("Ann"))


def test_without_javascript_a_submit_goes_on_by_redirect(cast, tea, ann):
    cast.open(tea, items=2)
    first = ann.get(URL)
    answer = ann.post(URL, filled(first))
    assert (answer.status_code, answer["Location"]) == (302, URL)
    assert hidden(ann.get(URL), "slot") != hidden(first, "slot")
    assert Judgment.objects.get().seconds == 3.5


def test_with_htmx_the_answer_of_a_submit_is_the_next_item_alone_and_in_the_end_none(
    cast, tea, ann
):
    cast.open(tea, items=2)
    first = ann.get(URL)
    second = ann.post(URL, filled(first), **HTMX)
    assert second.status_code == 200 and "<html" not in second.text
    assert hidden(second, "slot") != hidden(first, "slot")
    assert "1 of 2 judged" in second.text
    last = ann.post(URL, filled(second), **HTMX).text
    assert "Nothing is waiting for you" in last and "You have judged 2 items here" in last


def test_a_refused_answer_keeps_what_was_typed_and_chosen(cast, tea, ann):
    cast.open(tea, reason="required")
    form = filled(ann.get(URL), 2, reason="   ")
    answer = ann.post(URL, form)
    page = answer.text
    assert answer.status_code == 400
    assert "Say in a few words" in page
    assert re.search(rf'value="{form["answer-choice"]}"[^>]* checked', page)
    long = ann.post(URL, form | {"reason": "w" * 5001})
    assert "w" * 5001 in long.text


def test_a_lost_lease_keeps_the_typed_text(cast, tea, ann):
    cast.open(tea, overlap=1, reason="optional")
    page = ann.get(URL)
    Slot.objects.update(lease_expires_at=Now() - timedelta(minutes=1))
    queue.expire()
    incomplete = filled(page, reason="an hour of thought") | {"answer-choice": ""}
    for change in ({}, {"key": ""}):
        answer = ann.post(URL, incomplete | change)
        assert answer.status_code == 404
        assert "an hour of thought" in answer.text
    queue.claim(tea, cast.person("Bo"))
    answer = ann.post(URL, filled(page, reason="an hour of thought"), **HTMX)
    assert answer.status_code == 409
    assert "somebody else has it now" in answer.text
    assert "an hour of thought" in answer.text


def test_a_skipped_item_goes_to_somebody_else_with_its_reason_and_without_its_draft(cast, tea, ann):
    cast.open(tea, items=2, reason="optional")
    page = ann.get(URL)
    ann.post(f"{URL}draft/", draft_of(page))
    form = {"slot": hidden(page, "slot"), "reason": "half a thought", "skip_reason": "Not for me."}
    assert ann.post(reverse("skip", args=["tea"]), form).status_code == 302
    assert Draft.objects.count() == 0
    assert hidden(ann.get(URL), "slot") != hidden(page, "slot")
    form = {"slot": hidden(ann.get(URL), "slot"), "reason": "It is cut off.", "skip_reason": ""}
    ann.post(reverse("skip", args=["tea"]), form)
    reasons = Handback.objects.order_by("pk").values_list("reason", flat=True)
    assert list(reasons) == ["Not for me.", "It is cut off."]


def test_a_tag_names_the_answers_that_it_is_about(cast, tea, ann):
    cast.open(tea)
    page = ann.get(URL)
    ann.post(URL, filled(page) | {"flags": "unsafe", "flagged": ["3", "1"]})
    vote = Judgment.objects.get()
    assert vote.circumstances["flagged"] == sorted([vote.shown[0], vote.shown[2]])
    again = ann.get(f"/studies/tea/judged/{vote.slot_id}/").text
    ticked = re.findall(r'name="flagged" value="(\d)" checked', again)
    assert ticked == ["1", "3"]


@pytest.mark.parametrize("slot", ["", "x", "00000000-0000-4000-8000-000000000000"])
def test_a_form_for_no_slot_of_mine_is_refused(cast, tea, ann, slot):
    cast.open(tea)
    form = filled(ann.get(URL)) | {"slot": slot}
    assert ann.post(URL, form).status_code == 404
    assert Judgment.objects.count() == 0


def test_without_consent_the_way_leads_to_the_consent_page(cast, tea, login):
    cast.open(tea)
    dora = login(cast.member("Dora", tea, "annotator", consented=False))
    assert dora.get(URL)["Location"] == "/studies/tea/consent/"
    assert dora.post(URL, {}, **HTMX)["HX-Redirect"] == "/studies/tea/consent/"
    text = tea.consent_text.pk
    dora.post("/studies/tea/consent/", {"decision": "grant", "text": text, "agree": "1"})
    assert dora.get(URL).status_code == 200


def test_a_closed_study_hands_out_nothing_and_takes_what_is_in_hand(cast, tea, ann):
    cast.open(tea, items=2)
    form = filled(ann.get(URL))
    Study.objects.update(status="closed")
    assert hidden(ann.get(URL), "slot") == form["slot"]
    answer = ann.post(URL, form, **HTMX)
    assert "hands out no work now" in answer.text
    assert Judgment.objects.count() == 1
    assert "hands out no work now" in ann.get(URL).text


@pytest.mark.parametrize("items", [1, 3])
def test_submit_and_next_take_eleven_statements(cast, tea, ann, items):
    cast.open(tea, items=items + 1, reason="optional")
    form = filled(ann.get(URL), reason="because")
    with CaptureQueriesContext(connection) as queries:
        answer = ann.post(URL, form, **HTMX)
    assert 'name="slot"' in answer.text
    statements = [q["sql"] or "a prepared one" for q in queries if "SAVEPOINT" not in str(q["sql"])]
    assert len(statements) == 11, "\n".join(statements)


def draft_of(page, **more) -> dict:
    return {"slot": hidden(page, "slot"), "key": hidden(page, "key"), "reason": "half", **more}


def test_a_draft_is_kept_renews_the_lease_and_comes_back_with_the_item(cast, tea, ann):
    cast.open(tea, reason="optional")
    page = ann.get(URL)
    Slot.objects.update(lease_expires_at=Now())
    assert ann.post(f"{URL}draft/", draft_of(page, reason="half\x00 a thought")).status_code == 204
    assert Draft.objects.get().data == {"reason": ["half a thought"]}
    assert Slot.objects.get(status="held").lease_expires_at > timezone.now()
    assert "half a thought" in ann.get(URL).text


def test_a_draft_that_comes_after_its_answer_is_refused_and_leaves_nothing(cast, tea, ann):
    cast.open(tea, items=2, reason="optional")
    page = ann.get(URL)
    ann.post(URL, filled(page, reason="whole"))
    late = ann.post(f"{URL}draft/", draft_of(page))
    assert (late.status_code, late.content) == (409, b"You have judged this item already.")
    assert Draft.objects.count() == 0
    assert ann.post(f"{URL}draft/", draft_of(page, change="1")).status_code == 204


def test_a_draft_of_somebody_elses_item_and_one_too_long_are_refused(cast, tea, ann, client):
    cast.open(tea, reason="optional")
    page = ann.get(URL)
    assert ann.post(f"{URL}draft/", draft_of(page, reason="w" * 400_001)).status_code == 400
    client.force_login(cast.person("Bo"))
    assert client.post(f"{URL}draft/", draft_of(page)).status_code == 404
    assert Draft.objects.count() == 0


def test_the_way_back_to_the_last_answer_is_there_while_it_may_be_changed(cast, tea, ann):
    cast.open(tea, items=3)
    page = ann.get(URL)
    assert "/judged/" not in page.text
    back = f"/studies/tea/judged/{hidden(page, 'slot')}/"
    second = ann.post(URL, filled(page), **HTMX)
    assert back in second.text
    assert back in ann.get(URL).text
    Judgment.objects.update(submitted_at=timezone.now() - timedelta(hours=25))
    assert "/judged/" not in ann.get(URL).text
    Study.objects.update(edit_hours=0)
    third = ann.post(URL, filled(second), **HTMX)
    assert "/judged/" not in third.text
    refused = ann.post(back, filled(page, 2) | {"key": "change"})
    assert refused.status_code == 409
    assert "The time to change this answer is over." in refused.text


def test_the_sources_of_ones_own_item_come_in_the_order_shown(cast, tea, ann, client):
    cast.open(tea)
    page = ann.get(URL)
    address = f"{URL}sources/{hidden(page, 'slot')}/"
    shown = re.findall(r"Answer (\d) to best-q1: take", page.text)
    texts = ann.get(address).json()["answers"]
    assert [re.search(r"Answer (\d)", text)[1] for text in texts] == shown
    assert all("**one**" in text for text in texts)
    client.force_login(cast.person("Bo"))
    assert client.get(address).status_code == 404


def test_the_tour_is_offered_until_it_was_seen_for_each_task(cast, tea, ann):
    batch = cast.open(tea, items=2)
    address = f"{URL}tour/?task={batch.task_id}"
    page = ann.get(URL)
    assert re.search(r" data-tour\s", page.text)
    assert "Answer 2 is the better one" in ann.get(address).text
    for _ in range(2):
        assert ann.post(address).status_code == 302
    assert Participation.objects.get().toured == ["best"]
    assert not re.search(r" data-tour\s", ann.get(URL).text)
    for wrong in ("", "x", "9" * 30, "٣"):
        assert ann.get(f"{URL}tour/?task={wrong}").status_code == 404


def test_the_tour_shows_each_question_of_a_task_of_own_questions(cast, tea, ann):
    questions = [
        {"type": "number", "name": "quality", "title": {"en": "How good is it?"}},
        {"type": "text", "name": "why", "title": {"en": "Why?"}},
    ]
    config = {"options": 1, "questions": questions}
    task = tea.tasks.create(name="own", version=1, kind="questions", config=config)
    page = ann.get(f"{URL}tour/?task={task.pk}").text
    notes = re.findall(r'<p class="note"><strong>(.*?)</strong>', page)
    assert notes == ["How good is it?", "Why?"]


def test_a_passed_training_is_not_given_away_by_the_tour(cast, tea, ann):
    batch = cast.open(tea, items=1)
    Batch.objects.update(purpose="training")
    Item.objects.update(explanation="Because it is quiet.")
    address = f"{URL}tour/?task={batch.task_id}"
    assert "Because it is quiet." in ann.get(address).text
    Checks.objects.create(study=tea, pass_mark=0.8)
    assert "Because it is quiet." not in ann.get(address).text


def test_the_guideline_in_the_drawer_is_that_of_the_items_own_version(cast, tea, ann):
    old = cast.task(tea, name="best")
    old.guideline = "The first words."
    old.save()
    tea.tasks.create(name="best", version=2, kind="selection", guideline="Later words.", config={})
    drawer = ann.get(f"/studies/tea/guideline/?task={old.pk}", **HTMX).text
    assert "The first words." in drawer
    assert "Later words." not in drawer
    assert "<html" not in drawer
    assert "Later words." in ann.get("/studies/tea/guideline/").text


def test_tasks_of_one_guideline_stand_together_above_it(cast, tea, ann):
    cast.open(tea)
    for name, words in (("a", "Read both."), ("b", "Read both."), ("c", "Read all.")):
        tea.tasks.create(name=name, version=1, kind="selection", guideline=words, config={})
    page = ann.get("/studies/tea/guideline/").text
    assert page.count("Read both.") == page.count("Read all.") == 1
    assert page.index("<h2>A</h2>") < page.index("<h2>B</h2>") < page.index("Read both.")


def test_the_page_is_compressed_for_who_can_read_it(cast, tea, ann):
    cast.open(tea)
    answer = ann.get(URL, headers={"Accept-Encoding": "gzip"})
    assert answer["Content-Encoding"] == "gzip"
    assert b"Mina Park" in gzip.decompress(answer.content)


def test_a_task_asks_in_its_own_words_and_in_the_readers_language(cast, tea, ann):
    cast.open(tea, question="Which one would you send to Mina?")
    assert "Which one would you send to Mina?" in ann.get(URL).text
    tea.tasks.update(translations={"ko": {"question": "미나에게 무엇을 보낼까요?"}})
    page = ann.get(URL, headers={"Accept-Language": "ko"})
    assert "미나에게 무엇을 보낼까요?" in page.text


def test_a_participants_progress_and_desk_know_the_quota(cast, tea, login):
    cast.open(tea, items=3)
    bo = cast.person("Bo")
    join_by_a_link(tea, bo, quota=2)
    page = login(bo)
    first = page.get(URL)
    assert "0 of 2 judged" in first.text
    desk = page.get("/").text
    assert "of up to 2" in desk
    # An account with a history is one that no link opens any more.
    assert reverse("history") not in desk
    last = page.post(URL, filled(page.post(URL, filled(first), **HTMX)), **HTMX).text
    assert "You are done" in last and "CODE-7" in last and "that are opened later" not in last
    assert "CODE-7" in page.get(URL).text
    assert Slot.objects.filter(annotator=bo).count() == 2
    desk = page.get("/").text
    assert "CODE-7" in desk and URL not in desk and "Nothing is waiting for you" not in desk


def test_the_parts_of_a_guided_need_are_told_apart_in_the_readers_language(cast, tea, ann):
    cast.open(tea)
    tea.queries.update(need="Known already: The park.")
    assert "<p>Known already: The park.</p>" in ann.get(URL).text
    guide = {"want": "A **walk**.", "known": "The park.", "annoy": "<b>Cars.</b>"}
    tea.queries.update(guide=guide, need="A walk.\n\nKnown already: The park.")
    page = ann.get(URL).text
    names = re.findall(r'<h2 class="kicker">([^<]+)</h2>', page)
    assert names == ["What they need to know", "Known already", "Would annoy"]
    assert "<strong>walk</strong>" in page
    assert "Known already: The park." not in page
    assert "<b>Cars." not in page
    korean = ann.get(URL, headers={"Accept-Language": "ko"}).text
    assert "이미 아는 것" in korean


@pytest.mark.parametrize(("page", "stored", "latin"), [("ko", "", "en"), ("ko", "de", "de")])
def test_texts_in_another_language_than_the_page_say_so(cast, tea, ann, page, stored, latin):
    cast.open(tea, items=1)
    Query.objects.update(text="第一周", language=stored)
    whole = ann.get(URL, headers={"Accept-Language": page})
    html = whole.text
    assert '<p lang="zh">第一周</p>' in html
    assert html.count(f'<p lang="{latin}">') == 3


def test_a_conversation_is_shown_turn_by_turn_the_earlier_ones_folded(cast, tea, ann):
    cast.open(tea)
    said = [{"role": ("user", "assistant")[n % 2], "content": f"turn {n}"} for n in range(7)]
    Query.objects.update(messages=said, text="never shown")
    text = ann.get(URL).text
    assert "never shown" not in text
    assert text.index("3 earlier messages") < text.index("turn 0") < text.index("turn 6")
    marked = text.index("the answers reply to this")
    assert text.index("turn 5") < marked < text.index("turn 6") and text.count("reply to this") == 1
    folded = text.partition("<details>")[2].partition("</details>")[0]
    assert ("turn 2" in folded, "turn 3" in folded) == (True, False)
    assert folded.count(">User<") == 2


def test_whoever_reads_too_few_languages_to_get_items_is_told_so(cast, tea, login):
    cast.open(tea)
    tea.match_languages = True
    tea.save()
    tea.queries.update(language="ko")
    ann = cast.person("Ann")
    type(ann).objects.filter(pk=ann.pk).update(reads=["es"])
    page = login(ann).get("/studies/tea/judge/").text
    assert "You get items in the languages that you read:" in page
    assert '<bdi lang="es">español</bdi>' in page.lower()
    assert 'href="/reading/?next=/studies/tea/judge/"' in page
