import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.candidates import generate, writing
from annotation.candidates.forms import offered
from annotation.candidates.models import (
    Budget,
    Candidate,
    GenerationRules,
    Proposal,
    Retrieval,
    Run,
)
from annotation.core.models import Heartbeat
from annotation.personas.models import Persona
from tests.candidates.conftest import Reply, expand, person, text_of, write_all

PAGE = "/studies/tea/candidates/"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def carol(asked, cast, login):
    return login(cast.person("Carol"))


def test_a_curator_starts_and_sees_how_far_it_is(carol, fake):
    answer = carol.post(PAGE, {"endpoint": "fake", "strategies": ["A2", "A3"]}, follow=True)
    assert answer.redirect_chain == [(PAGE, 302)]
    for words in ("2 answers were asked for.", 'hx-trigger="every 2s"', "No worker is running"):
        assert words in text_of(answer)
    assert {row.strategy for row in Candidate.objects.all()} == {"A2", "A3"}
    Heartbeat.objects.create(name="worker", at=timezone.now())
    assert "No worker is running" not in text_of(carol.get(PAGE))


def test_a_plan_of_answers_and_rewrites_says_what_they_take_and_asks_for_nothing(carol, tea, fake):
    (source,) = generate.request_answers(tea, strategies=["A1"])
    writing.write_one(source.pk)
    data = {"endpoint": "fake", "strategies": ["A3", "improve"], "do": "plan"}
    page = text_of(carol.post(PAGE, data))
    assert "<dt>Calls</dt><dd>2</dd>" in page
    assert "Assumed: nothing of this kind was measured" in page
    assert list(Candidate.objects.all()) == [source]
    # What is there already is not asked for again.
    again = text_of(carol.post(PAGE, data | {"strategies": ["A1"]}))
    assert "<dt>Calls</dt><dd>0</dd>" in again
    carol.post(PAGE, data | {"do": ""})
    assert Candidate.objects.count() == 3


def test_the_live_part_is_a_fragment_that_ends_by_itself(carol, tea, fake):
    (candidate,) = generate.request_answers(tea, strategies=["A3"])
    part = carol.get(PAGE, headers=HTMX)
    assert text_of(part).strip().startswith('<section id="progress"')
    assert 'hx-trigger="every 2s"' in text_of(part) and "HX-Refresh" not in part.headers
    writing.write_one(candidate.pk)
    part = carol.get(PAGE, headers=HTMX)
    assert "hx-trigger" not in text_of(part) and part.headers["HX-Refresh"] == "true"


def test_failures_are_named_and_tried_again(carol, tea, fake):
    fake.replies = [Reply(status=402, body=b"BODY-CANARY")]
    (candidate,) = generate.request_answers(tea, strategies=["A3"])
    writing.write_one(candidate.pk)
    page = text_of(carol.get(PAGE))
    assert "The account at “fake” has no credit or quota left." in page
    assert "BODY-CANARY" not in page
    assert "1 answer is tried again." in text_of(carol.post(f"{PAGE}retry/", follow=True))
    candidate.refresh_from_db()
    assert candidate.status == "requested"


def test_a_form_without_a_choice_is_refused_with_a_sentence(carol):
    page = text_of(carol.post(PAGE, {"endpoint": "gone"}))
    assert "gone is not one of the available choices" in page
    assert "This field is required." in page
    assert not Candidate.objects.exists()


def test_a_study_without_queries_and_a_site_without_endpoints_say_so(
    tea, cast, login, fake, settings
):
    client = login(cast.person("Carol"))
    page = client.post(PAGE, {"endpoint": "fake", "strategies": ["A3"]})
    assert "This study has no queries to answer yet." in text_of(page)
    settings.ENDPOINTS = []
    assert "No endpoint is configured." in text_of(client.get(PAGE))
    settings.ENDPOINTS = [{"name": "x"}]
    assert "Endpoint x, base_url: Field required." in text_of(client.get(PAGE))


@pytest.mark.parametrize(
    ("declared", "names"),
    [([], ["A3"]), (["A3"], ["A3"]), (["search-raw", "A3"], ["A3", "search-raw"])],
)
def test_a_study_without_personas_is_offered_what_it_declares(cast, tea, declared, names):
    Retrieval.objects.create(study=tea, strategies=declared)
    assert list(offered(tea)) == names


def test_a_study_with_personas_is_offered_what_its_personas_and_answers_allow(cast, tea):
    persona = cast.persona(tea)
    assert list(offered(tea)) == ["A1", "A2", "A3", "mismatch"]
    persona.attributes.create(external_id="a1", text="Grows ferns.")
    cast.candidates(cast.query(tea, persona=persona), 1)
    assert list(offered(tea)) == ["A1", "A2", "A3", "attributes", "mismatch", "improve", "degrade"]


def test_sources_are_saved_and_a_search_needs_one(cast, tea, login):
    client = login(cast.person("Carol"))
    sources = {"strategies": ["A3"], "results": 9}
    for change in ({}, {"results": ""}):  # what is left empty stays as it is
        assert client.post("/studies/tea/sources/", sources | change).status_code == 302
    refused = client.post("/studies/tea/sources/", sources | {"strategies": ["A3", "search"]})
    assert refused.status_code == 400
    assert "Choose where the chosen arms search." in text_of(refused)
    stored = Retrieval.objects.get(study=tea)
    assert (stored.strategies, stored.results) == (["A3"], 9)


GENERATION = "/studies/tea/generation/"
QUEUE = "/studies/tea/review/"


