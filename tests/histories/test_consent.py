"""Who may use what: kept sessions, redacted, for a purpose that their owner allows now."""

import pytest
from django.utils import timezone

from annotation.accounts import consent as texts
from annotation.accounts.models import ConsentText
from annotation.core.errors import DomainError
from annotation.core.models import AuditEvent
from annotation.histories import browse, consent, marks
from annotation.histories.models import HistoryConsent, Mark, Session
from tests.histories.conftest import chat, search

SHOW, SEND, PUBLISH = "show_to_judges", "send_to_endpoint", "publish"
SECRET = "ann@example.org"


@pytest.fixture
def kept(tea, bring, settings, ann):
    settings.ENDPOINTS = [{"name": "small"}, {"name": "large"}]
    bring(ann, chat("c-1", f"I am {SECRET}", "Hello", title=f"From {SECRET}"), search("tea house"))
    browse.choose(ann, Session.objects.all(), "kept")
    return ann


def test_nothing_is_allowed_until_the_owner_says_so(kept, tea):
    assert not consent.allows(kept, tea, SHOW)
    with pytest.raises(DomainError) as caught:
        browse.context(kept, tea, SHOW)
    assert (caught.value.code, caught.value.status) == ("no_consent", 403)


def test_what_is_allowed_gives_redacted_texts_of_kept_sessions(kept, tea, bring):
    consent.grant(kept, tea, SHOW)
    bring(kept, chat("c-2", "not decided on"))
    found = {one.kind: one for one in browse.context(kept, tea, SHOW)}
    assert set(found) == {"chat", "search"}
    assert found["chat"].title == "From [EMAIL_1]"
    assert found["chat"].text == "User: I am [EMAIL_1]\n\nAssistant: Hello"
    assert found["search"].text == "2026-03-14 12:00 tea house"
    assert SECRET not in repr(found)


def test_each_purpose_and_each_model_server_is_allowed_apart(kept, tea):
    consent.grant(kept, tea, SEND, "small")
    uses = [(SHOW, ""), (SEND, "small"), (SEND, "large"), (SEND, ""), (PUBLISH, "")]
    assert [use for use in uses if consent.allows(kept, tea, *use)] == [(SEND, "small")]


def test_one_study_is_not_another(kept, tea, cast):
    rain = cast.study("rain")
    cast.member("Ann", rain, "annotator")
    consent.grant(kept, tea, SHOW)
    assert not consent.allows(kept, rain, SHOW)


def test_what_is_taken_back_is_refused_at_once_and_the_record_stays(kept, tea):
    consent.grant(kept, tea, SHOW)
    consent.withdraw(kept, tea, SHOW)
    assert not consent.allows(kept, tea, SHOW)
    consent.grant(kept, tea, SHOW)
    assert consent.allows(kept, tea, SHOW)
    assert HistoryConsent.objects.count() == 2
    actions = AuditEvent.objects.filter(target="historyconsent").values_list("action", flat=True)
    assert list(actions.order_by("pk")) == ["history.allow", "history.disallow", "history.allow"]


def test_who_leaves_the_study_or_withdraws_from_it_allows_nothing(kept, tea):
    consent.grant(kept, tea, SHOW)
    texts.withdraw(kept, tea.consent_text)
    assert not consent.allows(kept, tea, SHOW)
    texts.grant(kept, tea.consent_text)
    assert consent.allows(kept, tea, SHOW)
    tea.memberships.filter(user=kept).update(left_at=timezone.now())
    assert not consent.allows(kept, tea, SHOW)
    assert list(browse.sessions(kept, tea)) == []


def test_another_wording_is_to_be_agreed_to_anew(kept, tea):
    consent.grant(kept, tea, SHOW)
    ConsentText.objects.filter(name=f"history: {SHOW}").update(body="an older wording")
    assert not consent.allows(kept, tea, SHOW)


@pytest.mark.parametrize(
    ("purpose", "endpoint"), [("sell", ""), (SEND, ""), (SEND, "unknown"), (SHOW, "small")]
)
def test_what_cannot_be_allowed_is_refused(kept, tea, purpose, endpoint):
    with pytest.raises(DomainError):
        consent.grant(kept, tea, purpose, endpoint)
    assert not HistoryConsent.objects.exists()


# --- Marks ------------------------------------------------------------------------------------


def text_of(owner, name="c-1"):
    return next(browse.transcripts(Session.objects.filter(owner=owner, external_id=name))).text


def test_the_same_value_has_the_same_mark_within_one_person(ann, bo, bring):
    bring(ann, chat("c-1", "a@example.org b@example.org", "A@example.org"))
    bring(bo, chat("c-1", "b@example.org"))
    assert text_of(ann) == "User: [EMAIL_1] [EMAIL_2]\n\nAssistant: [EMAIL_1]"
    assert text_of(bo) == "User: [EMAIL_1]"


def test_no_table_of_marks_holds_the_value(ann, bring):
    from django.db import connection

    bring(ann, chat("c-1", SECRET))
    with connection.cursor() as cursor:
        for table in ("histories_mark", "histories_alias"):
            cursor.execute(f"SELECT string_agg(t::text, ' ') FROM {table} t")  # noqa: S608
            assert SECRET not in cursor.fetchone()[0]


def test_a_passage_is_shown_only_where_every_mark_on_it_is_rejected(ann, bring):
    bring(ann, chat("c-1", f"I am {SECRET}"))
    marks.strike(ann, Session.objects.get(), f"am {SECRET}")
    email = Mark.objects.get(alias__kind="email")
    marks.decide_mark(ann, email, "rejected")
    assert text_of(ann) == "User: I [PRIVATE_1]"


def test_deciding_everywhere_is_about_one_value_only(ann, bring):
    bring(ann, chat("c-1", f"{SECRET} b@example.org"), chat("c-2", SECRET))
    marks.decide_mark(ann, Mark.objects.filter(start=0).first(), "rejected", everywhere=True)
    assert (text_of(ann), text_of(ann, "c-2")) == (f"User: {SECRET} [EMAIL_2]", f"User: {SECRET}")


def test_a_word_on_the_list_is_hidden_in_files_that_come_later(ann, bring):
    marks.add_words(ann, ["Rosa"])
    bring(ann, chat("c-1", "rosa and ROSA, not rosary", title="Rosa"))
    one = next(browse.transcripts(Session.objects.all()))
    assert (one.title, one.text) == ("[NAME_1]", "User: [NAME_1] and [NAME_1], not rosary")


def test_striking_out_everywhere_reaches_titles_and_other_sessions(ann, bo, bring):
    bring(ann, chat("c-1", "Green Lane", title="Green Lane"), chat("c-2", "in green  lane"))
    bring(bo, chat("c-1", "Green Lane"))
    session = Session.objects.get(owner=ann, external_id="c-1")
    assert marks.strike(ann, session, "Green Lane", everywhere=True) == 3
    assert text_of(ann, "c-2") == "User: in [PRIVATE_1]"
    assert text_of(bo) == "User: Green Lane"


def test_a_part_of_a_word_can_be_struck_out(ann, bring):
    bring(ann, chat("c-1", "user_ann77x"))
    marks.strike(ann, Session.objects.get(), "ann77")
    assert text_of(ann) == "User: user_[PRIVATE_1]x"


@pytest.mark.parametrize("text", ["", "   ", "x" * 101])
def test_what_cannot_be_struck_out_is_said(ann, bring, text):
    bring(ann, chat("c-1", "x"))
    with pytest.raises(DomainError):
        marks.strike(ann, Session.objects.get(), text)
