"""Studies that people begin, of a recipe, of a definition (a bundle's study.json in one file) or as
another one is; and the pages of it.
"""

import json
import tempfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST
from pydantic.dataclasses import dataclass as schema

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.candidates import retrieve
from annotation.candidates.models import Candidate
from annotation.core import audit, downloads, foreign, refusals
from annotation.core.errors import Conflict, DomainError
from annotation.core.pages import show
from annotation.core.schema import asked, fields_of, form_of
from annotation.judging.curator import preview, recipes
from annotation.judging.imports import bundles
from annotation.judging.models import Checks
from annotation.judging.work.hidden_checks import Rates
from annotation.personas.models import Attribute, Memory, PersonaVersion
from annotation.studies import bundle_rows
from annotation.studies.access import may_create, study_page
from annotation.studies.bundle import Bundle, BundleError, Report
from annotation.studies.forms import NewStudyForm
from annotation.studies.models import SLUG_LIMIT, TITLE_LIMIT, Membership, Role, Study
from annotation.studies.schemas import IN_A_BUNDLE
from annotation.studies.wording import newest_tasks

PARTS = {
    "tasks": gettext_lazy("tasks"),
    "texts": gettext_lazy("description, consent text and guidelines"),
    "checks": gettext_lazy("how often training and checks are given"),
    "material": gettext_lazy("personas, questions and answers"),
    "people": gettext_lazy("members with their roles"),
}


@schema(frozen=True)
class Clone:
    """A study that begins as another one is."""

    title: str = asked(gettext_lazy("Title"), max_length=TITLE_LIMIT)
    slug: str = asked(gettext_lazy("Address"), max_length=SLUG_LIMIT)
    parts: list[str] = asked(
        gettext_lazy("What it takes along"), list(PARTS)[:3], choices=PARTS, flag="part"
    )


CloneForm = form_of(Clone)
DEFINITION_LIMIT = 10 * 1024 * 1024


def definition_of(study: Study, parts: Collection[str] = PARTS) -> dict[str, Any]:
    """What ``study.json`` of a bundle says of the study, without material and people."""
    base = (study.languages or ["en"])[0]
    texts = "texts" in parts
    consent = study.consent_text if texts else None
    definition: dict[str, Any] = {
        "slug": study.slug,
        "title": _by_language(base, study.title, _others(study.translations, "title")),
        "languages": study.languages,
        "settings": {name: _plain(getattr(study, name)) for name in IN_A_BUNDLE},
    }
    if texts:
        others = _others(study.translations, "description")
        definition["description"] = _by_language(base, study.description, others)
    if consent:
        definition["consent"] = _by_language(base, consent.body, consent.translations)
    if "tasks" in parts:
        definition["tasks"] = [_task(task, base, texts) for task in newest_tasks(study)]
        retrieval = retrieve.settings_of(study)
        definition["retrieval"] = {
            name: getattr(retrieval, name) for name in ("sources", "strategies", "results")
        }
        further = {name: getattr(study, name) for name in bundles.FURTHER}
        definition |= {name: value for name, value in further.items() if value}
    stored = Checks.objects.filter(study=study).first() if "checks" in parts else None
    if stored:
        definition["checks"] = {name: getattr(stored, name) for name in fields_of(Rates)}
    return definition


def _task(task: Any, base: str, texts: bool) -> dict[str, Any]:
    config = dict(task.config)
    if asked_ := config.get("question"):
        config["question"] = _by_language(base, asked_, _others(task.translations, "question"))
    guideline = _by_language(base, task.guideline, _others(task.translations, "guideline"))
    named = {"name": task.name, "kind": task.kind, "overlap": task.overlap}
    return named | ({"guideline": guideline} if texts and task.guideline else {}) | config


def _others(translations: dict, field: str) -> dict[str, str]:
    return {code: fields[field] for code, fields in translations.items() if fields.get(field)}


def _by_language(base: str, text: str, others: dict[str, str]) -> str | dict[str, str]:
    return {base: text, **others} if others else text


