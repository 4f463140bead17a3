"""The figures of a task of another kind than a selection: how far it is and what people say."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Case, Count, F, FloatField, Q, QuerySet, StdDev, TextField, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from annotation.agreement import kind_votes, ranking_votes
from annotation.agreement.figures import dashboard, summary
from annotation.agreement.figures.board import About, Board
from annotation.agreement.figures.progress import by_day
from annotation.agreement.figures.rankings import mean_places, strengths
from annotation.agreement.figures.raters import sides
from annotation.agreement.figures.retest import retest
from annotation.agreement.figures.scores import origin_means, spread_figure
from annotation.core import charts
from annotation.judging.kinds import config_of_task, labelled
from annotation.studies.models import Study, TaskDefinition


@dataclass(frozen=True)
class Measure:
    """How far the answers to an item differ: its name, its digits on a page, a sentence on it."""

    name: str
    digits: int
    lead: str


class KindBoard(Board):
    """One task of a kind without tiers."""

    def __init__(self, study: Study, definition: TaskDefinition) -> None:
        super().__init__(study, definition, afresh=True)
        self.config = config_of_task(definition)
        self.declared = self.kind.labels(self.config)

    @property
    def judgments(self) -> QuerySet:
        """The task's judgments that count."""
        return kind_votes.judgments(self.study, self.definition)

    @cached_property
    def labels(self) -> list[str]:
        """What an answer chooses: of a scale between two answers its side."""
        return self.kind.choices(self.config)

    def _choices(self) -> QuerySet:
        sides = [When(choice=str(number), then=number) for number in (1, 2)]
        rows = labelled(self.judgments).annotate(choice=self.kind.choice_column(self.config))
        if self.last is not None:
            rows = rows.filter(slot__item__position__lte=self.last)
        return rows.annotate(number=Case(*sides, default=-1))

    @property
    def makers(self) -> dict:
        """Figures of the task's page, in order."""
        return {key: MAKERS[key] for key in self.shown}

    @property
    def shown(self) -> tuple[str, ...]:
        """The figures' names. Answers that are one person's own are only counted by day."""
        if self.kind.LEVEL == "none":
            return ("days",)
        retest = ("retest",) if self.config["owner_only"] else ()
        if self.kind.SHAPE == "ranks":
            return ("agreement", "answers", "strategies", "days")
        sides = ("sides",) if self.two_sided else ()
        compared = self.two_sided or self.kind.SHAPE == "scores"
        means = ("strategy_means", "model_means") if compared else ()
        return ("agreement", "answers", *means, *sides, *retest, "days")

    @property
    def two_sided(self) -> bool:
        """Whether labels are places on a scale from one answer to another."""
        return self.labels != self.declared

    def words(self) -> dict[str, tuple]:
        """Those of a selection, and what only this page shows."""
        return dashboard.words() | _words()

    @cached_property
    def tally(self) -> dict[str, int]:
        """{label: how often it was given}, of a kind with one label an answer."""
        rows = labelled(self.judgments).values_list("label")
        counts = dict(rows.annotate(n=Count("pk")).order_by())
        return {label: counts.get(label, 0) for label in self.declared}

    @property
    def level(self) -> str:
        """The scale of the labels, a level of ``stats.LEVELS``."""
        return self.kind.LEVEL

    def named(self, label: str) -> str:
        """A label in words; answers by their canonical numbers."""
        words = self.kind.label_words(label, self.config)
        named = _("%(label)s: %(words)s") % {"label": label, "words": words}
        return named if self.level == "ordinal" else words

    # Its page shows rows of values, and no tiers.
    def disputed(self) -> QuerySet | list[dict]:  # type: ignore[override]
        """Rows of an item (of scores: of an answer and a criterion) with two answers or more.

        The least agreed on first: on a scale by the standard deviation of the answers, otherwise
        by the item's own kappa. ``measure`` has it, ``judged`` how many there are, ``c0``, ``c1``,
        … how many of each declared label.
        """
        if self.kind.SHAPE == "ranks":
            return ranking_votes.read(self.judgments, self.kind.PRIMARY).disputed
        rows = self.judgments
        by = {"item": F("slot__item"), "name": F("slot__item__external_id")}
        by["position"] = F("slot__item__position")
        if self.kind.SHAPE == "scores":
            rows = self.kind.scores(rows).annotate(label=Cast("score", TextField()))
            by |= {"number": F("number"), "about": F("criterion")}
        else:
            rows = labelled(rows)
        counts = {
            f"c{n}": Count("pk", filter=Q(label=value)) for n, value in enumerate(self.declared)
        }
        rows = rows.values(**by)
        rows = rows.annotate(judged=Count("pk"), **counts).filter(judged__gte=2)
        if self.level == "ordinal":
            spread = StdDev(Cast("label", FloatField()), sample=True)
            return rows.annotate(measure=spread).order_by("-measure", "-judged", *_places(by))
        rows = rows.annotate(measure=self._kappa(counts))
        return rows.order_by("measure", "-judged", "position")

    def _kappa(self, counts: Iterable[str]) -> Combinable:
        """The kappa of one row's answers, from their ``counts``."""
        n, k = Cast("judged", FloatField()), float(len(self.declared))
        each = [Cast(name, FloatField()) for name in counts]
        same = sum(count * (count - 1.0) for count in each)
        return (k * same / (n * (n - 1.0)) - 1.0) / (k - 1.0)

    @property
    def measure(self) -> Measure:
        """By what ``disputed`` is in order."""
        if self.level == "ranks":
            lead = _(
                "Items with two rankings or more, the lowest W first; a ranking is the places of "
                "answers 1, 2, …"
            )
            return Measure(_("Kendall's W"), 3, lead)
        if self.level != "ordinal":
            lead = _(
                "Items with two votes or more, the lowest own kappa first; an item's kappa is "
                "(K·S − D) / ((K−1)·D) of its votes."
            )
            return Measure(_("Own kappa"), 3, lead)
        lead = _("Items with two judgments or more, the widest spread first.")
        if self.kind.SHAPE == "scores":
            lead = _(
                "An item's answer and a criterion with two scores or more, the widest spread first."
            )
        return Measure(_("Standard deviation"), 2, lead)

    def votes_of(self, row: dict) -> str:  # type: ignore[override]
        """The answers of a row of ``disputed``: places on a scale one by one, words counted."""
        if self.kind.SHAPE == "ranks":
            return row["orders"]
        counts = [(label, row[f"c{n}"]) for n, label in enumerate(self.declared)]
        if self.level == "ordinal":
            return " ".join(label for label, n in counts for _each in range(n))
        return ", ".join(f"{_(label)}: {n}" for label, n in counts if n)

    @property
    def question(self) -> str:
        """What the task asks, in a few words."""
        return str(self.kind.NAME)


