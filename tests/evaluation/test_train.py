"""`train`: judges that learn from a release, checked by person and against their baselines."""

import io
import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from annotation.core import learned
from annotation.evaluation import bm25
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


def test_folds_never_split_a_person():
    person = np.random.default_rng(0).integers(0, 23, 500)
    fold = learned.folds_of(person)
    assert all(len(set(fold[person == who])) == 1 for who in range(23))
    sizes = np.bincount(fold)
    assert sizes.max() - sizes.min() <= np.bincount(person).max()
    with pytest.raises(learned.ModelError, match="two persons"):
        learned.folds_of(np.zeros(9))


def test_out_of_fold_predictions_come_from_models_that_saw_nothing_of_the_fold():
    fold = np.array([0, 0, 1, 2])

    def predict(train, test):
        assert not (train & test).any()
        return np.full(test.sum(), train.sum())

    assert learned.out_of_fold(fold, predict).tolist() == [2, 2, 3, 3]


def test_the_fit_is_that_of_scikit_learn():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 6))
    y = (x @ rng.normal(size=6) + rng.normal(size=400) > 0.4).astype(int)
    fitted = learned.fit_logistic(x, y, ridge=2.0)
    scaled = (x - x.mean(0)) / x.std(0)
    oracle = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(scaled, y)
    assert fitted.weights == pytest.approx(oracle.coef_[0], abs=2e-3)
    assert fitted.intercept == pytest.approx(oracle.intercept_[0], abs=2e-3)
    apart = x[:200] - x[200:]
    reward = learned.fit_reward(x[:200], x[200:], ridge=2.0)
    size = np.sqrt((apart**2).mean(0))
    both = np.concatenate([apart, -apart]) / size
    oracle = LogisticRegression(C=0.25, fit_intercept=False, tol=1e-10, max_iter=1000)
    oracle.fit(both, np.repeat([1, 0], 200))
    assert reward.weights == pytest.approx(oracle.coef_[0], abs=2e-3)


def test_the_best_threshold_has_the_best_f1():
    rng = np.random.default_rng(6)
    label = rng.integers(0, 2, 60)
    score = np.round(label + rng.normal(size=60), 1)
    best = learned.best_threshold(score, label)
    f1s = {edge: f1_score(label, score >= edge) for edge in score}
    assert learned.f1(score >= best, label) == pytest.approx(max(f1s.values()))


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


