"""The table of a study's items: searched, filtered, sorted, in pages by key; what can be done."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from django import forms
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.dataclasses import dataclass as schema

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.core.pages import Listing
from annotation.core.schema import SchemaForm, asked, form_of
from annotation.core.words import titled
from annotation.judging.batches.open import ask_for_more, hold_back, look_again, reopen_slots
from annotation.judging.curator.checks import share
from annotation.judging.models import (
    Answer,
    Batch,
    Item,
    ItemComment,
    ItemOption,
    Judgment,
    Slot,
)
from annotation.studies.models import Study

MOST = 10_000
SORTS = {
    "": gettext_lazy("as handed out"),
    "least": gettext_lazy("fewest judgments first"),
    "split": gettext_lazy("least agreement first"),
    "newest": gettext_lazy("judged last first"),
}
ORDERS = {
    "": ("position",),
    "least": ("done", "position"),
    "split": ("agreement", "position"),
    "newest": ("-last_judgment", "position"),
}
VOTES = {
    "": gettext_lazy("any"),
    "none": gettext_lazy("none"),
    "some": gettext_lazy("some, fewer than planned"),
    "all": gettext_lazy("as many as planned"),
}
AGREEMENTS = {
    "": gettext_lazy("any"),
    "unanimous": gettext_lazy("all agree"),
    "majority": gettext_lazy("more than half agree"),
    "split": gettext_lazy("no more than half agree"),
}
TIERS = {
    "": gettext_lazy("any"),
    "medium": gettext_lazy("medium"),
    "hard": gettext_lazy("hard"),
    "borderline": gettext_lazy("borderline"),
    "ambiguous": gettext_lazy("ambiguous"),
}
ORIGINS = {
    "": gettext_lazy("any"),
    "imported": gettext_lazy("imported"),
    "collected": gettext_lazy("collected here"),
}
STATES = {
    "": gettext_lazy("any"),
    "open": gettext_lazy("open"),
    "closed": gettext_lazy("held back"),
}


@schema(frozen=True)
class Filter:
    """Which items are listed, and in which order."""

    q: str = asked(gettext_lazy("Words in question or id"), "", max_length=200)
    answers: str = asked(gettext_lazy("Words in answers"), "", max_length=200)
    task: str = asked(gettext_lazy("Task"), "", max_length=60)
    batch: int | None = asked(gettext_lazy("Batch"), None, ge=1, le=2**62)
    votes: str = asked(gettext_lazy("Judgments"), "", choices=VOTES)
    label: str = asked(gettext_lazy("Label or class that somebody gave"), "", max_length=100)
    agreement: str = asked(gettext_lazy("Agreement"), "", choices=AGREEMENTS)
    tier: str = asked(gettext_lazy("Tier"), "", choices=TIERS)
    rater: str = asked(gettext_lazy("Annotator (name or e-mail)"), "", max_length=254)
    flag: str = asked(gettext_lazy("Flag"), "", max_length=40)
    comment: bool = asked(gettext_lazy("With comments"), False)
    origin: str = asked(gettext_lazy("Judgments come from"), "", choices=ORIGINS)
    state: str = asked(gettext_lazy("State"), "", choices=STATES)
    sort: str = asked(gettext_lazy("Order"), "", choices=SORTS)


def of_work(study: Study) -> QuerySet[Item]:
    """The items of the study's work, with ``agreement``: the share of the votes that the most
    frequent label has, null where labels are not counted or nobody voted."""
    rows: QuerySet = Item.objects.filter(study=study, position__isnull=False)
    work = study.batches.filter(purpose=Batch.Purpose.WORK)
    return rows.annotate(agreement=share()).filter(
        batch__in=list(work.values_list("pk", flat=True))
    )


def _task(rows: QuerySet, study: Study, name: str) -> QuerySet:
    batches = study.batches.filter(task__name=name).values_list("pk", flat=True)
    return rows.filter(batch__in=list(batches))


def _search(rows: QuerySet, study: Study, words: str) -> QuerySet:
    queries = study.queries.filter(text__icontains=words).values("pk")
    return rows.filter(Q(external_id__icontains=words) | Q(query__in=queries))


def _answers(rows: QuerySet, study: Study, words: str) -> QuerySet:
    answers = study.candidates.filter(text__icontains=words).values("pk")
    return rows.filter(pk__in=ItemOption.objects.filter(candidate__in=answers).values("item"))


def _votes(rows: QuerySet, study: Study, value: str) -> QuerySet:
    if value == "none":
        return rows.filter(done=0)
    return (
        rows.filter(done__gt=0, done__lt=F("overlap"))
        if value == "some"
        else rows.filter(done__gt=0, done__gte=F("overlap"))
    )


def _judged(**by: Any) -> Exists:
    return Exists(Judgment.objects.standing().filter(slot__item=OuterRef("pk"), **by))


def _label(rows: QuerySet, study: Study, value: str) -> QuerySet:
    answers = Answer.objects.filter(label=value, judgment__slot__item=OuterRef("pk"))
    return rows.filter(Exists(answers.filter(judgment__in=Judgment.objects.standing())))


def _agreement(rows: QuerySet, study: Study, value: str) -> QuerySet:
    if value == "unanimous":
        return rows.filter(agreement=1, done__gt=1)
    above = Q(agreement__gt=0.5) if value == "majority" else Q(agreement__lte=0.5)
    return rows.filter(above, done__gt=1)


def _rater(rows: QuerySet, study: Study, value: str) -> QuerySet:
    people = User.objects.filter(
        Q(email__iexact=value) | Q(name__iexact=value) | Q(worker=f"{study.slug}:{value}")
    )
    slots = Slot.objects.filter(
        study=study, annotator__in=list(people.values_list("pk", flat=True)), status="done"
    )
    return rows.filter(pk__in=slots.values("item"))


def _comment(rows: QuerySet, study: Study, value: bool) -> QuerySet:
    comments = ItemComment.objects.filter(slot__study=study)
    return rows.filter(pk__in=comments.values("slot__item"))


def _state(rows: QuerySet, study: Study, value: str) -> QuerySet:
    waiting = Slot.objects.filter(item=OuterRef("pk"), status__in=["open", "held"])
    closed = Slot.objects.filter(item=OuterRef("pk"), status="closed")
    return rows.filter(Exists(waiting)) if value == "open" else rows.filter(Exists(closed))


def _shown(keys: list) -> list[Item]:
    """The items of a page with what it says of them."""
    rows = Item.objects.select_related("batch__task", "query", "attribute").annotate(
        waiting=Exists(Slot.objects.filter(item=OuterRef("pk"), status__in=["open", "held"])),
        closed=Exists(Slot.objects.filter(item=OuterRef("pk"), status="closed")),
    )
    items = rows.in_bulk([row.pk for row in keys])
    for row in keys:
        # One vote agrees with none.
        vars(items[row.pk])["agreement"] = row.agreement if row.done > 1 else None
    return [items[row.pk] for row in keys]


def _form(data: QueryDict, study: Study) -> SchemaForm:
    form = form_of(Filter)(data)
    names = study.tasks.order_by("name").values_list("name", flat=True).distinct()
    form.fields["task"].widget = forms.Select(choices=[("", "–"), *((n, titled(n)) for n in names)])
    return form


def _text(item: Item) -> str:
    about = item.query or item.attribute
    return about.text if about else ""


def _share(item: Item) -> float | str:
    share = getattr(item, "agreement", None)
    return "" if share is None or item.done < 2 else round(share, 4)


LIST = Listing(
    "items",
    columns={
        "item": lambda item: item.external_id,
        "task": lambda item: item.batch.task.name,
        "batch": lambda item: item.batch_id,
        "query": lambda item: item.query.external_id if item.query else "",
        "text": _text,
        "judgments": lambda item: item.done,
        "planned": lambda item: item.overlap,
        "agreement": _share,
    },
    rules={
        "q": _search,
        "answers": _answers,
        "task": _task,
        "batch": lambda rows, _study, pk: rows.filter(batch=pk),
        "votes": _votes,
        "label": _label,
        "agreement": _agreement,
        "tier": lambda rows, _study, tier: rows.filter(tier__tier=tier),
        "rater": _rater,
        "flag": lambda rows, _study, flag: rows.filter(_judged(flags__contains=[flag])),
        "comment": _comment,
        "origin": lambda rows, _study, value: rows.filter(_judged(imported=value == "imported")),
        "state": _state,
        "sort": lambda rows, _study, value: (
            rows.exclude(agreement=None) if value == "split" else rows
        ),
    },
    orders=ORDERS,
    model=Filter,
    form=_form,
    first=("task", "votes", "agreement", "sort"),
    shown=_shown,
)


# --- Acts ----------------------------------------------------------------------------------------


class ActForm(forms.Form):
    act = forms.ChoiceField(
        label=gettext_lazy("With the chosen items"),
        choices=[
            ("close", gettext_lazy("hold back")),
            ("open", gettext_lazy("open again")),
            ("more", gettext_lazy("ask for more judgments")),
            ("assign", gettext_lazy("assign to annotators")),
        ],
    )
    number = forms.IntegerField(
        label=gettext_lazy("Judgments more"), min_value=1, max_value=100, required=False
    )
    people = forms.CharField(
        label=gettext_lazy("Annotators, with commas: names, e-mails, crowd links, languages"),
        max_length=5_000,
        required=False,
    )

    @property
    def options(self) -> dict[str, Any]:
        """What the act takes beside the items."""
        name = {"more": "number", "assign": "people"}.get(self.cleaned_data["act"])
        return {name: self.cleaned_data[name]} if name else {}


def act(study: Study, ids: Iterable[str], name: str, *, by: User, **wanted: Any) -> int:
    """Do ``name`` (of ACTS) to the items of these ids; how many slots it changed."""
    if study.status == Study.Status.CLOSED:
        raise DomainError(_("The study is closed: an administrator can open it again."))
    with transaction.atomic():
        # Openings and top-ups of the study take the same lock.
        study = Study.objects.select_for_update().get(pk=study.pk)
        rows = Item.objects.work().filter(study=study, external_id__in=list(ids)[:MOST])
        items = list(rows.select_for_update(of=("self",)).order_by("pk"))
        if not items:
            raise DomainError(_("Choose items first."))
        if name in ("open", "more"):
            _refuse_closed(items)
        changed = ACTS[name](study, items, **wanted)
        audit.record(by, f"items.{name}", study, items=len(items), slots=changed)
    return changed


def _refuse_closed(items: list[Item]) -> None:
    """DomainError where an item's batch was closed: results count its items as complete."""
    # Closing a batch waits for this lock.
    batches = Batch.objects.select_for_update(no_key=True).order_by("pk")
    if any(batch.closed_at for batch in batches.filter(pk__in={item.batch_id for item in items})):
        words = _("Some of these items are of a closed batch: it takes no further judgments.")
        raise DomainError(words, code="closed")


