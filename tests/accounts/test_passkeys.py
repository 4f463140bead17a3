"""Passkeys: required or not, and a whole log-in with a real authenticator in Chromium."""

import pytest
from allauth.mfa.models import Authenticator

from tests.conftest import Cast
from tests.security.test_settings import values


@pytest.mark.parametrize(
    ("environment", "required"),
    [
        ({}, False),
        ({"ATTUNE_BASE_URL": "http://localhost:8000"}, False),
        ({"ATTUNE_BASE_URL": "https://attune.example"}, True),
        ({"ATTUNE_BASE_URL": "https://attune.example", "ATTUNE_REQUIRE_MFA": "0"}, False),
        ({"ATTUNE_REQUIRE_MFA": "1"}, True),
    ],
)
def test_a_public_server_asks_staff_for_a_second_factor(tmp_path, environment, required):
    assert values(tmp_path / "data", **environment)["REQUIRE_MFA"] is required


def test_a_passkey_counts_as_a_second_factor(cast, tea, login, settings):
    settings.REQUIRE_MFA = True
    carol = cast.member("Carol", tea, "curator")
    client = login(carol)
    assert client.get("/studies/tea/tasks/").url.startswith("/accounts/2fa/")
    assert client.get("/accounts/2fa/webauthn/").status_code == 200
    Authenticator.objects.create(user=carol, type="webauthn", data={})
    assert client.get("/studies/tea/tasks/").status_code == 200


def test_a_passkey_is_added_only_after_the_password_was_given_again(client, bo):
    client.post("/accounts/login/", {"login": bo.email, "password": Cast.password})
    assert client.get("/accounts/2fa/webauthn/add/").url.startswith("/accounts/reauthenticate/")


@pytest.mark.parametrize("credential", ["", "x", "{}", "[]", '{"id": "\\u0000"}', "[" * 5_000])
def test_a_broken_credential_opens_nothing(client, db, credential, settings):
    settings.ACCOUNT_RATE_LIMITS = False
    client.raise_request_exception = False
    answer = client.post("/accounts/2fa/webauthn/login/", {"credential": credential})
    assert answer.status_code in (200, 302, 400)
    assert "_auth_user_id" not in client.session
