"""The figures of one task of a study: its rows as arrays, and what the statistics say of them.

Progress and vote patterns are added up by the database. The rest is computed from single votes,
of at most ``CAP`` of them: the votes of the study's first items. Reading many single votes takes
longer than all that is computed from them, so the recomputation leaves them ready.
"""

import io
import itertools
from dataclasses import dataclass, field, fields
from datetime import date, timedelta
from functools import cached_property

import numpy as np
from django.db.models import Aggregate, Case, Count, F, FloatField, IntegerField, Q, Sum, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, TruncDate
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.agreement import reading
from annotation.agreement.figures import charts, summary
from annotation.agreement.figures.charts import Dot
from annotation.agreement.figures.wording import said, tier_name
from annotation.agreement.models import AgreementResult, StoredVotes
from annotation.agreement.statistics import cohen, kappas, rater_signs, side_bias
from annotation.agreement.statistics.bradley_terry import bradley_terry
from annotation.agreement.statistics.intervals import clopper_pearson
from annotation.agreement.tiers.rules import TIERS
from annotation.judging.kinds import kind_of
from annotation.judging.models import ItemOption

CAP = 200_000
# So few are read when a page asks, and the page is up to date.
READ_AT_ONCE = 20_000
MOST_RATERS = 40
MOST_POINTS = 20
TABLE_ROWS = 50
FILLED_DAYS = timedelta(days=120)
EDGES = (0, 5, 10, 20, 30, 60, 120, 300, 600)
HOLM = 0.05


class Median(Aggregate):
    """PostgreSQL's median of a column."""

    function = "PERCENTILE_CONT"
    template = "%(function)s(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()


def _shown_at(place: int):
    """The number of the answer shown at a place from 0; 0 where it is not known."""
    return Coalesce(Cast(KeyTextTransform(place, "shown"), IntegerField()), 0)


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
    def cells(self) -> list[list[str]]:
        """The table's first rows as text; a dash for what is not known."""
        return [[_shown(value) for value in row] for row in self.rows[:TABLE_ROWS]]


def _shown(value) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return f"{value:,.3f}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Rows:
    """One row a vote, in order of submission; codes from 0 into ``items`` and ``workers``.

    An item is its position in the study. ``category`` is the place of the vote's label among the
    task's, ``number`` the canonical number chosen (0 for none of them), ``place`` where that answer
    was shown (0: not known), ``first`` the number shown first (0: not known), ``seconds`` the time
    spent (NaN: not known).
    """

    items: list
    workers: list
    item: np.ndarray
    worker: np.ndarray
    category: np.ndarray
    number: np.ndarray
    place: np.ndarray
    first: np.ndarray
    seconds: np.ndarray

    def __len__(self):
        return len(self.item)

    def pack(self) -> bytes:
        """The rows as bytes, from which ``unpack`` makes the same rows again."""
        packed = io.BytesIO()
        np.savez_compressed(packed, **vars(self))
        return packed.getvalue()

    @classmethod
    def unpack(cls, packed: bytes) -> "Rows":
        """The rows that were packed."""
        with np.load(io.BytesIO(packed), allow_pickle=False) as stored:
            found = {one.name: stored[one.name] for one in fields(cls)}
        lists = {name: found[name].tolist() for name in ("items", "workers")}
        return cls(**(found | lists))


