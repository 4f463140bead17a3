"""Scores against choices: the pure module against scipy and by hand, the import, and the pages."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest
import scipy.stats
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from annotation.accounts import consent
from annotation.agreement import recompute, scoring
from annotation.agreement.board import Board
from annotation.agreement.figures import figure_of
from annotation.agreement.scoring import NEVER_DIFFER, NO_PAIR_SCORED, rate
from annotation.candidates.models import AspectScore
from annotation.judging.batches.open import open_batch
from annotation.judging.kinds import kind_of
from annotation.judging.models import Judgment
from annotation.studies.models import TaskDefinition

from .test_figures import give

DIFFERENCES = st.lists(st.integers(-4, 4).map(lambda n: n / 2), min_size=1, max_size=80)


@given(DIFFERENCES)
def test_the_correlations_are_those_of_the_doubled_rows(differences):
    """Each pair in both orders: difference d chosen, and -d not chosen, as scipy sees them."""
    found = rate(range(len(differences)), differences, resamples=0)
    doubled = np.array([*differences, *(-d for d in differences)])
    choice = np.repeat([1, -1], len(differences))
    if not doubled.any():
        assert found.pearson.reason == found.tau_b.reason == NEVER_DIFFER
        assert found.accuracy.value == 0.5
        return
    assert found.pearson.value == pytest.approx(scipy.stats.pearsonr(doubled, choice)[0])
    assert found.tau_b.value == pytest.approx(scipy.stats.kendalltau(doubled, choice)[0])


@given(DIFFERENCES, st.randoms())
def test_neither_the_order_of_pairs_nor_names_of_items_matter(differences, random):
    rows = list(enumerate(differences))
    expected = rate(*zip(*rows, strict=True), resamples=20)
    random.shuffle(rows)
    found = rate(*zip(*rows, strict=True), resamples=0)
    for name in ("items", "pairs", "equal"):
        assert getattr(found, name) == getattr(expected, name)
    for name in ("accuracy", "tau_b"):
        assert getattr(found, name).value == getattr(expected, name).value


def test_a_rating_by_hand():
    # Differences 2, 1, 0, -1: two right, one equal. Pearson 2 / √(4·6).
    found = rate([0, 1, 2, 3], [2, 1, 0, -1])
    assert (found.items, found.pairs, found.equal) == (4, 4, 1)
    assert found.accuracy.value == 0.625
    assert found.pearson.value == pytest.approx(2 / 24**0.5)
    # Of 16 pairs of unlike choice d + d' is above 0 in 10 and below in 3. Of the 28 pairs of rows
    # three have equal differences (at 1, at 0 and at -1), so tau-b is 7 / √(16 · 25).
    assert found.tau_b.value == pytest.approx(7 / 20)
    assert found.accuracy.low < 0.625 < found.accuracy.high


def test_pairs_of_one_item_stay_together_in_every_resample():
    """Two items that contradict each other: a resample has the one, the other, or both."""
    item = np.repeat([0, 1], 50)
    found = rate(item, np.repeat([1.0, -1.0], 50))
    assert (found.accuracy.low, found.accuracy.high) == (0.0, 1.0)
    alone = rate(range(100), np.repeat([1.0, -1.0], 50))
    assert 0.3 < alone.accuracy.low < 0.5


def test_many_different_scores_have_the_interval_of_the_bootstrap():
    difference = np.random.default_rng(1).normal(0.3, 1, 400)
    found = rate(range(400), difference).accuracy
    drawn = scipy.stats.bootstrap(
        ((difference > 0).astype(float),), np.mean, method="percentile", rng=2
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((drawn.low, drawn.high), abs=0.015)


def test_nothing_scored_is_null_with_the_reason():
    assert rate([], []).accuracy.as_json() == {"value": None, "reason": NO_PAIR_SCORED}
    assert scoring.correlation([], []).reason == NO_PAIR_SCORED
    assert scoring.correlation([0, 0], [1, 2]).reason == NEVER_DIFFER


@pytest.fixture
def judged(cast, tea):
    """Four pairs, nine votes each: answer 1 wins three, answer 2 one. Nobody disagrees."""
    cast.open(tea, items=4, options=2, overlap=9)
    people = [cast.member(f"P{n}", tea, "annotator") for n in range(9)]
    for item, label in zip(tea.items.order_by("position"), "1112", strict=True):
        for one in people:
            give(item, one, label)
    recompute.recompute(tea, "better")
    return tea


def score_lines(study, values, aspect="helpful"):
    """JSON lines that give the answers of each item (first, second) these scores."""
    lines = []
    for item, pair in zip(study.items.order_by("position"), values, strict=True):
        for option, score in zip(item.options.order_by("number"), pair, strict=True):
            row = {"candidate": option.candidate.external_id, "aspect": aspect, "score": score}
            lines.append(json.dumps(row | {"source": "reward"}))
    return lines


@pytest.fixture
def scored(judged, tmp_path):
    """Helpfulness is right twice, equal once and wrong once; length is always wrong."""
    helpful = score_lines(judged, [(5, 1), (4, 2), (3, 3), (2, 1)])
    length = score_lines(judged, [(1, 2), (1, 2), (1, 2), (2, 1)], "length")
    path = tmp_path / "scores.jsonl"
    path.write_text("\n".join([*helpful, *length]))
    call_command("import_scores", "tea", str(path))
    return judged


def test_imported_scores_are_set_against_the_choices(scored):
    found = scoring.rated(scored, "better").table
    helpful = found["reward", "helpful", "medium"]
    assert (helpful.items, helpful.equal, helpful.accuracy.value) == (4, 1, 0.625)
    # Differences of chosen and other: 4, 2, 0, -1.
    assert helpful.pearson.value == pytest.approx(5 / (4 * 21) ** 0.5)
    assert found["reward", "length", "all"].accuracy.value == 0.0
    assert found["reward", "length", "all"].tau_b.value == -1.0


def test_aspects_are_correlated_with_one_another_on_the_same_pairs(scored):
    matrix = scoring.rated(scored, "better").matrix
    # Length differs by -1 in every pair: -5 / √(4 · 21).
    together = matrix["reward", "helpful", "length"].value
    assert together == pytest.approx(-5 / (4 * 21) ** 0.5)
    assert matrix["reward", "choice", "length"].value == -1.0


def test_new_scores_and_new_tiers_replace_what_was_kept(scored):
    assert len(scoring.rated(scored, "better").sources["reward"]) == 2
    AspectScore.objects.filter(aspect="length").delete()
    assert scoring.rated(scored, "better").sources == {"reward": ["helpful"]}


def test_the_page_shows_table_and_heat_maps_and_hands_out_the_numbers(scored, login, cast):
    client = login(cast.person("Rui"))
    page = client.get("/studies/tea/ratings/better/").content.decode()
    assert "helpful" in page and "0.625" in page and 'id="aspects-1"' in page
    csv = client.get("/studies/tea/results/better/figures/scores-1.csv").content.decode()
    assert csv.splitlines()[2].startswith("helpful,all,4,4,1,0.625,")
    assert "/studies/tea/ratings/better/" in client.get("/studies/tea/").content.decode()


def test_without_scores_the_page_says_how_to_bring_them(judged, login, cast):
    client = login(cast.person("Rui"))
    assert "import_scores" in client.get("/studies/tea/ratings/better/").content.decode()
    assert "/ratings/" not in client.get("/studies/tea/").content.decode()


def run(capsys, *args):
    call_command("import_scores", *args, "--json")
    return json.loads(capsys.readouterr().out)


def test_a_second_import_of_the_same_file_changes_nothing(judged, tmp_path, capsys):
    path = tmp_path / "scores.csv"
    path.write_text("candidate,aspect,score\nbetter-q1-0,helpful,2.5\nbetter-q1-1,helpful,-1\n")
    first = run(capsys, "tea", str(path))
    assert first == {"scores": 2, "candidates": 2, "rejected": []}
    assert run(capsys, "tea", str(path)) == first
    stored = AspectScore.objects.values_list("candidate__external_id", "source", "score")
    assert sorted(stored) == [("better-q1-0", "", 2.5), ("better-q1-1", "", -1.0)]


def test_what_is_no_score_is_rejected_with_its_line(judged, tmp_path, capsys):
    path = tmp_path / "scores.csv"
    rows = ["better-q1-0,helpful,1", "nobody,helpful,1", "better-q1-0,helpful,2", "better-q1-0,,1"]
    rows += ["better-q1-0,tone,high", "better-q1-0,tone,nan", "better-q1-0,tone"]
    path.write_text("\n".join(["candidate,aspect,score", *rows]))
    found = run(capsys, "tea", str(path), "--skip-faulty")
    assert (found["scores"], found["candidates"]) == (1, 1)
    assert {one["line"]: one["reason"] for one in found["rejected"]} == {
        3: "the study has no answer “nobody”",
        4: "the answer “better-q1-0” has another score on this aspect from this source: "
        "name another source",
        5: "“aspect” is empty",
        6: "“score” must be a number",
        7: "“score” holds a number that is too large",
        8: "2 fields where the header has 3",
    }


def test_a_file_that_is_no_scores_file_is_refused(judged, tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("candidate,score\n")
    with pytest.raises(CommandError, match="there is no column aspect"):
        call_command("import_scores", "tea", str(path))
    assert not AspectScore.objects.exists()


@pytest.fixture
def criticised(cast, tea):
    """A feedback task: two people score one answer on two criteria."""
    config = kind_of("feedback").check_config({"criteria": ["Tone", "Content Depth"], "options": 1})
    task = TaskDefinition.objects.create(
        study=tea, name="score", kind="feedback", overlap=2, config=config
    )
    cast.candidates(cast.query(tea), 1)
    open_batch(tea, task)
    item = tea.items.get()
    for name, tone, depth in (("Ann", 5, 3), ("Bo", 2, 3)):
        slot = item.slots.filter(status="open").first()
        slot.status, slot.annotator = "done", cast.person(name)
        slot.save()
        common = {"key": name, "digest": "", "submitted_at": datetime(2026, 5, 1, tzinfo=UTC)}
        given = Judgment.objects.create(slot=slot, annotator=slot.annotator, **common)
        for criterion, score in (("Tone", tone), ("Content Depth", depth)):
            given.answers.create(question=criterion, option=1, value=score)
    tea.items.update(done=2)
    return tea


def test_peoples_own_scores_are_a_source_as_any_other(criticised):
    candidate = criticised.candidates.get().pk
    found = scoring.scores(criticised)
    assert found == {
        ("people (Score)", "Content Depth"): {candidate: 3.0},
        ("people (Score)", "Tone"): {candidate: 3.5},
    }


def test_scores_spread_by_criterion_in_the_tasks_order(criticised, login, cast):
    board = Board(criticised, criticised.tasks.get(name="score"))
    rows = {row[0]: row[-5:] for row in figure_of(board, "answers").rows}
    assert rows == {"Tone": (0, 1, 0, 0, 1), "Content Depth": (0, 0, 2, 0, 0)}
    assert list(rows) == ["Tone", "Content Depth"]
    page = login(cast.person("Rui")).get("/studies/tea/results/score/").content.decode()
    assert "Tone" in page and "70.000" in page


def test_scores_of_who_withdrew_do_not_count(criticised, cast):
    consent.withdraw(cast.person("Bo"), criticised.consent_text)
    board = Board(criticised, criticised.tasks.get(name="score"))
    assert figure_of(board, "answers").rows[0][-5:] == (0, 0, 0, 0, 1)


def bundle(tmp_path, scores):
    """A bundle of one query with two answers, and these lines of scores."""
    rows = {
        "queries": [{"id": "q1", "text": "What now?"}],
        "candidates": [{"id": f"c{n}", "query": "q1", "text": f"Answer {n}."} for n in (1, 2)],
        "scores": scores,
    }
    (tmp_path / "study.json").write_text(json.dumps({"slug": "rated", "title": "Rated"}))
    for name, lines in rows.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return str(tmp_path)


def test_a_bundle_brings_scores_and_again_changes_nothing(db, tmp_path):
    folder = bundle(
        tmp_path,
        [
            {"candidate": "c1", "aspect": "tone", "score": 4},
            {"candidate": "c1", "aspect": "tone", "score": 0.25, "source": "reward"},
        ],
    )
    for _ in range(2):
        call_command("import_study", folder)
        stored = AspectScore.objects.values_list("candidate__external_id", "source", "score")
        assert sorted(stored) == [("c1", "", 4.0), ("c1", "reward", 0.25)]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ({"candidate": "c9", "aspect": "tone", "score": 1}, "line 1: there is no candidate “c9”"),
        ({"candidate": "c1", "aspect": "tone", "score": "4"}, "line 1: “score” must be a number"),
        ({"candidate": "c1", "aspect": "tone", "score": True}, "line 1: “score” must be a number"),
        ({"candidate": "c1", "aspect": "tone"}, "line 1: “score” is missing"),
    ],
)
def test_a_bundle_whose_score_is_none_is_refused_whole(db, tmp_path, line, sentence):
    with pytest.raises(CommandError, match=sentence):
        call_command("import_study", bundle(tmp_path, [line]))
    assert not AspectScore.objects.exists()


def test_a_bundle_that_contradicts_a_stored_score_is_refused(db, tmp_path):
    score = {"candidate": "c1", "aspect": "tone", "score": 4}
    call_command("import_study", bundle(tmp_path, [score]))
    with pytest.raises(CommandError, match="another score on this aspect"):
        call_command("import_study", bundle(tmp_path, [score | {"score": 5}]))
    assert AspectScore.objects.get().score == 4.0


def test_a_models_answers_to_further_questions_are_not_compared_with_a_key(cast, tea):
    asked = [
        {"type": "label", "name": name, "about": "item", "classes": ["yes", "no"]}
        for name in ("helps", "harms")
    ]
    config = kind_of("questions").check_config({"options": 0, "questions": asked})
    task = tea.tasks.create(name="both", kind="questions", overlap=1, config=config)
    item = tea.items.create(
        batch=tea.batches.create(task=task), query=cast.query(tea), external_id="i1", position=1,
        overlap=1, keys={"expert": "yes"},
    )  # fmt: skip
    for first, second in (("helps", "harms"), ("harms", "helps")):
        item.verdicts.all().delete()
        for name in (first, second):
            label = "yes" if name == "helps" else "no"
            item.verdicts.create(model="oak", question=name, label=label)
        (found,) = scoring.compared(tea, "both")
        assert (found.who, found.right.value, found.n) == ("oak", 1.0, 1)
