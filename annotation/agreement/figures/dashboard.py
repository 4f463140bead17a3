"""The figures of one task of a study: what the statistics say of its votes."""

import itertools
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import cast

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.agreement.figures import summary
from annotation.agreement.figures.wording import tier_name, translated
from annotation.agreement.models import AgreementResult
from annotation.agreement.statistics import cohen, kappas, rater_signs, side_bias
from annotation.agreement.statistics.bradley_terry import BradleyTerry, bradley_terry
from annotation.agreement.statistics.intervals import clopper_pearson
from annotation.agreement.task_votes import MOST_RATERS, Rows, TaskVotes
from annotation.agreement.tiers.rules import TIERS
from annotation.candidates.strategies import GENERIC
from annotation.core import charts
from annotation.core.charts import Dot

MOST_POINTS = 20
TABLE_ROWS = 50
FILLED_DAYS = timedelta(days=120)
EDGES = (0, 5, 10, 20, 30, 60, 120, 300, 600)
HOLM = 0.05
# The win matrices, and whose wins they count.
WON_BY = {"strategy_wins": "strategies", "model_wins": "models"}


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


class Board(TaskVotes):
    """The votes of one task with the figures of its page."""

    def figure(self, key: str) -> Figure:
        """Compute one figure; KeyError where there is none of this name."""
        make = self.makers[key]
        about = {"key": key, **self.words()[key]}
        if not self.totals["votes"]:
            return Figure(**about, reason=_("There are no votes yet."))
        return Figure(**{**about, **make(self, about)})

    @property
    def makers(self) -> dict:
        """{name: what makes the figure} of every figure of the task's page, in order."""
        return FIGURES

    def words(self) -> dict[str, dict]:
        """{name: title, lead and how} of every figure."""
        return _words()


def _words() -> dict[str, dict]:
    """Title, what is shown and how it is computed, of every figure."""
    columns = ("title", "lead", "how")
    return {
        key: dict(zip(columns, words, strict=True))
        for source in (summary.words, _words_of_progress, _words_of_votes, _words_of_strategies)
        for key, words in source().items()
    }


def _words_of_progress() -> dict[str, tuple]:
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
        "patterns": (
            _("Vote patterns"),
            _("Items that have all their judgments, by the split of their votes."),
            _("A count of complete items; the answers of a split are in order of their votes."),
        ),
        "tiers": (
            _("Tiers against their bands"),
            _("Kappa of each tier with its interval; the shade is the band it must lie in."),
            _(
                "Rule kappa-bands, version 1. A band is checked in whole numbers, on 30 items or "
                "more; so is the kappa that new annotators would show. Votes an item: least, "
                "median, most. Fleiss' kappa and alpha depend on which answer is stored first, and "
                "mean little within a tier."
            ),
        ),
        "seconds": (
            _("Time per item"),
            _("Active seconds of a judgment."),
            _("Quartiles and counts of the judgments whose time is known."),
        ),
    }


def _words_of_votes() -> dict[str, tuple]:
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


def _words_of_strategies() -> dict[str, tuple]:
    strengths = _(
        "Bradley and Terry's model by maximum likelihood, sum of strengths 0; a tie is half a "
        "win. The standard error is clustered by item, since votes on one item are not "
        "independent. Where every order is known, being shown first has a term of its own."
    )
    wins = _("A count of the votes on pairs of the two; a tie is half a win for each.")
    return {
        "wins": (
            _("Share of votes by strategy"),
            _("How often an answer of each strategy was chosen where it was offered."),
            _("The mean over items of the share of their votes, with the t-interval over items."),
        ),
        "control": (
            _("Generic answers preferred"),
            _("Share of votes for the generic answer where it stood among others, unmarked."),
            _(
                "All: the mean over items of the share of their votes, with the t-interval over "
                "items. Each annotator: the exact binomial interval. Generic are the answers to "
                "the question alone."
            ),
        ),
        "strategies": (
            _("Strategies ranked"),
            _("Strength of each strategy, in log odds, with its 95 % interval."),
            strengths,
        ),
        "models": (
            _("Endpoints and models ranked"),
            _("Strength of each endpoint or model, in log odds, with its 95 % interval."),
            strengths,
        ),
        "strategy_wins": (
            _("Strategies against one another"),
            _("Share of votes that the strategy of the row won against that of the column."),
            wins,
        ),
        "model_wins": (
            _("Endpoints and models against one another"),
            _("Share of votes that the model of the row won against that of the column."),
            wins,
        ),
    }


def by_day(board: Board, about: dict) -> dict:
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
    svg = charts.columns(
        "days",
        about["title"],
        about["lead"],
        [(f"{d[8:]}.{d[5:7]}.", n) for d, n, _t in rows],
        axes=(_("Day (UTC)"), _("Judgments")),
    )
    header: tuple[str, ...] = (_("Day"), _("Judgments"), _("In all"))
    return {"header": header, "rows": rows, "svg": svg, "votes": total}


