"""What a new study of each kind begins with."""

import pytest
from django.utils.html import escape

from annotation.judging.batches.open import open_batch
from annotation.judging.curator import recipes
from annotation.judging.models import Slot
from annotation.judging.work import queue
from annotation.studies.members import address_for
from annotation.studies.models import Study

pytestmark = pytest.mark.django_db
TEXT = {"title": "Tea & trains", "languages": ["en", "ko"], "consent": "I take part."}


@pytest.fixture
def ada(cast, login):
    return login(cast.person("Ada", is_superuser=True))


@pytest.mark.parametrize("name", recipes.recipes())
def test_every_recipe_makes_a_study_whose_tasks_are_explained_in_each_language(cast, name):
    recipe = recipes.recipes()[name]
    languages = {*recipes.LANGUAGES}
    assert set(recipe.title) == set(recipe.description) == set(recipe.consent) == languages
    fields = {"title": "T", "slug": "t", "description": "", "languages": [*recipes.LANGUAGES]}
    study = recipes.start_study(recipe, fields, recipe.consent["en"], cast.person("Carol"))
    assert set(study.consent_text.translations) == languages
    tasks = list(study.tasks.order_by("pk"))
    assert [task.name for task in tasks] == [task["name"] for task in recipe.tasks]
    for task in tasks:
        assert set(task.translations) == languages - {"en"}
        texts = {task.guideline, *(words["guideline"] for words in task.translations.values())}
        assert len(texts) == len(languages) and min(map(len, texts)) > 60


@pytest.mark.parametrize("name", recipes.recipes())
def test_the_page_of_answers_opens_and_offers_what_the_recipe_declares(ada, settings, name):
    settings.ENDPOINTS = [{"name": "fake", "base_url": "http://127.0.0.1:1/v1", "model": "m"}]
    recipe = recipes.recipes()[name]
    ada.post("/studies/new/", TEXT | {"recipe": name, "slug": "one"})
    answer = ada.get("/studies/one/candidates/")
    assert answer.status_code == 200
    form = answer.context["form"].fields["strategies"]
    assert {value for value, _words in form.choices} >= set(recipe.strategies)


def test_the_first_page_offers_every_recipe_and_the_second_has_its_consent_text(ada):
    page = ada.get("/studies/new/").text
    for name, recipe in recipes.recipes().items():
        assert f'href="?recipe={name}"' in page and escape(recipe.title["en"]) in page
    form = ada.get("/studies/new/?recipe=own-history").text
    assert "You decide on every session" in form
    unknown = ada.get("/studies/new/?recipe=nothing").text
    assert "?recipe=pairwise" in unknown


def test_the_address_is_made_from_the_title_and_the_overview_is_next(ada):
    answer = ada.post("/studies/new/", TEXT | {"recipe": "best-of-three"})
    assert (answer.status_code, answer.url) == (302, "/studies/tea-trains/overview/")
    study = Study.objects.get(slug="tea-trains")
    assert [task.overlap for task in study.tasks.order_by("name")] == [9, 9]
    # The text is no recipe's any more: translations of the old one would be untrue.
    assert (study.consent_text.body, study.consent_text.translations) == ("I take part.", {})
    assert ada.post("/studies/new/", TEXT).url == "/studies/tea-trains-2/overview/"


@pytest.mark.parametrize(
    ("title", "address"),
    [("茶", "study"), ("New", "new-2"), ("a" * 90, "a" * 40), ("A_b -- c", "a-b-c")],
)
def test_any_title_gives_an_address(cast, title, address):
    assert address_for(title) == address


def test_an_address_that_is_taken_or_a_missing_title_leaves_nothing_behind(ada, cast):
    cast.study("tea")
    wrong = [{"slug": "tea"}, {"slug": "new"}, {"title": ""}, {"consent": ""}, {"title": "a\x00"}]
    for change in wrong:
        assert ada.post("/studies/new/", TEXT | change).status_code == 400
    assert Study.objects.count() == 1


def test_a_study_of_a_recipe_with_repeats_hands_out_its_first_item(cast, ada):
    ada.post("/studies/new/", TEXT | {"recipe": "pairwise", "slug": "pairs"})
    study = Study.objects.get(slug="pairs")
    cast.candidates(cast.query(study), 2)
    open_batch(study, study.tasks.get())
    ann = cast.member("Ann", study, "annotator")
    study.refresh_from_db()
    assert queue.claim(study, ann) is not None
    assert Slot.objects.filter(status="held").count() == 1


@pytest.mark.parametrize(
    "name", [name for name, recipe in recipes.recipes().items() if recipe.tasks]
)
def test_the_form_of_a_new_study_shows_its_first_judging_page_and_stores_nothing(name, tea, carol):
    assert 'data-preview="/studies/new/preview/"' in carol.get(f"/studies/new/?recipe={name}").text
    asked = {"recipe": name, "languages": ["ko", "en"], "title": "Which?"}
    answer = carol.post("/studies/new/preview/", asked)
    assert answer.status_code == 200 and 'class="judge framed' in answer.text
    assert list(Study.objects.values_list("slug", flat=True)) == ["tea"]
    assert carol.post("/studies/new/preview/", {"recipe": "empty"}).status_code == 204
