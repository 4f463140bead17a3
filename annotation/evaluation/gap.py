"""How people and models judge the same items of a study, by the stages of papers' reports.

A model against the majority is not comparable with two people: the majority is less noisy than one
of them. So a model also takes the place of each of two annotators: it is compared with the other on
the items that both judged, and the difference to the two has an interval over items.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

import numpy as np
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from annotation.agreement.statistics import correlation
from annotation.agreement.statistics.bootstrap import resampled_weights
from annotation.agreement.statistics.coefficient import Coefficient, undefined, with_resamples
from annotation.core import charts, downloads
from annotation.datasets import papers
from annotation.studies.models import Study, TaskDefinition

PEOPLE, MODELS = "people", "models"


def of_study(study: Study) -> list[dict]:
    """A report for each task of a stage that has votes, paper by paper."""
    reports = (paper.report for paper in papers.registered().values() if paper.report)
    return [stage for report in reports for stage in report.stages(study)]


def units_of(kind: str) -> Any:
    """What tells the items behind the report on tasks of ``kind``; None where there is none.

    Its ``Wanted`` is a dataclass of texts, the parameters of the address, with ``words()``; its
    ``units(study, task, wanted)`` are the items, or VotesError where nobody voted.
    """
    found = (p.units for p in papers.registered().values() if p.units and kind in p.kinds)
    return next(found, None)


def as_json(study: Study) -> str:
    document = {"study": study.slug, "stages": of_study(study)}
    return json.dumps(document, default=_plain, ensure_ascii=False)


def _plain(value: object) -> object:
    if isinstance(value, TaskDefinition):
        return value.name
    if isinstance(value, Promise):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} has no JSON")


# --- A stage as files -----------------------------------------------------------------------------


def agreements(stage: dict) -> list[tuple[str, str, Coefficient]]:
    """(who with whom, ``who`` of its units, coefficient): people, models, model and person."""
    single = "kappa" if "spearman" in stage else "single"
    return [
        (_("Two people"), PEOPLE, stage["pairs"]),
        (_("Two models"), MODELS, stage["between_models"]),
        *(
            (_("%(model)s and a person") % model, model["model"], model[single])
            for model in stage["models"]
        ),
    ]


def chart(stage: dict) -> str:
    """Kappas with their intervals; "" where none is defined."""
    rows = [
        charts.Dot(who, kappa.value, kappa.low, kappa.high)
        for who, _of, kappa in agreements(stage)
        if kappa.value is not None
    ]
    if not rows:
        return ""
    title = _("Agreement of people and models")
    desc = _("Mean Cohen's kappa with 95 % intervals over items; the line is chance.")
    axes = (_("Cohen's kappa"), _("Who"))
    key = f"gap-{stage['task'].name}"
    return charts.dots((key, title, desc), rows, reference=0, axes=axes)


def measures(stage: dict) -> list[tuple]:
    """(measure, who, value, low, high, note) of all numbers of a stage."""
    rows = [("kappa", who, *_parts(kappa)) for who, _of, kappa in agreements(stage)]
    shares = [(PEOPLE, stage["people"]), *((m["model"], m["shares"]) for m in stage["models"])]
    for who, values in shares:
        for label, share in zip(stage["labels"], values, strict=True):
            rows.append((f"per cent {label}", who, share, None, None, ""))
    rows += [("judgments", PEOPLE, stage["n"], None, None, "")]
    for name in ("over_selection", "no_better", "mean_rating"):
        if name in stage:
            rows.append((name, PEOPLE, stage[name], None, None, ""))
        models = (model for model in stage["models"] if name in model)
        rows += [(name, model["model"], model[name], None, None, "") for model in models]
    for name in ("majority", "difference", "mean"):
        models = (model for model in stage["models"] if name in model)
        rows += [(name, model["model"], *_parts(model[name])) for model in models]
    if "spearman" in stage:
        rows.append(("spearman", PEOPLE, *_parts(stage["spearman"])))
    rows += [
        ("cause", str(row["words"]), row["share"], None, None, row["n"])
        for row in stage.get("causes", ())
    ]
    for measure, split in (("mention", "mentions"), ("change", "changes")):
        for row in stage.get(split, ()):
            for name in ("with", "without", "effect"):
                rows.append((f"{measure} {name}", str(row["who"]), row[name], None, None, ""))
    return rows


def _parts(result: Any) -> tuple:
    if isinstance(result, Coefficient):
        return result.value, result.low, result.high, ""
    return None, None, None, result.reason


def as_csv(stage: dict) -> str:
    head = ("task", "measure", "who", "value", "low", "high", "note")
    rows = ((stage["task"].name, *row) for row in measures(stage))
    return "".join(downloads.csv_lines([head, *rows]))


# --- Agreement of people and of models ------------------------------------------------------------

# Annotators with fewer items in common say little about each other.
SHARED = 20
RESAMPLES = 300
NO_PAIR = f"no two annotators share {SHARED} items"
NO_SHARED = f"no two annotators share {SHARED} items that the model judged"


@dataclass(frozen=True)
class CodedVotes:
    """People's votes, one row each: whole-number codes of item, worker and label.

    ``items`` and ``categories`` are how many there are.
    """

    item: np.ndarray
    worker: np.ndarray
    code: np.ndarray
    items: int
    categories: int


@dataclass(frozen=True)
class Rows:
    """Two labels of one item each: codes of the comparison, the item, and the two labels."""

    comparison: np.ndarray
    item: np.ndarray
    first: np.ndarray
    second: np.ndarray
    comparisons: int


def pairs(votes: CodedVotes, least: int = SHARED) -> Rows:
    """Every two annotators' labels of the items that both judged, ``least`` items or more."""
    order = np.lexsort((votes.worker, votes.item))
    item, worker, code = votes.item[order], votes.worker[order], votes.code[order]
    left, right = [], []
    # Votes of an item stand together: two that stand ``distance`` apart are a pair of one item.
    for distance in range(1, int(np.bincount(item, minlength=1).max())):
        at = np.flatnonzero(item[distance:] == item[:-distance])
        left.append(at)
        right.append(at + distance)
    earlier, later = (np.concatenate([np.zeros(0, int), *side]) for side in (left, right))
    name = worker[earlier] * (int(votes.worker.max(initial=0)) + 1) + worker[later]
    return _with_least(name, item[earlier], code[earlier], code[later], least)


