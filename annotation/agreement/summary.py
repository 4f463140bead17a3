"""What is asked of a task's votes: how far it is, how well people agree, tiers, annotators."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, NamedTuple, cast

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


class About(NamedTuple):
    """A figure's name, its title, what it shows and how that is computed."""

    key: str
    title: str
    lead: str
    how: str

    def draw(self, chart: Callable[..., SafeString], *data: Any, **options: Any) -> SafeString:
        """``data`` as a ``chart`` (of core.charts) of this name."""
        return chart((self.key, self.title, self.lead), *data, **options)


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
    if "krippendorff_alpha" not in report:
        return _of_orders(report["kendall_w"])
    alpha = report["krippendorff_alpha"][report.get("level", level)]
    value, votes = alpha["value"], report["votes_per_item"]["median"]
    if value is None:
        reason = translated(alpha["reason"])
        return Verdict(_("Agreement cannot be told yet: %(reason)s.") % {"reason": reason})
    name = next(name for most, name in BANDS if round(value, 2) <= most)
    words = {"name": gettext(name), "value": floatformat(value, 2)}
    if alpha.get("low") is None:
        told = _("%(name)s (alpha %(value)s; Landis and Koch 1977).") % words
    else:
        words |= {"low": floatformat(alpha["low"], 2), "high": floatformat(alpha["high"], 2)}
        told = _("%(name)s (alpha %(value)s, %(low)s to %(high)s; Landis and Koch 1977).") % words
    panel = _panel(value, votes) if value > 0 else _("More votes would not help.")
    return Verdict(f"{told} {panel}", value, alpha.get("low"), alpha.get("high"))


def _of_orders(w: dict) -> Verdict:
    """How alike people put answers in order."""
    if w["value"] is None:
        reason = translated(w["reason"])
        return Verdict(_("Agreement cannot be told yet: %(reason)s.") % {"reason": reason})
    words = {"value": floatformat(w["value"], 2)}
    told = _("Kendall's W %(value)s: 1 is one order by all, 0 none in common.") % words
    return Verdict(told, w["value"], w.get("low"), w.get("high"))


def _panel(alpha: float, votes: float) -> str:
    """How reliable a panel's verdict is, and how many votes more an item make it WANTED."""
    reached = votes * alpha / (1 + (votes - 1) * alpha)
    needed = WANTED * (1 - alpha) / (alpha * (1 - WANTED))
    more = max(math.ceil(round(needed - votes, 6)), 0)
    words = {"votes": floatformat(votes, -1), "reached": floatformat(reached, 2), "more": more}
    words["wanted"] = floatformat(WANTED, 2)
    told = _("%(votes)s votes an item together are reliable to %(reached)s (Spearman–Brown)")
    if not more:
        return f"{told % words}."
    if more > MOST:
        return f"{told % words}; " + _("no panel of usual size reaches %(wanted)s.") % words
    return (
        f"{told % words}; "
        + ngettext(
            "%(more)d more each would reach %(wanted)s.",
            "%(more)d more each would reach %(wanted)s.",
            more,
        )
        % words
    )


def not_yet() -> str:
    """What stands in place of figures until the first recomputation."""
    return _("Not computed yet: the worker does it every ten seconds.")


def agreement(board: Board, about: About) -> dict:
    """The figure of every coefficient, of every criterion, as last recomputed."""
    if board.result is None:
        return {"reason": not_yet()}
    rows, marks = [], []
    for criterion, report, coefficients in board.result.parts:
        for key, name, coefficient in coefficients:
            limits, reason = _interval(coefficient)
            start = (criterion, str(name)) if criterion else (str(name),)
            size = (report["paired_items"], report.get("votes"))
            rows.append(
                (*start, *size, coefficient["value"], coefficient.get("se"), *limits[1:], reason)
            )
            if not criterion or key in ("krippendorff_alpha", "kendall_w"):
                marks.append(Dot(start[0], *limits))
    header: tuple[str, ...] = (_("Coefficient"), _("Items with two votes"), _("Votes"), _("Value"))
    header += (_("Standard error"), _("low"), _("high"), _("Reason"))
    lead = about.lead
    if any(criterion for criterion, _report, _coefficients in board.result.parts):
        header = (_("Criterion"), _("Coefficient"), _("Answers with two scores"), _("Scores"))
        header += (_("Value"), _("Standard error"), _("low"), _("high"), _("Reason"))
        lead = _("Krippendorff's alpha of each criterion; the table has the other coefficients.")
    if board.config.get("questions"):
        header = (_("Question"), _("Coefficient"), _("Units with two answers"), _("Answers"))
        header += (_("Value"), _("Standard error"), _("low"), _("high"), _("Reason"))
        lead = _("The first coefficient of each question; the table has the others, and the scale.")
    table = {"header": header, "rows": rows, "votes": board.result.votes, "lead": lead}
    if not any(mark.value is not None for mark in marks):
        return table | {"reason": _("No coefficient is defined yet; the table says why.")}
    return table | {
        "svg": about._replace(lead=lead).draw(charts.dots, marks, axes=(_("Value"), header[0]))
    }


