"""The curators' pages under "Data": send a file, map its columns, import it, see what came in."""

from itertools import chain, islice
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.core import downloads, refusals
from annotation.core.errors import DomainError
from annotation.core.jobs import worker_alive
from annotation.core.pages import whole_or_part
from annotation.core.uploads import PIECE
from annotation.imports import bring, recipes, run, shape, tasks
from annotation.imports import mapping as mappings
from annotation.imports.forms import HubForm, JoinForm, MappingForm, ProvenanceForm
from annotation.imports.mapping import Mapping
from annotation.imports.models import DataImport
from annotation.imports.tables import Beginning
from annotation.judging.curator.preview import Tried
from annotation.judging.work import present
from annotation.studies.access import study_for
from annotation.studies.models import Study

PAGE = 20
PREVIEW, FAULTS = 10, 100
Status = DataImport.Status
WORKING = (Status.REQUESTED, Status.RUNNING)
TITLES = {
    "personas": gettext_lazy("Personas"),
    "queries": gettext_lazy("Queries"),
    "candidates": gettext_lazy("Answers"),
    "items": gettext_lazy("Items"),
    "votes": gettext_lazy("Judgments"),
    "scores": gettext_lazy("Scores"),
    "workers": gettext_lazy("Annotators"),
}


@require_http_methods(["GET", "HEAD", "POST"])
def imports(request: UserRequest, slug: str) -> HttpResponse:
    """A study's imports, newest first, and the form that sends a file."""
    study = study_for(request.user, slug, policies.data_import.may_manage)
    error = ""
    if request.method == "POST":
        try:
            row = _received(request, study)
            tasks.notify(row.pk)
            return redirect("import", slug, row.pk)
        except DomainError as refusal:
            error = refusal.sentence
    rows = study.imports.defer("sample").order_by("-created_at")
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    context = {"study": study, "page": page, "error": error, "piece": PIECE}
    context["hub"] = HubForm(request.POST if request.POST.get("hub") else None)
    return render(request, "imports/imports.html", context, status=400 if error else 200)


def _received(request: UserRequest, study: Study) -> DataImport:
    """The import of the file that was sent, or of the data set that was named."""
    form = HubForm(request.POST)
    if request.POST.get("hub") and form.is_valid():
        return run.from_hub(study, request.user, form.schema)
    file = request.FILES.get("file")
    if not isinstance(file, UploadedFile):
        raise DomainError(_("Choose a file first."))
    return run.whole(study, request.user, file)


@require_http_methods(["GET", "HEAD", "POST"])
def data_import(request: UserRequest, slug: str, pk: UUID) -> HttpResponse:
    """One import: its mapping and preview, its progress, or what came in."""
    study = study_for(request.user, slug, policies.data_import.may_manage)
    row = get_object_or_404(DataImport, study=study, pk=pk)
    if request.method == "POST" and request.POST.get("action") in ACTS:
        with refusals.as_message(request):
            return ACTS[request.POST["action"]](request, study, row)
        return redirect("import", slug, pk)
    mapped = row.status in (Status.WAITING, Status.FAILED) and row.stored and row.sample
    if mapped and not (row.status == Status.FAILED and request.method != "POST"):
        if request.headers.get("HX-Request") == "true":  # it waited for a worker to read the file
            return HttpResponse(headers={"HX-Refresh": "true"})
        return _map(request, study, row)
    working = row.status in WORKING
    context = {
        "study": study,
        "row": row,
        "working": working,
        "nobody_works": working and not worker_alive(),
        "counts": [
            (words, row.counts[name]) for name, words in TITLES.items() if row.counts.get(name)
        ],
        "unknown": [(name, mappings.suggestion(name)) for name in row.unknown],
        "faults": row.faults.all()[:FAULTS],
        "more": max(row.rejected - FAULTS, 0),
        "again": mapped,
        "none_opened": row.open_items
        and row.status == Status.DONE
        and not row.counts.get("items")
        and bool(row.counts.get("queries") or row.counts.get("candidates")),
    }
    return whole_or_part(request, "imports/import.html", "state", context)


def _cancel(request: UserRequest, study: Study, row: DataImport) -> HttpResponse:
    run.cancel(study, row.pk, request.user)
    nothing = _("It was cancelled. Nothing of it is stored.")
    stays = _("It was cancelled. What was stored of it stays.")
    messages.success(request, nothing if row.mark is None else stays)
    return redirect("imports", study.slug)


def _join(request: UserRequest, study: Study, row: DataImport) -> HttpResponse:
    run.join(row, *(request.POST.get(name, "") for name in ("upload", "column", "key")))
    tasks.notify(row.pk)
    return redirect("import", study.slug, row.pk)


ACTS = {"cancel": _cancel, "join": _join}


