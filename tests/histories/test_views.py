"""The owner's pages: what they show, what they change, and whom they do not know."""

import uuid

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.histories import browse, ingest, views
from annotation.histories.models import HistoryConsent, Mark, NamesWord, Session, Upload
from annotation.histories.records import Skipped
from tests.histories.conftest import chat, search

CANARY = "rose-canary-of-bo"
PAGES = ("history", "history-uploads", "history-privacy", "history-consent")


def page(client, name, *args, **query):
    return client.get(reverse(name, args=args), query)


def shown(response) -> str:
    return response.content.decode()


@pytest.fixture
def filled(ann, bring):
    """Ann's history: two chats and a day of searches, all of it looked through."""
    mail = "Write to ann@example.org about ❄"
    bring(
        ann,
        chat("c-1", mail, "I will."),
        chat("c-2", "去哪里喝茶", "去海边", minutes=60, title="茶"),
    )
    bring(ann, search("tea house"))
    return ann


def test_nobody_sees_another_persons_history(me, ann, bo, bring):
    bring(bo, chat("c-9", f"I am {CANARY}", title=CANARY), search(CANARY))
    NamesWord.objects.create(owner=bo, word=CANARY)
    bring(ann, chat())
    for name in PAGES:
        assert CANARY not in shown(page(me, name))
    # What is searched for is repeated by the page; what would be found is not.
    assert CANARY not in shown(page(me, "history", q="rose-canary"))
    assert list(page(me, "history", q="rose-canary").context["page"]) == []


def test_a_foreign_session_among_ones_own_refuses_the_whole_list(me, ann, bo, bring):
    bring(ann, chat())
    bring(bo, chat())
    data = {"session": [str(s.pk) for s in Session.objects.all()], "action": "keep"}
    assert me.post(reverse("history-decide"), data).status_code == 404
    data["session"] = [str(uuid.uuid4())]
    assert me.post(reverse("history-decide"), data).status_code == 404
    assert set(Session.objects.values_list("state", flat=True)) == {"pending"}


def test_a_foreign_mark_in_ones_own_session_is_unknown(me, ann, bo, bring):
    bring(ann, chat("c-1", "ann@example.org"))
    bring(bo, chat("c-1", "bo@example.org"))
    mine = Session.objects.get(owner=ann)
    data = {"mark": Mark.objects.get(session__owner=bo).pk, "state": "rejected"}
    assert me.post(reverse("history-mark", args=[mine.pk]), data).status_code == 404


def test_sessions_are_kept_and_dropped_one_by_one_and_all_at_once(me, filled):
    one = Session.objects.get(external_id="c-1")
    decide = reverse("history-decide")
    assert me.post(decide, {"session": one.pk, "action": "drop"}).status_code == 302
    assert Session.objects.get(pk=one.pk).state == "dropped"
    me.post(decide, {"all": "1", "kind": "chat", "state": "pending", "action": "keep"})
    states = dict(Session.objects.values_list("external_id", "state"))
    assert states == {"c-1": "dropped", "c-2": "kept", "2026-03-14": "pending"}
    assert list(browse.sessions(filled)) == [Session.objects.get(external_id="c-2")]


def test_the_list_comes_back_as_it_was_filtered(me, filled):
    data = {"action": "keep", "session": Session.objects.first().pk}
    data |= {"kind": "chat", "month": "2026-03"}
    response = me.post(reverse("history-decide"), data)
    assert response.url == "/history/?kind=chat&month=2026-03"


def test_filters_and_months_show_what_fits(me, filled):
    def titles(**query):
        return [s.external_id for s in page(me, "history", **query).context["page"]]

    assert titles(kind="search") == ["2026-03-14"]
    assert set(titles(provider="chatgpt")) == {"c-1", "c-2"}
    assert titles(month="2025-01") == []
    assert len(titles(month="2026-03")) == 3
    assert titles(q="喝茶") == ["c-2"]
    assert titles(q="tea hou")[0] == "2026-03-14"
    assert "2026-03-14" not in titles(q="tea house", kind="chat")


