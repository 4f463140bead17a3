"""Judgments of every kind as the API tells them: to their annotator, and to researchers."""

from dataclasses import dataclass

from django.db.models import F, Q, QuerySet

from annotation.agreement.reading import withdrawn_from, worker_name
from annotation.datasets.answers import SAID, read
from annotation.judging.curator import labels
from annotation.judging.kinds import config_of, kind_of
from annotation.judging.models import Batch, Item, Judgment, Slot
from annotation.judging.work import hidden_checks

OWN = (
    *("pk", "shown", "reason", "flags", "chips", "marks", "seconds", "submitted_at", "imported"),
    *("revision", "replaces_id", "annotator_id"),
)
NAMED = {
    "kind": F("slot__item__batch__task__kind"),
    "task": F("slot__item__batch__task__name"),
    "task_version": F("slot__item__batch__task__version"),
    "item": F("slot__item__external_id"),
    "query": F("slot__item__query__external_id"),
    "attribute": F("slot__item__attribute__external_id"),
    "account": F("annotator__worker"),
    "void": Q(slot__status=Slot.Status.VOID),
}


def long_form(study, *, every: bool) -> QuerySet:
    """The judgments of ``study`` that count, as dictionaries for ``told``.

    ``every``: also what was revised, and what a curator took out. Checks are never among them, nor
    what somebody judged who has withdrawn.
    """
    rows = Judgment.objects.all() if every else Judgment.objects.standing()
    rows = rows.filter(slot__study=study, slot__item__batch__purpose=Batch.Purpose.WORK)
    rows = rows.exclude(annotator__in=withdrawn_from(study))
    return rows.values(*OWN, *SAID, **NAMED)


def told(rows: list[dict]) -> list[dict]:
    """Rows of ``long_form`` with their worker's name, label, answer and detail."""
    said = read(rows, {row["pk"]: row["kind"] for row in rows})
    return [
        row
        | {name: getattr(said[row["pk"]], name) for name in ("label", "answer", "detail")}
        | {"worker": worker_name(row["annotator_id"], row["account"])}
        for row in rows
    ]


@dataclass(frozen=True)
class _AsShown:
    """What a kind's ``typed`` wants to know."""

    order: list[int]
    config: dict


def acknowledged(judgment: Judgment) -> dict:
    """What its annotator is told of a stored judgment: the same however often it was sent."""
    item = Item.objects.select_related("batch__task", "gold").get(slots=judgment.slot_id)
    task = item.batch.task
    kind = kind_of(task.kind)
    # Read anew: a new row does not know its time before the database has it.
    stored = kind.MODEL.objects.get(pk=judgment.pk)
    answer = kind.answer_of(stored)
    fields = kind.typed(answer, _AsShown(stored.shown, config_of(task.kind, task.config)))
    common = ("slot_id", "revision", "reason", "flags", "chips", "seconds", "submitted_at")
    return {name: getattr(stored, name) for name in common} | {
        "kind": task.kind,
        "answer": {
            name: values if name.startswith("chips") else values[0]
            for name, values in fields.items()
        },
        "training": _explained(item, answer, stored.shown),
    }


def _explained(item: Item, answer, order: list[int]) -> dict | None:
    """Of a training item, whether the answer is the expected one, and why; of no other check."""
    if item.batch.purpose != Batch.Purpose.TRAINING:
        return None
    return {
        "right": hidden_checks.agrees(item, answer.label, item.expected),
        "expected": labels.words(item, item.expected, order),
        "explanation": item.explanation,
    }