class Board:
    """One task of a study. What several figures need is read once.

    ``afresh``: from the votes themselves, however many there are.
    """

    def __init__(self, study, definition, *, afresh=False):
        self.study, self.definition, self.afresh = study, definition, afresh
        self.task, self.kind = definition.name, kind_of(definition.kind)
        self.items = reading.items(study, self.task, [definition.kind])

    @cached_property
    def labels(self) -> list[str]:
        """All labels that could be given, in the order of their codes."""
        return reading.labels(self.definition)

    @property
    def counts(self) -> list[str]:
        """Each label's counter (``reading.items``)."""
        return [f"given_{label}" for label in self.labels]

    @property
    def judgments(self):
        """The task's judgments that count."""
        return reading.selections(self.study, self.task)

    @cached_property
    def totals(self) -> dict:
        """Votes there are, without those of people who left, and wanted; items, complete items."""
        return self.items.aggregate(
            votes=Sum("given", default=0),
            wanted=Sum("overlap", default=0),
            items=Count("pk"),
            complete=Count("pk", filter=Q(given__gte=F("overlap"))),
        )

    @cached_property
    def result(self) -> AgreementResult | None:
        """Agreement and tiers as last recomputed; None too where an older version did it."""
        found = self.study.agreement_results.filter(task=self.task).first()
        return found if found and found.current else None

    @property
    def level(self) -> str:
        """The scale of the labels, a level of ``stats.LEVELS``."""
        return "nominal"

    @cached_property
    def stored(self) -> StoredVotes | None:
        """The votes as of the last recomputation, where there are too many to read them again."""
        if self.afresh or self.totals["votes"] <= READ_AT_ONCE:
            return None
        return StoredVotes.objects.filter(result__study=self.study, result__task=self.task).first()

    @cached_property
    def last(self) -> int | None:
        """Place of the last item whose single votes are read; None for all of them."""
        return reading.last_position(self.study, self.task, CAP, [self.definition.kind])

    @cached_property
    def patterns(self) -> list[tuple[tuple[int, ...], bool, int]]:
        """(votes by label, whether the item is complete, items) of every pattern there is."""
        names = (*self.counts, "given", "overlap")
        rows = self.items.filter(given__gt=0).values_list(*names)
        found = rows.annotate(n=Count("pk")).order_by(*names)
        return [(row[:-3], row[-3] >= row[-2], row[-1]) for row in found]

    @cached_property
    def days(self) -> list[tuple[str, int]]:
        """(day in ISO 8601, judgments) of every day (UTC) with judgments, added up by SQL."""
        if self.stored:
            return [tuple(row) for row in self.stored.progress["days"]]
        found = self.judgments.annotate(day=TruncDate("submitted_at")).values_list("day")
        return [(day.isoformat(), n) for day, n in found.annotate(n=Count("pk")).order_by("day")]

    @cached_property
    def raters(self) -> list[tuple[str, int, float | None]]:
        """(annotator, judgments, median of their seconds), most judgments first, by SQL."""
        if self.stored:
            return [tuple(row) for row in self.stored.progress["raters"]]
        found = self.judgments.values_list("annotator_id", "annotator__worker")
        found = found.annotate(n=Count("pk"), median=Median("seconds"))
        return [
            (reading.worker_name(user, worker), n, median)
            for user, worker, n, median in found.order_by("-n", "annotator_id")
        ]

    def keep(self, result) -> None:
        """Store what takes long to read beside the ``result`` of a recomputation."""
        if self.totals["votes"] <= READ_AT_ONCE:
            StoredVotes.objects.filter(result=result).delete()
            return
        progress = {"days": self.days, "raters": self.raters}
        StoredVotes.objects.update_or_create(
            result=result, defaults={"rows": self.rows.pack(), "progress": progress}
        )

    @cached_property
    def rows(self) -> Rows:
        """The single votes, as numbers only: making objects of them would take most of the time."""
        return Rows.unpack(self.stored.rows) if self.stored else self._read_rows()

    def _read_rows(self) -> Rows:
        found = self._choices().annotate(
            first=_shown_at(0),
            second=_shown_at(1),
            time=Coalesce("seconds", -1.0),
        )
        fields = ("slot__item__position", "annotator_id", "number", "first", "second", "time")
        found = found.order_by("submitted_at", "slot_id").values_list(*fields)
        table = np.array(list(found.iterator(20_000)), dtype=float).reshape(-1, len(fields))
        position, user, number, first, second, time = table.T
        items, item = np.unique(position.astype(int), return_inverse=True)
        users, worker = np.unique(user.astype(int), return_inverse=True)
        code_of = {"tie": -1, "none": -2}
        codes = [code_of.get(label) or int(label) for label in self.labels]
        category = np.argmax(number[:, None] == np.array(codes), axis=1)
        place = np.where(number == first, 1, np.where(number == second, 2, 3))
        place[(number < 1) | (first == 0)] = 0
        return Rows(
            items=items.tolist(),
            workers=self._names(users.tolist()),
            item=item,
            worker=worker,
            category=category,
            number=np.maximum(number, 0).astype(int),
            place=place,
            first=first.astype(int),
            seconds=np.where(time < 0, np.nan, time),
        )

    def _choices(self):
        """The votes that are read, with the ``number`` chosen: -1 for a tie, -2 for none."""
        code = Case(When(outcome="tie", then=-1), When(outcome="none", then=-2), default=0)
        found = reading.selections(self.study, self.task, self.last)
        return found.annotate(number=Coalesce("choice__number", code))

    def _names(self, users) -> list[str]:
        found = dict(User.objects.filter(pk__in=users).values_list("pk", "worker"))
        return [reading.worker_name(user, found[user]) for user in users]

    @cached_property
    def busiest(self) -> np.ndarray:
        """Codes of the annotators with most votes, at most MOST_RATERS, most votes first."""
        votes = np.bincount(self.rows.worker, minlength=len(self.rows.workers))
        return np.argsort(-votes, kind="stable")[:MOST_RATERS]

    @cached_property
    def origins(self) -> dict[str, tuple[list[str], np.ndarray]]:
        """Names, in order, of the answers' strategies and models, and a code for every answer.

        The codes are (items, options), items as in ``rows``; -1 where an item has no such answer.
        """
        found = ItemOption.objects.filter(item__in=self.items)
        if self.last is not None:
            found = found.filter(item__position__lte=self.last)
        fields = ("item__position", "number", "candidate__strategy")
        rows = found.values_list(*fields, "candidate__endpoint", "candidate__model")
        place = {position: n for n, position in enumerate(self.rows.items)}
        shown = [row for row in rows.iterator(20_000) if row[0] in place]
        at = [place[row[0]] for row in shown], [row[1] - 1 for row in shown]
        texts = {
            "strategies": [row[2] or _("not named") for row in shown],
            "models": [row[3] or row[4] or _("not named") for row in shown],
        }
        return {key: self._coded(at, named) for key, named in texts.items()}

    def _coded(self, at, named) -> tuple[list[str], np.ndarray]:
        names = sorted(set(named))
        code = {name: n for n, name in enumerate(names)}
        table = np.full((len(self.rows.items), self.definition.config["options"]), -1)
        table[at] = [code[name] for name in named]
        return names, table

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

    def of_rows(self, **found) -> dict:
        """``found`` with the votes and items that single votes were read of."""
        return {"votes": len(self.rows), "items": len(self.rows.items), **found}

    def disputed(self, tier: str = ""):
        """Items with two votes or more, the most disputed first: lowest own kappa, most votes.

        ``tier`` asks for the items of that tier, those of one vote last.
        """
        n = Cast("given", FloatField())
        same = sum(
            Cast(name, FloatField()) * (Cast(name, FloatField()) - 1) for name in self.counts
        )
        k = float(len(self.labels))
        own = (k * same / (n * (n - 1.0)) - 1.0) / (k - 1.0)
        found = self.items.filter(given__gte=2)
        if tier:
            found = self.items.filter(given__gte=1, tier__tier=tier)
        found = found.annotate(kappa=Case(When(given__gte=2, then=own)))
        return found.select_related("tier").order_by("kappa", "-given", "position")

    def votes_of(self, item) -> str:
        """The votes of an item by label, as they stand in a table."""
        votes = ((label, getattr(item, f"given_{label}")) for label in self.labels)
        return ", ".join(f"{label}: {n}" for label, n in votes if n)


