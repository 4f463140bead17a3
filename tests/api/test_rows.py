"""What a curator does in the browser, done by a program: rows in bulk, tasks, batches, scopes."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.api.conftest import ANSWERS, PERSONAS, fill, opened


def test_nothing_is_stored_of_rows_with_a_fault_and_each_fault_is_named(tea, carol):
    rows = [PERSONAS[0], {"id": "p1"}, {**PERSONAS[2], "nedd": 1}, PERSONAS[0], 7]
    answer = carol("POST", "studies/tea/personas/", {"rows": rows})
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert (body["code"], [fault["row"] for fault in body["faults"]]) == ("rows", [1, 2, 3, 4])
    assert body["faults"][0]["detail"] == "“profile” is missing"
    assert tea.personas.count() == 0


def test_the_others_are_stored_where_faulty_rows_are_to_be_skipped(tea, carol):
    fill(carol)
    rows = [
        {"id": "n1", "query": "q0", "text": "A new one."},
        {"id": "n2", "query": "nowhere", "text": "Of no query."},
        # Answers are never edited.
        {"id": "q0-a", "query": "q0", "text": "Other words.", "model": "a"},
    ]
    body = {"rows": rows, "skip_faulty": True}
    answer = carol("POST", "studies/tea/candidates/", body).json()
    assert (answer["stored"], [fault["row"] for fault in answer["faults"]]) == (1, [1, 2])
    assert answer["faults"][0]["detail"] == "there is no query “nowhere”"
    assert tea.candidates.filter(external_id="n1").exists()


def test_the_same_rows_again_change_nothing(tea, carol):
    fill(carol)
    before = list(tea.candidates.order_by("pk").values())
    fill(carol)
    assert list(tea.candidates.order_by("pk").values()) == before


def test_a_key_makes_a_call_once(tea, carol):
    body, key = {"rows": PERSONAS[:1]}, {"Idempotency-Key": "one"}
    first = carol("POST", "studies/tea/personas/", body, **key)
    again = carol("POST", "studies/tea/personas/", body, **key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    other = carol("POST", "studies/tea/personas/", {"rows": PERSONAS}, **key)
    assert (other.status_code, other.json()["code"]) == (409, "key_used")
    assert tea.personas.count() == 1


def test_a_list_goes_on_where_its_since_stopped(tea, carol):
    fill(carol)
    first = carol("GET", "studies/tea/candidates/?page_size=4").json()
    assert (len(first["results"]), first["more"]) == (4, True)
    rest = carol("GET", f"studies/tea/candidates/?since={first['since']}").json()
    assert (len(rest["results"]), rest["more"]) == (2, False)
    seen = [row["id"] for row in first["results"] + rest["results"]]
    assert seen == [row["id"] for row in ANSWERS]
    nothing = carol("GET", f"studies/tea/candidates/?since={rest['since']}").json()
    assert (nothing["results"], nothing["since"]) == ([], rest["since"])
    later = {"rows": [{"id": "late", "query": "q0", "text": "Later."}]}
    carol("POST", "studies/tea/candidates/", later)
    new = carol("GET", f"studies/tea/candidates/?since={rest['since']}").json()
    assert [row["id"] for row in new["results"]] == ["late"]


@pytest.mark.parametrize("name", ["personas", "queries", "candidates", "items"])
def test_a_list_of_three_takes_as_many_statements_as_one_of_one(tea, carol, name):
    fill(carol)
    task = {"name": "better", "kind": "selection", "settings": {"options": 2}}
    carol("POST", "studies/tea/tasks/", task)
    carol("POST", "studies/tea/batches/", {"task": "better"})

    def statements(size):
        with CaptureQueriesContext(connection) as captured:
            page = carol("GET", f"studies/tea/{name}/?page_size={size}").json()
        assert len(page["results"]) == size
        return len(captured)

    assert statements(1) == statements(3)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("studies/tea/personas/?pagesize=3", "unknown_parameter"),
        ("studies/tea/judgments/?sinse=3", "unknown_parameter"),
        ("studies/tea/releases/?layout=long", "unknown_parameter"),
        ("studies/tea/?fields=title", "unknown_parameter"),
        ("studies/?status=open", "unknown_parameter"),
        ("studies/tea/personas/?page_size=0", "page_size"),
        ("studies/tea/personas/?page_size=1001", "page_size"),
        ("studies/tea/personas/?page_size=%00", "bad_request"),
        ("studies/tea/judgments/?page_size=0", "page_size"),
        ("studies/tea/judgments/?page_size=-1", "page_size"),
        ("studies/tea/judgments/?page_size=ten", "page_size"),
        ("studies/?page_size=", "page_size"),
        ("studies/tea/personas/?since=rubbish", "since"),
        ("studies/tea/personas/?since=W10", "since"),
        ("studies/tea/items/?since=WyJhIl0", "since"),
        ("studies/tea/candidates/?since=WyIyMDI2LTAxLTAxIiwgIngiXQ", "since"),
    ],
)
def test_what_cannot_be_read_of_a_parameter_is_named(carol, path, code):
    answer = carol("GET", path)
    assert (answer.status_code, answer.json()["code"]) == (400, code)


@pytest.mark.parametrize(
    "body",
    [{}, {"rows": []}, {"rows": "p1"}, {"rows": [{}] * 1001}, {"rows": {"id": 1}}],
)
def test_a_body_without_rows_is_refused(tea, carol, body):
    assert carol("POST", "studies/tea/personas/", body).status_code == 400


@pytest.mark.parametrize(
    ("what", "key", "left"),
    [("query", "q1", [2, 2, 4]), ("answer", "q1-a", [3, 2, 5]), ("task", "better", [3, 0, 6])],
)
def test_a_thing_is_taken_back_after_its_call_was_tried(tea, carol, what, key, left):
    opened(carol)
    counts = lambda: [tea.queries.count(), tea.items.count(), tea.candidates.count()]  # noqa: E731
    tried = carol("POST", "studies/tea/removals/", {"what": what, "id": key, "dry_run": True})
    assert (tried.status_code, counts()) == (200, [3, 3, 6])
    done = carol("POST", "studies/tea/removals/", {"what": what, "id": key})
    assert (done.json(), counts()) == (tried.json(), left)
    assert (done.json()["name"], done.json()["deletes"]) == (key, True)
    again = carol("POST", "studies/tea/removals/", {"what": what, "id": key})
    assert (again.status_code, again.json()["code"]) == (404, "not_found")
