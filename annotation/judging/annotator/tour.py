"""The first-time tour of a task: a worked example, shown once to each person."""

from dataclasses import dataclass

from django.db import transaction

from annotation.accounts.models import User
from annotation.judging.models import Batch, Checks, Desk, Item
from annotation.judging.work import queue
from annotation.studies.models import Study, TaskDefinition


@dataclass(frozen=True)
class Example:
    """A training item as the tour shows it: the answers' texts, and what is right and why."""

    query: str
    need: str
    attribute: str
    answers: list[str]
    explanation: str


def example(study: Study, task: TaskDefinition) -> Example | None:
    """The first training item of ``task`` that is explained, or None.

    Where training is a test to be passed, none of it is given away: then None too.
    """
    if Checks.objects.filter(study=study, pass_mark__gt=0).exists():
        return None
    items = Item.objects.filter(
        study=study, batch__task__name=task.name, batch__purpose=Batch.Purpose.TRAINING
    )
    item = (
        items.exclude(explanation="")
        .select_related("query", "attribute")
        .order_by("position")
        .first()
    )
    if item is None:
        return None
    options = item.options.select_related("candidate")
    return Example(
        query=item.query.text if item.query else "",
        need=item.query.need if item.query else "",
        attribute=item.attribute.text if item.attribute else "",
        answers=[option.candidate.text for option in options],
        explanation=item.explanation,
    )


@transaction.atomic
def finish(study: Study, annotator: User, task: TaskDefinition) -> None:
    """Note that this person has seen the tour of ``task``: it does not open by itself again."""
    queue.lock_desk(study, annotator)
    desk = Desk.objects.get(study=study, annotator=annotator)
    if task.name not in desk.toured:
        desk.toured.append(task.name)
        desk.save(update_fields=["toured"])


def is_further(study: Study, annotator: User, task: TaskDefinition) -> bool:
    """Whether this person knows the study from another task: what is new is the example alone."""
    toured = Desk.objects.filter(study=study, annotator=annotator).values_list("toured", flat=True)
    names = next(iter(toured), [])
    return bool(names) and task.name not in names
