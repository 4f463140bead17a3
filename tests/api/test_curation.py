"""The curation of personas, a trained verifier and retests of own items, by a program."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.candidates.models import Extraction
from annotation.judging.work import hidden_checks
from annotation.personas import board as board_
from annotation.personas import curate
from annotation.personas.models import PairDecision
from tests.api.caller import Caller, refusal
from tests.papers.bespoke.conftest import bespoke, fake, judged  # noqa: F401 - fixtures
from tests.papers.personalbench.test_verifier import BAD, GOOD, extracted, trained  # noqa: F401 - fixtures
from tests.personas.conftest import people  # noqa: F401 - fixtures

REVIEWS, BOARD = "studies/tea/personas/reviews/", "studies/tea/personas/board/"
PAIRS, SPLIT = f"{BOARD}pairs/", "studies/tea/personas/split/"
VERIFY, CHECKS = "studies/tea/attributes/verify/", "studies/tea/checks/"


# --- Round 1 --------------------------------------------------------------------------------------


def test_a_program_drops_personas_for_a_reason_and_takes_them_back(people, carol):  # noqa: F811
    drop = {"ids": ["p1", "p3"], "reason": "stereotyped"}
    assert carol("POST", REVIEWS, drop).json() == {"reviewed": 2}
    counts = carol("GET", REVIEWS).json()
    dropped = dict.fromkeys(curate.REASONS, 0) | {"stereotyped": 2}
    assert counts == {"kept": 2, "dropped": dropped}
    rows = carol("GET", "studies/tea/personas/").json()["results"]
    assert [row["dropped"] for row in rows] == ["stereotyped", None, "stereotyped", None]
    carol("POST", REVIEWS, {"ids": ["p1"], "reason": None})
    assert carol("GET", REVIEWS).json()["kept"] == 3


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"ids": ["p1", "p9"], "reason": "stereotyped"}, "persona"),
        ({"ids": ["p1"], "reason": "dull"}, "invalid"),
    ],
)
def test_a_faulty_review_of_personas_drops_nobody(people, carol, body, code):  # noqa: F811
    assert refusal(carol("POST", REVIEWS, body)) == (400, code)
    assert carol("GET", REVIEWS).json()["kept"] == 4


# --- Round 2 --------------------------------------------------------------------------------------


def test_the_board_has_funnel_distributions_and_near_duplicates(people, tea, carol):  # noqa: F811
    board = carol("GET", f"{BOARD}?similar=0.9").json()
    assert (board["personas"], board["pairs_in_all"], board["similar"]) == (4, 1, 0.9)
    assert board["pairs"][0]["personas"] == ["p1", "p2"]
    assert 0.9 <= board["pairs"][0]["similarity"] <= 1
    ages = next(row for row in board["dimensions"] if row["name"] == "age")
    assert [(row["value"], row["personas"]) for row in ages["values"]] == [
        ("20–29", 1), ("30–39", 2), ("50–59", 1),
    ]  # fmt: skip
    assert (ages["distinct"], {row["over_represented"] for row in ages["values"]}) == (3, {False})
    assert board["funnel"][0] == {"step": "personas written by people", "count": 4}
    near = board_.alike(board_.versions(tea), 0)
    assert carol("GET", f"{BOARD}?similar=0").json()["pairs_in_all"] == len(near) > 1


@pytest.mark.parametrize("similar", ["nan", "1.1"])
def test_a_similarity_that_is_none_is_refused(people, carol, similar):  # noqa: F811
    assert refusal(carol("GET", f"{BOARD}?similar={similar}")) == (400, "invalid")


@pytest.mark.parametrize("pair", [["p1", "p2"], ["p2", "p1"]])
def test_the_persona_that_is_named_is_dropped_however_the_pair_is_ordered(people, carol, pair):  # noqa: F811
    answer = carol("POST", PAIRS, {"personas": pair, "drop": "p1"})
    assert (answer.status_code, answer.json()) == (201, {"personas": ["p1", "p2"], "dropped": "p1"})
    people[0].refresh_from_db()
    assert people[0].dropped_because == "near-duplicate"
    assert refusal(carol("POST", PAIRS, {"personas": pair, "drop": None})) == (409, "dropped")
    assert carol("DELETE", PAIRS).json()["dropped"] == "p1"
    people[0].refresh_from_db()
    assert people[0].dropped_at is None


@pytest.mark.parametrize(
    ("pair", "drop", "code"),
    [
        (["p1", "p2"], "p3", "choice"),
        (["p1", "p1"], None, "pair"),
        (["p1", "p9"], None, "persona"),
        (["p1"], None, "invalid"),
    ],
)
def test_a_pair_that_is_none_is_refused(people, carol, pair, drop, code):  # noqa: F811
    assert refusal(carol("POST", PAIRS, {"personas": pair, "drop": drop})) == (400, code)
    assert not PairDecision.objects.exists()


def test_the_split_is_proposed_and_then_made_for_good(people, carol):  # noqa: F811
    before = carol("GET", SPLIT).json()
    assert before == {"sides": {"benchmark": 0, "training": 0, "none": 4}}
    proposal = carol("GET", f"{SPLIT}?benchmark=2&seed=5").json()["proposal"]
    assert sorted(proposal["benchmark"] + proposal["training"]) == ["p1", "p2", "p3", "p4"]
    sides = [(row["benchmark"], row["training"]) for row in proposal["dimensions"]["occupation"]]
    assert sides == [(1, 1), (1, 0), (0, 1)]
    made = carol("POST", SPLIT, {"benchmark": 2, "seed": 5}).json()
    assert made == {"sides": {"benchmark": 2, "training": 2}}
    rows = carol("GET", "studies/tea/personas/").json()["results"]
    inside = [row["id"] for row in rows if row["split"] == "benchmark"]
    assert inside == proposal["benchmark"]
    refused = carol("POST", SPLIT, {"benchmark": 1})
    assert refusal(refused) == (400, "too_few")
    words = "1 personas are wanted for the benchmark: 2 are in it already, and 0 have no side yet."
    assert refused.json()["detail"] == words
    assert refusal(carol("GET", f"{SPLIT}?seed=1")) == (400, "invalid")


# --- The verifier ---------------------------------------------------------------------------------


def test_a_trained_verifier_decides_on_statements(extracted, trained, carol):  # noqa: F811
    assert carol("GET", VERIFY).json() == {"statements": 4}
    model = SimpleUploadedFile("v.npz", trained.read_bytes())
    answer = carol.send(VERIFY, model=model, flagged="refine")
    assert answer.json() == {"statements": 4, "supported": 2, "flagged": 2}
    verdicts = dict(Extraction.objects.values_list("text", "verdict"))
    assert verdicts == dict.fromkeys(GOOD, "supported") | dict.fromkeys(BAD, "")
    assert carol("GET", VERIFY).json() == {"statements": 2}


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
