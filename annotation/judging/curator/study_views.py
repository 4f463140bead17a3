"""Create a study, begin one as another is, and remove one or what it holds."""

import json
from collections.abc import Iterable
from dataclasses import asdict

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.core import downloads, refusals
from annotation.core.errors import DomainError
from annotation.core.schema import form_of
from annotation.judging.curator import definition, recipes, removal
from annotation.studies.access import may_create, study_for
from annotation.studies.forms import NewStudyForm

DEFINITION_LIMIT = 10 * 1024 * 1024
# Where to go when something is removed.
BACK = {
    "query": "queries",
    "task": "tasks",
    "answer": "candidates",
    "attribute": "personas",
    "batch": "tasks",
}
CloneForm = form_of(definition.Clone)


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
    return render(request, "studies/new.html", context, status=400 if form.errors else 200)


def _from_file(request: UserRequest, file: UploadedFile) -> HttpResponse:
    """The study of a definition that somebody sends as a file."""
    with refusals.as_message(request):
        if (file.size or 0) > DEFINITION_LIMIT:
            raise DomainError(_("The file is larger than 10 MB: it is no definition."))
        study = definition.make(file.read(), request.user)
        return redirect("overview", study.slug)
    return redirect("study-new")


@require_http_methods(["GET", "HEAD", "POST"])
def clone(request: UserRequest, slug: str) -> HttpResponse:
    """Begin a study as this one is, with the parts that are ticked."""
    study = study_for(request.user, slug, policies.study.may_administer)
    form = CloneForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with refusals.in_form(form):
            made = definition.clone(study, form.schema, by=request.user)
            return redirect("overview", made.slug)
    context = {"study": study, "form": form}
    return render(request, "studies/clone.html", context, status=400 if form.errors else 200)


@require_safe
def definition_(request: UserRequest, slug: str) -> HttpResponse:
    """The study's definition as one file."""
    study = study_for(request.user, slug, policies.study.may_administer)
    text = json.dumps(definition.definition_of(study), ensure_ascii=False, indent=1)
    return downloads.attachment(f"{slug}.json", "application/json", text)


@require_http_methods(["GET", "POST"])
def remove(request: UserRequest, slug: str, what: str, key: str) -> HttpResponse:
    """Show what taking back ``what`` with the id ``key`` means; POST does it."""
    may = policies.study.may_administer if what == "study" else policies.study.may_curate
    study = study_for(request.user, slug, may)
    if what not in removal.WORDS:
        raise Http404
    thing = removal.thing_of(study, what, pk=key)
    if request.method == "GET":
        plan = removal.look(study, what, thing)
        context = {"study": study, "plan": plan, "word": removal.WORDS[what]}
        context["back"] = BACK.get(what, "settings")
        return render(request, "judging/remove.html", context)
    done = removal.remove(study, what, thing, by=request.user)
    words = _("“%(name)s” is deleted.") if done.deletes else _("“%(name)s” is put aside.")
    messages.success(request, words % {"name": done.name[:80]})
    if what == "study":
        return redirect("home") if done.deletes else redirect("settings", slug)
    return redirect(BACK[what], slug)


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
