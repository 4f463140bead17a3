"""Labels of an item: in words, and asked for by a form (rulings, what a check expects)."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from annotation.core.errors import DomainError
from annotation.judging.kinds import config_of_task, kind_of
from annotation.judging.kinds.kind import Data, Field, Label
from annotation.judging.models import Item


def label_words(item: Item, label: Label | None, order: Sequence[int] | None = None) -> list[str]:
    """A label in words, a line or more; ``item`` comes with its batch's task.

    Answers are named by their places in ``order`` (canonical numbers as shown), or without it by
    their canonical numbers.
    """
    if label is None:
        return []
    task = item.batch.task
    kind, config = kind_of(task.kind), config_of_task(task)
    answer = kind.of_label(label, config)
    return kind.words(kind.as_shown(answer, order, config) if order else answer, config)


def fields(item: Item) -> list[Field]:
    """What a form must ask to get a label of ``item``."""
    task = item.batch.task
    return kind_of(task.kind).fields(item, config_of_task(task))


def read_label(item: Item, data: Data) -> Label:
    """The label that a form's data give; DomainError where something is missing or unknown."""
    parts = {}
    for field in fields(item):
        value = data.get(f"label-{field.part}" if field.part else "label", "")
        if value not in dict(field.choices):
            sentence = _("Choose an answer for “%(title)s”.") % {"title": field.title}
            raise DomainError(sentence, code="label")
        parts[field.part] = value
    task = item.batch.task
    return kind_of(task.kind).label_of(parts, config_of_task(task))
