"""How far a task of selections is: judgments by day and annotator, agreement over time, seconds."""

import itertools
from datetime import date, timedelta

import numpy as np
from django.utils.translation import gettext as _

from annotation.agreement.figures.board import About, Board
from annotation.agreement.figures.wording import translated
from annotation.agreement.statistics import kappas
from annotation.agreement.task_votes import MOST_RATERS
from annotation.core import charts

MOST_POINTS = 20
FILLED_DAYS = timedelta(days=120)
EDGES = (0, 5, 10, 20, 30, 60, 120, 300, 600)


def words() -> dict[str, tuple]:
    """{figure: title, lead and how} in the reader's language."""
    return {
        "days": (
            _("Progress by day"),
            _("Judgments submitted on each day (UTC)."),
            _("A count of all judgments by the day of their submission."),
        ),
        "raters": (
            _("Progress by annotator"),
            _("Judgments of each annotator; drawn are the 40 with most."),
            _("A count of all judgments, and the median of their active time."),
        ),
        "time": (
            _("Agreement over time"),
            _("Symmetric kappa of the first votes by time, with its 95 % band."),
            _(
                "κ = (K·P̄ − 1) / (K − 1) of the first k votes, at up to twenty k. An item counts "
                "from its second vote on. The band is the t-interval over items."
            ),
        ),
        "seconds": (
            _("Time per item"),
            _("Active seconds of a judgment."),
            _("Quartiles and counts of the judgments whose time is known."),
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
    rows = board.raters
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
