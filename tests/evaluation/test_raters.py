"""Models as raters: the items that people judge, both orders, verdicts beside the judgments."""

import json
import math
import re
from decimal import Decimal

import pytest
from django.core.management import CommandError
from django.db.models import JSONField, Value

from annotation.candidates import endpoints
from annotation.candidates.models import Budget, Spending
from annotation.evaluation import raters, runs
from annotation.evaluation.models import Reply, Run, Verdict
from annotation.judging.models import Item, Judgment
from annotation.questions.base import Measure
from tests import everykind
from tests.api.caller import Caller
from tests.evaluation.conftest import printed
from tests.scripted_endpoint import RATE_LIMIT, ScriptedEndpoint, prompt_of

pytestmark = pytest.mark.django_db


class Says:
    """A scripted rater: it ``prefers`` the answer with this text, or the FIRST place."""

    prefers, plain = "Repot", "yes"

    def __call__(self, request, number):
        text = prompt_of(request)
        if "<answer 1>" not in text:
            return f'```json\n{{"label": "{self.plain}"}}\n```'
        first = re.search(r"<answer 1>\n(.*)\n</answer 1>", text).group(1)
        best = self.prefers == "FIRST" or self.prefers in first
        return json.dumps({"label": "1" if best else "5"})


@pytest.fixture
def says():
    return Says()


@pytest.fixture
def server(settings, says):
    with ScriptedEndpoint(says) as endpoint:
        settings.ENDPOINTS = [endpoint.config(concurrency=2, price_in=2, price_out=8)]
        yield endpoint


@pytest.fixture
def mix(cast, tmp_path, server):
    study = everykind.study(tmp_path)
    for name, role in (("Ann", "annotator"), ("Carol", "curator"), ("Rui", "researcher")):
        cast.member(name, study, role)
    return study


def judge(task, *options):
    return printed("judge_items", "mix", "--task", task, "--endpoint", "scripted", *options)


def label(study, item) -> str:
    return Verdict.objects.get(item=study.items.get(external_id=item)).label


def test_a_model_sees_the_texts_that_people_see_and_is_no_vote(mix, server, says):
    result = judge("matter", "--name", "judge-1")
    assert (result["items"], result["verdicts"], result["unread"]) == (1, 1, 0)
    assert (label(mix, "i-m1"), Verdict.objects.get().model) == ("yes", "judge-1")
    assert not Judgment.objects.exists() and not Item.objects.filter(done__gt=0).exists()
    (unit,) = raters.units(mix, "matter", "another")
    (question,) = raters.questions([unit])
    text = question.messages()[1]["content"]
    for shown in ("What should I do this weekend?", "Grows ferns at home.", "change the response"):
        assert shown in text
    assert "generic" not in text and "m-1" not in text


def test_both_orders_are_asked_and_turned_to_the_canonical_one(mix, server):
    result = judge("rate")
    # The answer it prefers is the first candidate.
    assert (server.calls, label(mix, "i-rate"), result["same_in_both_orders"]) == (2, "1", 100)


def test_a_model_that_takes_the_first_place_ends_in_the_middle(mix, server, says):
    says.prefers = "FIRST"
    result = judge("rate")
    assert (label(mix, "i-rate"), result["same_in_both_orders"]) == ("3", 0)
    # Of a choice there is no mean: a tie, where the task allows it.
    assert judge("better")["contradictory"] == 0
    assert label(mix, "i-better") == "tie"


def test_halves_go_towards_the_middle():
    measure = Measure("", "ordinal", tuple("12345"), "preference")
    pairs = {"12": "2", "45": "4", "15": "3", "24": "3", "23": "3", "34": "3", "11": "1"}
    # What is no half goes to the nearest.
    pairs |= {"554": "5", "112": "1", "5554": "5", "445": "4", "122": "2", "334": "3"}
    assert {some: raters.combined(measure, list(some))[0] for some in pairs} == pairs


def test_what_most_replies_say_is_the_verdict_and_their_share_the_confidence():
    measure = Measure("", "nominal", ("1", "2", "tie"), "choice", chooses=True)
    assert raters.combined(measure, ["1", "2", "1"]) == ("1", pytest.approx(2 / 3))
    assert raters.combined(measure, ["1", "2"]) == ("tie", 0)
    assert raters.combined(measure, ["1"]) == ("1", None)


def test_an_item_with_a_verdict_is_not_asked_about_again(mix, server):
    judge("matter")
    with pytest.raises(CommandError, match="has judged every item"):
        judge("matter")
    assert server.calls == 1
    assert judge("matter", "--name", "again")["verdicts"] == 1


def test_a_dry_run_says_what_it_would_take_and_asks_nothing(mix, server):
    expected = judge("rate", "--dry-run")
    assert (expected["items"], expected["calls"]) == (1, 2)
    assert expected["cost"] == float((2 * expected["tokens_in"] + 8 * 40) / Decimal(10**6))
    assert (server.calls, Run.objects.count()) == (0, 0)


def test_a_stopped_run_goes_on_with_what_is_missing(mix, server, says, settings, monkeypatch):
    monkeypatch.setattr("annotation.evaluation.asking.PAUSE_SECONDS", 0)
    settings.ENDPOINTS = [server.config(concurrency=1)]
    server.answer = lambda request, n: RATE_LIMIT if 1 <= n <= 3 else says(request, n)
    with pytest.raises(CommandError, match="rate limit"):
        judge("rate")
    run = Run.objects.get()
    assert (run.status, Reply.objects.count(), Verdict.objects.count()) == ("failed", 1, 0)
    assert judge("rate", "--resume", str(run.public_id))["verdicts"] == 1
    assert Reply.objects.count() == 2


