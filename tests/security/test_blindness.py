"""Whoever judges sees the answers and nothing that tells where they come from."""

import json
import re

import pytest
from django.urls import reverse

from annotation.candidates.models import Candidate
from annotation.core.errors import DomainError
from annotation.evaluation import raters
from annotation.judging.batches.open import open_batch
from annotation.judging.kinds import kind_of
from annotation.judging.kinds.planning import Scope
from annotation.judging.models import Item, Slot
from annotation.judging.work import queue, submit
from annotation.studies.models import TaskDefinition

CANARIES = {
    "model": "secret-model-7b",
    "strategy": "canary-strategy",
    "endpoint": "canary-endpoint",
    "template": "canary-template",
    "request_id": "canary-request",
    "prompt_digest": "canary-digest",
    "error": "canary-error",
}
# What a claim says, and nothing else.
CLAIMED = {
    *("slot", "task", "kind", "query", "turns", "need", "persona", "options", "lease_expires_at"),
    *("question", "settings", "questions", "attribute", "conversations", "gold", "claims"),
    "proposal",
}


@pytest.fixture
def blind(cast, tea, bo):
    """An open study in which every trace of an answer's origin carries a canary."""
    cast.open(tea, items=3, reason="optional")
    for number, candidate in enumerate(Candidate.objects.all()):
        values = {name: f"{value}-{number}" for name, value in CANARIES.items()}
        Candidate.objects.filter(pk=candidate.pk).update(
            **values,
            prompt={"messages": "canary-prompt"},
            parameters={"seed": "canary-seed"},
            urls=["https://canary-url.example"],
            external_id=f"canary-id-{number}",
        )
    slot = Slot.objects.get(pk=queue.claim(tea, bo))
    choice = str(slot.item.options.first().candidate_id)
    data = {"choice": choice, "reason": "canary-reason-of-Bo"}
    submit.submit(tea, slot.pk, bo, data, key="canary-key")
    return tea


def everything(response) -> str:
    return f"{response.headers} {response.cookies} {response.content.decode()}"


def traces(text: str) -> set:
    found = set(re.findall(r"canary[-\w]*|secret-model[-\w]*", text))
    return found | set(
        re.findall(r"\bvotes_\d|\bA[123]\b|strategy|bo@example", text, re.IGNORECASE)
    )


def test_no_page_and_no_answer_of_the_api_holds_a_trace_of_origin_or_of_others_votes(
    blind, login, ann
):
    client = login(ann)
    page = client.get(reverse("judge", args=["tea"]))
    claimed = client.post(reverse("api-claim", args=["tea"]), content_type="application/json")
    slot = claimed.json()["slot"]
    refused = client.post(reverse("judge", args=["tea"]), {"slot": slot, "key": "k"})
    wrong = client.post(
        reverse("api-judgment", args=[slot]),
        {"choice": "x"},
        "application/json",
        headers={"Idempotency-Key": "k"},
    )
    choice = claimed.json()["options"][0]["id"]
    stored = client.post(
        reverse("api-judgment", args=[slot]),
        {"choice": choice},
        "application/json",
        headers={"Idempotency-Key": "k"},
    )
    skipped = client.get(reverse("judge", args=["tea"]))
    others = [client.get(reverse(name, args=["tea"])) for name in ("guideline", "consent")]
    answers = [page, claimed, refused, wrong, stored, skipped, *others, client.get("/")]
    assert [one.status_code for one in answers] == [200, 200, 400, 400, 201, 200, 200, 200, 200]
    assert [traces(everything(one)) for one in answers] == [set()] * len(answers)
    assert set(claimed.json()) == CLAIMED
    assert {frozenset(option) for option in claimed.json()["options"]} == {
        frozenset(["id", "text"])
    }


def test_the_canaries_are_there_to_be_leaked(blind):
    assert traces(str(list(Candidate.objects.values()))) > {
        "canary-strategy-0",
        "secret-model-7b-0",
    }


