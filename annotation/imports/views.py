"""The curators' pages under "Data": send a file, map its columns, import it, see what came in.

The form of the mapping has a field for each place of the first rows.
"""

from collections.abc import Iterable
from dataclasses import asdict
from itertools import chain, islice
from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.core import downloads, refusals
from annotation.core.errors import DomainError
from annotation.core.jobs import worker_alive
from annotation.core.pages import show, whole_or_part
from annotation.core.records import clean
from annotation.core.schema import built, form_of, taken
from annotation.core.uploads import PIECE
from annotation.imports import bring, recipes, run, shape, tasks
from annotation.imports import mapping as mappings
from annotation.imports.bring import Classes, Known, Options
from annotation.imports.mapping import (
    OWN,
    QUESTION_LIMIT,
    TARGETS,
    Mapping,
    checked,
    leaves,
    value_at,
)
from annotation.imports.models import DataImport, ImportRecipe
from annotation.imports.tables import Beginning, HubTable, Text
from annotation.judging.curator.preview import framed
from annotation.judging.kinds.files import WIDER
from annotation.studies.access import study_page
from annotation.studies.models import Study

PLACES_LIMIT = 80
# Values of the field ``task``: no items now, or items of the task that follows.
LATER, OPEN = "later", "open:"
CHOICES = [("", "–"), *TARGETS.items(), (OWN, gettext_lazy("answer to a question of your own"))]
VALUES, VALUE_LENGTH = 3, 80


