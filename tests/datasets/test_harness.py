"""A folder written by a release, measured by ``evaluate`` and by the harnesses it has tasks for."""

import json

import pytest
from django.core.management import call_command

from annotation.candidates.strategies import QUESTION_ALONE
from annotation.datasets import folders
from annotation.queries.models import Query
from tests.datasets.conftest import rows, run_tool
from tests.datasets.test_released import mix, released  # noqa: F401 - a fixture
from tests.scripted_endpoint import ScriptedEndpoint, prompt_of

# (task, query) -> how the scripted model answers: right, wrong, the place it always names, or
# unclear: wrong by likelihood, in words of both.
PLANNED = {
    ("better", "better-q1"): ("1" * 9, "right"),  # medium
    ("better", "better-q2"): ("2" * 9, "unclear"),  # medium
    ("better", "better-q3"): ("2" * 9, "first"),  # medium, general
    ("better", "better-q4"): ("111111112", "right"),  # hard
    ("better", "better-q5"): ("222222221", "first"),  # hard
    # Easy: nobody chose the answer to the question alone.
    ("best", "best-q1"): ("", "right"),
    ("best", "best-q2"): ("", "second"),
}
# By hand: right counts 1, wrong 0, one place in both orders 1/2.
BY_HAND = {
    "specific": {
        "easy": (2, 75.0),
        "medium": (2, 50.0),
        "hard": (2, 75.0),
        "average": (6, 400 / 6),
    },
    "general": {"medium": (1, 50.0), "average": (1, 50.0)},
}  # fmt: skip
AVERAGE, UNCLEAR = 100 * 4.5 / 7, 1
# The rule of the scripted model, here and in the processes of the harnesses: below 0 it is unclear.
PLACE = """
def place(text, script):
    for how, chosen, reject in script:
        if chosen in text and reject in text:
            good = 1 if text.index(chosen) < text.index(reject) else 2
            return {"right": good, "first": 1, "second": 2, "unclear": good - 3}[how]

def reply(text, script):
    number = place(text, script)
    return f"ANSWER: {'AB'[number - 1]}" if number > 0 else "Both do."
"""
LM_EVAL = """
import json
from lm_eval import evaluator, tasks
from lm_eval.api.model import LM

script = json.load(open("script.json"))

class Scripted(LM):
    def loglikelihood(self, requests, **_):
        return [(0.0 if r.args[1].strip() == "AB"[abs(place(r.args[0], script)) - 1] else -1.0,
                 False) for r in requests]
    def loglikelihood_rolling(self, requests, **_):
        raise NotImplementedError
    def generate_until(self, requests, **_):
        return [reply(r.args[0], script) for r in requests]

manager = tasks.TaskManager(include_path="harness/lm_eval", include_defaults=False)
run = evaluator.simple_evaluate(
    model=Scripted(), tasks=["attune", "attune_chat"], task_manager=manager, bootstrap_iters=0
)
found = run["results"] | run.get("groups", {})
print(json.dumps({name: {key: value for key, value in row.items() if isinstance(value, float)}
                  for name, row in found.items()}))
"""
INSPECT = """
import json
from inspect_ai import eval
from inspect_ai.model import ModelAPI, ModelOutput, modelapi

script = json.load(open("script.json"))

class Scripted(ModelAPI):
    async def generate(self, input, tools, tool_choice, config):
        return ModelOutput.from_content("scripted/a", reply(input[-1].text, script))
    async def count_text_tokens(self, text):  # without a network
        return len(text) // 4

@modelapi(name="scripted")
def scripted():
    return Scripted

(log,) = eval("harness/inspect_task.py", model="scripted/a", display="none", log_dir="logs")
assert log.status == "success", log.error
print(json.dumps({name: metric.value for score in log.results.scores
                  for name, metric in score.metrics.items()}))
"""


@pytest.fixture
def folder(tea, items, vote, built):
    """A release with an easy, a medium and a hard tier, and the model's rule as script.json."""
    made = [*items(5), *items(2, options=3)]
    for item, (pattern, _how) in zip(made, PLANNED.values(), strict=True):
        personal = item.options.exclude(candidate__strategy=QUESTION_ALONE).earliest("number")
        vote(item, pattern or str(personal.number) * 9)
    tea.personas.get().memories.create(text="Walks before breakfast, with a book.")
    Query.objects.filter(study=tea, external_id="better-q3").update(type="general")
    path = folders.folder_of(built("personafeedback"))
    hows = {query: how for (_task, query), (_pattern, how) in PLANNED.items()}
    pairs = [row for file in path.glob("data/*/*.jsonl") for row in rows(path, file)]
    script = [(hows[row["query_id"]], row["chosen"], row["reject"]) for row in pairs]
    (path / "script.json").write_text(json.dumps(script))
    return path


