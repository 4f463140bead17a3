"""What is asked of a task's votes: how far it is, how well people agree, tiers, annotators."""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any, cast

import numpy as np
from django.template.defaultfilters import floatformat
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, gettext_noop, ngettext
from django.utils.translation import gettext as _

from annotation.agreement.board import Board
from annotation.agreement.models import AgreementResult
from annotation.agreement.statistics import kappas
from annotation.agreement.statistics import raters as rater_signs
from annotation.agreement.statistics.coefficient import clopper_pearson
from annotation.agreement.statistics.tiers import TIERS
from annotation.agreement.wording import tier_name, translated
from annotation.core import charts
from annotation.core.charts import Dot

TABLE_ROWS = 50
WORDS = {
    "agreement": (
        gettext_lazy("Agreement"),
        gettext_lazy("Each coefficient with its 95 % interval."),
        gettext_lazy(
            "As last recomputed. What each coefficient is stands at the page's end; a dash has "
            "its reason."
        ),
    ),
    "patterns": (
        gettext_lazy("Vote patterns"),
        gettext_lazy("Items that have all their judgments, by the split of their votes."),
        gettext_lazy(
            "A count of complete items; the answers of a split are in order of their votes."
        ),
    ),
    "tiers": (
        gettext_lazy("Tiers against their bands"),
        gettext_lazy("Kappa of each tier with its interval; the shade is the band it must lie in."),
        gettext_lazy(
            "Rule kappa-bands, version 1. A band is checked in whole numbers, on 30 items or "
            "more; so is the kappa that new annotators would show. Votes an item: least, "
            "median, most. Fleiss' kappa and alpha depend on which answer is stored first, and "
            "mean little within a tier."
        ),
    ),
    "days": (
        gettext_lazy("Progress by day"),
        gettext_lazy("Judgments submitted on each day (UTC)."),
        gettext_lazy("A count of all judgments by the day of their submission."),
    ),
    "seconds": (
        gettext_lazy("Time per item"),
        gettext_lazy("Active seconds of a judgment."),
        gettext_lazy("Quartiles and counts of the judgments whose time is known."),
    ),
    "matrix": (
        gettext_lazy("Annotator by annotator"),
        gettext_lazy("Cohen's kappa of every two; the 40 annotators with most votes, most first."),
        gettext_lazy(
            "κ = (pₒ − pₑ) / (1 − pₑ) on the items both judged; error: Fleiss, Cohen, Everitt."
        ),
    ),
    "sides": (
        gettext_lazy("Side bias"),
        gettext_lazy("Share of choices that fell on the answer shown first."),
        gettext_lazy(
            "All: a z test clustered by item. Each annotator: the exact binomial test and "
            "interval, p-values adjusted after Holm. Ties and unknown orders are left out."
        ),
    ),
}
NO_WIDTH = "all items have one pattern of votes: the interval has no width"
# Upper ends and names of Landis and Koch (1977), The measurement of observer agreement: of values
# with two digits, and 0.00 is slight.
BANDS = (
    (-0.01, gettext_noop("Poor agreement")),
    (0.2, gettext_noop("Slight agreement")),
    (0.4, gettext_noop("Fair agreement")),
    (0.6, gettext_noop("Moderate agreement")),
    (0.8, gettext_noop("Substantial agreement")),
    (1.0, gettext_noop("Almost perfect agreement")),
)
# The reliability that a panel is asked for, and the most votes more that are worth naming.
WANTED, MOST = 0.8, 50
FILLED_DAYS = timedelta(days=120)
EDGES = (0, 5, 10, 20, 30, 60, 120, 300, 600)


