"""Try a task as its annotators meet it. Everything is made in a transaction that is rolled back.

So the real hand-out, page and submit run, and nothing of it is stored. Where the study has no
material for the task yet, an example stands in.
"""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from uuid import NAMESPACE_URL, UUID, uuid5

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.candidates.models import Candidate
from annotation.core.errors import DomainError
from annotation.judging.kinds import kind_of, labels
from annotation.judging.models import Batch, Item, ItemOption, Slot
from annotation.judging.work import present, submit
from annotation.personas.models import Attribute, Evidence, Persona, PersonaVersion
from annotation.queries.models import GoldClaim, GoldResponse, Query

WORK = Batch.Purpose.WORK
EXAMPLE = "preview-example"
# Ids that no sequence reaches: the answer to the example names the same ones as its page.
CLAIMS_FROM = 9 * 10**17


@dataclass(frozen=True)
class Tried:
    """One item as shown. ``number`` of ``count``, from 0; ``example``: of no study's material.

    After a submit ``stored`` is the answer in words, or ``refusal`` is why it was not accepted.
    """

    shown: present.Shown
    number: int
    count: int
    example: bool
    stored: tuple[str, ...] = ()
    refusal: DomainError | None = None


@contextmanager
def _rolled_back():
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def try_task(
    study, task, *, number: int = 0, batch: Batch | None = None, data=None, render: Callable
):
    """Show item ``number`` of ``task``, or of ``batch``; with ``data`` submit it as its answer.

    Returns ``render(tried)``, called while everything is there. An item that was opened is shown
    as it is, else the first that a batch would hold, else the example.
    """
    with _rolled_back():
        items = _items(study, task, batch)
        count = items.count()
        number = number % count if count else 0
        item, example = (items[number], False) if count else _made(study, task)
        person = User.objects.create(email=f"preview-{item.pk}@invalid.example", name="")
        slot = _hand_out(study, item, person)
        shown = replace(present.show(slot.pk, person), owner_id=None, done=number)
        shown = replace(shown, in_all=count or 1, toured=True)
        tried = Tried(shown, number, count or 1, example)
        return render(tried if data is None else _submit(study, tried, item, person, data))


def _items(study, task, batch):
    items = Item.objects.filter(study=study, batch__task__name=task.name, batch__purpose=WORK)
    if batch:
        items = items.filter(batch=batch)
    return items.select_related("batch__task").order_by("position")


def _hand_out(study, item: Item, person) -> Slot:
    """A slot of the item for ``person``: of an ordinal that nobody has."""
    last = item.slots.aggregate(last=Max("ordinal"))["last"]
    return Slot.objects.create(
        id=uuid5(item.pk, "preview"),
        study=study,
        item=item,
        ordinal=0 if last is None else last + 1,
        position=item.position,
        status=Slot.Status.HELD,
        annotator=person,
    )


def _submit(study, tried: Tried, item: Item, person, data) -> Tried:
    shown = tried.shown
    try:
        # A complete item takes one more here.
        Item.objects.filter(pk=item.pk).update(done=0)
        done = submit.submit(study, shown.slot, person, data, key="preview")
    except DomainError as refusal:
        return replace(tried, refusal=refusal)
    label = shown.kind.answer_of(done.judgment).label
    return replace(tried, stored=tuple(labels.words(item, label, shown.order)))


def _made(study, task) -> tuple[Item, bool]:
    """The first item that a batch of ``task`` would hold; True beside it where it is an example."""
    planned = next(iter(kind_of(task.kind).plan(study, task)), None)
    row = planned or _example(study, task)
    about = row.get("query") or row.get("attribute")
    version = None
    if about and about.persona_id:
        version = PersonaVersion.objects.filter(persona=about.persona_id).latest("version")
    last = study.items.aggregate(last=Max("position"))["last"] or 0
    item = Item.objects.create(
        id=uuid5(NAMESPACE_URL, f"preview/{study.pk}/{task.pk}/{row['external_id']}"),
        study=study,
        batch=Batch.objects.create(study=study, task=task, size=1),
        external_id=row["external_id"],
        query=row.get("query"),
        attribute=row.get("attribute"),
        gold=row.get("gold"),
        persona_version=version,
        position=last + 1,
        overlap=1,
    )
    ItemOption.objects.bulk_create(
        ItemOption(item=item, number=number, candidate_id=candidate)
        for number, candidate in enumerate(row.get("candidates", ()), start=1)
    )
    return item, planned is None


# --- The example ------------------------------------------------------------------------------


def _example(study, task) -> dict:
    """The row of an item about an invented person, with whatever the task's kind asks for."""
    asks = kind_of(task.kind).ASKS
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
    row = {"external_id": EXAMPLE, "query": None, "attribute": None}
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
    if "attribute" in asks or task.config.get("attribute"):
        row["attribute"] = _example_attribute(persona)
    if "gold" in asks:
        row["gold"] = _example_gold(row["query"])
    return row


def _example_answers(query, number: int) -> list[UUID]:
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


def _example_attribute(persona) -> Attribute:
    attribute = Attribute.objects.create(
        persona=persona,
        external_id=EXAMPLE,
        text=_("Prefers places where things may be touched."),
    )
    words = _("I loved the workshop, because we could hold the tools. Is there more like that?")
    Evidence.objects.create(
        attribute=attribute, number=1, messages=[{"role": "user", "text": words}]
    )
    return attribute


def _example_gold(query) -> GoldResponse:
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
