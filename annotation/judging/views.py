"""The judging page: one slot at a time, submit and next in one request."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.judging import drafts, present, queue, submit
from annotation.judging.models import Desk
from annotation.studies.access import study_for
from annotation.studies.models import Role, Study

# Fields that the page sends along of itself, in which an answer says nothing.
TECHNICAL = {"csrfmiddlewaretoken", "slot", "key", "seconds", "circumstances", "submit"}


@require_http_methods(["GET", "POST"])
def judge(request, slug):
    """GET shows the annotator's slot (claiming one); POST stores the answer and shows the next."""
    study = study_for(request.user, slug, (Role.ANNOTATOR,))
    if not study.consented:
        return _go(request, reverse("consent", args=[slug]))
    if request.method == "POST":
        return _store(request, study)
    hand_out = queue.claim if study.status == Study.Status.OPEN else queue.in_hand
    return _page(request, study, hand_out(study, request.user))


@require_safe
def guideline(request, slug):
    """The study's guideline as its tasks stand now, to read and to print."""
    study = study_for(request.user, slug)
    tasks = study.tasks.order_by("name", "-version").distinct("name")
    return render(request, "judging/guideline.html", {"study": study, "tasks": tasks})


@require_POST
def skip(request, slug):
    """Hand the item back with a reason; it is not offered to this person again."""
    study = study_for(request.user, slug, (Role.ANNOTATOR,))
    reason = request.POST.get("reason", "").replace("\x00", "")[:5000]
    try:
        queue.hand_back(_uuid(request.POST.get("slot")), request.user, "skipped", reason)
    except DomainError as refusal:
        return _refused(request, study, refusal)
    return _go(request, reverse("judge", args=[study.slug]))


@require_POST
def draft(request, slug):
    """Keep what is typed so far, for this person alone."""
    study = study_for(request.user, slug, (Role.ANNOTATOR,))
    drafts.save(study, _uuid(request.POST.get("slot")), request.user, _said(request.POST))
    return HttpResponse(status=204)


@require_http_methods(["GET", "POST"])
def judged(request, slug, slot):
    """An item that this person has judged, with the answer given; POST changes it."""
    study = study_for(request.user, slug, (Role.ANNOTATOR,))
    old = submit.own_judgment(study, slot, request.user)
    if request.method == "GET":
        return _judged_page(request, study, old)
    data = request.POST
    try:
        submit.revise(
            study,
            slot,
            request.user,
            data,
            key=data.get("key", ""),
            said=_said(data),
            seconds=data.get("seconds"),
        )
    except DomainError as refusal:
        return _judged_page(request, study, old, refusal)
    messages.success(request, _("Your answer is changed. The earlier one is kept."))
    return _go(request, reverse("judge", args=[slug]))


def _judged_page(request, study, old, refusal=None):
    shown = present.show(old.slot_id, request.user)
    # An unfinished change goes on where it was left.
    kept = present.fields(shown.draft) if shown.draft else present.answered(shown, old)
    typed = request.POST if refusal else kept
    context = {
        "study": study,
        "shown": shown,
        "old": old,
        "editable": submit.editable(study, old),
        "refusal": refusal,
        "typed": typed,
        **present.form(shown, typed),
    }
    template = "judging/judged.html#judge" if request.htmx else "judging/judged.html"
    return render(request, template, context, status=refusal.status if refusal else 200)


def _said(data) -> dict:
    """What a form says of the item, without what the page sends along of itself."""
    return {name: values for name, values in data.lists() if name not in TECHNICAL}


def _store(request, study):
    data = request.POST
    try:
        slot_id = _uuid(data.get("slot"))
        stored = submit.submit(
            study,
            slot_id,
            request.user,
            data,
            key=data.get("key", ""),
            said=_said(data),
            seconds=data.get("seconds"),
            claim_next=study.status == Study.Status.OPEN,
        )
    except (Conflict, NotFound) as refusal:
        return _refused(request, study, refusal)
    except DomainError as refusal:
        return _once_more(request, study, slot_id, refusal)
    if request.htmx:
        return _page(request, study, stored.next_slot)
    return redirect("judge", study.slug)


def _once_more(request, study, slot_id, refusal):
    """The same item with what was typed; where it is no longer this person's, their words."""
    try:
        return _page(request, study, slot_id, refusal=refusal)
    except NotFound as gone:
        return _refused(request, study, gone)


def _page(request, study, slot_id, refusal=None):
    """The page (or its fragment) for a slot; where ``refusal`` is given, with the typed words."""
    shown = present.show(slot_id, request.user) if slot_id else None
    context = {"study": study, "shown": shown, "refusal": refusal}
    if shown:
        typed = request.POST if refusal else present.fields(shown.draft)
        context |= {"typed": typed, **present.form(shown, typed)}
    else:
        context["done"] = Desk.done_by(request.user, study)
    template = "judging/judge.html#judge" if request.htmx else "judging/judge.html"
    return render(request, template, context, status=refusal.status if refusal else 200)


def _refused(request, study, refusal):
    """The item is no longer this person's: say why, and give back what they typed."""
    context = {"study": study, "refusal": refusal, "typed": request.POST.get("reason", "")}
    template = "judging/refused.html#refused" if request.htmx else "judging/refused.html"
    return render(request, template, context, status=refusal.status if not request.htmx else 409)


def _go(request, url):
    """Redirect the whole page, also when htmx asked."""
    return HttpResponse(headers={"HX-Redirect": url}) if request.htmx else redirect(url)


def _uuid(value) -> UUID:
    try:
        return UUID(value or "")
    except ValueError:
        raise NotFound(_("You do not hold this item.")) from None
