"""The kinds of judgment: presets of questions (``presets``), all of one class (``kind``)."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import F, QuerySet
from django.http import QueryDict
from django.utils.translation import gettext as _

from annotation.core.errors import DomainError
from annotation.judging.kinds import kind
from annotation.judging.kinds.kind import Answer, Kind, Label
from annotation.judging.kinds.presets import CLAIMS, KINDS
from annotation.judging.models import Item, Judgment, JudgmentQuerySet
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
    return Judgment.objects.filter(slot__item__batch__task__kind=CLAIMS.code)


def accepted(review: Judgment) -> list[str]:
    """The claims that a review accepts, as edited: the gold information."""
    parts = CLAIMS.answer_json(CLAIMS.answer_of(review), {}, {})
    return [part["text"] or part["claim"] for part in parts.values() if part["verdict"] != "drop"]


# Labels of an item, which comes with its batch's task: in words, and asked for by a form


def label_words(item: Item, label: Label | None, order: Sequence[int] | None = None) -> list[str]:
    """A label in words, a line or more.

    Answers are named by their places in ``order`` (canonical numbers as shown), or without it by
    their canonical numbers.
    """
    if label is None:
        return []
    task = item.batch.task
    kind, config = kind_of(task.kind), config_of_task(task)
    answer = kind.of_label(label, config)
    return kind.words(kind.as_shown(answer, order, config) if order else answer, config)


def form_fields(item: Item, label: Label | None, sent: QueryDict | None) -> list[tuple]:
    """What a form must ask to get a label of ``item`` (a ruling, what a check expects).

    Each field with its name, and its value as ``sent``, else of ``label``.
    """
    task, fields = item.batch.task, []
    for field in kind_of(task.kind).fields(item, config_of_task(task)):
        name = f"label-{field.part}" if field.part else "label"
        value = label.get(field.part) if isinstance(label, dict) else label
        value = sent.get(name) if sent is not None else value
        fields.append((field, name, "" if value is None else str(value)))
    return fields


def read_label(item: Item, sent: QueryDict) -> Label:
    """The label that a form gives; DomainError where something is missing or unknown."""
    parts = {}
    for field, _name, value in form_fields(item, None, sent):
        label = field.label_of(value)
        if not label:
            sentence = _("Choose an answer for “%(title)s”.") % {"title": field.title}
            raise DomainError(sentence, code="label")
        parts[field.part] = label
    task = item.batch.task
    return kind_of(task.kind).label_of(parts, config_of_task(task))
