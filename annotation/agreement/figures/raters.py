"""The annotators of a task of selections: their agreement, side bias and signs of carelessness."""

from typing import cast

import numpy as np
from django.utils.translation import gettext as _

from annotation.agreement.figures.board import About, Board
from annotation.agreement.statistics import cohen, rater_signs
from annotation.agreement.statistics.coefficient import clopper_pearson
from annotation.agreement.wording import translated
from annotation.core import charts
from annotation.core.charts import Dot

HOLM = 0.05


def words() -> dict[str, tuple]:
    """{figure: title, lead and how} in the reader's language."""
    return {
        "matrix": (
            _("Annotator by annotator"),
            _("Cohen's kappa of every two; the 40 annotators with most votes, most first."),
            _("κ = (pₒ − pₑ) / (1 − pₑ) on the items both judged; error: Fleiss, Cohen, Everitt."),
        ),
        "sides": (
            _("Side bias"),
            _("Share of choices that fell on the answer shown first."),
            _(
                "All: a z test clustered by item. Each annotator: the exact binomial test and "
                "interval, p-values adjusted after Holm. Ties and unknown orders are left out."
            ),
        ),
        "flags": (
            _("Annotators to look at"),
            _("A sign asks a person to look; it removes no vote."),
            _(
                "Disagrees: 50 votes or more, and so few with the majority of the others that the "
                "pool's rate would give them with p < .001. Fast: median robust z of log time a "
                "thousand characters under −3, or over 20 % of the last 50 under −3 and under 10 "
                "seconds. One side: Holm's p under .05."
            ),
        ),
    }


def matrix(board: Board, about: About) -> dict:
    """Cohen's kappa of every two annotators, of those with most votes."""
    rows, chosen = board.rows, board.busiest
    if len(chosen) < 2:
        return {"reason": _("Two annotators are needed.")}
    place = np.full(len(rows.workers), -1)
    place[chosen] = np.arange(len(chosen))
    shown = place[rows.worker] >= 0
    tables = cohen.confusions(
        rows.item[shown], place[rows.worker[shown]], rows.category[shown], len(chosen),
        len(board.labels),
    )  # fmt: skip
    if not len(tables.n):
        return {"reason": _("No two annotators share an item.")}
    pairs = cohen.cohen_table(tables)
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


def rater_flags(board: Board, about: About) -> dict:
    """Signs that somebody does not read, with their evidence."""
    rows, workers = board.rows, len(board.rows.workers)
    shape = (len(rows.items), workers, len(board.labels))
    agreed = rater_signs.agreement_flags(rows.item, rows.worker, rows.category, shape)
    timed = board.pace > 0
    speed = rater_signs.speed_flags(
        rows.worker[timed], board.pace[timed], np.zeros(timed.sum(), dtype=int), workers
    )
    placed = rows.place > 0
    side = rater_signs.annotator_side_bias(rows.worker[placed], rows.place[placed] == 1, workers)
    pairs = board.definition.config["options"] == 2
    table = []
    for code, name in enumerate(rows.workers):
        holm = float(side["p_holm"][code]) if pairs and side["votes"][code] else None
        signs = [_("disagrees")] if agreed["flagged"][code] else []
        signs += [_("fast")] if speed["flagged"][code] else []
        signs += [_("one side")] if holm is not None and holm < HOLM else []
        z = float(speed["median_z"][code])
        table.append(
            (name, int(agreed["votes"][code]), int(agreed["agreed"][code]),
             float(agreed["p"][code]), None if np.isnan(z) else z,
             float(speed["fast_share"][code]) if not np.isnan(z) else None, holm,
             ", ".join(signs))
        )  # fmt: skip
    table.sort(key=lambda row: (not row[-1], row[3], row[0]))
    header: tuple[str, ...] = (_("Annotator"), _("Votes compared"), _("with the majority"), _("p"))
    header += (_("Time, robust z"), _("fast of the last 50"), _("one side, p (Holm)"), _("Signs"))
    flagged = sum(bool(row[-1]) for row in table)
    lead = _("%(n)d of %(all)d annotators show a sign.") % {"n": flagged, "all": len(table)}
    return board.of_rows(header=header, rows=table, lead=f"{lead} {about.lead}")
