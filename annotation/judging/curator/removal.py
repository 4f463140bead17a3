"""Take back what was made: deleted as long as nobody has judged it, else put aside.

What is deleted takes along the items that show it and what was written for it; what people judged
stays, and so do their judgments.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.candidates.models import Candidate
from annotation.core import audit
from annotation.core.errors import NotFound
from annotation.core.pages import done
from annotation.core.words import titled
from annotation.judging.batches.open import close_batch, hold_back
from annotation.judging.models import Batch, Item, ItemOption, Judgment, Slot
from annotation.personas.models import Attribute
from annotation.queries.models import GoldResponse, Query
from annotation.studies.access import study_for
from annotation.studies.models import Study, TaskDefinition

# What can be taken back: its name, and the page to go to when it is gone.
THINGS = {
    "query": (gettext_lazy("query"), "queries"),
    "task": (gettext_lazy("task"), "tasks"),
    "answer": (gettext_lazy("answer"), "candidates"),
    "attribute": (gettext_lazy("attribute"), "personas"),
    "batch": (gettext_lazy("batch"), "tasks"),
    "study": (gettext_lazy("study"), "settings"),
}
# With what answers are deleted, too.
WITH_ANSWERS = ("query", "answer", "attribute", "study")


@dataclass(frozen=True)
class Removal:
    """``deletes`` or puts aside; ``sentences`` list what is removed with it, or why it stays.

    Programs and the audit log have its ``name``, people its ``title``.
    """

    what: str
    name: str
    deletes: bool
    sentences: list[str]

    @property
    def title(self) -> str:
        return titled(self.name) if self.what == "task" else self.name


def thing_of(study: Study, what: str, **fields: Any) -> Any:
    """The newest thing of a kind with these values of its fields. Raises NotFound."""
    rows: QuerySet = {
        "query": Query.objects.filter(study=study, replaced_at=None),
        "task": TaskDefinition.objects.filter(study=study),
        "answer": Candidate.objects.filter(study=study),
        "attribute": Attribute.objects.filter(persona__study=study),
        "batch": Batch.objects.filter(study=study),
        "study": Study.objects.filter(pk=study.pk),
    }[what]
    try:
        thing = rows.filter(**fields).order_by("pk").last()
    except (ValueError, ValidationError, OverflowError):
        thing = None
    if thing is None:
        raise NotFound(_("The study has no such %(what)s.") % {"what": THINGS[what][0]})
    return thing


def look(study: Study, what: str, thing: Any) -> Removal:
    """What ``remove`` would do now."""
    items = _items(study, what, thing)
    # Checks are made of items, also of such as nobody but a curator has ruled on.
    about = Q(slot__item__in=items) | Q(slot__item__repeats__in=items)
    judgments = Judgment.objects.filter(about).count()
    name = thing.name if what == "task" else str(getattr(thing, "external_id", "") or thing)
    if judgments or (what == "study" and study.releases.exists()):
        return Removal(what, name, False, _stays(what, judgments))
    return Removal(what, name, True, _goes(study, what, thing, items))


@transaction.atomic
def remove(study: Study, what: str, thing: Any, *, by: User | None) -> Removal:
    """Delete ``thing``, or put it aside where people have judged it; one row in the audit log."""
    # A submit locks its slot: it is stored before this looks, or finds the slot gone.
    items = _items(study, what, thing)
    list(Slot.objects.select_for_update().filter(item__in=items).values_list("pk"))
    removal = look(study, what, thing)
    action = "delete" if removal.deletes else "archive"
    audit.record(by, f"{what}.{action}", thing, name=removal.name, along=removal.sentences)
    if removal.deletes:
        _delete(study, what, thing, items)
    else:
        _put_aside(study, what, thing, items, by)
    return removal


def remove_withdrawn() -> int:
    """Remove the attributes whose words were taken back; judged ones are only put aside.

    Returns how many. Doing it again does nothing.
    """
    judged = Judgment.objects.filter(slot__item__attribute=OuterRef("pk"))
    shown_otherwise = ItemOption.objects.filter(candidate__attribute=OuterRef("pk"))
    shown_otherwise = shown_otherwise.exclude(item__attribute=OuterRef("pk"))
    stays = Exists(judged) | Exists(shown_otherwise)
    open_slots = Slot.objects.filter(item__attribute=OuterRef("pk"), status=Slot.Status.OPEN)
    rows = Attribute.objects.filter(Exists(open_slots) | ~stays, text="")
    unused = list(rows.select_related("persona__study").order_by("pk"))
    for attribute in unused:
        remove(attribute.persona.study, "attribute", attribute, by=None)
    return len(unused)


def _items(study: Study, what: str, thing: Any) -> QuerySet:
    items = Item.objects.filter(study=study)
    if what == "query":
        return items.filter(query__external_id=thing.external_id)
    if what == "task":
        return items.filter(batch__task__name=thing.name)
    if what == "batch":
        return items.filter(batch=thing)
    if what == "study":
        return items
    options = ItemOption.objects.filter(candidate__in=_candidates(study, what, thing))
    shows = Q(pk__in=options.values("item"))
    return items.filter(shows | Q(attribute=thing) if what == "attribute" else shows)


def _goes(study: Study, what: str, thing: Any, items: QuerySet[Item]) -> list[str]:
    sentences = []
    if n := items.count():
        words = ngettext("%(n)d item goes along.", "%(n)d items go along.", n)
        sentences.append(words % {"n": n})
    if n := Slot.objects.filter(item__in=items, status=Slot.Status.HELD).count():
        words = ngettext(
            "%(n)d person has one open now and will be told that it is gone.",
            "%(n)d people have one open now and will be told that it is gone.",
            n,
        )
        sentences.append(words % {"n": n})
    # The answer itself is no other one that goes along.
    answers = _candidates(study, what, thing).count() if what in WITH_ANSWERS else 0
    if n := answers - (what == "answer"):
        words = ngettext("%(n)d answer goes along.", "%(n)d answers go along.", n)
        sentences.append(words % {"n": n})
    return sentences


def _stays(what: str, judgments: int) -> list[str]:
    words = ngettext("It has %(n)d judgment and stays.", "It has %(n)d judgments and stays.",
                     judgments)  # fmt: skip
    aside = {
        "query": _("No new items are made of it, and its open items are closed."),
        "task": _("Its batches are closed: nothing of it is handed out any more."),
        "answer": _("It is shown in no new item."),
        "attribute": _("Its open items are closed."),
        "batch": _("It is closed: nothing of it is handed out any more."),
        "study": _("It is closed: no work is handed out. Results and releases stay."),
    }
    return [words % {"n": judgments}, aside[what]]


def _candidates(study: Study, what: str, thing: Any) -> QuerySet:
    """What was written for it or of it: claims, rubrics and rewrites too; the answer itself."""
    rows = Candidate.every.filter(study=study)
    if what == "study":
        return rows
    if what == "query":
        return rows.filter(query__external_id=thing.external_id)
    written = Q(pk=thing.pk) if what == "answer" else Q(attribute=thing)
    ids: set[UUID] = set()
    new = set(rows.filter(written).values_list("pk", flat=True))
    while new:
        ids |= new
        new = set(rows.filter(source__in=new).values_list("pk", flat=True)) - ids
    return rows.filter(pk__in=ids)


def _delete(study: Study, what: str, thing: Any, items: QuerySet[Item]) -> None:
    items.delete()
    if what in WITH_ANSWERS:
        _candidates(study, what, thing).delete()
    if what == "task":
        study.batches.filter(task__name=thing.name).delete()
        study.tasks.filter(name=thing.name).delete()
    elif what in ("query", "study"):
        queries = study.queries.all()
        if what == "query":
            queries = queries.filter(external_id=thing.external_id)
        else:
            study.batches.all().delete()
        GoldResponse.objects.filter(query__in=queries).delete()
        queries.delete()
    if what in ("attribute", "batch", "study"):
        thing.delete()
    # Batches promise their size to pages that must not count.
    if what not in ("study", "batch", "task"):
        for batch in study.batches.all():
            Batch.objects.filter(pk=batch.pk).update(size=batch.items.count())
        study.batches.filter(size=0).delete()


def _put_aside(study: Study, what: str, thing: Any, items: QuerySet[Item], by: User | None) -> None:
    if what == "batch":
        close_batch(thing, by=by)
    elif what == "task":
        for batch in study.batches.filter(task__name=thing.name, closed_at=None):
            close_batch(batch, by=by)
    elif what == "study":
        Study.objects.filter(pk=study.pk).update(status=Study.Status.CLOSED)
    elif what == "answer":
        Candidate.objects.filter(pk=thing.pk).update(review=Candidate.Review.REJECTED)
    else:
        hold_back(items)
    if what == "query":
        Query.objects.filter(pk=thing.pk).update(replaced_at=Now())


@require_http_methods(["GET", "POST"])
def remove_page(request: UserRequest, slug: str, what: str, key: str) -> HttpResponse:
    """Show what taking back ``what`` with the id ``key`` means; POST does it."""
    may = policies.study.may_administer if what == "study" else policies.study.may_curate
    study = study_for(request.user, slug, may)
    if what not in THINGS:
        raise Http404
    thing, (word, back) = thing_of(study, what, pk=key), THINGS[what]
    if request.method == "GET":
        context = {"study": study, "plan": look(study, what, thing), "word": word, "back": back}
        return render(request, "judging/remove.html", context)
    removed = remove(study, what, thing, by=request.user)
    words = _("“%(name)s” is deleted.") if removed.deletes else _("“%(name)s” is put aside.")
    sentence = words % {"name": removed.title[:80]}
    if what == "study" and removed.deletes:
        return done(request, sentence, "home")
    return done(request, sentence, back, slug)
