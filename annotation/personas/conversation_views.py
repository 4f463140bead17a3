"""The pool of conversations: filters with their counts, and the people who are taken."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.core import refusals
from annotation.personas import conversations
from annotation.personas.forms import FiltersForm
from annotation.studies.access import study_for


@require_http_methods(["GET", "HEAD", "POST"])
def pool(request: UserRequest, slug: str) -> HttpResponse:
    """What each filter leaves; POST makes personas of the people who are left."""
    study = study_for(request.user, slug, policies.generation.may_run)
    data = request.POST if request.method == "POST" else request.GET or None
    form = FiltersForm(data, study=study)
    if request.method == "POST" and form.is_valid():
        with refusals.in_form(form):
            counts = conversations.take(study, form.cleaned_data["filters"], by=request.user)
            words = ngettext(
                "%(n)d person is taken: a model can extract attributes now.",
                "%(n)d people are taken: a model can extract attributes now.",
                counts["personas"],
            )
            messages.success(request, words % {"n": counts["personas"]})
            return redirect("step", slug, "attribute")
    filters = conversations.Filters()
    if form.is_bound and form.is_valid():
        filters = form.cleaned_data["filters"]
    context = {
        "study": study,
        "form": form,
        "funnel": conversations.funnel(study, filters),
        "people": filters.people,
        "taken": study.personas.filter(conversations__isnull=False).distinct().count(),
    }
    status = 400 if request.method == "POST" else 200
    return render(request, "personas/conversations.html", context, status=status)


@require_POST
def add_histories(request: UserRequest, slug: str) -> HttpResponse:
    """Add chats of members who allow it to the pool."""
    study = study_for(request.user, slug, policies.generation.may_run)
    added = conversations.add_histories(study, by=request.user)
    words = ngettext("%(n)d conversation is new.", "%(n)d conversations are new.", added)
    messages.success(request, words % {"n": added})
    if not added:
        messages.info(request, _("Owners allow it on the page of their history."))
    return redirect("conversations", slug)
