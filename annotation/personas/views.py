"""The curators' pages of personas: list, import, write, drop, memories, sides, conversations."""

from functools import partial

from django.contrib import messages
from django.db.models import Count, OuterRef, Q, Subquery
from django.forms import BaseForm
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.core import refusals, sql
from annotation.core.pages import Listing, done, show, words_in
from annotation.core.schema import form_of
from annotation.personas import board, conversations, curate
from annotation.personas.forms import (
    AttributesForm,
    DayForm,
    DropForm,
    FiltersForm,
    MemoryForm,
    PersonaForm,
    UploadForm,
)
from annotation.personas.models import Attribute, Persona, PersonaVersion, held_on
from annotation.studies.access import study_page
from annotation.studies.models import Study

# Values of a dimension that are shown.
ROWS = 12
# Cosine from which two personas on different sides are mentioned.
ALIKE = 0.9


@study_page(policies.persona.may_change, "GET", "POST")
def personas(request: UserRequest, study: Study) -> HttpResponseBase:
    """The list; POST imports a personas.jsonl."""
    form = UploadForm(*((request.POST, request.FILES) if request.method == "POST" else ()))
    if form.is_valid():
        save = partial(curate.save_all, study, by=request.user)
        changed = sql.save_in_chunks(save, form.cleaned_data["file"])
        words = ngettext(
            "%(n)d persona is new or changed.", "%(n)d personas are new or changed.", changed
        )
        return done(request, words % {"n": changed}, "personas", study.slug)
    return _list(request, study, form, AttributesForm(study=study))


@study_page(policies.persona.may_change, "POST")
def add_attributes(request: UserRequest, study: Study) -> HttpResponseBase:
    form = AttributesForm(request.POST, request.FILES, study=study)
    if form.is_valid():
        with refusals.in_form(form, "file"):
            added = curate.add_attributes(study, form.cleaned_data["file"], by=request.user)
            words = ngettext("%(n)d attribute is new.", "%(n)d attributes are new.", added)
            return done(request, words % {"n": added}, "personas", study.slug)
    return _list(request, study, UploadForm(), form)


def _list(
    request: UserRequest, study: Study, form: BaseForm, attributes_form: BaseForm
) -> HttpResponseBase:
    newest = PersonaVersion.objects.filter(persona=OuterRef("pk")).order_by("-version")
    rows = study.personas.annotate(
        name=Subquery(newest.values("profile__Name")[:1]),
        version=Subquery(newest.values("version")[:1]),
        queries_asked=Count("queries", distinct=True),
        memories_held=Count("memories", distinct=True),
        attributes_held=Count("attributes", distinct=True),
    )
    context = {"form": form, "attributes_form": attributes_form, "count": rows.count()}
    return LIST.answer(request, study, rows, "personas/personas.html", context)


def _with_reasons(personas: list[Persona]) -> list[Persona]:
    for persona in personas:
        vars(persona)["why"] = curate.REASONS.get(persona.dropped_because, persona.dropped_because)
    return personas


LIST = Listing(
    "personas",
    columns={
        "id": lambda persona: persona.external_id,
        "name": lambda persona: persona.name or "",
        "version": lambda persona: persona.version,
        "queries": lambda persona: persona.queries_asked,
        "memories": lambda persona: persona.memories_held,
        "attributes": lambda persona: persona.attributes_held,
        "dropped": lambda persona: persona.why if persona.dropped_at else "",
    },
    rules={"q": words_in("external_id", "name")},
    shown=_with_reasons,
)


@study_page(policies.persona.may_change, "GET", "POST")
def add(request: UserRequest, study: Study) -> HttpResponse:
    form = PersonaForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        key = form.cleaned_data["external_id"]
        if study.personas.filter(external_id=key).exists():
            form.add_error("external_id", _("There is a persona of this id already."))
        else:
            version = curate.save_profile(study, key, form.cleaned_data["profile"], by=request.user)
            words = _("%(name)s is saved.") % {"name": version.name}
            return done(request, words, "persona", study.slug, version.persona_id)
    return show(request, "personas/persona.html", {"study": study, "form": form})


