"""BESPOKE's retrieval study: questions and their expansions against the sessions they grew from."""

import json
import uuid
from math import log2

import pytest
from django.core.management import CommandError, call_command

from annotation.candidates.models import Candidate
from annotation.histories.models import Session
from annotation.papers.bespoke.retrieval_study import ndcg
from annotation.queries import owner_queries
from tests.candidates.conftest import fake, model, script  # noqa: F401 - fixtures
from tests.evaluation.conftest import printed
from tests.papers.bespoke.conftest import bespoke, keep  # noqa: F401 - a fixture
from tests.scripted_endpoint import BAD_KEY, prompt_of

A, B, C = (uuid.UUID(int=n) for n in range(3))


@pytest.mark.parametrize(
    ("found", "relevant", "value"),
    [
        ([A, B, C], {A, C}, (1 + 1 / 2) / (1 + 1 / log2(3))),
        ([B, A], {A}, 1 / log2(3)),
        ([B], {A}, 0.0),
        ([], {A, B}, 0.0),
        ([*[C] * 10, A], {A}, 0.0),
    ],
)
def test_a_gain_counts_the_less_the_later_it_comes(found, relevant, value):
    assert ndcg(found, relevant) == pytest.approx(value)


def grounded(study, owner, text, session):
    query = owner_queries.begin(study, owner)
    fields = {"text": text, "guide": {"want": "NEED-CANARY"}, "grounds": [session.pk]}
    return owner_queries.finish(owner_queries.write_query(query, owner, **fields), owner)


@pytest.fixture
def asked(cast, bespoke, script, model):  # noqa: F811
    """Ann's question does not say what it grew out of, and Bo's does."""
    ann, bo = cast.person("Ann"), cast.person("Bo")
    bread = keep(ann, "Bread", "How do I bake rye bread at home?", "With sourdough.")
    grounded(bespoke, ann, "Any plans for my free morning?", bread)
    boats = Session.objects.get(title="Boats")
    grounded(bespoke, bo, "Which boats love the sea?", boats)
    script.values = [
        lambda request: "rye bread baking" if "morning" in prompt_of(request) else "boats and sea"
    ]
    return bespoke


def study(*words):
    return printed("retrieval_study", "tea", *words)


def test_each_way_is_measured_on_the_same_questions_of_the_same_people(asked, capsys, model):  # noqa: F811
    result = study()
    assert (result["questions"], result["people"], result["left_out"]) == (2, 2, 0)
    values = {row["way"]: row["ndcg"]["value"] for row in result["rows"]}
    assert values == {"question": 0.5, "reasoning": 1.0, "pseudo-history": 1.0}
    interval = result["rows"][0]["ndcg"]
    assert (interval["se"], interval["low"], interval["high"]) == (0.5, 0.0, 1.0)
    stored = Candidate.every.filter(purpose="expand").order_by("strategy")
    assert [row.template for row in stored] == 2 * ["expand-pseudo-history/1"] + 2 * [
        "expand-reasoning/1"
    ]
    sent = json.dumps(model.requests)
    assert "CANARY" not in sent
    assert "rye bread" not in sent
    calls = model.calls
    assert study() == result
    assert model.calls == calls  # what was written is kept


def test_a_question_whose_expansion_failed_is_left_out_of_every_way(asked, capsys, script):  # noqa: F811
    script.values = [
        lambda request: BAD_KEY if "morning" in prompt_of(request) else "boats and sea"
    ]
    Candidate.every.all().delete()
    result = study("--way", "question", "--way", "reasoning")
    assert (result["questions"], result["people"], result["left_out"]) == (1, 1, 1)
    assert [row["ndcg"]["value"] for row in result["rows"]] == [1.0, 1.0]
    call_command("retrieval_study", "tea", way=["question"])
    assert "question          2       2    0.500  0.000  1.000" in capsys.readouterr().out


def test_a_study_without_grounds_is_refused(tea, model):  # noqa: F811
    with pytest.raises(CommandError, match="grounded a question"):
        call_command("retrieval_study", "tea")
