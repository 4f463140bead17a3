"""The API's side of judging: claim, submit once, hand back."""

import pytest

from annotation.accounts.models import ApiToken
from annotation.judging.models import Judgment, Slot
from tests.api.caller import Caller


@pytest.fixture
def ann(cast, tea, client):
    return Caller(client, cast.person("Ann"))


def test_claim_answers_the_slot_and_again_the_same(cast, tea, ann):
    cast.open(tea, items=2)
    first = ann("POST", "studies/tea/claim/")
    assert first.status_code == 200
    body = first.json()
    assert body["proposal"] is None
    assert (body["task"], body["kind"], len(body["options"])) == ("best", "selection", 3)
    assert set(body["options"][0]) == {"id", "text"}
    assert ann("POST", "studies/tea/claim/").json()["slot"] == body["slot"]


def test_claim_answers_204_where_nothing_is_left(cast, tea, ann):
    cast.open(tea, items=1)
    slot = ann("POST", "studies/tea/claim/").json()
    choice = slot["options"][0]["id"]
    path = f"slots/{slot['slot']}/judgment/"
    assert ann("POST", path, {"choice": choice}, **{"Idempotency-Key": "a"}).status_code == 201
    empty = ann("POST", "studies/tea/claim/")
    assert (empty.status_code, empty.content) == (204, b"")


def test_the_same_key_is_answered_200_with_the_same_body_and_another_body_409(cast, tea, ann):
    cast.open(tea)
    slot = ann("POST", "studies/tea/claim/").json()
    path, key = f"slots/{slot['slot']}/judgment/", {"Idempotency-Key": "one"}
    body = {"choice": slot["options"][1]["id"], "seconds": 4}
    first, again = ann("POST", path, body, **key), ann("POST", path, body, **key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert first.json()["answer"] == {"answers": {"choice": body["choice"]}}
    other = ann("POST", path, body | {"choice": slot["options"][0]["id"]}, **key)
    assert (other.status_code, other["Content-Type"]) == (409, "application/problem+json")
    assert Judgment.objects.count() == 1


def test_a_released_slot_goes_to_somebody_else(cast, tea, ann, client):
    cast.open(tea, overlap=1)
    slot = ann("POST", "studies/tea/claim/").json()["slot"]
    assert ann("POST", f"slots/{slot}/release/").status_code == 204
    bo = Caller(client, cast.person("Bo"))
    assert bo("POST", "studies/tea/claim/").json()["slot"] == slot
    assert ann("POST", f"slots/{slot}/release/").status_code == 404
    assert Slot.objects.get(pk=slot).annotator == cast.person("Bo")


def test_the_token_scheme_works_too_and_a_revoked_token_does_not(cast, tea, ann, client):
    cast.open(tea)
    headers = {"Authorization": f"Token {ann.key}"}
    answer = client.post("/api/v1/studies/tea/claim/", headers=headers)
    assert answer.status_code == 200
    ApiToken.objects.update(revoked_at="2026-01-01T00:00:00Z")
    assert ann("GET", "studies/").status_code == 401


def test_researchers_read_judgments_page_by_page(cast, tea, ann, client):
    cast.open(tea, items=3)
    for n in range(3):
        slot = ann("POST", "studies/tea/claim/").json()
        body = {"choice": slot["options"][0]["id"], "reason": "x"}
        ann("POST", f"slots/{slot['slot']}/judgment/", body, **{"Idempotency-Key": str(n)})
    rui = Caller(client, cast.person("Rui"))
    page = rui("GET", "studies/tea/judgments/?page_size=2").json()
    rest = client.get(page["next"], headers={"Authorization": f"Bearer {rui.key}"}).json()
    rows = page["results"] + rest["results"]
    assert [len(page["results"]), len(rest["results"])] == [2, 1]
    assert [row["judgment"] for row in rows] == sorted(row["judgment"] for row in rows)
    assert {row["task"] for row in rows} == {"best"}
    assert rows[0]["label"].startswith("best-q1-")
    assert ann("GET", "studies/tea/judgments/").status_code == 403


def test_studies_lists_my_own_with_my_role(cast, tea, ann):
    cast.study("rain")
    page = ann("GET", "studies/").json()
    assert [(one["slug"], one["role"]) for one in page["results"]] == [("tea", "annotator")]
    assert ann("GET", "studies/rain/").status_code == 404
