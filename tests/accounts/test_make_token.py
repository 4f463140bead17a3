"""`make_token` prints a token alone."""

import pytest
from django.core.management.base import CommandError

from annotation.accounts.models import ApiToken
from tests.commands import run

pytestmark = pytest.mark.django_db


def test_a_token_is_printed_alone_and_stored_as_a_digest(ann):
    printed = run("make_token", "ANN@example.org", "--days", "7")
    token = ApiToken.objects.get()
    assert printed == printed.strip() + "\n"
    assert token.digest == ApiToken.digest_of(printed.strip())
    days = round((token.expires_at - token.created_at).total_seconds() / 86400)
    assert (token.user, days) == (ann, 7)


def test_a_scope_that_no_role_of_the_person_can_use_is_refused_as_on_the_page(ann, tea):
    with pytest.raises(CommandError, match=r"ann@example\.org has no role for curate"):
        run("make_token", "ann@example.org", "--scope", "read", "--scope", "curate")
    assert not ApiToken.objects.exists()


def test_a_token_has_the_scopes_and_the_study_that_are_asked(ann, tea, cast):
    run("make_token", "ann@example.org", "--scope", "read", "--scope", "judge", "--study", "tea")
    token = ApiToken.objects.get()
    assert (token.scopes, token.study, token.expires_at) == (["read", "judge"], tea, None)
    cast.study("rain")
    with pytest.raises(CommandError, match="has no study rain"):
        run("make_token", "ann@example.org", "--study", "rain")
    assert ApiToken.objects.count() == 1
