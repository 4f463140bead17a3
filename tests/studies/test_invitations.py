"""Invitations bound to an address: who has proved that the address is theirs."""

import re

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.urls import reverse

from annotation.studies.models import Invitation, Membership

PEOPLE = "/studies/tea/people/"
NEW = {"email": "noor@example.org", "password1": "a long enough secret"}


@pytest.fixture
def mail_server(settings):
    settings.EMAIL_URL = "smtp://mail.example"
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


def invited(client, dora, login):
    login(dora)
    response = client.post(PEOPLE, {"role": "annotator", "email": "Noor@example.org"})
    client.logout()
    return response


def sign_up(client, key):
    client.get(reverse("invitation", args=[key]))
    client.post("/accounts/signup/", NEW)


def test_with_a_mail_server_the_link_is_mailed_and_shown_to_nobody(
    client, login, tea, dora, mail_server
):
    response = invited(client, dora, login)
    assert response.status_code == 302
    (message,) = mail.outbox
    assert message.to == ["noor@example.org"]
    key = re.search(r"/invitations/([^/]+)/", message.body)[1]
    invitation = Invitation.objects.get()
    assert (Invitation.digest_of(key), invitation.mailed_at is not None) == (
        invitation.digest,
        True,
    )
    login(dora)
    assert key not in client.get(PEOPLE).content.decode()
    client.logout()
    # Whoever has the mailed link reads that address's mail: no second proof is asked for.
    sign_up(client, key)
    assert client.post(reverse("invitation", args=[key])).status_code == 302
    assert Membership.objects.filter(user__email=NEW["email"]).count() == 1


def test_with_a_mail_server_a_link_that_was_not_mailed_asks_for_a_confirmed_address(
    client, tea, mail_server
):
    _, key = Invitation.issue(tea, "annotator", email=NEW["email"])
    sign_up(client, key)
    refused = client.post(reverse("invitation", args=[key]))
    assert refused.status_code == 403
    assert "Confirm your e-mail address" in refused.content.decode()
    assert not Membership.objects.filter(user__email=NEW["email"]).exists()
    EmailAddress.objects.filter(email=NEW["email"]).update(verified=True)
    assert client.post(reverse("invitation", args=[key])).status_code == 302


def test_without_a_mail_server_the_administrator_hands_the_link_over(
    client, login, tea, dora, settings
):
    settings.EMAIL_URL = ""
    response = invited(client, dora, login)
    key = response.context["link"].rstrip("/").rpartition("/")[2]
    sign_up(client, key)
    assert client.post(reverse("invitation", args=[key])).status_code == 302
    assert Membership.objects.filter(user__email=NEW["email"]).count() == 1


def test_a_mailed_link_does_not_let_another_account_in(client, login, cast, tea, dora, mail_server):
    invited(client, dora, login)
    key = re.search(r"/invitations/([^/]+)/", mail.outbox[0].body)[1]
    other = cast.person("Zoe")
    login(other)
    assert client.post(reverse("invitation", args=[key])).status_code == 403
    assert not other.memberships.exists()


def test_an_invitation_for_anybody_is_still_shown_and_not_mailed(
    client, login, tea, dora, mail_server
):
    response = login(dora).post(PEOPLE, {"role": "annotator", "email": ""})
    assert "/invitations/" in response.content.decode()
    assert mail.outbox == []


def test_a_mail_server_that_is_away_leaves_no_invitation_behind(
    client, login, tea, dora, mail_server, settings
):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    response = invited(client, dora, login)
    assert response.status_code == 400
    assert "The mail could not be sent" in response.content.decode()
    assert not Invitation.objects.exists()


def test_an_invitation_names_the_languages_and_the_login_page_leads_to_the_join_codes(client, tea):
    tea.languages = ["zh", "ko"]
    tea.save()
    _invitation, key = Invitation.issue(tea, "annotator")
    page = client.get(reverse("invitation", args=[key])).content.decode()
    assert "<dd>中文, 한국어</dd>" in page
    assert f'href="{reverse("join")}"' in client.get(reverse("account_login")).content.decode()
