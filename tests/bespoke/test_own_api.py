"""Owners' queries and gold responses by program."""

import pytest

from annotation.queries.models import GoldResponse, Query
from tests.api.test_judging_api import Caller

QUERIES = "studies/tea/own-queries/"
NEED = {"want": "A quiet route by the river."}


@pytest.fixture
def call(cast, bespoke, client):
    return Caller(client, cast.person("Ann"))


def test_a_query_is_written_finished_and_has_a_gold_response(bespoke, call):
    made = call("POST", QUERIES, {"text": "Where shall I walk?"})
    assert (made.status_code, made.json()["ready"]) == (201, False)
    place = f"{QUERIES}{made.json()['id']}/"
    refused = call("PUT", place, {"text": "Where shall I walk?", "finish": True})
    assert (refused.status_code, refused.json()["code"]) == (400, "need")
    done = call("PUT", place, {"text": "Where shall I walk?", "guide": NEED, "finish": True})
    assert (done.json()["ready"], done.json()["guide"]) == (True, NEED)
    assert [row["id"] for row in call("GET", QUERIES).json()["queries"]] == [done.json()["id"]]
    first = call("POST", f"{place}gold/", {"text": " Along the river. "})
    assert (first.json()["version"], first.json()["text"]) == (1, "Along the river.")
    assert call("POST", f"{place}gold/", {"text": "Along the river."}).json()["version"] == 1
    assert call("POST", f"{place}gold/", {"text": "Over the hill."}).json()["version"] == 2
    texts = [row["text"] for row in call("GET", f"{place}gold/").json()["versions"]]
    assert texts == ["Over the hill.", "Along the river."]


def test_the_same_call_makes_one_query(bespoke, call):
    key = {"Idempotency-Key": "once"}
    body = {"text": "Where shall I walk?", "guide": NEED, "finish": True}
    first = call("POST", QUERIES, body, **key)
    again = call("POST", QUERIES, body, **key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    assert Query.objects.filter(study=bespoke, text=body["text"]).count() == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": "a\u0000b"},
        {"text": "\ud800"},
        {"text": "a" * 2_001},
        {"text": "a", "grounds": ["00000000-0000-4000-8000-000000000000"]},
        {"text": "a", "guide": {"want": "a" * 20_001}},
        {"text": "a", "guide": "much"},
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_stored(bespoke, call, body):
    before = Query.objects.filter(study=bespoke).count()
    assert call("POST", QUERIES, body).status_code == 400
    assert Query.objects.filter(study=bespoke).count() == before
    assert not GoldResponse.objects.filter(query__study=bespoke).exists()
