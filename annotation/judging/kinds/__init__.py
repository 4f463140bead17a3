"""The kinds of judgment, one folder each; ``base.Kind`` is their interface."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from django.db.models import FilteredRelation, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, Coalesce, NullIf

from annotation.core import sql
from annotation.core.errors import DomainError
from annotation.judging.kinds import common
from annotation.judging.kinds.attribute.kind import AttributeKind
from annotation.judging.kinds.base import Kind
from annotation.judging.kinds.claims.kind import ClaimsKind
from annotation.judging.kinds.feedback.kind import FeedbackKind
from annotation.judging.kinds.preference.kind import PreferenceKind
from annotation.judging.kinds.questions.kind import QuestionsKind
from annotation.judging.kinds.ranking.kind import RankingKind
from annotation.judging.kinds.relevance.kind import RelevanceKind
from annotation.judging.kinds.selection.kind import SelectionKind
from annotation.judging.models import Answer
from annotation.studies.models import TaskDefinition

KINDS: dict[str, Kind] = {
    kind.CODE: kind
    for kind in (
        SelectionKind(),
        PreferenceKind(),
        FeedbackKind(),
        AttributeKind(),
        RelevanceKind(),
        ClaimsKind(),
        RankingKind(),
        QuestionsKind(),
    )
}


def kind_of(name: str) -> Kind:
    """Return the kind ``name``; DomainError where there is none."""
    if name not in KINDS:
        names = ", ".join(KINDS)
        raise DomainError(f"There is no kind of task “{name}”. Known: {names}.", code="kind")
    return KINDS[name]


def config_of(name: str, stored: dict) -> dict:
    """A task's stored settings, with the defaults of those that came after it was defined."""
    return common.CONFIG | kind_of(name).DEFAULTS | stored


def config_of_task(task: TaskDefinition) -> dict:
    """``config_of`` a TaskDefinition."""
    return config_of(task.kind, task.config)


def codes(**properties: Any) -> list[str]:
    """The names of the kinds with these ``properties``, as ``codes(SHAPE="label")``."""
    return [
        code
        for code, kind in KINDS.items()
        if all(getattr(kind, name) == value for name, value in properties.items())
    ]


def answers_of(kinds: Mapping[int, str]) -> dict[int, Any]:
    """{judgment's id: its answer} of ``kinds``, {judgment's id: kind}."""
    rows = Answer.objects.filter(sql.among("judgment", kinds)).order_by("judgment", "pk")
    by_judgment = groupby(rows, key=lambda row: row.judgment_id)
    return {pk: KINDS[kinds[pk]].of_rows(list(rows)) for pk, rows in by_judgment}


def score_rows(judgments: QuerySet) -> list[QuerySet]:
    """``Kind.scores`` of ``judgments`` of any kind, for each kind that has scores."""
    return [KINDS[code].scores(judgments) for code in codes(SHAPE="scores")]


def labelled(judgments: QuerySet) -> QuerySet:
    """``judgments`` with their ``label`` as text, null where an answer has several parts.

    ``main_answer`` is the answer that the label comes from.
    """
    questions = [KINDS[code].PRIMARY for code in codes(SHAPE="label")]
    primary = Q(answers__question__in=questions, answers__option=None, answers__part=None)
    # Of an answer on a scale the number is the label, beside a label it is a degree.
    label = Coalesce(
        NullIf("main_answer__label", Value("")),
        Cast("main_answer__value", TextField()),
        output_field=TextField(),
    )
    return judgments.annotate(main_answer=FilteredRelation("answers", condition=primary)).annotate(
        label=label
    )