def _words() -> dict[str, dict]:
    """Title, what is shown and how it is computed, of every figure."""
    columns = ("title", "lead", "how")
    return {
        key: dict(zip(columns, words, strict=True))
        for key, words in {**summary.words(), **_words_of_progress(), **_words_of_votes()}.items()
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
    strengths = _(
        "Bradley and Terry's model by maximum likelihood, sum of strengths 0; a tie is half a "
        "win. The standard error is clustered by item, since votes on one item are not "
        "independent. Where every order is known, being shown first has a term of its own."
    )
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
        "wins": (
            _("Share of votes by strategy"),
            _("How often an answer of each strategy was chosen where it was offered."),
            _("The mean over items of the share of their votes, with the t-interval over items."),
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
        "flags": (
            _("Annotators to look at"),
            _("A sign asks a person to look; it removes no vote."),
            _(
                "Disagrees: 50 votes or more, and so few with the majority of the others that the "
                "pool's rate would give them with p < .001. Fast: median robust z of log time "
                "under −3, or over 20 % of the last 50 under −3. One side: Holm's p under .05."
            ),
        ),
    }


def by_day(board, about) -> dict:
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
        "days", about["title"], about["lead"], [(f"{d[8:]}.{d[5:7]}.", n) for d, n, _t in rows]
    )
    header = (_("Day"), _("Judgments"), _("In all"))
    return {"header": header, "rows": rows, "svg": svg, "votes": total}


