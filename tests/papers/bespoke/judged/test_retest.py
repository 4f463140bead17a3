"""Owners judge a few of their own items once more: which, when, and what it says of reliability."""

from datetime import timedelta

import numpy as np
import pytest
from django.db.models import F
from django.urls import reverse

from annotation.agreement.board import Board
from annotation.agreement.figures import figure_of, icc_of, kappa_of, retest
from annotation.agreement.summary import Figure
from annotation.judging.annotator.checklist import checklist
from annotation.judging.curator import checks
from annotation.judging.models import Batch, Checks, Item, Judgment, Participation, Slot
from annotation.judging.work import hidden_checks, queue, submit
from tests.judging.test_queue import judge
from tests.papers.bespoke.conftest import scores

REPEAT = Batch.Purpose.REPEAT


def board_of(study, name):
    return Board(study, study.tasks.get(name=name))


def ask_again(study, **values):
    rates = hidden_checks.Rates(pass_mark=0, gold_every=0, repeat_every=0, **values)
    return checks.set_rates(study, rates, by=None)


def days_pass(days):
    """As if everything had been judged so many days earlier."""
    Judgment.objects.update(submitted_at=F("submitted_at") - timedelta(days=days))


def judge_again(study, owner, score) -> Item:
    slot = queue.claim(study, owner)
    submit.submit(study, slot, owner, scores(slot, score), key=f"again-{slot}")
    return Slot.objects.get(pk=slot).item


def test_an_own_item_comes_again_after_the_days_and_to_nobody_else(bespoke, judged, ann, cast):
    ask_again(bespoke, retest_number=1, retest_days=7)
    assert queue.claim(bespoke, ann) is None
    days_pass(6)
    assert queue.claim(bespoke, ann) is None
    days_pass(1)
    assert queue.claim(bespoke, cast.person("Bo")) is None
    item = judge_again(bespoke, ann, 3)
    assert (item.batch.purpose, item.made_for) == (REPEAT, ann)
    assert item.repeats.batch.purpose == Batch.Purpose.WORK
    # One was asked for.
    assert queue.claim(bespoke, ann) is None


def test_all_items_come_again_once_where_all_are_asked_for(bespoke, judged, ann):
    ask_again(bespoke, retest_share=1.0, retest_days=0)
    first, second = (judge_again(bespoke, ann, score) for score in (2, 5))
    assert {first.repeats_id, second.repeats_id} == set(
        Item.objects.filter(made_for=None).values_list("pk", flat=True)
    )
    assert queue.claim(bespoke, ann) is None


@pytest.mark.parametrize(("share", "due"), [(0.5, 1), (0.51, 2), (0.01, 1), (1.0, 2)])
def test_a_share_of_the_items_is_rounded_up(bespoke, judged, ann, share, due):
    ask_again(bespoke, retest_share=share, retest_days=0)
    assert hidden_checks.retests_due(ann.pk, bespoke.pk) == due


def test_a_number_goes_before_a_share_and_no_more_than_there_is(bespoke, judged, ann):
    ask_again(bespoke, retest_number=1, retest_share=1.0, retest_days=0)
    assert hidden_checks.retests_due(ann.pk, bespoke.pk) == 1
    ask_again(bespoke, retest_number=9, retest_days=0)
    assert hidden_checks.retests_due(ann.pk, bespoke.pk) == 2
    ask_again(bespoke)
    assert hidden_checks.retests_due(ann.pk, bespoke.pk) == 0


def test_repeats_of_what_everybody_judges_are_not_counted(cast, bespoke, judged, ann):
    ask_again(bespoke, retest_number=2, retest_days=0)
    batch = bespoke.batches.create(task=cast.task(bespoke, "shared", options=2))
    query = cast.query(bespoke, "shared")
    old = bespoke.items.create(
        batch=batch, query=query, external_id="shared", position=99, overlap=1
    )
    hidden_checks.copy(old, ann.pk, hidden_checks.batch_of_copies(batch, REPEAT))
    assert hidden_checks.retests_due(ann.pk, bespoke.pk) == 2


def test_what_everybody_judges_does_not_come_again_as_an_own_item(cast, tea, bo):
    cast.open(tea, items=2, overlap=1)
    ask_again(tea, retest_share=1.0, retest_days=0)
    assert judge(tea, bo)
    assert hidden_checks.retests_due(bo.pk, tea.pk) == 0


def test_a_second_judgment_is_not_among_those_that_count(bespoke, judged, ann):
    before = figure_of(board_of(bespoke, "score"), "answers").rows
    ask_again(bespoke, retest_share=1.0, retest_days=0)
    judge_again(bespoke, ann, 1)
    assert figure_of(board_of(bespoke, "score"), "answers").rows == before
    work = Item.objects.filter(batch__purpose=Batch.Purpose.WORK)
    assert list(work.values_list("done", flat=True)) == [1, 1]


def test_the_owner_reads_that_items_come_again(bespoke, judged, ann):
    ask_again(bespoke, retest_number=2, retest_days=0)
    bespoke.refresh_from_db()
    step = checklist(ann, bespoke).current
    assert step.name == "judge"
    assert "2 that you judged before come again" in step.note
    judge_again(bespoke, ann, 2)
    judge_again(bespoke, ann, 5)
    assert checklist(ann, bespoke).current.name != "judge"


