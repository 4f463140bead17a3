"""Judgments of every kind in the API: for their annotator, and for researchers."""

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import F, Q, QuerySet

from annotation.agreement.reading import withdrawn_from, worker_name
from annotation.judging.kinds import answers_of, config_of, config_of_task, kind_of, labels
from annotation.judging.kinds.base import Answer
from annotation.judging.models import Batch, Item, ItemOption, Judgment, Slot
from annotation.judging.work import hidden_checks
from annotation.studies.models import Study

OF_JUDGMENT = (
    *("pk", "shown", "reason", "flags", "chips", "marks", "seconds", "submitted_at", "imported"),
    *("revision", "replaces_id", "annotator_id"),
)
NAMED = {
    "kind": F("slot__item__batch__task__kind"),
    "config": F("slot__item__batch__task__config"),
    "task": F("slot__item__batch__task__name"),
    "task_version": F("slot__item__batch__task__version"),
    "item": F("slot__item__external_id"),
    "item_id": F("slot__item"),
    "query": F("slot__item__query__external_id"),
    "attribute": F("slot__item__attribute__external_id"),
    "account": F("annotator__worker"),
    "void": Q(slot__status=Slot.Status.VOID),
}


def long_form(study: Study, *, every: bool) -> QuerySet:
    """The judgments of ``study`` that count, as dictionaries for ``with_answers``.

    ``every``: also what was revised, and what a curator took out. Checks are never among them, nor
    what somebody judged who has withdrawn.
    """
    rows = Judgment.objects.all() if every else Judgment.objects.standing()
    rows = rows.filter(slot__study=study, slot__item__batch__purpose=Batch.Purpose.WORK)
    rows = rows.exclude(annotator__in=withdrawn_from(study))
    return rows.values(*OF_JUDGMENT, **NAMED)


def with_answers(rows: list[dict]) -> list[dict]:
    """Rows of ``long_form`` with their worker's name, label, answer and detail."""
    answers = answers_of({row["pk"]: row["kind"] for row in rows})
    options = ItemOption.objects.filter(item__in={row["item_id"] for row in rows})
    ids = defaultdict(dict)
    for item, number, name in options.values_list("item", "number", "candidate__external_id"):
        ids[item][number] = name
    return [row | _answer(row, answers[row["pk"]], ids[row["item_id"]]) for row in rows]


def _answer(row: dict, answer: Answer, ids: dict[int, str]) -> dict:
    kind, config = kind_of(row["kind"]), config_of(row["kind"], row["config"])
    return {
        "label": kind.label_json(answer.label, ids, config) if kind.SHAPE == "label" else None,
        "answer": kind.answer_json(answer, ids, config),
        "detail": answer.detail,
        "worker": worker_name(row["annotator_id"], row["account"]),
    }


@dataclass(frozen=True)
class _AsShown:
    """What a kind's ``typed`` wants to know."""

    order: list[int]
    config: dict
    answers: list[tuple[str, str]]


def acknowledged(judgment: Judgment) -> dict:
    """A stored judgment for its annotator: the same however often it was sent."""
    item = Item.objects.select_related("batch__task", "gold").get(slots=judgment.slot_id)
    task = item.batch.task
    kind = kind_of(task.kind)
    # Read again: only the database sets the time of a new row.
    stored = Judgment.objects.get(pk=judgment.pk)
    answer = kind.answer_of(stored)
    ids = {option.number: str(option.candidate_id) for option in item.options.all()}
    answers = [(ids[number], "") for number in stored.shown]
    shown = _AsShown(stored.shown, config_of_task(task), answers)
    common = ("slot_id", "revision", "reason", "flags", "chips", "seconds", "submitted_at")
    return {name: getattr(stored, name) for name in common} | {
        "kind": task.kind,
        "answer": kind.sent(answer, shown),
        "training": _explained(item, answer, stored.shown),
    }


def _explained(item: Item, answer: Answer, order: list[int]) -> dict | None:
    """Of a training item, whether the answer is the expected one, and why; of no other check."""
    if item.batch.purpose != Batch.Purpose.TRAINING:
        return None
    return {
        "right": hidden_checks.agrees(item, answer.label, item.expected),
        "expected": labels.words(item, item.expected, order),
        "explanation": item.explanation,
    }
