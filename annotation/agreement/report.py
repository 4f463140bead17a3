"""The agreement report of a set of votes, in the contract's form."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from annotation.agreement.statistics import correlation, kappas, krippendorff
from annotation.agreement.statistics.bootstrap import resampled, weighted_kappas
from annotation.agreement.statistics.coefficient import undefined, with_resamples
from annotation.agreement.statistics.kappas import Patterns
from annotation.agreement.statistics.numbers import numbers_report
from annotation.votes.table import Votes, VotesError, categories, number

RESAMPLES = 1000
# What a stored report holds; another number makes every result due again.
CONTENTS = 2


def agreement_report(
    votes: Votes,
    level: str = "nominal",
    declared: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
) -> dict[str, Any]:
    """Every coefficient of section 3 of the contract for ``votes``.

    ``level`` is the scale of the labels, ``declared`` all possible labels, ``resamples`` the
    bootstrap draws over items (0 for none). Raises VotesError for labels the level cannot take.
    """
    category, labels = categories(votes, level, declared)
    values = None if level == "nominal" else labels

    try:
        counts = kappas.count_votes(votes.task, category, len(votes.tasks), len(labels))
    except ValueError as error:
        raise VotesError(f"{votes.where(0)}: {error}") from error
    patterns = kappas.patterns_of(counts)
    return {
        **counts_report(patterns, len(votes.workers), labels),
        **coefficients(patterns, level, values, resamples),
        "cohen_kappa": cohen_report(votes, category, labels, values),
        "icc": icc_report(votes, category, patterns, values),
    }


def report_of_numbers(votes: Votes, resamples: int = RESAMPLES) -> dict[str, Any]:
    """``agreement_report`` without what treats numbers as classes; VotesError for what is none."""
    categories(votes, "interval")
    value = np.array([number(label) for label in votes.labels])[votes.label]
    return numbers_report(votes.task, votes.worker, value, resamples)


def counts_report(patterns: Patterns, workers: int, labels: Sequence) -> dict[str, Any]:
    """How much there is: items, and of them those with two votes; votes, workers, categories."""
    return {
        "items": patterns.items,
        "paired_items": patterns.paired.items,
        "votes": int(patterns.totals.sum()),
        "workers": workers,
        "votes_per_item": kappas.votes_per_item(np.repeat(patterns.votes, patterns.weight)),
        "categories": list(labels),
    }


def coefficients(
    patterns: Patterns,
    level: str = "nominal",
    values: Sequence | None = None,
    resamples: int = RESAMPLES,
) -> dict[str, dict]:
    """Percent agreement, the kappas and alpha from vote patterns alone.

    ``values`` are the categories' numbers from ordinal level on. With ``resamples`` the kappas
    carry their percentile interval over items as ``bootstrap`` beside the analytic one.
    """
    coefficients = {
        "percent_agreement": kappas.percent_agreement(patterns),
        "fleiss_kappa": kappas.fleiss_kappa(patterns),
        "symmetric_kappa": kappas.symmetric_kappa(patterns),
        "brennan_prediger": kappas.brennan_prediger(patterns),
        "gwet_ac1": kappas.gwet_ac1(patterns),
    }
    levels = kappas.LEVELS[: kappas.LEVELS.index(level) + 1]
    drawn = _drawn(patterns, levels, values, resamples)
    out: dict[str, dict[str, Any]] = {
        name: coefficient.as_json() for name, coefficient in coefficients.items()
    }
    for name, coefficient in coefficients.items():
        if drawn and coefficient.value is not None:
            limits = with_resamples(coefficient.value, drawn[name])
            out[name]["bootstrap"] = {
                "resamples": resamples, "low": limits.low, "high": limits.high,
            }  # fmt: skip
    needs_numbers = undefined("quadratic weights need ordinal level or higher")
    ac2 = needs_numbers if values is None else kappas.gwet_ac2(patterns, values)
    alphas = {
        level: krippendorff.with_draws(patterns, level, values, drawn.get(level)).as_json()
        for level in levels
    }
    return {**out, "gwet_ac2": ac2.as_json(), "krippendorff_alpha": alphas}


def _drawn(
    patterns: Patterns, levels: Sequence[str], values: Sequence | None, resamples: int
) -> dict[str, np.ndarray]:
    """The kappas and every level's alpha of the same resamples; {} where there are none."""
    if not resamples or patterns.paired.items < 2:
        return {}
    levels = [level for level in levels if not krippendorff.fault(patterns, level, values)]

    def compute(weights: np.ndarray) -> dict[str, np.ndarray]:
        alphas = {x: krippendorff.alphas(patterns, weights, x, values) for x in levels}
        return {**weighted_kappas(patterns, weights), **alphas}

    return resampled(patterns, compute, resamples)


def cohen_report(
    votes: Votes, category: np.ndarray, labels: Sequence, values: Sequence | None
) -> dict:
    """Cohen's kappa of all annotator pairs with shared items, and their mean."""
    try:
        tables = kappas.confusions(
            votes.task, votes.worker, category, len(votes.workers), len(labels)
        )
    except ValueError as error:
        return {"pairs": [], "mean": None, "reason": str(error)}
    columns: dict[str, Any] = kappas.cohen_table(tables, values)
    defined = columns["value"][np.isfinite(columns["value"])]
    cells: dict[str, list[Any]] = {
        name: [None] * len(tables.n) if column is None else _without_nan(column)
        for name, column in columns.items()
    }
    for side in ("a", "b"):
        cells[side] = [votes.workers[code] for code in cells[side]]
    pairs = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    out = {"pairs": pairs, "mean": None}
    if defined.size:
        return {**out, "mean": float(defined.mean())}
    reason = "no two annotators share an item"
    if len(tables.n):
        reason = "both annotators of every pair used one and the same category"
    return {**out, "reason": reason}


def _without_nan(column: np.ndarray) -> list:
    return [None if number != number else number for number in column.tolist()]


def icc_report(
    votes: Votes, category: np.ndarray, patterns: Patterns, values: Sequence | None
) -> dict[str, dict]:
    """The six intraclass correlations, or why there are none."""
    if values is None:
        reason = undefined("scores are needed: ordinal level or higher").as_json()
        return dict.fromkeys(correlation.FORMS, reason)
    raters = None
    if len(votes) == len(votes.tasks) * len(votes.workers) and len(votes.workers) > 1:
        raters = kappas.count_votes(votes.worker, category, len(votes.workers), len(values))
    sums = correlation.sums_of_patterns(patterns, values, raters)
    return {name: coefficient.as_json() for name, coefficient in correlation.icc(sums).items()}