def _plain(value: Any) -> Any:
    """A setting as JSON has it: amounts of money as text."""
    return value if isinstance(value, int | str | None) else str(value)


def read_definition(definition: str | dict) -> Bundle:
    """A definition that somebody sends, checked; BundleError says what is wrong."""
    if isinstance(definition, dict):
        definition = json.dumps(definition, ensure_ascii=False)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "study.json").write_text(definition, "utf-8", newline="")
        return bundles.load_bundle(folder)


@transaction.atomic
def make(definition: str | dict, by: User | None) -> Study:
    """A new study of a definition, whose administrator is ``by``; Conflict where it is there."""
    bundle = read_definition(definition)
    slug = bundle.study["slug"]
    if Study.objects.filter(slug=slug).exists():
        words = _("There is a study of the address “%s” already: choose another.")
        raise Conflict(words % slug, code="slug")
    # The rows of the files that the folder did not have.
    bundle.counts = dict.fromkeys(bundle.counts, 0)
    study = bundles.store_study(bundle, by)
    if by:
        Membership.objects.create(study=study, user=by, role=Role.ADMINISTRATOR)
    return study


@transaction.atomic
def clone(source: Study, wanted: Clone, *, by: User | None) -> Study:
    """A study with the parts of ``source`` that are wanted; nobody's judgments or own questions."""
    definition = definition_of(source, wanted.parts) | {"slug": wanted.slug, "title": wanted.title}
    study = make(definition, by)
    if "material" in wanted.parts:
        report = Report()
        for name, rows in _material(source):
            bundles.store_rows(study, name, enumerate(rows, start=1), report, by)
    if "people" in wanted.parts:
        members = source.memberships.filter(left_at=None, user__crowd_entry=None)
        Membership.objects.bulk_create(
            [
                Membership(study=study, user_id=user, role=role)
                for user, role in members.values_list("user", "role")
                if by is None or user != by.pk
            ]
        )
    audit.record(by, "study.clone", study, source=source.slug, parts=sorted(wanted.parts))
    return study


def _material(study: Study) -> Iterator[tuple[str, Iterator[dict]]]:
    """The rows of each file of a bundle: no owner's question, nothing of a dropped persona."""
    of_persona = {"persona__study": study, "persona__dropped_at": None}
    queries = study.queries.filter(replaced_at=None, owner=None, persona__dropped_at=None)
    answers = study.candidates.filter(query__in=queries, status=Candidate.Status.DONE)
    versions = PersonaVersion.objects.filter(**of_persona).order_by("persona", "-version")
    memories = Memory.objects.filter(**of_persona).order_by("pk")
    attributes = Attribute.objects.filter(**of_persona).order_by("pk")
    persona = {"persona": "persona__external_id"}
    yield "personas", _rows(versions.distinct("persona"), {"id": persona["persona"]}, "profile")
    yield "memories", _rows(memories, persona, "text", "since", "until")
    named = {"id": "external_id", **persona}
    columns = ["text", "messages", "need", "type", "scenario", "asked_on", "language"]
    yield "queries", _rows(queries.order_by("pk"), named, *columns, read=bundle_rows.Query)
    columns = ["text", "model", "strategy", "urls"]
    of_query = {"id": "external_id", "query": "query__external_id"}
    rows = answers.exclude(text="").order_by("created_at", "pk")
    yield "candidates", _rows(rows, of_query, *columns, read=bundle_rows.Candidate)
    columns = ["text", "confidence", "model", "since", "until", "turn"]
    yield "attributes", _rows(attributes, named, *columns, read=bundle_rows.Attribute)


def _rows(
    rows: QuerySet,
    named: dict[str, str],
    *columns: str,
    read: type[bundle_rows.Row] | None = None,
) -> Iterator[dict]:
    """Each row with ``columns``, and those ``named`` otherwise, checked as ``read`` says."""
    wanted = named | {name: name for name in columns}
    for values in rows.values_list(*wanted.values()).iterator():
        row, faults = dict(zip(wanted, values, strict=True)), {}
        if read:
            row, faults = read.read(row)
        if faults:
            raise BundleError([f"{row.get('id', '')}: {words}" for words in faults.values()])
        yield row


