"""Studies, their people, tasks and batches, by a program."""

import pytest

from annotation.judging.models import Batch, Slot
from annotation.studies.models import Study
from tests.api.caller import Caller
from tests.api.conftest import fill, opened


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
    assert carol("POST", f"studies/walks/batches/{batch}/reopen/").status_code == 204
    assert Slot.objects.filter(study__slug="walks", status="open").count() == 9


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


def test_a_task_names_a_preset_or_brings_questions_of_its_own(tea, carol):
    made = carol("POST", "studies/tea/tasks/", {"name": "better", "preset": "selection"})
    assert (made.status_code, made.json()["kind"]) == (201, "selection")
    questions = [{"type": "label", "name": "clear", "classes": ["No", "Unsure", "Yes"]}]
    body = {"name": "clear", "overlap": 3, "settings": {"questions": questions}}
    made = carol("POST", "studies/tea/tasks/", body).json()
    assert (made["kind"], made["overlap"], made["version"]) == ("questions", 3, 1)
    classes = [each["name"] for each in made["settings"]["questions"][0]["classes"]]
    assert classes == ["No", "Unsure", "Yes"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"name": "t", "settings": {}}, "There is no kind of task “”."),
        ({"name": "t", "settings": {"kind": []}}, "There is no kind of task “[]”."),
        (
            {"name": "t", "kind": "selection", "preset": "claims"},
            "A selection task has no setting “preset”.",
        ),
        (
            {"name": "a b", "kind": "selection"},
            "Enter a valid “slug” consisting of letters",
        ),
        ({"name": "t", "kind": "selection", "settings": {"options": 9}}, "options must be 2 or 3."),
    ],
)
def test_a_task_that_cannot_be_is_refused_in_words(tea, carol, body, words):
    refused = carol("POST", "studies/tea/tasks/", body)
    assert (refused.status_code, refused.json()["detail"].startswith(words)) == (400, True)
    assert not tea.tasks.exists()