class MappingForm(
    form_of(Options, "skip_faults", "repeats", "allow"),  # type: ignore[misc]
    form_of(Classes, "level", "depth"),  # type: ignore[misc]
):
    """What each place of the file's first rows becomes; and the options."""

    task = forms.ChoiceField(
        label=gettext_lazy("What becomes of the rows"),
        required=False,
        help_text=gettext_lazy(
            "Judgments in a file need items: they go to the task chosen, or to a new one."
        ),
    )
    new_task = forms.SlugField(
        label=gettext_lazy("Name of a new task"),
        max_length=60,
        required=False,
        help_text=gettext_lazy("Left empty, a task that is needed is named after its kind."),
    )
    constants = forms.CharField(
        label=gettext_lazy("The same for all rows"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        max_length=20_000,
        help_text=gettext_lazy("One a line, such as: prompt=Which summary is better?"),
    )
    classes = forms.CharField(
        label=gettext_lazy("Classes of labels, in their order"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        max_length=20_000,
        help_text=gettext_lazy("“No, Unsure, Yes”; of a question of your own “QUESTION: No, Yes”."),
    )
    recipe_name = forms.CharField(
        label=gettext_lazy("Keep this mapping as a recipe called"), max_length=60, required=False
    )

    def __init__(
        self,
        data: QueryDict | None,
        sample: list[dict],
        mapping: Mapping | None,
        row: DataImport,
        fitting: str = "",
    ) -> None:
        # Whoever has tasks looks at a batch before it is opened.
        tasks = task_names(row.study)
        later = bool(tasks) and not (mapping and mapping.votes)
        initial = {"skip_faults": row.skip_faults, "repeats": row.repeats, "allow": row.allow}
        initial |= _chosen(row, tasks) if row.mapping else {"task": LATER if later else fitting}
        super().__init__(data, initial=initial)
        offered = [name for name in WIDER if name in {*row.wider, *row.allow}]
        if not offered:
            del self.fields["allow"]
        else:
            self.offer("allow", [(name, WIDER[name]) for name in offered])
        words = _("Items of the task “%s”, opened now")
        choices = [(LATER, _("Stored; a batch opens items later"))]
        choices += [(f"{OPEN}{name}", words % name) for name in tasks]
        self.offer("task", [*choices, ("", _("Items of a new task that fits, opened now"))])
        self.columns = mapping.columns if mapping else {}
        self.words = mapping.values if mapping else {}
        self.fields["classes"].initial = _written(mapping)
        self.fields["level"].initial = mapping.level if mapping else ""
        if any("depth" in record for record in sample):
            self.fields["depth"].initial = mapping.depth if mapping else 0
        else:
            del self.fields["depth"]
        if seen := _labels_in(sample, mapping):
            self.fields["classes"].help_text = _("As they occur: %s") % ", ".join(seen)
        self.places = places_of(sample, [name for names in self.columns.values() for name in names])
        self.shown = {place: _values_at(sample, place) for place in self.places}
        for place in self.places:
            targets, name = _uses(self.columns, place)
            self.fields[f"becomes-{place}"] = forms.MultipleChoiceField(
                choices=CHOICES, initial=targets, required=False
            )
            self.fields[f"question-{place}"] = forms.CharField(
                max_length=QUESTION_LIMIT, initial=name, required=False
            )
        named = [("", "–"), *((place, place) for place in self.places)]
        self.fields["also"] = forms.ChoiceField(
            choices=named, required=False, label=_("A column that is also")
        )
        self.fields["also_becomes"] = forms.ChoiceField(
            choices=CHOICES, required=False, label=_("what it becomes")
        )

    choices = CHOICES

    def rows(self) -> list[dict[str, Any]]:
        """A row of the page for each place: its first values, and what it becomes."""
        rows = []
        for place in self.places:
            field, question = self[f"becomes-{place}"], self[f"question-{place}"]
            targets = [target for target in field.value() or () if target] or [""]
            rows.append(
                {
                    "place": place or _("the whole record"),
                    "values": self.shown[place],
                    "name": field.html_name,
                    "targets": targets,
                    "question": question if OWN in targets else None,
                    "inside": targets == [""] and bool(set(".[") & set(place)),
                }
            )
        return rows

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        try:
            mapping = Mapping(self._columns(data), self.words, depth=data.get("depth") or 0)
            texts = self._constants()
            mapping = mapping.with_constants(texts) if texts else checked(mapping)
            classes = [line for line in (data.get("classes") or "").splitlines() if line.strip()]
            data["mapping"] = mapping.with_classes(classes, data.get("level") or "")
        except DomainError as refusal:
            raise forms.ValidationError(refusal.sentence) from refusal
        choice, name = data.get("task") or "", data.get("new_task") or ""
        data.setdefault("allow", [])
        data["open_items"] = bool(name) or choice != LATER
        data["task"] = name or choice.removeprefix(OPEN).removeprefix(LATER)
        return data

    def _columns(self, data: dict[str, Any]) -> dict[str, tuple[str, ...]]:
        """{target: columns}; columns of one target keep the order that they had."""
        columns: dict[str, list[str]] = {}
        for place in self.places:
            for target in data.get(f"becomes-{place}") or ():
                name = data.get(f"question-{place}") or question_in(place)
                columns.setdefault(f"{OWN}{name}" if target == OWN else target, []).append(place)
        if data.get("also"):
            columns.setdefault(data.get("also_becomes") or "", []).append(data["also"])
        columns.pop("", None)
        for target, names in columns.items():
            before = self.columns.get(target, ())
            names.sort(key=lambda name: before.index(name) if name in before else len(before))
        return {target: tuple(names) for target, names in columns.items()}

    def _constants(self) -> dict[str, list[str]]:
        """{target: [text]} of the lines TARGET=TEXT."""
        texts = {}
        for line in (self.cleaned_data.get("constants") or "").splitlines():
            target, sign, text = line.partition("=")
            if line.strip() and not sign:
                raise DomainError(_("“%s” is no line such as prompt=Text.") % line[:60])
            if line.strip():
                texts[target.strip()] = [text.strip()]
        return texts

    def keep(self, row: DataImport) -> None:
        """Store the mapping under its name where one was given."""
        name = " ".join(self.cleaned_data["recipe_name"].split())
        if name:
            fields = {"mapping": asdict(self.cleaned_data["mapping"])}
            ImportRecipe.objects.update_or_create(study=row.study, name=name, defaults=fields)


ProvenanceForm, HubForm, TextForm = form_of(Known), form_of(HubTable), form_of(Text)


class JoinForm(forms.Form):
    """A second file, and by which columns its rows stand beside those of this one."""

    upload = forms.ChoiceField(label=gettext_lazy("A file that waits here"))
    column = forms.ChoiceField(label=gettext_lazy("Column that names its rows"))
    key = forms.CharField(label=gettext_lazy("Their column of these names"), max_length=200)

    def __init__(self, data: QueryDict | None, others: Iterable[DataImport], places: list[str]):
        super().__init__(data)
        cast(forms.ChoiceField, self.fields["upload"]).choices = [
            (str(other.pk), other.name) for other in others
        ]
        cast(forms.ChoiceField, self.fields["column"]).choices = [(name, name) for name in places]


def question_in(place: str) -> str:
    """The question that a column is named after."""
    return place.rsplit(".", 1)[-1].strip()[:QUESTION_LIMIT]


def _uses(columns: dict[str, tuple[str, ...]], place: str) -> tuple[list[str], str]:
    """The targets that ``place`` is mapped to, and the question of its own among them."""
    targets = [target for target, names in columns.items() if place in names]
    own = [target.removeprefix(OWN) for target in targets if target.startswith(OWN)]
    listed = [OWN if target.startswith(OWN) else target for target in targets]
    return listed, own[0] if own else question_in(place)


def _values_at(sample: list[dict], place: str) -> list[str]:
    """The first values of a place that differ, cut to a length for the page."""
    values = (value_at(record, place) if place else record for record in sample)
    # Bytes that are no text are seen as such: a page cannot hold them.
    texts = (
        clean(str(value))[:VALUE_LENGTH] for value in values if value not in (None, "", [], {})
    )
    return list(islice(dict.fromkeys(texts), VALUES))


def _written(mapping: Mapping | None) -> str:
    """Declared classes as the form takes them, one question a line."""
    classes = mapping.classes.items() if mapping else ()
    return "\n".join(
        ": ".join(filter(None, (question, ", ".join(names))))
        for question, names in classes
        if names
    )


def _labels_in(sample: list[dict], mapping: Mapping | None) -> list[str]:
    """The labels of the first rows that are classes, in their order."""
    if not mapping or not mapping.has("label") or (mapping.wide and "" not in mapping.classes):
        return []
    places = mapping.columns["label"]
    values = (value_at(record, place) for record in sample for place in places)
    return list(dict.fromkeys(clean(str(v)) for v in values if v not in (None, "")))[:20]


def _chosen(row: DataImport, tasks: list[str]) -> dict[str, str]:
    """What an earlier attempt chose to make of the rows."""
    if row.task in tasks:
        return {"task": f"{OPEN}{row.task}"}
    return {"task": "" if row.open_items else LATER, "new_task": row.task}


def task_names(study: Study) -> list[str]:
    """The names of the study's tasks that anybody may judge."""
    rows = study.tasks.order_by("name", "-version").distinct("name")
    return [task.name for task in rows if not task.config.get("owner_only")]


def places_of(sample: list[dict], named: list[str]) -> list[str]:
    """Places of the first rows that a target can be taken from, and those that are ``named``."""
    places: dict[str, None] = {}
    for row in sample:
        places |= dict.fromkeys(leaves(row, PLACES_LIMIT))
    return list(dict.fromkeys([*named, *list(places)[:PLACES_LIMIT]]))


# --- Pages ----------------------------------------------------------------------------------------


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


@study_page(policies.data_import.may_manage, "GET", "POST")
def imports(request: UserRequest, study: Study) -> HttpResponse:
    """A study's imports, newest first, and the form that sends a file."""
    error = ""
    if request.method == "POST":
        try:
            row = _received(request, study)
            tasks.notify(row.pk)
            return redirect("import", study.slug, row.pk)
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


@study_page(policies.data_import.may_manage, "GET", "POST")
def data_import(request: UserRequest, study: Study, pk: UUID) -> HttpResponse:
    """One import: its mapping and preview, its progress, or what came in."""
    row = get_object_or_404(DataImport, study=study, pk=pk)
    if request.method == "POST" and request.POST.get("action") in ACTS:
        with refusals.as_message(request):
            return ACTS[request.POST["action"]](request, study, row)
        return redirect("import", study.slug, pk)
    working = row.status in WORKING
    if request.headers.get("HX-Request") == "true" and not working:
        # There is a mapping to look at, or the study is open now.
        return HttpResponse(headers={"HX-Refresh": "true"})
    mapped = row.status in (Status.WAITING, Status.FAILED) and row.stored and row.sample
    if mapped and not (row.status == Status.FAILED and request.method != "POST"):
        return _map(request, study, row)
    context = {
        "study": study,
        "row": row,
        "working": working,
        "nobody_works": working and not worker_alive(),
        "counts": [
            (words, row.counts[name]) for name, words in TITLES.items() if row.counts.get(name)
        ],
        "known_items": row.counts.get("items", 0) - row.counts.get("new_items", 0),
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


def _encode(request: UserRequest, study: Study, row: DataImport) -> HttpResponse:
    form = TextForm(request.POST)
    if not form.is_valid():
        raise DomainError(_("Choose one of the encodings."))
    run.look_again(row, encoding=form.schema.encoding)
    tasks.notify(row.pk)
    return redirect("import", study.slug, row.pk)


ACTS = {"cancel": _cancel, "join": _join, "encode": _encode}


def _map(request: UserRequest, study: Study, row: DataImport) -> HttpResponse:
    """The mapping with ten rows as they would come in; POST imports, or shows another mapping."""
    begin = Beginning.read(row.sample)
    if begin.format == "bundle":
        if request.POST.get("action") == "import":
            return _start(request, study, row, {"mapping": None})
        return render(request, "imports/map.html", {"study": study, "row": row, "bundle": True})
    records = begin.records()
    recipe = request.POST.get("recipe") or request.GET.get("recipe") or ""
    if not recipe and not (row.mapping or {}).get("columns"):
        recipe = recipes.proposed(records)[1]
    context = {"study": study, "row": row, "recipes": _recipes(study), "recipe": recipe}
    action = request.POST.get("action", "")
    data = request.POST if action in ("import", "preview") else None
    form, mapping, words = _form(data, row, recipe, begin)
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
        "text": TextForm(None, initial={"encoding": row.encoding}),
        "broken": not begin.is_text(),
        "named": named,
        "left": left and valid,
        "notes": begin.notes,
    }
    columns = mappings.columns_of(records)
    unknown = mappings.unknown(mapping, columns, records) if mapping else []
    context["unknown"] = [(name, mappings.suggestion(name)) for name in unknown]
    return show(request, "imports/map.html", context)


def _form(
    data: QueryDict | None, row: DataImport, recipe: str, begin: Beginning
) -> tuple[MappingForm, Mapping | None, str]:
    """The form, the mapping that it begins with, and a sentence about it."""
    records = begin.records()
    mapping, words = _mapping(row, recipe, records)
    shown = mapping and bring.classed(mapping, records)
    own = task_names(row.study) if data is None else []
    wanted = shown if shown and shown.votes else None
    fits = (
        f"{OPEN}{name}" for name in own if wanted and bring.takes(row.study, begin, wanted, name)
    )
    return MappingForm(data, records, shown, row, next(fits, "")), mapping, words


@study_page(policies.data_import.may_manage, "POST")
def preview(request: UserRequest, study: Study, pk: UUID) -> HttpResponse:
    """The judging page of the first row, as the form reads it; nothing of it is stored.

    It stands in a frame beside the form, and nothing in it can be pressed.
    """
    row = get_object_or_404(DataImport, study=study, pk=pk)
    if not row.sample:  # it has ended meanwhile
        return redirect("import", study.slug, pk)
    begin = Beginning.read(row.sample)
    recipe = request.POST.get("recipe") or ""
    form, _mapping, _words = _form(request.POST, row, recipe, begin)
    if form.is_valid():
        try:
            shown = framed(request, study)
            return bring.judging_page(study, begin, form.cleaned_data, shown)
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
        return recipes.proposed(records)[0], refusal.sentence
    if proposal := recipes.proposed(records)[0]:
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
            entry["fault"] = clean(fault.sentence)
        rows.append(entry)
    return [entry for entry in rows if mapping or "fault" in entry]


def _start(request: UserRequest, study: Study, row: DataImport, data: dict) -> HttpResponse:
    wish = asdict(data["mapping"]) if data["mapping"] else {}
    with refusals.as_message(request):
        options = built(Options, taken(Options, data))
        run.request_import(row, wish, options, provenance=data.get("provenance"))
        tasks.notify(row.pk)
    return redirect("import", study.slug, row.pk)


@study_page(policies.data_import.may_manage, "GET")
def faults(request: UserRequest, study: Study, pk: UUID) -> HttpResponseBase:
    """Every faulty line as CSV."""
    row = get_object_or_404(DataImport, study=study, pk=pk)
    lines = row.faults.values_list("line", "reason").iterator(chunk_size=2_000)
    body = downloads.csv_lines(chain([("line", "reason")], lines))
    response = StreamingHttpResponse(body, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="faulty-lines.csv"'
    return response
