"""Try a task as its annotators meet it. Everything is made in a transaction that is rolled back.

So the real hand-out, page and submit run, and nothing of it is stored. Where the study has no
material for the task yet, an example stands in.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from django.db import transaction
from django.db.models import Max, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.candidates.models import Candidate
from annotation.core.errors import DomainError
from annotation.judging.batches.open import store_items
from annotation.judging.kinds import config_of_task, kind_of, label_words
from annotation.judging.models import Batch, Item, Slot
from annotation.judging.work import present, queue, submit
from annotation.personas.models import Attribute, Evidence, Persona, PersonaVersion
from annotation.queries.models import GoldClaim, GoldResponse, Query
from annotation.studies.models import Study, TaskDefinition

WORK = Batch.Purpose.WORK
EXAMPLE = "preview-example"
# Ids that no sequence reaches: the answer to the example names the same ones as its page.
CLAIMS_FROM = 9 * 10**17


@dataclass(frozen=True)
class Tried:
    """One item as shown. ``number`` of ``count``, from 0; ``example``: of no study's material.

    ``begun`` are the fields of a pre-filled form. After a submit ``stored`` is the answer in words,
    or ``refusal`` is why it was not accepted.
    """

    shown: present.Shown
    begun: dict[str, list[str]]
    number: int
    count: int
    example: bool
    stored: tuple[str, ...] = ()
    refusal: DomainError | None = None


def framed(request: HttpRequest, study: Study) -> Callable[[Tried], HttpResponse]:
    """What renders an item for a frame beside a form, in which nothing can be pressed."""

    def page(tried: Tried) -> HttpResponse:
        context = {"study": study, "tried": tried, "shown": tried.shown}
        context |= present.form(tried.shown, present.fields({}))
        return render(request, "judging/preview_form.html", context)

    return page


def try_task(
    study: Study,
    task: TaskDefinition,
    *,
    number: int = 0,
    batch: Batch | None = None,
    data: QueryDict | None = None,
    show: Callable[[Tried], HttpResponse],
) -> HttpResponse:
    """Show item ``number`` of ``task``, or of ``batch``; with ``data`` submit it as its answer.

    A task that is not saved yet is saved here, and gone at the end.

    Returns ``show(tried)``, called while everything is there. An item that was opened is shown
    as it is, else the first that a batch would hold, else the example.
    """
    with transaction.atomic():
        if task.pk is None:
            task.save()
        items = _items(study, task, batch)
        count = items.count()
        number %= max(count, 1)
        screen, example = (_screen(items[number]), False) if count else _made(study, task)
        person = User.objects.create(email=f"preview-{screen[0].pk}@invalid.example", name="")
        slot = _hand_out(study, screen[0], person)
        for item in screen[1:]:
            _hand_out(study, item, person, lead=slot.pk)
        shown = replace(present.show(slot.pk, person), owner_id=None, done=number)
        shown = replace(shown, in_all=count or 1, toured=True)
        if _together(task):
            shown = present.with_held(shown, person)
        begun = present.proposed(shown, present.proposals(shown, person))
        tried = Tried(shown, begun, number, count or 1, example)
        answer = show(tried if data is None else _submit(study, tried, screen[0], person, data))
        transaction.set_rollback(True)
    return answer


def _together(task: TaskDefinition) -> bool:
    return bool(task.config.get("together"))


def _items(study: Study, task: TaskDefinition, batch: Batch | None) -> QuerySet[Item]:
    """The opened items, one of each screen."""
    items = Item.objects.filter(study=study, batch__task__name=task.name, batch__purpose=WORK)
    if batch:
        items = items.filter(batch=batch)
    if _together(task):
        first = items.order_by("batch", "query", "position").distinct("batch", "query")
        items = Item.objects.filter(pk__in=first.values("pk"))
    return items.select_related("batch__task").order_by("position")


def _screen(item: Item) -> list[Item]:
    """``item`` and those that are judged on its screen."""
    if not _together(item.batch.task):
        return [item]
    others = Item.objects.filter(batch=item.batch_id, query=item.query_id, made_for=None)
    return [item, *others.exclude(pk=item.pk).order_by("position")[: queue.MOST_TOGETHER - 1]]


def _hand_out(study: Study, item: Item, person: User, lead: UUID | None = None) -> Slot:
    """A slot of the item for ``person``: of an ordinal that nobody has."""
    last = item.slots.aggregate(last=Max("ordinal"))["last"]
    return Slot.objects.create(
        id=uuid5(item.pk, "preview"),
        study=study,
        item=item,
        ordinal=0 if last is None else last + 1,
        position=item.position or 0,
        status=Slot.Status.HELD,
        annotator=person,
        lead=lead,
    )


def _submit(study: Study, tried: Tried, item: Item, person: User, data: QueryDict) -> Tried:
    shown = tried.shown
    try:
        # Complete items take one more here.
        Item.objects.filter(slots__annotator=person).update(done=0)
        done = submit.submit(study, shown.slot, person, data, key="preview")
    except DomainError as refusal:
        return replace(tried, refusal=refusal)
    label = shown.kind.answer_of(done.judgment).label
    return replace(tried, stored=tuple(label_words(item, label, shown.order)))


def _made(study: Study, task: TaskDefinition) -> tuple[list[Item], bool]:
    """The items of the first screen of a batch of ``task``; True where they are an example."""
    planned = iter(kind_of(task.kind).plan(study, task))
    rows = list(islice(planned, 1))
    if rows and _together(task):
        alike = takewhile(lambda row: row["query"] == rows[0]["query"], planned)
        rows += islice(alike, queue.MOST_TOGETHER - 1)
    batch = Batch.objects.create(study=study, task=task, size=1)
    made = [
        # As on the page, so in the answer to it.
        {"id": uuid5(NAMESPACE_URL, f"preview/{task.pk}/{row['external_id']}"), "overlap": 1} | row
        for row in rows or _example(study, task)
    ]
    return store_items(batch, made), not rows


# --- The example ------------------------------------------------------------------------------


def _example(study: Study, task: TaskDefinition) -> list[dict]:
    """The rows of a screen about an invented person, with whatever the task's kind asks for."""
    asks = kind_of(task.kind).asks(config_of_task(task))
    persona = Persona.objects.create(study=study, external_id=EXAMPLE)
    PersonaVersion.objects.create(
        persona=persona,
        version=1,
        profile={
            "Name": "Noor",
            "Demographics": {"Age": 34, "Career_Information": _("Radio editor; blind")},
            "Preference": {"Travel": _("Travels with a guide dog and likes to touch things")},
        },
    )
    row: dict[str, Any] = {"external_id": EXAMPLE, "query": None, "attribute": None}
    if "query" in asks or "gold" in asks:
        row["query"] = Query.objects.create(
            study=study,
            persona=persona,
            external_id=EXAMPLE,
            text=_("What can I do on a free afternoon in a new town?"),
            need=_("Two ideas that need no eyes, and are easy to reach with a dog."),
        )
    if "options" in asks:
        row["candidates"] = _example_answers(row["query"], task.config["options"])
    if "gold" in asks:
        row["gold"] = _example_gold(row["query"])
    if "attribute" not in asks and not task.config.get("attribute"):
        return [row]
    attributes = _example_attributes(persona)[: None if _together(task) else 1]
    return [
        row | {"external_id": attribute.external_id, "attribute": attribute}
        for attribute in attributes
    ]


