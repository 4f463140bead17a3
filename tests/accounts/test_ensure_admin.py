"""The first administrator: made once, from the environment or by a link that works once."""

import re

import pytest
from django.conf import settings
from django.core.management import CommandError

from annotation.accounts.models import User
from annotation.settings import env
from tests.commands import run

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin_settings(monkeypatch):
    """A function that sets ATTUNE_ADMIN_* for one run of ensure_admin."""
    monkeypatch.setattr(env.ENVIRON, "files_cache", {})
    for name in ("EMAIL", "PASSWORD"):
        monkeypatch.delenv(f"ATTUNE_ADMIN_{name}", raising=False)
        monkeypatch.delenv(f"ATTUNE_ADMIN_{name}_FILE", raising=False)

    def run_with(**given):
        for name, value in given.items():
            monkeypatch.setenv(f"ATTUNE_ADMIN_{name}", str(value))
        return run("ensure_admin")

    return run_with


def test_the_first_administrator_sets_a_password_through_a_link_that_works_once(
    admin_settings, client
):
    printed = admin_settings()
    admin = User.objects.get()
    assert admin.email == "admin@example.org"
    assert (admin.is_superuser, admin.has_usable_password()) == (True, False)
    link = re.search(r"http\S+", printed).group()
    assert link.startswith(f"{settings.BASE_URL}/accounts/password/reset/key/")
    assert printed.count("\n") == 1
    path = link.removeprefix(settings.BASE_URL)
    form = client.get(path)
    secret = "the first long secret"
    done = client.post(form.url, {"password1": secret, "password2": secret})
    assert done.status_code == 302
    admin.refresh_from_db()
    assert admin.check_password(secret)
    client.logout()
    answer = client.get(path, follow=True)
    assert answer.context["token_fail"] is True
    assert admin_settings() == ""


def test_the_link_is_printed_again_until_a_password_is_set(admin_settings):
    assert "http" in admin_settings()
    assert "admin@example.org" in admin_settings()
    assert User.objects.count() == 1
    printed = admin_settings(EMAIL="Ada@Example.org")
    assert "ada@example.org" in printed


def test_the_environment_makes_the_first_administrator_once(admin_settings, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("a secret of the operator\n")
    assert admin_settings(EMAIL="ada@example.org", PASSWORD_FILE=secret) == ""
    ada = User.objects.get()
    assert ada.is_superuser
    assert ada.check_password("a secret of the operator")
    ada.set_password("changed meanwhile, by Ada")
    ada.save()
    assert admin_settings() == ""
    ada.refresh_from_db()
    assert ada.check_password("changed meanwhile, by Ada")


def test_somebody_who_was_made_an_annotator_does_not_come_back(admin_settings, cast):
    cast.person("Rae", is_superuser=True)
    ada = cast.person("Ada")
    admin_settings(EMAIL="ada@example.org", PASSWORD="a secret of the operator")
    ada.refresh_from_db()
    assert not ada.is_superuser
    assert ada.check_password(cast.password)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"PASSWORD": "a secret of the operator"}, "ATTUNE_ADMIN_EMAIL is not"),
        ({"EMAIL": "ada@example.org", "PASSWORD": "secret"}, "ATTUNE_ADMIN_PASSWORD is refused"),
        ({"EMAIL": "ada at home"}, "no e-mail address"),
        ({"PASSWORD_FILE": "/gone"}, "ATTUNE_ADMIN_PASSWORD_FILE cannot be read"),
    ],
)
def test_wrong_settings_make_no_administrator(admin_settings, given, words):
    with pytest.raises(CommandError, match=words):
        admin_settings(**given)
    assert not User.objects.exists()
