import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.candidates import review
from annotation.candidates.models import Budget, GenerationRules, Proposal, Run
from annotation.personas.models import Persona
from tests.candidates.conftest import expand, person, write_all

PAGE = "/studies/tea/generation/"
QUEUE = "/studies/tea/review/"


@pytest.fixture
def carol(cast, mina, model, login):
    return login(cast.person("Carol"))


def text_of(response) -> str:
    return response.content.decode()


def test_a_curator_plans_starts_and_sees_what_happened(carol, tea, script):
    data = {"endpoint": "scripted", "count": 3, "languages": "English\nKorean"}
    plan = text_of(carol.post(f"{PAGE}persona/", {**data, "do": "plan"}))
    assert "Assumed: nothing of this kind was measured" in plan
    assert not Run.objects.exists()
    script.values = [person("A"), person("B"), person("C")]
    answer = carol.post(f"{PAGE}persona/", {**data, "do": "start"}, follow=True)
    assert answer.redirect_chain == [(PAGE, 302)]
    assert "No worker is running" in text_of(answer)
    write_all()
    page = text_of(carol.get(PAGE))
    assert "<dd>3<small>of 3</small></dd>" in page
    assert "<dd>3<small>planned: 3</small></dd>" in page
    assert "<dd>36<small>planned: 3750</small></dd>" in page
    assert 'href="/studies/tea/review/persona/"' in page


def test_a_plan_that_is_started_twice_is_asked_for_once(carol, tea):
    data = {"endpoint": "scripted", "count": 3, "languages": "English"}
    for times in (1, 2):
        plan = text_of(carol.post(f"{PAGE}persona/", {**data, "do": "plan"}))
        newest = re.search(r'name="newest" value="(\d+)"', plan)[1]
        for _click in range(2):
            start = {**data, "newest": newest, "do": "start"}
            assert carol.post(f"{PAGE}persona/", start).status_code == 302
        assert Run.objects.count() == times


def test_a_file_of_texts_is_typed_in_for_the_start(carol, tea):
    file = SimpleUploadedFile("pool.jsonl", b'{"prompt": "What shall I cook tonight?"}\n')
    data = {"endpoint": "scripted", "least": 2, "most": 9, "texts": "Where do I begin here?"}
    page = text_of(carol.post(f"{PAGE}general/", {**data, "file": file, "do": "plan"}))
    typed = re.search(r'<textarea name="texts"[^>]*>(.*?)</textarea>', page, re.S)[1]
    assert typed.split("\n")[-1].startswith("{&quot;prompt&quot;")
    assert "Where do I begin here?" in typed


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff\xfe", "not UTF-8"), (b"{broken", "no JSON object"), (b'{"text": 5}', "has no text")],
)
def test_a_file_that_cannot_be_read_says_so(carol, content, words):
    data = {"endpoint": "scripted", "least": 2, "most": 9}
    file = SimpleUploadedFile("pool.txt", content)
    answer = carol.post(f"{PAGE}general/", {**data, "file": file, "do": "start"})
    assert (answer.status_code, words in text_of(answer)) == (400, True)
    assert not Proposal.objects.exists()


def test_decisions_are_made_in_bulk_and_taken_back(carol, tea, script):
    script.values = [person("Ada Lind"), person("Bo Ek", "nurse"), person("Cy Oh", "diver")]
    expand(tea, 3)
    page = text_of(carol.get(f"{QUEUE}persona/"))
    rows = re.findall(r'name="row" value="([^"]+)"', page)
    assert len(rows) == 3
    carol.post(f"{QUEUE}persona/decide/", {"row": rows[:2], "do": "accept"})
    assert Persona.objects.filter(external_id__startswith="g-").count() == 2
    refused = carol.post(f"{QUEUE}persona/decide/", {"row": rows[2:], "do": "reject"}, follow=True)
    assert "Choose the reason why it is rejected." in text_of(refused)
    undone = carol.post(f"{QUEUE}persona/decide/", {"do": "undo"}, follow=True)
    assert "2 decisions taken back." in text_of(undone)
    assert not Persona.objects.filter(external_id__startswith="g-").exists()
    nothing = carol.post(f"{QUEUE}persona/decide/", {"row": ["x"], "do": "accept"}, follow=True)
    assert "Choose what is meant first." in text_of(nothing)


@pytest.mark.parametrize("page", [PAGE, "/api/v1/studies/tea/generation/"])
def test_runs_ask_the_same_of_the_database_for_one_and_three(carol, tea, script, page):
    counts = []
    for more in (1, 2):
        for _run in range(more):
            script.values = [person()]
            expand(tea)
        with CaptureQueriesContext(connection) as queries:
            assert carol.get(page).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_budget_and_rules_are_saved_or_refused(carol, tea):
    data = {"reviewers": "2", "similarity": "0.8", "length_tolerance": "0.2", "cost": "5"}
    assert carol.post(f"{PAGE}rules/", data).status_code == 302
    assert Budget.objects.get(study=tea).cost == 5
    assert review.rules_of(tea).reviewers == 2
    for wrong in ({"cost": "-1"}, {"similarity": "nan"}, {"reviewers": "9"}, {"tokens": "-4"}):
        assert carol.post(f"{PAGE}rules/", {**data, **wrong}).status_code == 400
    assert GenerationRules.objects.get().similarity == 0.8


def test_a_wording_is_saved_on_its_page(carol, tea):
    page = f"{PAGE}prompts/general/"
    assert "general/1" in text_of(carol.get(page))
    wrong = carol.post(page, {"system": "x", "user": "no place"})
    assert (wrong.status_code, "must name {question}" in text_of(wrong)) == (400, True)
    done = carol.post(page, {"system": "Judge.", "user": "It: {question}"}, follow=True)
    assert "general/tea-1" in text_of(done)
