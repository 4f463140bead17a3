"""Retests of own items, and what answers rest on, by a program."""

import json

import pytest

from annotation.core.models import AuditEvent
from annotation.judging.work import hidden_checks
from tests.api.caller import Caller
from tests.papers.bespoke.conftest import bespoke, fake, judged  # noqa: F401 - fixtures

CHECKS = "studies/tea/checks/"


def refusal(answer):
    return answer.status_code, answer.json()["code"]


# --- Retests --------------------------------------------------------------------------------------


def test_owners_judge_again_what_a_program_asks_for(bespoke, judged, cast, client):  # noqa: F811
    path, caller = f"studies/{bespoke.slug}/checks/", Caller(client, cast.person("Carol"))
    assert caller("GET", path).json() == {
        "pass_mark": 0, "gold_every": 0, "repeat_every": 0,
        "retest_number": 0, "retest_share": 0, "retest_days": 7,
    }  # fmt: skip
    saved = caller("PUT", path, {"retest_number": 1, "retest_days": 0}).json()
    assert (saved["retest_number"], saved["retest_days"]) == (1, 0)
    ann = cast.person("Ann")
    assert hidden_checks.retests_due(ann.pk, bespoke.pk) == 1


@pytest.mark.parametrize("body", [{"retest_share": "nan"}, {"retest_days": 366}])
def test_rates_beyond_their_bounds_are_refused(tea, carol, body):
    assert refusal(carol("PUT", CHECKS, body)) == (400, "invalid")
    assert json.loads(carol("GET", CHECKS).content)["retest_days"] == 7


# --- Sources --------------------------------------------------------------------------------------


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
