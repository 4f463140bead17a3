"""The figures of a task with questions of its own: each question for itself."""

from collections import Counter, defaultdict
from functools import cached_property
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, F, QuerySet
from django.utils.translation import gettext as _

from annotation.agreement import kind_votes
from annotation.agreement.figures.board import About
from annotation.agreement.figures.kinds import KindBoard, Measure
from annotation.core import charts
from annotation.questions import questions_of
from annotation.questions.base import Question

LEVELS = ("nominal", "ordinal", "ranks")


class QuestionsBoard(KindBoard):
    """One task with questions of its own."""

    @cached_property
    def questions(self) -> list[Question]:
        return questions_of(self.config["questions"], self.config["options"])

    @property
    def shown(self) -> tuple[str, ...]:
        retest = ("retest",) if self.config["owner_only"] else ()
        return ("agreement", "answers", *retest, "days")

    @property
    def makers(self) -> dict:
        return super().makers | {"answers": answers}

    @property
    def levels(self) -> list[str]:
        """The scales of the questions, each once."""
        return [level for level in LEVELS if level in {each.level for each in self.questions}]

    @property
    def level(self) -> str:
        """The first scale among the questions."""
        return next(iter(self.levels), "nominal")

    @cached_property
    def given(self) -> dict[str, Counter]:
        """{question: how often each label was given}; of several classes each is counted."""
        rows = self.judgments.values_list("answers__question").order_by()
        counts: dict[str, Counter] = defaultdict(Counter)
        for question, label, chips, n in rows.annotate(
            said=kind_votes.said_column(), chips=F("answers__chips"), n=Count("pk")
        ).values_list("answers__question", "said", "chips", "n"):
            several = self._several.get(question, False)
            for each in chips if several else [label]:
                counts[question][each] += n
        return counts

    @property
    def _several(self) -> dict[str, bool]:
        return {question.name: getattr(question, "several", False) for question in self.questions}

    def disputed(self) -> QuerySet:  # type: ignore[override]
        """Questions on an item with two answers or more, those with most different ones first."""
        names = [question.name for question in self.questions if question.level != "none"]
        rows = self.judgments.filter(answers__question__in=names)
        by = {
            "item": F("slot__item"),
            "name": F("slot__item__external_id"),
            "position": F("slot__item__position"),
            "number": F("answers__option"),
            "about": F("answers__question"),
        }
        rows = rows.annotate(said=kind_votes.said_column()).values(**by)
        different = Count("said", distinct=True)
        rows = rows.annotate(judged=Count("pk"), measure=different, labels=ArrayAgg("said"))
        rows = rows.filter(judged__gte=2)
        return rows.order_by("-measure", "-judged", "position", "number", "about")

    @property
    def measure(self) -> Measure:
        lead = _(
            "Questions on an item, or on one of its answers, that two people or more answered; "
            "those with most different answers first."
        )
        return Measure(_("Different answers"), 0, lead)

    def votes_of(self, row: dict) -> str:  # type: ignore[override]
        question = next(each for each in self.questions if each.name == row["about"])
        counts = Counter(row["labels"])
        said = ", ".join(f"{_words(question, label)}: {n}" for label, n in sorted(counts.items()))
        of = _("answer %(n)d") % {"n": row["number"]} if row["number"] is not None else ""
        return f"{', '.join(filter(None, [question.words, of]))} · {said}"


def _words(question: Question, label: str) -> str:
    return question.label_words(label) if label in question.labels(8) else label


def answers(board: QuestionsBoard, about: About) -> dict:
    """How often each answer was given to each question."""
    rows: list[tuple[Any, ...]] = []
    for question in board.questions:
        counts = board.given[question.name]
        labels = question.labels(board.config["options"])
        total = sum(counts.values())
        if not labels and total:
            rows.append((question.words, _("texts"), total, 1.0))
        for label in labels if total else ():
            n = counts.get(label, 0)
            rows.append((question.words, question.label_words(label), n, n / total))
    header = (_("Question"), _("Answer"), _("Judgments"), _("Share"))
    drawn = [(f"{question}: {label}", n) for question, label, n, _share in rows]
    svg = about.draw(charts.bars, drawn, axes=(_("Judgments"), _("Answer"))) if drawn else ""
    return {"header": header, "rows": rows, "svg": svg}
