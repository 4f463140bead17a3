"""A study's definition as a file, and studies that begin as another one is."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.core.errors import Conflict
from annotation.judging.curator.definition import PARTS, Clone, clone, definition_of, make
from annotation.judging.models import Checks, Item
from annotation.personas.models import Memory
from annotation.studies.bundle import BundleError
from annotation.studies.models import Study
from tests.api.caller import Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def full(cast, tea):
    """A study in two languages with a task, checks, material, an item and an owner's question."""
    tea.languages, tea.edit_hours, tea.currency, tea.pay_per_hour = ["en", "ko"], 5, "EUR", "12.50"
    tea.description = "All about tea."
    tea.translations = {"ko": {"title": "차", "description": "차에 대하여"}}
    tea.save()
    batch = cast.open(tea, overlap=4, question="Which tea?")
    task = batch.task
    task.guideline, task.translations = "Taste.", {"ko": {"guideline": "맛", "question": "어느?"}}
    task.save()
    Memory.objects.create(persona=tea.personas.get(), text="Likes oolong.", since="2026-05-01")
    tea.queries.update(asked_on="2026-06-01", language="ko")
    cast.query(tea, "own", owner=cast.person("Ann"))
    Checks.objects.create(study=tea, pass_mark=0.8, gold_every=20)
    tea.refresh_from_db()
    return tea


def test_a_definition_makes_the_same_study_again(full, cast):
    definition = definition_of(full)
    made = make(json.dumps(definition | {"slug": "again"}), cast.person("Carol"))
    assert definition_of(made) == definition | {"slug": "again"}
    assert (made.edit_hours, str(made.pay_per_hour)) == (5, "12.50")
    assert made.translations["ko"]["title"] == "차"
    assert made.tasks.get().translations == full.tasks.get().translations
    assert made.memberships.get().role == "administrator"
    assert (made.queries.count(), made.items.count()) == (0, 0)


def test_a_clone_takes_along_what_is_ticked(full, cast):
    by = cast.person("Carol")
    live = {"tasks": ["best"], "models": "3"}
    Study.objects.filter(pk=full.pk).update(live=live, automatic=True)
    full.refresh_from_db()
    whole = clone(full, Clone("Whole", "whole", list(PARTS)), by=by)
    assert sorted(whole.queries.values_list("external_id", flat=True)) == ["best-q1"]
    assert (whole.candidates.count(), whole.personas.count()) == (3, 1)
    memory = Memory.objects.get(persona__study=whole)
    assert (memory.text, str(memory.since), memory.until) == ("Likes oolong.", "2026-05-01", None)
    query = whole.queries.get()
    assert (str(query.asked_on), query.language) == ("2026-06-01", "ko")
    assert whole.memberships.count() == full.memberships.count()
    assert whole.memberships.get(user=by).role == "administrator"
    assert not Item.objects.filter(study=whole).exists()
    bare = clone(full, Clone("Bare", "bare", []), by=by)
    assert (bare.tasks.count(), bare.description, bare.consent_text) == (0, "", None)
    assert (whole.live, bare.live, whole.automatic) == (live, {}, True)
    assert not Checks.objects.filter(study=bare).exists()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"settings": {"edit_hours": 99_999}}, "from 0 to 8,760"),
        ({"settings": {"slug": "x"}}, "no setting “slug”"),
        ({"checks": {"pass_mark": 2}}, "number from 0 to 1"),
        ({"retrieval": {"strategies": ["Z9"]}}, "is one of: "),
        ({"tasks": [{"name": "x", "kind": "none"}]}, "kind"),
        ({"title": 4}, "title"),
    ],
)
def test_a_definition_that_cannot_be_is_refused_and_leaves_nothing(full, change, sentence):
    with pytest.raises(BundleError, match=sentence):
        make(definition_of(full) | {"slug": "wrong"} | change, None)
    assert not Study.objects.filter(slug="wrong").exists()


def test_no_definition_changes_a_study_that_is_there(full):
    with pytest.raises(Conflict):
        make(definition_of(full), None)


def test_the_same_by_page_and_api(full, cast, client, login):
    boss = cast.member("Dora", full, "administrator")
    browser = login(boss)
    file = browser.get("/studies/tea/definition/")
    assert file["Content-Disposition"] == 'attachment; filename="tea.json"'
    sent = file.content.replace(b'"slug": "tea"', b'"slug": "paged"')
    upload = SimpleUploadedFile("tea.json", sent)
    assert browser.post("/studies/new/", {"definition": upload}).url == "/studies/paged/overview/"
    page = "/studies/tea/clone/"
    shown = browser.get(page)
    assert 'value="material"' in shown.text
    assert shown.context["form"]["parts"].value() == ["tasks", "texts", "checks"]
    clone = {"title": "C", "slug": "cloned"}
    answer = browser.post(page, clone | {"parts": ["tasks", "people"]})
    assert answer.url == "/studies/cloned/overview/"
    assert browser.post(page, clone).status_code == 400
    call = Caller(client, boss)
    body = call("GET", "studies/tea/clone/").json()
    assert call("POST", "studies/", body | {"slug": "sent"}).status_code == 201
    answer = call("POST", "studies/tea/clone/", {"title": "D", "slug": "fourth"})
    assert (answer.status_code, answer.json()["slug"]) == (201, "fourth")
    slugs = {"tea", "paged", "cloned", "sent", "fourth"}
    assert set(Study.objects.values_list("slug", flat=True)) == slugs