def _map(request: UserRequest, study: Study, row: DataImport) -> HttpResponse:
    """The mapping with ten rows as they would come in; POST imports, or shows another mapping."""
    recipe = request.POST.get("recipe") or request.GET.get("recipe") or ""
    context = {"study": study, "row": row, "recipes": _recipes(study), "recipe": recipe}
    begin = Beginning.read(row.sample)
    if begin.format == "bundle":
        return _bundle(request, study, row, context)
    records = begin.records()
    action = request.POST.get("action", "")
    data = request.POST if action in ("import", "preview") else None
    form, mapping, words = _form(data, row, recipe, records)
    known = row.provenance or recipes.provenance_of(recipe)
    asked = ProvenanceForm(data, initial=known)
    valid = form.is_bound and form.is_valid() and asked.is_valid()
    mapping = form.cleaned_data["mapping"] if valid else mapping
    named = mappings.named(mapping, records) if mapping else []
    left = action == "import" and bool(named) and "leave" not in request.POST
    if valid:
        form.keep(row)
        if action == "import" and not left:
            chosen = form.cleaned_data | {"provenance": asked.schema.as_json()}
            return _start(request, study, row, chosen)
    context |= {
        "form": form,
        "asked": asked,
        "words": words,
        "preview": _preview(begin.rows, mapping and bring.classed(mapping, records)),
        "joining": JoinForm(None, run.joinable(row), form.places),
        "named": named,
        "left": left and valid,
    }
    context["notes"] = begin.notes
    columns = bring.columns_of(records)
    unknown = mappings.unknown(mapping, columns, records) if mapping else []
    context["unknown"] = [(name, mappings.suggestion(name)) for name in unknown]
    return render(
        request, "imports/map.html", context, status=400 if form.errors or asked.errors else 200
    )


def _form(
    data: QueryDict | None, row: DataImport, recipe: str, records: list[dict]
) -> tuple[MappingForm, Mapping | None, str]:
    """The form, the mapping that it begins with, and a sentence about it."""
    mapping, words = _mapping(row, recipe, records)
    shown = mapping and bring.classed(mapping, records)
    return MappingForm(data, records, shown, row), mapping, words


@require_POST
def preview(request: UserRequest, slug: str, pk: UUID) -> HttpResponse:
    """The judging page of the first row, as the form reads it; nothing of it is stored.

    It stands in a frame beside the form, and nothing in it can be pressed.
    """
    study = study_for(request.user, slug, policies.data_import.may_manage)
    row = get_object_or_404(DataImport, study=study, pk=pk)
    if not row.sample:  # it has ended meanwhile
        return redirect("import", slug, pk)
    begin = Beginning.read(row.sample)
    recipe = request.POST.get("recipe") or ""
    form, _mapping, _words = _form(request.POST, row, recipe, begin.records())

    def page(tried: Tried) -> HttpResponse:
        context = {"study": study, "tried": tried, "shown": tried.shown}
        context |= present.form(tried.shown, present.fields({}))
        return render(request, "judging/preview_form.html", context)

    if form.is_valid():
        try:
            return bring.judging_page(study, begin, form.cleaned_data, page)
        except DomainError as refusal:
            form.add_error(None, refusal.sentence)
    return render(request, "judging/preview_form.html", {"form": form})


def _recipes(study: Study) -> list[tuple[str, str]]:
    saved = study.import_recipes.order_by("name").values_list("name", flat=True)
    shipped = [(name, str(recipe.title)) for name, recipe in recipes.by_name().items()]
    return [*((f"own:{name}", name) for name in saved), *shipped]


def _mapping(row: DataImport, name: str, records: list[dict]) -> tuple[Mapping | None, str]:
    """The mapping of the recipe ``name``, else that of an earlier attempt, else the proposal.

    And a sentence where there is none, or the recipe does not fit.
    """
    try:
        if name.startswith("own:"):
            saved = row.study.import_recipes.filter(name=name.removeprefix("own:")).first()
            if saved:
                return Mapping.from_json(saved.mapping), ""
        if name:
            return recipes.mapping_of(name, records), ""
        if (row.mapping or {}).get("columns"):
            return Mapping.from_json(row.mapping), ""
    except DomainError as refusal:
        return mappings.propose(records), refusal.sentence
    if proposal := mappings.propose(records):
        return proposal, ""
    if fitting := recipes.fitting(records):
        words = _("The columns were not recognised. The recipe “%s” would read them so: check it.")
        title = recipes.by_name()[fitting[0]].title
        return recipes.mapping_of(fitting[0], records), words % title
    return None, _("The columns were not recognised: say what they hold.")


def _preview(sample: list, mapping: Mapping | None) -> list[dict]:
    """Ten rows as they would come in, or what is wrong with them."""
    rows = []
    shown = bring.of_depth(iter(sample), mapping.depth if mapping else 0)
    for line, record in islice(shown, PREVIEW):
        entry: dict[str, Any] = {"line": line}
        try:
            if isinstance(record, str):
                raise shape.RowError(record)
            if mapping:
                entry["row"] = shape.shape(record, mapping)
        except shape.RowError as fault:
            entry["fault"] = fault.sentence
        rows.append(entry)
    return rows if mapping else []


def _bundle(request: UserRequest, study: Study, row: DataImport, context: dict) -> HttpResponse:
    if request.POST.get("action") == "import":
        return _start(request, study, row, {"mapping": None})
    return render(request, "imports/map.html", context | {"bundle": True})


def _start(request: UserRequest, study: Study, row: DataImport, data: dict) -> HttpResponse:
    names = ("task", "open_items", "skip_faults", "repeats", "allow", "provenance")
    wish = data["mapping"].as_json() if data["mapping"] else {}
    with refusals.as_message(request):
        run.request_import(row, wish, **{name: data[name] for name in names if name in data})
        tasks.notify(row.pk)
    return redirect("import", study.slug, row.pk)


@require_safe
def faults(request: UserRequest, slug: str, pk: UUID) -> HttpResponseBase:
    """Every faulty line as CSV."""
    study = study_for(request.user, slug, policies.data_import.may_manage)
    row = get_object_or_404(DataImport, study=study, pk=pk)
    lines = row.faults.values_list("line", "reason").iterator(chunk_size=2_000)
    body = downloads.csv_lines(chain([("line", "reason")], lines))
    response = StreamingHttpResponse(body, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="faulty-lines.csv"'
    return response
