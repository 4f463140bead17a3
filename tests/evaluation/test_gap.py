"""People and models on the same items, and the stages of their report, for readers alone."""

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from annotation.agreement.statistics import kappas
from annotation.evaluation import gap
from annotation.evaluation.raters import import_verdicts
from tests.evaluation.conftest import ROWS, printed, write


def votes(table) -> gap.CodedVotes:
    """Votes from rows of labels, an annotator a column; -1 for none."""
    table = np.array(table)
    item, worker = np.nonzero(table >= 0)
    return gap.CodedVotes(item, worker, table[item, worker], len(table), int(table.max()) + 1)


def test_every_pair_of_votes_on_an_item_is_found_once():
    rows = gap.pairs(votes([[0, 1, -1], [1, 1, 0], [-1, 0, 1]]), least=1)
    found = sorted(zip(rows.comparison, rows.item, rows.first, rows.second, strict=True))
    # Annotators 0-1, 0-2, 1-2.
    assert found == [(0, 0, 0, 1), (0, 1, 1, 1), (1, 1, 1, 0), (2, 1, 1, 0), (2, 2, 0, 1)]
    assert gap.pairs(votes([[0, 1, -1], [1, 1, 0], [-1, 0, 1]]), least=2).comparisons == 2


def test_kappas_equal_those_of_the_agreement_report():
    rng = np.random.default_rng(3)
    table = rng.integers(0, 3, (200, 4))
    table[rng.random((200, 4)) < 0.3] = -1
    every = votes(table)
    rows = gap.pairs(every)
    expected = kappas.cohen(kappas.confusions(every.item, every.worker, every.code, 4, 3))[0]
    assert gap.kappas(rows, 3) == pytest.approx(expected)


def test_a_weight_is_so_many_copies_of_an_item():
    every = votes([[0, 0], [1, 0], [1, 1], [0, 1]])
    copied = votes([[0, 0], [0, 0], [1, 1], [0, 1]])
    weight = np.array([2, 0, 1, 1])
    assert gap.kappas(gap.pairs(every, 1), 2, weight) == pytest.approx(
        gap.kappas(gap.pairs(copied, 1), 2)
    )


def test_the_majority_is_more_than_half():
    every = votes([[0, 0, 1], [0, 1, -1], [1, 1, 1], [-1, -1, 0]])
    assert gap.majority(every).tolist() == [0, -1, 1, 0]


def test_two_people_of_whom_a_kappa_is_undefined_are_left_out_on_both_sides():
    """Two give one label to all of their items; the model says what the two others say."""
    mixed, same = np.tile([0, 1], 30), np.zeros(60, int)
    none = np.full(60, -1)
    table = np.vstack([
        np.column_stack([mixed, mixed, none, none]), np.column_stack([none, none, same, same])
    ])  # fmt: skip
    every = votes(table)
    people, model = gap.beside(gap.pairs(every), np.concatenate([mixed, mixed]))
    assert gap.difference(people, model, every).value == 0


def test_a_model_that_is_as_good_as_a_person_differs_by_nothing():
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 600)
    noisy = [np.where(rng.random(600) < 0.2, 1 - truth, truth) for _ in range(4)]
    every = votes(np.column_stack(noisy[:3]))
    people, model = gap.beside(gap.pairs(every), noisy[3])
    found = gap.difference(people, model, every)
    assert found.low < 0 < found.high
    # The majority is less noisy than one person: against it the same model looks better.
    majority = gap.mean_kappa(gap.against_majority(every, noisy[3]), every, "none")
    assert majority.value > gap.mean_kappa(model, every, "none").value + 0.05


def test_a_model_takes_a_persons_place_on_the_items_that_two_people_judged():
    """Items that one person judged, or not the model, count neither for people nor for the model.

    Eighty easy items have one vote and forty hard ones two: a copy of the first person would look
    better than people by the easy ones.
    """
    rng = np.random.default_rng(7)
    hard = [rng.integers(0, 2, 40) for _ in range(2)]
    easy = rng.integers(0, 2, 80)
    table = np.full((120, 2), -1)
    table[:40] = np.column_stack(hard)
    table[40:, 1] = easy
    every = votes(table)
    copy = np.concatenate([hard[0], easy])
    copy[:5] = -1
    people, model = gap.beside(gap.pairs(every), copy)
    assert (people.comparisons, model.comparisons, len(people.item)) == (1, 2, 35)
    of_people = gap.kappas(people, 2)
    # With the first, whose copy it is, and with the second, as the first is.
    assert gap.kappas(model, 2) == pytest.approx([1, of_people[0]])
    nobody = gap.beside(gap.pairs(every), np.where(np.arange(120) < 101, -1, copy))
    assert gap.difference(*nobody, every).reason == gap.NO_SHARED


