"""One item with its votes, handbacks and comments in words, for every kind."""

from collections import Counter
from typing import cast
from uuid import UUID

from annotation.accounts.models import User
from annotation.agreement.board import Board
from annotation.judging.annotator import overview
from annotation.judging.kinds import Answer, config_of_task, kind_of
from annotation.judging.models import Handback, Item, ItemQuerySet, Judgment
from annotation.judging.work import comments
from annotation.studies.models import Study, TaskDefinition
from annotation.votes import counting


def find(board: Board, pk: UUID) -> Item | None:
    """The item of the board's task; None where there is none that others may look at.

    What only its owner judges is shown to nobody else.
    """
    items = cast(ItemQuerySet, board.items).shared().filter(pk=pk)
    beside = ("batch__task", "query", "attribute", "gold", "tier", "persona_version__persona")
    return items.select_related(*beside).first()


def votes(study: Study, item: Item) -> list[dict]:
    """The judgments that count, in order of time, in words."""
    judgments = counting.judgments(study).filter(slot__item=item)
    rows = list(judgments.select_related("annotator", "slot").order_by("submitted_at", "pk"))
    answers = kind_of(item.batch.task.kind).answers([row.pk for row in rows])
    return [_vote(row, answers[row.pk], item.batch.task) for row in rows]


def _vote(judgment: Judgment, answer: Answer, task: TaskDefinition) -> dict:
    kind, config = kind_of(task.kind), config_of_task(task)
    choice = str(kind.choice(answer.label, config)) if kind.chooses else ""
    number = int(choice) if choice.isdigit() else None
    return {
        "vote": judgment,
        "worker": counting.worker_name(judgment.annotator_id, judgment.annotator.worker),
        "number": number,
        "place": overview.place_of(judgment, number) if number else None,
        "first": judgment.shown[0] if judgment.shown else None,
        "answers": kind.words(answer, config),
        "reasons": [*filter(None, [judgment.reason]), *kind.remarks(answer, config)],
        "remarks": [*judgment.chips, *judgment.flags],
    }


def options(item: Item, votes: list[dict]) -> list[dict]:
    """The item's answers in canonical order, each with how many chose it."""
    counts = Counter(row["number"] for row in votes)
    options = item.options.select_related("candidate").order_by("number")
    return [{"option": row, "votes": counts[row.number]} for row in options]


def handbacks(study: Study, item: Item) -> list[tuple]:
    """(annotator, the handback) of everybody who gave the item back, in order of time."""
    rows = Handback.objects.filter(item=item).exclude(cause=Handback.Cause.EXPIRED)
    rows = rows.exclude(annotator__in=counting.withdrawn_from(study))
    return [
        (counting.worker_name(row.annotator_id, row.annotator.worker), row)
        for row in rows.select_related("annotator").order_by("at", "pk")
    ]


def threads(study: Study, item: Item) -> list[tuple]:
    """(annotator, slot, comments and answers) of each thread on the item, in order of time."""
    slots = comments.judged(study).filter(item=item)
    slots = slots.exclude(annotator__in=counting.withdrawn_from(study)).select_related("annotator")
    people = {slot.pk: cast(User, slot.annotator) for slot in slots}
    workers = {slot: counting.worker_name(who.pk, who.worker) for slot, who in people.items()}
    by_slot = comments.threads(workers).items()
    return [(workers[slot], slot, thread) for slot, thread in by_slot]