@pytest.fixture
def server(folder, settings):
    """The scripted model under the name "scripted"."""
    script, names = json.loads((folder / "script.json").read_text()), {}
    exec(PLACE, names)  # noqa: S102 - the text above

    def answer(request, number):
        text = prompt_of(request)
        if "\nNotes:\n" in text:
            return "Notes: 1"
        return f"**Verdict: {max(names['place'](text, script), 0)}**"

    with ScriptedEndpoint(answer) as endpoint:
        settings.ENDPOINTS = [endpoint.config(concurrency=4)]
        yield endpoint


@pytest.mark.parametrize("setting", ["persona", "rag", "rag-filter", "none"])
def test_a_written_release_gives_the_accuracies_computed_by_hand(capsys, folder, server, setting):
    call_command(
        "evaluate", "--release", str(folder), "--endpoint", "scripted", "--setting", setting,
        "--json",
    )  # fmt: skip
    result = json.loads(capsys.readouterr().out)
    values = {
        half: {tier: (cell["n"], cell["value"]) for tier, cell in tiers.items() if cell["n"]}
        for half, tiers in result["accuracy"].items()
    }
    assert values == {
        half: {tier: (n, pytest.approx(value)) for tier, (n, value) in tiers.items()}
        for half, tiers in BY_HAND.items()
    }
    assert (result["n"], result["unparsed"]) == (7, 2 * UNCLEAR)
    assert result["average"]["value"] == pytest.approx(AVERAGE)
    # Who names one place in both orders contradicts itself: three of the six with clear verdicts.
    assert result["position_consistency"] == pytest.approx(50)
    judged = [text for text in map(prompt_of, server.requests) if "Answer 1:" in text]
    assert len(judged) == 14
    assert all(("Mina Park" in text) == (setting == "persona") for text in judged)
    assert all(("before breakfast" in text) == ("rag" in setting) for text in judged)


def test_pairs_by_majority_are_asked_and_stand_under_that_name(
    capsys, tea, items, panel, built, settings
):
    panel("112", "122", "12")
    folder = folders.folder_of(built("personafeedback", rule="majority", min_votes=3))
    first, *_rest = rows(folder, "data/specific/majority.jsonl")

    def answer(request, number):
        """Right on the first pair, always the first place on the second."""
        text = prompt_of(request)
        known = first["chosen"] in text
        wrong = known and text.index(first["chosen"]) > text.index(first["reject"])
        return f"Verdict: {2 if wrong else 1}"

    with ScriptedEndpoint(answer) as endpoint:
        settings.ENDPOINTS = [endpoint.config()]
        call_command("evaluate", "--release", str(folder), "--endpoint", "scripted", "--json")
    result = json.loads(capsys.readouterr().out)
    specific = result["accuracy"]["specific"]
    assert {name: cell["n"] for name, cell in specific.items()} == {
        "easy": 0, "medium": 0, "hard": 0, "majority": 2, "average": 2
    }  # fmt: skip
    assert (specific["majority"]["value"], result["average"]["value"]) == (75.0, 75.0)
    assert set(result["accuracy"]["general"]) == {"easy", "medium", "hard", "average"}


def test_lm_eval_finds_the_accuracy_of_evaluate(folder, tmp_path):
    results = run_tool(folder, tmp_path, PLACE + LM_EVAL, "lm_eval")
    tiers = {
        f"attune_{half}_{tier}": value / 100
        for half, tiers in BY_HAND.items()
        for tier, (_n, value) in tiers.items()
        if tier != "average"
    }
    assert {name: results[name]["acc,none"] for name in tiers} == tiers
    assert {name: results[f"{name}_chat"]["exact_match,letter"] for name in tiers} == tiers
    assert results["attune"]["acc,none"] == pytest.approx(AVERAGE / 100)
    assert results["attune_chat"]["exact_match,letter"] == pytest.approx(AVERAGE / 100)
    assert results["attune_chat"]["unparsed_share,letter"] == pytest.approx(UNCLEAR / 7)


def test_inspect_finds_the_accuracy_of_evaluate(folder, tmp_path):
    results = run_tool(folder, tmp_path, PLACE + INSPECT, "inspect_ai")
    assert results["accuracy"] == pytest.approx(AVERAGE / 100)
    assert results["unparsed_share"] == pytest.approx(UNCLEAR / 7)
    # Under the names of the tiers: all pairs of a tier, of both halves.
    assert (results["easy"], results["medium"], results["hard"]) == (0.75, 0.5, 0.75)


def test_harnesses_ask_the_stages_of_personalbench(mix, tmp_path):  # noqa: F811
    """By hand: whoever names the first option is right in one of the two orders."""
    path = released(mix, "personalbench")
    (path / "script.json").write_text(json.dumps([("first", "A person asks", "Option A")]))
    results = run_tool(path, tmp_path, PLACE + LM_EVAL, "lm_eval")
    for name in ("relevance", "responses"):
        assert results[f"attune_{name}_people"]["acc,none"] == 0.5
        assert results[f"attune_{name}_people_chat"]["exact_match,letter"] == 0.5
    results = run_tool(path, tmp_path, PLACE + INSPECT, "inspect_ai")
    assert (results["accuracy"], results["unparsed_share"]) == (0.5, 0)
