"""The annotators of a task of selections: their agreement, side bias and signs of carelessness."""

from typing import cast

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.agreement.board import Board
from annotation.agreement.figures.base import About
from annotation.agreement.statistics import cohen, rater_signs
from annotation.agreement.statistics.coefficient import clopper_pearson
from annotation.agreement.wording import translated
from annotation.core import charts
from annotation.core.charts import Dot

WORDS = {
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
