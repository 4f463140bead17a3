"""Addresses of an account: who may add them, what they open, and who is told."""

import re

import pytest
from allauth.account.models import EmailAddress
from django.core import mail

from annotation.accounts.models import User
from annotation.studies.models import Invitation, JoinCode
from tests.conftest import Cast

PAGE, RESET, AGAIN = "/accounts/email/", "/accounts/password/reset/", "/accounts/reauthenticate/"
EVIL = "evil@example.net"


@pytest.fixture(autouse=True)
def _without_limits(settings):
    settings.ACCOUNT_RATE_LIMITS = False


@pytest.fixture
def ann(cast, client):
    """Ann, logged in by her password, with her confirmed address."""
    user = cast.person("Ann")
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    client.post("/accounts/login/", {"login": user.email, "password": Cast.password})
    mail.outbox.clear()  # of the browser that was not known
    return user


def add(client, email=EVIL):
    return client.post(PAGE, {"action_add": "", "email": email})


def addresses(user) -> set[str]:
    return set(EmailAddress.objects.filter(user=user).values_list("email", flat=True))


def test_an_address_is_added_only_after_the_password_was_given_again(client, ann):
    response = add(client)
    assert response.url.startswith(AGAIN)
    assert addresses(ann) == {ann.email}
    client.post(response.url, {"password": "a wrong guess"})
    assert addresses(ann) == {ann.email}
    client.post(response.url, {"password": Cast.password})
    assert addresses(ann) == {ann.email, EVIL}


@pytest.mark.parametrize("action", ["action_remove", "action_primary"])
def test_addresses_change_only_after_the_password_was_given_again(client, ann, action):
    EmailAddress.objects.create(user=ann, email="second@example.org", verified=True)
    response = client.post(PAGE, {action: "", "email": "second@example.org"})
    assert response.url.startswith(AGAIN)
    assert addresses(ann) == {ann.email, "second@example.org"}
    assert EmailAddress.objects.get(primary=True).email == ann.email


def test_a_reset_for_an_address_that_is_not_confirmed_opens_nothing(client, ann):
    EmailAddress.objects.create(user=ann, email=EVIL)
    client.logout()
    client.post(RESET, {"email": EVIL})
    assert [message.to for message in mail.outbox] == [[EVIL]]
    assert "/accounts/password/reset/key/" not in mail.outbox[0].body


@pytest.mark.parametrize("email", ["ann@example.org", "ANN@example.org", "second@example.org"])
def test_a_reset_works_for_the_main_and_for_a_confirmed_address(client, ann, email):
    EmailAddress.objects.create(user=ann, email="second@example.org", verified=True)
    client.logout()
    client.post(RESET, {"email": email})
    assert "/accounts/password/reset/key/" in mail.outbox[0].body


def test_the_old_address_is_told_of_every_change(client, ann):
    target = add(client).url
    mail.outbox.clear()
    client.post(target, {"password": Cast.password})
    told = [message for message in mail.outbox if message.to == [ann.email]]
    assert [EVIL in message.body for message in told] == [True]
    mail.outbox.clear()
    EmailAddress.objects.filter(email=EVIL).update(verified=True)
    client.post(PAGE, {"action_primary": "", "email": EVIL})
    assert [message.to for message in mail.outbox] == [[ann.email]]
    mail.outbox.clear()
    client.post(PAGE, {"action_remove": "", "email": ann.email})
    assert sorted(message.to for message in mail.outbox) == [[ann.email], [EVIL]]


def test_links_in_mails_name_the_servers_own_address(client, ann, settings):
    settings.BASE_URL = "https://attune.example"
    settings.ALLOWED_HOSTS = ["evil.example", "testserver"]
    client.logout()
    client.post(RESET, {"email": ann.email}, headers={"Host": "evil.example"})
    body = mail.outbox[0].body
    assert re.search(r"https://\S+", body)[0].startswith(
        "https://attune.example/accounts/password/reset/key/"
    )
    assert "evil.example" not in body
    key = re.search(r"https://attune.example(/\S+)", body)[1]
    assert client.get(key).status_code == 302


# --- Sign-up ---------------------------------------------------------------------------------


def sign_up(client, code: str, email: str):
    client.post("/join/", {"code": code})
    data = {"email": email, "password1": "a long enough secret"}
    return client.post("/accounts/signup/", data)


@pytest.mark.parametrize("verification", ["mandatory", "optional"])
def test_a_sign_up_by_join_code_does_not_tell_who_has_an_account(
    client, tea, cast, settings, verification
):
    settings.ACCOUNT_EMAIL_VERIFICATION = verification
    settings.ACCOUNT_PREVENT_ENUMERATION = True if verification == "mandatory" else "strict"
    cast.person("Bo")
    code = JoinCode.issue(tea, uses=9, days=1)[1]

    def answer(email):
        response = sign_up(client, code, email)
        client.logout()
        return response.status_code, response.headers.get("Location")

    assert answer("bo@example.org") == answer("nobody@example.org")
    assert answer("bo@example.org")[0] == 302
    assert User.objects.get(email="bo@example.org").name == "Bo"


def test_whoever_listed_a_taken_address_gets_no_way_into_the_other_account(
    client, tea, settings, bo
):
    sign_up(client, JoinCode.issue(tea, uses=9, days=1)[1], bo.email)
    second = User.objects.exclude(pk=bo.pk).latest("pk")
    assert (second.email, addresses(second)) == (None, {bo.email})
    client.post(AGAIN, {"password": "a long enough secret"})
    response = client.post(PAGE, {"action_primary": "", "email": bo.email})
    assert response.status_code == 302
    bo.refresh_from_db()
    assert bo.email == "bo@example.org"


@pytest.mark.parametrize("end", ["invitation", "code"])
def test_what_was_revoked_opens_no_account_in_a_browser_that_had_it_open(client, tea, end):
    from django.utils import timezone

    if end == "invitation":
        row, key = Invitation.issue(tea, "annotator")
        client.get(f"/invitations/{key}/")
    else:
        row, signs = JoinCode.issue(tea, uses=9, days=1)
        client.post("/join/", {"code": signs})
    type(row).objects.filter(pk=row.pk).update(revoked_at=timezone.now())
    data = {"email": "late@example.org", "password1": "a long enough secret"}
    client.post("/accounts/signup/", data)
    assert not User.objects.filter(email="late@example.org").exists()
