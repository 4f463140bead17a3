"""Numbers between bounds: they come out as they went in, and what does not fit is told in words."""

import numpy as np
import pytest

from annotation.agreement.figures import numbers_figure
from annotation.agreement.statistics import correlation, kappas, krippendorff
from annotation.agreement.statistics.numbers import numbers_report
from annotation.agreement.summary import Figure
from annotation.core.errors import DomainError
from annotation.questions import questions_of
from annotation.questions.base import Options

OPTIONS = Options({1: "own"}, order=(1,))


def number(**settings):
    return questions_of([{"type": "number", "name": "quality"} | settings], 1)[0]


@pytest.mark.parametrize(
    ("sent", "label", "value"),
    [(73.5, "73.5", 73.5), ("73,5", "73.5", 73.5), ("80.0", "80", 80), (0, "0", 0),
     (" 100 ", "100", 100), (-0.0, "0", 0)],
)  # fmt: skip
def test_a_number_comes_out_as_it_went_in(sent, label, value):
    question = number(step=0.5)
    (row,) = question.read(sent, OPTIONS, [None])
    assert (row.label, row.value, question.value(row, {})) == (label, None, value)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ("73,25", "“quality”: 73,25 is between two steps: from 0 on, go by 0.5."),
        (73.2, "“quality”: 73.2 is between two steps: from 0 on, go by 0.5."),
        ("104", "“quality”: 104 is not between 0 and 100."),
        (-1, "“quality”: -1 is not between 0 and 100."),
        ("1,000", "“quality”: “1,000” is no number: write one from 0 to 100."),
        (True, "“quality”: “True” is no number: write one from 0 to 100."),
        (10**400, None),
    ],
)
def test_what_fits_no_step_or_bound_is_refused_in_words(sent, words):
    with pytest.raises(DomainError) as refusal:
        number(step=0.5).read(sent, OPTIONS, [None])
    assert words is None or refusal.value.sentence == words


@pytest.mark.parametrize(
    "bounds",
    [{"minimum": 5, "maximum": 5}, {"step": 0.3}, {"step": 0.01}, {"ends": ["bad"]}],
)  # fmt: skip
def test_bounds_without_whole_steps_are_refused(bounds):
    with pytest.raises(DomainError, match="quality"):
        number(**bounds)


def test_every_step_is_a_label_and_none_is_counted_on_an_item():
    question = number(minimum=-1, maximum=1, step=0.5)
    assert question.labels(0) == ["-1", "-0.5", "0", "0.5", "1"]
    (measure,) = question.measures(0)
    assert (measure.level, measure.is_one_label) == ("interval", False)


def test_a_check_takes_a_number_within_the_tolerance_for_right():
    question = number(step=0.5, tolerance=2)
    assert [question.agrees(label, "73.5") for label in ("71.5", "75.5", "76", None)] == [
        True, True, False, False,
    ]  # fmt: skip


def test_agreement_from_sums_is_that_of_the_table_of_all_numbers():
    rng = np.random.default_rng(1)
    item, rater = np.repeat(np.arange(40), 3), np.tile(np.arange(3), 40)
    value = np.clip(rng.normal(50, 20, 40)[item] + rng.normal(0, 15, 120), 0, 100).astype(int)
    patterns = kappas.patterns_of(kappas.count_votes(item, value, 40, 101))
    raters = kappas.count_votes(rater, value, 3, 101)
    report = numbers_report(item, rater, value, resamples=0)
    alpha = krippendorff.alpha(patterns, "interval", range(101), resamples=0)
    icc = correlation.icc(correlation.sums_of_patterns(patterns, range(101), raters))
    assert report["krippendorff_alpha"]["interval"]["value"] == pytest.approx(alpha.value)
    assert report["icc"]["icc2"]["value"] == pytest.approx(icc["icc2"].value)


def test_how_numbers_spread_is_told_from_how_often_each_was_given():
    answered = ("quality", ("0", "10", "20", "90"), [0, 3, 1, 1])
    (row,) = numbers_figure(Figure("answers", "", "", ""), [answered]).rows
    name, n, mean, spread, *ends = row
    assert (name, n, mean, ends) == ("quality", 5, 28, [10, 10, 10, 20, 90])
    assert spread == pytest.approx(34.928498)
