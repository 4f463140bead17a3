"""The curators' page of what search-augmented answers rest on: sources, arms, documents."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.forms import BaseForm
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.candidates import document_files, documents, retrieve
from annotation.candidates.forms import DocumentsForm, RetrievalForm
from annotation.core import refusals
from annotation.core.jobs import REQUESTED, RUNNING
from annotation.core.pages import whole_or_part
from annotation.studies.access import study_for
from annotation.studies.models import Study

PAGE = 50
FILES_SHOWN = 10


@require_http_methods(["GET", "POST"])
def sources(request: UserRequest, slug: str) -> HttpResponse:
    """Sources and arms of the study; POST saves them."""
    study = study_for(request.user, slug, policies.source.may_change)
    stored = retrieve.settings_of(study)
    form = RetrievalForm(request.POST if request.method == "POST" else None, instance=stored)
    if form.is_bound and form.is_valid():
        retrieve.save(study, form.cleaned_data, by=request.user)
        messages.success(request, _("Saved."))
        return redirect("sources", slug)
    return _page(request, study, form, DocumentsForm())


@require_POST
def upload(request: UserRequest, slug: str) -> HttpResponse:
    """Add the documents of a file to the collection."""
    study = study_for(request.user, slug, policies.source.may_change)
    form = DocumentsForm(request.POST, request.FILES)
    if form.is_valid():
        with refusals.in_form(form, "file"):
            document_files.request(study, form.cleaned_data["file"], request.user)
            messages.success(request, _("The file is being read."))
            return redirect("sources", slug)
    return _page(request, study, RetrievalForm(instance=retrieve.settings_of(study)), form)


@require_POST
def clear(request: UserRequest, slug: str) -> HttpResponse:
    """Ask before the collection is emptied; then do it."""
    study = study_for(request.user, slug, policies.source.may_change)
    if not request.POST.get("sure"):
        context = {"study": study, "count": study.documents.count()}
        return render(request, "candidates/clear.html", context)
    documents.remove(study, by=request.user)
    messages.success(request, _("The collection is empty."))
    return redirect("sources", slug)


def _page(
    request: UserRequest, study: Study, form: BaseForm, upload_form: BaseForm
) -> HttpResponse:
    rows = study.documents.defer("text").order_by("external_id")
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    files = list(study.document_files.order_by("-pk")[:FILES_SHOWN])
    context = {
        "study": study,
        "form": form,
        "upload": upload_form,
        "page": page,
        "files": files,
        "under_way": any(file.status in (REQUESTED, RUNNING) for file in files),
    }
    wrong = form.errors or upload_form.errors
    # While a file is being read the page asks for the list of files alone.
    part, status = ("", 400) if wrong else ("files", 200)
    return whole_or_part(request, "candidates/sources.html", part, context, status)
