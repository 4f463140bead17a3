"""Ready tasks of a release's pairs for the harnesses that people evaluate models with. Pure.

Every pair is asked twice, each answer standing first once, so that a model that prefers a place
gets half of them. `rewardbench.jsonl` is what RewardBench's loader takes: a text as the prompt, and
both conversations as lists of messages from the prompt to the answer.
"""

import inspect
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import yaml

from annotation.datasets import verdict
from annotation.datasets.records import MESSAGES, Item, Pair, answer_messages, asked
from annotation.datasets.writers import Table, TableRows

FOLDER = "harness"
# In the place of a tier: what more than half of people say.
MOST = "people"
_ASKED = {"id": "text", "pair": "text", "half": "text", "tier": "text"}
_OPTIONS = {"persona": "text", "question": "text", "a": "text", "b": "text"}
CHOICE = _ASKED | _OPTIONS | {"answer": "integer"}
# A question with two options, as one text.
STATED = _ASKED | {"text": "text", "answer": "integer"}
REWARD: dict[str, str | list] = {
    "id": "text",
    "subset": "text",
    "prompt": "text",
    "chosen": MESSAGES,
    "rejected": MESSAGES,
    "chosen_model": "text",
    "rejected_model": "text",
}
PAIR = """\
{% if persona %}You know this person:
{{persona}}

{% endif %}They ask: {{question}}

Answer A:
{{a}}

Answer B:
{{b}}

"""
LETTER = "Which answer suits this person better? Reply with one letter, A or B.\nAnswer:"
VERDICT = "Which answer suits this person better? End with one line: Verdict: A or Verdict: B."
OPTION = "Which option do people choose? Reply with one letter, A or B.\nAnswer:"
OPTION_VERDICT = "Which option do people choose? End with one line: Verdict: A or Verdict: B."
READER = "verdict"


def harness_tables(groups: list[tuple[str, str]]) -> dict[str, Table]:
    """A file of choices for each (half, tier), and the pairs for reward models."""
    made = {_path(*group): Table(_path(*group), "jsonl", CHOICE) for group in groups}
    return made | {"rewardbench": Table(f"{FOLDER}/rewardbench.jsonl", "jsonl", REWARD)}


def stated_tables(halves: Iterable[str]) -> dict[str, Table]:
    """A file of questions with two options for each of ``halves``, as most people answer them."""
    return {_path(half, MOST): Table(_path(half, MOST), "jsonl", STATED) for half in halves}


def _path(half: str, tier: str) -> str:
    return f"{FOLDER}/choices/{half}-{tier}.jsonl"


def harness_rows(item: Item, pair: Pair, half: str) -> TableRows:
    persona = json.dumps(item.profile, ensure_ascii=False, indent=1) if item.profile else ""
    sides = ((pair.chosen.text, pair.reject.text), (pair.reject.text, pair.chosen.text))
    about = {"pair": item.id, "half": half, "tier": pair.tier}
    for answer, (a, b) in enumerate(sides):
        row = {"persona": persona, "question": item.question, "a": a, "b": b, "answer": answer}
        yield _path(half, pair.tier), {"id": f"{item.id}/{verdict.LETTERS[answer]}"} | about | row
    prompt = f"You know this person:\n{persona}\n\nThey ask: {item.question}"
    prompt = prompt if persona else item.question
    row = {
        "id": item.id,
        "subset": f"{half}-{pair.tier}",
        "prompt": prompt,
        # Its loader takes the prompt from the turns of the chosen answer.
        "chosen": asked(prompt) + answer_messages(pair.chosen),
        "rejected": asked(prompt) + answer_messages(pair.reject),
        "chosen_model": pair.chosen.model,
        "rejected_model": pair.reject.model,
    }
    yield "rewardbench", row


def stated_rows(half: str, name: str, text: str, options: Sequence[str], right: int) -> TableRows:
    """The question ``name`` with each of its two ``options`` first once; ``right`` is a place."""
    for answer in (right, 1 - right):
        a, b = options if answer == right else (options[1], options[0])
        about = {"id": f"{name}/{verdict.LETTERS[answer]}", "pair": name, "half": half}
        shown = f"{text}\n\nOption A: {a}\n\nOption B: {b}"
        yield _path(half, MOST), about | {"tier": MOST, "text": shown, "answer": answer}