def by_rater(board, about) -> dict:
    """Judgments an annotator, with the median time."""
    rows = board.raters
    svg = charts.bars(
        "raters", about["title"], about["lead"], [row[:2] for row in rows[:MOST_RATERS]]
    )
    header = (_("Annotator"), _("Judgments"), _("Median seconds"))
    return {"header": header, "rows": rows, "svg": svg, "votes": sum(row[1] for row in rows)}


def over_time(board, about) -> dict:
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
        table.append((end, patterns.items, kappa.value, kappa.low, kappa.high, said(kappa.reason)))
    points = [(row[0], *row[2:5]) for row in table]
    svg = charts.band("time", about["title"], about["lead"], points)
    header = (_("Votes"), _("Items"), _("Symmetric kappa"), _("low"), _("high"), _("Reason"))
    return board.of_rows(header=header, rows=table, svg=svg)


def vote_patterns(board, about) -> dict:
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
    svg = charts.columns("patterns", about["title"], about["lead"], rows)
    header = (_("Votes by answer"), _("Items"), _("Share"))
    votes = sum(sum(split) * n for split, n in tally.items())
    return {"header": header, "rows": table, "svg": svg, "votes": votes, "items": items}


def tier_rows(result) -> list[tuple[str, dict, str]]:
    """A result's tiers from clear to disputed: name, figures, and what is to be said of them."""
    rows = [(name, result.tiers["tiers"][name]) for name in TIERS]
    return [
        (
            name,
            tier,
            said("; ".join(filter(None, (tier["note"], tier["symmetric_kappa"].get("reason"))))),
        )
        for name, tier in rows
    ]


def tiers(board, about) -> dict:
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
    header = (_("Tier"), _("Items"), _("Votes an item"), _("Percent agreement"))
    header += (_("Symmetric kappa"), _("low"), _("high"), _("Fleiss' kappa"), _("Gwet's AC1"))
    header += (_("Krippendorff's alpha"), _("Band above"), _("up to"), _("In band"))
    header += (_("New panel's kappa"), _("In band"), _("Note"))
    svg = charts.dots("tiers", about["title"], about["lead"], marks)
    items = result.tiers["all"]["items"]
    return {"header": header, "rows": rows, "svg": svg, "votes": result.votes, "items": items}


def _group(group: dict) -> tuple:
    """Items, votes an item and the coefficients of a tier, or of all items."""
    n, kappa = group["votes_per_item"], group["symmetric_kappa"]
    several = "" if n["min"] is None else f"{n['min']} / {n['median']:g} / {n['max']}"
    raw = (group[key]["value"] for key in ("fleiss_kappa", "gwet_ac1", "krippendorff_alpha"))
    limits = (kappa["value"], kappa.get("low"), kappa.get("high"))
    return (group["items"], several, group["percent_agreement"]["value"], *limits, *raw)


def matrix(board, about) -> dict:
    """Cohen's kappa of every two annotators, of those with most votes."""
    rows, chosen = board.rows, board.busiest
    if len(chosen) < 2:
        return {"reason": _("Two annotators are needed.")}
    place = np.full(len(rows.workers), -1)
    place[chosen] = np.arange(len(chosen))
    mine = place[rows.worker] >= 0
    tables = cohen.confusions(
        rows.item[mine], place[rows.worker[mine]], rows.category[mine], len(chosen),
        len(board.labels),
    )  # fmt: skip
    if not len(tables.n):
        return {"reason": _("No two annotators share an item.")}
    found = cohen.cohen_table(tables)
    names = [rows.workers[code] for code in chosen]
    cells, table = {}, []
    for a, b, n, value, se in zip(*(found[c].tolist() for c in ("a", "b", "n", "value", "se")),
                                  strict=True):  # fmt: skip
        value, se = (None, None) if np.isnan(value) else (value, se)
        cells[b, a] = value
        reason = "" if value is not None else _("both used one and the same label")
        table.append((names[a], names[b], n, value, se, reason))
    svg = charts.heat("matrix", about["title"], about["lead"], names, cells)
    header = (_("Annotator"), _("and"), _("Shared items"), _("Cohen's kappa"), _("SE"), _("Reason"))
    return board.of_rows(header=header, rows=table, svg=svg)


