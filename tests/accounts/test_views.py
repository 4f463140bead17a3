"""Log-in with the organisation's OpenID Connect server: one door more, with the same locks."""

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers import registry
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from django.test import Client

from annotation.accounts.models import User
from annotation.studies.models import Invitation
from tests.conftest import Cast

LOGIN = "/accounts/openid/main/login/"
SECRET = "a secret of forty characters, or some more"


class Server:
    """A log-in server on loopback that lets everybody in as ``person``."""

    def __init__(self):
        self.person = {"sub": "7", "email": "ann@example.org", "email_verified": True}
        self.broken: dict[str, bytes] = {}
        self.requests: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.answer()

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.answer()

            def answer(self):
                server.requests.append(self.path)
                body = server.broken.get(self.path) or json.dumps(server.say(self.path)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def say(self, path: str) -> dict:
        if path == "/token":
            claims = self.person | {"iss": self.url, "aud": "attune", "exp": time.time() + 60}
            identity = jwt.encode(claims, SECRET, "HS256")
            return {"access_token": "t", "token_type": "Bearer", "id_token": identity}
        if path == "/me":
            return self.person
        places = {"authorization_endpoint": "auth", "token_endpoint": "token",
                  "userinfo_endpoint": "me", "jwks_uri": "keys"}  # fmt: skip
        return {"issuer": self.url} | {name: f"{self.url}/{end}" for name, end in places.items()}

    def close(self):
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server(settings, monkeypatch):
    # An installation with a log-in server has it among its applications.
    monkeypatch.setitem(registry.provider_map, "openid_connect", OpenIDConnectProvider)
    server = Server()
    app = {"provider_id": "main", "name": "Example University", "client_id": "attune",
           "secret": SECRET, "settings": {"server_url": server.url}}  # fmt: skip
    settings.SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {"APPS": [app], "OAUTH_PKCE_ENABLED": True}
    }
    settings.ACCOUNT_RATE_LIMITS = False
    yield server
    server.close()


@pytest.fixture
def browser(db):
    return Client()


def come_back(browser, **change):
    """Go to the log-in server and come back with its code; the last answer."""
    asked = browser.post(LOGIN)
    assert asked.status_code == 302, asked.content
    query = {name: values[0] for name, values in parse_qs(urlsplit(asked.url).query).items()}
    assert query["code_challenge_method"] == "S256"
    return browser.get(f"{LOGIN}callback/", {"code": "c", "state": query["state"]} | change)


def inside(browser) -> int | None:
    return int(browser.session.get("_auth_user_id") or 0) or None


def test_the_log_in_page_leads_to_the_server_and_back_to_the_account_of_a_confirmed_address(
    server, browser, ann
):
    EmailAddress.objects.create(user=ann, email=ann.email, verified=True, primary=True)
    assert "Log in with Example University" in browser.get("/accounts/login/").text
    assert "Go on" in browser.get(LOGIN).text
    assert come_back(browser).status_code == 302
    assert inside(browser) == ann.pk
    assert SocialAccount.objects.get().user == ann
    again = Client()
    come_back(again)
    assert inside(again) == ann.pk


@pytest.mark.parametrize("verified", [False, "false", None, 0])
def test_an_address_that_the_server_did_not_confirm_opens_no_account(
    server, browser, cast, verified
):
    cast.person("Ann")
    server.person["email_verified"] = verified
    come_back(browser)
    assert inside(browser) is None
    assert not SocialAccount.objects.exists()


def test_strangers_come_by_invitation_as_by_every_other_door(server, browser, cast, tea):
    server.person |= {"sub": "8", "email": "new@example.org", "name": "Nele New"}
    answer = come_back(browser)
    assert "by invitation" in answer.text
    assert not User.objects.filter(email="new@example.org").exists()
    _, key = Invitation.issue(tea, "annotator", by=cast.person("Carol"))
    browser.get(f"/invitations/{key}/")
    come_back(browser)
    new = User.objects.get(email="new@example.org")
    assert (inside(browser), new.name, new.has_usable_password()) == (new.pk, "Nele New", False)


def test_all_people_of_the_server_are_let_in_where_that_is_set(server, browser, settings):
    settings.OIDC_OPENS_ACCOUNTS = True
    server.person |= {"sub": "8", "email": "new@example.org"}
    come_back(browser)
    assert User.objects.get(pk=inside(browser)).email == "new@example.org"


def test_the_second_factor_is_asked_for_here_too(server, browser, ann):
    EmailAddress.objects.create(user=ann, email=ann.email, verified=True, primary=True)
    Authenticator.objects.create(user=ann, type="totp", data={"secret": "x"})
    assert come_back(browser).url.startswith("/accounts/2fa/authenticate/")
    assert inside(browser) is None


def test_a_closed_account_stays_closed(server, browser, ann):
    EmailAddress.objects.create(user=ann, email=ann.email, verified=True, primary=True)
    User.objects.update(is_active=False)
    come_back(browser)
    assert inside(browser) is None


@pytest.mark.parametrize(
    "change", [{"state": "guessed"}, {"state": ""}, {"error": "access_denied"}]
)
def test_an_answer_that_was_not_asked_for_opens_nothing(server, browser, cast, change):
    cast.person("Ann")
    assert come_back(browser, **change).status_code < 500
    assert inside(browser) is None


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/.well-known/openid-configuration", b"<html>"),
        ("/.well-known/openid-configuration", b"[]"),
        ("/.well-known/openid-configuration", b"{}"),
    ],
)
def test_a_server_that_answers_something_else_is_named_in_a_sentence(server, browser, path, body):
    server.broken[path] = body
    answer = browser.post(LOGIN)
    assert answer.status_code == 503
    assert "log-in server does not answer as it should" in answer.text


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"sub": null}'])
@pytest.mark.parametrize("path", ["/token", "/me"])
def test_an_unreadable_answer_about_the_person_lets_nobody_in(server, browser, path, body):
    server.broken[path] = body
    assert come_back(browser).status_code in (200, 401, 503)
    assert inside(browser) is None


def test_who_is_logged_in_connects_the_server_and_takes_it_off(server, cast, login):
    ann = cast.person("Bo")
    client = login(ann)
    client.post("/accounts/reauthenticate/", {"password": Cast.password})
    page = client.get("/accounts/elsewhere/").text
    assert "Connect Example University" in page
    asked = client.post(f"{LOGIN}?process=connect")
    state = parse_qs(urlsplit(asked.url).query)["state"][0]
    client.get(f"{LOGIN}callback/", {"code": "c", "state": state})
    account = SocialAccount.objects.get(user=ann)
    assert "You can log in with Example University" in (client.get("/accounts/elsewhere/").text)
    client.post("/accounts/elsewhere/", {"account": account.pk})
    assert not SocialAccount.objects.exists()


def test_a_token_is_offered_the_scopes_that_its_persons_roles_have_a_use_for(cast, tea, login):
    def offered(name):
        page = login(cast.person(name)).get("/tokens/").text
        return re.findall(r'name="scopes" value="(\w+)"', page)

    assert offered("Ann") == ["read", "judge", "history"]
    assert offered("Carol") == ["read", "history", "curate", "admin"]
    cast.member("Rita", tea, "researcher")
    assert offered("Rita") == ["read", "history", "curate"]
