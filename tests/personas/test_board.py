"""Of whom the personas consist, which are much alike, and the split of them."""

import json
from collections import Counter

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction

from annotation.core.embed import embed
from annotation.core.errors import Conflict, DomainError
from annotation.judging.batches.open import add_items, open_batch
from annotation.judging.kinds import kind_of
from annotation.personas import board, curate
from annotation.personas.models import PairDecision, Persona
from tests.candidates.conftest import text_of

MINA = {
    "Name": "Mina Park",
    "Demographics": {
        "Age": "34 years",
        "Gender": "Female",
        "Nationality": "Korean",
        "Career_Information": "Nurse, 12 years at a hospital in Oslo",
    },
    "Personality": {
        "Extraversion_or_Introversion": "I",
        "Sensing_or_Intuition": "N",
        "Thinking_or_Feeling": "T",
        "Judging_or_Perceiving": "J",
        "Values_and_Interests": ["Rye bread", "Chess", "chess"],
    },
    "Preference": {"Content_Interests": ["Travel", ""]},
}
PAGE = "/studies/tea/personas/board/"
SPLIT = "/studies/tea/personas/split/"


def values(name, profile=MINA):
    return board.values(profile, board.DIMENSIONS[name])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("occupation", {"nurse"}),
        ("age", {"30–39"}),
        ("gender", {"female"}),
        ("nationality", {"korean"}),
        ("mbti", {"INTJ"}),
        ("interests", {"rye bread", "chess", "travel"}),
    ],
)
def test_a_profile_has_its_values_in_each_dimension(name, expected):
    assert values(name) == expected
    assert values(name, {}) == set()


@pytest.mark.parametrize(
    ("career", "occupation"),
    [
        ("Software engineer at a start-up", "software engineer"),
        ("Teacher; before that a diver", "teacher"),
        ("护士，在医院工作", "护士"),
        ({"Title": "Baker", "Years": 4}, "baker"),
        ([], None),
        (None, None),
        (7, "7"),
        (".", None),
    ],
)
def test_an_occupation_is_what_stands_before_the_first_clause(career, occupation):
    profile = {"Demographics": {"Career_Information": career}}
    assert values("occupation", profile) == ({occupation} if occupation else set())


@pytest.mark.parametrize(
    ("age", "decade"),
    [(0, "0–9"), (9, "0–9"), (10, "10–19"), ("in her 40s", "40–49"), ("old", "old")],
)
def test_an_age_counts_in_its_decade(age, decade):
    assert values("age", {"Demographics": {"Age": age}}) == {decade}


@pytest.mark.parametrize(
    "profile", [{"Demographics": "x"}, {"Personality": []}, {"Demographics": [1]}]
)
def test_other_shapes_have_no_values(profile):
    assert [board.values(profile, one) for one in board.DIMENSIONS.values()] == [set()] * 6


def test_a_value_is_over_represented_from_three_half_again_as_often_and_two_per_cent():
    # The even spread is 2.5, and 1.5 times that 3.75.
    assert board.over_represented(Counter(a=4, b=3, c=2, d=1), 10) == {"a"}
    # The even spread is 4/3.
    assert board.over_represented(Counter(a=2, b=1, c=1), 4) == frozenset()
    assert board.over_represented(Counter(a=3, b=1, c=1), 150) == {"a"}
    assert board.over_represented(Counter(a=3, b=1, c=1), 151) == frozenset()
    assert board.over_represented(Counter(), 0) == frozenset()


def test_ages_stand_in_their_order_and_other_values_by_how_many_have_them():
    people = [{"Demographics": {"Age": age, "Gender": gender}} for age, gender in
              [(101, "f"), (34, "m"), (35, "m"), (7, "f"), (8, "m")]]  # fmt: skip
    age, gender = (board.tally(board.DIMENSIONS[name], people) for name in ("age", "gender"))
    assert age.rows == [("0–9", 2), ("30–39", 2), ("100–109", 1)]
    assert (gender.rows, gender.personas) == ([("m", 3), ("f", 2)], 5)


def test_words_of_a_profile_are_its_values_without_keys_names_and_letters():
    assert board.values_as_text(
        {"Name": "Jo", "Personality": {"x": "E"}, "Food": ["tea", "rice"]}
    ) == ("tea rice")


def pairs(study, least=0.9):
    rows = board.undecided(study, board.versions(study), least)
    return [(row.first.persona.external_id, row.second.persona.external_id) for row in rows]


def test_the_most_similar_pairs_come_first_and_each_pair_once(people, tea):
    versions = board.versions(tea)
    everyone = board.alike(versions, -1.0)
    assert len({(pair.first.pk, pair.second.pk) for pair in everyone}) == 6
    assert everyone[0].sides == tuple(versions[:2])
    cosines = [pair.similarity for pair in everyone]
    assert cosines == sorted(cosines, reverse=True)
    first, second = embed([board.values_as_text(row.profile) for row in versions[:2]])
    assert cosines[0] == pytest.approx(float(first @ second), abs=1e-6)
    assert pairs(tea) == [("p1", "p2")]


