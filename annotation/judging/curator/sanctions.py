"""What curators do about one annotator, from the rater's page (agreement.views)."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Q
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.core import audit, refusals
from annotation.core.errors import Conflict
from annotation.judging.models import Batch, Item, Participation, Slot
from annotation.judging.work import comments, hidden_checks, queue
from annotation.studies.access import study_page
from annotation.studies.models import Role, Study

ACTS = ("pause", "resume", "exclude", "requalify")
TEXT_LIMIT = 2_000


@study_page(policies.rater.may_sanction, "POST")
def act_on_rater(request: UserRequest, study: Study, user: int, act: str) -> HttpResponse:
    of = Q(memberships__study=study, memberships__role=Role.ANNOTATOR) | Q(
        participations__study=study
    )
    person = get_object_or_404(User.objects.filter(of).distinct(), pk=user)
    with refusals.as_message(request):
        messages.success(request, _done(act, study, person, request.POST, by=request.user))
    return redirect("rater", study.slug, user)


def _done(act: str, study: Study, person: User, sent: QueryDict, *, by: User) -> str:
    """Do it; what was done, in a sentence."""
    if act == "pause":
        pause(study, person, sent.get("sentence", ""), by=by)
        return _("Paused: this person gets no more items and reads your sentence.")
    if act == "resume":
        resume(study, person, by=by)
        return _("This person gets items again.")
    if act == "exclude":
        n = exclude(study, person, sent.get("reason", ""), by=by)
        words = ngettext(
            "Excluded. %(n)d judgment is taken out and open to others.",
            "Excluded. %(n)d judgments are taken out and open to others.",
            n,
        )
    else:
        n = retrain(study, person, by=by)
        words = ngettext(
            "The training begins anew with %(n)d item.",
            "The training begins anew with %(n)d items.",
            n,
        )
    return words % {"n": n}


@transaction.atomic
def pause(study: Study, annotator: User, sentence: str, *, by: User) -> None:
    """Give this person no more work; ``sentence`` is what they read. What they hold they keep."""
    sentence = comments.checked(
        sentence, TEXT_LIMIT, _("Write the sentence that this person reads.")
    )
    participation = _participation(study, annotator)
    _update(participation, stopped_at=timezone.now(), stop_reason=sentence)
    audit.record(by, "participation.pause", participation, study=study.slug, sentence=sentence)


@transaction.atomic
def resume(study: Study, annotator: User, *, by: User) -> None:
    """Give work again to whoever was paused or failed the training. Exclusion is for good."""
    participation = _participation(study, annotator)
    if not participation.stopped_at:
        return
    # Otherwise a failed training would stop them at the next claim.
    trained = {"qualified_at": timezone.now()} if not participation.qualified_at else {}
    _update(participation, stopped_at=None, stop_reason="", **trained)
    audit.record(by, "participation.resume", participation, study=study.slug)


@transaction.atomic
def exclude(study: Study, annotator: User, reason: str, *, by: User) -> int:
    """Take out what this person judged, and give them no more work; how many judgments that were.

    Their judgments are voided and open to others (queue.void); they stay a member and read that
    they get no more items. ``reason`` is for the record alone.
    """
    reason = comments.checked(reason, TEXT_LIMIT, _("Give the reason: it is kept in the record."))
    voided = queue.void(study, annotator, cause=reason, by=by)
    participation = _participation(study, annotator)
    now = timezone.now()
    sentence = _("The people who run this study have ended your part in it.")
    _update(participation, excluded_at=now, stopped_at=now, stop_reason=sentence)
    audit.record(
        by, "participation.exclude", participation, study=study.slug, reason=reason, voided=voided
    )
    return voided


@transaction.atomic
def retrain(study: Study, annotator: User, *, by: User) -> int:
    """Let this person do the training once more, with the same items; how many they are.

    Earlier answers stay, and count no more towards the pass mark.
    """
    participation = _participation(study, annotator)
    # An earlier round that is not finished is over.
    waiting = Slot.objects.filter(study=study, reserved_for=annotator, status=Slot.Status.OPEN)
    waiting.filter(item__batch__purpose=Batch.Purpose.TRAINING).update(status=Slot.Status.CLOSED)
    done = hidden_checks.active(study, Batch.Purpose.TRAINING).filter(slots__annotator=annotator)
    items = list(done.select_related("batch").order_by("position"))
    Slot.objects.bulk_create(_slot(item, participation) for item in items)
    _update(
        participation,
        training_since=timezone.now(),
        qualified_at=None,
        stopped_at=None,
        stop_reason="",
    )
    audit.record(by, "participation.retrain", participation, study=study.slug, items=len(items))
    return len(items)


def _slot(item: Item, participation: Participation) -> Slot:
    """An open slot of a copy of a training item, for the participation's person alone."""
    batch = hidden_checks.batch_of_copies(item.batch, Batch.Purpose.TRAINING)
    return Slot(
        study_id=participation.study_id,
        item=hidden_checks.copy(item, participation.annotator_id, batch),
        ordinal=0,
        position=item.position or 0,
        reserved_for_id=participation.annotator_id,
        returned=True,
    )


def _participation(study: Study, annotator: User) -> Participation:
    """The person's participation, locked; Conflict where they were excluded."""
    participation = queue.lock_participation(study, annotator)
    if participation.excluded_at:
        raise Conflict(_("An excluded person gets no more work: their judgments were taken out."))
    return participation


def _update(participation: Participation, **fields: Any) -> None:
    Participation.objects.filter(pk=participation.pk).update(**fields)