def sides(board, about) -> dict:
    """Whether the place an answer was shown on decides votes."""
    rows = board.rows
    known = rows.place > 0
    if not known.any():
        return {"reason": _("Of no vote is it known in which order the answers were shown.")}
    if board.definition.config["options"] != 2:
        return _places(board, about, rows.place[known])
    item, worker, first = rows.item[known], rows.worker[known], rows.place[known] == 1
    share, p = side_bias.side_bias(item, first)
    table = [
        (_("all"), len(first), int(first.sum()), share.value, share.low, share.high, p, None,
         said(share.reason))
    ]  # fmt: skip
    found = side_bias.annotator_side_bias(worker, first, len(rows.workers))
    for code in (code for code in board.busiest if found["votes"][code]):
        n, chose = int(found["votes"][code]), int(found["first"][code])
        own = clopper_pearson(chose, n)
        p, holm = float(found["p"][code]), float(found["p_holm"][code])
        table.append((rows.workers[code], n, chose, own.value, own.low, own.high, p, holm, ""))
    marks = [Dot(str(row[0]), *row[3:6]) for row in table if row[3] is not None]
    svg = charts.dots("sides", about["title"], about["lead"], marks, reference=0.5)
    header = (_("Annotator"), _("Choices"), _("of the first"), _("Share"), _("low"), _("high"))
    header += (_("p"), _("p (Holm)"), _("Reason"))
    votes, items = len(first), len(np.unique(item))
    return {"header": header, "rows": table, "svg": svg, "votes": votes, "items": items}


def _places(board, about, place) -> dict:
    """Choices by place, where more than two answers are shown: there is no test of it here."""
    options = board.definition.config["options"]
    counts = np.bincount(place, minlength=options + 1)[1:].tolist()
    table = [(n, count, count / len(place)) for n, count in enumerate(counts, start=1)]
    bars = [(_("Place %(n)d") % {"n": n}, count) for n, count, _share in table]
    svg = charts.bars("sides", about["title"], about["lead"], bars)
    header = (_("Place"), _("Choices"), _("Share"))
    return {"header": header, "rows": table, "svg": svg, "votes": len(place)}


def seconds(board, about) -> dict:
    """Active time of a judgment: quartiles and a histogram."""
    known = board.rows.seconds[np.isfinite(board.rows.seconds)]
    if not known.size:
        return {"reason": _("Of no vote is the time known.")}
    counts = np.histogram(known, bins=[*EDGES, np.inf])[0].tolist()
    names = [f"{low}–{high}" for low, high in itertools.pairwise(EDGES)]
    bins = list(zip([*names, f"{EDGES[-1]}+"], counts, strict=True))
    quartiles = np.percentile(known, [25, 50, 75]).tolist()
    words = (_("lower quartile"), _("median"), _("upper quartile"))
    table = [(f"{name} s", n) for name, n in bins]
    table += [(f"{word}, s", value) for word, value in zip(words, quartiles, strict=True)]
    lead = _("Median %(median).0f s; half of the judgments took %(low).0f to %(high).0f s.") % {
        "median": quartiles[1], "low": quartiles[0], "high": quartiles[2],
    }  # fmt: skip
    svg = charts.columns("seconds", about["title"], lead, bins)
    header = (_("Seconds"), _("Judgments"))
    found = board.of_rows(header=header, rows=table, svg=svg, lead=lead)
    return {**found, "votes": len(known)}