def _example_answers(query: Query, number: int) -> list[UUID]:
    texts = [
        _("Climb the tower for the view, then photograph the old houses."),
        _("Ask the museum for a tour by touch, and rest in a park that welcomes dogs."),
        _("Go to a concert in the afternoon; the tourist office knows what is on today."),
    ]
    rows = [
        Candidate(
            id=uuid5(NAMESPACE_URL, f"preview/{query.study_id}/{n}"),
            study=query.study,
            query=query,
            external_id=f"{EXAMPLE}-{n}",
            text=texts[n % len(texts)],
        )
        for n in range(number)
    ]
    return [row.pk for row in Candidate.objects.bulk_create(rows)]


def _example_attributes(persona: Persona) -> list[Attribute]:
    texts = [
        _("Prefers places where things may be touched."),
        _("Travels with a dog."),
        _("Works in radio."),
    ]
    attributes = Attribute.objects.bulk_create(
        Attribute(persona=persona, external_id=f"{EXAMPLE}-{number}", text=text)
        for number, text in enumerate(texts, start=1)
    )
    words = _("I loved the workshop, because we could hold the tools. Is there more like that?")
    Evidence.objects.create(
        attribute=attributes[0], number=1, messages=[{"role": "user", "text": words}]
    )
    return attributes


def _example_gold(query: Query) -> GoldResponse:
    texts = [
        _("The museum offers tours by touch."),
        _("Guide dogs are allowed in the park."),
    ]
    gold = GoldResponse.objects.create(query=query, version=1, text=" ".join(texts))
    GoldClaim.objects.bulk_create(
        GoldClaim(pk=CLAIMS_FROM + number, response=gold, number=number, text=text)
        for number, text in enumerate(texts, start=1)
    )
    return gold
