"""Stage 3 of PersonalBench: items from attributes that a majority of people held relevant."""

import json
from functools import partial

import pytest
from django.core.management import CommandError

from annotation.candidates.models import Candidate
from annotation.core.errors import DomainError
from annotation.judging.batches.open import add_items, open_batch
from annotation.judging.batches.preparation import request_answers, summary_of
from annotation.judging.models import Item
from annotation.personas.models import Attribute
from annotation.queries.models import Query
from annotation.studies.models import TaskDefinition
from tests import everykind
from tests.commands import run

pytestmark = pytest.mark.django_db
PAGE = "/studies/mix/tasks/response/open/"


@pytest.fixture
def mix(cast, tmp_path, settings):
    """Attribute a1 is relevant to q1 by two of three people; q1 has a generic answer."""
    settings.ENDPOINTS = [{"name": "fake", "base_url": "http://127.0.0.1:9/v1", "model": "m"}]
    study = everykind.study(tmp_path)
    people = [cast.member(n, study, "annotator") for n in ("Ann", "Bo", "Chen")]
    everykind.judge(study, people[:2], only=["i-m1"])
    everykind.judge(study, people, only=["i-a1"])
    cast.member("Carol", study, "curator")
    return study


@pytest.fixture
def task(mix):
    return TaskDefinition.objects.create(
        study=mix, name="response", version=1, kind="preference", overlap=3,
        config={"options": 2, "points": 5, "attribute": True},
    )  # fmt: skip


def write(study):
    """What a worker would do with the answers that are asked for."""
    for row in Candidate.objects.filter(study=study, status="requested"):
        text = f"{row.strategy} {row.attribute_id}"
        Candidate.objects.filter(pk=row.pk).update(status="done", text=text)


def test_an_answer_is_asked_for_each_attribute_that_a_majority_held_relevant(mix, task):
    with pytest.raises(DomainError, match="no answer written from it"):
        open_batch(mix, task)
    (row,) = request_answers(mix, task, endpoint="fake")
    assert (row.strategy, row.attribute.external_id) == ("attributes", "a1")
    assert request_answers(mix, task, endpoint="fake") == []
    write(mix)
    batch = open_batch(mix, task)
    (item,) = batch.items.all()
    assert (item.attribute.external_id, item.query.external_id) == ("a1", "q1")
    options = {o.candidate.strategy for o in item.options.select_related("candidate")}
    assert options == {"generic", "attributes"}
    assert open_batch(mix, task) is None


def test_half_of_the_people_is_no_majority_and_what_is_missing_is_said(mix, task):
    Item.objects.filter(external_id="i-m1").update(overlap=4)
    for ask in (open_batch, partial(request_answers, endpoint="fake")):
        with pytest.raises(DomainError, match="relevance of attributes judged first"):
            ask(mix, task)


def test_a_prompt_without_a_generic_answer_is_named_and_gets_one(mix, task):
    Candidate.objects.filter(strategy="generic").update(strategy="A1")
    assert {r.strategy for r in request_answers(mix, task, endpoint="fake")} == {"attributes", "A3"}
    Candidate.objects.filter(strategy="attributes").update(status="done", text="Ferns.")
    with pytest.raises(DomainError, match="prompt has no generic answer"):
        open_batch(mix, task)
    write(mix)
    assert open_batch(mix, task).size == 1


def test_an_item_without_attribute_is_refused_where_the_task_shows_one(mix, task):
    query = Query.objects.get(external_id="q1")
    options = list(query.candidates.values_list("pk", flat=True)[:2])
    row = {"external_id": "x", "overlap": 3, "query": query, "candidates": options}
    with pytest.raises(DomainError, match="names none"):
        add_items(mix, task, [row])


def test_the_page_says_what_is_missing_asks_for_it_and_then_opens(mix, task, cast, login):
    client = login(cast.person("Carol"))
    assert "Write 1 missing answer" in client.get(PAGE).text
    assert client.post(PAGE, {"endpoint": "fake"}).url == "/studies/mix/candidates/"
    assert client.post(PAGE, {"endpoint": "nobody"}).url == PAGE
    write(mix)
    summary = summary_of(mix, [task])
    assert (summary.items, summary.lacking) == (1, "")
    client.post(PAGE, {"seen": summary.digest})
    assert Item.objects.filter(batch__task=task).count() == 1


def test_the_command_plans_asks_and_refuses_in_words(mix, task):
    options = ["generate", "mix", "--task", "response", "--endpoint", "fake", "--json"]
    assert json.loads(run(*options, "--dry-run"))["calls"] == 1
    assert not Candidate.objects.filter(status="requested").exists()
    run(*options)
    assert Candidate.objects.filter(status="requested").count() == 1
    for command, name, words in (
        ("open_batch", "response", "no answer written"),
        ("generate", "none", "no task “none”"),
    ):
        with pytest.raises(CommandError, match=words):
            run(command, "mix", "--task", name)


def test_two_attributes_of_one_prompt_get_an_answer_and_an_item_each(mix, task, cast):
    other = Attribute.objects.get(external_id="a2")
    matter = mix.tasks.get(name="matter")
    query = Query.objects.get(external_id="q1")
    row = {"external_id": "i-m2", "overlap": 1, "query": query, "attribute": other}
    add_items(mix, matter, [row])
    everykind.SAYS["i-m2"] = [{"relevant": "yes"}]
    try:
        everykind.judge(mix, [cast.person("Chen")], only=["i-m2"])
    finally:
        del everykind.SAYS["i-m2"]
    assert len(request_answers(mix, task, endpoint="fake")) == 2
    write(mix)
    assert open_batch(mix, task).size == 2
