"""People's choices against scores of the answers, and against keys that nobody is shown.

Scores are whoever's, keys of imported items experts' labels. One *pair* is the chosen answer of an
item and one it won against, with the difference of their scores. Every pair counts in both orders,
so the order in which answers are stored does not matter: with d the differences, Pearson's
correlation of ±d with ±1 is Σd / √(N·Σd²), and tau-b is that of the doubled rows.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from uuid import UUID

import numpy as np
from django.core.cache import cache
from django.db.models import Count, Max
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from numpy.typing import ArrayLike

from annotation.agreement.models import ItemTier
from annotation.agreement.statistics.bootstrap import resampled_weights
from annotation.agreement.statistics.coefficient import (
    Coefficient,
    undefined,
    wilson,
    with_resamples,
)
from annotation.agreement.statistics.kappas import patterns_of
from annotation.agreement.statistics.prediction_powered import Votes, mean
from annotation.agreement.statistics.tiers import TIERS
from annotation.agreement.summary import Figure
from annotation.agreement.wording import tier_name, translated
from annotation.candidates.models import AspectScore
from annotation.core import charts
from annotation.core.charts import Dot
from annotation.core.sql import among
from annotation.core.words import titled
from annotation.judging.models import Item, ItemOption
from annotation.questions.base import Measure
from annotation.studies.models import Study, TaskDefinition
from annotation.votes import counting
from annotation.votes.stored import candidates_of, read, read_judgments

MAX_CELLS = 50_000_000
CHUNK_CELLS = 1_000_000
FEW_VALUES = 64
NO_PAIR_SCORED = "no pair has both of its scores"
NEVER_DIFFER = "the two scores of every pair are equal"
NO_DRAWS = "no interval: it was not asked for, or there are too many different scores"
# Points of a scale that names none.
POINTS = 5
ALL = "all"
CHOICE = "choice"
CACHED_SECONDS = 3600
# How the rows of people are called; models have their names.
VOTES, MAJORITY = "votes", "majority"


@dataclass(frozen=True)
class Rating:
    """How an aspect's scores go with the choices.

    ``items`` and ``pairs`` are what it was computed from, ``equal`` the pairs with equal scores.
    ``accuracy`` is the share of pairs in which the chosen answer has the higher score, equal ones
    counted as half; ``pearson`` and ``tau_b`` are correlations of score and choice.
    """

    items: int
    pairs: int
    equal: int
    accuracy: Coefficient
    pearson: Coefficient
    tau_b: Coefficient


def rate(item: ArrayLike, difference: ArrayLike, resamples: int = 1000) -> Rating:
    """Rating of pairs: codes of their ``item`` from 0, and ``difference`` chosen minus other score.

    Intervals are percentiles over ``resamples`` draws of items; pairs of one item stay together.
    There is none where draws times different values are more than MAX_CELLS.
    """
    item, difference = np.asarray(item), np.asarray(difference, dtype=float)
    if not len(difference):
        nothing = undefined(NO_PAIR_SCORED)
        return Rating(0, 0, 0, nothing, nothing, nothing)
    items, item = np.unique(item, return_inverse=True)
    # The values rise and mirror one another: the other order of a pair has the mirrored place.
    values = np.unique(np.concatenate([difference, -difference]))
    place = np.searchsorted(values, difference)
    estimates = _statistics(np.bincount(place, minlength=len(values))[None, :], values)
    draws: Sequence[np.ndarray | tuple] = [()] * len(estimates)
    if resamples and resamples * len(values) <= MAX_CELLS:
        draws = _draws(item, place, len(items), values, resamples)
    coefficients = (_coefficient(*both) for both in zip(estimates, draws, strict=True))
    equal = int(np.count_nonzero(difference == 0))
    return Rating(len(items), len(difference), equal, *coefficients)


def correlation(first: ArrayLike, second: ArrayLike) -> Coefficient:
    """Pearson's correlation of two aspects' differences of the same pairs, both orders counted."""
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if not len(first):
        return undefined(NO_PAIR_SCORED)
    lengths = np.linalg.norm(first) * np.linalg.norm(second)
    if not lengths:
        return undefined(NEVER_DIFFER)
    return Coefficient(float(np.clip(first @ second / lengths, -1, 1)))


def _coefficient(value: np.ndarray, draws: np.ndarray | tuple) -> Coefficient:
    if np.isnan(value[0]):
        return undefined(NEVER_DIFFER)
    return with_resamples(value[0], draws, NO_DRAWS)


def _draws(
    item: np.ndarray, place: np.ndarray, items: int, values: np.ndarray, resamples: int
) -> list[np.ndarray]:
    """The three statistics of every resample of items."""
    weight, owner, times = np.ones(items, dtype=np.int64), item, np.ones(len(item), dtype=np.int64)
    if len(values) <= FEW_VALUES:
        # Items with equal differences are one pattern, so the cost does not grow with the items.
        cells = np.bincount(item * len(values) + place, minlength=items * len(values))
        patterns = patterns_of(cells.reshape(items, len(values)))
        owner, place = np.nonzero(patterns.counts)
        weight, times = patterns.weight, patterns.counts[owner, place]

    def counts(row: np.ndarray) -> np.ndarray:
        return np.bincount(place, weights=row[owner] * times, minlength=len(values))

    blocks = [
        _statistics(np.stack([counts(row) for row in rows]), values)
        for block in resampled_weights(weight, resamples)
        for rows in np.array_split(block, -(-len(block) * len(values) // CHUNK_CELLS))
    ]
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]


def _statistics(
    counts: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Accuracy, Pearson and tau-b of each row of ``counts`` of pairs by difference ``values``.

    NaN for correlations where all differences are 0.
    """
    n = counts.sum(axis=1)
    above, equal = counts[:, values > 0].sum(axis=1), counts[:, values == 0].sum(axis=1)
    squares = counts @ values**2
    pearson = _ratio(counts @ values, np.sqrt(n * squares), squares > 0)
    # Rows of choice +1 lie at their value, those of -1 at its mirror image.
    mirrored = counts[:, ::-1]
    lower = np.cumsum(mirrored, axis=1) - mirrored
    balance = (counts * (2 * lower + mirrored - n[:, None])).sum(axis=1)
    column = counts + mirrored
    tied = (column * (column - 1) / 2).sum(axis=1)
    untied = n * (2 * n - 1) - tied
    tau_b = _ratio(balance, n * np.sqrt(untied), untied > 0)
    return (above + equal / 2) / n, pearson, tau_b