def test_a_search_looks_only_where_the_filter_does(me, ann, bring, monkeypatch):
    monkeypatch.setattr(views.search, "LIMIT", 3)
    monkeypatch.setattr(views.search.find, "__defaults__", (3, None))
    bring(ann, *(chat(f"c-{n}", "tea tea tea") for n in range(40)), chat("far", "tea, at sea"))
    Session.objects.filter(external_id="far").update(state="dropped")
    found = page(me, "history", q="tea", state="dropped")
    assert [one.external_id for one in found.context["page"]] == ["far"]
    assert "the best; narrow the search" not in shown(found)
    assert "the best; narrow the search" in shown(page(me, "history", q="tea"))


def test_months_pages_and_sessions_keep_the_filters(me, ann, bring):
    bring(ann, *(chat(f"c-{n}", f"tea {n}") for n in range(60)))
    html = shown(page(me, "history", state="pending", provider="chatgpt"))
    kept = "?state=pending&amp;provider=chatgpt"
    assert f'href="{kept}&amp;month=2026-03"' in html
    assert f'href="{kept}&amp;page=2" rel="next"' in html
    assert "/?list=state%3Dpending%26provider%3Dchatgpt" in html


def test_a_session_leads_back_to_the_list_as_it_was_filtered(me, filled):
    one = Session.objects.get(external_id="c-1")
    kept = "state=pending&page=2"
    html = shown(page(me, "history-session", one.pk, list=kept))
    assert 'href="/history/?state=pending&amp;page=2"' in html
    assert '<input type="hidden" name="state" value="pending">' in html
    mark = Mark.objects.get()
    data = {"mark": mark.pk, "state": "rejected", "page": "1", "list": kept}
    response = me.post(reverse("history-mark", args=[one.pk]), data)
    assert response.url.endswith("?page=1&list=state%3Dpending%26page%3D2#m-0")


@pytest.mark.parametrize(
    "query", ["?state=x&kind=y&month=z&page=q", "?month=2026-99", "?q=" + "a" * 5000]
)
def test_nonsense_in_the_address_is_left_out(me, filled, query):
    assert me.get(reverse("history") + query).status_code == 200


def test_erasing_asks_first_and_then_erases(me, filled):
    one = Session.objects.get(external_id="c-1")
    data = {"session": one.pk, "action": "erase"}
    response = me.post(reverse("history-decide"), data)
    assert "Erase 1 session?" in shown(response)
    assert Session.objects.count() == 3
    me.post(reverse("history-decide"), data | {"sure": "1"})
    assert not Session.objects.filter(pk=one.pk).exists()


def test_a_text_is_struck_out_by_writing_it(me, filled):
    one = Session.objects.get(external_id="c-2")
    address = reverse("history-strike", args=[one.pk])
    assert "Hidden in 1 place." in shown(me.post(address, {"text": "海边"}, follow=True))
    assert "去[PRIVATE_1]" in shown(page(me, "history-session", one.pk, **{"as": "others"}))
    told = shown(me.post(address, {"text": "nowhere"}, follow=True))
    assert "This text stands nowhere here." in told


def test_words_are_hidden_everywhere_and_shown_again_when_removed(me, filled):
    response = me.post(reverse("history-privacy"), {"word": "tea"}, follow=True)
    assert "Hidden in 1 place." in shown(response)
    assert browse_text(filled, "2026-03-14").endswith("[NAME_1] house")
    word = NamesWord.objects.get()
    me.post(reverse("history-word", args=[word.pk]))
    assert browse_text(filled, "2026-03-14").endswith("tea house")


def browse_text(owner, external_id):
    rows = Session.objects.filter(owner=owner, external_id=external_id)
    return next(browse.transcripts(rows)).text


def test_everything_of_a_kind_is_shown_or_hidden(me, filled):
    assert "e-mail addresses" in shown(page(me, "history-privacy"))
    told = me.post(reverse("history-kind"), {"kind": "email", "state": "rejected"}, follow=True)
    assert "1 passage is shown to whoever may see its session." in shown(told)
    assert Mark.objects.get().state == "rejected"
    me.post(reverse("history-kind"), {"kind": "email", "state": "accepted"})
    assert Mark.objects.get().state == "accepted"