@study_page(policies.persona.may_change, "GET", "POST")
def persona(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    """One persona, its memories and versions; POST saves a change as a new version."""
    row = get_object_or_404(study.personas, pk=pk)
    form = PersonaForm(request.POST if request.method == "POST" else None, persona=row)
    if form.is_valid():
        before, profile = row.current, form.cleaned_data["profile"]
        version = curate.save_profile(study, row.external_id, profile, by=request.user)
        if version == before:
            messages.info(request, _("Nothing was changed."))
        else:
            words = _("Saved as version %(n)d. What people saw before stays as it was.")
            messages.success(request, words % {"n": version.version})
        return redirect("persona", study.slug, pk)
    return _page(request, study, row, form=form)


@study_page(policies.persona.may_change, "POST")
def drop(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    """Take a persona out for a reason from the curation rounds."""
    row = get_object_or_404(study.personas, pk=pk)
    form = DropForm(request.POST)
    if not form.is_valid():
        return _page(request, study, row, drop=form)
    curate.drop(row, form.cleaned_data["reason"], by=request.user)
    return done(request, _("Dropped. You can undo this."), "persona", study.slug, pk)


@study_page(policies.persona.may_change, "POST")
def restore(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    row = get_object_or_404(study.personas, pk=pk)
    curate.restore(row, by=request.user)
    return done(request, _("The persona is back."), "persona", study.slug, pk)


@study_page(policies.persona.may_change, "POST")
def remember(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    row = get_object_or_404(study.personas, pk=pk)
    form = MemoryForm(request.POST)
    if not form.is_valid():
        return _page(request, study, row, memory=form)
    curate.remember(row, form.cleaned_data["text"], form.schema, by=request.user)
    return redirect("persona", study.slug, pk)


@study_page(policies.persona.may_change, "POST")
def set_times(request: UserRequest, study: Study, pk: int, attribute: int) -> HttpResponse:
    statement = get_object_or_404(Attribute, persona__study=study, persona=pk, pk=attribute)
    form = form_of(curate.Times)(request.POST)
    if form.is_valid():
        curate.set_times(statement, form.schema, by=request.user)
        messages.success(request, _("Saved."))
    else:
        messages.error(request, str(next(iter(form.errors.values()))[0]))
    return redirect("persona", study.slug, pk)


@study_page(policies.persona.may_change, "POST")
def forget(request: UserRequest, study: Study, pk: int, memory: int) -> HttpResponse:
    row = get_object_or_404(study.personas, pk=pk)
    get_object_or_404(row.memories, pk=memory)
    curate.forget(row, memory, by=request.user)
    return redirect("persona", study.slug, pk)


def _page(request: UserRequest, study: Study, persona: Persona, **sent: BaseForm) -> HttpResponse:
    """The persona's page; ``sent`` are those of its forms, by name, that were refused."""
    forms = {"form": PersonaForm(persona=persona), "drop": DropForm(), "memory": MemoryForm()}
    day = DayForm(request.GET)
    held = held_on(day.cleaned_data["on"]) if day.is_valid() else Q()
    context = (
        forms
        | sent
        | {
            "study": study,
            "persona": persona,
            "current": persona.current,
            "why": curate.REASONS.get(persona.dropped_because, persona.dropped_because),
            "day": day,
            "memories": persona.memories.filter(held).order_by("pk")[:200],
            "attributes": persona.attributes.filter(held)
            .order_by("pk")
            .prefetch_related("evidence")[:200],
            "queries": persona.queries.filter(replaced_at=None).order_by("pk")[:200],
        }
    )
    wrong = any(form.errors for form in sent.values())
    return render(request, "personas/persona.html", context, status=400 if wrong else 200)


@study_page(policies.persona.may_change, "GET", "POST")
def split(request: UserRequest, study: Study) -> HttpResponse:
    """A proposal of who is on which side; POST makes it so."""
    data = request.POST if request.method == "POST" else request.GET or None
    form = form_of(board.Split)(data)
    proposal = None
    if form.is_valid():
        with refusals.in_form(form):
            if request.method == "POST":
                counts = board.make(study, **form.cleaned_data, by=request.user)
                words = _("Personas for the benchmark: %(benchmark)d; for training: %(training)d.")
                return done(request, words % counts, "persona-split", study.slug)
            proposal = board.propose(study, **form.cleaned_data)
    personas = study.personas.filter(dropped_at=None)
    context = {
        "study": study,
        "form": form,
        "proposal": proposal,
        "dimensions": proposal and [(d, rows[:ROWS]) for d, rows in proposal.by_dimension()],
        "apart": proposal and proposal.apart(ALIKE),
        "sides": [
            (words, personas.filter(split=side).count())
            for side, words in [*Persona.Split.choices, ("", _("no side yet"))]
        ],
    }
    status = 400 if request.method == "POST" else 200
    return render(request, "personas/split.html", context, status=status)


@study_page(policies.generation.may_run, "GET", "POST")
def pool(request: UserRequest, study: Study) -> HttpResponse:
    """What each filter leaves; POST makes personas of the people who are left."""
    data = request.POST if request.method == "POST" else request.GET or None
    form = FiltersForm(data, study=study)
    if request.method == "POST" and form.is_valid():
        with refusals.in_form(form):
            counts = conversations.take(study, form.filters, by=request.user)
            words = ngettext(
                "%(n)d person is taken: a model can extract attributes now.",
                "%(n)d people are taken: a model can extract attributes now.",
                counts["personas"],
            )
            return done(request, words % {"n": counts["personas"]}, "step", study.slug, "attribute")
    filters = form.filters if form.is_valid() else conversations.Filters()
    context = {
        "study": study,
        "form": form,
        "funnel": conversations.funnel(study, filters),
        "people": filters.people,
        "taken": study.personas.filter(conversations__isnull=False).distinct().count(),
    }
    status = 400 if request.method == "POST" else 200
    return render(request, "personas/conversations.html", context, status=status)


@study_page(policies.generation.may_run, "POST")
def add_histories(request: UserRequest, study: Study) -> HttpResponse:
    """Add chats of members who allow it to the pool."""
    added = conversations.add_histories(study, by=request.user)
    if not added:
        messages.info(request, _("Owners allow it on the page of their history."))
    words = ngettext("%(n)d conversation is new.", "%(n)d conversations are new.", added)
    return done(request, words % {"n": added}, "conversations", study.slug)