def test_a_budget_is_reserved_before_a_call_and_settled_after_it(mix, server, settings):
    settings.ENDPOINTS = [server.config(max_tokens=50, price_in=2, price_out=8)]
    budget = Budget.objects.create(study=mix, tokens=10_000)
    result = judge("matter")
    assert Spending.objects.get().tokens == result["tokens"]
    Budget.objects.filter(pk=budget.pk).update(tokens=result["tokens"] + 10)
    with pytest.raises(CommandError, match="budget is used up"):
        judge("traits")
    assert server.calls == 1


@pytest.mark.parametrize(
    ("task", "words"),
    [("split", "are compared"), ("own", "anybody judges"), ("none", "no task “none”")],
)
def test_what_a_model_cannot_rate_is_refused_in_words(mix, cast, task, words):
    mix.tasks.create(name="split", kind="claims", overlap=1, config={})
    mix.tasks.filter(name="own").update(config=Value({"owner_only": True}, JSONField()))
    with pytest.raises(CommandError, match=words):
        judge(task)


def test_a_question_of_an_owner_is_shown_to_no_model(mix, cast):
    mix.queries.update(owner=cast.person("Ann"), persona=None)
    assert raters.units(mix, "matter", "m") == []


def test_the_page_shows_the_cost_first_and_workers_do_the_rest(mix, server, cast, login):
    client = login(cast.person("Carol"))
    data = {"task": "matter", "endpoint": "scripted", "limit": ""}
    page = client.post("/studies/mix/gap/", data)
    assert "1 calls" in page.text and server.calls == 0
    assert client.post("/studies/mix/gap/", data | {"confirmed": "1"}).status_code == 302
    twice = client.post("/studies/mix/gap/", data | {"confirmed": "1", "limit": "1"})
    assert "asked already" in twice.text
    run = Run.objects.get()
    runs.carry_on(run.pk, 60)
    run.refresh_from_db()
    assert (run.status, run.result["verdicts"]) == ("done", 1)
    text = client.get("/studies/mix/gap/").text
    assert "1 verdict; 0 unread" in text and f"{run.result['tokens']} tokens, cost 0.00" in text
    again = client.post("/studies/mix/gap/", data)
    assert "has judged every item" in again.text
    assert client.post("/studies/mix/gap/", data | {"task": "\u0000"}).status_code == 200
    client.logout()
    researcher = login(cast.person("Rui"))
    assert researcher.post("/studies/mix/gap/", data).status_code == 403
    assert "Ask a model to judge" not in researcher.get("/studies/mix/gap/").text


def test_the_same_by_api_with_the_cost_first(mix, server, says, cast, client):
    says.plain = "perhaps"
    carol = Caller(client, cast.person("Carol"))
    address, body = "studies/mix/model-raters/", {"task": "rate", "endpoint": "scripted"}

    def post(**more):
        return carol("POST", address, body | more)

    plan = post(dry_run=True).json()
    assert (plan["items"], plan["calls"], server.calls) == (1, 2, 0)
    assert post(task="rate").status_code == 202
    runs.carry_on(Run.objects.get().pk, 60)
    assert post(task="matter", name="m").status_code == 202
    runs.carry_on(Run.objects.get(task="matter").pk, 60)
    second, first = carol("GET", address).json()
    assert (first["result"]["verdicts"], first["result"]["same_in_both_orders"]) == (1, 100)
    assert (second["result"]["verdicts"], second["result"]["unread"]) == (0, 1)
    assert post(task="none").status_code == 400
    assert post(limit=0).status_code == 400


class Fills:
    """A scripted rater that gives each key of the wanted object a label by the answer's text."""

    def __call__(self, request, number):
        text = prompt_of(request)
        wanted = json.loads(text[text.rindex("{") :])
        answers = re.findall(r"<answer \d+>\n(.*)\n</answer \d+>", text)
        return json.dumps({key: self.label(key, answers) for key in wanted})

    @staticmethod
    def label(key, answers):
        place = re.search(r"of answer (\d+)", key)
        return str(1 + sorted(answers).index(answers[int(place[1]) - 1])) if place else "1"


@pytest.mark.parametrize("task", ["feel", "order"])
def test_scores_and_places_of_each_answer_are_those_of_its_text(mix, server, task):
    server.answer = Fills()
    result = judge(task)
    item = mix.items.get(batch__task__name=task)
    texts = dict(item.options.values_list("number", "candidate__text"))
    places = {number: str(1 + sorted(texts.values()).index(text))
              for number, text in texts.items()}  # fmt: skip
    stored = list(Verdict.objects.values_list("question", "option", "label", "confidence"))
    assert {label == places[option] for _question, option, label, _sure in stored} == {True}
    assert result["verdicts"] == len(stored) and result["unread"] == 0
    if len(texts) > 1:
        assert result["same_in_both_orders"] == 100
        assert {sure for *_rest, sure in stored} == {1.0}


def test_several_replies_in_each_order_say_how_sure_the_model_is(mix, server):
    replies = iter(["yes", "no", "yes", "yes"])
    server.answer = lambda request, n: json.dumps({"label": next(replies)})
    plan = judge("matter", "--samples", "4", "--dry-run")
    assert (plan["calls"], server.calls) == (4, 0)
    judge("matter", "--samples", "4")
    assert Verdict.objects.get().confidence == 0.75
    with pytest.raises(CommandError, match="--samples"):
        judge("rate", "--samples", "0")


def test_a_server_that_tells_probabilities_says_how_sure_the_model_is():
    told = {"content": [{"logprob": -0.1}, {"logprob": -0.4}]}
    assert endpoints._probability(told) == pytest.approx(math.exp(-0.5))
    assert endpoints._probability(None) is endpoints._probability({"content": []}) is None