def _ratio(top: np.ndarray, bottom: np.ndarray, where: np.ndarray) -> np.ndarray:
    return np.divide(top, bottom, out=np.full(len(top), np.nan), where=where)


def scores(study: Study) -> dict[tuple[str, str], dict]:
    """{(source, aspect): {candidate's id: score}} of every score an answer of the study has.

    Imported scores have the source they were imported with; people's are the mean of those who
    judged the answer, and each of their tasks is a source.
    """
    scores = defaultdict(dict)
    fields = ("source", "aspect", "candidate_id", "score")
    imported = AspectScore.objects.filter(candidate__study=study).order_by(*fields[:2])
    for source, aspect, candidate, score in imported.values_list(*fields).iterator(20_000):
        scores[source or _("imported"), aspect][candidate] = score
    for task in counting.scored_tasks(study):
        source = _("people (%(task)s)") % {"task": titled(task.name)}
        for measure in counting.measures_of(task):
            if means := _means(task, measure):
                scores[source, measure.name] = means
    return dict(sorted(scores.items()))


def _means(task: TaskDefinition, measure: Measure) -> dict:
    """{candidate's id: the mean of people's scores of it}, of each time that it was shown."""
    votes = read(task, measure)
    value = np.array([float(label) for label in votes.labels])[votes.label]
    shown = candidates_of(task.study, votes.item, "pk")
    values = defaultdict(list)
    for item, option, score in zip(votes.item, votes.option, value.tolist(), strict=True):
        if (item, option) in shown:
            values[shown[item, option][0]].append(score)
    return {candidate: sum(scores) / len(scores) for candidate, scores in values.items()}


