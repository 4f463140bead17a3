"""Judges that learn from a release, by person and against their baselines; pairs to train with."""

import csv
import io
import json
import random

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from sklearn.feature_extraction.text import TfidfVectorizer

from annotation.candidates.models import Candidate
from annotation.core import learned
from annotation.evaluation import pairs, training
from annotation.evaluation.models import Run
from annotation.evaluation.pairs import BenchmarkError
from annotation.personas.models import Persona
from tests.commands import run
from tests.evaluation.conftest import printed, write_lines

pytestmark = pytest.mark.django_db

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
    return printed("train", kind, "--release", folder, "--out", out, *more)


def evaluate(folder, model, *more):
    return printed("evaluate", "--release", folder, "--model", model, *more)


def test_a_model_is_never_measured_on_personas_it_was_trained_on(tmp_path):
    trained_on, other = make_pairs(tmp_path / "a"), make_pairs(tmp_path / "b", seed=1)
    learned_ = train("reward", trained_on, tmp_path / "rm.npz")
    assert (learned_["n"], learned_["folds"], learned_["metric"]) == (96, 5, "accuracy")
    assert learned_["value"] > 85 > 65 > learned_["baselines"]["verbosity"]
    assert learned_["baselines"].keys() == {"verbosity", "bm25", "cosine"}
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


def pairs_of(slug):
    return [json.loads(line) for line in run("training_pairs", slug).splitlines()]


def test_only_training_personas_give_pairs_of_one_model(cast, tea):
    for name in ("train", "bench"):
        query = cast.query(tea, f"q-{name}", cast.persona(tea, name, Preference=f"likes {name}"))
        for strategy, model in (("A1", "m1"), ("A3", "m1"), ("A1", "m2"), ("A2", "m2")):
            Candidate.objects.create(
                study=tea, query=query, external_id=f"{name}-{strategy}-{model}",
                text=f"{strategy} by {model} for {name}", strategy=strategy, model=model,
            )  # fmt: skip
    with pytest.raises(CommandError, match="No training persona"):
        pairs_of("tea")
    Persona.objects.filter(external_id="train").update(split="training")
    Persona.objects.filter(external_id="bench").update(split="benchmark")
    (pair,) = pairs_of("tea")
    assert (pair["chosen"], pair["rejected"]) == ("A1 by m1 for train", "A3 by m1 for train")
    assert "likes train" in pair["prompt"]
    assert "about q-train" in pair["prompt"]
    assert pair["user_id"] == "train"
    assert pair["persona"] == {"Name": "Mina Park", "Preference": "likes train"}
    assert "likes train" not in pair["question"]
    with pytest.raises(CommandError, match="no study"):
        pairs_of("nothing")


def test_a_file_that_names_people_without_their_profiles_trains_no_model(tmp_path):
    rows = [{"prompt": f"P {n}?", "chosen": f"yes {n}", "rejected": "no", "persona": f"p{n % 4}"}
            for n in range(12)]  # fmt: skip
    write_lines(tmp_path / "pairs.jsonl", rows)
    assert {pair.user_id for pair in pairs.read_pairs(tmp_path).pairs} == {"p0", "p1", "p2", "p3"}
    with pytest.raises(CommandError, match="Of the person “p0” there is no profile"):
        train("reward", tmp_path, tmp_path / "rm.npz")


def test_rows_with_a_profile_and_no_name_are_one_person_for_each_profile(tmp_path):
    rows = [{"prompt": f"P {n}?", "chosen": f"yes {n}", "rejected": "no", "persona": {"A": n % 4}}
            for n in range(12)]  # fmt: skip
    write_lines(tmp_path / "pairs.jsonl", rows)
    source = pairs.read_pairs(tmp_path)
    assert [source.personas[pair.user_id] for pair in source.pairs] == [r["persona"] for r in rows]
    persons = training.persons_of(source, source.pairs)
    assert (len(set(persons)), persons[0] == persons[4] != persons[1]) == (4, True)
    result = train("reward", tmp_path, tmp_path / "rm.npz")
    assert (result["folds"], result["by"]) == (4, "person")


def test_bm25_ranks_as_the_words_that_are_shared_and_rare():
    documents = ["the tea is green", "the tea is black and strong", "the rain in spain"]
    scores = training.bm25(["green tea"] * 3, documents, documents)
    assert scores.argmax() == 0
    assert scores[2] == 0
    order = TfidfVectorizer().fit(documents)
    near = (order.transform(documents) @ order.transform(["green tea"]).T).toarray().ravel()
    assert np.argsort(scores).tolist() == np.argsort(near).tolist()
    assert training.words_of("我爱喝茶 and Tea 3") == ["我", "爱", "喝", "茶", "and", "tea", "3"]


