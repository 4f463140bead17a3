import pytest
from django.utils import timezone

from annotation.candidates import generate, writing
from annotation.candidates.forms import offered
from annotation.candidates.models import Budget, Candidate, GenerationRules, Retrieval
from annotation.core.models import Heartbeat
from tests.candidates.conftest import Reply

PAGE = "/studies/tea/candidates/"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def carol(asked, cast, login):
    return login(cast.person("Carol"))


def test_a_curator_starts_and_sees_how_far_it_is(carol, fake):
    answer = carol.post(PAGE, {"endpoint": "fake", "strategies": ["A2", "A3"]}, follow=True)
    assert answer.redirect_chain == [(PAGE, 302)]
    page = answer.content.decode()
    assert "2 answers were asked for." in page
    assert 'hx-trigger="every 2s"' in page
    assert "No worker is running" in page
    assert [row.strategy for row in Candidate.objects.order_by("strategy")] == ["A2", "A3"]
    Heartbeat.objects.create(name="worker", at=timezone.now())
    assert "No worker is running" not in carol.get(PAGE).content.decode()


def test_a_plan_of_answers_and_rewrites_says_what_they_take_and_asks_for_nothing(carol, tea, fake):
    (source,) = generate.request_answers(tea, strategies=["A1"])
    writing.write_one(source.pk)
    data = {"endpoint": "fake", "strategies": ["A3", "improve"], "do": "plan"}
    page = carol.post(PAGE, data).content.decode()
    assert "<dt>Calls</dt><dd>2</dd>" in page
    assert "Assumed: nothing of this kind was measured" in page
    assert list(Candidate.objects.all()) == [source]
    # What is there already is not asked for again.
    assert (
        "<dt>Calls</dt><dd>0</dd>"
        in carol.post(PAGE, data | {"strategies": ["A1"]}).content.decode()
    )
    carol.post(PAGE, data | {"do": ""})
    assert Candidate.objects.count() == 3


def test_the_live_part_is_a_fragment_that_ends_by_itself(carol, tea, fake):
    (candidate,) = generate.request_answers(tea, strategies=["A3"])
    part = carol.get(PAGE, headers=HTMX)
    assert part.content.decode().strip().startswith('<section id="progress"')
    assert "<html" not in part.content.decode()
    assert 'hx-trigger="every 2s"' in part.content.decode()
    assert "HX-Refresh" not in part.headers
    writing.write_one(candidate.pk)
    part = carol.get(PAGE, headers=HTMX)
    assert "hx-trigger" not in part.content.decode()
    assert part.headers["HX-Refresh"] == "true"


def test_failures_are_named_and_tried_again(carol, tea, fake):
    fake.replies = [Reply(status=402, body=b"BODY-CANARY")]
    (candidate,) = generate.request_answers(tea, strategies=["A3"])
    writing.write_one(candidate.pk)
    page = carol.get(PAGE).content.decode()
    assert "The account at “fake” has no credit or quota left." in page
    assert "BODY-CANARY" not in page
    assert "1 answer is tried again." in carol.post(f"{PAGE}retry/", follow=True).content.decode()
    candidate.refresh_from_db()
    assert candidate.status == "requested"


def test_a_form_without_a_choice_is_refused_with_a_sentence(carol):
    page = carol.post(PAGE, {"endpoint": "gone"}).content.decode()
    assert "gone is not one of the available choices" in page
    assert "This field is required." in page
    assert not Candidate.objects.exists()


def test_a_study_without_queries_and_a_site_without_endpoints_say_so(
    tea, cast, login, fake, settings
):
    client = login(cast.person("Carol"))
    page = client.post(PAGE, {"endpoint": "fake", "strategies": ["A3"]}).content.decode()
    assert "This study has no queries to answer yet." in page
    settings.ENDPOINTS = []
    assert "No endpoint is configured." in client.get(PAGE).content.decode()
    settings.ENDPOINTS = [{"name": "x"}]
    assert "Endpoint x, base_url: Field required." in client.get(PAGE).content.decode()


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


def test_the_question_alone_needs_no_source_and_a_search_needs_one(cast, tea, login):
    client = login(cast.person("Carol"))
    data = {"strategies": ["A3"], "results": 6}
    assert client.post("/studies/tea/sources/", data).status_code == 302
    assert Retrieval.objects.get(study=tea).strategies == ["A3"]
    refused = client.post("/studies/tea/sources/", data | {"strategies": ["A3", "search"]})
    assert refused.status_code == 400
    assert "Choose where the chosen arms search." in refused.content.decode()
    assert Retrieval.objects.get(study=tea).strategies == ["A3"]


def test_what_is_left_empty_of_sources_and_rules_stays_as_it_is(cast, tea, login):
    client = login(cast.person("Carol"))
    sources = {"strategies": ["A3"], "results": 9}
    assert client.post("/studies/tea/sources/", sources).status_code == 302
    assert client.post("/studies/tea/sources/", sources | {"results": ""}).status_code == 302
    assert Retrieval.objects.get(study=tea).results == 9
    rules = {"reviewers": 2, "similarity": "0.7", "length_tolerance": "0.2", "tokens": 5}
    assert client.post("/studies/tea/generation/rules/", rules).status_code == 302
    empty = dict.fromkeys(rules, "")
    assert client.post("/studies/tea/generation/rules/", empty).status_code == 302
    stored = GenerationRules.objects.get(study=tea)
    assert (stored.reviewers, stored.similarity, stored.length_tolerance) == (2, 0.7, 0.2)
    assert Budget.objects.get(study=tea).tokens is None