@dataclass(frozen=True)
class Pairs:
    """Pairs of answers of one task: the one that won its item, and one that it won against.

    Codes of the ``item`` from 0 and names of its ``tier`` (pairs,); ids of the candidates.
    """

    item: np.ndarray
    tier: np.ndarray
    chosen: list
    other: list

    def differences(self, scores: dict) -> tuple[np.ndarray, np.ndarray]:
        """Places of the pairs whose two answers have a score in ``given``; chosen minus other."""
        rows = [
            (n, scores[first] - scores[second])
            for n, (first, second) in enumerate(zip(self.chosen, self.other, strict=True))
            if first in scores and second in scores
        ]
        places, difference = np.array(rows, dtype=float).reshape(-1, 2).T
        return places.astype(int), difference


def decided_pairs(study: Study, task: str) -> Pairs:
    """Pairs of every item with a winner, as last recomputed: the winner with each other answer."""
    won = ItemTier.objects.filter(item__in=counting.items(study, task)).exclude(winner=None)
    options = ItemOption.objects.filter(item__in=won.values("item"))
    fields = ("item__position", "item__tier__tier", "item__tier__winner", "number", "candidate_id")
    rows = options.order_by("item__position", "number").values_list(*fields).iterator(20_000)
    pairs = []
    for place, (_position, answers) in enumerate(groupby(rows, key=itemgetter(0))):
        shown = list(answers)
        (chosen,) = (candidate for *_, winner, number, candidate in shown if number == winner)
        pairs += [(place, tier, chosen, candidate)
                  for _, tier, winner, number, candidate in shown if number != winner]  # fmt: skip
    items, tiers, chosen, other = zip(*pairs, strict=True) if pairs else [()] * 4
    return Pairs(np.array(items, dtype=int), np.array(tiers, dtype=str), list(chosen), list(other))


@dataclass(frozen=True)
class Rated:
    """``table`` {(source, aspect, tier): Rating}, ``matrix`` {(source, one, other): Coefficient}.

    In the matrix "choice" stands beside the aspects.
    """

    table: dict
    matrix: dict

    @property
    def sources(self) -> dict[str, list[str]]:
        """Aspects of every source, in order."""
        aspects = {}
        for source, aspect, tier in self.table:
            if tier == ALL:
                aspects.setdefault(source, []).append(aspect)
        return aspects


def rated(study: Study, task: str) -> Rated:
    """How the scores of the study's answers go with the choices of a task.

    Computed once for each recomputation and each change of the scores.
    """
    aspect_scores = AspectScore.objects.filter(candidate__study=study)
    people = (counting.changes(study), counting.withdrawn_from(study))
    result = study.agreement_results.filter(task=task).values_list("digest", flat=True).first()
    imported = aspect_scores.aggregate(n=Count("pk"), last=Max("pk"))
    state = (result, imported, people, get_language())
    key = f"ratings/{study.pk}/{task}"
    cached = cache.get(key)
    if cached is None or cached[0] != state:
        cached = (state, _rated(decided_pairs(study, task), scores(study)))
        cache.set(key, cached, CACHED_SECONDS)
    return cached[1]


def _rated(pairs: Pairs, scores: dict) -> Rated:
    table, differences = {}, {}
    for (source, aspect), of_answers in scores.items():
        places, difference = differences[source, aspect] = pairs.differences(of_answers)
        if not len(places):
            continue
        item, tier = pairs.item[places], pairs.tier[places]
        for name in (ALL, *TIERS):
            in_tier = np.ones(len(tier), dtype=bool) if name == ALL else tier == name
            if in_tier.any():
                rating = rate(item[in_tier], difference[in_tier])
                table[source, aspect, name] = rating
    return Rated(table, _matrix(table, differences))


