"""The figures of a task of another kind than a selection: how far it is and what people say."""

from functools import cached_property

from django.db.models import Case, Count, F, FloatField, Q, StdDev, When
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from annotation.agreement.figures import charts, summary
from annotation.agreement.figures.dashboard import Board, by_day, sides
from annotation.agreement.figures.scores import spread_figure
from annotation.agreement.votes import kinds
from annotation.judging.kinds import config_of, kind_of, preference
from annotation.judging.models import AttributeVerdict, Preference, Score

# Claims are one person's own: how far they are, and no more.
SHOWN = {
    "preference": ("agreement", "answers", "sides", "days"),
    "feedback": ("agreement", "answers", "days"),
    "attribute": ("agreement", "answers", "days"),
    "relevance": ("agreement", "answers", "days"),
    "claims": ("days",),
}


class KindBoard(Board):
    """One task of another kind. A preference is a choice, too, where it has a side."""

    def __init__(self, study, definition):
        super().__init__(study, definition, afresh=True)
        self.kind = definition.kind
        self.config = config_of(definition.kind, definition.config)
        self.declared = kinds.declared(self.kind, self.config)

    @property
    def judgments(self):
        """The task's judgments that count."""
        return kinds.judgments(self.study, self.definition)

    @cached_property
    def labels(self) -> list[str]:
        """Of a preference: the answers, and "no preference" as a tie."""
        return ["1", "2", "tie"]

    def _choices(self):
        middle = (self.config["points"] + 1) // 2
        number = Case(When(value__lt=middle, then=1), When(value__gt=middle, then=2), default=-1)
        found = Preference.objects.filter(pk__in=self.judgments)
        if self.last is not None:
            found = found.filter(slot__item__position__lte=self.last)
        return found.annotate(number=number)

    @property
    def makers(self) -> dict:
        """Figures of the task's page, in order."""
        return {key: MAKERS[key] for key in SHOWN[self.kind]}

    def words(self) -> dict[str, dict]:
        """Those of a selection, and what only this page shows."""
        columns = ("title", "lead", "how")
        own = {key: dict(zip(columns, told, strict=True)) for key, told in _words().items()}
        return super().words() | own

    @cached_property
    def tally(self) -> dict[str, int]:
        """{label: how often it was given}, of a kind with one label an answer."""
        rows = self.judgments.values_list(kinds.LABEL[self.kind]).annotate(n=Count("pk"))
        counts = {kinds.word(label): n for label, n in rows.order_by()}
        return {label: counts.get(label, 0) for label in self.declared}

    @property
    def level(self) -> str:
        """The scale of the labels, a level of ``stats.LEVELS``."""
        return kinds.LEVEL.get(self.kind, "nominal")

    def named(self, label: str) -> str:
        """A label in words; answers by their canonical numbers."""
        if self.kind == "preference":
            return f"{label}: {preference.NAMES[self.config['points']][int(label) - 1]}"
        if self.kind == "attribute":
            return str(AttributeVerdict.Verdict(label).label)
        return {"yes": _("Yes, it should"), "no": _("No, it should not")}[label]

    def disputed(self):
        """Rows of an item (of feedback: of an answer and a criterion) with two answers or more.

        The least agreed on first: on a scale by the standard deviation of the answers, otherwise
        by the item's own kappa. ``given`` has how many, ``c0``, ``c1``, … of each declared label.
        """
        rows, label = self.judgments, kinds.LABEL.get(self.kind)
        by = {"item": F("slot__item"), "name": F("slot__item__external_id")}
        by["position"] = F("slot__item__position")
        if self.kind == "feedback":
            rows, label = Score.objects.filter(feedback__in=rows), "score"
            by = {"item": F("option__item"), "name": F("option__item__external_id")}
            by |= {"position": F("option__item__position"), "number": F("option__number")}
            by["about"] = F("criterion")
        counts = {
            f"c{n}": Count("pk", filter=Q(**{label: self._stored(one)}))
            for n, one in enumerate(self.declared)
        }
        found = rows.values(**by).annotate(given=Count("pk"), **counts).filter(given__gte=2)
        if self.level == "ordinal":
            found = found.annotate(spread=StdDev(label, sample=True))
            return found.order_by("-spread", "-given", *_places(by))
        return found.annotate(kappa=self._own_kappa(counts)).order_by("kappa", "-given", "position")

    def _stored(self, label: str):
        return label == "yes" if self.kind == "relevance" else label

    def _own_kappa(self, counts):
        n, k = Cast("given", FloatField()), float(len(self.declared))
        each = [Cast(name, FloatField()) for name in counts]
        same = sum(one * (one - 1.0) for one in each)
        return (k * same / (n * (n - 1.0)) - 1.0) / (k - 1.0)

    def votes_of(self, row: dict) -> str:
        """The answers of a row of ``disputed``: places on a scale one by one, words counted."""
        counts = [(label, row[f"c{n}"]) for n, label in enumerate(self.declared)]
        if self.level == "ordinal":
            return " ".join(label for label, n in counts for _each in range(n))
        return ", ".join(f"{_(label)}: {n}" for label, n in counts if n)

    @property
    def question(self) -> str:
        """What the task asks, in a few words."""
        return str(kind_of(self.kind).NAME)


def _places(by: dict) -> list[str]:
    return [name for name in ("position", "number", "about") if name in by]


def _words() -> dict[str, tuple]:
    return {
        "answers": (
            _("What was said"),
            _("How often each answer was given."),
            _("A count of all judgments, with no more than one a person and item."),
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


def answers(board, about) -> dict:
    """How often each label was given; of feedback how the scores of each criterion spread."""
    if board.kind == "feedback":
        return vars(spread_figure(board.study, board.task))
    total = sum(board.tally.values())
    rows = [(board.named(label), n, n / total) for label, n in board.tally.items()]
    header = (_("Answer"), _("Judgments"), _("Share"))
    lead = about["lead"]
    if board.kind == "preference":
        names = [board.named(board.declared[0]), board.named(board.declared[-1])]
        lead = "{} {}.".format(lead, "; ".join(names))
    draw = charts.columns if board.kind == "preference" else charts.bars
    drawn = board.tally.items() if board.kind == "preference" else [row[:2] for row in rows]
    svg = draw("answers", about["title"], lead, list(drawn))
    return {"header": header, "rows": rows, "svg": svg, "lead": lead, "votes": total}


MAKERS = {"days": by_day, "agreement": summary.agreement, "answers": answers, "sides": sides}
