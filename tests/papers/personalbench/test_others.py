"""People and machines on the same target: a machine that clones a rater ties with that rater."""

import json
import random

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from annotation.core.learned import ModelError
from annotation.papers.personalbench import others
from annotation.papers.personalbench.layout import explicit, mentioned
from tests.evaluation.conftest import printed, write_lines
from tests.evaluation.test_training import LIKES, make_bench

SEEDS = 200
ITEMS, RATERS = 60, 4
METRICS = {
    "accepted": (others.majority, others.share_of_0),
    "f1": (others.majority, others.f1),
    "spearman": (others.mean, others.spearman),
}


def said(seed, metric):
    """What raters of unequal skill and scale say (items, raters), and another draw of the same."""
    rng = np.random.default_rng(seed)
    if metric == "spearman":
        worth = rng.normal(size=ITEMS)[:, None]
        noise, shift = np.array([0.4, 0.8, 1.2, 1.6]), np.array([-1, 1, 0, 0])
        drawn = [worth + shift + noise * rng.normal(size=(ITEMS, RATERS)) for _ in range(2)]
        return [np.clip(np.round(3 + values), 1, 5) for values in drawn]
    truth = rng.random(ITEMS)[:, None] < 0.35
    wrong = np.array([0.1, 0.2, 0.3, 0.4])
    return [(truth ^ (rng.random((ITEMS, RATERS)) < wrong)).astype(float) for _ in range(2)]


def votes(table):
    return [(i, f"r{k}", value) for i, row in enumerate(table) for k, value in enumerate(row)]


def rows(metric, table, machines):
    target, score = METRICS[metric]
    made = others.rows({"stage": "s"}, score, target(votes(table)), machines, np.arange(len(table)))
    return {row["row"]: row for row in made}


@pytest.fixture
def few_resamples(monkeypatch):
    monkeypatch.setattr(others, "RESAMPLES", 2)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.usefixtures("few_resamples")
def test_a_copy_of_a_raters_votes_ties_with_that_rater(metric):
    for seed in range(SEEDS):
        table, _ = said(seed, metric)
        made = rows(metric, table, {f"r{k}": table[:, k] for k in range(RATERS)})
        for rater, people in made["people"]["raters"].items():
            assert made[rater]["raters"][rater] == people


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.usefixtures("few_resamples")
def test_a_rater_of_the_same_skill_ties_with_each_rater_and_with_people_on_average(metric):
    """Within four standard errors over the seeds."""
    apart = []
    for seed in range(SEEDS):
        table, again = said(seed, metric)
        made = rows(metric, table, {f"r{k}": again[:, k] for k in range(RATERS)})
        people = made["people"]["raters"]
        apart.append([made[rater]["raters"][rater]["value"] - people[rater]["value"]
                      for rater in sorted(people)])  # fmt: skip
    apart = np.array(apart)
    assert apart.shape == (SEEDS, RATERS)
    error = apart.std(axis=0, ddof=1) / SEEDS**0.5
    assert (np.abs(apart.mean(axis=0)) < 4 * error).all()
    assert abs(apart.mean()) < 4 * apart.mean(axis=1).std(ddof=1) / SEEDS**0.5