def wins(board, about) -> dict:
    """Share of an item's votes that each strategy won, as the mean over the items offering it."""
    rows, (names, codes) = board.rows, board.origins["strategies"]
    counts = kappas.count_votes(rows.item, rows.category, len(rows.items), len(board.labels))
    table = []
    for code, name in enumerate(names):
        own = codes == code
        offering = own.any(axis=1)
        all_votes = counts[offering].sum(axis=1)
        won = (counts[:, : codes.shape[1]] * own)[offering].sum(axis=1)
        share = kappas.mean_share(kappas.patterns_of(np.stack([won, all_votes - won], axis=1)), 0)
        votes, items = int(all_votes.sum()), int(offering.sum())
        table.append((name, items, votes, share.value, share.low, share.high))
    table.sort(key=lambda row: (-row[3], row[0]))
    marks = [Dot(row[0], *row[3:6]) for row in table]
    even = 1 / board.definition.config["options"]
    svg = charts.dots("wins", about["title"], about["lead"], marks, reference=even)
    header = (_("Strategy"), _("Items"), _("Votes"), _("Share of votes"), _("low"), _("high"))
    return board.of_rows(header=header, rows=table, svg=svg)


def ranking(board, about) -> dict:
    """Bradley-Terry strengths of strategies or of endpoints, from the votes on pairs."""
    key, rows = about["key"], board.rows
    if board.definition.config["options"] != 2:
        return {"reason": _("Strengths are estimated from pairs; this task shows three answers.")}
    names, codes = board.origins[key]
    pair = codes[rows.item]
    tie = rows.category == board.labels.index("tie") if "tie" in board.labels else False
    mine = (pair[:, 0] != pair[:, 1]) & ((rows.number > 0) | tie)
    if not mine.any():
        return {"reason": _("No vote compares two of them.")}
    order = bool((rows.first[mine] > 0).all())
    turned = rows.first[mine] == 2
    one = np.where(turned, pair[mine, 1], pair[mine, 0])
    other = np.where(turned, pair[mine, 0], pair[mine, 1])
    ahead = np.where(turned, rows.number[mine] == 2, rows.number[mine] == 1)
    score = np.where(rows.number[mine] == 0, 0.5, ahead)
    used, coded = np.unique(np.concatenate([one, other]), return_inverse=True)
    one, other = coded[: len(one)], coded[len(one) :]
    found = bradley_terry(one, other, score, len(used), item=rows.item[mine], order=order)
    if found.strength is None:
        return {"reason": said(found.reason)}
    votes = np.bincount(one, minlength=len(used)) + np.bincount(other, minlength=len(used))
    return ranked(about, found, [names[n] for n in used], votes, rows.item[mine])


def ranked(about, found, names, votes, item) -> dict:
    columns = (names, votes, found.strength, found.low, found.high)
    table = [(name, int(n), *map(float, rest)) for name, n, *rest in zip(*columns, strict=True)]
    table.sort(key=lambda row: (-row[2], row[0]))
    marks = [Dot(row[0], *row[2:5]) for row in table]
    svg = charts.dots(about["key"], about["title"], about["lead"], marks, reference=0)
    first = found.order
    if first.value is not None:
        table.append((_("shown first"), len(item), first.value, first.low, first.high))
    lead = about["lead"]
    if found.regularised:
        lead += " " + _(
            "Regularised: the votes do not connect all of them, so each got half a win and half "
            "a loss against an opponent of strength 0."
        )
    header = (_("Name"), _("Votes"), _("Strength (log odds)"), _("low"), _("high"))
    size = {"votes": len(item), "items": len(np.unique(item))}
    return {"header": header, "rows": table, "svg": svg, "lead": lead, **size}


def rater_flags(board, about) -> dict:
    """Signs that somebody does not read, with their evidence."""
    rows, workers = board.rows, len(board.rows.workers)
    shape = (len(rows.items), workers, len(board.labels))
    agreed = rater_signs.agreement_flags(rows.item, rows.worker, rows.category, shape)
    timed = rows.seconds > 0
    speed = rater_signs.speed_flags(
        rows.worker[timed], rows.seconds[timed], np.zeros(timed.sum(), dtype=int), workers
    )
    known = rows.place > 0
    side = side_bias.annotator_side_bias(rows.worker[known], rows.place[known] == 1, workers)
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
    header = (_("Annotator"), _("Votes compared"), _("with the majority"), _("p"))
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
    "strategies": ranking,
    "models": ranking,
    "flags": rater_flags,
}
