"""Owners' sessions, queries, gold responses, claims and rubrics by program."""

import pytest

from annotation.candidates import writing
from annotation.candidates.models import Candidate, Retrieval
from annotation.histories import consent
from annotation.histories.models import HistoryConsent, Session
from annotation.judging import claims
from annotation.queries.models import GoldResponse, Query
from tests.api.caller import Caller
from tests.candidates.conftest import Reply

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


def test_sessions_are_kept_and_a_use_is_allowed_and_taken_back(bespoke, call, ann):
    (row,) = call("GET", "histories/sessions/?state=kept").json()["results"]
    assert (row["title"], row["marked"]) == ("Trains", True)
    dropped = call("POST", "histories/sessions/", {"state": "dropped", "ids": [row["id"]]})
    assert dropped.json() == {"changed": 1}
    assert call("GET", "histories/sessions/?state=kept").json()["results"] == []
    use = {"study": "tea", "purpose": "publish", "endpoint": ""}
    allowed = call("POST", "histories/uses/", use | {"allowed": True}).json()["uses"]
    assert {entry["purpose"]: entry["allowed"] for entry in allowed if not entry["endpoint"]} == {
        "show_to_judges": False,
        "publish": True,
    }
    assert consent.allows(ann, bespoke, HistoryConsent.Purpose.PUBLISH)
    call("POST", "histories/uses/", use | {"allowed": False})
    assert not consent.allows(ann, bespoke, HistoryConsent.Purpose.PUBLISH)


def test_a_session_of_somebody_else_or_not_looked_through_is_not_kept(cast, bespoke, call):
    (boats,) = Session.objects.filter(owner=cast.person("Bo"))
    Session.objects.filter(owner=cast.person("Ann")).update(marked_at=None, state="pending")
    ids = [str(boats.pk), *map(str, Session.objects.values_list("pk", flat=True))]
    assert call("POST", "histories/sessions/", {"state": "dropped", "ids": ids[:1]}).json() == {
        "changed": 0
    }
    assert call("POST", "histories/sessions/", {"state": "kept", "ids": ids}).json() == {
        "changed": 0
    }
    boats.refresh_from_db()
    assert boats.state == "kept"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("histories/sessions/", {"state": "gone", "ids": []}, 400),
        ("histories/sessions/", {"state": "kept", "ids": ["x"]}, 400),
        ("histories/uses/", {"study": "tea", "purpose": "sell", "allowed": True}, 400),
        ("histories/uses/", {"study": "rain", "purpose": "publish", "allowed": True}, 404),
    ],
)
def test_what_is_no_session_and_no_use_is_refused(bespoke, call, path, body, status):
    assert call("POST", path, body).status_code == status
    assert call("GET", "histories/sessions/?state=gone").status_code == 400


def test_claims_and_a_rubric_are_written_by_a_model_and_by_hand(judged, fake, call):
    place = f"{QUERIES}{judged.external_id}/"
    assert call("POST", f"{place}claims/").json()["code"] == "gold"
    call("POST", f"{place}gold/", {"text": "The train leaves at nine. It has beds."})
    asked = call("POST", f"{place}claims/")
    assert (asked.status_code, asked.json()["job"]["status"]) == (202, "requested")
    assert call("POST", f"{place}rubric/").status_code == 202
    fake.replies = [Reply("- It leaves at nine.\n- It has beds."), Reply("Tone: calm.")]
    for row in Candidate.every.filter(status="requested").order_by("created_at"):
        writing.write_one(row.pk)
    claims.pull()
    split = call("GET", f"{place}claims/").json()
    assert (split["claims"], split["job"]) == (["It leaves at nine.", "It has beds."], None)
    assert call("GET", f"{place}rubric/").json() == {
        "version": 1, "text": "Tone: calm.", "job": None,
    }  # fmt: skip
    by_hand = call("POST", f"{place}claims/", {"claims": ["It leaves at ten."]})
    assert (by_hand.status_code, by_hand.json()["version"]) == (201, 2)
    assert by_hand.json()["claims"] == ["It leaves at ten."]
    assert call("POST", f"{place}rubric/", {"text": "Short."}).json()["version"] == 2


def test_a_curator_sets_where_answers_are_searched(cast, bespoke, client):
    call = Caller(client, cast.person("Carol"))
    body = {"sources": ["documents"], "strategies": ["search"], "results": 3, "oracle": False}
    assert call("PUT", "studies/tea/retrieval/", body).json() == body
    assert call("GET", "studies/tea/retrieval/").json() == body
    assert Retrieval.objects.get(study=bespoke).results == 3
    for wrong in ({"sources": ["moon"]}, {"strategies": ["A1"]}, {"results": 21}):
        assert call("PUT", "studies/tea/retrieval/", body | wrong).status_code == 400
