"""What every answer carries, errors included; the walk of test_routes.py checks every page."""

import pytest
from django.conf import settings
from django.urls import reverse

from tests.security.policy import check


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