def test_the_pages_of_two_items_differ_in_the_answers_alone(cast, tea, login):
    """Same texts, other strategies and models: the same page, ids, tokens and white space apart."""
    cast.open(tea, items=2)
    for candidate in Candidate.objects.select_related("query"):
        number = candidate.external_id[-1]
        late = candidate.query.external_id.endswith("2")
        Candidate.objects.filter(pk=candidate.pk).update(
            text=f"Answer {number}",
            strategy="x" * 40 if late else "A1",
            model="m" * (200 if late else 1),
        )
    tea.queries.update(text="The same question?")
    client = login(cast.person("Ann"))
    pages = []
    for _ in range(2):
        page = client.get(reverse("judge", args=["tea"])).content.decode()
        slot = Slot.objects.get(status="held", annotator__name="Ann")
        choice = str(slot.item.options.first().candidate_id)
        submit.submit(tea, slot.pk, cast.person("Ann"), {"choice": choice}, key=str(slot.pk))
        page = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", page)
        page = re.sub(r'(csrfmiddlewaretoken" value=")\w+', r"\1", page)
        # The first page has no way back to a last answer; white space is the template's.
        page = re.sub(r'(?s)<a class="last".*?</a>', "", page)
        page = re.sub(r"Answer \d(?=<)|\d of \d judged", "", page)
        pages.append(re.sub(r"\s+", " ", page))
    assert pages[0] == pages[1]


@pytest.fixture
def controlled(cast, tea):
    """A task of three answers, one of them a generic control, that hides fields of the persona."""
    profile = {
        "Demographics": {"Age": "canary-age", "Career_Information": "baker"},
        "Preference": {"Travel": {"Leisure_Travel": "canary-travel"}, "Social": "choirs"},
    }
    persona = cast.persona(tea, **profile)
    cast.candidates(cast.query(tea, "q1", persona), 5)
    task = cast.task(tea, "best", options=3, hidden=["Demographics.Age", "Preference.Travel"])
    open_batch(tea, task, scope=Scope(control=True))
    return tea


def test_neither_hidden_fields_nor_the_control_show_on_the_page_in_the_api_or_to_models(
    controlled, login, ann
):
    """What is shown stays the same, to the byte, whichever answer is the control."""
    client = login(ann)
    options = list(Item.objects.get().options.values_list("candidate", flat=True))
    shown = set()
    for control in options:
        Candidate.objects.filter(pk__in=options).update(strategy="A1", model="large", urls=["x"])
        Candidate.objects.filter(pk=control).update(strategy="A3", model="small", urls=[])
        page = client.get(reverse("judge", args=["tea"])).content.decode()
        page = re.sub(
            r'(csrfmiddlewaretoken" value="|nonce[^"]*"|"X-CSRFToken": ")\w+', r"\1", page
        )
        claimed = client.post(reverse("api-claim", args=["tea"]), content_type="application/json")
        given = {key: value for key, value in claimed.json().items() if key != "lease_expires_at"}
        asked = [
            question.messages()
            for question in raters.questions(raters.units(controlled, "best", "rater"))
        ]
        assert len(asked) == 2
        shown.add((page, json.dumps(given), json.dumps(asked)))
    assert len(shown) == 1
    everything = "".join(shown.pop())
    assert "baker" in everything
    assert "choirs" in everything
    for hidden in ("canary-age", "canary-travel", "Leisure", "Demographics.Age", "A3", "generic"):
        assert hidden not in everything


@pytest.mark.parametrize(
    ("strategies", "items"), [(["A1", "A2", "A3"], 1), (["A1", "A2"], 0), (["A3"], 0)]
)
@pytest.mark.parametrize("options", [2, 3])
def test_a_control_stands_alone_among_the_other_answers(cast, tea, strategies, items, options):
    answers = cast.candidates(cast.query(tea, "q1", cast.persona(tea)), len(strategies) * 2)
    for answer, strategy in zip(answers, strategies * 2, strict=True):
        Candidate.objects.filter(pk=answer.pk).update(strategy=strategy)
    task = cast.task(tea, "best", options=options)
    if not items:
        with pytest.raises(DomainError, match="No query has a generic answer"):
            open_batch(tea, task, scope=Scope(control=True))
        return
    open_batch(tea, task, scope=Scope(control=True))
    (item,) = Item.objects.all()
    shown = sorted(item.options.values_list("candidate__strategy", flat=True))
    assert (shown.count("A3"), len(shown)) == (1, options)


def test_a_task_that_compares_nothing_takes_no_control(tea):
    task = TaskDefinition.objects.create(
        study=tea, name="rank", kind="ranking", config=kind_of("ranking").check_config({})
    )
    with pytest.raises(DomainError, match="compares no answers"):
        open_batch(tea, task, scope=Scope(control=True))


def test_an_annotator_learns_nothing_from_the_pages_of_others(blind, cast, login):
    client = login(cast.person("Ann"))
    for name in ("study", "tasks", "candidates", "queries", "releases", "people", "api-judgments"):
        response = client.get(reverse(name, args=["tea"]))
        assert response.status_code == 403
        assert traces(everything(response)) == set()
