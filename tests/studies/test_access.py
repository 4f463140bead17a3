"""``study_for`` by what it answers; who may what is tests/security."""

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils import timezone

from annotation.accounts import consent
from annotation.accounts.models import Consent
from annotation.policies import Member
from annotation.studies.access import may_create, member_of, memberships_of, study_for


def yes(member: Member) -> bool:
    return True


def no(member: Member) -> bool:
    return False


@pytest.fixture
def ann(tea, cast):
    return cast.person("Ann")


@pytest.fixture
def rain(cast, db):
    return cast.study("rain")


def test_the_study_comes_with_the_role_and_the_consent(tea, ann):
    study = study_for(ann, "tea", yes)
    assert (study, study.role, study.consented) == (tea, "annotator", True)


def test_a_consent_that_was_withdrawn_is_none(tea, ann):
    Consent.objects.filter(user=ann).update(withdrawn_at=timezone.now())
    assert study_for(ann, "tea", yes).consented is False


def test_a_consent_to_another_text_is_none(tea, rain, cast):
    # Of tea alone.
    carol = cast.person("Carol")
    rain.memberships.create(user=carol, role="curator")
    assert study_for(carol, "rain", yes).consented is False


def test_a_consent_to_an_older_version_is_none(tea, ann):
    tea.consent_text = consent.publish("tea", "I take part, and am paid.")
    tea.save()
    assert study_for(ann, "tea", yes).consented is False


def test_a_study_without_a_text_asks_for_no_consent(tea, cast):
    dana = cast.member("Dana", tea, "annotator", consented=False)
    assert study_for(dana, "tea", yes).consented is False
    tea.consent_text = None
    tea.save()
    assert study_for(dana, "tea", yes).consented is True


def test_a_policy_that_refuses_a_member_denies_the_page(tea, ann):
    with pytest.raises(PermissionDenied):
        study_for(ann, "tea", no)


@pytest.mark.parametrize("policy", [yes, no])
def test_who_is_no_member_does_not_learn_that_there_is_a_study(tea, rain, ann, policy):
    for slug in ("rain", "none"):
        with pytest.raises(Http404):
            study_for(ann, slug, policy)


def test_who_has_left_is_no_member(tea, ann):
    tea.memberships.filter(user=ann).update(left_at=timezone.now())
    with pytest.raises(Http404):
        study_for(ann, "tea", yes)


def test_the_sites_administrator_knows_of_every_study(tea, cast):
    ada = cast.person("Ada", is_superuser=True)
    assert member_of(ada, study_for(ada, "tea", yes)) == Member(None, is_superuser=True)
    with pytest.raises(PermissionDenied):
        study_for(ada, "tea", no)


def test_standings_are_those_to_all_studies(tea, rain, cast):
    assert memberships_of(cast.person("Noor")) == [Member(None)]
    carol = cast.person("Carol")
    rain.memberships.create(user=carol, role="annotator")
    assert set(memberships_of(carol)) == {Member(None), Member("curator"), Member("annotator")}
    tea.memberships.filter(user=carol).update(left_at=timezone.now())
    assert memberships_of(carol) == [Member(None), Member("annotator")]


def test_who_runs_a_study_may_create_another(tea, cast):
    people = ("Noor", "Ann", "Rui", "Carol")
    assert [may_create(cast.person(name)) for name in people] == [False, False, False, True]
    assert may_create(cast.person("Ada", is_superuser=True))
    tea.memberships.filter(user=cast.person("Carol")).update(left_at=timezone.now())
    assert not may_create(cast.person("Carol"))
