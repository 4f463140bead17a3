"""Rulings of curators on items that annotators disagree on."""

from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet
from django.db.models.lookups import GreaterThan
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.core.pages import show
from annotation.judging.curator import checks
from annotation.judging.kinds import (
    answers_of,
    config_of_task,
    form_fields,
    kind_of,
    label_words,
    read_label,
)
from annotation.judging.kinds.kind import Label
from annotation.judging.models import Adjudication, Item, Judgment, Leaders
from annotation.judging.work import comments
from annotation.studies.access import study_page
from annotation.studies.models import Study, TaskDefinition

PAGE = 25
REASON_LIMIT = 5_000
# Up to this share of the commonest choice an item is disputed, though no tie: two of three, too.
CLEAR = 2 / 3 + 1e-9


@study_page(policies.judgment.may_adjudicate, "GET")
def overview(request: UserRequest, study: Study) -> HttpResponse:
    """Items to rule on, ties first, then the least agreed on; or those with a ruling."""
    tasks = {task.name: task for task in study.tasks.order_by("version")}
    task = tasks.get(request.GET.get("task", "")) or next(iter(tasks.values()), None)
    ruled = "ruled" in request.GET
    items: QuerySet[Item] = Item.objects.none()
    if task and ruled:
        ruling = Adjudication.objects.filter(item=OuterRef("pk"))
        items = _items(study, task).filter(Exists(ruling)).order_by("position")
    elif task:
        items = disputed(study, task)
    page = Paginator(items, PAGE).get_page(request.GET.get("page"))
    counted = task is not None and _is_counted(task)
    rows: Any = page if counted else ()
    for row in rows:
        row.leading = _leading(row)
    context = {
        "study": study,
        "tasks": tasks,
        "task": task,
        "ruled": ruled,
        "counted": counted,
        "page": page,
    }
    return render(request, "judging/adjudicate.html", context)


@study_page(policies.judgment.may_adjudicate, "GET", "POST")
def item(request: UserRequest, study: Study, pk: UUID) -> HttpResponse:
    """One item with its votes and earlier rulings, and the ruling on it."""
    shown = ("batch__task", "query", "attribute", "gold", "persona_version__persona")
    items = Item.objects.work().shared().filter(study=study).select_related(*shown)
    item = get_object_or_404(items, pk=pk)
    refusal = None
    if request.method == "POST":
        try:
            label = read_label(item, request.POST)
            rule(item, label, request.POST.get("reason", ""), by=request.user)
        except DomainError as error:
            refusal = error
        else:
            return redirect("adjudicate-item", study.slug, pk)
    context = {
        "study": study,
        "item": item,
        "options": item.options.select_related("candidate").order_by("number"),
        "votes": votes(item),
        "rulings": rulings(item),
        "fields": form_fields(item, None, request.POST),
        "reason": request.POST.get("reason", ""),
        "refusal": refusal,
    }
    return show(request, "judging/adjudicate_item.html", context)


@transaction.atomic
def rule(item: Item, label: Label, reason: str, *, by: User) -> Adjudication:
    """Add a ruling; earlier ones and all votes stay. DomainError where the reason is missing."""
    reason = comments.checked(reason, REASON_LIMIT, _("Give the reason for the ruling."))
    ruling = Adjudication.objects.create(item=item, label=label, reason=reason, by=by)
    audit.record(by, "item.adjudicate", item, label=label, reason=reason)
    return ruling


def disputed(study: Study, task: TaskDefinition) -> QuerySet[Item]:
    """Finished items of a task without a ruling on which annotators disagree, worst first.

    Where labels are counted: no label leads (``tied``), or the most frequent has two thirds or
    less. Elsewhere every item with two judgments.
    """
    items = _items(study, task).filter(checks.finished(), done__gte=2)
    items = items.exclude(pk__in=Adjudication.objects.filter(item__study=study).values("item"))
    if not _is_counted(task):
        return items.order_by("position")
    tied = ExpressionWrapper(Q(GreaterThan(Leaders("counts"), 1)), BooleanField())
    items = items.annotate(tied=tied, share=checks.share())
    return items.filter(Q(tied=True) | Q(share__lt=CLEAR)).order_by("-tied", "share", "position")


def _is_counted(task: TaskDefinition) -> bool:
    return kind_of(task.kind).counted_question(config_of_task(task)) is not None


def _items(study: Study, task: TaskDefinition) -> QuerySet[Item]:
    items = Item.objects.work().shared().filter(study=study)
    related = ("batch__task", "query", "attribute")
    return items.filter(batch__task__name=task.name).select_related(*related)


def _leading(item: Item) -> list[str]:
    """The labels that most judgments of the item have, in words."""
    counts, most = checks.votes(item), max(item.counts.values(), default=0)
    words = ("; ".join(label_words(item, label)) for label, n in counts if n == most)
    return sorted(words)


def votes(item: Item) -> list[dict]:
    """The standing judgments of an item, in the order of its slots; people are letters only."""
    rows = Judgment.objects.standing().filter(slot__item=item).order_by("slot__ordinal")
    answers = answers_of({row.pk: item.batch.task.kind for row in rows})
    return [
        {
            "who": _letter(n),
            "words": label_words(item, answers[row.pk].label),
            "judgment": row,
        }
        for n, row in enumerate(rows)
    ]


def rulings(item: Item) -> list[dict]:
    """Rulings on an item in words, the standing one first."""
    rows = item.adjudications.select_related("by").order_by("-pk")
    return [{"ruling": ruling, "words": label_words(item, ruling.label)} for ruling in rows]


def _letter(n: int) -> str:
    return chr(ord("A") + n) if n < 26 else f"{_letter(n // 26 - 1)}{_letter(n % 26)}"