@pytest.fixture
def curator(cast, mina, model, login):
    return login(cast.person("Carol"))


def test_a_curator_plans_starts_and_sees_what_happened(curator, tea, script):
    data = {"endpoint": "scripted", "count": 3, "languages": "English\nKorean"}
    plan = text_of(curator.post(f"{GENERATION}persona/", {**data, "do": "plan"}))
    assert "Assumed: nothing of this kind was measured" in plan
    assert not Run.objects.exists()
    script.values = [person("A"), person("B"), person("C")]
    answer = curator.post(f"{GENERATION}persona/", {**data, "do": "start"}, follow=True)
    assert answer.redirect_chain == [(GENERATION, 302)]
    assert "No worker is running" in text_of(answer)
    write_all()
    page = text_of(curator.get(GENERATION))
    for figure in ("3<small>of 3", "3<small>planned: 3", "36<small>planned: 3750"):
        assert f"<dd>{figure}</small></dd>" in page
    assert 'href="/studies/tea/review/persona/"' in page


def test_a_plan_that_is_started_twice_is_asked_for_once(curator, tea):
    data = {"endpoint": "scripted", "count": 3, "languages": "English"}
    for times in (1, 2):
        plan = text_of(curator.post(f"{GENERATION}persona/", {**data, "do": "plan"}))
        newest = re.search(r'name="newest" value="(\d+)"', plan)[1]
        for _click in range(2):
            start = {**data, "newest": newest, "do": "start"}
            assert curator.post(f"{GENERATION}persona/", start).status_code == 302
        assert Run.objects.count() == times


def test_a_file_of_texts_is_typed_in_for_the_start(curator, tea):
    file = SimpleUploadedFile("pool.jsonl", b'{"prompt": "What shall I cook tonight?"}\n')
    data = {"endpoint": "scripted", "least": 2, "most": 9, "texts": "Where do I begin here?"}
    page = text_of(curator.post(f"{GENERATION}general/", {**data, "file": file, "do": "plan"}))
    typed = re.search(r'<textarea name="texts"[^>]*>(.*?)</textarea>', page, re.S)[1]
    assert typed.split("\n")[-1].startswith("{&quot;prompt&quot;")
    assert "Where do I begin here?" in typed


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff\xfe", "not UTF-8"), (b"{broken", "no JSON object"), (b'{"text": 5}', "has no text")],
)
def test_a_file_that_cannot_be_read_says_so(curator, content, words):
    data = {"endpoint": "scripted", "least": 2, "most": 9}
    file = SimpleUploadedFile("pool.txt", content)
    answer = curator.post(f"{GENERATION}general/", {**data, "file": file, "do": "start"})
    assert (answer.status_code, words in text_of(answer)) == (400, True)
    assert not Proposal.objects.exists()


def test_decisions_are_made_in_bulk_and_taken_back(curator, tea, script):
    script.values = [person("Ada Lind"), person("Bo Ek", "nurse"), person("Cy Oh", "diver")]
    expand(tea, 3)
    page = text_of(curator.get(f"{QUEUE}persona/"))
    rows = re.findall(r'name="row" value="([^"]+)"', page)
    assert len(rows) == 3
    made = Persona.objects.filter(external_id__startswith="g-")
    for sent, words, count in [
        ({"row": rows[:2], "do": "accept"}, "2 accepted.", 2),
        ({"row": rows[2:], "do": "reject"}, "Choose the reason why it is rejected.", 2),
        ({"do": "undo"}, "2 decisions taken back.", 0),
        ({"row": ["x"], "do": "accept"}, "Choose what is meant first.", 0),
    ]:
        answer = curator.post(f"{QUEUE}persona/decide/", sent, follow=True)
        assert (words in text_of(answer), made.count()) == (True, count)


@pytest.mark.parametrize("page", [GENERATION, "/api/v1/studies/tea/generation/"])
def test_runs_ask_the_same_of_the_database_for_one_and_three(curator, tea, script, page):
    counts = []
    for more in (1, 2):
        for _run in range(more):
            script.values = [person()]
            expand(tea)
        with CaptureQueriesContext(connection) as queries:
            assert curator.get(page).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_budget_and_rules_are_saved_or_refused(curator, tea):
    data = {"reviewers": "2", "similarity": "0.8", "length_tolerance": "0.2", "cost": "5"}
    assert curator.post(f"{GENERATION}rules/", data).status_code == 302
    assert Budget.objects.get(study=tea).cost == 5
    for wrong in ({"cost": "-1"}, {"similarity": "nan"}, {"reviewers": "9"}, {"tokens": "-4"}):
        assert curator.post(f"{GENERATION}rules/", {**data, **wrong}).status_code == 400
    # An empty limit is none; an empty rule stays as it is.
    empty = dict.fromkeys(data, "")
    assert curator.post(f"{GENERATION}rules/", empty).status_code == 302
    rules = GenerationRules.objects.get(study=tea)
    assert (rules.reviewers, rules.similarity, rules.length_tolerance) == (2, 0.8, 0.2)
    assert Budget.objects.get(study=tea).cost is None


def test_a_wording_is_saved_on_its_page(curator, tea):
    page = f"{GENERATION}prompts/general/"
    assert "general/1" in text_of(curator.get(page))
    wrong = curator.post(page, {"system": "x", "user": "no place"})
    assert (wrong.status_code, "must name {question}" in text_of(wrong)) == (400, True)
    done = curator.post(page, {"system": "Judge.", "user": "It: {question}"}, follow=True)
    assert "general/tea-1" in text_of(done)