def by_rater(board: Board, about: dict) -> dict:
    """Judgments an annotator, with the median time."""
    rows = board.raters
    svg = charts.bars(
        "raters",
        about["title"],
        about["lead"],
        [row[:2] for row in rows[:MOST_RATERS]],
        axes=(_("Judgments"), _("Annotator")),
    )
    header: tuple[str, ...] = (_("Annotator"), _("Judgments"), _("Median seconds"))
    return {"header": header, "rows": rows, "svg": svg, "votes": sum(row[1] for row in rows)}


def over_time(board: Board, about: dict) -> dict:
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
    svg = charts.band(
        "time",
        about["title"],
        about["lead"],
        points,
        axes=(_("Votes, by time"), _("Symmetric kappa")),
    )
    header: tuple[str, ...] = (
        _("Votes"),
        _("Items"),
        _("Symmetric kappa"),
        _("low"),
        _("high"),
        _("Reason"),
    )
    return board.of_rows(header=header, rows=table, svg=svg)


def vote_patterns(board: Board, about: dict) -> dict:
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
    svg = charts.columns(
        "patterns", about["title"], about["lead"], rows, axes=(_("Votes by answer"), _("Items"))
    )
    header: tuple[str, ...] = (_("Votes by answer"), _("Items"), _("Share"))
    votes = sum(sum(split) * n for split, n in tally.items())
    return {"header": header, "rows": table, "svg": svg, "votes": votes, "items": items}


def tier_rows(result: AgreementResult) -> list[tuple[str, dict, str]]:
    """A result's tiers from clear to disputed: name, figures, and what is to be said of them."""
    rows = [(name, result.tiers["tiers"][name]) for name in TIERS]
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


def tiers(board: Board, about: dict) -> dict:
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
    svg = charts.dots(
        "tiers",
        about["title"],
        about["lead"],
        marks,
        axes=(_("Symmetric kappa"), _("Tier (items)")),
    )
    items = result.tiers["all"]["items"]
    return {"header": header, "rows": rows, "svg": svg, "votes": result.votes, "items": items}


def _group(group: dict) -> tuple:
    """Items, votes an item and the coefficients of a tier, or of all items."""
    n, kappa = group["votes_per_item"], group["symmetric_kappa"]
    several = "" if n["min"] is None else f"{n['min']} / {n['median']:g} / {n['max']}"
    raw = (group[key]["value"] for key in ("fleiss_kappa", "gwet_ac1", "krippendorff_alpha"))
    limits = (kappa["value"], kappa.get("low"), kappa.get("high"))
    return (group["items"], several, group["percent_agreement"]["value"], *limits, *raw)


def matrix(board: Board, about: dict) -> dict:
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
    svg = charts.heat(
        "matrix",
        about["title"],
        about["lead"],
        names,
        cells,
        axes=(_("Annotator, by number"), _("Annotator")),
    )
    header: tuple[str, ...] = (
        _("Annotator"),
        _("and"),
        _("Shared items"),
        _("Cohen's kappa"),
        _("SE"),
        _("Reason"),
    )
    return board.of_rows(header=header, rows=table, svg=svg)


def sides(board: Board, about: dict) -> dict:
    """Whether the place an answer was shown on decides votes."""
    rows = board.rows
    placed = rows.place > 0
    if not placed.any():
        return {"reason": _("Of no vote is it known in which order the answers were shown.")}
    if board.definition.config["options"] != 2:
        return _places(board, about, rows.place[placed])
    item, worker, first = rows.item[placed], rows.worker[placed], rows.place[placed] == 1
    share, p = side_bias.side_bias(item, first)
    table: list[tuple] = [
        (_("all"), len(first), int(first.sum()), share.value, share.low, share.high, p, None,
         translated(share.reason))
    ]  # fmt: skip
    by_rater = side_bias.annotator_side_bias(worker, first, len(rows.workers))
    for code in (code for code in board.busiest if by_rater["votes"][code]):
        n, chose = int(by_rater["votes"][code]), int(by_rater["first"][code])
        share = clopper_pearson(chose, n)
        p, holm = float(by_rater["p"][code]), float(by_rater["p_holm"][code])
        table.append(
            (rows.workers[code], n, chose, share.value, share.low, share.high, p, holm, "")
        )
    marks = [Dot(str(row[0]), *row[3:6]) for row in table if row[3] is not None]
    svg = charts.dots(
        "sides",
        about["title"],
        about["lead"],
        marks,
        reference=0.5,
        axes=(_("Share of choices of the first"), _("Annotator")),
    )
    header: tuple[str, ...] = (
        _("Annotator"),
        _("Choices"),
        _("of the first"),
        _("Share"),
        _("low"),
        _("high"),
    )
    header += (_("p"), _("p (Holm)"), _("Reason"))
    votes, items = len(first), len(np.unique(item))
    return {"header": header, "rows": table, "svg": svg, "votes": votes, "items": items}


def _places(board: Board, about: dict, place: np.ndarray) -> dict:
    """Choices by place, where more than two answers are shown: there is no test of it here."""
    options = board.definition.config["options"]
    counts = np.bincount(place, minlength=options + 1)[1:].tolist()
    table = [(n, count, count / len(place)) for n, count in enumerate(counts, start=1)]
    bars = [(_("Place %(n)d") % {"n": n}, count) for n, count, _share in table]
    svg = charts.bars("sides", about["title"], about["lead"], bars, axes=(_("Choices"), _("Place")))
    header: tuple[str, ...] = (_("Place"), _("Choices"), _("Share"))
    return {"header": header, "rows": table, "svg": svg, "votes": len(place)}


