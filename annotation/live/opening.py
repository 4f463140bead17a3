"""What becomes of a conversation: queries, answers and items like all others."""

import logging
from typing import Any

from django.db import transaction
from django.db.models import F, Max
from django.db.models.functions import Now

from annotation.candidates import clean
from annotation.candidates.models import Candidate
from annotation.core.errors import DomainError
from annotation.core.records import transcript
from annotation.judging import ordering
from annotation.judging.kinds import config_of_task, kind_of
from annotation.judging.models import Batch, Item, ItemOption, Participation, Slot
from annotation.judging.work import submit
from annotation.live.models import Talk
from annotation.live.settings import task_of
from annotation.queries import owner_queries
from annotation.queries.models import Query
from annotation.studies.models import Study

log = logging.getLogger(__name__)


def query_of(talk: Talk, turn: int, messages: list[dict]) -> Query:
    """The person's own query of a turn: the conversation up to it, from the first message on."""
    name = f"{owner_queries.SPOKEN}{talk.pk.hex[:16]}-{turn + 1}"
    persona = talk.persona_version.persona if talk.persona_version else None
    asked: dict[str, Any] = {
        "persona": persona, "owner_id": talk.person_id, "text": transcript(messages),
        "messages": messages if len(messages) > 1 else [],
    }  # fmt: skip
    stored, _made = Query.objects.get_or_create(
        study_id=talk.study_id, external_id=name, version=1, defaults=asked
    )
    return stored


def answer_of(
    talk: Talk, query: Query, place: int, last: Candidate, messages: list[dict]
) -> Candidate:
    """What one system said, as an answer that people judge; ``last`` is its last reply."""
    text = transcript(messages)
    parameters: dict[str, Any] = {
        "messages": messages, "words": clean.count_words(text), "identity": clean.identity(text),
        "endpoint": last.endpoint, "rule": talk.settings["rule"], "chance": talk.chance,
    }  # fmt: skip
    if sessions := last.parameters.get("sessions"):
        parameters["sessions"] = sessions
    made = {
        "query": query, "text": text, "strategy": talk.systems[place][2], "model": last.model,
        "prompt": last.prompt, "prompt_digest": last.prompt_digest, "template": last.template,
        "persona_version": last.persona_version, "parameters": parameters,
    }  # fmt: skip
    name = f"{query.external_id}-{place + 1}"
    stored, _made = Candidate.objects.get_or_create(
        study_id=talk.study_id, external_id=name, defaults=made
    )
    return stored


@transaction.atomic
def open_items(
    talk: Talk, tasks: list[str], options: list[Candidate], status: str = Slot.Status.OPEN
) -> int:
    """Open an item of each task for the talk's person alone; how many.

    Answers stand where they stood in the conversation. A task that was removed or shows another
    number of answers by now is left out.
    """
    # Positions in the study are given in turn.
    study = Study.objects.select_for_update(no_key=True).get(pk=talk.study_id)
    opened = 0
    for task in filter(None, (task_of(study, name) for name in tasks)):
        least, most = kind_of(task.kind).options_range(config_of_task(task))
        if not least <= len(options) <= most:
            continue
        batch = study.batches.filter(task=task, purpose="work", closed_at=None).last()
        batch = batch or Batch.objects.create(study=study, task=task)
        position = (study.items.aggregate(last=Max("position"))["last"] or 0) + 1
        item = Item.objects.create(
            study=study, batch=batch, query=options[0].query, overlap=1, position=position,
            external_id=f"{task.name}-{options[0].query.external_id}",
            persona_version=talk.persona_version,
        )  # fmt: skip
        numbers = ordering.shown_order(item.pk, 0, len(options))
        ItemOption.objects.bulk_create(
            ItemOption(item=item, number=number, candidate=option)
            for number, option in zip(numbers, options, strict=True)
        )
        _slot(talk, item, status)
        Batch.objects.filter(pk=batch.pk).update(size=F("size") + 1)
        opened += 1
    Participation.objects.filter(study=study, annotator=talk.person_id).update(exhausted_at=None)
    return opened


def _slot(talk: Talk, item: Item, status: str) -> None:
    slot = Slot(
        study_id=talk.study_id, item=item, ordinal=0, position=item.position or 0, status=status,
        reserved_for_id=talk.person_id, returned=status == Slot.Status.OPEN,
    )  # fmt: skip
    if status == Slot.Status.HELD:
        # Beside whatever else the person holds: it leads itself.
        slot.annotator_id, slot.lead = talk.person_id, slot.pk
        slot.claimed_at = slot.lease_expires_at = Now()
    slot.save(force_insert=True)


def vote(talk: Talk, name: str, options: list[Candidate], chosen: Candidate) -> None:
    """Store the person's choice among ``options`` as a judgment of the task ``name``."""
    try:
        with transaction.atomic():
            _vote(talk, name, options, chosen)
    except DomainError as refusal:
        # A task that asks for more by now keeps nobody from going on.
        log.warning("talk %s: no vote of %s: %s", talk.pk, name, refusal.sentence)


def _vote(talk: Talk, name: str, options: list[Candidate], chosen: Candidate) -> None:
    if not open_items(talk, [name], options, Slot.Status.HELD):
        return
    item = f"{name}-{options[0].query.external_id}"
    slot = Slot.objects.get(item__study=talk.study_id, item__external_id=item)
    task = slot.item.batch.task
    question = kind_of(task.kind).counted_question(config_of_task(task))
    answers = {question.name if question else "": str(chosen.pk)}
    submit.submit(talk.study, slot.pk, talk.person, {"answers": answers}, key=f"talk-{slot.pk}")
