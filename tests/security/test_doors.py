"""The ways in: log-in, sign-up, invitations, reset, and where they lead."""

from datetime import timedelta
from importlib import import_module
from urllib.parse import urljoin

import pytest
from django.core import mail
from django.urls import reverse
from django.utils import timezone

from annotation.accounts.models import User
from annotation.studies.models import Invitation, Membership
from tests.conftest import Cast
from tests.security.conftest import Fingerprint

LOGIN, SIGNUP = "/accounts/login/", "/accounts/signup/"
RESET = "/accounts/password/reset/"
HOSTILE = [
    "//evil.example",
    "https://evil.example",
    "https:evil.example",
    "https:/evil.example",
    "http:///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "///evil.example",
    "\t//evil.example",
    "/\t/evil.example",
    "%0d%0aLocation:https://evil.example",
    "/%0d%0aSet-Cookie:x=1",
    "/\r\nSet-Cookie: x=1",
    "javascript:alert(1)",
    "data:text/html,x",
    "https://testserver@evil.example",
    "https://testserver.evil.example",
    "https://evil.example#testserver",
    "https://127.0.0.1",
    "//localhost/",
]


@pytest.fixture(autouse=True)
def _mail_is_kept(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


def enter(client, address=LOGIN, *, password="", email="ann@example.org", **more):
    return client.post(address, {"login": email, "password": password or Cast.password, **more})


# --- Where they lead -------------------------------------------------------------------------


@pytest.mark.parametrize("target", HOSTILE)
def test_a_log_in_leads_to_this_site_only(client, ann, target, settings):
    settings.ACCOUNT_RATE_LIMITS = False
    for response in (
        enter(client, next=target),
        client.get(LOGIN, {"next": target}),
        client.post("/accounts/logout/", {"next": target}),
        enter(client, f"{LOGIN}?next={target}"),
    ):
        assert response.status_code == 302
        # As a browser reads it: relative to the page, backslashes for slashes.
        seen = urljoin("http://testserver/accounts/", response.url.replace("\\", "/"))
        assert seen.startswith("http://testserver/")
        assert "Set-Cookie" not in response.headers


def test_a_log_in_leads_back_to_where_one_was_going(client, ann):
    assert enter(client, next="/tokens/").url == "/tokens/"


def test_a_closed_page_sends_to_the_log_in_of_this_site(client, db):
    response = client.get("//evil.example/tokens/")
    assert response.status_code in (302, 404)
    assert "//evil" not in response.headers.get("Location", "").split("?")[0]


# --- Names of the host -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "a b", "x@localhost"],
)
@pytest.mark.parametrize("path", ["/", LOGIN, RESET, "/api/v1/", "/health/ready"])
def test_a_host_that_is_not_ours_is_refused(client, db, host, path):
    assert client.get(path, headers={"Host": host}).status_code == 400


def test_forwarded_headers_of_a_stranger_are_not_believed(client, ann):
    headers = {
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Proto": "https",
        "Forwarded": "host=evil.example",
    }
    page = client.get(LOGIN, headers=headers)
    assert page.status_code == 200
    assert (page.wsgi_request.get_host(), page.wsgi_request.is_secure()) == ("testserver", False)
    client.post(RESET, {"email": ann.email}, headers=headers)
    assert "http://127.0.0.1:8000/accounts/password/reset/key/" in mail.outbox[0].body
    assert "evil" not in mail.outbox[0].body


# --- Guessing --------------------------------------------------------------------------------


