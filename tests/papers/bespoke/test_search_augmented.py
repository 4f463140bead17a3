"""What a model is shown: the question, sources, a history whose owner agreed; never the need."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from annotation.candidates import generate, retrieve, writing
from annotation.candidates.endpoints import CallFailed
from annotation.candidates.models import Candidate, Retrieval
from annotation.candidates.strategies import Source, by_name
from annotation.core.errors import DomainError
from annotation.histories import consent
from annotation.histories import erase as histories
from annotation.histories.models import Session
from tests.papers.bespoke.conftest import NEED, SEND, answered, ask, keep
from tests.scripted_endpoint import ScriptedEndpoint

ARMS = [name for name, strategy in by_name().items() if strategy.searches]


def sent(fake):
    return [raw.decode() for _path, _headers, raw in fake.requests]


def test_the_need_is_in_no_request_but_the_oracles(cast, bespoke, fake):
    Retrieval.objects.update(oracle=True)
    ask(bespoke, cast.person("Ann"))
    for arm in ARMS:
        fake.requests.clear()
        (row,) = answered(bespoke, fake, strategies=[arm])
        assert (row.status, row.strategy) == ("done", arm)
        assert any(NEED in raw for raw in sent(fake)) == (arm == "search-oracle")


def test_the_oracle_is_refused_where_the_study_is_no_such_experiment(cast, bespoke):
    ask(bespoke, cast.person("Ann"))
    assert generate.request_answers(bespoke, endpoint="fake", strategies=["search-oracle"]) == []


def test_a_history_goes_only_to_an_endpoint_that_its_owner_agreed_to(cast, bespoke, fake):
    ask(bespoke, cast.person("Ann"))
    ask(bespoke, cast.person("Bo"), "Which boat goes to the sea?")
    rows = answered(bespoke, fake, strategies=ARMS[:-1])
    assert {row.query.owner.name for row in rows if "-" in row.strategy} == {"Ann"}
    everything = "\n".join(sent(fake))
    assert "ANN-CANARY" in everything
    assert "BO-CANARY" not in everything
    of_bo = [raw for raw in sent(fake) if "Which boat" in raw]
    assert len(of_bo) == 1
    assert "ANN-CANARY" not in of_bo[0]


def test_consent_withdrawn_after_the_request_stops_the_answer(bespoke, fake, ann):
    ask(bespoke, ann)
    (row,) = generate.request_answers(bespoke, endpoint="fake", strategies=["search-raw"])
    consent.withdraw(ann, bespoke, SEND, "fake")
    writing.write_one(row.pk)
    row.refresh_from_db()
    assert (row.status, row.error_code) == ("failed", "no_consent")
    assert fake.requests == []


def test_the_sources_shown_are_kept_with_the_answer(cast, bespoke, fake):
    ask(bespoke, cast.person("Ann"))
    text = "Take it [1]. <think>hm</think>See https://example.org/trains for times."
    (row,) = answered(bespoke, fake, text, strategies=["search"])
    kinds = [(one["kind"], one["title"]) for one in row.parameters["sources"]]
    assert kinds == [("history", "Trains"), ("documents", "Lines")]
    assert row.urls == ["https://example.org/trains"]
    assert "[1]" not in row.text
    assert "hm" not in row.text
    assert "https" not in row.text


def test_an_endpoints_own_search_is_switched_on_and_its_sources_are_kept(cast, bespoke, settings):
    ask(bespoke, cast.person("Ann"))
    links = [("Trains", "https://example.org/a"), ("", "https://example.org/b"),
             ("Again", "https://example.org/a"), ("No page", "javascript:alert(1)")]  # fmt: skip
    with ScriptedEndpoint(lambda *_: "The night train.", sources=links) as searching:
        settings.ENDPOINTS = [searching.config(web_search={"web_search_options": {}})]
        (row, alone) = generate.request_answers(bespoke, strategies=["search-endpoint", "A3"])
        writing.write_one(row.pk)
        writing.write_one(alone.pk)
    row.refresh_from_db()
    alone.refresh_from_db()
    stored = [(one["kind"], one["title"], one["url"]) for one in row.parameters["sources"]]
    assert stored == [
        ("endpoint", "Trains", "https://example.org/a"),
        ("endpoint", "", "https://example.org/b"),
    ]
    assert row.urls == ["https://example.org/a", "https://example.org/b"]
    assert row.text == "The night train."
    assert ("sources" in alone.parameters, alone.urls) == (False, [])
    assert ["web_search_options" in request for request in searching.requests] == [True, False]


def test_an_endpoint_without_a_search_of_its_own_is_not_asked_for_one(cast, bespoke):
    ask(bespoke, cast.person("Ann"))
    assert generate.request_answers(bespoke, endpoint="fake", strategies=["search-endpoint"]) == []


def test_an_erased_history_leaves_prompts_and_sources_too(bespoke, fake, ann):
    ask(bespoke, ann)
    answered(bespoke, fake)
    assert "ANN-CANARY" in str(list(Candidate.every.values("prompt", "parameters")))
    histories.forget(ann)
    assert retrieve.erase_withdrawn() == 2
    assert "ANN-CANARY" not in str(list(Candidate.every.values()))
    assert retrieve.erase_withdrawn() == 0


@pytest.mark.parametrize("arm", ["search", "search-raw", "search-aware-selected"])
def test_one_erased_session_leaves_the_answers_it_was_shown_for(bespoke, fake, arm, ann):
    ask(bespoke, ann)
    (row,) = answered(bespoke, fake, "A profile.", "The first.", strategies=[arm])
    other = keep(ann, "Bread", "How do I bake bread?")
    histories.sessions(ann, [other.pk])
    assert retrieve.erase_withdrawn() == 0
    histories.sessions(ann, Session.objects.filter(owner=ann))
    assert retrieve.erase_withdrawn() == 1
    row.refresh_from_db()
    assert (row.status, row.prompt) == ("done", None)
    assert "ANN-CANARY" not in str(row.parameters)
    assert retrieve.erase_withdrawn() == 0


def test_a_study_without_sources_asks_no_search_arm(cast, bespoke):
    ask(bespoke, cast.person("Ann"))
    Retrieval.objects.all().delete()
    assert generate.request_answers(bespoke, endpoint="fake", strategies=["search"]) == []


def test_a_query_that_is_still_written_is_not_answered(bespoke, ann):
    from annotation.queries import owner_queries

    owner_queries.write_query(owner_queries.begin(bespoke, ann), ann, text="Half a thought")
    with pytest.raises(DomainError, match="no queries"):
        generate.request_answers(bespoke, endpoint="fake")


@pytest.fixture
def searxng(settings):
    """A search server on loopback that answers every GET with ``body``."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        body = json.dumps({"results": [{"title": "T", "url": "https://t.example", "content": "6"}]})

        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(Handler.body.encode())

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    settings.SEARCH_URL = f"http://127.0.0.1:{server.server_address[1]}/search"
    yield Handler, asked
    server.shutdown()
    server.server_close()


def test_the_web_is_asked_as_searxng_wants_it(searxng):
    assert retrieve.web("night train", 3) == [
        Source("web", "https://t.example", "T", "https://t.example", "6")
    ]
    assert searxng[1] == ["/search?q=night+train&format=json"]


@pytest.mark.parametrize("body", ["no json", "[]", "{}", '{"results": 7}', '{"results": [7]}'])
def test_a_search_server_that_makes_no_sense_is_a_failure_to_try_again(searxng, body):
    searxng[0].body = body
    with pytest.raises(CallFailed) as failure:
        retrieve.web("night train", 3)
    assert (failure.value.code, failure.value.retry) == ("search", True)


def test_without_a_search_server_the_web_cannot_be_asked(settings):
    settings.SEARCH_URL = ""
    with pytest.raises(CallFailed):
        retrieve.web("night train", 3)
