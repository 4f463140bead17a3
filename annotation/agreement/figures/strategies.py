"""Strategies, endpoints and models by the votes for their answers."""

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.agreement.board import MOST_RATERS, Board, Rows
from annotation.agreement.figures.base import About
from annotation.agreement.statistics import kappas
from annotation.agreement.statistics.bradley_terry import BradleyTerry, bradley_terry
from annotation.agreement.statistics.coefficient import clopper_pearson
from annotation.agreement.wording import translated
from annotation.candidates.strategies import GENERIC
from annotation.core import charts
from annotation.core.charts import Dot

# The win matrices, and whose wins they count.
WON_BY = {"strategy_wins": "strategies", "model_wins": "models"}


STRENGTHS = gettext_lazy(
    "Bradley and Terry's model by maximum likelihood, sum of strengths 0; a tie is half a "
    "win. The standard error is clustered by item, since votes on one item are not "
    "independent. Where every order is known, being shown first has a term of its own."
)
WINS = gettext_lazy("A count of the votes on pairs of the two; a tie is half a win for each.")
WORDS = {
    "wins": (
        gettext_lazy("Share of votes by strategy"),
        gettext_lazy("How often an answer of each strategy was chosen where it was offered."),
        gettext_lazy(
            "The mean over items of the share of their votes, with the t-interval over items."
        ),
    ),
    "control": (
        gettext_lazy("Generic answers preferred"),
        gettext_lazy(
            "Share of votes for the generic answer where it stood among others, unmarked."
        ),
        gettext_lazy(
            "All: the mean over items of the share of their votes, with the t-interval over "
            "items. Each annotator: the exact binomial interval. Generic are the answers to "
            "the question alone."
        ),
    ),
    "strategies": (
        gettext_lazy("Strategies ranked"),
        gettext_lazy("Strength of each strategy, in log odds, with its 95 % interval."),
        STRENGTHS,
    ),
    "models": (
        gettext_lazy("Endpoints and models ranked"),
        gettext_lazy("Strength of each endpoint or model, in log odds, with its 95 % interval."),
        STRENGTHS,
    ),
    "strategy_wins": (
        gettext_lazy("Strategies against one another"),
        gettext_lazy("Share of votes that the strategy of the row won against that of the column."),
        WINS,
    ),
    "model_wins": (
        gettext_lazy("Endpoints and models against one another"),
        gettext_lazy("Share of votes that the model of the row won against that of the column."),
        WINS,
    ),
}


def wins(board: Board, about: About) -> dict:
    """Share of an item's votes that each strategy won, as the mean over the items offering it."""
    rows, (names, codes) = board.rows, board.origins["strategies"]
    counts = kappas.count_votes(rows.item, rows.category, len(rows.items), len(board.labels))
    table = []
    for code, name in enumerate(names):
        offered = codes == code
        offering = offered.any(axis=1)
        all_votes = counts[offering].sum(axis=1)
        won = (counts[:, : codes.shape[1]] * offered)[offering].sum(axis=1)
        share = kappas.mean_share(kappas.patterns_of(np.stack([won, all_votes - won], axis=1)), 0)
        votes, items = int(all_votes.sum()), int(offering.sum())
        table.append((name, items, votes, share.value, share.low, share.high))
    table.sort(key=lambda row: (-(row[3] or 0), row[0]))
    marks = [Dot(row[0], *row[3:6]) for row in table]
    even = 1 / board.definition.config["options"]
    svg = about.draw(charts.dots, marks, reference=even, axes=(_("Share of votes"), _("Strategy")))
    header = (_("Strategy"), _("Items"), _("Votes"), _("Share of votes"), _("low"), _("high"))
    return board.of_rows(header=header, rows=table, svg=svg)


def control(board: Board, about: About) -> dict:
    """How often annotators preferred a generic answer to the others of an item."""
    rows, (names, codes) = board.rows, board.origins["strategies"]
    generic: np.ndarray = np.isin(
        codes, [code for code, name in enumerate(names) if name in GENERIC]
    )
    offering: np.ndarray = generic.any(axis=1) & ((codes >= 0) & ~generic).any(axis=1)
    if not offering.any():
        return {"reason": _("No item has a generic answer among others.")}
    won, workers = _controls_of(rows, generic, offering)
    item = rows.item[offering[rows.item]]
    by_item = np.zeros((len(rows.items), 2), dtype=int)
    np.add.at(by_item, (item, np.where(won, 0, 1)), 1)
    share = kappas.mean_share(kappas.patterns_of(by_item[offering]), 0)
    table = [(_("All"), int(offering.sum()), len(won), share.value, share.low, share.high)]
    more = 0
    for worker in np.unique(workers):
        of_worker = workers == worker
        chosen, votes = int(won[of_worker].sum()), int(of_worker.sum())
        more += chosen * 2 > votes
        exact = clopper_pearson(chosen, votes)
        items = len(np.unique(item[of_worker]))
        table.append((rows.workers[worker], items, votes, exact.value, exact.low, exact.high))
    annotators = len(table) - 1
    lead = _("%(n)d of %(all)d annotators preferred it in more than half of their votes.")
    lead = lead % {"n": more, "all": annotators}
    marks = [Dot(row[0], *row[3:6]) for row in table[: MOST_RATERS + 1]]
    axes = (_("Share of votes"), _("Annotator"))
    svg = about._replace(lead=lead).draw(charts.dots, marks, axes=axes)
    header = (_("Annotator"), _("Items"), _("Votes"), _("Share of votes"), _("low"), _("high"))
    return {
        "header": header,
        "rows": table,
        "votes": len(won),
        "items": table[0][1],
        "svg": svg,
        "lead": f"{lead} {about.lead}",
    }