def harness_texts(filled: list[str], *, stated: bool = False) -> dict[str, str]:
    """{path: text} of the tasks over the tables ``filled`` that have rows: of pairs, or ``stated``
    questions.
    """
    choices = [path for path in filled if path.startswith(f"{FOLDER}/choices/")]
    if stated and not choices:
        return {}
    names = {Path(path).stem.replace("-", "_"): path for path in choices}
    asked, letter, final, shown = (
        ("{{text}}\n\n", OPTION, OPTION_VERDICT, TEXT)
        if stated
        else (PAIR, LETTER, VERDICT, ANSWERS)
    )
    texts = {
        f"{FOLDER}/inspect_task.py": INSPECT.replace("SHOWN", shown).replace("ASKED", final),
        f"{FOLDER}/lm_eval/{READER}.py": inspect.getsource(verdict),
    }
    for suffix, described, metrics in (
        ("", _by_likelihood(asked + letter), ("acc",)),
        ("_chat", _by_verdict(asked + final), ("exact_match", "unparsed_share")),
    ):
        for name, path in names.items():
            task = f"attune_{name}{suffix}"
            texts[f"{FOLDER}/lm_eval/{task}.yaml"] = _yaml(_common(task, path) | described)
        members = [f"attune_{name}{suffix}" for name in names]
        means = [_mean(metric) | {"weight_by_size": True} for metric in metrics]
        # A metric behind a filter is named with it.
        means = [mean | {"filter_list": ["letter"]} if suffix else mean for mean in means]
        group = {"group": f"attune{suffix}", "task": members, "aggregate_metric_list": means}
        texts[f"{FOLDER}/lm_eval/attune{suffix}.yaml"] = _yaml(group)
    return texts


def _common(task: str, path: str) -> dict:
    return {
        "task": task,
        # Read from the folder of the release: run the harness there.
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": path}},
        "test_split": "test",
        "num_fewshot": 0,
    }


def _mean(metric: str) -> dict:
    return {"metric": metric, "aggregation": "mean"}


def _by_likelihood(text: str) -> dict:
    """The likelier letter: for models that give log-probabilities."""
    return {
        "output_type": "multiple_choice",
        "doc_to_text": text,
        "doc_to_choice": list(verdict.LETTERS),
        "doc_to_target": "answer",
        "metric_list": [_mean("acc") | {"higher_is_better": True}],
        "metadata": {"version": 1},
    }


def _by_verdict(text: str) -> dict:
    """The verdict that the reply ends with: for chat models."""
    return {
        "output_type": "generate_until",
        "doc_to_text": text,
        "doc_to_target": "{{['A', 'B'][answer]}}",
        # Up to its end: reasons come before the verdict. Some servers refuse an empty list of ends.
        "generation_kwargs": {"until": ["</s>"], "max_gen_toks": 1024, "do_sample": False},
        "filter_list": [{"name": "letter", "filter": [{"function": "take_first"}]}],
        "process_results": _Function(f"{READER}.{verdict.score.__name__}"),
        "metric_list": [
            _mean("exact_match") | {"higher_is_better": True},
            _mean("unparsed_share") | {"higher_is_better": False},
        ],
        # 1 took the reply's first letter A or B, an article too, and ended at an empty line.
        "metadata": {"version": 2},
    }


class _Function(str):
    """The name of a function in a file beside the task."""


class _Dumper(yaml.SafeDumper):
    """Writes names of functions as lm-evaluation-harness reads them."""


_Dumper.add_representer(_Function, lambda dumper, name: dumper.represent_scalar("!function", name))


def _yaml(value: dict) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1000)


# How a row of Inspect's task is asked: of pairs, and of questions with options.
ANSWERS = """\
    person = f"You know this person:\\n{row['persona']}\\n\\n" if row["persona"] else ""
    answers = f"Answer A:\\n{row['a']}\\n\\nAnswer B:\\n{row['b']}"
    return Sample(
        id=row["id"],
        input=f"{person}They ask: {row['question']}\\n\\n{answers}\\n\\nASKED",\
"""
TEXT = """\
    return Sample(
        id=row["id"],
        input=f"{row['text']}\\n\\nASKED",\
"""
INSPECT = Path(__file__).with_name("inspect_task.txt").read_text(encoding="utf-8")