def _places(by: dict) -> list[str]:
    return [name for name in ("position", "number", "about") if name in by]


def _words() -> dict[str, tuple]:
    means = _(
        "The mean of all scores, or of preferences from 0 (the other answer is much better) to 1 "
        "(this one is). Intervals are percentiles over 1,000 resamples of people."
    )
    return {
        "strategy_means": (
            _("Means by strategy"),
            _("What people gave the answers of each strategy."),
            means,
        ),
        "model_means": (
            _("Means by model"),
            _("What people gave the answers of each endpoint or model."),
            means,
        ),
        "answers": (
            _("What was said"),
            _("How often each answer was given."),
            _("A count of all judgments, with no more than one a person and item."),
        ),
        "retest": (
            _("Test and retest"),
            _("How far owners judge their own items alike, some days apart."),
            _(
                "Of scores ICC(2,1): two-way, absolute agreement, with its F-interval. Of other "
                "answers Cohen's kappa of the first and the second answer, with its large-sample "
                "interval. Second judgments count in no other figure."
            ),
        ),
        "sides": (
            _("Side bias"),
            _("Share of preferences that fell on the answer shown first."),
            _(
                "All: a z test clustered by item. Each annotator: the exact binomial test and "
                "interval, p-values adjusted after Holm. “No preference” and unknown orders are "
                "left out."
            ),
        ),
    }


def answers(board: KindBoard, about: About) -> dict:
    """How often each label was given; of scores how those of each criterion spread."""
    if board.kind.SHAPE == "ranks":
        return mean_places(board, about)
    if board.kind.SHAPE == "scores":
        return vars(spread_figure(board.study, board.task))
    total = sum(board.tally.values())
    rows = [(board.named(label), n, n / total) for label, n in board.tally.items()]
    header = (_("Answer"), _("Judgments"), _("Share"))
    lead = about.lead
    if board.level == "ordinal":
        ends = {"first": board.named(board.declared[0]), "last": board.named(board.declared[-1])}
        named = _("%(first)s; %(last)s.") % ends
        lead = f"{lead} {named}"
    axes = (_("Answer"), _("Judgments"))
    axes = axes if board.level == "ordinal" else axes[::-1]
    chart = charts.columns if board.level == "ordinal" else charts.bars
    drawn = board.tally.items() if board.level == "ordinal" else [row[:2] for row in rows]
    svg = about._replace(lead=lead).draw(chart, list(drawn), axes=axes)
    return {"header": header, "rows": rows, "svg": svg, "lead": lead, "votes": total}


MAKERS = {
    "days": by_day,
    "agreement": summary.agreement,
    "answers": answers,
    "sides": sides,
    "strategies": strengths,
    "retest": retest,
    "strategy_means": origin_means,
    "model_means": origin_means,
}