@dataclass(frozen=True)
class Figure:
    """One chart with its table. ``reason`` stands where there is nothing to draw.

    ``lead`` says what it shows, ``how`` how it is computed; ``votes`` and ``items`` are what it was
    computed from. ``rows`` are whole: the page shows the first of them, the download all.
    """

    key: str
    title: str
    lead: str
    how: str
    header: tuple = ()
    rows: list = field(default_factory=list)
    svg: str = ""
    reason: str = ""
    votes: int = 0
    items: int = 0

    def draw(self, chart: Callable[..., SafeString], *data: Any, **options: Any) -> SafeString:
        """``data`` as a ``chart`` (of core.charts) of this name."""
        return chart((self.key, self.title, self.lead), *data, **options)

    def without(self, reason: str) -> "Figure":
        return replace(self, reason=reason)

    @property
    def size(self) -> str:
        """What the figure was computed from, in words."""
        votes = ngettext("%(n)d vote", "%(n)d votes", self.votes) % {"n": self.votes}
        items = ngettext("%(n)d item", "%(n)d items", self.items) % {"n": self.items}
        return ", ".join(([votes] if self.votes else []) + ([items] if self.items else []))

    @property
    def caption(self) -> str:
        """What a paper prints below the figure: what it shows, how it is computed, and n."""
        return f"{self.title}. {self.lead} {self.how} n = {self.size}."

    @property
    def cells(self) -> list[list[str]]:
        """The table's first rows as text; a dash for what is not known."""
        return [[_shown(value) for value in row] for row in self.rows[:TABLE_ROWS]]


def _shown(value: object) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return f"{value:,.3f}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Verdict:
    """What alpha says of a task in one sentence, with its value and interval for a picture."""

    sentence: str
    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def at(self) -> int:
        return _x(self.value or 0)

    @property
    def left(self) -> int:
        return _x(self.low or 0)

    @property
    def width(self) -> int:
        return 0 if self.low is None or self.high is None else _x(self.high) - self.left


def _x(value: float) -> int:
    """The place of a value on the picture's line, from 10 to 450."""
    return round(10 + 440 * min(max(value, 0), 1))


def verdict(report: dict, level: str) -> Verdict:
    """How well people agree, in words of a citable scale, and how many votes more would do.

    The reliability of a panel follows from alpha by Spearman's and Brown's formula (1910).
    """
    w = report.get("kendall_w")
    coefficient = w or report["krippendorff_alpha"][report.get("level", level)]
    value, low, high = limits_of(coefficient)
    if value is None:
        reason = translated(coefficient["reason"])
        return Verdict(_("Agreement cannot be told yet: %(reason)s.") % {"reason": reason})
    words = {"value": floatformat(value, 2)}
    if w:
        sentence = _("Kendall's W %(value)s: 1 is one order by all, 0 none in common.") % words
        return Verdict(sentence, value, low, high)
    words["name"] = gettext(next(name for most, name in BANDS if round(value, 2) <= most))
    sentence = _("%(name)s (alpha %(value)s; Landis and Koch 1977).")
    if low is not None:
        words |= {"low": floatformat(low, 2), "high": floatformat(high, 2)}
        sentence = _("%(name)s (alpha %(value)s, %(low)s to %(high)s; Landis and Koch 1977).")
    panel = _panel(value, report["votes_per_item"]["median"])
    return Verdict(f"{sentence % words} {panel}", value, low, high)


def _panel(alpha: float, votes: float) -> str:
    """How reliable a panel's verdict is, and how many votes more an item make it WANTED."""
    if alpha <= 0:
        return _("More votes would not help.")
    reached = votes * alpha / (1 + (votes - 1) * alpha)
    needed = WANTED * (1 - alpha) / (alpha * (1 - WANTED))
    more = max(math.ceil(round(needed - votes, 6)), 0)
    words = {"votes": floatformat(votes, -1), "reached": floatformat(reached, 2), "more": more}
    words["wanted"] = floatformat(WANTED, 2)
    reliable = _("%(votes)s votes an item together are reliable to %(reached)s (Spearman–Brown)")
    if not more:
        return f"{reliable % words}."
    outlook = ngettext(
        "%(more)d more each would reach %(wanted)s.",
        "%(more)d more each would reach %(wanted)s.",
        more,
    )
    if more > MOST:
        outlook = _("no panel of usual size reaches %(wanted)s.")
    return f"{reliable % words}; {outlook % words}"