def test_who_allows_a_model_server_reads_where_it_runs(me, tea, settings):
    settings.ENDPOINTS = [
        {"name": "far", "model": "large-1", "base_url": "https://api.example.com/v1"},
        {"name": "here", "model": "small-1", "base_url": "http://127.0.0.1:1", "embedded": True},
    ]
    html = shown(page(me, "history-consent"))
    assert "large-1 at api.example.com" in html
    assert "small-1, on this server itself" in html


def test_consent_is_given_and_taken_back_on_one_page(me, tea):
    data = {"study": tea.pk, "purpose": "show_to_judges"}
    me.post(reverse("history-consent"), data | {"allow": "1"})
    assert "You allowed this on" in shown(page(me, "history-consent"))
    me.post(reverse("history-consent"), data)
    consent = HistoryConsent.objects.get()
    assert consent.withdrawn_at is not None
    assert "You allowed this on" not in shown(page(me, "history-consent"))


def test_a_form_sends_a_file_without_any_script(me, contents, settings):
    contents[b"made up"] = [chat()]
    data = {"file": SimpleUploadedFile("my name.zip", b"made up")}
    response = me.post(reverse("history-uploads"), data, follow=True)
    assert "The file has arrived and is being read." in shown(response)
    upload = Upload.objects.get()
    path = settings.DATA / "histories" / upload.stored
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"made up", 0o600)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert ingest.run(upload.pk).status == "done"
    assert not path.exists()


def test_the_page_of_files_says_what_each_held(me, ann, bring):
    bring(ann, chat(), search(), Skipped("entry 9", "junk: lacks what it needs"), name=b"one")
    bring(ann, chat(minutes=-9), name=b"two")
    html = shown(page(me, "history-uploads"))
    assert "1 conversation · 2 messages · 1 search" in html
    assert "<bdi>entry 9</bdi>: lacks what it needs</li>" in html
    assert "Erase its 2 sessions…" in html
    assert html.count("Remove this line") == 1


def test_erasing_a_file_asks_first_where_it_brought_sessions(me, ann, bring):
    upload, empty = bring(ann, chat(), name=b"one"), bring(ann, chat(minutes=-9), name=b"two")
    address = reverse("history-upload", args=[upload.pk])
    assert "Erase 1 session?" in shown(me.post(address, {"action": "erase"}))
    assert Session.objects.count() == 1
    done = me.post(address, {"action": "erase", "sure": "1"}, follow=True)
    assert "1 session erased." in shown(done)
    assert not Session.objects.exists()
    me.post(reverse("history-upload", args=[empty.pk]), {"action": "erase"})
    assert not Upload.objects.exists()


def test_what_the_reader_inferred_is_said(me, ann, bring):
    bring(ann, chat(flags=("grouped_by_time", "prefix_kept")))
    html = shown(page(me, "history-session", Session.objects.get().pk))
    assert "turns that are close in time" in html
    assert "a word that the service put before it" in html


def test_a_file_beyond_the_limit_is_refused_with_a_sentence(me, settings):
    settings.HISTORY_MAX_BYTES = 2**20
    data = {"file": SimpleUploadedFile("a.zip", b"x" * (2**20 + 1))}
    response = me.post(reverse("history-uploads"), data, follow=True)
    assert "The file is larger than the 1 MB that can be sent here." in shown(response)
    assert not Upload.objects.exists()
    assert not any((settings.DATA / "histories").glob("*"))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_takes_as_many_queries_with_much_as_with_little(me, ann, bring, name):
    def count():
        with CaptureQueriesContext(connection) as captured:
            page(me, name)
        return len(captured)

    bring(ann, chat("c-0", "ann@example.org", "0"))
    few = count()
    for n in range(1, 4):
        bring(ann, chat(f"c-{n}", f"ann{n}@example.org", f"{n}"), search(f"tea {n}", n))
    assert count() == few


def test_the_list_of_files_brings_the_bar_of_steps_with_it(me, tea):
    config = {"owner_only": True}
    tea.tasks.create(name="own", kind="feedback", config=config)
    part = me.get("/history/uploads/", headers={"HX-Request": "true"}).content.decode()
    assert '<nav class="journey" id="journey" hx-swap-oob="true"' in part
    page = me.get("/history/uploads/").content.decode()
    assert (page.count('id="journey"'), page.count("hx-swap-oob")) == (1, 0)
