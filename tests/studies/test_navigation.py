"""Every page that a study's navigation leads to opens, for each recipe: new, and in use.

The walk follows the tabs, what lies below them, the overview's steps and every kind of page that
these link to. Whatever answers with an error fails it.
"""

import re
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest
from django.urls import resolve

from annotation.agreement import recompute
from annotation.candidates.models import Candidate
from annotation.datasets import freeze
from annotation.judging.batches.open import open_batch
from annotation.judging.curator import recipes
from annotation.judging.models import Slot
from annotation.judging.work.submit import submit
from annotation.personas.models import Attribute
from annotation.queries.models import GoldClaim, GoldResponse
from annotation.studies.access import PAGES

pytestmark = pytest.mark.django_db
NAMES = set(PAGES)


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
            main = answer.content.decode().partition("<main")[2]
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