def seconds(board: Board, about: dict) -> dict:
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
    svg = charts.columns(
        "seconds", about["title"], lead, bins, axes=(_("Active time (s)"), _("Judgments"))
    )
    header: tuple[str, ...] = (_("Seconds"), _("Judgments"))
    figure = board.of_rows(header=header, rows=table, svg=svg, lead=lead)
    return {**figure, "votes": len(timed)}


def wins(board: Board, about: dict) -> dict:
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
    svg = charts.dots(
        "wins",
        about["title"],
        about["lead"],
        marks,
        reference=even,
        axes=(_("Share of votes"), _("Strategy")),
    )
    header: tuple[str, ...] = (
        _("Strategy"),
        _("Items"),
        _("Votes"),
        _("Share of votes"),
        _("low"),
        _("high"),
    )
    return board.of_rows(header=header, rows=table, svg=svg)


def control(board: Board, about: dict) -> dict:
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
    svg = charts.dots("control", about["title"], lead, marks, axes=axes)
    header: tuple[str, ...] = (
        _("Annotator"),
        _("Items"),
        _("Votes"),
        _("Share of votes"),
        _("low"),
        _("high"),
    )
    return {
        "header": header,
        "rows": table,
        "votes": len(won),
        "items": table[0][1],
        "svg": svg,
        "lead": f"{lead} {about['lead']}",
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


def ranking(board: Board, about: dict) -> dict:
    """Bradley-Terry strengths of strategies or of endpoints, from the votes on pairs."""
    if board.definition.config["options"] != 2:
        return {"reason": _("Strengths are estimated from pairs; this task shows three answers.")}
    votes = comparisons(board, about["key"])
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


def win_matrix(board: Board, about: dict) -> dict:
    """How often each strategy, endpoint or model beat each other; a tie is half a win."""
    if board.definition.config["options"] != 2:
        return {"reason": _("Wins are counted over pairs; this task shows three answers.")}
    votes = comparisons(board, WON_BY[about["key"]])
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
    svg = charts.grid(about["key"], about["title"], about["lead"], rows, heads, cells, axes=axes)
    header: tuple[str, ...] = (_("Name"), _("against"), _("Votes"), _("Share won"))
    size = {"votes": len(left), "items": len(np.unique(votes["item"]))}
    return {"header": header, "rows": table, "svg": svg, **size}


def ranked(
    about: dict, fit: BradleyTerry, names: list[str], votes: np.ndarray, item: np.ndarray
) -> dict:
    columns: tuple = (names, votes, fit.strength, fit.low, fit.high)
    table: list[tuple] = [
        (name, int(n), *map(float, rest)) for name, n, *rest in zip(*columns, strict=True)
    ]
    table.sort(key=lambda row: (-row[2], row[0]))
    marks = [Dot(row[0], *row[2:5]) for row in table]
    svg = charts.dots(
        about["key"],
        about["title"],
        about["lead"],
        marks,
        reference=0,
        axes=(_("Strength (log odds)"), _("Name")),
    )
    first = fit.order
    if first.value is not None:
        table.append((_("shown first"), len(item), first.value, first.low, first.high))
    lead = about["lead"]
    if fit.regularised:
        lead += " " + _(
            "Regularised: the votes do not connect all of them, so each got half a win and half "
            "a loss against an opponent of strength 0."
        )
    header: tuple[str, ...] = (_("Name"), _("Votes"), _("Strength (log odds)"), _("low"), _("high"))
    size = {"votes": len(item), "items": len(np.unique(item))}
    return {"header": header, "rows": table, "svg": svg, "lead": lead, **size}


def rater_flags(board: Board, about: dict) -> dict:
    """Signs that somebody does not read, with their evidence."""
    rows, workers = board.rows, len(board.rows.workers)
    shape = (len(rows.items), workers, len(board.labels))
    agreed = rater_signs.agreement_flags(rows.item, rows.worker, rows.category, shape)
    timed = board.pace > 0
    speed = rater_signs.speed_flags(
        rows.worker[timed], board.pace[timed], np.zeros(timed.sum(), dtype=int), workers
    )
    placed = rows.place > 0
    side = side_bias.annotator_side_bias(rows.worker[placed], rows.place[placed] == 1, workers)
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
    return board.of_rows(header=header, rows=table, lead=f"{lead} {about['lead']}")


FIGURES = {
    "agreement": summary.agreement,
    "tiers": tiers,
    "patterns": vote_patterns,
    "time": over_time,
    "days": by_day,
    "raters": by_rater,
    "seconds": seconds,
    "matrix": matrix,
    "sides": sides,
    "wins": wins,
    "control": control,
    "strategies": ranking,
    "models": ranking,
    "strategy_wins": win_matrix,
    "model_wins": win_matrix,
    "flags": rater_flags,
}
