"""Ready tasks for other harnesses: each file in its documented form."""

import ast
import json
import runpy

import pytest
import yaml

from annotation.datasets import folders, verdict
from annotation.evaluation import choices


@pytest.fixture
def folder(items, vote, built):
    for item, pattern in zip(items(4), ["1" * 9, "2" * 9, "111111112", "111122221"], strict=True):
        vote(item, pattern)
    return folders.folder_of(built("personafeedback"))


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Tasks(yaml.SafeLoader):
    """Reads `!function NAME` as the name."""


Tasks.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))


def task_of(folder, name):
    text = (folder / f"harness/lm_eval/{name}.yaml").read_text()
    return yaml.load(text, Tasks)  # noqa: S506 - a safe one


def test_every_pair_is_asked_in_both_orders(folder):
    medium = rows(folder / "harness/choices/specific-medium.jsonl")
    pairs = {row["item_id"]: row for row in rows(folder / "data/specific/medium.jsonl")}
    assert len(medium) == 4
    for row in medium:
        chosen = (row["a"], row["b"])[row["answer"]]
        assert chosen == pairs[row["pair"]]["chosen"]
        assert {row["a"], row["b"]} == {pairs[row["pair"]][n] for n in ("chosen", "reject")}
    assert [row["answer"] for row in medium] == [0, 1, 0, 1]
    assert json.loads(medium[0]["persona"]) == {"Name": "Mina Park"}


def test_a_reward_model_gets_pairs_as_the_loader_of_rewardbench_takes_them(folder):
    """Its rule: prompt = chosen[:-1], and the answers are the last messages' contents.

    Where the column `prompt` is a list already it takes the answers for texts: here it is a text.
    """
    rewards = rows(folder / "harness/rewardbench.jsonl")
    pairs = [
        row for tier in ("medium", "hard") for row in rows(folder / f"data/specific/{tier}.jsonl")
    ]
    assert [row["subset"] for row in rewards] == [
        "specific-medium", "specific-medium", "specific-hard"
    ]  # fmt: skip
    for row, pair in zip(rewards, pairs, strict=True):
        assert row["prompt"] == (
            f'You know this person:\n{{\n "Name": "Mina Park"\n}}\n\nThey ask: {pair["question"]}'
        )
        asked = [{"role": "user", "content": row["prompt"]}]
        assert row["chosen"] == [*asked, {"role": "assistant", "content": pair["chosen"]}]
        assert row["rejected"] == [*asked, {"role": "assistant", "content": pair["reject"]}]
        assert (row["id"], row["chosen_model"]) == (pair["item_id"], pair["chosen_model"])


REPLIES = [
    ("{}", True),
    ("**Verdict: {}**", True),
    ("A person like this is best served by answer {}.", True),
    ("Answer: A person like this is best served by answer {}.", True),
    ("It weighs little.\n\nVerdict: {}", True),
    ("<think>Verdict: {}</think>\nI cannot say.", False),
    ("Verdict: {} or the other", False),
    ("A person like this would like both.", False),
    ("Answer: A person like this would like both.", False),
    ("", False),
]


@pytest.mark.parametrize(("reply", "clear"), REPLIES)
def test_a_reply_to_the_chat_task_is_read_as_evaluate_reads_it(folder, reply, clear):
    score = runpy.run_path(str(folder / "harness/lm_eval/verdict.py"))["score"]
    for place, (number, letter) in enumerate(zip("12", "AB", strict=True)):
        chosen = choices.read_choice(reply.format(number))
        assert chosen == (int(number) if clear else None)
        for answer in (0, 1):
            right = clear and answer == place
            assert score({"answer": answer}, [reply.format(letter)]) == {
                "exact_match": float(right), "unparsed_share": float(not clear)
            }  # fmt: skip


def test_both_harnesses_read_verdicts_by_the_code_of_evaluate_and_hear_replies_to_their_end(folder):
    shipped = (folder / "harness/lm_eval/verdict.py").read_text("utf-8")
    with open(verdict.__file__, encoding="utf-8") as own:
        assert shipped == own.read()
    task = task_of(folder, "attune_specific_hard_chat")
    assert task["process_results"] == "verdict.score"
    assert task["generation_kwargs"]["until"] == ["</s>"]
    assert (
        'runpy.run_path(str(HERE / "lm_eval/verdict.py"))'
        in (folder / "harness/inspect_task.py").read_text()
    )
    group = task_of(folder, "attune_chat")
    assert [mean["metric"] for mean in group["aggregate_metric_list"]] == [
        "exact_match", "unparsed_share"
    ]  # fmt: skip


def test_the_yaml_names_files_that_are_there_and_keys_that_the_format_has(folder):
    keys = {
        *("task", "dataset_path", "dataset_kwargs", "test_split", "doc_to_text", "doc_to_target"),
        *("doc_to_choice", "output_type", "metric_list", "filter_list", "generation_kwargs"),
        *("num_fewshot", "metadata", "process_results"),
    }
    paths = sorted(path.stem for path in (folder / "harness/lm_eval").glob("*.yaml"))
    assert paths == [
        *("attune", "attune_chat", "attune_specific_hard", "attune_specific_hard_chat"),
        *("attune_specific_medium", "attune_specific_medium_chat"),
    ]
    for name in paths:
        task = task_of(folder, name)
        if "group" in task:
            assert set(task["task"]) <= set(paths)
            continue
        assert (task["task"], set(task) - keys) == (name, set())
        data = folder / task["dataset_kwargs"]["data_files"]["test"]
        columns = set(rows(data)[0])
        for column in ("persona", "question", "a", "b"):
            assert "{{" + column + "}}" in task["doc_to_text"]
            assert column in columns
        assert rows(data)[0]["answer"] in (0, 1)
    module = ast.parse((folder / "harness/inspect_task.py").read_text())
    assert [node.name for node in module.body if isinstance(node, ast.FunctionDef)] == [
        *("sample", "unparsed_share", "verdict", "attune")
    ]