def limits_of(coefficient: dict) -> tuple[Any, Any, Any]:
    """Value, low and high of a stored coefficient, each None where there is none."""
    return coefficient["value"], coefficient.get("low"), coefficient.get("high")


def not_yet() -> str:
    """What stands in place of figures until the first recomputation."""
    return _("Not computed yet: the worker does it every ten seconds.")


def agreement(board: Board, figure: Figure) -> Figure:
    """The figure of every coefficient, of every criterion, as last recomputed."""
    if board.result is None:
        return figure.without(not_yet())
    rows, marks, parts = [], [], board.result.parts
    for criterion, report, coefficients in parts:
        for key, name, coefficient in coefficients:
            limits, reason = limits_of(coefficient), translated(coefficient.get("reason"))
            if limits[1] is not None and limits[1] == limits[2]:
                limits, reason = (limits[0], None, None), translated(NO_WIDTH)
            start = (criterion, str(name)) if criterion else (str(name),)
            size = (report["paired_items"], report.get("votes"))
            rows.append((*start, *size, limits[0], coefficient.get("se"), *limits[1:], reason))
            if not criterion or key in ("krippendorff_alpha", "kendall_w"):
                marks.append(Dot(start[0], *limits))
    head: tuple[str, ...] = (_("Coefficient"), _("Items with two votes"), _("Votes"))
    lead = figure.lead
    if any(criterion for criterion, _report, _coefficients in parts):
        head = (_("Criterion"), _("Coefficient"), _("Answers with two scores"), _("Scores"))
        lead = _("Krippendorff's alpha of each criterion; the table has the other coefficients.")
    if board.config.get("questions"):
        head = (_("Question"), _("Coefficient"), _("Units with two answers"), _("Answers"))
        lead = _("The first coefficient of each question; the table has the others, and the scale.")
    header = (*head, _("Value"), _("Standard error"), _("low"), _("high"), _("Reason"))
    figure = replace(figure, header=header, rows=rows, votes=board.result.votes, lead=lead)
    if not any(mark.value is not None for mark in marks):
        return figure.without(_("No coefficient is defined yet; the table says why."))
    return replace(figure, svg=figure.draw(charts.dots, marks, axes=(_("Value"), header[0])))


def by_day(board: Board, figure: Figure) -> Figure:
    """Judgments a day (UTC); days without any are days too, unless there are very many."""
    counts = {date.fromisoformat(day): n for day, n in board.days}
    first, last = min(counts), max(counts)
    if last - first <= FILLED_DAYS:
        every = (first + timedelta(days=n) for n in range((last - first).days + 1))
        counts = {day: counts.get(day, 0) for day in every}
    days = [day.isoformat() for day in counts]
    rows = list(zip(days, counts.values(), itertools.accumulate(counts.values()), strict=True))
    bars = [(day[5:], n) for day, n, _total in rows]
    svg = figure.draw(charts.columns, bars, axes=(_("Day (UTC)"), _("Judgments")))
    header = (_("Day"), _("Judgments"), _("In all"))
    return replace(figure, header=header, rows=rows, svg=svg, votes=sum(counts.values()))


def seconds(board: Board, figure: Figure) -> Figure:
    """Active time of a judgment: quartiles and a histogram."""
    timed = board.rows.seconds[np.isfinite(board.rows.seconds)]
    if not timed.size:
        return figure.without(_("Of no vote is the time known."))
    counts = np.histogram(timed, bins=[*EDGES, np.inf])[0].tolist()
    names = [f"{low}–{high}" for low, high in itertools.pairwise(EDGES)]
    bins = list(zip([*names, f"{EDGES[-1]}+"], counts, strict=True))
    quartiles = np.percentile(timed, [25, 50, 75]).tolist()
    words = (_("lower quartile"), _("median"), _("upper quartile"))
    rows = [(f"{name} s", n) for name, n in bins]
    rows += [(f"{word}, s", value) for word, value in zip(words, quartiles, strict=True)]
    lead = _("Median %(median).0f s; half of the judgments took %(low).0f to %(high).0f s.") % {
        "median": quartiles[1], "low": quartiles[0], "high": quartiles[2],
    }  # fmt: skip
    figure = replace(figure, lead=lead)
    svg = figure.draw(charts.columns, bins, axes=(_("Active time (s)"), _("Judgments")))
    header, items = (_("Seconds"), _("Judgments")), len(board.rows.items)
    return replace(figure, header=header, rows=rows, svg=svg, votes=len(timed), items=items)