def test_guessing_a_password_ends_soon_from_any_address_and_for_the_right_one_too(client, ann):
    for number in range(12):
        headers = {"X-Forwarded-For": f"10.0.0.{number}"}
        data = {"login": ["ann@example.org", "ANN@example.org"][number % 2], "password": "guess"}
        last = client.post(LOGIN, data, headers=headers)
    refused = enter(client)
    assert last.status_code in (200, 429)
    assert refused.status_code in (200, 429)
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize(("proxies", "counted"), [(0, "peer"), (1, "last"), (2, "second last")])
def test_guessing_is_counted_by_the_address_that_our_own_proxies_saw(
    client, cast, settings, proxies, counted
):
    """Of X-Forwarded-For only what our proxies wrote is believed, the rest is the visitor's own."""
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = proxies

    def guess(number: int, address: str) -> int:
        chain = [f"10.9.0.{number}", address, *["10.0.0.1"] * (proxies - 1)]
        # Another account each time: the limit of an account does not hold yet.
        data = {"login": f"nobody{number}@example.org", "password": "guess"}
        forwarded = {"X-Forwarded-For": ", ".join(chain)}
        return client.post(LOGIN, data, headers=forwarded, REMOTE_ADDR="10.0.0.1").status_code

    statuses = [guess(number, "192.0.2.7") for number in range(60)]
    assert statuses.index(429) >= 10
    assert set(statuses[statuses.index(429) :]) == {429}
    assert guess(99, "192.0.2.8") == (200 if proxies else 429), counted


def test_asking_for_resets_ends_soon(client, ann):
    statuses = [client.post(RESET, {"email": ann.email}).status_code for _ in range(25)]
    assert 429 in statuses
    assert len(mail.outbox) <= 20


def test_a_log_in_does_not_tell_who_has_an_account(client, ann):
    def page(email):
        response = enter(client, email=email, password="wrong password")
        assert response.status_code == 200
        return _without_secrets(response, email)

    assert page("ann@example.org") == page("nobody@example.org")


def test_a_reset_does_not_tell_who_has_an_account(client, ann):
    def page(email):
        response = client.post(RESET, {"email": email}, follow=True)
        return response.redirect_chain, _without_secrets(response, email)

    assert page("ann@example.org") == page("nobody@example.org")


def test_a_closed_account_is_told_nothing_before_the_right_password(client, ann):
    User.objects.filter(pk=ann.pk).update(is_active=False)
    closed = _without_secrets(enter(client, password="wrong password"), "ann@example.org")
    nobody = enter(client, password="wrong password", email="nobody@example.org")
    assert closed == _without_secrets(nobody, "nobody@example.org")
    assert "_auth_user_id" not in client.session


def _without_secrets(response, email) -> str:
    """The page without its form token and the address that was typed."""
    token = str(response.context["csrf_token"]) if response.context else ""
    import re

    body = re.sub(r'(csrfmiddlewaretoken" value=")[^"]+', r"\1", response.content.decode())
    return body.replace(token, "").replace(email, "")


# --- Sign-up and invitations -----------------------------------------------------------------

NEW = {"email": "new@example.org", "password1": "a long enough secret"}


def invite(study, **fields):
    return Invitation.issue(study, "annotator", **fields)


def link(key) -> str:
    return reverse("invitation", args=[key])


def test_without_an_invitation_nobody_signs_up(client, tea):
    client.post(SIGNUP, NEW)
    for dead in ("guessed", invite(tea, days=-1)[1]):
        assert client.get(link(dead)).status_code == 404
        client.post(SIGNUP, NEW)
    assert not User.objects.filter(email=NEW["email"]).exists()


@pytest.mark.parametrize("password", ["q7#Vz9!kx", "password1234", "1234567890", "new@example.org"])
def test_a_password_that_is_short_common_or_the_address_opens_no_account(client, tea, password):
    client.get(link(invite(tea)[1]))
    response = client.post(SIGNUP, {**NEW, "password1": password})
    assert response.context["form"].errors["password1"]
    assert not User.objects.filter(email=NEW["email"]).exists()


def test_a_password_is_stored_as_argon2_makes_it(client, tea, settings):
    # The suite itself hashes quickly.
    settings.PASSWORD_HASHERS = import_module("annotation.settings").PASSWORD_HASHERS
    client.get(link(invite(tea)[1]))
    client.post(SIGNUP, NEW)
    assert User.objects.get(email=NEW["email"]).password.startswith("argon2$argon2id$")


