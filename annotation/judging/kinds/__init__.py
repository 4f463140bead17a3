"""The kinds of judgment: presets of questions (``presets``), all of one class (``kind``)."""

from collections.abc import Mapping
from typing import Any

from django.db.models import F, QuerySet

from annotation.core.errors import DomainError
from annotation.judging.kinds import kind
from annotation.judging.kinds.kind import Answer, Kind
from annotation.judging.kinds.presets import CLAIMS, KINDS
from annotation.judging.models import Judgment, JudgmentQuerySet
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
    """The names of the kinds with these ``properties``, as ``codes(shape="label")``."""
    return [
        code
        for code, each in KINDS.items()
        if all(getattr(each, name) == value for name, value in properties.items())
    ]


def answers_of(kinds: Mapping[int, str]) -> dict[int, Answer]:
    """{judgment's id: its answer} of ``kinds``, {judgment's id: kind}."""
    return kind.answers_of({judgment: KINDS[code] for judgment, code in kinds.items()})


def score_rows(judgments: QuerySet) -> QuerySet:
    """``judgments`` of scores, a row for each score: ``criterion``, the answer's ``number`` and
    ``candidate``, ``score``, ``feedback_text``, and ``part``, its own id.
    """
    # By joins: PostgreSQL can walk all scores for each judgment of a subquery it takes for empty.
    return judgments.filter(
        slot__item__batch__task__kind__in=codes(shape="scores"),
        answers__option__isnull=False,
        slot__item__options__number=F("answers__option"),
    ).annotate(
        criterion=F("answers__question"),
        score=F("answers__value"),
        feedback_text=F("answers__text"),
        number=F("answers__option"),
        candidate=F("slot__item__options__candidate"),
        part=F("answers__pk"),
    )


def claim_reviews() -> JudgmentQuerySet:
    """The judgments that decide on claims."""
    return Judgment.objects.filter(slot__item__batch__task__kind=CLAIMS.code)


def accepted(review: Judgment) -> list[str]:
    """The claims that a review accepts, as edited: the gold information."""
    parts = CLAIMS.answer_json(CLAIMS.answer_of(review), {}, {})
    return [part["text"] or part["claim"] for part in parts.values() if part["verdict"] != "drop"]