def test_both_stay_and_the_pair_is_not_asked_about_again(people, tea, cast):
    carol = cast.person("Carol")
    board.decide_pair(tea, people[1].pk, people[0].pk, "both", by=carol)
    assert pairs(tea) == []
    assert not Persona.objects.exclude(dropped_at=None).exists()
    with pytest.raises(Conflict, match="decided already"):
        board.decide_pair(tea, people[0].pk, people[1].pk, "first", by=carol)
    board.undo(tea, by=carol)
    assert pairs(tea) == [("p1", "p2")]
    with pytest.raises(DomainError, match="nothing to take back"):
        board.undo(tea, by=carol)


@pytest.mark.parametrize(("choice", "gone"), [("first", "p1"), ("second", "p2")])
def test_one_of_a_pair_is_dropped_and_comes_back(people, tea, cast, choice, gone):
    carol = cast.person("Carol")
    board.decide_pair(tea, people[0].pk, people[1].pk, choice, by=carol)
    (dropped,) = Persona.objects.exclude(dropped_at=None)
    assert (dropped.external_id, dropped.dropped_because) == (gone, "near-duplicate")
    with pytest.raises(Conflict, match="dropped already"):
        board.decide_pair(tea, people[0].pk, people[1].pk, "both", by=carol)
    board.undo(tea, by=carol)
    assert not Persona.objects.exclude(dropped_at=None).exists()


def test_undo_takes_back_one_s_own_decisions_alone_the_last_first(people, tea, cast):
    carol, ada = cast.person("Carol"), cast.person("Ada")
    board.decide_pair(tea, people[0].pk, people[1].pk, "first", by=carol)
    board.decide_pair(tea, people[2].pk, people[3].pk, "both", by=ada)
    board.undo(tea, by=carol)
    (left,) = PairDecision.objects.all()
    assert (left.decided_by, left.first, left.second) == (ada, people[2], people[3])


def test_a_drop_for_another_reason_is_not_taken_back_with_the_pair(people, tea, cast):
    carol = cast.person("Carol")
    board.decide_pair(tea, people[0].pk, people[1].pk, "first", by=carol)
    curate.restore(people[0])
    curate.drop(people[0], "stereotyped")
    board.undo(tea, by=carol)
    assert Persona.objects.get(pk=people[0].pk).dropped_because == "stereotyped"


def test_personas_of_another_study_are_no_pair(people, tea, cast):
    other = cast.persona(cast.study("rain"), "x")
    for pk in (other.pk, people[0].pk, 2**40):
        with pytest.raises(DomainError, match="two personas of the study"):
            board.decide_pair(tea, people[0].pk, pk, "both")


def test_the_board_shows_dimensions_pairs_and_the_funnel(people, carol):
    page = text_of(carol.get(PAGE))
    assert page.count('<svg class="chart"') == 3  # nobody has a nationality, a type or interests
    assert page.count("No persona says anything of it.") == 3
    assert "1 pair of near-duplicates to decide" in text_of(carol.get(f"{PAGE}?similar=0.9"))
    assert "personas written by people" in page


def test_a_decision_on_the_page_is_made_and_taken_back(people, carol):
    sent = {"first": people[0].pk, "second": people[1].pk, "choice": "second", "similar": "0.9"}
    answer = carol.post(f"{PAGE}pairs/", sent)
    assert answer["Location"] == f"{PAGE}?similar=0.90#pairs"
    page = text_of(carol.get(f"{PAGE}?similar=0.9"))
    assert "No pair at this threshold waits" in page
    assert "p2 is dropped." in page
    page = text_of(carol.post(f"{PAGE}pairs/", {"do": "undo", "similar": "0.9"}, follow=True))
    assert "1 pair of near-duplicates to decide" in page


@pytest.mark.parametrize("change", [{"choice": "third"}, {"first": "\0"}, {"second": str(2**70)}])
def test_what_is_no_decision_is_refused_with_a_sentence(people, carol, change):
    sent = {"first": people[0].pk, "second": people[1].pk, "choice": "both"} | change
    page = text_of(carol.post(f"{PAGE}pairs/", sent, follow=True))
    assert "Choose what becomes of the pair." in page
    assert not PairDecision.objects.exists()


def test_a_dimension_is_downloaded_as_table_and_as_chart(people, carol):
    table = text_of(carol.get(f"{PAGE}occupation.csv")).splitlines()
    assert table[0] == "value,personas,over_represented"
    assert "baker of rye bread,2,False" in table or len(table) == 4
    for ending, begins in (("svg", b"<svg"), ("png", b"\x89PNG")):
        assert carol.get(f"{PAGE}occupation.{ending}").content.startswith(begins)
    # Nobody has one.
    assert carol.get(f"{PAGE}nationality.svg").status_code == 404
    assert carol.get(f"{PAGE}occupation.pdf").status_code == 404


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
