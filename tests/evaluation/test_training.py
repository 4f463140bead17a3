"""Pairs for training come from training personas alone."""

import io
import json

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from sklearn.feature_extraction.text import TfidfVectorizer

from annotation.candidates.models import Candidate
from annotation.core import learned
from annotation.evaluation import pairs, training
from annotation.personas.models import Persona
from tests.evaluation.conftest import write_lines
from tests.evaluation.test_train import evaluate, train

pytestmark = pytest.mark.django_db


def pairs_of(slug):
    stream = io.StringIO()
    call_command("training_pairs", slug, stdout=stream, stderr=io.StringIO())
    return [json.loads(line) for line in stream.getvalue().splitlines()]


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


def test_people_in_training_pairs_are_kept_whole_and_left_out_of_evaluation(cast, tea, tmp_path):
    """The file that the command prints, and a release with the same people and one more."""
    for n in range(6):
        persona = cast.persona(tea, f"p{n}", Preference=f"likes {n}")
        for k in range(3):
            query = cast.query(tea, f"q{n}-{k}", persona)
            for strategy in ("A1", "A3"):
                Candidate.objects.create(
                    study=tea, query=query, external_id=f"{n}-{k}-{strategy}", model="m1",
                    text=f"{strategy} of {k} for {n}", strategy=strategy,
                )  # fmt: skip
    Persona.objects.update(split="training")
    rows = pairs_of("tea")
    write_lines(tmp_path / "training/pairs.jsonl", rows)
    source = pairs.read(tmp_path / "training")
    assert {pair.user_id for pair in source.pairs} == {f"p{n}" for n in range(6)}
    result = train("reward", tmp_path / "training", tmp_path / "rm.npz")
    assert (result["n"], result["folds"], result["by"]) == (18, 5, "person")
    _model, card = learned.load(tmp_path / "rm.npz", "reward")
    assert (card["persons"], len(card["personas"])) == (6, 6)
    profiles = [rows[3 * n]["persona"] for n in range(6)]
    assert len({profile["Preference"] for profile in profiles}) == 6
    profiles.append({"Preference": "another"})
    write_lines(tmp_path / "release/persona/all_personas.jsonl", profiles)
    test = [{"user_id": f"{n}", "question": "New?", "chosen": "a", "reject": "b"}
            for n in range(1, 8)]  # fmt: skip
    write_lines(tmp_path / "release/data/specific/easy.jsonl", test)
    measured = evaluate(tmp_path / "release", tmp_path / "rm.npz")
    assert (measured["n"], measured["left_out"]) == (1, 6)


def test_a_file_that_names_people_without_their_profiles_trains_no_model(tmp_path):
    rows = [{"prompt": f"P {n}?", "chosen": f"yes {n}", "rejected": "no", "persona": f"p{n % 4}"}
            for n in range(12)]  # fmt: skip
    write_lines(tmp_path / "pairs.jsonl", rows)
    assert {pair.user_id for pair in pairs.read(tmp_path).pairs} == {"p0", "p1", "p2", "p3"}
    with pytest.raises(CommandError, match="Of the person “p0” there is no profile"):
        train("reward", tmp_path, tmp_path / "rm.npz")


def test_rows_with_a_profile_and_no_name_are_one_person_for_each_profile(tmp_path):
    rows = [{"prompt": f"P {n}?", "chosen": f"yes {n}", "rejected": "no", "persona": {"A": n % 4}}
            for n in range(12)]  # fmt: skip
    write_lines(tmp_path / "pairs.jsonl", rows)
    source = pairs.read(tmp_path)
    assert [source.personas[pair.user_id] for pair in source.pairs] == [r["persona"] for r in rows]
    persons = training.persons_of(source, source.pairs)
    assert (len(set(persons)), persons[0] == persons[4] != persons[1]) == (4, True)
    result = train("reward", tmp_path, tmp_path / "rm.npz")
    assert (result["folds"], result["by"]) == (4, "person")


def test_one_profile_under_two_names_is_one_person(tmp_path):
    rows = [{"prompt": f"P {n}?", "chosen": f"yes {n}", "rejected": "no", "user_id": f"u{n % 4}",
             "persona": {"A": n % 2}} for n in range(12)]  # fmt: skip
    write_lines(tmp_path / "pairs.jsonl", rows)
    assert train("reward", tmp_path, tmp_path / "rm.npz")["folds"] == 2


def test_bm25_ranks_as_the_words_that_are_shared_and_rare():
    documents = ["the tea is green", "the tea is black and strong", "the rain in spain"]
    corpus = training.Corpus(documents)
    scores = corpus.scores(["green tea"] * 3, documents)
    assert scores.argmax() == 0
    assert scores[2] == 0
    order = TfidfVectorizer().fit(documents)
    near = (order.transform(documents) @ order.transform(["green tea"]).T).toarray().ravel()
    assert np.argsort(scores).tolist() == np.argsort(near).tolist()
    assert training.words("我爱喝茶 and Tea 3") == ["我", "爱", "喝", "茶", "and", "tea", "3"]