def test_the_results_show_how_far_both_judgments_agree(bespoke, judged, ann, cast, login):
    board = board_of(bespoke, "score")
    assert "Nobody has judged an own item twice" in figure_of(board, "retest").reason
    ask_again(bespoke, retest_share=1.0, retest_days=0)
    former = {}
    for _n in range(2):
        slot = queue.claim(bespoke, ann)
        old = Slot.objects.get(pk=slot).item.repeats
        answer = Judgment.objects.get(slot__item=old)
        former[old.pk] = answer.answers.order_by("pk").first().value
        submit.submit(bespoke, slot, ann, scores(slot, former[old.pk]), key=f"r{slot}")
    figure = figure_of(board_of(bespoke, "score"), "retest")
    assert [row[:3] for row in figure.rows] == [
        (name, "ICC(2,1)", 1.0)
        for name in ("Need Alignment", "Content Depth", "Tone", "Explanation Style")
    ]
    assert {row[5] for row in figure.rows} == {2}
    client = login(cast.person("Rui"))
    page = client.get("/studies/tea/results/score/").text
    assert 'id="retest-title"' in page
    address = "/studies/tea/results/score/figures/retest"
    lines = client.get(f"{address}.csv").text.splitlines()
    assert lines[1] == "What was judged,Measure,Value,Low,High,Pairs,Note"
    assert [line.split(",")[0] for line in lines[2:]] == [row[0] for row in figure.rows]
    assert client.get(f"{address}.svg").content.startswith(b"<svg")


@pytest.mark.parametrize("way", ["withdrawn", "void"])
def test_who_left_or_was_excluded_is_not_in_the_figure(bespoke, judged, ann, way):
    ask_again(bespoke, retest_share=1.0, retest_days=0)
    judge_again(bespoke, ann, 3)
    assert figure_of(board_of(bespoke, "score"), "retest").votes == 1
    if way == "void":
        queue.void(bespoke, ann, cause="A test.")
    board = Board(bespoke, bespoke.tasks.get(name="score"), withdrawn=[ann.pk] * (way != "void"))
    # Nobody else has voted: the page would not ask for the figure.
    figure = retest(board, Figure("retest", "", "", ""))
    assert "Nobody has judged an own item twice" in figure.reason


def test_coefficients_of_pairs_are_those_of_the_formulas():
    pairs = [(1, 2), (2, 2), (3, 4), (5, 5), (4, 3)]
    scores_ = np.array(pairs, float)
    rows, columns = scores_.shape
    mean = scores_.mean()
    between = columns * ((scores_.mean(1) - mean) ** 2).sum() / (rows - 1)
    occasion = rows * ((scores_.mean(0) - mean) ** 2).sum() / (columns - 1)
    rest = (scores_ - scores_.mean(1, keepdims=True) - scores_.mean(0) + mean) ** 2
    error = rest.sum() / ((rows - 1) * (columns - 1))
    expected = (between - error) / (
        between + (columns - 1) * error + columns * (occasion - error) / rows
    )
    found = icc_of(pairs)
    assert found.value == pytest.approx(expected)
    assert found.low < found.value < found.high
    labels = [("yes", "yes")] * 4 + [("no", "no")] * 3 + [("yes", "no")] * 2 + [("no", "yes")]
    # Observed 0.7; by chance 0.6 · 0.5 + 0.4 · 0.5.
    assert kappa_of(labels).value == pytest.approx((0.7 - 0.5) / 0.5)
    assert kappa_of([("yes", "yes")] * 5).reason == "only one answer was given"
    assert icc_of([(1, 2)]).reason == "two pairs or more are needed"


def test_curators_set_it_on_the_page_of_checks(bespoke, cast, login):
    client = login(cast.person("Carol"))
    page = reverse("checks", args=["tea"])
    sent = {"pass_mark": "0", "gold_every": "0", "repeat_every": "0"}
    more = {"retest_number": "5", "retest_share": "20", "retest_days": "14"}
    assert client.post(page, sent | more).status_code == 302
    stored = Checks.objects.get()
    assert (stored.retest_number, stored.retest_share, stored.retest_days) == (5, 0.2, 14)
    assert client.post(page, sent).status_code == 302
    stored.refresh_from_db()
    assert (stored.retest_number, stored.retest_share, stored.retest_days) == (0, 0, 7)
    for wrong in ({"retest_share": "101"}, {"retest_number": "-1"}, {"retest_days": "x"}):
        assert client.post(page, sent | wrong).status_code == 400


def test_a_hidden_repeat_of_an_own_item_is_no_retest(bespoke, judged, ann):
    hidden = hidden_checks.Rates(pass_mark=0, gold_every=0, repeat_every=1)
    checks.set_rates(bespoke, hidden, by=None)
    Participation.objects.update(next_repeat=0)
    item = judge_again(bespoke, ann, 3)
    assert item.batch.purpose == REPEAT
    ask_again(bespoke, retest_number=1, retest_days=0)
    assert hidden_checks.retests_due(ann.pk, bespoke.pk) == 1
    board = board_of(bespoke, "score")
    assert "Nobody has judged an own item twice" in figure_of(board, "retest").reason
    judge_again(bespoke, ann, 3)
    assert figure_of(board_of(bespoke, "score"), "retest").votes == 1