def _open_again(study: Study, items: list[Item]) -> int:
    """Hand out again what was held back, before new items; not what was stopped early."""
    Item.objects.filter(pk__in=[item.pk for item in items]).update(retired_at=None)
    return reopen_slots(study, items)


def _more_votes(study: Study, items: list[Item], number: int | None = None) -> int:
    """Ask ``number`` further people about each of them."""
    if not number or not 1 <= number <= 100:
        raise DomainError(_("Say how many more judgments each item gets, from 1 to 100."))
    owned = Item.objects.filter(pk__in=[item.pk for item in items]).exclude(
        pk__in=Item.objects.shared().filter(study=study).values("pk")
    )
    if owned.exists():
        raise DomainError(_("In this task only a question's owner judges."), code="owner")
    by_overlap: dict[int, list[Item]] = {}
    for item in items:
        by_overlap.setdefault(item.overlap, []).append(item)
    slots = sum(ask_for_more(group, each + number) for each, group in by_overlap.items())
    look_again(study)
    return slots


def _assign(study: Study, items: list[Item], people: str = "") -> int:
    """Keep an open judgment of each item for each of these annotators, by turns where it has fewer.

    ``people`` are e-mails or names, crowd sources for all of theirs, codes of languages for all who
    read them.
    """
    chosen, given = _annotators(study, people), Counter[int]()
    for item in items:
        had = set(item.slots.exclude(annotator=None).values_list("annotator", flat=True))
        had |= set(item.slots.exclude(reserved_for=None).values_list("reserved_for", flat=True))
        free = item.slots.select_for_update().filter(status="open", reserved_for=None)
        wanted = sorted((pk for pk in chosen if pk not in had), key=given.__getitem__)
        for slot, person in zip(free.order_by("ordinal"), wanted, strict=False):
            slot.reserved_for, slot.returned = chosen[person], True
            slot.save(update_fields=["reserved_for", "returned"])
            given[person] += 1
    look_again(study)
    return given.total()