def beside(people: Rows, model: np.ndarray) -> tuple[Rows, Rows]:
    """Two people's labels of the items that a model judged (``model`` (items,), -1 for none), and
    the model's with one of them, in the other's place: the same people on the same items.
    """
    there = model[people.item] >= 0
    first, second = people.first[there], people.second[there]
    same = _with_least(people.comparison[there], people.item[there], first, second, SHARED)
    item = np.concatenate([same.item, same.item])
    place = np.concatenate([2 * same.comparison, 2 * same.comparison + 1])
    other = np.concatenate([same.first, same.second])
    return same, Rows(place, item, model[item], other, 2 * same.comparisons)


def against_majority(votes: CodedVotes, model: np.ndarray) -> Rows:
    """A model's labels with what more than half of the people say, where they do."""
    most = majority(votes)
    item = np.flatnonzero((most >= 0) & (model >= 0))
    return _with_least(np.zeros(len(item), int), item, model[item], most[item], 1)


def majority(votes: CodedVotes) -> np.ndarray:
    """The label (items,) of more than half of an item's votes; -1 where there is none."""
    cell = votes.item * votes.categories + votes.code
    counts = np.bincount(cell, minlength=votes.items * votes.categories)
    counts = counts.reshape(votes.items, votes.categories)
    best = counts.argmax(axis=1)
    return np.where(2 * counts.max(axis=1) > counts.sum(axis=1), best, -1)


