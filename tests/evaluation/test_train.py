"""`train`: judges that learn from a release, checked by person and against their baselines."""

import io
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command

from annotation.core import learned
from annotation.evaluation.models import Run
from tests.evaluation.conftest import write_lines

LIKES = ("green tea", "football", "jazz piano", "oil painting", "mountain hiking", "chess")


def make_pairs(folder, users=12, each=8, seed=0):
    """Persons who each like one thing; the chosen answer tells of it, the other of another."""
    chance = random.Random(seed)  # noqa: S311
    likes = [LIKES[n % len(LIKES)] for n in range(users)]
    profiles = [{"Name": f"P{seed}-{n}", "Preference": f"loves {like}"} for n, like in
                enumerate(likes)]  # fmt: skip
    rows = []
    for user in range(users):
        for n in range(each):
            other = chance.choice([like for like in LIKES if like != likes[user]])
            fill = ["and so on" * chance.randrange(4) for _ in range(2)]
            rows.append(
                {
                    "user_id": str(user + 1),
                    "question": f"What shall I do on evening {n}?",
                    "chosen": f"You could enjoy {likes[user]} tonight. {fill[0]}",
                    "reject": f"You could enjoy {other} tonight. {fill[1]}",
                }
            )
    write_lines(folder / "persona/all_personas.jsonl", profiles)
    write_lines(folder / "data/specific/easy.jsonl", rows)
    return folder


def make_bench(folder, users=8, each=12):
    """Attributes and their relevance: what is about money is problematic; words match prompts."""
    chance = random.Random(3)  # noqa: S311
    attributes, relevance = [], []
    for number in range(users * each):
        like = chance.choice(LIKES)
        bad = number % 3 == 0
        text = f"The user is worried about money and {like}" if bad else f"The user enjoys {like}"
        label = "problematic" if bad else "accepted"
        row = {"attribute_id": str(number), "user": f"user{number % users}", "confidence": 0.8}
        attributes.append(row | {"text": text, "label": label if number else None})
        about = like if number % 4 == 0 else chance.choice(LIKES)
        relevance.append(
            row
            | {"prompt": f"Tell me about {about}", "attribute": text, "prompt_id": str(number)}
            | {"label": "yes" if about == like else "no"}
        )
    write_lines(folder / "attributes.jsonl", attributes)
    write_lines(folder / "relevance.jsonl", relevance)
    return folder


def train(kind, folder, out, *more):
    stream = io.StringIO()
    call_command("train", kind, "--release", str(folder), "--out", str(out), "--json", *more,
                 stdout=stream, stderr=io.StringIO())  # fmt: skip
    return json.loads(stream.getvalue())


def evaluate(folder, model, *more):
    stream = io.StringIO()
    call_command("evaluate", "--release", str(folder), "--model", str(model), "--json", *more,
                 stdout=stream)  # fmt: skip
    return json.loads(stream.getvalue())


def test_a_reward_model_learns_whom_an_answer_fits(tmp_path):
    folder = make_pairs(tmp_path / "r")
    result = train("reward", folder, tmp_path / "rm.npz")
    assert (result["n"], result["folds"], result["metric"]) == (96, 5, "accuracy")
    assert result["value"] > 85
    assert result["low"] <= result["value"] <= result["high"]
    assert result["baselines"].keys() == {"verbosity", "bm25", "cosine"}
    assert result["baselines"]["verbosity"] < 65
    assert result["value"] > result["baselines"]["verbosity"]
    assert "accuracy, cross-validated by person" in (tmp_path / "rm.npz.md").read_text()


