"""Test-retest reliability: what owners say of their own items when they judge them once more."""

from collections import defaultdict

import numpy as np
from django.utils.translation import gettext as _

from annotation.agreement.figures.board import About
from annotation.agreement.statistics.coefficient import (
    Coefficient,
    undefined,
    with_normal_interval,
)
from annotation.agreement.statistics.cohen import cohen, confusion_of_two
from annotation.agreement.statistics.icc import icc, sums_of_table
from annotation.agreement.task_votes import TaskVotes
from annotation.core import charts
from annotation.judging.models import Batch
from annotation.judging.work import hidden_checks

Pairs = list[tuple[object, object]]


def retest(board: TaskVotes, about: About) -> dict:
    """Reliability of each criterion of scores, else of the answer, with interval and pairs."""
    second = {"slot__item__batch__task__name": board.task}
    outcomes = hidden_checks.outcomes(board.study, Batch.Purpose.REPEAT, **second)
    if not outcomes:
        return {"reason": _("Nobody has judged an own item twice yet.")}
    rows = [
        (name, measure, result.value, result.low, result.high, len(pairs), result.reason or "")
        for name, measure, result, pairs in _measured(board, outcomes)
    ]
    dots = [charts.Dot(row[0], *row[2:5]) for row in rows if row[2] is not None]
    axes = (rows[0][1], _("What was judged"))
    return {
        "header": (
            _("What was judged"), _("Measure"), _("Value"), _("Low"), _("High"), _("Pairs"),
            _("Note"),
        ),
        "rows": rows,
        "svg": about.draw(charts.dots, dots, reference=0, axes=axes) if dots else "",
        "votes": len(outcomes),
    }  # fmt: skip


def _measured(board: TaskVotes, outcomes: list) -> list[tuple[str, str, Coefficient, Pairs]]:
    if not isinstance(outcomes[0].label, dict):
        pairs: Pairs = [(row.expected, row.label) for row in outcomes]
        return [(_("Answer"), _("Cohen's kappa"), kappa_of(pairs), pairs)]
    by_criterion: dict[str, Pairs] = defaultdict(list)
    for row in outcomes:
        for place in row.expected.keys() & row.label.keys():
            criterion = place.rpartition("/")[2]
            by_criterion[criterion].append((row.expected[place], row.label[place]))
    names = dict.fromkeys(each.question for each in board.measures)
    return [_of_question(name, by_criterion[name]) for name in names if name in by_criterion]


def _of_question(name: str, pairs: Pairs) -> tuple[str, str, Coefficient, Pairs]:
    """Of scores the ICC, of words Cohen's kappa."""
    if all(type(value) is int for pair in pairs for value in pair):
        return _(name), "ICC(2,1)", icc_of(pairs), pairs
    return _(name), _("Cohen's kappa"), kappa_of(pairs), pairs


def icc_of(pairs: Pairs) -> Coefficient:
    """ICC(2,1) of (first, second) scores: absolute agreement of two occasions."""
    if len(pairs) < 2:
        return undefined("two pairs or more are needed")
    return icc(sums_of_table(np.array(pairs, dtype=float)))["icc2"]


def kappa_of(pairs: Pairs) -> Coefficient:
    """Cohen's kappa of (first, second) labels."""
    names = {label: code for code, label in enumerate(sorted({str(v) for p in pairs for v in p}))}
    first, second = ([names[str(pair[side])] for pair in pairs] for side in (0, 1))
    if len(names) < 2:
        return undefined("only one answer was given")
    value, se = (numbers[0] for numbers in cohen(confusion_of_two(first, second, len(names))))
    if not np.isfinite(value):
        return undefined("only one answer was given")
    return with_normal_interval(float(value), float(se))