def vote_patterns(board: Board, figure: Figure) -> Figure:
    """Complete items by the split of their votes, from unanimous to even."""
    items_of: Counter[tuple[int, ...]] = Counter()
    for counts, complete, n in board.patterns:
        if complete:
            items_of[tuple(sorted(counts, reverse=True))] += n
    if not items_of:
        return figure.without(_("No item has all its judgments yet."))
    splits = sorted(items_of.items(), reverse=True)
    bars = [("–".join(map(str, split)), n) for split, n in splits]
    items, votes = items_of.total(), sum(sum(split) * n for split, n in splits)
    svg = figure.draw(charts.columns, bars, axes=(_("Votes by answer"), _("Items")))
    header = (_("Votes by answer"), _("Items"), _("Share"))
    rows = [(name, n, n / items) for name, n in bars]
    return replace(figure, header=header, rows=rows, svg=svg, votes=votes, items=items)


def tier_rows(result: AgreementResult) -> list[tuple[str, dict, str]]:
    """A result's tiers from clear to disputed: name, figures, and what is to be said of them.

    Empty where no item has a tier.
    """
    rows = []
    for name in TIERS if result.tiers else ():
        tier = result.tiers["tiers"][name]
        notes = (tier["note"], tier["symmetric_kappa"].get("reason"))
        rows.append((name, tier, translated("; ".join(filter(None, notes)))))
    return rows if any(tier["items"] for _name, tier, _note in rows) else []


def tiers(board: Board, figure: Figure) -> Figure:
    """Every tier's kappa against its band, as last recomputed; before them that of all items."""
    result = board.result
    if result is None:
        return figure.without(not_yet())
    everything = result.tiers["all"]
    rows = [(_("All items"), *_group(everything), *[None] * 5, "")]
    marks = []
    for name, tier, note in tier_rows(result):
        band = tier["band"]
        checks = (tier["in_band"], tier["new_panel_kappa"], tier["new_panel_in_band"], note)
        rows.append((tier_name(name), *_group(tier), *(band or (None, None)), *checks))
        if tier["items"]:
            mark = f"{tier_name(name)} ({tier['items']})"
            marks.append(Dot(mark, *limits_of(tier["symmetric_kappa"]), band))
    header = (
        _("Tier"), _("Items"), _("Votes an item"), _("Percent agreement"), _("Symmetric kappa"),
        _("low"), _("high"), _("Fleiss' kappa"), _("Gwet's AC1"), _("Krippendorff's alpha"),
        _("Band above"), _("up to"), _("In band"), _("New panel's kappa"), _("In band"), _("Note"),
    )  # fmt: skip
    items = everything["items"]
    figure = replace(figure, header=header, rows=rows, votes=result.votes, items=items)
    if not any(mark.value is not None for mark in marks):
        return figure
    axes = (_("Symmetric kappa"), _("Tier (items)"))
    return replace(figure, svg=figure.draw(charts.dots, marks, axes=axes))


def _group(group: dict) -> tuple:
    """Items, votes an item and the coefficients of a tier, or of all items."""
    n = group["votes_per_item"]
    several = "" if n["min"] is None else f"{n['min']} / {n['median']:g} / {n['max']}"
    raw = (group[key]["value"] for key in ("fleiss_kappa", "gwet_ac1", "krippendorff_alpha"))
    agreed = group["percent_agreement"]["value"]
    return (group["items"], several, agreed, *limits_of(group["symmetric_kappa"]), *raw)