@pytest.mark.django_db
def test_a_model_is_never_measured_on_personas_it_was_trained_on(tmp_path):
    trained_on, other = make_pairs(tmp_path / "a"), make_pairs(tmp_path / "b", seed=1)
    train("reward", trained_on, tmp_path / "rm.npz")
    with pytest.raises(CommandError, match="trained on every persona or question"):
        evaluate(trained_on, tmp_path / "rm.npz")
    result = evaluate(other, tmp_path / "rm.npz")
    assert (result["n"], result["left_out"], result["model"]) == (96, 0, "rm")
    assert result["average"]["value"] > 85
    assert Run.objects.get(status="done").group == "trained"
    train("reward", trained_on, tmp_path / "part.npz", "--hold-out", "0.25")
    part = evaluate(trained_on, tmp_path / "part.npz")
    assert (part["n"], part["left_out"]) == (24, 72)
    nothing = evaluate(other, tmp_path / "rm.npz", "--setting", "none")
    assert nothing["average"]["value"] < result["average"]["value"]


@pytest.mark.django_db
def test_a_model_of_nobodys_pairs_is_not_measured_on_their_questions(tmp_path):
    rows = [
        {"prompt": f"Question {n // 2}?", "chosen": f"A longer answer {n}", "rejected": f"No {n}"}
        for n in range(40)
    ]
    write_lines(tmp_path / "dpo/pairs.jsonl", rows)
    card = train("reward", tmp_path / "dpo", tmp_path / "rm.npz")
    assert (card["n"], card["by"]) == (40, "question")
    assert "cross-validated by question" in (tmp_path / "rm.npz.md").read_text()
    with pytest.raises(CommandError, match="trained on every persona or question"):
        evaluate(tmp_path / "dpo", tmp_path / "rm.npz", "--setting", "none")
    write_lines(tmp_path / "dpo/pairs.jsonl", [*rows, rows[0] | {"prompt": "Another?"}])
    result = evaluate(tmp_path / "dpo", tmp_path / "rm.npz", "--setting", "none")
    assert (result["n"], result["left_out"]) == (1, 40)


@pytest.mark.parametrize(
    ("kind", "baselines"),
    [
        ("verifier", {"verbosity", "confidence", "always"}),
        ("matcher", {"verbosity", "bm25", "cosine", "always"}),
    ],
)
def test_verifier_and_matcher_beat_calling_everything_the_same(tmp_path, kind, baselines):
    result = train(kind, make_bench(tmp_path / "r"), tmp_path / "model.npz")
    assert (result["metric"], result["folds"]) == ("f1", 5)
    assert result["n"] == (95 if kind == "verifier" else 96)
    assert result["baselines"].keys() == baselines
    assert result["value"] > result["baselines"]["always"]
    assert result["low"] <= result["value"] <= result["high"]
    _model, card = learned.load(tmp_path / "model.npz", kind)
    assert card["result"] == result
    with pytest.raises(learned.ModelError, match="no reward model"):
        learned.load(tmp_path / "model.npz", "reward")


def test_a_release_of_another_layout_is_named(tmp_path):
    with pytest.raises(CommandError, match="layout personalbench"):
        train("matcher", make_pairs(tmp_path / "r"), tmp_path / "m")
    write_lines(tmp_path / "relevance.jsonl", [{"attribute": "a", "prompt": 3, "user": "u"}])
    with pytest.raises(CommandError, match="line 1: “prompt”"):
        train("matcher", tmp_path, tmp_path / "m")
    write_lines(
        tmp_path / "relevance.jsonl",
        [{"attribute": "a", "prompt": "b", "user": "u", "label": "yes"}],
    )
    with pytest.raises(CommandError, match="both labels"):
        train("matcher", tmp_path, tmp_path / "m")


def test_a_release_in_parquet_trains_as_one_in_json_lines(tmp_path):
    lines, parquet = make_bench(tmp_path / "lines"), tmp_path / "parquet"
    parquet.mkdir()
    for table in ("attributes", "relevance"):
        rows = [json.loads(line) for line in (lines / f"{table}.jsonl").open()]
        pq.write_table(pa.Table.from_pylist(rows), parquet / f"{table}.parquet")
    for kind in ("verifier", "matcher"):
        results = [train(kind, folder, tmp_path / "m") for folder in (lines, parquet)]
        assert results[0] == results[1]
