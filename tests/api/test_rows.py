"""What a curator does in the browser, done by a program: rows in bulk, tasks, batches, scopes."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.judging.models import Batch, Slot
from annotation.studies.models import Study
from tests.api.caller import Caller


@pytest.fixture
def carol(cast, tea, client):
    return Caller(client, cast.person("Carol"))


PERSONAS = [{"id": f"p{n}", "profile": {"Name": f"Person {n}"}} for n in range(3)]
QUERIES = [{"id": f"q{n}", "persona": f"p{n}", "text": f"What about {n}?"} for n in range(3)]
ANSWERS = [
    {"id": f"q{n}-{side}", "query": f"q{n}", "text": f"Answer {side}.", "model": side}
    for n in range(3)
    for side in "ab"
]


def fill(caller, study="tea"):
    for name, rows in (("personas", PERSONAS), ("queries", QUERIES), ("candidates", ANSWERS)):
        answer = caller("POST", f"studies/{study}/{name}/", {"rows": rows})
        assert (answer.status_code, answer.json()) == (201, {"stored": len(rows), "faults": []})


def test_a_program_makes_a_study_and_opens_it_for_judging(carol):
    made = carol("POST", "studies/", {"slug": "walks", "title": "Walks"})
    assert made.status_code == 201
    assert made.json()["role"] == "administrator"
    fill(carol, "walks")
    task = {"name": "better", "kind": "selection", "overlap": 3, "settings": {"options": 2}}
    assert carol("POST", "studies/walks/tasks/", task).json()["version"] == 1
    opened = carol("POST", "studies/walks/batches/", {"task": "better"})
    assert (opened.status_code, opened.json()["items"]) == (201, 3)
    assert Slot.objects.filter(study__slug="walks", status="open").count() == 9
    items = carol("GET", "studies/walks/items/").json()["results"]
    assert [row["overlap"] for row in items] == [3, 3, 3]
    link = carol("POST", "studies/walks/invitations/", {"role": "annotator"}).json()["link"]
    assert "/invitations/" in link
    batch = opened.json()["id"]
    assert carol("POST", f"studies/walks/batches/{batch}/close/").status_code == 204
    assert Batch.objects.get(pk=batch).closed_at is not None


def test_a_batch_is_kept_to_a_part_and_tried_before_it_is_opened(tea, carol):
    fill(carol)
    carol("POST", "studies/tea/tasks/", {"name": "better", "kind": "selection"})
    part = {"task": "better", "queries": ["q0", "q2"], "number": 1, "mixed": True, "overlap": 2}
    tried = carol("POST", "studies/tea/batches/", {**part, "dry_run": True})
    names = ("items", "judgments", "overlap", "by_query", "opens", "embedded")
    summary = [tried.json()[name] for name in names]
    assert (tried.status_code, summary) == (200, [1, 2, 2, 1, True, 0])
    assert not Batch.objects.exists()
    opened = carol("POST", "studies/tea/batches/", part).json()
    assert (opened["items"], opened["wanted"]) == (1, 2)
    carol("POST", "studies/tea/tasks/", {"name": "also", "kind": "selection"})
    both = {"task": "better", "also": ["also"], "order": "query"}
    opened = carol("POST", "studies/tea/batches/", both).json()
    assert (opened["task"], [batch["task"] for batch in opened["also"]]) == ("better", ["also"])
    unknown = carol("POST", "studies/tea/batches/", {"task": "better", "also": ["beast"]})
    assert (unknown.status_code, unknown.json()["code"]) == (400, "task")
    wrong = carol("POST", "studies/tea/batches/", {"task": "better", "number": 0})
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid")


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


def test_a_token_keeps_within_its_scopes(cast, tea, client):
    reader = Caller(client, cast.person("Carol"), scopes=["read"])
    assert reader("GET", "studies/tea/personas/").status_code == 200
    refused = reader("POST", "studies/tea/personas/", {"rows": PERSONAS})
    assert (refused.status_code, refused.json()["code"]) == (403, "scope")
    judge = Caller(client, cast.person("Ann"), scopes=["judge"])
    assert judge("POST", "studies/tea/claim/").json().get("code") != "scope"
    assert judge("GET", "studies/").json()["code"] == "scope"


def test_a_token_of_one_study_opens_no_other(cast, tea, client):
    rain = cast.study("rain")
    cast.member("Carol", rain, "curator")
    limited = Caller(client, cast.person("Carol"), study=tea)
    assert limited("GET", "studies/tea/personas/").status_code == 200
    refused = limited("GET", "studies/rain/personas/")
    assert (refused.status_code, refused.json()["code"]) == (403, "scope")
    assert limited("POST", "studies/", {"slug": "new-one", "title": "New"}).status_code == 403
    assert not Study.objects.filter(slug="new-one").exists()


def test_a_slot_belongs_to_the_study_of_its_token(cast, tea, client):
    cast.open(tea, items=1)
    rain = cast.study("rain")
    ann = cast.member("Ann", rain, "annotator")
    slot = Caller(client, ann)("POST", "studies/tea/claim/").json()["slot"]
    of_rain = Caller(client, ann, study=rain)
    assert of_rain("POST", f"slots/{slot}/release/").json()["code"] == "scope"
    assert Caller(client, ann, study=tea)("POST", f"slots/{slot}/release/").status_code == 204


def opened(carol):
    """The three queries of ``fill`` as items of a task that two people judge."""
    fill(carol)
    task = {"name": "better", "kind": "selection", "overlap": 2, "settings": {"options": 2}}
    carol("POST", "studies/tea/tasks/", task)
    return carol("POST", "studies/tea/batches/", {"task": "better"}).json()["id"]


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


def test_a_batch_and_an_attribute_are_named_as_their_lists_name_them(tea, carol):
    batch = opened(carol)
    rows = [{"id": f"a{n}", "persona": f"p{n}", "text": "Likes tea."} for n in range(2)]
    carol("POST", "studies/tea/attributes/", {"rows": rows})
    body = {"what": "attribute", "id": "a1"}
    assert carol("POST", "studies/tea/removals/", body | {"persona": "p0"}).status_code == 404
    assert carol("POST", "studies/tea/removals/", body | {"persona": "p1"}).status_code == 200
    listed = carol("GET", "studies/tea/attributes/").json()["results"]
    assert [row["persona"] for row in listed] == ["p0"]
    for key, status in (("12a", 404), ("9" * 30, 404), (str(batch), 200)):
        body = {"what": "batch", "id": key}
        assert carol("POST", "studies/tea/removals/", body).status_code == status
    assert not Batch.objects.exists()


@pytest.fixture
def ada(cast, tea, client):
    return Caller(client, cast.member("Ada", tea, "administrator"))


def test_a_study_is_renamed_closed_and_deleted_by_its_administrator(cast, tea, ada, client):
    limited = Caller(client, cast.person("Ada"), scopes=["read", "curate"])
    assert limited("DELETE", "studies/tea/").json()["code"] == "scope"
    changed = ada("PATCH", "studies/tea/", {"title": "Teas", "status": "closed"}).json()
    assert [changed[name] for name in ("title", "status", "slug")] == ["Teas", "closed", "tea"]
    assert ada("PATCH", "studies/tea/", {"status": "ajar"}).status_code == 400
    tea.refresh_from_db()
    assert (tea.title, tea.status) == ("Teas", "closed")
    assert ada("DELETE", "studies/tea/").json()["deletes"] is True
    assert not Study.objects.filter(slug="tea").exists()


def test_members_change_roles_and_invitations_are_revoked(cast, tea, ada):
    person = {"email": cast.person("Ann").email.upper(), "role": "researcher"}
    assert ada("PUT", "studies/tea/members/", person).status_code == 200
    assert tea.memberships.get(user=cast.person("Ann")).role == "researcher"
    assert ada("PUT", "studies/tea/members/", person | {"role": None}).status_code == 200
    assert tea.memberships.get(user=cast.person("Ann")).left_at is not None
    assert ada("PUT", "studies/tea/members/", person).status_code == 404
    alone = {"email": cast.person("Ada").email, "role": "curator"}
    refused = ada("PUT", "studies/tea/members/", alone)
    assert refused.json()["detail"] == "A study keeps at least one administrator."
    made = ada("POST", "studies/tea/invitations/", {"role": "annotator"}).json()
    address = f"studies/tea/invitations/{made['id']}/"
    listed = ada("GET", "studies/tea/invitations/").json()["results"]
    assert [(row["id"], row["role"]) for row in listed] == [(made["id"], "annotator")]
    assert ada("DELETE", address).status_code == 204
    assert ada("GET", "studies/tea/invitations/").json()["results"] == []
    assert ada("DELETE", "studies/tea/invitations/999999999999999999/").status_code == 404


def test_releases_are_listed_without_their_manifests(tea, carol, django_assert_num_queries):
    opened(carol)
    made = [carol("POST", "studies/tea/releases/", {"layout": "long"}).json() for _ in range(2)]
    with CaptureQueriesContext(connection) as captured:
        carol("GET", "studies/tea/releases/?page_size=1")
    with django_assert_num_queries(len(captured)):
        carol("GET", "studies/tea/releases/?page_size=2")
    first = carol("GET", "studies/tea/releases/?page_size=1").json()
    rest = carol("GET", f"studies/tea/releases/?since={first['since']}").json()
    listed = first["results"] + rest["results"]
    assert [row["id"] for row in listed] == [release["id"] for release in made]
    assert [row["version"] for row in listed] == [1, 2]
    assert "manifest" not in listed[0]
