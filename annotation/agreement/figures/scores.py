"""Scores as tables and charts: against choices, and by criterion."""

from django.utils.translation import gettext as _

from annotation.agreement import scoring
from annotation.agreement.figures import charts
from annotation.agreement.figures.charts import Dot
from annotation.agreement.figures.dashboard import Figure
from annotation.agreement.figures.wording import said, tier_name
from annotation.agreement.scoring import ALL, CHOICE, SCALE
from annotation.agreement.tiers.rules import TIERS


def rating_figures(found) -> list[Figure]:
    """Tables and charts of ``scoring.rated``: three for each source."""
    return [
        make(found, source, f"{key}-{place}")
        for place, source in enumerate(found.sources, start=1)
        for key, make in (("scores", _accuracies), ("tiers", _tiers), ("aspects", _aspects))
    ]


def _accuracies(found, source, key) -> Figure:
    title = _("Accuracy: %(source)s") % {"source": source}
    lead = _("Share of pairs in which the chosen answer has the higher score; 0.5 is a coin.")
    how = _(
        "A pair is the answer that won its item by the tier rule, and one that it won against. "
        "Accuracy: the share of pairs whose winner has the higher score; equal scores count as "
        "half. Pearson and tau-b: the difference of the two scores against the choice, each pair "
        "in both orders. Intervals are percentiles over 1,000 resamples of items."
    )
    header = (_("Aspect"), _("Tier"), _("Items"), _("Pairs"), _("Equal scores"))
    for name in (_("Accuracy"), _("Pearson"), _("tau-b")):
        header += (name, _("low"), _("high"))
    rows, marks = [], []
    for aspect, tier, one in _of(found, source):
        shown = (one.accuracy, one.pearson, one.tau_b)
        numbers = [number for c in shown for number in (c.value, c.low, c.high)]
        reason = said(one.pearson.reason or one.accuracy.reason)
        rows.append((aspect, _tier(tier), one.items, one.pairs, one.equal, *numbers, reason))
        if tier == ALL:
            marks.append(Dot(aspect, *numbers[:3]))
    svg = charts.dots(
        key, title, lead, marks, reference=0.5, axes=(_("Accuracy (share of pairs)"), _("Aspect"))
    )
    header += (_("Reason"),)
    return Figure(key, title, lead, how, header, rows, svg, items=_items(found, source))


def _tiers(found, source, key) -> Figure:
    title = _("Aspects by tier: %(source)s") % {"source": source}
    lead = _("Correlation of each aspect with the choice, in each tier.")
    how = _("Pearson's correlation of the difference of two scores with the choice, as above.")
    aspects, rated = found.sources[source], _of(found, source)
    tiers = [tier for tier in (ALL, *TIERS) if any(tier == one for _a, one, _r in rated)]
    cells = {
        (aspects.index(aspect), tiers.index(tier)): one.pearson.value for aspect, tier, one in rated
    }
    heads = [_tier(tier) for tier in tiers]
    svg = charts.grid(key, title, lead, aspects, heads, cells, axes=(_("Tier"), _("Aspect")))
    rows = [
        (name, *(cells.get((row, column)) for column in range(len(heads))))
        for row, name in enumerate(aspects)
    ]
    header = (_("Aspect"), *heads)
    return Figure(key, title, lead, how, header, rows, svg, items=_items(found, source))


def _aspects(found, source, key) -> Figure:
    title = _("Aspects among one another: %(source)s") % {"source": source}
    lead = _("Correlations of the differences of scores, and with the choice.")
    how = _(
        "Pearson's correlation of the differences of two aspects' scores, on the pairs that have "
        "both; each pair in both orders."
    )
    names, rows, cells = [CHOICE, *found.sources[source]], [], {}
    for (whose, one, other), coefficient in found.matrix.items():
        if whose == source:
            cells[names.index(other), names.index(one)] = coefficient.value
            label = _("choice") if one == CHOICE else one
            rows.append((label, other, coefficient.value, said(coefficient.reason)))
    names[0] = _("choice")
    svg = charts.heat(key, title, lead, names, cells, axes=(_("Aspect, by number"), _("Aspect")))
    header = (_("Aspect"), _("and"), _("Pearson"), _("Reason"))
    return Figure(key, title, lead, how, header, rows, svg, items=_items(found, source))


def _of(found, source) -> list[tuple]:
    """(aspect, tier, Rating) of everything rated of one source."""
    return [(key[1], key[2], one) for key, one in found.table.items() if key[0] == source]


def _items(found, source) -> int:
    return max(one.items for _a, _t, one in _of(found, source))


def _tier(name: str) -> str:
    return _("all") if name == ALL else tier_name(name)


def spread_figure(study, task: str) -> Figure | None:
    """How the scores from 1 to 5 of a feedback task spread; None where there are none."""
    counts = scoring.spread(study, task)
    if not counts:
        return None
    title, lead = _("How the scores spread"), _("Shares of the scores from 1 to 5, and their mean.")
    how = _("A count of all scores that people gave. Mean × 20 puts the scale on 20 to 100.")
    rows, bars = [], []
    for criterion, given in counts.items():
        n = sum(given)
        mean = sum(score * count for score, count in zip(SCALE, given, strict=True)) / n
        rows.append((criterion, n, mean, 20 * mean, *given))
        bars.append((criterion, given, f"{mean:.2f}"))
    svg = charts.stacked(
        "answers",
        title,
        lead,
        bars,
        [str(score) for score in SCALE],
        axes=(_("Share of scores"), _("Criterion")),
    )
    header = (_("Criterion"), _("Scores"), _("Mean"), _("Mean × 20"), *map(str, SCALE))
    return Figure("answers", title, lead, how, header, rows, svg)
