"""How far a task of selections is, by day, annotator and split of the votes, and its tiers."""

import itertools
from datetime import date, timedelta

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.agreement.board import MOST_RATERS, Board
from annotation.agreement.figures import summary
from annotation.agreement.figures.base import About
from annotation.agreement.models import AgreementResult
from annotation.agreement.statistics import kappas
from annotation.agreement.tiers.rules import TIERS
from annotation.agreement.wording import tier_name, translated
from annotation.core import charts
from annotation.core.charts import Dot

MOST_POINTS = 20
FILLED_DAYS = timedelta(days=120)
EDGES = (0, 5, 10, 20, 30, 60, 120, 300, 600)


WORDS = {
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
    "raters": (
        gettext_lazy("Progress by annotator"),
        gettext_lazy("Judgments of each annotator; drawn are the 40 with most."),
        gettext_lazy("A count of all judgments, and the median of their active time."),
    ),
    "time": (
        gettext_lazy("Agreement over time"),
        gettext_lazy("Symmetric kappa of the first votes by time, with its 95 % band."),
        gettext_lazy(
            "κ = (K·P̄ − 1) / (K − 1) of the first k votes, at up to twenty k. An item counts "
            "from its second vote on. The band is the t-interval over items."
        ),
    ),
    "seconds": (
        gettext_lazy("Time per item"),
        gettext_lazy("Active seconds of a judgment."),
        gettext_lazy("Quartiles and counts of the judgments whose time is known."),
    ),
}


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


def by_rater(board: Board, about: About) -> dict:
    """Judgments an annotator, with the median time."""
    rows = [tuple(row) for row in board.raters]
    svg = about.draw(
        charts.bars, [row[:2] for row in rows[:MOST_RATERS]], axes=(_("Judgments"), _("Annotator"))
    )
    header: tuple[str, ...] = (_("Annotator"), _("Judgments"), _("Median seconds"))
    return {"header": header, "rows": rows, "svg": svg, "votes": sum(row[1] for row in rows)}


def over_time(board: Board, about: About) -> dict:
    """Symmetric kappa of the first k votes, for some k up to all of them."""
    rows = board.rows
    ends = np.unique(np.linspace(0, len(rows), MOST_POINTS + 1).astype(int))[1:]
    shape = (len(rows.items), len(board.labels))
    counts, start, table = np.zeros(shape, dtype=np.int64), 0, []
    for end in ends.tolist():
        part = slice(start, end)
        counts += kappas.count_votes(rows.item[part], rows.category[part], *shape)
        patterns, start = kappas.patterns_of(counts), end
        kappa = kappas.symmetric_kappa(patterns)
        table.append(
            (end, patterns.items, kappa.value, kappa.low, kappa.high, translated(kappa.reason))
        )
    points = [(row[0], *row[2:5]) for row in table]
    svg = about.draw(charts.band, points, axes=(_("Votes, by time"), _("Symmetric kappa")))
    header = (_("Votes"), _("Items"), _("Symmetric kappa"), _("low"), _("high"), _("Reason"))
    return board.of_rows(header=header, rows=table, svg=svg)


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
        return {"reason": summary.not_yet()}
    rows = [(_("All items"), *_group(result.tiers["all"]), *[None] * 5, "")]
    marks = []
    for name, tier, note in tier_rows(result):
        kappa, band = tier["symmetric_kappa"], tier["band"]
        checks = (tier["in_band"], tier["new_panel_kappa"], tier["new_panel_in_band"], note)
        rows.append((tier_name(name), *_group(tier), *(band or (None, None)), *checks))
        limits = (kappa["value"], kappa.get("low"), kappa.get("high"))
        marks.append(Dot(f"{tier_name(name)} ({tier['items']})", *limits, band))
    header: tuple[str, ...] = (_("Tier"), _("Items"), _("Votes an item"), _("Percent agreement"))
    header += (_("Symmetric kappa"), _("low"), _("high"), _("Fleiss' kappa"), _("Gwet's AC1"))
    header += (_("Krippendorff's alpha"), _("Band above"), _("up to"), _("In band"))
    header += (_("New panel's kappa"), _("In band"), _("Note"))
    svg = about.draw(charts.dots, marks, axes=(_("Symmetric kappa"), _("Tier (items)")))
    items = result.tiers["all"]["items"]
    return {"header": header, "rows": rows, "svg": svg, "votes": result.votes, "items": items}


def _group(group: dict) -> tuple:
    """Items, votes an item and the coefficients of a tier, or of all items."""
    n, kappa = group["votes_per_item"], group["symmetric_kappa"]
    several = "" if n["min"] is None else f"{n['min']} / {n['median']:g} / {n['max']}"
    raw = (group[key]["value"] for key in ("fleiss_kappa", "gwet_ac1", "krippendorff_alpha"))
    limits = (kappa["value"], kappa.get("low"), kappa.get("high"))
    return (group["items"], several, group["percent_agreement"]["value"], *limits, *raw)
