"""What the entrance says: nothing claims that mail was sent where no mail server is."""

import pytest
from django.urls import reverse

from annotation.studies.models import Invitation

PAGES = ("account_reset_password", "account_reset_password_done")


@pytest.mark.parametrize("name", [*PAGES, "account_email_verification_sent"])
@pytest.mark.django_db
def test_without_a_mail_server_no_page_claims_that_mail_was_sent(client, settings, name):
    settings.EMAIL_URL = ""
    page = client.get(reverse(name)).content.decode()
    assert "This server sends no mail" in page
    for claim in ("Look into your mail", "is on its way", "was sent there", "is sent there"):
        assert claim not in page


@pytest.mark.django_db
def test_with_a_mail_server_the_pages_say_that_mail_is_sent(client, settings):
    settings.EMAIL_URL = "smtp://mail.example"
    said = [client.get(reverse(name)).content.decode() for name in PAGES]
    assert "A link to set a new password is sent there." in said[0]
    assert "Look into your mail" in said[1]


@pytest.mark.django_db
def test_the_log_in_tells_a_stranger_what_this_is(client):
    page = client.get(reverse("account_login")).content.decode()
    assert "people judge how well answers of language models fit" in page


def test_an_invitation_says_languages_time_and_pay(client, tea, cast):
    tea.languages, tea.pay_per_hour, tea.currency = ["ko", "xx-made-up"], 12, "EUR"
    tea.save()
    _invitation, key = Invitation.issue(tea, role="annotator", by=cast.person("Ada"))
    page = client.get(reverse("invitation", args=[key])).content.decode()
    assert "한국어, xx-made-up" in page
    assert "EUR an hour" in page
    assert "you can stop after any item" in page


def test_people_says_who_makes_a_reset_link_and_leads_operators_there(tea, cast, login):
    carol = cast.person("Carol")
    tea.memberships.filter(user=carol).update(role="administrator")
    client, address = login(carol), reverse("people", args=[tea.slug])
    page = client.get(address).content.decode()
    assert "Whoever runs this server can make a reset link." in page
    assert reverse("operations-accounts") not in page
    carol.is_superuser = True
    carol.save()
    assert reverse("operations-accounts") in client.get(address).content.decode()