def rated(prompt, *answers):
    return [{"prompt": prompt, "response": text, "helpfulness": n} for text, n in answers]


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        (rated("P", ("a", 4), ("b", 2)) + rated("Q", ("c", 3), ("d", 4)), [("P", "a", "b")]),
        (rated("P", ("a", 1), ("b", 4), ("c", 3)), [("P", "b", "a"), ("P", "c", "a")]),
        (
            [{"prompt": "P", "response_1": "a", "response_2": "b", "preference_strength": n}
             for n in (-3, -1, 0, 2)],
            [("P", "a", "b"), ("P", "b", "a")],
        ),
        ([{"prompt": "P", "chosen": "a", "rejected": "b", "gap": n} for n in (1.5, 2)],
         [("P", "a", "b")]),
    ],
)  # fmt: skip
def test_pairs_have_the_gap_and_the_better_answer_first(tmp_path, rows, kept):
    write_lines(tmp_path / "other.jsonl", rows)
    made = pairs.read_corpus(tmp_path / "other.jsonl", 2)
    assert [(pair.question, pair.chosen, pair.reject) for pair in made.pairs] == kept
    assert {pair.user_id for pair in made.pairs} == {""}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"prompt": "P"}, "line 1: there is no response or response_1 or chosen"),
        ({"prompt": "P", "response": "a"}, "line 1: prompt, response, helpfulness are"),
        ({"prompt": "P", "chosen": "a", "rejected": "b", "gap": True}, "line 1: prompt, chosen"),
        ({"prompt": 3, "chosen": "a", "rejected": "b", "gap": 3}, "line 1: prompt, chosen"),
        ({"prompt": "P", "chosen": "a", "rejected": "b", "gap": 1}, "no pair with a gap of 2"),
    ],
)
def test_rows_that_are_no_pairs_are_named(tmp_path, row, words):
    write_lines(tmp_path / "other.jsonl", [row])
    with pytest.raises(BenchmarkError, match=words):
        pairs.read_corpus(tmp_path / "other.jsonl", 2)


def test_one_command_makes_the_table_of_base_other_and_personalised_pairs(tmp_path, server):
    """The other pairs prefer any list of things; only the personalised ones know the person."""
    server.answer = lambda request, number: "Verdict: 1"
    training, test = make_pairs(tmp_path / "training", seed=1), make_pairs(tmp_path / "test")
    other = [row for n in range(12) for row in
             rated(f"Evening {n}?", (f"Do {LIKES[n % 6]}, at length.", 4), ("No.", 1))]  # fmt: skip
    write_lines(tmp_path / "other.jsonl", other)
    asked = ["train", "reward", "--release", str(training), "--out", str(tmp_path / "models")]
    more = ["--pairs", str(tmp_path / "other.jsonl"), "--test", str(test)]
    heads, *lines = csv.reader(io.StringIO(run(*asked, *more, "--endpoint", "scripted")))
    values = {line[0]: float(line[heads.index("Total Avg.")]) for line in lines}
    assert set(values) == {"base", "pairs", "pairs-personalised"}
    # It names the first of both orders.
    assert values["base"] == 50
    assert values["pairs"] < 75 < values["pairs-personalised"]
    assert [line[heads.index("n")] for line in lines] == ["96"] * 3
    assert Run.objects.filter(kind="learned").count() == 2
    for wrong in (more[:2], more[2:]):
        with pytest.raises(CommandError, match="go together"):
            call_command(*asked, *wrong)
    # Persons of the training are no test.
    with pytest.raises(CommandError, match="every persona or question"):
        call_command(*asked, *more[:3], str(training))


installed = pytest.mark.skipif(
    not training.available(), reason="the extra “train” is not installed"
)


@pytest.fixture
def base(tmp_path, monkeypatch):
    """A folder with a random model of two layers, and a tokenizer of the release's words."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForSequenceClassification, PreTrainedTokenizerFast

    folder = make_pairs(tmp_path / "words")
    texts = [line for path in folder.rglob("*.jsonl") for line in path.open()]
    words = Tokenizer(models.WordLevel(unk_token="[unk]"))
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[unk]", "[end]"]
    words.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=special))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="[unk]", eos_token="[end]", pad_token="[end]"
    )
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, num_labels=1, pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id, bos_token_id=None,
    )  # fmt: skip
    target = tmp_path / "base"
    LlamaForSequenceClassification(config).save_pretrained(target)
    tokenizer.save_pretrained(target)
    return target


def test_the_defaults_are_those_of_the_paper():
    """Table 6: 1e-5, 32 pairs a batch, one epoch, 4,096 tokens."""
    assert training.Settings() == training.Settings(1e-5, 32, 1, 4096)


@pytest.mark.skipif(training.available(), reason="the extra “train” is installed")
def test_without_the_extra_the_command_names_it(tmp_path):
    folder = make_pairs(tmp_path / "r")
    with pytest.raises(CommandError, match=r"attune-platform\[train\]"):
        call_command("train", "reward", release=folder, out=tmp_path / "rm", base="any")


@pytest.mark.parametrize("content", ["", "[]", '{"kind": "reward"}', '{"personas": 3}'])
def test_a_folder_that_is_no_model_is_refused(tmp_path, content):
    (tmp_path / "attune.json").write_text(content)
    with pytest.raises(training.ModelError, match="holds no model"):
        training.load(tmp_path)


@installed
@pytest.mark.django_db
def test_a_fine_tuned_model_enters_the_table_on_persons_it_has_not_seen(tmp_path, base):
    folder, out = make_pairs(tmp_path / "r"), tmp_path / "rm"
    result = train(
        "reward", folder, out, "--base", str(base), "--hold-out", "0.25", "--epochs", "1",
        "--learning-rate", "0.003", "--batch", "8", "--length", "256",
    )  # fmt: skip
    assert (result["n"], result["folds"], result["metric"]) == (24, 1, "accuracy")
    card = json.loads((out / "attune.json").read_text())
    assert card["trained"]["batch"] == 8
    measured = evaluate(folder, out)
    assert (measured["n"], measured["left_out"]) == (24, 72)
    assert measured["average"]["value"] == pytest.approx(result["value"])
    run = Run.objects.get(status="done")
    assert (run.group, run.model) == ("trained", "rm")