def _interval(coefficient: dict) -> tuple[tuple, str]:
    """Value, low and high of a coefficient, and why a number is missing."""
    value, low, high = coefficient["value"], coefficient.get("low"), coefficient.get("high")
    if low is not None and low == high:
        return (value, None, None), translated(NO_WIDTH)
    return (value, low, high), translated(coefficient.get("reason"))


def by_day(board: Board, about: About) -> dict:
    """Judgments a day (UTC); days without any are days too, unless there are very many."""
    counts = {date.fromisoformat(day): n for day, n in board.days}
    first, last = min(counts), max(counts)
    if last - first <= FILLED_DAYS:
        every = (first + timedelta(days=n) for n in range((last - first).days + 1))
        counts = {day: counts.get(day, 0) for day in every}
    rows, total = [], 0
    for day, n in counts.items():
        total += n
        rows.append((day.isoformat(), n, total))
    svg = about.draw(
        charts.columns,
        [(d[5:], n) for d, n, _t in rows],
        axes=(_("Day (UTC)"), _("Judgments")),
    )
    header: tuple[str, ...] = (_("Day"), _("Judgments"), _("In all"))
    return {"header": header, "rows": rows, "svg": svg, "votes": total}


def seconds(board: Board, about: About) -> dict:
    """Active time of a judgment: quartiles and a histogram."""
    timed = board.rows.seconds[np.isfinite(board.rows.seconds)]
    if not timed.size:
        return {"reason": _("Of no vote is the time known.")}
    counts = np.histogram(timed, bins=[*EDGES, np.inf])[0].tolist()
    names = [f"{low}–{high}" for low, high in itertools.pairwise(EDGES)]
    bins = list(zip([*names, f"{EDGES[-1]}+"], counts, strict=True))
    quartiles = np.percentile(timed, [25, 50, 75]).tolist()
    words = (_("lower quartile"), _("median"), _("upper quartile"))
    table = [(f"{name} s", n) for name, n in bins]
    table += [(f"{word}, s", value) for word, value in zip(words, quartiles, strict=True)]
    lead = _("Median %(median).0f s; half of the judgments took %(low).0f to %(high).0f s.") % {
        "median": quartiles[1], "low": quartiles[0], "high": quartiles[2],
    }  # fmt: skip
    svg = about._replace(lead=lead).draw(
        charts.columns, bins, axes=(_("Active time (s)"), _("Judgments"))
    )
    header: tuple[str, ...] = (_("Seconds"), _("Judgments"))
    figure = board.of_rows(header=header, rows=table, svg=svg, lead=lead)
    return {**figure, "votes": len(timed)}


def vote_patterns(board: Board, about: About) -> dict:
    """Complete items by the split of their votes, from unanimous to even."""
    tally = {}
    for votes, complete, n in board.patterns:
        if complete:
            split = tuple(sorted(votes, reverse=True))
            tally[split] = tally.get(split, 0) + n
    if not tally:
        return {"reason": _("No item has all its judgments yet.")}
    rows = [("–".join(map(str, split)), n) for split, n in sorted(tally.items(), reverse=True)]
    items = sum(tally.values())
    table = [(name, n, n / items) for name, n in rows]
    svg = about.draw(charts.columns, rows, axes=(_("Votes by answer"), _("Items")))
    header: tuple[str, ...] = (_("Votes by answer"), _("Items"), _("Share"))
    votes = sum(sum(split) * n for split, n in tally.items())
    return {"header": header, "rows": table, "svg": svg, "votes": votes, "items": items}


def tier_rows(result: AgreementResult) -> list[tuple[str, dict, str]]:
    """A result's tiers from clear to disputed: name, figures, and what is to be said of them.

    Empty where no item has a tier.
    """
    rows = [(name, result.tiers["tiers"][name]) for name in TIERS] if result.tiers else []
    if not any(tier["items"] for _name, tier in rows):
        return []
    return [
        (
            name,
            tier,
            translated(
                "; ".join(filter(None, (tier["note"], tier["symmetric_kappa"].get("reason"))))
            ),
        )
        for name, tier in rows
    ]


def tiers(board: Board, about: About) -> dict:
    """Every tier's kappa against its band, as last recomputed; before them that of all items."""
    result = board.result
    if result is None:
        return {"reason": not_yet()}
    rows = [(_("All items"), *_group(result.tiers["all"]), *[None] * 5, "")]
    marks = []
    for name, tier, note in tier_rows(result):
        kappa, band = tier["symmetric_kappa"], tier["band"]
        checks = (tier["in_band"], tier["new_panel_kappa"], tier["new_panel_in_band"], note)
        rows.append((tier_name(name), *_group(tier), *(band or (None, None)), *checks))
        limits = (kappa["value"], kappa.get("low"), kappa.get("high"))
        if tier["items"]:
            marks.append(Dot(f"{tier_name(name)} ({tier['items']})", *limits, band))
    header: tuple[str, ...] = (_("Tier"), _("Items"), _("Votes an item"), _("Percent agreement"))
    header += (_("Symmetric kappa"), _("low"), _("high"), _("Fleiss' kappa"), _("Gwet's AC1"))
    header += (_("Krippendorff's alpha"), _("Band above"), _("up to"), _("In band"))
    header += (_("New panel's kappa"), _("In band"), _("Note"))
    axes = (_("Symmetric kappa"), _("Tier (items)"))
    told = any(mark.value is not None for mark in marks)
    svg = about.draw(charts.dots, marks, axes=axes) if told else ""
    items = result.tiers["all"]["items"]
    return {"header": header, "rows": rows, "svg": svg, "votes": result.votes, "items": items}