def kappas(rows: Rows, categories: int, weight: np.ndarray | None = None) -> np.ndarray:
    """Cohen's kappa of every comparison; NaN where chance explains all, or nothing is left.

    ``weight`` says how often each item counts (items,); None: once.
    """
    cells = categories * categories
    cell = rows.comparison * cells + rows.first * categories + rows.second
    weights = None if weight is None else weight[rows.item]
    tables = np.bincount(cell, weights, minlength=rows.comparisons * cells)
    tables = tables.reshape(rows.comparisons, categories, categories)
    n = tables.sum(axis=(1, 2))
    observed = np.trace(tables, axis1=1, axis2=2) * n
    chance = (tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1)
    blank = np.full(rows.comparisons, np.nan)
    return np.divide(observed - chance, n**2 - chance, out=blank, where=n**2 - chance > 1e-9)


def mean_kappa(rows: Rows, votes: CodedVotes, reason: str) -> Coefficient:
    """The mean Cohen's kappa of the comparisons, with its interval over items."""
    value = _mean(kappas(rows, votes.categories))
    if np.isnan(value):
        return undefined(reason)
    draws = [_mean(kappas(rows, votes.categories, w)) for w in _weights(votes.items)]
    return with_resamples(value, draws)


def difference(people: Rows, model: Rows, votes: CodedVotes) -> Coefficient:
    """Mean kappa of two people less that of the model and each of them, drawn over the same items.

    Two people of whom a kappa is undefined are left out on both sides.
    """

    def once(weight: np.ndarray | None = None) -> float:
        of_people, of_model = (kappas(rows, votes.categories, weight) for rows in (people, model))
        return _mean(of_people - of_model.reshape(-1, 2).mean(axis=1))

    value = once()
    if np.isnan(value):
        return undefined(NO_SHARED)
    return with_resamples(value, [once(weight) for weight in _weights(votes.items)])


def mean_spearman(rows: Rows, categories: int, reason: str) -> Coefficient:
    """The mean Spearman correlation of the comparisons, without an interval."""
    values = []
    for number in range(rows.comparisons):
        at = rows.comparison == number
        table = correlation.contingency(rows.first[at], rows.second[at], categories, categories)
        values.append(correlation.spearman(table).value)
    defined = [value for value in values if value is not None]
    return Coefficient(float(np.mean(defined))) if defined else undefined(reason)


def spearman_with_mean(votes: CodedVotes, model: np.ndarray) -> Coefficient:
    """Spearman of a model's ratings with the people's mean rating of an item, over items."""
    counts = np.bincount(votes.item, minlength=votes.items)
    sums = np.bincount(votes.item, votes.code, minlength=votes.items)
    item = np.flatnonzero((counts > 0) & (model >= 0))
    if len(item) < 2:
        return undefined("two items that both rated are needed")
    # Thirds and the like are equal only up to rounding.
    means, code = np.unique(np.round(sums[item] / counts[item], 9), return_inverse=True)
    shape = (len(means), votes.categories)
    row = np.arange(len(item))
    return correlation.item_bootstrap(
        row, code, model[item], shape, correlation.spearman, RESAMPLES
    )


def _with_least(
    name: np.ndarray, item: np.ndarray, first: np.ndarray, second: np.ndarray, least: int
) -> Rows:
    """Rows of the comparisons (any whole number) that have ``least`` items, renumbered."""
    names, code, size = np.unique(name, return_inverse=True, return_counts=True)
    keep = size >= least
    number = np.cumsum(keep) - 1
    at = keep[code] if len(names) else np.zeros(0, bool)
    return Rows(number[code[at]], item[at], first[at], second[at], int(keep.sum()))


def _weights(items: int) -> Iterator[np.ndarray]:
    for block in resampled_weights(np.ones(items, dtype=int), RESAMPLES):
        yield from block


def _mean(values: np.ndarray) -> float:
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if defined.size else float("nan")