def test_an_invitation_opens_one_account_and_works_once(client, tea, cast, login):
    _invitation, key = invite(tea)
    client.get(link(key))
    client.post(SIGNUP, NEW)
    assert client.post(link(key)).url == reverse("consent", args=["tea"])
    assert Membership.objects.get(user__email=NEW["email"]).role == "annotator"
    login(cast.person("Second"))
    assert client.post(link(key)).status_code == 404
    assert tea.memberships.filter(user__name="Second").count() == 0


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"revoked_at": timezone.now()}, 404),
        ({"expires_at": timezone.now() - timedelta(seconds=1)}, 404),
        ({"accepted_at": timezone.now()}, 404),
        ({"email": "somebody.else@example.org"}, 403),
    ],
    ids=["revoked", "expired", "used", "made out to another"],
)
def test_an_invitation_that_does_not_hold_changes_nothing(tea, cast, login, fields, status):
    invitation, key = invite(tea)
    Invitation.objects.filter(pk=invitation.pk).update(**fields)
    client = login(cast.person("Noor"))
    before = Fingerprint()
    response = client.post(link(key))
    assert (response.status_code, before.changed()) == (status, set())
    assert "somebody.else" not in response.content.decode()


def test_a_member_cannot_use_an_invitation_to_change_their_role(tea, cast, login):
    _invitation, key = Invitation.issue(tea, "administrator")
    assert login(cast.person("Ann")).post(link(key)).status_code == 409
    assert tea.memberships.get(user__name="Ann").role == "annotator"


def test_an_invitations_link_is_not_in_the_database(tea):
    from django.db import connection

    invitation, key = invite(tea)
    with connection.cursor() as cursor:
        cursor.execute("SELECT t::text FROM studies_invitation t")
        assert key not in cursor.fetchone()[0]
    assert key not in str(vars(invitation))


# --- Rights that ended -----------------------------------------------------------------------


def test_rights_end_with_the_very_next_request(tea, cast, login):
    from annotation.accounts.models import ApiToken

    carol = cast.person("Carol")
    client = login(carol)
    headers = {"Authorization": f"Bearer {ApiToken.issue(carol)[1]}"}
    page, route = reverse("tasks", args=["tea"]), reverse("api-judgments", args=["tea"])

    def statuses():
        return client.get(page).status_code, client.get(route, headers=headers).status_code

    membership = Membership.objects.filter(user=carol)
    assert statuses() == (200, 200)
    membership.update(role="annotator")
    assert statuses() == (403, 403)
    membership.update(role="curator", left_at=timezone.now())
    assert statuses() == (404, 404)
    membership.update(left_at=None)
    assert statuses() == (200, 200)
    User.objects.filter(pk=carol.pk).update(is_active=False)
    assert statuses() == (302, 401)


@pytest.mark.parametrize("end", ["revoked_at", "expires_at"])
def test_an_ended_token_opens_nothing(client, tea, cast, end):
    from annotation.accounts.models import ApiToken

    token, key = ApiToken.issue(cast.person("Ann"), days=3)
    headers = {"Authorization": f"Bearer {key}"}
    assert client.get("/api/v1/", headers=headers).status_code == 200
    ApiToken.objects.filter(pk=token.pk).update(**{end: timezone.now()})
    assert client.get("/api/v1/", headers=headers).status_code == 401


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer ", "Bearer x y", "Token \xff", "Basic YTpi", "bearer\tx", "é"]
)
def test_a_broken_authorization_header_is_401(client, db, header):
    response = client.get("/api/v1/", headers={"Authorization": header})
    assert response.status_code == 401


def test_the_session_gets_a_new_id_at_log_in_and_ends_at_log_out(client, tea):
    client.get(link(invite(tea)[1]))  # an anonymous session
    before = client.session.session_key
    enter(client)
    inside = client.session.session_key
    assert before not in (None, inside)
    stolen = client.cookies.copy()
    client.post("/accounts/logout/")
    client.cookies = stolen
    assert client.get("/tokens/").status_code == 302
