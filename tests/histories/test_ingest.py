"""Histories that older rules looked through: what better ones find, and that decisions stay."""

import json

import pytest
from django.urls import reverse

from annotation.histories import ingest, marks, redact
from annotation.histories.models import Mark, Message, Session, changing
from tests.histories import redaction
from tests.histories.conftest import chat

ADDRESS = "Mail ann@example.org, and my key is sk-abcdefghijklmnopqrstuvwx1234."


@pytest.fixture
def old(ann, bring, monkeypatch):
    """Ann's kept session, looked through when the rules knew e-mail addresses alone."""
    suggest = redact.suggest
    with monkeypatch.context() as earlier:
        earlier.setattr(redact, "RULES", redact.RULES - 1)
        earlier.setattr(
            redact,
            "suggest",
            lambda text, names=(): [s for s in suggest(text, names) if s.kind == "email"],
        )
        bring(ann, chat("c-1", ADDRESS, "Thank you."))
    Session.objects.update(state="kept")
    return Session.objects.get()


def hidden() -> list[tuple]:
    return list(Mark.objects.order_by("start").values_list("rule", "state", "is_late"))


def test_what_better_rules_find_is_hidden_at_once_and_the_session_stays_kept(ann, old):
    assert "sk-abc" in marks.shown_text(Message.objects.earliest("pk"))
    assert ingest.look_again(seconds=60) == 1
    old.refresh_from_db()
    assert (old.state, old.rules) == ("kept", redact.RULES)
    shown = marks.shown_text(Message.objects.earliest("pk"))
    assert shown == "Mail [EMAIL_1], and my key is [SECRET_1]."
    assert [row[1:] for row in hidden()] == [("suggested", False), ("suggested", True)]
    assert ingest.look_again(seconds=60) == 0


@pytest.mark.parametrize("state", ["rejected", "accepted"])
def test_what_the_owner_decided_stays(ann, old, state):
    marks.decide(ann, Mark.objects.get(), state)
    ingest.look_again(seconds=60)
    assert hidden()[0] == ("email", state, False)
    assert Mark.objects.filter(alias__kind="email").count() == 1


def test_a_wider_find_hides_what_lies_beside_a_passage_that_is_shown(ann, old, monkeypatch):
    marks.decide(ann, Mark.objects.get(), "rejected")
    wide = redact.Span(0, len(ADDRESS), "address", "wider")
    monkeypatch.setattr(redact, "suggest", lambda text, names: [wide] if text == ADDRESS else [])
    ingest.look_again(seconds=60)
    text = Message.objects.earliest("pk")
    assert marks.shown_text(text) == "[ADDRESS_1]ann@example.org[ADDRESS_2]"


def test_the_owner_reads_of_it_looks_at_it_and_decides(ann, old, login):
    ingest.look_again(seconds=60)
    client, history = login(ann), reverse("history")
    session = reverse("history-session", args=[old.pk])
    assert "Better rules found 1 more" in " ".join(client.get(history).content.decode().split())
    listed = client.get(history, {"state": "late"}).content.decode()
    assert str(old.pk) in listed
    page = client.get(session).content.decode()
    assert "found later" in page
    assert "found later" not in client.get(session, {"as": "others"}).content.decode()
    answer = client.post(reverse("history-late"), {"session": old.pk}, follow=True)
    assert answer.redirect_chain[0][0].startswith(session)
    assert "1 passage is hidden." in answer.content.decode()
    assert hidden()[1][1:] == ("accepted", False)
    assert "Better rules" not in client.get(history).content.decode()
    assert str(old.pk) not in client.get(history, {"state": "late"}).content.decode()


def test_all_of_it_is_kept_hidden_at_once_and_nobody_elses(ann, old, login, cast):
    ingest.look_again(seconds=60)
    late = reverse("history-late")
    bo = login(cast.person("Bo"))
    assert bo.post(late).status_code == 302
    assert bo.post(late, {"session": old.pk}).status_code == 404
    assert hidden()[1][1:] == ("suggested", True)
    login(ann).post(late)
    assert hidden()[1][1:] == ("accepted", False)


def test_a_session_of_a_published_benchmark_is_left_as_it_was_published(ann, old):
    Session.objects.update(rules=None)
    assert ingest.look_again(seconds=60) == 0


def test_a_history_that_is_being_read_is_looked_through_another_time(ann, old, monkeypatch):
    def busy(owner, patiently=False):
        raise ingest.Conflict("Your history is being read just now.")

    monkeypatch.setattr(ingest, "changing", busy)
    assert ingest.look_again(seconds=60) == 0
    monkeypatch.setattr(ingest, "changing", changing)
    assert ingest.look_again(seconds=60) == 1


def test_new_figures_without_a_new_number_of_the_rules_are_refused(monkeypatch, tmp_path):
    stored = json.loads(redaction.FIGURES.read_text())
    file = tmp_path / "redaction.json"
    file.write_text(json.dumps(stored | {"spans": "others"}))
    monkeypatch.setattr(redaction, "FIGURES", file)
    with pytest.raises(SystemExit, match="raise RULES"):
        redaction.main()
    file.write_text(json.dumps(stored | {"spans": "others", "rules": stored["rules"] - 1}))
    redaction.main()
    assert json.loads(file.read_text()) == stored
