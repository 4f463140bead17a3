"""The split into benchmark and training: proposed, made for good, and kept to."""

import json

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction

from annotation.core.errors import DomainError
from annotation.judging.batches.open import add_items, open_batch
from annotation.judging.kinds import kind_of
from annotation.personas import board, curate
from annotation.personas.models import Persona
from tests.personas.conftest import text_of

SPLIT = "/studies/tea/personas/split/"


def sides(study):
    return dict(study.personas.values_list("external_id", "split"))


def test_the_same_seed_proposes_the_same_and_the_proposal_stores_nothing(people, tea):
    first, again = (board.propose(tea, 2, 5) for _ in range(2))
    assert first == again
    assert (len(first.benchmark), len(first.training)) == (2, 2)
    assert set(sides(tea).values()) == {""}


def test_a_value_does_not_crowd_the_benchmark(cast, tea):
    for number in range(12):
        gender = "male" if number < 9 else "female"
        cast.persona(tea, f"p{number:02}", Demographics={"Gender": gender})
    for seed in range(5):
        rows = board.propose(tea, 6, seed).by_dimension()[2][1]
        assert rows == [("male", 3, 6), ("female", 3, 0)]


def test_the_page_proposes_with_counts_and_divides_for_good(people, carol, tea):
    page = text_of(carol.get(f"{SPLIT}?benchmark=3&seed=1"))
    assert "3 for the benchmark, 1 for training" in page
    assert "Divide 4 personas for good" in page
    answer = carol.post(SPLIT, {"benchmark": 3, "seed": 1})
    assert answer.status_code == 302
    assert sorted(sides(tea).values()) == ["benchmark"] * 3 + ["training"]
    assert "Every persona has its side already." in text_of(
        carol.get(f"{SPLIT}?benchmark=3&seed=2")
    )


def test_near_duplicates_on_different_sides_are_named(people, carol):
    # One of the two bakers stays for training whatever is drawn.
    page = text_of(carol.get(f"{SPLIT}?benchmark=3&seed=1"))
    both = board.propose(people[0].study, 3, 1).apart(0.9)
    assert [pair.first.persona.external_id for pair in both] == ["p1"]
    assert "1 pair of near-duplicates would be on different sides" in page


@pytest.mark.parametrize("data", [{"benchmark": 5, "seed": 1}, {"benchmark": 0, "seed": 1}, {}])
def test_a_split_that_cannot_be_is_refused(people, carol, tea, data):
    assert carol.post(SPLIT, data).status_code == 400
    assert set(sides(tea).values()) == {""}


def test_a_side_is_chosen_once(people, tea):
    curate.split(tea, ["p1"], "training")
    for name, side, words in [("p1", "benchmark", "none ever crosses"), ("p9", "training", "no p")]:
        with pytest.raises(DomainError, match=words):
            curate.split(tea, [name], side)
    assert board.make(tea, 2, 1) == {"benchmark": 2, "training": 2}
    with pytest.raises(DomainError, match="2 are in it already, and 0 have no side yet"):
        board.propose(tea, 4, 1)


def test_the_database_refuses_that_a_persona_crosses(people, tea):
    curate.split(tea, ["p1"], "training")
    for side in ("benchmark", ""):
        with pytest.raises(IntegrityError, match="for good"), transaction.atomic():
            Persona.objects.filter(external_id="p1").update(split=side)
    assert sides(tea)["p1"] == "training"


def test_who_is_judged_is_of_the_benchmark(people, cast, tea):
    cast.candidates(cast.query(tea, "q1", people[0]))
    open_batch(tea, cast.task(tea))
    with pytest.raises(DomainError, match="People judge items of p1 already"):
        curate.split(tea, ["p1"], "training")
    for seed in range(4):
        chosen = board.propose(tea, 1, seed).benchmark
        assert [version.persona.external_id for version in chosen] == ["p1"]


def test_no_item_is_opened_about_a_training_persona(people, cast, tea):
    curate.split(tea, ["p1"], "training")
    answers = cast.candidates(cast.query(tea, "q1", people[0]))
    row = {"external_id": "i1", "overlap": 3, "query": answers[0].query}
    row["candidates"] = [answer.pk for answer in answers]
    with pytest.raises(DomainError, match="training persona"):
        add_items(tea, cast.task(tea), [row])
    assert not tea.items.exists()
    assert list(kind_of("selection").plan(tea, tea.tasks.get())) == []


def test_the_command_shows_the_counts_and_stores_nothing_without_being_asked(people, tea, capsys):
    call_command("split_personas", "tea", benchmark=2, dry_run=True, json=True)
    counts = json.loads(capsys.readouterr().out)
    assert (counts["benchmark"], counts["training"]) == (2, 2)
    assert sum(sum(pair) for pair in counts["dimensions"]["age"].values()) == 4
    assert set(sides(tea).values()) == {""}
    call_command("split_personas", "tea", benchmark=2, dry_run=True)
    assert "age (benchmark/training): " in capsys.readouterr().out
