"""What curators do about a rater, from the rater's page (agreement.raterpages)."""

from django.contrib import messages
from django.db.models import Q
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from annotation.accounts.models import User
from annotation.core import refusals
from annotation.judging.curator import sanctions
from annotation.studies.access import MANAGERS, study_for
from annotation.studies.models import Role


def _acted(request, slug, user, act) -> object:
    """Let ``act(study, person)`` do it, show a message, and redirect to the rater's page."""
    study = study_for(request.user, slug, MANAGERS)
    of = Q(memberships__study=study, memberships__role=Role.ANNOTATOR) | Q(desks__study=study)
    person = get_object_or_404(User.objects.filter(of).distinct(), pk=user)
    with refusals.as_message(request):
        messages.success(request, act(study, person))
    return redirect("rater", slug, user)


@require_POST
def pause(request, slug, user):
    """Give no more work; the sentence is what the annotator reads."""

    def act(study, person):
        sanctions.pause(study, person, request.POST.get("sentence", ""), by=request.user)
        return _("Paused: this person gets no more items and reads your sentence.")

    return _acted(request, slug, user, act)


@require_POST
def resume(request, slug, user):
    """Give work again."""

    def act(study, person):
        sanctions.resume(study, person, by=request.user)
        return _("This person gets items again.")

    return _acted(request, slug, user, act)


@require_POST
def exclude(request, slug, user):
    """Take the person's judgments out and open them to others."""

    def act(study, person):
        n = sanctions.exclude(study, person, request.POST.get("reason", ""), by=request.user)
        words = ngettext(
            "Excluded. %(n)d judgment is taken out and open to others.",
            "Excluded. %(n)d judgments are taken out and open to others.",
            n,
        )
        return words % {"n": n}

    return _acted(request, slug, user, act)


@require_POST
def requalify(request, slug, user):
    """Let the person do the training once more."""

    def act(study, person):
        n = sanctions.retrain(study, person, by=request.user)
        words = ngettext(
            "The training begins anew with %(n)d item.",
            "The training begins anew with %(n)d items.",
            n,
        )
        return words % {"n": n}

    return _acted(request, slug, user, act)


@require_POST
def bonus(request, slug, user):
    """Note a bonus."""

    def act(study, person):
        sanctions.bonus(study, person, request.POST.get("text", ""), by=request.user)
        return _("The bonus is noted.")

    return _acted(request, slug, user, act)
