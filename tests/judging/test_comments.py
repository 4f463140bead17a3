"""Threads on judged items, between their annotator and the curators; and one's own training."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.accounts.models import Consent
from annotation.core.errors import DomainError, NotFound
from annotation.core.models import AuditEvent
from annotation.judging.models import ItemComment, Slot
from annotation.judging.work import comments, queue
from tests.judging.test_checks import add_checks
from tests.judging.test_queue import judge

PAGE, PAST, DESK = "/studies/tea/comments/", "/studies/tea/mine/", "/"


@pytest.fixture
def slot(cast, tea):
    """A slot of three open items that Ann has judged and commented on."""
    cast.open(tea, items=3, overlap=2)
    slot = judge(tea, cast.person("Ann"))
    comments.write_comment(tea, slot, cast.person("Ann"), "Answer 2 is **cut off**.")
    return slot


@pytest.fixture
def answer(cast, tea, slot):
    """A function that writes to Ann about a slot as a curator."""
    return lambda words, of=slot: comments.answer(tea, of, cast.person("Carol"), words)


def text(client, address: str) -> str:
    page = client.get(address)
    assert page.status_code == 200
    return page.text


def test_a_curators_answer_appears_at_the_item_and_on_the_desk_until_it_is_read(
    slot, login, ann, carol
):
    item = f"/studies/tea/judged/{slot}/"
    assert "Answer 2 is <strong>cut off</strong>." in text(carol, PAGE)
    sent = carol.post(PAGE, {"slot": slot, "text": "It was; judge what is *there*."})
    assert sent["Location"] == PAGE
    annotator = login(ann)
    desk = text(annotator, DESK)
    assert "The curators wrote to you about an item." in desk
    assert f'href="{item}#about-item"' in desk
    html = text(annotator, item)
    assert html.index("cut off") < html.index("The curators to you") < html.index("<em>there</em>")
    assert "Carol" not in html
    assert "The curators wrote" not in text(annotator, DESK)
    assert "<em>there</em>" in text(annotator, PAST)
    assert AuditEvent.objects.get(action="comment.answer").details["study"] == "tea"


def test_a_page_that_a_browser_fetches_ahead_reads_nothing(tea, slot, answer, login, ann):
    answer("Thank you.")
    for address in (PAST, f"/studies/tea/judged/{slot}/"):
        page = login(ann).get(address, headers={"Sec-Purpose": "prefetch;prerender"})
        assert page.status_code == 200
    assert [pk for pk, _question in comments.unread(ann, [tea])[tea.pk]] == [slot]
    text(login(ann), PAST)
    assert comments.unread(ann, [tea]) == {}


def test_nobody_else_sees_a_thread(tea, slot, answer, login, bo):
    answer("Thank you.")
    assert comments.unread(bo, [tea]) == {}
    judge(tea, bo)
    assert "Thank you." not in text(login(bo), PAST)
    comments.mark_read(bo, [slot])
    assert ItemComment.objects.exclude(read_at=None).count() == 0


def test_an_annotator_answers_back_at_the_item(slot, answer, login, ann):
    answer("Which words?")
    sent = login(ann).post(PAST, {"slot": slot, "text": "The last ones.", "at_item": "1"})
    assert sent["Location"] == f"/studies/tea/judged/{slot}/"
    answers = [comment.is_answer for comment in comments.threads([slot])[slot]]
    assert answers == [False, True, False]


def test_threads_that_wait_for_an_answer_come_first(tea, slot, answer, ann):
    second, third = judge(tea, ann), judge(tea, ann)
    comments.write_comment(tea, second, ann, "Odd.")
    answer("Why?", second)
    comments.write_comment(tea, third, ann, "Fine.")
    rows = [(str(row.pk), row.waits) for row in comments.commented(tea)]
    assert rows == [(str(third), True), (str(slot), True), (str(second), False)]


def test_a_judgment_without_a_comment_can_be_written_about(tea, slot, ann, carol):
    other = judge(tea, ann)
    assert str(other) not in text(carol, PAGE)
    html = text(carol, f"{PAGE}?slot={other}")
    assert f'name="slot" value="{other}"' in html and str(slot) not in html
    carol.post(PAGE, {"slot": other, "text": "You flagged this: thank you."})
    assert ItemComment.objects.filter(slot=other).count() == 1
    assert "Nobody has commented" in text(carol, f"{PAGE}?slot=x")


@pytest.mark.parametrize("words", ["", " \n", "x" * 5001])
def test_a_refused_answer_is_kept_in_its_field(slot, carol, words):
    refused = carol.post(PAGE, {"slot": slot, "text": words})
    assert refused.status_code == 400
    assert "Write up to 5000 characters." in refused.text and words in refused.text
    assert ItemComment.objects.count() == 1


@pytest.mark.parametrize("which", ["held", "foreign", "no uuid"])
def test_only_judged_items_of_the_study_are_written_about(cast, tea, slot, ann, which):
    held, rain = queue.claim(tea, ann), cast.study("rain")
    slots = {"held": (tea, held), "foreign": (rain, slot), "no uuid": (tea, None)}
    with pytest.raises(NotFound):
        comments.answer(*slots[which], cast.person("Carol"), "Hello.")


def test_an_answer_may_hold_what_a_database_cannot(answer):
    assert answer("a\x00b\ud800").text == "ab\ufffd"
    with pytest.raises(DomainError):
        answer("\x00")


def test_who_took_their_consent_back_is_not_written_about(slot, carol, ann):
    Consent.objects.filter(user=ann).update(withdrawn_at="2026-01-01T00:00Z")
    assert "cut off" not in text(carol, PAGE)


def test_an_owners_own_question_is_not_shown_beside_a_comment(tea, slot, carol):
    tea.tasks.update(config=tea.tasks.get().config | {"owner_only": True})
    html = text(carol, PAGE)
    assert "cut off" in html and "What should I read" not in html


@pytest.mark.parametrize("address", [PAGE, DESK, PAST])
def test_three_threads_take_as_many_statements_as_one(cast, tea, slot, answer, login, ann, address):
    client = login(cast.person("Carol") if address == PAGE else ann)
    counts = []
    for more in (0, 2):
        for number in range(more):
            comments.write_comment(tea, judge(tea, ann), ann, f"Number {number}.")
        for judged in Slot.objects.filter(annotator=ann, status="done"):
            answer("So it is.", judged.pk)
        client.get(address)
        with CaptureQueriesContext(connection) as queries:
            client.get(address)
        counts.append(len(queries))
    assert counts[0] == counts[1]


# --- One's own training -----------------------------------------------------------------------


def test_an_annotator_sees_their_training_once_it_is_over_and_no_other_check(cast, tea, login, ann):
    cast.open(tea, items=1, overlap=3)
    add_checks(cast, tea, "training", 3)
    add_checks(cast, tea, "gold", 1)
    client, over = login(ann), "Your training is over: you answered"
    for number in (1, 2):
        judge(tea, ann, number)
        assert over not in text(client, PAST)
    last = judge(tea, ann, 1)
    assert over in text(client, PAST)
    explained = " ".join(text(client, f"/studies/tea/judge/explained/{last}/").split())
    assert f"{over} 2 of 3 items as expected." in explained