def _matrix(table: dict, differences: dict) -> dict:
    matrix = {}
    for source, aspect, tier in table:
        if tier != ALL:
            continue
        matrix[source, CHOICE, aspect] = table[source, aspect, ALL].pearson
        places, difference = differences[source, aspect]
        for (whose, other), (others, other_difference) in differences.items():
            if whose == source and other < aspect and len(others):
                _both, ours, same = np.intersect1d(places, others, return_indices=True)
                together = correlation(other_difference[same], difference[ours])
                matrix[source, other, aspect] = together
    return matrix


def any_scores(study: Study) -> bool:
    """Whether an answer of the study has a score of some source."""
    imported = AspectScore.objects.filter(candidate__study=study)
    names = [task.name for task in counting.scored_tasks(study)]
    scored = study.batches.filter(task__name__in=names)
    judged = Item.objects.work().filter(batch__in=list(scored), done__gt=0)
    return imported.exists() or judged.exists()


@dataclass(frozen=True)
class Compared:
    """How often ``who`` (VOTES, MAJORITY or a model) gave the label of ``key``, of ``n``."""

    key: str
    who: str
    right: Coefficient
    n: int


def compared(study: Study, task: str) -> list[Compared]:
    """Each key of the task's items with the votes, their majority and every model.

    A majority is one label with more votes than any other; items without one are not counted. Once
    people judged some items, models are compared on these alone.
    """
    rows = Item.objects.work().filter(study=study, batch__task__name=task).exclude(keys={})
    keys = dict(rows.values_list("pk", "keys"))
    if not keys:
        return []
    labels: dict[UUID, list[tuple[int, str]]] = defaultdict(list)
    newest = study.tasks.filter(name=task).order_by("-version").first()
    primary = next(iter(counting.measures_of(newest)), None) if newest else None
    if newest and primary and primary.level != "ranks":
        asked = counting.votes_of(newest).filter(among("slot__item", keys))
        votes = read_judgments(asked, primary)
        ids = dict(study.items.filter(pk__in=keys).values_list("position", "pk"))
        # Of what is about single answers an item has no one label.
        rows_of = zip(votes.item, votes.option, votes.rater, votes.label, strict=True)
        for item, option, rater, label in rows_of:
            if not option:
                labels[ids[item]].append((rater, votes.labels[label]))
    by_source = {
        VOTES: dict(labels),
        MAJORITY: {item: _leading([label for _id, label in row]) for item, row in labels.items()},
    }
    # Of models what people are asked first, too: another question has labels of its own.
    question = primary.name if primary else ""
    verdicts = rows.filter(verdicts__question=question, verdicts__option=None)
    columns = verdicts.values_list("pk", "verdicts__model", "verdicts__label")
    for item, model, label in columns.order_by("verdicts__model"):
        if not labels or item in labels:
            by_source.setdefault(model, {})[item] = [(0, label)]
    names = dict.fromkeys(name for row in keys.values() for name in row)
    return [
        made
        for name in names
        for who in by_source
        if (made := _share(name, who, keys, by_source[who])).n
    ]


def _leading(labels: list[str]) -> list[tuple[int, str]]:
    """The label with the most votes; none where several have as many."""
    first, *others = Counter(labels).most_common(2)
    return [] if others and others[0][1] == first[1] else [(0, first[0])]