def matrix(board: Board, figure: Figure) -> Figure:
    """Cohen's kappa of every two annotators, of those with most votes."""
    votes, chosen = board.rows, board.busiest
    if len(chosen) < 2:
        return figure.without(_("Two annotators are needed."))
    place = np.full(len(votes.workers), -1)
    place[chosen] = np.arange(len(chosen))
    shown = place[votes.worker] >= 0
    coded = votes.item[shown], place[votes.worker[shown]], votes.category[shown]
    tables = kappas.confusions(*coded, len(chosen), len(board.labels))
    if not len(tables.n):
        return figure.without(_("No two annotators share an item."))
    pairs = kappas.cohen_table(tables)
    names = [votes.workers[code] for code in chosen]
    cells, rows = {}, []
    columns = (cast(np.ndarray, pairs[name]).tolist() for name in ("a", "b", "n", "value", "se"))
    for a, b, n, value, se in zip(*columns, strict=True):
        value, se = (None, None) if np.isnan(value) else (value, se)
        cells[b, a] = value
        reason = "" if value is not None else _("both used one and the same label")
        rows.append((names[a], names[b], n, value, se, reason))
    axes = (_("Annotator, by number"), _("Annotator"))
    svg = figure.draw(charts.heat, names, cells, axes=axes)
    header = (_("Annotator"), _("and"), _("Shared items"), _("Cohen's kappa"), _("SE"), _("Reason"))
    n, items = len(votes), len(votes.items)
    return replace(figure, header=header, rows=rows, svg=svg, votes=n, items=items)


def sides(board: Board, figure: Figure) -> Figure:
    """Whether the place an answer was shown on decides votes."""
    votes, options = board.rows, board.definition.config["options"]
    placed = votes.place > 0
    if not placed.any():
        return figure.without(_("Of no vote is it known in which order the answers were shown."))
    if options != 2:
        return _places(figure, votes.place[placed], options)
    item, worker, first = votes.item[placed], votes.worker[placed], votes.place[placed] == 1
    share, p_of_all = rater_signs.side_bias(item, first)
    counts, reason = (len(first), int(first.sum())), translated(share.reason)
    rows: list[tuple] = [(_("all"), *counts, *share.limits, p_of_all, None, reason)]
    by_rater = rater_signs.annotator_side_bias(worker, first, len(votes.workers))
    for code in (code for code in board.busiest if by_rater["votes"][code]):
        n, chose = int(by_rater["votes"][code]), int(by_rater["first"][code])
        p = (float(by_rater["p"][code]), float(by_rater["p_holm"][code]))
        limits = clopper_pearson(chose, n).limits
        rows.append((votes.workers[code], n, chose, *limits, *p, ""))
    marks = [Dot(str(row[0]), *row[3:6]) for row in rows if row[3] is not None]
    axes = (_("Share of choices of the first"), _("Annotator"))
    svg = figure.draw(charts.dots, marks, reference=0.5, axes=axes)
    header = (
        _("Annotator"), _("Choices"), _("of the first"), _("Share"), _("low"), _("high"), _("p"),
        _("p (Holm)"), _("Reason"),
    )  # fmt: skip
    n, items = len(first), len(np.unique(item))
    return replace(figure, header=header, rows=rows, svg=svg, votes=n, items=items)


def _places(figure: Figure, place: np.ndarray, options: int) -> Figure:
    """Choices by place, where more than two answers are shown: there is no test of it here."""
    counts = np.bincount(place, minlength=options + 1)[1:].tolist()
    rows = [(n, count, count / len(place)) for n, count in enumerate(counts, start=1)]
    bars = [(_("Place %(n)d") % {"n": n}, count) for n, count, _share in rows]
    svg = figure.draw(charts.bars, bars, axes=(_("Choices"), _("Place")))
    header = (_("Place"), _("Choices"), _("Share"))
    return replace(figure, header=header, rows=rows, svg=svg, votes=len(place))