# The pages


@require_http_methods(["GET", "POST"])
def new(request: UserRequest) -> HttpResponse:
    """The recipes to choose from; with ``?recipe=`` or a POST the form of that one."""
    if not may_create(request.user):
        raise PermissionDenied
    offered = recipes.recipes()
    name = request.POST.get("recipe") or request.GET.get("recipe", "")
    posted = request.method == "POST"
    if file := request.FILES.get("definition"):
        return _from_file(request, file)
    if name not in offered and not posted:
        return render(request, "studies/recipes.html", {"recipes": _worded(offered.values())})
    recipe = offered.get(name, offered["empty"])
    language = _language()
    initial = {"languages": [language], "consent": recipe.consent.get(language, "")}
    form = NewStudyForm(request.POST if posted else None, initial=initial)
    if posted and form.is_valid():
        consent = form.cleaned_data["consent"]
        try:
            study = recipes.start_study(recipe, asdict(form.schema), consent, request.user)
            return redirect("overview", study.slug)
        except IntegrityError:
            form.add_error("slug", _("Somebody took this address just now: choose another."))
    context = {"form": form, "recipe": recipe, "title": recipe.title[language]}
    return show(request, "studies/new.html", context)


@require_POST
def try_new(request: UserRequest) -> HttpResponse:
    """The judging page of the first task of the recipe that the form of ``new`` names.

    It stands in a frame beside the form; nothing of it is stored.
    """
    if not may_create(request.user):
        raise PermissionDenied
    recipe = recipes.recipes().get(request.POST.get("recipe", ""))
    if not recipe or not recipe.tasks:
        return HttpResponse(status=204)
    wanted = [code for code in recipes.LANGUAGES if code in request.POST.getlist("languages")]
    fields = {"slug": f"preview-{uuid4().hex}"[:SLUG_LIMIT], "title": recipe.title["en"]}
    with transaction.atomic():
        fields |= {"languages": wanted or [_language()]}
        study = recipes.start_study(recipe, fields, "", request.user)
        task = study.tasks.earliest("pk")
        answer = preview.try_task(study, task, show=preview.framed(request, study))
        transaction.set_rollback(True)
    return answer


def _from_file(request: UserRequest, file: UploadedFile) -> HttpResponse:
    """The study of a definition that somebody sends as a file."""
    with refusals.as_message(request):
        if (file.size or 0) > DEFINITION_LIMIT:
            raise DomainError(_("The file is larger than 10 MB: it is no definition."))
        ((text,),) = foreign.read("annotation.core.records:json_text", file)
        study = make(text, request.user)
        return redirect("overview", study.slug)
    return redirect("study-new")


@study_page(policies.study.may_administer, "GET", "POST")
def clone_page(request: UserRequest, study: Study) -> HttpResponse:
    """Begin a study as this one is, with the parts that are ticked."""
    form = CloneForm(request.POST or None, initial={"parts": list(PARTS)[:3]})
    if request.method == "POST" and form.is_valid():
        with refusals.in_form(form):
            return redirect("overview", clone(study, form.schema, by=request.user).slug)
    return show(request, "studies/clone.html", {"study": study, "form": form})


@study_page(policies.study.may_administer, "GET")
def download(request: UserRequest, study: Study) -> HttpResponse:
    """The study's definition as one file."""
    text = json.dumps(definition_of(study), ensure_ascii=False, indent=1)
    return downloads.attachment(f"{study.slug}.json", "application/json", text)


def _language() -> str:
    primary = (get_language() or "en").partition("-")[0]
    return primary if primary in recipes.LANGUAGES else "en"


def _worded(offered: Iterable[recipes.StudyRecipe]) -> list[dict]:
    """Name, title, description and names of tasks of each recipe, in the page's language."""
    language = _language()
    return [
        {
            "name": recipe.name,
            "title": recipe.title[language],
            "description": recipe.description[language],
            "tasks": [task["name"] for task in recipe.tasks],
        }
        for recipe in offered
    ]
