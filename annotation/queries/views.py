"""The curators' pages of queries: list, import, write, change."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.core.rows import chunks
from annotation.queries import author
from annotation.queries.forms import QueriesUpload, QueryForm
from annotation.queries.models import Query
from annotation.studies.access import study_for
from annotation.studies.models import Study

PAGE = 50
CHUNK = 2000


@require_http_methods(["GET", "POST"])
def queries(request: UserRequest, slug: str) -> HttpResponse:
    """The list of current queries; POST imports a queries.jsonl."""
    study = study_for(request.user, slug, policies.query.may_change)
    data = (request.POST, request.FILES) if request.method == "POST" else ()
    form = QueriesUpload(*data, study=study)
    if form.is_bound and form.is_valid():
        _import(request, study, form.cleaned_data["file"])
        return redirect("queries", slug)
    rows = (
        study.queries.filter(replaced_at=None)
        .order_by("pk")
        .select_related("persona")
        .annotate(
            answers=Count("candidates", distinct=True), in_items=Count("items", distinct=True)
        )
    )
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    context = {"study": study, "page": page, "form": form}
    return render(request, "queries/queries.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "POST"])
def add(request: UserRequest, slug: str) -> HttpResponse:
    """Write a query."""
    study = study_for(request.user, slug, policies.query.may_change)
    form = QueryForm(request.POST if request.method == "POST" else None, study=study)
    if form.is_bound and form.is_valid():
        key = form.cleaned_data["external_id"]
        if study.queries.filter(external_id=key).exists():
            form.add_error("external_id", _("There is a query of this id already."))
        else:
            author.save(study, key, by=request.user, **form.fields_for_save())
            messages.success(request, _("The query is saved."))
            return redirect("queries", slug)
    context = {"study": study, "form": form}
    return render(request, "queries/query.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "POST"])
def query(request: UserRequest, slug: str, pk: int) -> HttpResponse:
    """One query and its earlier versions; POST saves a change."""
    study = study_for(request.user, slug, policies.query.may_change)
    shown = get_object_or_404(Query, study=study, pk=pk)
    versions = study.queries.filter(external_id=shown.external_id).order_by("-version")
    current = versions[0]
    if current != shown and request.method == "GET":
        return redirect("query", slug, current.pk)
    form = QueryForm(request.POST if request.method == "POST" else None, study=study, query=current)
    # A page that was opened before somebody else's change would undo it unseen.
    if form.is_bound and current != shown:
        form.add_error(None, _("The query was changed meanwhile: compare before you save again."))
    if form.is_bound and form.is_valid():
        saved = author.save(study, current.external_id, by=request.user, **form.fields_for_save())
        messages.success(request, _("Saved as version %(n)d.") % {"n": saved.version})
        return redirect("query", slug, saved.pk)
    context = {"study": study, "form": form, "query": current, "versions": versions}
    return render(request, "queries/query.html", context, status=400 if form.errors else 200)


def _import(request: UserRequest, study: Study, records: list[dict]) -> None:
    with transaction.atomic():
        changed = sum(
            author.save_all(study, chunk, by=request.user) for chunk in chunks(records, CHUNK)
        )
    words = ngettext("%(n)d query is new or changed.", "%(n)d queries are new or changed.", changed)
    messages.success(request, words % {"n": changed})