def _group(group: dict) -> tuple:
    """Items, votes an item and the coefficients of a tier, or of all items."""
    n, kappa = group["votes_per_item"], group["symmetric_kappa"]
    several = "" if n["min"] is None else f"{n['min']} / {n['median']:g} / {n['max']}"
    raw = (group[key]["value"] for key in ("fleiss_kappa", "gwet_ac1", "krippendorff_alpha"))
    limits = (kappa["value"], kappa.get("low"), kappa.get("high"))
    return (group["items"], several, group["percent_agreement"]["value"], *limits, *raw)


def matrix(board: Board, about: About) -> dict:
    """Cohen's kappa of every two annotators, of those with most votes."""
    rows, chosen = board.rows, board.busiest
    if len(chosen) < 2:
        return {"reason": _("Two annotators are needed.")}
    place = np.full(len(rows.workers), -1)
    place[chosen] = np.arange(len(chosen))
    shown = place[rows.worker] >= 0
    tables = kappas.confusions(
        rows.item[shown], place[rows.worker[shown]], rows.category[shown], len(chosen),
        len(board.labels),
    )  # fmt: skip
    if not len(tables.n):
        return {"reason": _("No two annotators share an item.")}
    pairs = kappas.cohen_table(tables)
    names = [rows.workers[code] for code in chosen]
    cells, table = {}, []
    columns = (cast(np.ndarray, pairs[name]).tolist() for name in ("a", "b", "n", "value", "se"))
    for a, b, n, value, se in zip(*columns, strict=True):
        value, se = (None, None) if np.isnan(value) else (value, se)
        cells[b, a] = value
        reason = "" if value is not None else _("both used one and the same label")
        table.append((names[a], names[b], n, value, se, reason))
    svg = about.draw(charts.heat, names, cells, axes=(_("Annotator, by number"), _("Annotator")))
    header = (_("Annotator"), _("and"), _("Shared items"), _("Cohen's kappa"), _("SE"), _("Reason"))
    return board.of_rows(header=header, rows=table, svg=svg)


def sides(board: Board, about: About) -> dict:
    """Whether the place an answer was shown on decides votes."""
    rows = board.rows
    placed = rows.place > 0
    if not placed.any():
        return {"reason": _("Of no vote is it known in which order the answers were shown.")}
    if board.definition.config["options"] != 2:
        return _places(board, about, rows.place[placed])
    item, worker, first = rows.item[placed], rows.worker[placed], rows.place[placed] == 1
    share, p = rater_signs.side_bias(item, first)
    table: list[tuple] = [
        (_("all"), len(first), int(first.sum()), share.value, share.low, share.high, p, None,
         translated(share.reason))
    ]  # fmt: skip
    by_rater = rater_signs.annotator_side_bias(worker, first, len(rows.workers))
    for code in (code for code in board.busiest if by_rater["votes"][code]):
        n, chose = int(by_rater["votes"][code]), int(by_rater["first"][code])
        share = clopper_pearson(chose, n)
        p, holm = float(by_rater["p"][code]), float(by_rater["p_holm"][code])
        table.append(
            (rows.workers[code], n, chose, share.value, share.low, share.high, p, holm, "")
        )
    marks = [Dot(str(row[0]), *row[3:6]) for row in table if row[3] is not None]
    svg = about.draw(
        charts.dots, marks, reference=0.5, axes=(_("Share of choices of the first"), _("Annotator"))
    )
    header: tuple[str, ...] = (_("Annotator"), _("Choices"), _("of the first"), _("Share"))
    header += (_("low"), _("high"), _("p"), _("p (Holm)"), _("Reason"))
    votes, items = len(first), len(np.unique(item))
    return {"header": header, "rows": table, "svg": svg, "votes": votes, "items": items}


def _places(board: Board, about: About, place: np.ndarray) -> dict:
    """Choices by place, where more than two answers are shown: there is no test of it here."""
    options = board.definition.config["options"]
    counts = np.bincount(place, minlength=options + 1)[1:].tolist()
    table = [(n, count, count / len(place)) for n, count in enumerate(counts, start=1)]
    bars = [(_("Place %(n)d") % {"n": n}, count) for n, count, _share in table]
    svg = about.draw(charts.bars, bars, axes=(_("Choices"), _("Place")))
    header: tuple[str, ...] = (_("Place"), _("Choices"), _("Share"))
    return {"header": header, "rows": table, "svg": svg, "votes": len(place)}
