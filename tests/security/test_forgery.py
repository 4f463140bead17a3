"""Requests that another site makes a browser send."""

import json

import pytest
from django.urls import reverse

from tests.security.table import TABLE
from tests.security.test_routes import NAMES

WRITING = [name for name in NAMES if "POST" in TABLE[name].methods]
FORMS = [name for name in WRITING if not TABLE[name].api]
API = [name for name in WRITING if TABLE[name].api]
ACCOUNT = ["account_login", "account_logout", "account_reset_password", "account_email"]


def writer(name, world):
    """Somebody to whom the route is open."""
    row = TABLE[name]
    roles = ("ann", "site", "curator", "fresh")
    return next((role for role in roles if row.expected("POST", role) < 400), "ann")


def address(name, world) -> str:
    return reverse(name, kwargs=TABLE[name].args(world))


@pytest.mark.parametrize("name", FORMS)
def test_a_form_without_its_token_is_refused(world, name):
    client = world.browser(writer(name, world), enforce_csrf_checks=True)
    response = client.post(address(name, world), TABLE[name].data(world))
    assert (response.status_code, world.fingerprint.changed()) == (403, set())


@pytest.mark.parametrize("name", ACCOUNT)
def test_a_form_of_the_accounts_without_its_token_is_refused(world, name):
    role = "anonymous" if name == "account_login" else "ann"
    client = world.browser(role, enforce_csrf_checks=True)
    data = {"login": "ann@example.org", "password": world.cast.password}
    assert client.post(reverse(name), data).status_code == 403


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://testserver.evil.example"]
)
def test_a_token_from_a_foreign_page_is_refused(world, origin):
    client = world.browser("ann", enforce_csrf_checks=True)
    page = client.get(reverse("tokens"))
    token = page.context["csrf_token"]
    data = {"days": 1, "scopes": ["read"], "csrfmiddlewaretoken": str(token)}
    assert client.post(reverse("tokens"), data, headers={"Origin": origin}).status_code == 403
    assert world.fingerprint.changed() == set()
    assert client.post(reverse("tokens"), data).status_code == 302


@pytest.mark.parametrize(
    ("name", "kind"), [*((name, "application/json") for name in API), ("api-study", "text/plain")]
)
def test_a_session_alone_does_not_open_the_api_to_other_sites(world, name, kind):
    client = world.browser(writer(name, world), enforce_csrf_checks=True)
    response = client.post(
        address(name, world),
        json.dumps(TABLE[name].data(world)),
        kind,
        headers={"Idempotency-Key": "k"},
    )
    assert (response.status_code, world.fingerprint.changed()) == (403, set())


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
def test_the_api_reads_json_only(world, kind):
    client = world.program("ann")
    body = json.dumps({"choice": "tie"})
    headers = {"Idempotency-Key": "k"}
    response = client.post(address("api-judgment", world), body, kind, headers=headers)
    assert (response.status_code, world.fingerprint.changed()) == (415, set())


def test_no_answer_lets_another_site_read_it(world):
    for client in (world.browser("ann"), world.program("ann")):
        for name in ("home", "api-root", "api-study"):
            headers = {"Origin": "https://evil.example"}
            response = client.get(address(name, world), headers=headers)
            allowed = [name for name in response.headers if name.startswith("Access-Control")]
            assert allowed == []


def test_only_pages_that_note_what_was_seen_or_fetched_change_something_by_get():
    changing = [name for name, row in TABLE.items() if "GET" in row.changes or row.restless]
    noted = {"judged", "mine", "release_download", "api-release-download"}
    assert set(changing) - noted == {"account_email", "judge"}
