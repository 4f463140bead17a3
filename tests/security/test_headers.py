"""What every answer carries, errors included."""

import pytest
from django.conf import settings
from django.urls import reverse

from tests.security.table import TABLE
from tests.security.test_routes import NAMES

POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "object-src 'none'",
}
PAGES = [
    name for name in NAMES if "GET" in TABLE[name].methods or TABLE[name].but.get(("GET", "ann"))
]


# Swagger UI: its signs, and the one style block of its page.
DOCS = {
    "img-src 'self' data:",
    "style-src 'self' 'sha256-MMpT0iDxyjALd9PdfepImGX3DBfJPXZ4IlDWdPAgtn0='",
}


def check(response, policy=POLICY):
    parts = response.headers["Content-Security-Policy"].split(";")
    assert {part.strip() for part in parts if part.strip()} == policy
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "same-origin"
    assert response.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "camera=()" in response.headers["Permissions-Policy"]
    # Django's own never_cache (log-in pages) says the same in more words.
    assert "no-store" in response.headers["Cache-Control"]


@pytest.mark.parametrize("name", PAGES)
def test_every_page_carries_the_policy_and_stays_out_of_caches(world, name):
    for role in ("anonymous", "ann", "site"):
        response = world.browser(role).get(reverse(name, kwargs=TABLE[name].args(world)))
        docs = name == "api-docs" and response.status_code == 200
        own = POLICY - {"img-src 'self'", "style-src 'self'"} | DOCS
        check(response, own if docs else POLICY)


@pytest.mark.parametrize("path", ["/nowhere/", "/api/v1/nowhere/", "/studies/nowhere/", "/%00"])
def test_errors_carry_it_too(world, path):
    response = world.browser("ann").get(path)
    assert response.status_code == 404
    check(response)


def test_a_refused_form_a_refused_host_and_a_fault_of_ours_carry_it_too(world, monkeypatch):
    refused = world.browser("ann", enforce_csrf_checks=True).post(reverse("tokens"))
    host = world.browser("ann").get("/", headers={"Host": "evil.example"})
    monkeypatch.setattr("annotation.judging.annotator.views.may_create", lambda user: 1 / 0)
    fault = world.browser("ann").get("/")
    assert [one.status_code for one in (refused, host, fault)] == [403, 400, 500]
    for response in (refused, host, fault):
        check(response)
        assert "Traceback" not in response.content.decode()


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(world, client):
    data = {"login": "ann@example.org", "password": world.cast.password}
    client.get(reverse("account_login"))
    client.post(reverse("account_login"), data)
    assert {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME} <= set(client.cookies)
    for cookie in client.cookies.values():
        if cookie.key != "messages":
            assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax"), cookie.key


def test_an_answer_names_no_software(world):
    response = world.browser("ann").get("/")
    assert {"Server", "X-Powered-By"} & set(response.headers) == set()
