"""Try a task as its annotators meet it: the real page, and nothing stored."""

import re

import pytest
from django.apps import apps

from annotation.judging.batches.open import open_batch
from annotation.judging.kinds import KINDS, kind_of
from annotation.judging.models import Item
from annotation.studies.models import TaskDefinition
from tests.browser.kinds import open_kind

pytestmark = pytest.mark.django_db


def everything():
    """The number of rows of every table but the sessions'."""
    models = [model for model in apps.get_models() if model._meta.label != "sessions.Session"]
    return {model._meta.label: model._default_manager.count() for model in models}


def fields_of(page: str) -> dict:
    """What a browser would send: the hidden fields, and the first of each group of choices."""
    typed = {}
    for tag in re.findall(r"<input [^>]*>", page[page.index('id="judge"') :]):
        name, value = re.search(r'name="([^"]+)"', tag), re.search(r'value="([^"]*)"', tag)
        kind = re.search(r'type="([^"]+)"', tag)
        if name and value and (kind and kind[1] in ("hidden", "radio")):
            typed.setdefault(name[1], value[1])
    # The first radio of every answer is the first place, which only one answer can have.
    typed |= {name: name[-1] for name in typed if name.startswith("answer-ranking/")}
    for name in re.findall(r'<textarea[^>]* name="([^"]+)"', page):
        typed[name] = "Because it fits."
    return typed


def define(study, kind):
    config = kind_of(kind).check_config({})
    return TaskDefinition.objects.create(study=study, name=kind, kind=kind, config=config)


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_of_any_kind_can_be_tried_before_the_study_has_anything(tea, kind, carol):
    define(tea, kind)
    carol.get("/studies/tea/tasks/")
    before = everything()
    page = carol.get(f"/studies/tea/tasks/{kind}/preview/").text
    assert "this is an example" in page and f'class="judge kind-{kind}' in page
    answer = carol.post(f"/studies/tea/tasks/{kind}/preview/", fields_of(page))
    assert "This answer would be stored:" in answer.text
    assert everything() == before


def test_items_are_shown_in_their_order_and_what_a_batch_would_hold_before(cast, tea, carol):
    task = cast.task(tea, "best")
    for n in range(2):
        cast.candidates(cast.query(tea, f"q{n}", cast.persona(tea, f"p{n}")))
    page = carol.get("/studies/tea/tasks/best/preview/").text
    assert "What should I read about q0?" in page and "this is an example" not in page
    cast.open(tea, items=2, name="more")
    for path, query in (("", "q0"), ("?item=3", "more-q2"), ("?item=4", "q0")):
        page = carol.get(f"/studies/tea/tasks/more/preview/{path}").text
        assert f"What should I read about {query}?" in page
    assert Item.objects.filter(batch__task=task).count() == 0


def test_a_complete_item_and_a_closed_study_can_be_tried_as_well(cast, tea, carol):
    open_kind(cast, tea, "selection", overlap=1)
    Item.objects.update(done=1)
    tea.status = "closed"
    tea.save()
    page = carol.get("/studies/tea/tasks/selection/preview/").text
    answer = carol.post("/studies/tea/tasks/selection/preview/", fields_of(page))
    assert "This answer would be stored:" in answer.text


def test_an_incomplete_answer_gets_the_sentence_that_annotators_get(cast, tea, carol):
    cast.open(tea)
    answer = carol.post("/studies/tea/tasks/best/preview/", {"reason": "Half a thought."})
    text = answer.text
    assert answer.status_code == 400
    assert "Choose one of the answers first." in text and "Half a thought." not in text


def test_it_is_in_the_language_asked_for_and_leaves_the_readers_own(cast, tea, login):
    client = login(cast.person("Carol"))
    define(tea, "selection")
    page = client.get("/studies/tea/tasks/selection/preview/?language=ko").text
    assert '<html lang="ko"' in page
    assert '<html lang="en"' in client.get("/studies/tea/overview/").text


@pytest.mark.parametrize("query", ["item=x", "item=-1", "item=" + "9" * 40, "language=xx"])
def test_nonsense_in_the_address_shows_the_first_item(cast, tea, login, query):
    cast.open(tea)
    answer = login(cast.person("Carol")).get(f"/studies/tea/tasks/best/preview/?{query}")
    assert answer.status_code == 200


def test_a_screen_of_attributes_is_tried_as_a_list(cast, tea, login):
    client = login(cast.person("Carol"))
    config = kind_of("relevance").check_config({"together": True})
    task = tea.tasks.create(name="matter", kind="relevance", overlap=3, config=config)
    address = "/studies/tea/tasks/matter/preview/"

    def shown(path=""):
        page = client.get(f"{address}{path}").text
        assert "This answer" in client.post(f"{address}{path}", fields_of(page)).text
        return re.findall(r'<legend dir="auto">([^<]+)</legend>', page)

    assert len(shown()) == 3  # of the example
    persona = cast.persona(tea)
    for number in range(4):
        persona.attributes.create(external_id=f"a{number}", text=f"Trait {number}.")
    for key in ("q1", "q2"):
        cast.query(tea, key, persona)
    traits = [f"Trait {number}." for number in range(4)]
    before = everything()
    assert sorted(shown()) == traits  # of what a batch would hold
    assert everything() == before
    open_batch(tea, task)
    before = everything()
    assert [sorted(shown(f"?item={number}")) for number in range(3)] == [traits] * 3
    page = client.get(address).text
    assert "item 1 of 2" in page
    assert everything() == before
