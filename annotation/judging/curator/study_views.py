"""Create a study: choose what kind, then name it."""

from collections.abc import Iterable

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.accounts.requests import UserRequest
from annotation.judging.curator import recipes
from annotation.studies.access import may_create
from annotation.studies.forms import NewStudyForm


@require_http_methods(["GET", "POST"])
def new(request: UserRequest) -> HttpResponse:
    """The recipes to choose from; with ``?recipe=`` or a POST the form of that one."""
    if not may_create(request.user):
        raise PermissionDenied
    offered = recipes.recipes()
    name = request.POST.get("recipe") or request.GET.get("recipe", "")
    posted = request.method == "POST"
    if name not in offered and not posted:
        return render(request, "studies/recipes.html", {"recipes": _worded(offered.values())})
    recipe = offered.get(name, offered["empty"])
    language = _language()
    initial = {"languages": [language], "consent": recipe.consent.get(language, "")}
    form = NewStudyForm(request.POST if posted else None, initial=initial)
    if posted and form.is_valid():
        fields, consent_body = form.fields_to_start()
        try:
            study = recipes.start_study(recipe, fields, consent_body, request.user)
            return redirect("overview", study.slug)
        except IntegrityError:
            form.add_error("slug", _("Somebody took this address just now: choose another."))
    context = {"form": form, "recipe": recipe, "title": recipe.title[language]}
    return render(request, "studies/new.html", context, status=400 if form.errors else 200)


def _language() -> str:
    primary = (get_language() or "en").partition("-")[0]
    return primary if primary in recipes.LANGUAGES else "en"


def _worded(offered: Iterable[recipes.Recipe]) -> list[dict]:
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