@pytest.mark.usefixtures("few_resamples")
def test_one_rule_for_ties_and_what_is_left_out_is_counted():
    """By hand: of yes, yes, no only the "no" has others that agree; of yes, no nobody; of one vote
    nobody; a row of three equal votes has three targets."""
    table = [(0, "a", 1), (0, "b", 1), (0, "c", 0), (1, "a", 1), (1, "b", 1), (1, "c", 1),
             (2, "a", 1), (2, "b", 0), (3, "a", 1)]  # fmt: skip
    slots = others.majority(table)
    assert list(zip(slots.item, slots.rater, slots.own, slots.target, strict=True)) == [
        (0, 2, 0, 1), (1, 0, 1, 1), (1, 1, 1, 1), (1, 2, 1, 1), (2, 0, 1, 0), (2, 1, 0, 1),
    ]  # fmt: skip
    assert slots.left_out == 3
    machines = {"yes": np.ones(4), "first": np.array([1, 0, 1, 1])}
    made = others.rows({"stage": "s"}, others.f1, slots, machines, np.arange(4))
    people, yes, first = (next(row for row in made if row["row"] == name) for name in
                          ("people", "yes", "first"))  # fmt: skip
    # a: right on 1 of 2, predicted twice: 2/3; b: 1 of 2 found, predicted once: 2/3; c: 2/3.
    assert people["raters"] == {name: {"n": 2, "value": pytest.approx(2 / 3)} for name in "abc"}
    assert (people["n"], people["left_out"], people["value"]) == (6, 3, pytest.approx(2 / 3))
    assert (yes["n"], yes["left_out"]) == (6, 3)
    assert [yes["raters"][name]["value"] for name in "abc"] == pytest.approx([2 / 3, 1, 1])
    assert [first["raters"][name]["value"] for name in "abc"] == pytest.approx([0, 2 / 3, 2 / 3])


@pytest.mark.usefixtures("few_resamples")
def test_a_rater_without_a_score_is_left_out_for_machines_too():
    ratings = [(i, name, value) for i in range(6) for name, value in
               (("a", i % 3), ("b", i // 2), ("same", 3))]  # fmt: skip
    made = others.rows({"stage": "s"}, others.spearman, others.mean(ratings),
                       {"length": np.arange(6)}, np.arange(6))  # fmt: skip
    assert [(row["row"], row["n"], row["left_out"]) for row in made] == [
        ("length", 12, 6), ("people", 12, 6),
    ]  # fmt: skip
    assert made[0]["raters"].keys() == {"a", "b"}


def test_spearman_is_scipys_with_mean_ranks():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(4)
    table, said_by = rng.integers(1, 6, (50, 3)).astype(float), rng.integers(0, 4, 50)
    slots = others.mean(votes(table))
    found = others.spearman(said_by[slots.item], slots)(np.ones(150))
    for k in range(3):
        rest = (table.sum(axis=1) - table[:, k]) / 2
        assert found[k] == pytest.approx(spearmanr(said_by, rest).statistic)
    twice = np.repeat(table, 2, axis=0)
    more = others.mean(votes(twice))
    assert others.spearman(np.repeat(said_by, 2)[more.item], more)(np.ones(300)) == pytest.approx(
        others.spearman(said_by[slots.item], slots)(np.full(150, 2.0))
    )


def test_votes_without_others_are_nothing_to_compare_with():
    slots = others.majority([(0, "a", 1), (1, "b", 0)])
    assert slots.left_out == 2
    with pytest.raises(ModelError, match="nothing to compare"):
        others.rows({"stage": "relevance"}, others.f1, slots, {}, np.arange(2))


@pytest.mark.parametrize(
    ("attribute", "answer", "prompt", "share"),
    [
        ("Grows ferns at home.", "Your home ferns grow well outside.", "", 1.0),
        ("Grows ferns at home.", "Take a walk.", "", 0.0),
        # What the prompt says is no mention of the person.
        ("Grows ferns at home.", "Your ferns!", "Why do ferns wilt?", 0.0),
        ("喜欢登山", "周末可以去登山。", "", 1 / 3),
        ("They like it.", "They like it.", "", None),
    ],
)
def test_a_mention_is_the_share_of_content_words_that_the_prompt_does_not_have(
    attribute, answer, prompt, share
):
    assert mentioned(attribute, answer, prompt) == share
    assert explicit(share) is (None if share is None else share >= 0.5)


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
    table = printed("interventions", "--release", folder)
    values = {(row["stage"], row["row"]): row for row in table}
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
    table = printed("interventions", "--release", tmp_path)
    reason = capsys.readouterr().err
    assert "Left out: " in reason and "attributes is there neither" in reason
    values = {(row["stage"], row["row"]): row for row in table}
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
