"""Sessions one can see and end, browsers one used before, and tokens that outlive a password."""

import pytest
from allauth.usersessions.models import UserSession
from django.core import mail
from django.core.cache import cache
from django.test import Client

from annotation.accounts import sessions
from annotation.accounts.models import ApiToken
from annotation.core.models import AuditEvent
from tests.conftest import Cast

LOGIN = "/accounts/login/"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
EDGE = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/139.0 Safari/537.36 Edg/139.0"
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1"


def enter(browser: Client, *, password="", address="192.0.2.1"):
    data = {"login": "ann@example.org", "password": password or Cast.password}
    return browser.post(LOGIN, data, REMOTE_ADDR=address)


@pytest.fixture
def ann(cast, tea):
    return cast.person("Ann")


@pytest.fixture
def two(ann):
    """Two browsers in which Ann is logged in."""
    browsers = Client(headers={"user-agent": FIREFOX}), Client(headers={"user-agent": EDGE})
    for browser in browsers:
        assert enter(browser).status_code == 302
    return browsers


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (FIREFOX, "Firefox, Linux"),
        (EDGE, "Edge, Windows"),
        (PHONE, "Safari, iPhone"),
        ("curl/8.1", "curl"),
        ("Mosaic and more", "Mosaic and more"),
        ("", "–"),
    ],
)
def test_a_browser_is_described_in_words(sent, shown):
    assert sessions.describe(sent) == shown


def test_sessions_are_listed_and_ended_one_or_all_but_this_one(two):
    first, second = two
    third = Client()
    enter(third)
    page = first.get("/sessions/").text
    assert "Firefox, Linux" in page
    assert "Edge, Windows" in page
    assert "192.0.2.1" in page
    edge = UserSession.objects.get(user_agent=EDGE)
    first.post("/sessions/", {"session": edge.pk})
    assert [b.get("/tokens/").status_code for b in (first, second, third)] == [200, 302, 200]
    first.post("/sessions/")
    assert [b.get("/tokens/").status_code for b in (first, third)] == [200, 302]
    assert AuditEvent.objects.filter(action="session.end").count() == 2


def test_nobody_ends_the_session_of_somebody_else(two, cast, login):
    row = UserSession.objects.first()
    login(cast.person("Bo")).post("/sessions/", {"session": row.pk})
    assert UserSession.objects.filter(pk=row.pk).exists()
    assert two[0].get("/tokens/").status_code == 200


def test_a_session_shows_when_and_from_where_it_was_last_used(two):
    browser, _ = two
    session = browser.session
    session[sessions.SEEN] -= sessions.SEEN_SECONDS + 1
    session.save()
    before = UserSession.objects.get(session_key=session.session_key).last_seen_at
    browser.get("/tokens/", REMOTE_ADDR="192.0.2.9")
    row = UserSession.objects.get(session_key=session.session_key)
    assert (row.ip, row.last_seen_at > before) == ("192.0.2.9", True)


def test_a_new_password_ends_all_other_sessions_and_asks_about_tokens(ann, two):
    first, second = two
    ApiToken.issue(ann)
    data = dict.fromkeys(("password1", "password2"), "another one 42")
    data["oldpassword"] = Cast.password
    answer = first.post("/accounts/password/change/", data, follow=True)
    assert answer.redirect_chain[-1][0] == "/tokens/"
    assert "One API token still works" in answer.text
    assert second.get("/tokens/").status_code == 302
    assert len(sessions.active(ann)) == 1
    first.post("/tokens/revoke/")
    assert not ann.tokens.filter(revoked_at=None).exists()


def test_a_token_is_made_only_after_the_password_was_given_again(ann, login):
    browser = login(ann)
    asked = browser.post("/tokens/", {"days": 9, "scopes": ["read"]})
    assert asked.url.startswith("/accounts/reauthenticate/")
    assert not ann.tokens.exists()
    made = browser.post(asked.url, {"password": Cast.password, "next": "/tokens/"})
    assert "att_" in made.text
    assert ann.tokens.get().scopes == ["read"]


def test_the_owner_is_told_of_a_new_browser_and_not_of_one_used_before(ann, two):
    told = [m for m in mail.outbox if "new browser" in m.subject]
    assert [m.to for m in told] == [["ann@example.org"]] * 2
    assert "Edge, Windows" in told[1].body
    two[0].post("/accounts/logout/")
    enter(two[0])
    assert len([m for m in mail.outbox if "new browser" in m.subject]) == 2


def test_strangers_who_guess_do_not_lock_the_owner_out_of_a_browser_used_before(ann, two):
    browser, _ = two
    browser.post("/accounts/logout/")
    for number in range(30):
        enter(Client(), password="guess", address=f"198.51.100.{number}")
    assert enter(Client()).status_code == 200, "the account is closed to new browsers for a while"
    assert enter(browser).status_code == 302


def test_a_browser_used_before_guesses_no_more_often_than_any_other(ann, two):
    browser, _ = two
    browser.post("/accounts/logout/")
    for _ in range(5):
        enter(browser, password="guess")
    assert enter(browser).status_code == 200


@pytest.mark.parametrize("cookie", ["", "x", '["a", [1]]', "WyJhIixbMV1d:1:x"])
def test_a_made_up_cookie_is_no_browser_used_before(ann, cookie):
    browser = Client()
    browser.cookies["attune-browser"] = cookie
    enter(browser)
    assert len(mail.outbox) == 1


def call(browser: Client, key: str, address="192.0.2.1"):
    return browser.get("/api/v1/", headers={"Authorization": f"Bearer {key}"}, REMOTE_ADDR=address)


def test_calls_are_limited_by_token_and_by_address_with_the_seconds_to_wait(ann, settings):
    settings.API_TOKEN_RATE, settings.API_ADDRESS_RATE = 3, 5
    one, other = (ApiToken.issue(ann)[1] for _ in range(2))
    cache.clear()
    statuses = [call(Client(), one).status_code for _ in range(4)]
    refused = call(Client(), one)
    assert statuses[:2] == [200, 200]
    assert (refused.status_code, refused.json()["code"]) == (429, "throttled")
    assert 1 <= int(refused.headers["Retry-After"]) <= 61
    assert call(Client(), other, "192.0.2.2").status_code == 200
    guesses = [call(Client(), "att_guessed", "192.0.2.3").status_code for _ in range(12)]
    assert set(guesses) == {401, 429}


def test_a_history_needs_a_scope_of_its_own(ann):
    _, key = ApiToken.issue(ann, scopes=["read", "judge", "curate", "admin"])
    headers = {"Authorization": f"Bearer {key}"}
    for answer in (
        Client().get("/api/v1/histories/sessions/", headers=headers),
        Client().post("/api/v1/histories/", {"size": 9}, "application/json", headers=headers),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "scope")
    _, key = ApiToken.issue(ann, scopes=["history"])
    headers = {"Authorization": f"Bearer {key}"}
    assert Client().get("/api/v1/histories/sessions/", headers=headers).status_code == 200