def test_another_rater_of_the_same_skill_agrees_with_people_as_they_do():
    """Over 200 seeds, with people of unequal skill who judge other numbers of items."""
    apart = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        hard = np.arange(150) < 60
        truth = rng.integers(0, 2, 150)
        wrong = np.where(hard[:, None], 0.4, 0.05)
        table = np.where(rng.random((150, 4)) < wrong, 1 - truth[:, None], truth[:, None])
        model = table[:, 3].copy()
        table[~hard, 1:] = -1  # easy items are judged by one person
        every = votes(table[:, :3])
        apart.append(np.subtract(*(gap.kappas(rows, 2).mean() for rows in
                                   gap.beside(gap.pairs(every), model))))  # fmt: skip
    assert abs(np.mean(apart)) < 4 * np.std(apart) / len(apart) ** 0.5


def test_what_is_undefined_says_why():
    few = votes([[0, 1]] * 5)
    nothing = np.full(5, -1)
    assert gap.mean_kappa(gap.pairs(few), few, gap.NO_PAIR).reason == gap.NO_PAIR
    assert gap.difference(*gap.beside(gap.pairs(few), nothing), few).reason == gap.NO_SHARED
    assert gap.spearman_with_mean(few, nothing).value is None
    assert gap.mean_spearman(gap.pairs(few), 2, gap.NO_PAIR).reason == gap.NO_PAIR


def test_the_stages_stand_in_order_with_people_and_models(mix, tmp_path):
    import_verdicts(mix, write(tmp_path, *ROWS))
    traits, matter, rate = gap.of_study(mix)
    assert [stage["task"].name for stage in (traits, matter, rate)] == ["traits", "matter", "rate"]
    assert traits["people"] == pytest.approx([400 / 6, 100 / 6, 100 / 6])
    assert traits["models"][0]["shares"] == [100, 0, 0]
    assert matter["people"] == pytest.approx([200 / 3, 100 / 3])
    # People rate the personalised answer 5, 5 and 2; the model, first candidate much better, too.
    assert rate["people"] == pytest.approx([0, 100 / 3, 0, 0, 200 / 3])
    assert rate["models"][0]["shares"] == [0, 0, 0, 0, 100]
    assert (rate["no_better"], rate["models"][0]["no_better"]) == (pytest.approx(100 / 3), 0)


def test_ratings_without_a_generic_answer_are_left_out(mix, tmp_path):
    import_verdicts(mix, write(tmp_path, *ROWS))
    mix.candidates.update(strategy="A1")
    rate = gap.of_study(mix)[2]
    assert (rate["items"], rate["left_out"], rate["no_better"]) == (0, 1, None)


def test_no_annotator_sees_a_models_verdict(mix, cast, tmp_path, login):
    import_verdicts(mix, write(tmp_path, *(row | {"model": "m-canary"} for row in ROWS)))
    cast.member("Dana", mix, "annotator")
    mix.items.exclude(batch__purpose="work").delete()
    mix.slots.filter(status="done").update(status="void")
    page = login(cast.person("Dana")).get("/studies/mix/judge/").text
    assert "m-canary" not in page


def test_the_command_prints_over_selection_mean_ratings_and_kappa_between_models(
    mix, tmp_path, monkeypatch
):
    monkeypatch.setattr(gap.pairs, "__defaults__", (2,))
    rows = [*ROWS, {"task": "i-a1", "model": "m-2", "label": "accepted"}]
    rows.append({"task": "i-a2", "model": "m-2", "label": "rejected"})
    import_verdicts(mix, write(tmp_path, *rows))
    traits, matter, rate = printed("gap", "mix")["stages"]
    # m-1 accepts both attributes, people 4 of 6 times; m-2 one of two.
    factors = [model["over_selection"] for model in traits["models"]]
    assert factors == pytest.approx([1.5, 0.75])
    # m-1 never says "yes", people two of three times.
    assert matter["models"][0]["over_selection"] == 0
    # Models agree on one of two, as by chance: 0.5 observed, 1 * 0.5 + 0 * 0.5 expected.
    assert traits["between_models"]["value"] == 0
    assert (rate["mean_rating"], rate["models"][0]["mean_rating"]) == (4, 5)
    with pytest.raises(CommandError, match="There is no study"):
        call_command("gap", "none")
