"""What curators do about a rater, from the rater's page (agreement.raterpages)."""

from collections.abc import Callable

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.core import refusals
from annotation.judging.curator import sanctions
from annotation.studies.access import MANAGERS, study_for
from annotation.studies.models import Role, Study


def _acted(
    request: UserRequest, slug: str, user: int, act: Callable[[Study, User], str]
) -> HttpResponse:
    """Let ``act(study, person)`` do it, show a message, and redirect to the rater's page."""
    study = study_for(request.user, slug, MANAGERS)
    of = Q(memberships__study=study, memberships__role=Role.ANNOTATOR) | Q(desks__study=study)
    person = get_object_or_404(User.objects.filter(of).distinct(), pk=user)
    with refusals.as_message(request):
        messages.success(request, act(study, person))
    return redirect("rater", slug, user)


@require_POST
def pause(request: UserRequest, slug: str, user: int) -> HttpResponse:
    """Give no more work; the sentence is what the annotator reads."""

    def act(study: Study, person: User) -> str:
        sanctions.pause(study, person, request.POST.get("sentence", ""), by=request.user)
        return _("Paused: this person gets no more items and reads your sentence.")

    return _acted(request, slug, user, act)


@require_POST
def resume(request: UserRequest, slug: str, user: int) -> HttpResponse:
    """Give work again."""

    def act(study: Study, person: User) -> str:
        sanctions.resume(study, person, by=request.user)
        return _("This person gets items again.")

    return _acted(request, slug, user, act)


@require_POST
def exclude(request: UserRequest, slug: str, user: int) -> HttpResponse:
    """Take the person's judgments out and open them to others."""

    def act(study: Study, person: User) -> str:
        n = sanctions.exclude(study, person, request.POST.get("reason", ""), by=request.user)
        words = ngettext(
            "Excluded. %(n)d judgment is taken out and open to others.",
            "Excluded. %(n)d judgments are taken out and open to others.",
            n,
        )
        return words % {"n": n}

    return _acted(request, slug, user, act)


@require_POST
def requalify(request: UserRequest, slug: str, user: int) -> HttpResponse:
    """Let the person do the training once more."""

    def act(study: Study, person: User) -> str:
        n = sanctions.retrain(study, person, by=request.user)
        words = ngettext(
            "The training begins anew with %(n)d item.",
            "The training begins anew with %(n)d items.",
            n,
        )
        return words % {"n": n}

    return _acted(request, slug, user, act)


@require_POST
def bonus(request: UserRequest, slug: str, user: int) -> HttpResponse:
    """Note a bonus."""

    def act(study: Study, person: User) -> str:
        sanctions.bonus(study, person, request.POST.get("text", ""), by=request.user)
        return _("The bonus is noted.")

    return _acted(request, slug, user, act)
