"""What the entrance says: nothing claims that mail was sent where no mail server is."""

from pathlib import Path

import allauth
import pytest
from django.template.loader import get_template
from django.urls import reverse

from annotation.studies.models import Invitation

PAGES = ("account_reset_password", "account_reset_password_done")


@pytest.mark.parametrize("name", [*PAGES, "account_email_verification_sent"])
@pytest.mark.django_db
def test_without_a_mail_server_no_page_claims_that_mail_was_sent(client, settings, name):
    settings.EMAIL_URL = ""
    page = client.get(reverse(name)).text
    assert "This server sends no mail" in page
    for claim in ("Look into your mail", "is on its way", "was sent there", "is sent there"):
        assert claim not in page


def test_an_invitation_says_languages_time_and_pay(client, tea, cast):
    tea.languages, tea.pay_per_hour, tea.currency = ["ko", "xx-made-up"], 12, "EUR"
    tea.save()
    _invitation, key = Invitation.issue(tea, role="annotator", by=cast.person("Ada"))
    page = client.get(reverse("invitation", args=[key])).text
    assert "한국어, xx-made-up" in page
    assert "EUR an hour" in page
    assert "you can stop after any item" in page


# What is sent only with codes by mail, which are switched off.
CODES = ("email_confirm", "login_code", "password_reset", "password_reset_code")


def test_every_mail_of_the_log_in_has_a_subject_of_ours():
    folder = Path(allauth.__file__).parent / "templates"
    switched_off = {f"account/email/{name}_subject.txt" for name in CODES}
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*_subject.txt")}
    assert names > switched_off
    origins = {name: get_template(name).origin.name for name in names - switched_off}
    assert [name for name, origin in origins.items() if folder in Path(origin).parents] == []
