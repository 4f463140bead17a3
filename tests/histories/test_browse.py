"""Deciding quickly: one after another, many at once with a question, texts as Markdown."""

import pytest
from django.urls import reverse

from annotation.core import text
from annotation.histories import browse
from annotation.histories.models import Session
from tests.histories.conftest import chat, search


@pytest.fixture
def three(ann, bring):
    bring(ann, *(chat(f"c-{n}", f"Question {n}", minutes=-1_440 * n) for n in range(3)))
    return list(browse.listed(Session.objects.filter(owner=ann)))


def decide(client, action, *sessions, **more):
    data = {"action": action, "session": [one.pk for one in sessions], **more}
    return client.post(reverse("history-decide"), data)


def test_a_decision_leads_to_the_next_undecided_session_and_from_the_last_to_the_first(me, three):
    answer = decide(me, "keep", three[1], next="1")
    assert f"/history/sessions/{three[2].pk}/" in answer.url
    answer = decide(me, "drop", three[2], next="1")
    assert f"/history/sessions/{three[0].pk}/" in answer.url
    assert decide(me, "keep", three[0], next="1").url == reverse("history")
    assert [one.state for one in Session.objects.order_by("-started_at")] == [
        *("kept", "kept", "dropped")
    ]


def test_the_next_one_stays_within_the_filter(ann, three, bring, login):
    bring(ann, search("tea houses"))
    answer = decide(login(ann), "keep", three[2], next="1", kind="chat")
    assert f"/history/sessions/{three[0].pk}/?list=kind%3Dchat" in answer.url


def test_undecided_leads_to_the_newest_and_says_where_nothing_is_left(me, three):
    assert f"/sessions/{three[0].pk}/" in me.get(reverse("history-undecided")).url
    after = {"after": three[0].pk}
    assert f"/sessions/{three[1].pk}/" in me.get(reverse("history-undecided"), after).url
    Session.objects.update(state="dropped")
    page = me.get(reverse("history-undecided"), follow=True)
    assert "Nothing is left to decide here." in page.content.decode()


def test_keeping_many_asks_how_many_were_never_opened_and_shows_the_finds(me, ann, bring):
    bring(ann, chat("c-1", "Mail me at ann@example.org", "password: qwer1234"), chat("c-2", "Hi"))
    one = Session.objects.get(external_id="c-2")
    me.post(reverse("history-opened", args=[one.pk]))
    page = decide(me, "keep", all="1").content.decode()
    assert "Keep 2 sessions?" in page
    assert "e-mail addresses: 1" in page
    assert "passwords and keys: 1" in page
    assert not Session.objects.filter(state="kept").exists()
    summary = browse.bulk(Session.objects.filter(owner=ann))
    hidden = {"hidden": [("email", 1), ("secret", 1)], "finds": 2, "shown": 0}
    assert summary | {"hidden": sorted(summary["hidden"])} == {"sessions": 2, "unread": 1, **hidden}
    decide(me, "keep", all="1", sure="1")
    assert Session.objects.filter(state="kept").count() == 2


@pytest.mark.parametrize("method", ["get", "head"])
def test_a_page_that_is_fetched_alone_notes_nothing(ann, three, login, method):
    client, address = login(ann), reverse("history-session", args=[three[0].pk])
    assert getattr(client, method)(address).status_code == 200
    assert Session.objects.filter(opened_at=None).count() == 3
    client.post(reverse("history-opened", args=[three[0].pk]))
    first = Session.objects.get(pk=three[0].pk).opened_at
    assert first is not None and "data-opened" not in client.get(address).content.decode()
    client.post(reverse("history-opened", args=[three[0].pk]))
    assert Session.objects.get(pk=three[0].pk).opened_at == first


def test_a_message_is_rendered_with_its_marks_highlighted(ann, bring, login):
    bring(ann, chat("c-1", "**Mail** ann@example.org ❄", "- one\n- two"))
    one = Session.objects.get()
    client, address = login(ann), reverse("history-session", args=[one.pk])
    page = client.get(address).content.decode()
    assert '<strong>Mail</strong> <mark title="[EMAIL_1]">ann@example.org</mark>' in page
    assert "<li>one</li>" in page
    others = client.get(address, {"as": "others"}).content.decode()
    assert "<strong>Mail</strong> [EMAIL_1] ❄" in others
    assert "ann@example.org" not in others


@pytest.mark.parametrize(
    ("pieces", "html"),
    [
        ([("a ", ""), ("<b>", "[X_1]")], '<p>a <mark title="[X_1]">&lt;b&gt;</mark></p>'),
        ([("`a ", ""), ("*b*", "[X_1]"), ("`", "")], None),
        ([("\ue0005\ue001 ", ""), ("b", "[X_1]")], '<p>5 <mark title="[X_1]">b</mark></p>'),
        ([("[x](http://e.org/", ""), ('"onclick', "[X_1]"), (")", "")], None),
    ],
)
def test_marked_words_are_never_markup(pieces, html):
    rendered = text.render_marked(pieces).strip()
    if html:
        assert rendered == html
    assert "onclick=" not in rendered
    assert "<em>" not in rendered
