"""`add_member`: a member once, with a strong password or none."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotation.accounts import consent
from annotation.accounts.models import User
from annotation.studies.models import Membership
from tests.commands import run

pytestmark = pytest.mark.django_db


def test_a_member_is_added_once(cast, tea, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("a fine long secret\n"))
    arguments = ("add_member", "tea", "Dora@Example.org", "--role", "annotator", "--json")
    printed = json.loads(run(*arguments, "--password-stdin", "--consented"))
    assert printed == {"user": "dora@example.org", "study": "tea", "role": "annotator"}
    dora = User.objects.get(email="dora@example.org")
    assert dora.check_password("a fine long secret")
    assert consent.stands(dora, tea.consent_text)
    password = dora.password
    assert json.loads(run(*arguments)) == printed
    monkeypatch.setattr("sys.stdin", io.StringIO("a fine long secret\n"))
    run(*arguments, "--password-stdin", "--consented")
    dora.refresh_from_db()
    assert dora.password == password
    assert Membership.objects.filter(user=dora).values_list("role", flat=True).get() == "annotator"
    run("add_member", "tea", "dora@example.org", "--role", "curator")
    assert Membership.objects.filter(user=dora).values_list("role", flat=True).get() == "curator"


def test_a_weak_password_makes_no_account(tea, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("secret\n"))
    with pytest.raises(CommandError, match="too short"):
        call_command(
            "add_member", "tea", "dora@example.org", "--role", "annotator", "--password-stdin"
        )
    assert not User.objects.filter(email="dora@example.org").exists()


def test_without_a_password_nobody_can_log_in_yet(tea):
    run("add_member", "tea", "dora@example.org", "--role", "annotator")
    dora = User.objects.get(email="dora@example.org")
    assert not dora.has_usable_password()
    assert not consent.stands(dora, tea.consent_text)
