"""Scores as tables and charts: against choices, and by criterion."""

from collections import defaultdict
from typing import Any

import numpy as np
from django.utils.translation import gettext as _

from annotation.agreement import scoring
from annotation.agreement.figures.base import About, Figure
from annotation.agreement.scoring import ALL, CHOICE, POINTS
from annotation.agreement.statistics.bootstrap import over_groups
from annotation.agreement.tiers.rules import TIERS
from annotation.agreement.wording import tier_name, translated
from annotation.core import charts
from annotation.core.charts import Dot
from annotation.votes.stored import candidates_of

RESAMPLES = 1000


def rating_figures(ratings: scoring.Rated) -> list[Figure]:
    """Tables and charts of ``scoring.rated``: three for each source."""
    return [
        make(ratings, source, f"{key}-{place}")
        for place, source in enumerate(ratings.sources, start=1)
        for key, make in (("scores", _accuracies), ("tiers", _tiers), ("aspects", _aspects))
    ]


def _accuracies(ratings: scoring.Rated, source: str, key: str) -> Figure:
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
        shown = (rating.accuracy, rating.pearson, rating.tau_b)
        numbers = [number for c in shown for number in (c.value, c.low, c.high)]
        reason = translated(rating.pearson.reason or rating.accuracy.reason)
        rows.append(
            (aspect, _tier(tier), rating.items, rating.pairs, rating.equal, *numbers, reason)
        )
        if tier == ALL:
            marks.append(Dot(aspect, *numbers[:3]))
    svg = charts.dots(
        (key, title, lead), marks, reference=0.5, axes=(_("Accuracy (share of pairs)"), _("Aspect"))
    )
    header += (_("Reason"),)
    return Figure(key, title, lead, how, header, rows, svg, items=_items(ratings, source))


def _tiers(ratings: scoring.Rated, source: str, key: str) -> Figure:
    title = _("Aspects by tier: %(source)s") % {"source": source}
    lead = _("Correlation of each aspect with the choice, in each tier.")
    how = _("Pearson's correlation of the difference of two scores with the choice, as above.")
    aspects, rated = ratings.sources[source], _of(ratings, source)
    tiers = [
        tier for tier in (ALL, *TIERS) if any(tier == rated_tier for _a, rated_tier, _r in rated)
    ]
    cells = {
        (aspects.index(aspect), tiers.index(tier)): rating.pearson.value
        for aspect, tier, rating in rated
    }
    heads = [_tier(tier) for tier in tiers]
    svg = charts.grid((key, title, lead), aspects, heads, cells, axes=(_("Tier"), _("Aspect")))
    rows = [
        (name, *(cells.get((row, column)) for column in range(len(heads))))
        for row, name in enumerate(aspects)
    ]
    header: tuple[str, ...] = (_("Aspect"), *heads)
    return Figure(key, title, lead, how, header, rows, svg, items=_items(ratings, source))


def _aspects(ratings: scoring.Rated, source: str, key: str) -> Figure:
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


def _of(ratings: scoring.Rated, source: str) -> list[tuple]:
    """(aspect, tier, Rating) of everything rated of one source."""
    return [(key[1], key[2], rating) for key, rating in ratings.table.items() if key[0] == source]


def _items(ratings: scoring.Rated, source: str) -> int:
    return max(rating.items for _a, _t, rating in _of(ratings, source))


def _tier(name: str) -> str:
    return _("all") if name == ALL else tier_name(name)


def spread_figure(counts: dict[str, list[int]]) -> dict:
    """How often each criterion got 1, 2, … up to the last point of the scale."""
    title, lead = _("How the scores spread"), _("Shares of the scores, and their mean.")
    how = _("A count of all scores that people gave.")
    scale = range(1, len(next(iter(counts.values()))) + 1)
    papers = len(scale) == POINTS
    if papers:
        how = _("A count of all scores that people gave. Mean × 20 puts the scale on 20 to 100.")
    rows, bars = [], []
    for criterion, numbers in counts.items():
        n = sum(numbers)
        mean = sum(score * count for score, count in zip(scale, numbers, strict=True)) / n
        rows.append((criterion, n, mean, *([20 * mean] if papers else []), *numbers))
        bars.append((criterion, numbers, f"{mean:.2f}"))
    axes = (_("Share of scores"), _("Criterion"))
    svg = charts.stacked(("answers", title, lead), bars, [*map(str, scale)], axes=axes)
    means = (_("Mean"), _("Mean × 20")) if papers else (_("Mean"),)
    header: tuple[str, ...] = (_("Criterion"), _("Scores"), *means, *map(str, scale))
    figure = {"title": title, "lead": lead, "how": how, "header": header}
    return figure | {"rows": rows, "svg": svg, "votes": sum(map(sum, counts.values()))}


def origin_means(board: Any, about: About) -> dict:
    """What people gave the answers of each strategy or model: mean, n and interval over people."""
    scored = board.scored
    sums = _sums(board, about.key)
    rows, marks = [], []
    for (name, criterion), given in sorted(sums.items()):
        n, total = np.array(given, dtype=float).T
        several = len(n) > 1

        def average(weight: np.ndarray, n: np.ndarray = n, total: np.ndarray = total) -> float:
            return float((weight @ total) / (weight @ n))

        value, low, high = over_groups(average, np.arange(len(n)), RESAMPLES if several else 1)
        bounds = (low, high) if several else (None, None)
        row = (name or _("not named"), *([_(criterion)] if scored else []))
        rows.append((*row, len(n), int(n.sum()), value, *bounds))
        marks.append(Dot(", ".join(row), value, *bounds))
    if not rows:
        return {"reason": _("There are no votes yet.")}
    first = _("Strategy") if about.key == "strategy_means" else _("Model")
    mean = _("Mean score") if scored else _("Mean preference")
    votes = _("Scores") if scored else _("Votes")
    header = (first, *([_("Criterion")] if scored else []), _("People"), votes)
    svg = about.draw(charts.dots, marks, reference=None if scored else 0.5, axes=(mean, first))
    return {"header": (*header, mean, _("low"), _("high")), "rows": rows, "svg": svg}


def _sums(board: Any, key: str) -> dict[tuple[str, str], list]:
    """{(strategy or model, criterion or ""): (how many values, their sum) of each person}.

    A preference's value is 1 where an answer is fully preferred, 0 where the other one is.
    """
    sums: dict[tuple[str, str], dict] = defaultdict(lambda: defaultdict(lambda: [0, 0.0]))
    for name, votes in board.answers.items():
        origins = candidates_of(board.study, votes.item, "strategy", "endpoint", "model")
        values = [float(label) for label in votes.labels]
        points = len(board.declared)
        for item, option, rater, label in zip(
            votes.item.tolist(), votes.option.tolist(), votes.rater.tolist(), votes.label.tolist(),
            strict=True,
        ):  # fmt: skip
            value = values[label]
            ahead = (points - value) / (points - 1)
            given = {option: value} if board.scored else {1: ahead, 2: 1 - ahead}
            for number, points_given in given.items():
                if (item, number) not in origins:
                    continue
                strategy, endpoint, model = origins[item, number]
                origin = strategy if key == "strategy_means" else endpoint or model
                cell = sums[origin or "", name][rater]
                cell[0] += 1
                cell[1] += points_given
    return {origin: list(people.values()) for origin, people in sums.items()}