def _annotators(study: Study, people: str) -> dict[int, User]:
    """The annotators that ``people`` names, by their ids; DomainError where one is none.

    Who is called like a crowd source or a language is meant alone.
    """
    persons: dict[str, dict[int, User]] = defaultdict(dict)
    groups: dict[str, dict[int, User]] = defaultdict(dict)
    members = study.memberships.filter(role="annotator", left_at=None).select_related("user")
    sources = dict(study.crowd_entries.values_list("user", "source__name"))
    for user in (member.user for member in members):
        for key in (user.email, user.name):
            persons[(key or "").lower()][user.pk] = user
        for key in (sources.get(user.pk), *(user.reads or ())):
            groups[(key or "").lower()][user.pk] = user
    known = groups | persons
    names = [name.strip() for name in people.replace("\n", ",").split(",") if name.strip()]
    if missing := [name for name in names if name.lower() not in known]:
        raise DomainError(_("“%s” is no annotator of this study.") % missing[0][:80])
    if not names:
        raise DomainError(_("Name the annotators, separated by commas."))
    return {pk: user for name in names for pk, user in known[name.lower()].items()}


ACTS = {
    "open": _open_again,
    "close": lambda study, items: hold_back(Item.objects.filter(pk__in=[row.pk for row in items])),
    "more": _more_votes,
    "assign": _assign,
}
