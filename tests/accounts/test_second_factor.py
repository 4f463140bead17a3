"""The second factor: set up, asked for, used once, required of staff."""

from types import SimpleNamespace

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotation.accounts.models import ApiToken
from tests.conftest import Cast

NOW = 1_800_000_000
LOGIN, ACTIVATE = "/accounts/login/", "/accounts/2fa/totp/activate/"
AUTHENTICATE, DEACTIVATE = "/accounts/2fa/authenticate/", "/accounts/2fa/totp/deactivate/"
CODES = "/accounts/2fa/recovery-codes/"


@pytest.fixture(autouse=True)
def _at_one_moment(settings, monkeypatch):
    """No code ends in the middle of a test."""
    settings.ACCOUNT_RATE_LIMITS = False
    monkeypatch.setattr("allauth.mfa.totp.internal.auth.time", SimpleNamespace(time=lambda: NOW))


def code_of(secret: str) -> str:
    return format_hotp_value(hotp_value(secret, NOW // 30))


def log_in(person) -> Client:
    """A new browser that has given the password."""
    client = Client()
    client.post(LOGIN, {"login": person.email, "password": Cast.password})
    return client


def prove(client) -> Client:
    """Give the password once more, as the pages about second factors ask."""
    client.post("/accounts/reauthenticate/", {"password": Cast.password})
    return client


def inside(client) -> bool:
    return "_auth_user_id" in client.session


@pytest.fixture
def carol(cast, tea):
    return cast.person("Carol")


@pytest.fixture
def secret(carol):
    """Carol's secret; setting it up has used no code."""
    client = prove(log_in(carol))
    client.get(ACTIVATE)
    found = client.session["mfa.totp.secret"]
    assert client.post(ACTIVATE, {"code": code_of(found)}).url == reverse("mfa_view_recovery_codes")
    return found


def test_a_second_factor_is_asked_for_after_the_password(carol, secret):
    client = log_in(carol)
    assert not inside(client)
    assert client.get("/tokens/").status_code == 302
    assert client.post(AUTHENTICATE, {"code": "000000"}).status_code == 200
    assert not inside(client)
    client.post(AUTHENTICATE, {"code": code_of(secret)})
    assert inside(client)


def test_a_code_opens_once(carol, secret):
    log_in(carol).post(AUTHENTICATE, {"code": code_of(secret)})
    second = log_in(carol)
    second.post(AUTHENTICATE, {"code": code_of(secret)})
    assert not inside(second)


def test_a_new_password_by_mail_is_no_way_around_it(carol, secret, settings, mailoutbox):
    client = Client()
    client.post("/accounts/password/reset/", {"email": carol.email})
    path = mailoutbox[-1].body.partition("http://127.0.0.1:8000")[2].split()[0]
    page = client.get(path, follow=True)
    data = dict.fromkeys(["password1", "password2"], "another long secret")
    client.post(page.redirect_chain[-1][0], data)
    assert not inside(client)


def test_nothing_is_taken_away_or_made_without_proving_oneself_again(carol, secret):
    client = log_in(carol)
    client.post(AUTHENTICATE, {"code": code_of(secret)})
    for address in (DEACTIVATE, CODES + "generate/"):
        assert "/reauthenticate/" in client.post(address).url
    for address in (CODES, CODES + "download/"):
        assert "/reauthenticate/" in client.get(address).url
    assert Authenticator.objects.filter(user=carol).count() == 2


def test_the_secret_is_sealed_in_the_database_and_opens_under_a_former_key(carol, secret, settings):
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(t::text, ' ') FROM mfa_authenticator t")
        assert secret not in cursor.fetchone()[0]
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key that is long enough to be one, and more than that"
    client = log_in(carol)
    client.post(AUTHENTICATE, {"code": code_of(secret)})
    assert inside(client)


def test_the_picture_is_of_the_secret_being_set_up_and_of_no_other(carol):
    picture = reverse("totp-picture")
    client = prove(log_in(carol))
    assert client.get(picture).status_code == 404
    client.get(ACTIVATE)
    response = client.get(picture)
    assert (response.status_code, response["Content-Type"]) == (200, "image/svg+xml")
    assert b"<svg" in response.content
    assert Client().get(picture).status_code == 302


# --- Required of staff -------------------------------------------------------------------------

REQUIRED = ACTIVATE + "?required=1"
CLOSED = ["/", "/tokens/", "/studies/tea/", "/studies/tea/tasks/", "/accounts/email/", "/join/"]


@pytest.fixture
def required(settings):
    settings.REQUIRE_MFA = True


@pytest.mark.parametrize("name", ["Carol", "Rui", "Ada"])
def test_staff_without_a_factor_reach_its_set_up_only(cast, tea, required, name):
    person = cast.person(name, **({"is_superuser": True} if name == "Ada" else {}))
    client = log_in(person)
    for address in CLOSED:
        assert (address, client.get(address).headers.get("Location")) == (address, REQUIRED)
        assert client.post(address).url == REQUIRED
    assert client.get("/tokens/", headers={"HX-Request": "true"})["HX-Redirect"] == REQUIRED
    refused = client.get("/api/v1/")
    assert (refused.status_code, refused["Content-Type"]) == (403, "application/problem+json")
    assert client.get(REQUIRED).url.startswith("/accounts/reauthenticate/")
    page = prove(client).get(REQUIRED)
    assert (page.status_code, "needs a second factor" in page.text) == (200, True)
    assert client.post("/accounts/logout/").status_code == 302


def test_with_the_factor_all_is_open_again(carol, required):
    client = prove(log_in(carol))
    client.get(ACTIVATE)
    client.post(ACTIVATE, {"code": code_of(client.session["mfa.totp.secret"])})
    assert client.get("/studies/tea/tasks/").status_code == 200


def test_annotators_and_former_staff_need_none(cast, tea, required):
    assert log_in(cast.person("Ann")).get("/").status_code == 200
    tea.memberships.filter(user=cast.person("Rui")).update(role="annotator")
    assert log_in(cast.person("Rui")).get("/").status_code == 200


def test_without_the_setting_nobody_is_asked(carol):
    assert log_in(carol).get("/studies/tea/tasks/").status_code == 200


def test_programs_with_a_token_and_visitors_are_not_sent_away(carol, required):
    headers = {"Authorization": f"Bearer {ApiToken.issue(carol)[1]}"}
    assert Client().get("/api/v1/", headers=headers).status_code == 200
    assert Client().get(LOGIN).status_code == 200