def _share(key: str, who: str, keys: dict, by_source: dict) -> Compared:
    """With Wilson's interval; that of single votes knows which share an item or a rater."""
    answers = [
        (place, rater, str(label) == str(keys[item][key]))
        for place, (item, labels) in enumerate(by_source.items())
        if key in keys[item]
        for rater, label in labels
    ]
    item, rater, right = np.array(answers, dtype=int).reshape(-1, 3).T
    if who == VOTES:
        # Each judgment counts alike: an item as often as it was judged.
        counts = np.maximum(np.bincount(item, minlength=len(by_source)), 1)
        predicted = np.full(len(by_source), np.nan)
        votes = Votes(item, rater, right.astype(float), predicted, 1 / counts)
        return Compared(key, who, mean(votes, low=0.0, high=1.0).people, len(answers))
    return Compared(key, who, wilson(int(right.sum()), len(answers)), len(answers))


def rating_figures(ratings: Rated) -> list[Figure]:
    """Tables and charts of ``rated``: two for each source."""
    return [
        make(ratings, source, f"{key}-{place}")
        for place, source in enumerate(ratings.sources, start=1)
        for key, make in (("scores", _accuracies), ("aspects", _aspects))
    ]


def _accuracies(ratings: Rated, source: str, key: str) -> Figure:
    title = _("Accuracy: %(source)s") % {"source": source}
    lead = _("Share of pairs in which the chosen answer has the higher score; 0.5 is a coin.")
    how = _(
        "A pair is the answer that won its item by the tier rule, and one that it won against. "
        "Accuracy: the share of pairs whose winner has the higher score; equal scores count as "
        "half. Pearson and tau-b: the difference of the two scores against the choice, each pair "
        "in both orders. Intervals are percentiles over 1,000 resamples of items."
    )
    header: tuple[str, ...] = (_("Aspect"), _("Tier"), _("Items"), _("Pairs"), _("Equal scores"))
    for name in (_("Accuracy"), _("Pearson"), _("tau-b")):
        header += (name, _("low"), _("high"))
    rows, marks = [], []
    for aspect, tier, rating in _of(ratings, source):
        limits = (*rating.accuracy.limits, *rating.pearson.limits, *rating.tau_b.limits)
        reason = translated(rating.pearson.reason or rating.accuracy.reason)
        name = _("all") if tier == ALL else tier_name(tier)
        rows.append((aspect, name, rating.items, rating.pairs, rating.equal, *limits, reason))
        if tier == ALL:
            marks.append(Dot(aspect, *rating.accuracy.limits))
    axes = (_("Accuracy (share of pairs)"), _("Aspect"))
    figure = Figure(key, title, lead, how, (*header, _("Reason")), rows)
    svg = figure.draw(charts.dots, marks, reference=0.5, axes=axes)
    return replace(figure, svg=svg, items=_items(ratings, source))


def _aspects(ratings: Rated, source: str, key: str) -> Figure:
    title = _("Aspects among one another: %(source)s") % {"source": source}
    lead = _("Correlations of the differences of scores, and with the choice.")
    how = _(
        "Pearson's correlation of the differences of two aspects' scores, on the pairs that have "
        "both; each pair in both orders."
    )
    names, rows, cells = [CHOICE, *ratings.sources[source]], [], {}
    for (whose, left, right), coefficient in ratings.matrix.items():
        if whose == source:
            cells[names.index(right), names.index(left)] = coefficient.value
            label = _("choice") if left == CHOICE else left
            rows.append((label, right, coefficient.value, translated(coefficient.reason)))
    names[0] = _("choice")
    svg = charts.heat((key, title, lead), names, cells, axes=(_("Aspect, by number"), _("Aspect")))
    header: tuple[str, ...] = (_("Aspect"), _("and"), _("Pearson"), _("Reason"))
    return Figure(key, title, lead, how, header, rows, svg, items=_items(ratings, source))


def _of(ratings: Rated, source: str) -> list[tuple]:
    """(aspect, tier, Rating) of everything rated of one source."""
    return [(key[1], key[2], rating) for key, rating in ratings.table.items() if key[0] == source]


def _items(ratings: Rated, source: str) -> int:
    return max(rating.items for _a, _t, rating in _of(ratings, source))