def _controls_of(
    rows: Rows, generic: np.ndarray, offering: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of each vote on an item that offers a control: whether it won, and whose vote it is."""
    among = offering[rows.item]
    item, number = rows.item[among], rows.number[among]
    won = (number > 0) & generic[item, np.maximum(number - 1, 0)]
    return won, rows.worker[among]


def comparisons(board: Board, names: str) -> dict | None:
    """Votes on pairs of different ``names`` ("strategies" or "models"); None without any.

    Arrays by vote: ``left`` and ``right`` (codes of ``names``; ``left`` was shown first where
    ``order`` is true), ``score`` of ``left`` (1, 0, or 0.5 for a tie) and ``item``.
    """
    rows, (every, codes) = board.rows, board.origins[names]
    pair = codes[rows.item]
    tie = rows.category == board.labels.index("tie") if "tie" in board.labels else False
    used = (pair[:, 0] != pair[:, 1]) & ((rows.number > 0) | tie)
    if not used.any():
        return None
    first, number = rows.first[used], rows.number[used]
    turned = first == 2
    left = np.where(turned, pair[used, 1], pair[used, 0])
    right = np.where(turned, pair[used, 0], pair[used, 1])
    ahead = np.where(turned, number == 2, number == 1)
    present, coded = np.unique(np.concatenate([left, right]), return_inverse=True)
    return {
        "names": [every[n] for n in present],
        "left": coded[: len(left)],
        "right": coded[len(left) :],
        "score": np.where(number == 0, 0.5, ahead),
        "item": rows.item[used],
        "order": bool((first > 0).all()),
    }


def ranking(board: Board, about: About) -> dict:
    """Bradley-Terry strengths of strategies or of endpoints, from the votes on pairs."""
    if board.definition.config["options"] != 2:
        return {"reason": _("Strengths are estimated from pairs; this task shows three answers.")}
    votes = comparisons(board, about.key)
    if votes is None:
        return {"reason": _("No vote compares two of them.")}
    names, left, right = votes["names"], votes["left"], votes["right"]
    fit = bradley_terry(
        left, right, votes["score"], len(names), item=votes["item"], order=votes["order"]
    )
    if fit.strength is None:
        return {"reason": translated(fit.reason)}
    compared = np.bincount(left, minlength=len(names)) + np.bincount(right, minlength=len(names))
    return ranked(about, fit, names, compared, votes["item"])


def win_matrix(board: Board, about: About) -> dict:
    """How often each strategy, endpoint or model beat each other; a tie is half a win."""
    if board.definition.config["options"] != 2:
        return {"reason": _("Wins are counted over pairs; this task shows three answers.")}
    votes = comparisons(board, WON_BY[about.key])
    if votes is None:
        return {"reason": _("No vote compares two of them.")}
    names, left, right, score = (votes[key] for key in ("names", "left", "right", "score"))
    won, compared = np.zeros((2, len(names), len(names)))
    np.add.at(won, (left, right), score)
    np.add.at(won, (right, left), 1 - score)
    np.add.at(compared, (left, right), 1)
    compared += compared.T
    table = [
        (names[a], names[b], int(compared[a, b]), float(won[a, b] / compared[a, b]))
        for a, b in zip(*np.nonzero(compared), strict=True)
    ]
    place = {name: n for n, name in enumerate(names)}
    cells: dict[tuple[int, int], float | None] = {
        (place[a], place[b]): share for a, b, _n, share in table
    }
    rows = [f"{n}  {name}" for n, name in enumerate(names, start=1)]
    heads = [str(n) for n in range(1, len(names) + 1)]
    axes = (_("Share won against, by number"), _("Name"))
    svg = about.draw(charts.grid, rows, heads, cells, axes=axes)
    header: tuple[str, ...] = (_("Name"), _("against"), _("Votes"), _("Share won"))
    size = {"votes": len(left), "items": len(np.unique(votes["item"]))}
    return {"header": header, "rows": table, "svg": svg, **size}


def ranked(
    about: About, fit: BradleyTerry, names: list[str], votes: np.ndarray, item: np.ndarray
) -> dict:
    columns: tuple = (names, votes, fit.strength, fit.low, fit.high)
    table: list[tuple] = [
        (name, int(n), *map(float, rest)) for name, n, *rest in zip(*columns, strict=True)
    ]
    table.sort(key=lambda row: (-row[2], row[0]))
    marks = [Dot(row[0], *row[2:5]) for row in table]
    svg = about.draw(charts.dots, marks, reference=0, axes=(_("Strength (log odds)"), _("Name")))
    first = fit.order
    if first.value is not None:
        table.append((_("shown first"), len(item), first.value, first.low, first.high))
    lead = about.lead
    if fit.regularised:
        lead += " " + _(
            "Regularised: the votes do not connect all of them, so each got half a win and half "
            "a loss against an opponent of strength 0."
        )
    header: tuple[str, ...] = (_("Name"), _("Votes"), _("Strength (log odds)"), _("low"), _("high"))
    size = {"votes": len(item), "items": len(np.unique(item))}
    return {"header": header, "rows": table, "svg": svg, "lead": lead, **size}
