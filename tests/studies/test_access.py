"""How somebody stands to a study, and that every page opens to those it is open to."""

import re
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.urls import resolve
from django.utils import timezone

from annotation.accounts import consent
from annotation.accounts.models import Consent
from annotation.agreement import recompute
from annotation.candidates.models import Candidate
from annotation.datasets import freeze
from annotation.judging.batches.open import open_batch
from annotation.judging.curator import recipes
from annotation.judging.models import Slot
from annotation.judging.work.submit import submit
from annotation.personas.models import Attribute
from annotation.policies import Member
from annotation.queries.models import GoldClaim, GoldResponse
from annotation.studies.access import PAGES, may_create, member_of, memberships_of, study_for

pytestmark = pytest.mark.django_db
NAMES = set(PAGES)


def yes(member: Member) -> bool:
    return True


def no(member: Member) -> bool:
    return False


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


@pytest.fixture
def study(cast, request):
    """A new study of the recipe that the test names, administered by Ada."""
    recipe = recipes.recipes()[request.param]
    fields = {"title": "T", "slug": "tea", "description": "", "languages": ["en", "ko"]}
    return recipes.start_study(recipe, fields, recipe.consent["en"], cast.person("Ada"))


def fill(cast, study) -> None:
    """Material for tasks of any kind, a batch of each, an answer to one item, and a release."""
    people = [cast.member(name, study, "annotator") for name in ("Ann", "Bo", "Chen")]
    persona = cast.persona(study)
    attribute = Attribute.objects.create(persona=persona, external_id="a1", text="Grows ferns.")
    for name in ("q1", "q2"):
        owner = people[0] if study.tasks.filter(config__owner_only=True).exists() else None
        query = cast.query(study, name, persona, owner=owner, need="A calm evening.")
        first, *_others = cast.candidates(query, 3)
        Candidate.objects.filter(pk=first.pk).update(attribute=attribute, strategy="attributes")
        GoldClaim.objects.create(
            response=GoldResponse.objects.create(query=query, text="Walk."), number=1, text="Walk."
        )
    for task in study.tasks.all():
        item = open_batch(study, task).items.first()
        for slot, person in zip(list(item.slots.order_by("ordinal")), people, strict=False):
            Slot.objects.filter(pk=slot.pk).update(status="held", annotator=person)
            submit(study, slot.pk, person, BODIES[task.kind](slot), key=f"key-{slot.pk}", seconds=9)
        recompute.recompute(study, task.name)
    if study.tasks.exists():
        freeze.build(freeze.request_release(study, "long", "", cast.person("Ada")).pk)


def scored(slot) -> dict:
    criteria = slot.item.batch.task.config["criteria"]
    score = {"score": 3, "text": "It fits."}
    scores = {str(option.candidate_id): score for option in slot.item.options.all()}
    return {"answers": dict.fromkeys(criteria, scores)}


BODIES = {
    "selection": lambda slot: {"choice": str(slot.item.options.first().candidate_id)},
    "preference": lambda slot: {"value": 1},
    "feedback": scored,
    "attribute": lambda slot: {"verdict": "accepted"},
    "relevance": lambda slot: {"relevant": "yes"},
    "questions": lambda slot: {
        "answers": {"good": {str(slot.item.options.get().candidate_id): "Yes"}}
    },
    "claims": lambda slot: {
        "claims": {str(claim.pk): "keep" for claim in slot.item.gold.claims.all()}
    },
}


def walk(client, start: str) -> set[str]:
    """Open what can be reached from ``start``, one page of each kind for each task; the names."""
    waiting, opened, wrong = [start], set(), []
    while waiting:
        address = waiting.pop(0)
        match = resolve(urlsplit(address).path)
        kind = (match.url_name, match.kwargs.get("task"))
        if kind in opened:
            continue
        opened.add(kind)
        answer = client.get(address)
        if answer.status_code != 200:
            wrong.append((address, answer.status_code))
        elif answer.headers["content-type"].startswith("text/html"):
            main = answer.text.partition("<main")[2]
            links = (
                urljoin(address, unescape(link)) for link in re.findall(r'href="([^"]+)"', main)
            )
            waiting += [link for link in links if link.startswith("/studies/tea/")]
    assert wrong == []
    return {name for name, _task in opened}


@pytest.mark.parametrize("study", recipes.recipes(), indirect=True)
def test_every_page_of_a_study_opens_when_it_is_new_and_when_it_is_in_use(login, cast, study):
    client = login(cast.person("Ada"))
    assert walk(client, "/studies/tea/overview/") >= NAMES
    fill(cast, study)
    assert walk(client, "/studies/tea/overview/") >= NAMES
