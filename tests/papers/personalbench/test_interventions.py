"""The table of interventions beside people."""

import io
import json
import random

import pytest
from django.core.management import CommandError, call_command

from tests.evaluation.conftest import write_lines
from tests.evaluation.test_training import LIKES, make_bench


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
