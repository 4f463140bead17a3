"""Reviews taken back, budgets and rules, sources and the end of votes, by a program."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.agreement import recompute
from annotation.candidates import documents
from annotation.candidates.models import Budget, DocumentFile, GenerationRules, Proposal
from annotation.core.models import AuditEvent
from annotation.personas.models import Persona
from tests.agreement.conftest import say, split  # noqa: F401 - fixtures
from tests.api.caller import Caller, refusal
from tests.candidates.conftest import expand, mina, model, person, script  # noqa: F401 - fixtures

REVIEW, UNDO = "studies/tea/review/", "studies/tea/review/undo/"
RULES, DOCUMENTS = "studies/tea/generation/rules/", "studies/tea/documents/"


# --- Undo -----------------------------------------------------------------------------------------


@pytest.fixture
def proposed(tea, mina, model, script):  # noqa: F811
    """Ids of two personas that a model proposed."""
    script.values = [person("Ada Lind"), person("Bo Ek", "nurse")]
    expand(tea, 2)
    return [str(pk) for pk in Proposal.objects.order_by("number").values_list("pk", flat=True)]


def decide(caller, ids, **decision):
    return caller("POST", REVIEW, {"kind": "persona", "ids": ids, "accepts": True} | decision)


def test_decisions_are_taken_back_with_what_was_made_of_them(tea, proposed, carol):
    before = Persona.objects.count()
    assert decide(carol, proposed).json() == {"decided": 2}
    assert Persona.objects.count() == before + 2
    undone = carol("POST", UNDO, {"kind": "persona", "ids": proposed[:1]})
    assert (undone.status_code, undone.json()) == (200, {"undone": 1})
    assert Persona.objects.count() == before + 1
    rows = carol("GET", f"{REVIEW}?kind=persona").json()["rows"]
    assert [row["id"] for row in rows] == proposed[:1]
    assert carol("POST", UNDO, {"kind": "persona", "ids": proposed[:1]}).json() == {"undone": 0}


def test_nobody_takes_back_what_another_reviewer_decided(tea, proposed, carol, cast, client):
    decide(carol, proposed)
    adam = Caller(client, cast.member("Adam", tea, "curator"))
    assert adam("POST", UNDO, {"kind": "persona", "ids": proposed}).json() == {"undone": 0}
    assert set(Proposal.objects.values_list("review", flat=True)) == {"accepted"}


@pytest.mark.parametrize(
    "body", [{}, {"kind": "persona", "ids": []}, {"kind": "tea", "ids": ["x"]}, {"ids": 5}]
)
def test_an_undo_without_rows_is_refused(tea, carol, body):
    assert refusal(carol("POST", UNDO, body)) == (400, "invalid")


# --- Budget and rules -----------------------------------------------------------------------------


def test_budget_and_rules_are_read_and_set_in_parts(tea, carol):
    no_limits = dict.fromkeys(("cost", "daily_cost", "tokens", "daily_tokens"))
    no_limits["owner_texts"] = 60
    rules = {"reviewers": 1, "review_answers": False, "similarity": 0.85, "length_tolerance": 0.1}
    assert carol("GET", RULES).json() == {"budget": no_limits, "rules": rules}
    wanted = {"budget": {"cost": "12.5", "daily_tokens": 9000}, "rules": {"reviewers": 2}}
    saved = carol("PUT", RULES, wanted).json()
    assert saved["budget"] == no_limits | {"cost": "12.5000", "daily_tokens": 9000}
    assert saved["rules"] == rules | {"reviewers": 2}
    saved = carol("PUT", RULES, {"budget": {"cost": None}, "rules": {"similarity": 0.9}}).json()
    assert saved["budget"] == no_limits | {"daily_tokens": 9000}
    assert saved["rules"] == rules | {"reviewers": 2, "similarity": 0.9}
    assert AuditEvent.objects.filter(action="generation.rules").count() == 2


@pytest.mark.parametrize(
    "body",
    [
        {"budget": {"cost": "NaN"}},
        {"budget": {"tokens": 2**63}},
        {"rules": {"reviewers": 3}},
        {"rules": []},
    ],
)
def test_limits_and_rules_beyond_their_bounds_are_refused(tea, carol, body):
    assert refusal(carol("PUT", RULES, body)) == (400, "invalid")
    assert not Budget.objects.exists()
    assert not GenerationRules.objects.exists()


# --- Sources --------------------------------------------------------------------------------------


def send(caller, content: bytes):
    return caller.send(DOCUMENTS, file=SimpleUploadedFile("tea.md", content))


def test_a_file_of_documents_is_sent_read_and_removed(tea, carol):
    sent = send(carol, b"# Tea\n\nSteep it.")
    assert (sent.status_code, sent.json()["status"]) == (202, "requested")
    documents.read_file(sent.json()["id"])
    listed = carol("GET", DOCUMENTS).json()
    assert listed["documents"] == 1
    (file,) = listed["files"]
    assert (file["name"], file["status"], file["added"], file["skipped_count"]) == (
        "tea.md", "done", 1, 0,
    )  # fmt: skip
    assert carol("DELETE", DOCUMENTS).json() == {"removed": 1}
    assert carol("GET", DOCUMENTS).json()["documents"] == 0


def test_a_call_without_a_file_is_refused(tea, carol):
    assert refusal(carol.send(DOCUMENTS, name="tea")) == (400, "invalid")
    assert not DocumentFile.objects.exists()


def test_a_list_of_three_files_takes_as_many_statements_as_one_of_one(tea, carol):
    def statements():
        with CaptureQueriesContext(connection) as captured:
            assert carol("GET", DOCUMENTS).status_code == 200
        return len(captured)

    send(carol, b"# One")
    few = statements()
    send(carol, b"# Two")
    send(carol, b"# Three")
    assert statements() == few


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"sources": ["web"]}, "ATTUNE_SEARCH_URL"),
        ({"strategies": ["search-oracle"]}, "oracle"),
    ],
)
def test_sources_that_the_study_may_not_use_are_refused(tea, carol, settings, wrong, words):
    settings.SEARCH_URL = ""
    body = {"sources": ["documents"], "strategies": ["search"]} | wrong
    answer = carol("PUT", "studies/tea/retrieval/", body)
    assert refusal(answer) == (400, "refused")
    assert words in answer.json()["detail"]


def test_a_study_that_may_show_the_need_stays_one_that_may(tea, carol):
    path = "studies/tea/retrieval/"
    body = {"sources": ["documents"], "strategies": ["search-oracle"], "results": 6}
    assert carol("PUT", path, body | {"oracle": True}).status_code == 200
    assert carol("PUT", path, body).json() == body | {"oracle": True}
    assert refusal(carol("PUT", path, body | {"oracle": False})) == (400, "refused")
    assert carol("GET", path).json() == body | {"oracle": True}
    assert AuditEvent.objects.filter(action="retrieval.save").count() == 2


def test_chats_of_members_who_allow_none_add_nothing(tea, carol):
    answer = carol("POST", "studies/tea/conversations/histories/")
    assert (answer.status_code, answer.json()) == (200, {"added": 0})


# --- Early stopping -------------------------------------------------------------------------------


def test_votes_end_early_where_a_program_asks_for_it(tea, split, carol):  # noqa: F811
    task = split[0].batch.task.name
    path = f"studies/tea/tasks/{task}/early-stop/"
    assert carol("GET", path).json() == {"below": "", "items": 0, "saved": 0}
    assert carol("PUT", path, {"below": "hard"}).json()["below"] == "hard"
    recompute.recompute(tea, task)
    assert carol("GET", path).json() == {"below": "hard", "items": 2, "saved": 9}
    assert carol("PUT", path, {"below": ""}).json() == {"below": "", "items": 2, "saved": 9}


def test_a_stop_that_is_none_is_refused(tea, split, carol):  # noqa: F811
    path = f"studies/tea/tasks/{split[0].batch.task.name}/early-stop/"
    assert refusal(carol("PUT", path, {"below": "medium"})) == (400, "invalid")
    assert refusal(carol("PUT", path)) == (400, "invalid")
    assert carol("PUT", "studies/tea/tasks/none/early-stop/", {"below": "hard"}).status_code == 404
