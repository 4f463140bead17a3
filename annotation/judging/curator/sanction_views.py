"""What curators do about a rater, from the rater's page (agreement.raters.views)."""

import functools
from collections.abc import Callable

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.core import refusals
from annotation.judging.curator import sanctions
from annotation.studies.access import study_for
from annotation.studies.models import Role, Study


def _on_rater(act: Callable[[UserRequest, Study, User], str]) -> Callable[..., HttpResponse]:
    """The view that lets ``act`` do it, shows its message, and redirects to the rater's page."""

    @require_POST
    @functools.wraps(act)
    def view(request: UserRequest, slug: str, user: int) -> HttpResponse:
        study = study_for(request.user, slug, policies.rater.may_sanction)
        of = Q(memberships__study=study, memberships__role=Role.ANNOTATOR) | Q(desks__study=study)
        person = get_object_or_404(User.objects.filter(of).distinct(), pk=user)
        with refusals.as_message(request):
            messages.success(request, act(request, study, person))
        return redirect("rater", slug, user)

    return view


@_on_rater
def pause(request: UserRequest, study: Study, person: User) -> str:
    """Give no more work; the sentence is what the annotator reads."""
    sanctions.pause(study, person, request.POST.get("sentence", ""), by=request.user)
    return _("Paused: this person gets no more items and reads your sentence.")


@_on_rater
def resume(request: UserRequest, study: Study, person: User) -> str:
    """Give work again."""
    sanctions.resume(study, person, by=request.user)
    return _("This person gets items again.")


@_on_rater
def exclude(request: UserRequest, study: Study, person: User) -> str:
    """Take the person's judgments out and open them to others."""
    n = sanctions.exclude(study, person, request.POST.get("reason", ""), by=request.user)
    words = ngettext(
        "Excluded. %(n)d judgment is taken out and open to others.",
        "Excluded. %(n)d judgments are taken out and open to others.",
        n,
    )
    return words % {"n": n}


@_on_rater
def requalify(request: UserRequest, study: Study, person: User) -> str:
    """Let the person do the training once more."""
    n = sanctions.retrain(study, person, by=request.user)
    words = ngettext(
        "The training begins anew with %(n)d item.",
        "The training begins anew with %(n)d items.",
        n,
    )
    return words % {"n": n}


@_on_rater
def bonus(request: UserRequest, study: Study, person: User) -> str:
    sanctions.bonus(study, person, request.POST.get("text", ""), by=request.user)
    return _("The bonus is noted.")
