"""The same work without pages: commands and the API."""

import json

import pytest
from django.core.management import CommandError, call_command

from annotation.accounts.models import ApiToken
from annotation.candidates.models import Proposal
from annotation.personas.models import Persona
from tests.candidates.conftest import person, write_all

GENERATION = "/api/v1/studies/tea/generation/"
REVIEW = "/api/v1/studies/tea/review/"


@pytest.fixture
def post(cast, mina, client):
    _token, key = ApiToken.issue(cast.member("Carol", mina.study, "curator"))
    headers = {"Authorization": f"Bearer {key}"}

    def post_(path, body=None):
        if body is None:
            return client.get(path, headers=headers)
        return client.post(path, json.dumps(body), "application/json", headers=headers)

    return post_


def document(capsys) -> dict:
    return json.loads(capsys.readouterr().out)


def test_a_command_proposes_writes_and_accepts(tea, mina, model, script, cast, capsys):
    cast.person("Carol")
    script.values = [person("Ada Lind"), person("Bo Ek", "nurse"), person("Bo Ek", "nurse")]
    options = {"set": ["count=3", "languages=Korean"], "json": True}
    call_command("propose", "tea", "persona", dry_run=True, **options)
    assert document(capsys)["calls"] == 3
    call_command("propose", "tea", "persona", accept="carol@example.org", **options)
    done = document(capsys)
    assert (done["done"], done["failed"], done["accepted"]) == (3, 0, 1)  # the rest is too similar
    assert (done["planned"]["calls"], done["actual"]["calls"]) == (3, 3)
    assert Persona.objects.filter(external_id__startswith="g-").count() == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"set": ["count=0"]}, "How many"),
        ({"set": ["size=3"]}, "--set takes count"),
        ({"accept": "nobody@example.org"}, "no account"),
        ({"endpoint": "none"}, "no endpoint"),
    ],
)
def test_a_wrong_command_asks_for_nothing(tea, mina, model, arguments, words):
    with pytest.raises(CommandError, match=words):
        call_command("propose", "tea", "persona", **arguments)
    assert not Proposal.objects.exists()


def test_a_program_plans_starts_reviews_and_sees_what_happened(post, model, script):
    script.values = [person("Ada Lind"), person("Bo Ek", "nurse")]
    body = {"step": "persona", "options": {"count": 2, "languages": ["English"]}}
    planned = post(GENERATION, {**body, "dry_run": True})
    assert (planned.status_code, planned.json()["calls"]) == (200, 2)
    assert not Proposal.objects.exists()
    started = post(GENERATION, body)
    assert (started.status_code, started.json()["requested"]) == (202, 2)
    write_all()
    run = post(f"{GENERATION}{started.json()['id']}/").json()
    assert (run["done"], run["tokens"], run["planned"]["calls"]) == (2, 24, 2)
    actual = run["actual"]
    assert (actual["calls"], actual["tokens"], actual["cost"]) == (2, 24, run["cost"])
    assert actual.keys() == run["planned"].keys() - {"measured"}
    waiting = post(f"{REVIEW}?kind=persona").json()
    ids = [row["id"] for row in waiting["rows"]]
    refused = post(REVIEW, {"kind": "persona", "ids": ids, "accepts": False})
    assert (refused.status_code, refused.json()["code"]) == (400, "reason")
    decided = post(REVIEW, {"kind": "persona", "ids": ids, "accepts": True})
    assert decided.json() == {"decided": 2}
    assert post(REVIEW).json()["kinds"][0]["accepted"] == 2


@pytest.mark.parametrize(
    "body",
    [
        {"step": "persona", "options": {"count": "many"}},
        {"step": "persona", "options": {"size": 3}},
        {"step": "general", "options": {"texts": "one text"}},
        {"step": "general", "options": {"texts": [5]}},
        {"step": "answer", "options": {"strategy": "A1"}},
        {"step": "answer", "options": {"rewrite": "A1"}},
        {"step": "nonsense"},
        {"step": "persona", "options": []},
    ],
)
def test_what_a_program_sends_wrongly_is_refused_with_a_sentence(post, model, body):
    answer = post(GENERATION, body)
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    assert not Proposal.objects.exists()


# --- Sides ----------------------------------------------------------------------------------
