"""The kinds of judgment: presets of questions (``presets``), all of one class (``kind``)."""

from collections.abc import Mapping
from typing import Any

from django.db.models import FilteredRelation, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, Coalesce, NullIf

from annotation.core.errors import DomainError
from annotation.judging.kinds import kind
from annotation.judging.kinds.kind import Answer, Kind
from annotation.judging.kinds.presets import KINDS
from annotation.studies.models import TaskDefinition


def kind_of(name: str) -> Kind:
    """Return the kind ``name``; DomainError where there is none."""
    if name not in KINDS:
        names = ", ".join(KINDS)
        raise DomainError(f"There is no kind of task “{name}”. Known: {names}.", code="kind")
    return KINDS[name]


def config_of(name: str, stored: dict) -> dict:
    """A task's stored settings, with the defaults of those that came after it was defined."""
    return kind_of(name).defaults | stored


def config_of_task(task: TaskDefinition) -> dict:
    """``config_of`` a TaskDefinition."""
    return config_of(task.kind, task.config)


def codes(**properties: Any) -> list[str]:
    """The names of the kinds with these ``properties``, as ``codes(SHAPE="label")``."""
    return [
        code
        for code, each in KINDS.items()
        if all(getattr(each, name) == value for name, value in properties.items())
    ]


def answers_of(kinds: Mapping[int, str]) -> dict[int, Answer]:
    """{judgment's id: its answer} of ``kinds``, {judgment's id: kind}."""
    return kind.answers_of({judgment: KINDS[code] for judgment, code in kinds.items()})


def score_rows(judgments: QuerySet) -> list[QuerySet]:
    """``scores`` of ``judgments`` of any kind, for each kind that has scores."""
    return [KINDS[code].scores(judgments) for code in codes(SHAPE="scores")]


def labelled(judgments: QuerySet) -> QuerySet:
    """``judgments`` with their ``label`` as text, null where an answer has several parts.

    ``main_answer`` is the answer that the label comes from.
    """
    questions = [each.primary for each in KINDS.values() if each.primary]
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