def test_bm25_ranks_as_the_words_that_are_shared_and_rare():
    documents = ["the tea is green", "the tea is black and strong", "the rain in spain"]
    corpus = bm25.Corpus(documents)
    scores = corpus.scores(["green tea"] * 3, documents)
    assert scores.argmax() == 0
    assert scores[2] == 0
    order = TfidfVectorizer().fit(documents)
    near = (order.transform(documents) @ order.transform(["green tea"]).T).toarray().ravel()
    assert np.argsort(scores).tolist() == np.argsort(near).tolist()
    assert bm25.words("我爱喝茶 and Tea 3") == ["我", "爱", "喝", "茶", "and", "tea", "3"]


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04broken"])
def test_a_file_that_is_no_model_is_refused(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(learned.ModelError, match="no model"):
        learned.load(tmp_path / "m", "reward")
    with pytest.raises(learned.ModelError, match="no such file"):
        learned.load(tmp_path / "nothing", "reward")


def test_an_archive_with_pickled_objects_is_not_opened(tmp_path):
    np.savez(tmp_path / "m.npz", card=np.array([{"kind": "reward"}], dtype=object))
    with pytest.raises(learned.ModelError, match="no model"):
        learned.load(tmp_path / "m.npz", "reward")


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


def test_the_table_of_interventions_stands_beside_people(tmp_path):
    folder = make_bench(tmp_path / "r")
    chance = random.Random(9)  # noqa: S311
    relevance = [json.loads(line) for line in (folder / "relevance.jsonl").open()]
    turned = 0
    for row in relevance:
        other = "no" if row["label"] == "yes" else "yes"
        turned += (turn := chance.random() < 0.5)
        row["votes"] = [{"vote": row["label"]}, {"vote": row["label"]},
                        {"vote": other if turn else row["label"]}]  # fmt: skip
    write_lines(folder / "relevance.jsonl", relevance)
    attributes = [json.loads(line) for line in (folder / "attributes.jsonl").open()]
    verdicts = {"accepted": "accepted", "problematic": "uncertain", None: "rejected"}
    for row in attributes:
        row["verdicts"] = [{"verdict": verdicts[row["label"]]}] * (3 if row["label"] else 1)
    write_lines(folder / "attributes.jsonl", attributes)
    responses = []
    for n in range(48):
        like = LIKES[n % len(LIKES)]
        fits = n % 3 > 0
        answer = f"Try {like} tonight" if fits else "Try to sort your taxes tonight"
        ratings = [5, 4, 4] if fits else [1, 2, 3]
        responses.append(
            {"user": f"user{n % 8}", "attribute": f"The user enjoys {like}", "prompt": "What now?",
             "generic": "Try something tonight", "personalised": answer, "points": 5,
             "ratings": [{"rating": r} for r in ratings], "mean": sum(ratings) / 3}
        )  # fmt: skip
    write_lines(folder / "responses.jsonl", responses)
    stream = io.StringIO()
    call_command("interventions", "--release", str(folder), "--json", stdout=stream)
    values = {(row["stage"], row["row"]): row for row in json.loads(stream.getvalue())}
    extracted = values["extraction", "as extracted"]
    assert extracted["value"] == pytest.approx(100 * 64 / 95)
    assert values["extraction", "verifier"]["value"] > extracted["value"]
    assert values["relevance", "matcher"]["value"] > values["relevance", "always"]["value"]
    assert values["response", "reward model"]["value"] > 0.5
    # Two votes against one leave two of three without a target; one vote alone has none.
    counts = {"extraction": (285, 1), "relevance": (288 - 2 * turned, 2 * turned),
              "response": (144, 0)}  # fmt: skip
    for (stage, _name), row in values.items():
        assert row["low"] <= row["value"] <= row["high"]
        assert (row["n"], row["left_out"]) == counts[stage]
    assert values["extraction", "people"]["value"] == 100


def test_a_machine_that_says_what_a_rater_says_ties_with_that_rater(tmp_path, capsys):
    """The longer prompt is what Ann says "yes" to; length tells what she rates higher."""
    chance = random.Random(4)  # noqa: S311
    relevance, responses = [], []
    for n in range(60):
        truth = chance.random() < 0.4
        others = [truth != (chance.random() < 0.2) for _ in range(3)]
        ann = truth != (chance.random() < 0.1)
        cast = {"Ann": ann, "Ben": others[0], "Cleo": others[1], "Dana": others[2]}
        votes = [{"worker": who, "vote": "yes" if said else "no"} for who, said in cast.items()]
        yes = sum(cast.values())
        label = None if yes == 2 else "yes" if yes > 2 else "no"
        row = {"user": f"user{n % 6}", "attribute": "tea", "votes": votes, "label": label}
        relevance.append(row | {"prompt": "What shall I drink now?" if ann else "What?"})
        rated = {who: chance.randint(1, 5) for who in cast}
        ratings = [{"worker": who, "rating": rating} for who, rating in rated.items()]
        responses.append(
            {"user": f"user{n % 6}", "prompt": "What?", "generic": "Tea", "ratings": ratings,
             "personalised": "x" * 10 * rated["Ann"], "points": 5, "mean": sum(rated.values()) / 4}
        )  # fmt: skip
    write_lines(tmp_path / "relevance.jsonl", relevance)
    write_lines(tmp_path / "responses.jsonl", responses)
    call_command("interventions", "--release", str(tmp_path), "--json")
    printed = capsys.readouterr()
    assert "Left out: " in printed.err
    assert "attributes is there neither" in printed.err
    values = {(row["stage"], row["row"]): row for row in json.loads(printed.out)}
    for stage in ("relevance", "response"):
        machine, people = values[stage, "verbosity"], values[stage, "people"]
        assert machine["raters"]["Ann"] == people["raters"]["Ann"]
        assert machine["raters"].keys() == people["raters"].keys() == set(cast)
        assert (machine["n"], machine["left_out"]) == (people["n"], people["left_out"])


def test_a_vote_that_names_no_answer_is_refused(tmp_path):
    folder = make_bench(tmp_path)
    relevance = [json.loads(line) for line in (folder / "relevance.jsonl").open()]
    write_lines(folder / "relevance.jsonl", [row | {"votes": ["yes"]} for row in relevance])
    (folder / "attributes.jsonl").unlink()
    with pytest.raises(CommandError, match="Each of “votes” needs a “vote” that is one of no, yes"):
        call_command("interventions", "--release", str(folder))


def test_a_release_that_is_too_small_for_each_stage_is_refused(tmp_path):
    write_lines(tmp_path / "relevance.jsonl", [])
    with pytest.raises(CommandError, match="layout personalbench"):
        call_command("interventions", "--release", str(tmp_path))
