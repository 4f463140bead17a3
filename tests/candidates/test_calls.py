from decimal import Decimal

import pytest

from annotation.candidates import calls, endpoints, generate
from annotation.candidates.endpoints import CallFailed
from annotation.candidates.models import Budget, Candidate, Spending
from tests.at_once import race
from tests.candidates.conftest import Reply
from tests.candidates.test_generate import one, overdue, written
from tests.scripted_endpoint import prompt_of

MESSAGES = [{"role": "user", "content": "Where shall I walk?"}]


@pytest.fixture
def priced(fake, settings):
    settings.ENDPOINTS = [fake.config(price_in=1000, price_out=1000, max_tokens=100)]
    return endpoints.get("fake")


def test_a_call_reserves_its_most_and_is_settled_with_what_it_took(asked, tea, fake, priced):
    answer = calls.call(Candidate(study=tea), priced, MESSAGES)
    assert (answer.tokens_in, answer.tokens_out) == (7, 5)
    assert calls.spent(tea.pk) == {"calls": 1, "tokens": 12, "cost": Decimal("0.012")}


def test_a_refused_call_costs_nothing_and_a_broken_one_stays_reserved(asked, tea, fake, priced):
    most = sum(calls.bound(priced, MESSAGES))
    for reply, code, tokens in [
        (Reply(status=429, body=b"{}"), "rate_limit", 0),
        (Reply(body=b"<html>"), "unparsable", most),
    ]:
        fake.replies = [reply]
        with pytest.raises(CallFailed, match=code):
            calls.call(Candidate(study=tea), priced, MESSAGES)
        assert calls.spent(tea.pk)["tokens"] == tokens


def test_a_budget_refuses_a_call_before_it_is_sent(asked, tea, fake, priced):
    Budget.objects.create(study=tea, cost=Decimal("0.1"))
    candidate = written(one(tea))
    assert (candidate.status, candidate.error_code) == ("failed", "budget")
    assert candidate.error == "The study's budget is used up: “fake” was not asked."
    assert fake.requests == []
    Budget.objects.update(cost=5)
    generate.retry(tea)
    assert written(candidate).status == "done"


def test_a_budget_for_the_day_is_waited_for_without_counting_a_try(asked, tea, fake, priced):
    most = sum(calls.bound(priced, MESSAGES))
    Budget.objects.create(study=tea, daily_tokens=most + 10_000)
    calls.reserve(tea.pk, priced, MESSAGES)
    Spending.objects.update(tokens=most + 10_000)
    candidate = written(one(tea))
    assert (candidate.status, candidate.error_code) == ("requested", "budget_day")
    assert (candidate.tries, fake.requests) == (0, [])
    Spending.objects.update(tokens=0)
    assert written(overdue(candidate)).status == "done"


def test_without_a_limit_of_tokens_no_budget_can_hold(asked, tea, fake, settings):
    settings.ENDPOINTS = [fake.config(max_tokens=None)]
    Budget.objects.create(study=tea, cost=100)
    assert written(one(tea)).error_code == "no_bound"
    Budget.objects.all().delete()
    generate.retry(tea)
    assert calls.calls_due()


@pytest.mark.django_db(transaction=True)
def test_calls_at_once_never_reserve_more_than_the_budget(asked, tea, priced):
    most = sum(calls.bound(priced, MESSAGES))
    Budget.objects.create(study=tea, tokens=3 * most + most // 2)

    def reserve(_call):
        try:
            calls.reserve(tea.pk, priced, MESSAGES)
        except CallFailed as failure:
            return failure.code
        return "reserved"

    assert sorted(race(reserve, range(8))) == ["budget"] * 5 + ["reserved"] * 3
    assert calls.spent(tea.pk)["tokens"] == 3 * most


def test_a_server_that_asks_for_patience_is_obeyed_beyond_three_tries(asked, tea, fake, settings):
    fake.replies = [Reply(status=429, body=b"{}", headers={"Retry-After": "60"})]
    candidate = one(tea)
    for _try in range(5):
        assert written(overdue(candidate)).status == "requested"
    fake.replies = [Reply("Walk.")]
    assert (written(overdue(candidate)).status, candidate.attempts) == ("done", 6)
    settings.GENERATION_HOURS = 0
    fake.replies = [Reply(status=429, body=b"{}", headers={"Retry-After": "60"})]
    assert written(one(tea, "A2")).status == "failed"


SCHEMA = {
    "type": "object",
    "properties": {"fits": {"type": "boolean"}},
    "required": ["fits"],
    "additionalProperties": False,
}


CHAT = [{"role": "system", "content": "Judge."}, {"role": "user", "content": "This."}]


def structured(study):
    return calls.call_structured(Candidate(study=study), endpoints.get(), CHAT, SCHEMA)


def test_a_schema_is_asked_for_and_checked(tea, model, script):
    script.values = [{"fits": True}]
    value, answer = structured(tea)
    assert (value, answer.model) == ({"fits": True}, "scripted-1")
    assert model.requests[0]["response_format"]["json_schema"]["schema"] == SCHEMA
    script.values = [{"fits": "perhaps"}]
    with pytest.raises(CallFailed, match="schema"):
        structured(tea)


def test_a_server_that_refuses_schemas_is_asked_in_words_and_remembered(tea, model, script):
    model.schemas = False
    script.values = ['Sure!\n```json\n{"fits": false}\n```\nAnything else?']
    for _time in range(2):
        assert structured(tea)[0] == {"fits": False}
    assert [bool(one.get("response_format")) for one in model.requests] == [True, False, False]
    assert '"additionalProperties": false' in prompt_of(model.requests[-1])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('<think>{"fits": false}</think>{"fits": true}', {"fits": True}),
        ('Well: {"fits": true} and {"fits": false}', {"fits": True}),
        ("", None),
        ("<b>no</b>", None),
        ('{"fits": true, "more": 1}', None),
        ('{"fits": tr', None),
        ("{" * 5000, None),
        ("[" * 100_000, None),
        ('{"fits": ' + "[" * 50_000 + "]" * 50_000 + "}", None),
    ],
)
def test_only_an_object_that_fits_is_taken(text, value):
    if value is None:
        with pytest.raises(ValueError):
            calls.parsed(text, SCHEMA)
    else:
        assert calls.parsed(text, SCHEMA) == value


def test_what_a_database_cannot_hold_leaves_the_value():
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert calls.parsed('{"a": "x\\u0000y\\ud800"}', schema) == {"a": "xy\ufffd"}
