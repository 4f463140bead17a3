"""Ready tasks of a release's pairs for the harnesses that people evaluate models with. Pure.

Every pair is asked twice, each answer standing first once, so that a model that prefers a place
gets half of them. `rewardbench.jsonl` is what RewardBench's loader takes: a text as the prompt, and
both conversations as lists of messages from the prompt to the answer.
"""

import json

import yaml

from annotation.datasets.conversations import MESSAGES, answered, asked
from annotation.datasets.records import Item, Pair
from annotation.datasets.writers import Table, TableRows

FOLDER = "harness"
LETTERS = ("A", "B")
CHOICE = {
    "id": "text",
    "pair": "text",
    "half": "text",
    "tier": "text",
    "persona": "text",
    "question": "text",
    "a": "text",
    "b": "text",
    "answer": "integer",
}
REWARD: dict[str, str | list] = {
    "id": "text",
    "subset": "text",
    "prompt": "text",
    "chosen": MESSAGES,
    "rejected": MESSAGES,
    "chosen_model": "text",
    "rejected_model": "text",
}
PROMPT = """\
You know this person:
{{persona}}

They ask: {{question}}

Answer A:
{{a}}

Answer B:
{{b}}

Which answer suits this person better? Reply with one letter, A or B.
Answer:"""


def harness_tables(groups: list[tuple[str, str]]) -> dict[str, Table]:
    """A file of choices for each (half, tier), and the pairs for reward models."""
    made = {_path(*group): Table(_path(*group), "jsonl", CHOICE) for group in groups}
    return made | {"rewardbench": Table(f"{FOLDER}/rewardbench.jsonl", "jsonl", REWARD)}


def _path(half: str, tier: str) -> str:
    return f"{FOLDER}/choices/{half}-{tier}.jsonl"


def harness_rows(item: Item, pair: Pair, half: str) -> TableRows:
    persona = json.dumps(item.profile, ensure_ascii=False, indent=1) if item.profile else ""
    sides = ((pair.chosen.text, pair.reject.text), (pair.reject.text, pair.chosen.text))
    about = {"pair": item.id, "half": half, "tier": pair.tier}
    for answer, (a, b) in enumerate(sides):
        row = {"persona": persona, "question": item.question, "a": a, "b": b, "answer": answer}
        yield _path(half, pair.tier), {"id": f"{item.id}/{LETTERS[answer]}"} | about | row
    prompt = f"You know this person:\n{persona}\n\nThey ask: {item.question}"
    prompt = prompt if persona else item.question
    yield (
        "rewardbench",
        {
            "id": item.id,
            "subset": f"{half}-{pair.tier}",
            "prompt": prompt,
            # Its loader takes the prompt from the turns of the chosen answer.
            "chosen": asked(prompt) + answered(pair.chosen.text),
            "rejected": asked(prompt) + answered(pair.reject.text),
            "chosen_model": pair.chosen.model,
            "rejected_model": pair.reject.model,
        },
    )


def harness_texts(filled: list[str]) -> dict[str, str]:
    """{path: text} of the tasks over the tables ``filled`` that have rows."""
    names = {
        path.rsplit("/", 1)[1].removesuffix(".jsonl").replace("-", "_"): path
        for path in filled
        if path.startswith(f"{FOLDER}/choices/")
    }
    texts = {f"{FOLDER}/inspect_task.py": INSPECT}
    for suffix, describe in (("", _by_likelihood), ("_chat", _by_letter)):
        for name, path in names.items():
            task = f"attune_{name}{suffix}"
            texts[f"{FOLDER}/lm_eval/{task}.yaml"] = _yaml(_common(task, path) | describe())
        members = [f"attune_{name}{suffix}" for name in names]
        metric = "exact_match" if suffix else "acc"
        # A metric behind a filter is named with it.
        means = {"metric": metric, "aggregation": "mean", "weight_by_size": True}
        means |= {"filter_list": ["letter"]} if suffix else {}
        group = {"group": f"attune{suffix}", "task": members, "aggregate_metric_list": [means]}
        texts[f"{FOLDER}/lm_eval/attune{suffix}.yaml"] = _yaml(group)
    return texts


def _common(task: str, path: str) -> dict:
    return {
        "task": task,
        # Read from the folder of the release: run the harness there.
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": path}},
        "test_split": "test",
        "doc_to_text": PROMPT,
        "num_fewshot": 0,
        "metadata": {"version": 1},
    }


def _by_likelihood() -> dict:
    """The likelier letter: for models that give log-probabilities."""
    return {
        "output_type": "multiple_choice",
        "doc_to_choice": list(LETTERS),
        "doc_to_target": "answer",
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
    }


def _by_letter() -> dict:
    """The first letter of the reply: for chat models."""
    letter = {"function": "regex", "regex_pattern": r"\b([AB])\b"}
    return {
        "output_type": "generate_until",
        "doc_to_target": "{{['A', 'B'][answer]}}",
        "generation_kwargs": {"until": ["\n\n"], "max_gen_toks": 1024, "do_sample": False},
        "filter_list": [{"name": "letter", "filter": [letter, {"function": "take_first"}]}],
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    }


def _yaml(value: dict) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1000)


INSPECT = '''\
"""The pairs of this release as a task for Inspect: inspect eval harness/inspect_task.py."""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample, json_dataset
from inspect_ai.scorer import accuracy, choice, grouped, stderr
from inspect_ai.solver import multiple_choice

CHOICES = Path(__file__).parent / "choices"


def sample(row: dict) -> Sample:
    """One pair in one order."""
    person = f"You know this person:\\n{row['persona']}\\n\\n" if row["persona"] else ""
    return Sample(
        id=row["id"],
        input=f"{person}They ask: {row['question']}\\n\\nWhich answer suits this person better?",
        choices=[row["a"], row["b"]],
        target="AB"[row["answer"]],
        metadata={name: row[name] for name in ("pair", "half", "tier")},
    )


@task
def attune(half: str = "", tier: str = "") -> Task:
    """All pairs in both orders, or those of one half or tier."""
    paths = sorted(CHOICES.glob(f"{half or '*'}-{tier or '*'}.jsonl"))
    rows = [one for path in paths if path.stat().st_size for one in json_dataset(str(path), sample)]
    return Task(
        dataset=MemoryDataset(rows, name="attune"),
        solver=multiple_choice(),
        scorer=choice(),
        metrics=[accuracy(), stderr(cluster="pair"), grouped(accuracy(), "tier")],
    )
'''
