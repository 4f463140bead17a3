"""Pairs for trainers, ready tasks for other harnesses, and the schemas of all layouts."""

import ast
import json
import runpy

import pytest
import yaml
from jsonschema import Draft202012Validator

from annotation.candidates.models import Candidate
from annotation.datasets import folders, layout_schemas, layouts, verdict
from annotation.datasets.release_import import import_release
from annotation.evaluation import choices, pairs
from annotation.judging.batches.open import open_batch
from annotation.studies.models import Study
from tests.datasets.conftest import rows

TEA, COFFEE = "Drink green tea.", "Drink black coffee."


PROFILES = {"Mina": {"Name": "Mina", "Likes": ["tea", "rain"]}, "Ben": {"Name": "Ben"}}


@pytest.fixture
def divided(cast, tea, vote):
    """Mina and Ben ask the same and get the same answers, of which each one's is another."""
    for name, profile in PROFILES.items():
        query = cast.query(tea, f"q-{name}", cast.persona(tea, name, **profile), text="A drink?")
        for candidate, text in zip(cast.candidates(query, 2), (TEA, COFFEE), strict=True):
            Candidate.objects.filter(pk=candidate.pk).update(text=text)
    batch = open_batch(tea, cast.task(tea, "better", options=2))
    for item in batch.items.select_related("query__persona"):
        wanted = TEA if item.query.persona.external_id == "Mina" else COFFEE
        vote(item, str(item.options.get(candidate__text=wanted).number) * 9)


def said(role, content):
    return [{"role": role, "content": content}]


def test_two_people_who_prefer_opposite_answers_are_asked_by_different_prompts(divided, built):
    folder = folders.folder_of(built("dpo"))
    cards = {
        TEA: "The user's profile:\n- Name: Mina\n- Likes: tea, rain",
        COFFEE: "The user's profile:\n- Name: Ben",
    }
    whole = rows(folder, "pairs.jsonl")
    assert {row["chosen"][0]["content"] for row in whole} == {TEA, COFFEE}
    for row in whole:
        chosen, rejected = (TEA, COFFEE) if row["persona"]["Name"] == "Mina" else (COFFEE, TEA)
        assert row["prompt"] == said("system", cards[chosen]) + said("user", "A drink?")
        assert row["chosen"] == said("assistant", chosen)
        assert row["rejected"] == said("assistant", rejected)
    # The same rows beside it, with the question alone.
    plain = rows(folder, "pairs_plain.jsonl")
    assert plain == [
        {name: row[name] for name in plain[0]} | {"prompt": said("user", "A drink?")}
        for row in whole
    ]
    assert {"prompt", "chosen", "rejected", "tier", "item_id", "user_id"} <= set(plain[0])


def test_a_question_of_nobody_is_its_prompt_alone(cast, tea, vote, built):
    cast.candidates(cast.query(tea, "q-1", text="A drink?"), 2)
    (item,) = open_batch(tea, cast.task(tea, "better", options=2)).items.all()
    vote(item, "1" * 9)
    folder = folders.folder_of(built("dpo"))
    (row,), (plain,) = rows(folder, "pairs.jsonl"), rows(folder, "pairs_plain.jsonl")
    assert (row["prompt"], row["persona"]) == (said("user", "A drink?"), None)
    assert plain["prompt"] == row["prompt"]


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_messages_come_back_as_the_texts_and_people_they_were_made_from(divided, built, format):
    folder = folders.folder_of(built("dpo", format))
    report = import_release(folder, "again")
    assert (report["rejected"], report["unknown_columns"], report["items"]) == ([], [], 2)
    again = Study.objects.get(slug="again")
    asked = again.queries.values_list("text", "persona__versions__profile")
    assert sorted(asked, key=str) == sorted((("A drink?", PROFILES[n]) for n in PROFILES), key=str)
    for item in again.items.select_related("query__persona"):
        assert set(item.options.values_list("candidate__text", flat=True)) == {TEA, COFFEE}
    benchmark = pairs.read_pairs(folder)
    assert {(pair.question, pair.chosen, pair.reject) for pair in benchmark.pairs} == {
        ("A drink?", TEA, COFFEE), ("A drink?", COFFEE, TEA)
    }  # fmt: skip
    assert sorted(benchmark.personas.values(), key=str) == sorted(PROFILES.values(), key=str)


def test_a_prompt_of_several_turns_is_its_transcript(tmp_path):
    turns = said("user", "A drink?") + said("assistant", TEA) + said("user", "And now?")
    row = {"prompt": turns, "chosen": said("assistant", TEA), "rejected": COFFEE}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(row) + "\n")
    (pair,) = pairs.read_pairs(tmp_path).pairs
    assert pair.question == f"**User:** A drink?\n\n**Assistant:** {TEA}\n\n**User:** And now?"


@pytest.fixture
def folder(panel, built):
    panel("1" * 9, "2" * 9, "111111112", "111122221")
    return folders.folder_of(built("personafeedback"))


class Tasks(yaml.SafeLoader):
    """Reads `!function NAME` as the name."""


Tasks.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))


def task_of(folder, name):
    text = (folder / f"harness/lm_eval/{name}.yaml").read_text()
    return yaml.load(text, Tasks)  # noqa: S506 - a safe one


def test_every_pair_is_asked_in_both_orders(folder):
    medium = rows(folder, "harness/choices/specific-medium.jsonl")
    pairs = {row["item_id"]: row for row in rows(folder, "data/specific/medium.jsonl")}
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
    rewards = rows(folder, "harness/rewardbench.jsonl")
    pairs = [
        row for tier in ("medium", "hard") for row in rows(folder, f"data/specific/{tier}.jsonl")
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
        data = task["dataset_kwargs"]["data_files"]["test"]
        columns = set(rows(folder, data)[0])
        for column in ("persona", "question", "a", "b"):
            assert "{{" + column + "}}" in task["doc_to_text"]
            assert column in columns
        assert rows(folder, data)[0]["answer"] in (0, 1)
    module = ast.parse((folder / "harness/inspect_task.py").read_text())
    assert [node.name for node in module.body if isinstance(node, ast.FunctionDef)] == [
        *("sample", "unparsed_share", "verdict", "attune")
    ]


@pytest.mark.parametrize("name", layouts.by_name())
def test_the_wheels_schema_is_the_layouts(name):
    path = layout_schemas.FOLDER / f"{name}.json"
    assert path.read_text("utf-8") == layout_schemas.text(name)
    Draft202012Validator.check_schema(json.loads(path.read_text("utf-8")))


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["long", "dpo"])
def test_rows_that_are_written_fit_the_schema(name, items, panel, built):
    panel(*["111111112"] * 3)
    folder = folders.folder_of(built(name, "jsonl"))
    tables = layout_schemas.schema(name)["$defs"]
    looked = []
    for path, schema in tables.items():
        if path.endswith(".jsonl") and (folder / path).exists():
            written = rows(folder, path)
            for row in written:
                Draft202012Validator(schema).validate(row)
            looked += [path] * bool(written)
    first = {"long": ["judgments.jsonl", "answers.jsonl"], "dpo": ["pairs.jsonl"]}[name]
    assert looked[: len(first)] == first
