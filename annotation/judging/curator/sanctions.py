"""What curators do about one annotator: pause, exclude, train once more, note a bonus."""

from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import Conflict, DomainError
from annotation.judging.models import Batch, BonusNote, Desk, Item, Slot
from annotation.judging.work import hidden_checks, queue
from annotation.judging.work.voids import void
from annotation.studies.models import Study

TEXT_LIMIT = 2_000


@transaction.atomic
def pause(study: Study, annotator: User, sentence: str, *, by: User) -> None:
    """Give this person no more work; ``sentence`` is what they read. What they hold they keep."""
    sentence = _text(sentence, _("Write the sentence that this person reads."))
    desk = queue.lock_desk(study, annotator)
    if desk.excluded_at:
        raise Conflict(_("This person is excluded already."))
    _update(desk, stopped_at=timezone.now(), stop_reason=sentence)
    audit.record(by, "desk.pause", desk, study=study.slug, sentence=sentence)


@transaction.atomic
def resume(study: Study, annotator: User, *, by: User) -> None:
    """Give work again to whoever was paused or failed the training. Exclusion is for good."""
    desk = queue.lock_desk(study, annotator)
    if desk.excluded_at:
        raise Conflict(_("An excluded person gets no more work: their judgments were taken out."))
    if not desk.stopped_at:
        return
    # Otherwise a failed training would stop them at the next claim.
    trained = {"qualified_at": timezone.now()} if not desk.qualified_at else {}
    _update(desk, stopped_at=None, stop_reason="", **trained)
    audit.record(by, "desk.resume", desk, study=study.slug)


@transaction.atomic
def exclude(study: Study, annotator: User, reason: str, *, by: User) -> int:
    """Take out what this person judged, and give them no more work; how many judgments that were.

    Their judgments are voided and open to others (voids.void); they stay a member and read that
    they get no more items. ``reason`` is for the record alone.
    """
    reason = _text(reason, _("Give the reason: it is kept in the record."))
    voided = void(study, annotator, cause=reason, by=by)
    desk = queue.lock_desk(study, annotator)
    if desk.excluded_at:
        raise Conflict(_("This person is excluded already."))
    now = timezone.now()
    sentence = _("The people who run this study have ended your part in it.")
    _update(desk, excluded_at=now, stopped_at=now, stop_reason=sentence)
    audit.record(by, "desk.exclude", desk, study=study.slug, reason=reason, voided=voided)
    return voided


@transaction.atomic
def retrain(study: Study, annotator: User, *, by: User) -> int:
    """Let this person do the training once more, with the same items; how many they are.

    Earlier answers stay, and count no more towards the pass mark.
    """
    desk = queue.lock_desk(study, annotator)
    if desk.excluded_at:
        raise Conflict(_("An excluded person gets no more work: their judgments were taken out."))
    # An earlier round that is not finished is over.
    waiting = Slot.objects.filter(study=study, reserved_for=annotator, status=Slot.Status.OPEN)
    waiting.filter(item__batch__purpose=Batch.Purpose.TRAINING).update(status=Slot.Status.CLOSED)
    done = hidden_checks.active(study, Batch.Purpose.TRAINING).filter(slots__annotator=annotator)
    items = list(done.select_related("batch").order_by("position"))
    Slot.objects.bulk_create(_slot(item, desk) for item in items)
    _update(desk, training_since=timezone.now(), qualified_at=None, stopped_at=None, stop_reason="")
    audit.record(by, "desk.retrain", desk, study=study.slug, items=len(items))
    return len(items)


def _slot(item: Item, desk: Desk) -> Slot:
    """An open slot of a copy of a training item, for the desk's person alone."""
    batch = hidden_checks.batch_of_copies(item.batch, Batch.Purpose.TRAINING)
    copy = hidden_checks.copy(item, desk, batch)
    return Slot(
        study_id=desk.study_id,
        item=copy,
        ordinal=0,
        position=item.position or 0,
        reserved_for_id=desk.annotator_id,
        returned=True,
    )


@transaction.atomic
def bonus(study: Study, annotator: User, text: str, *, by: User) -> BonusNote:
    """Note that this person is to get a bonus, and for what."""
    text = _text(text, _("Write what the bonus is for, and how much it is."))
    note = BonusNote.objects.create(study=study, annotator=annotator, text=text, by=by)
    audit.record(by, "bonus.note", note, study=study.slug, annotator=annotator.pk, text=text)
    return note


def _update(desk: Desk, **fields: Any) -> None:
    Desk.objects.filter(pk=desk.pk).update(**fields)


def _text(value: str, sentence: str) -> str:
    text = value.replace("\x00", "").replace("\r\n", "\n").strip()
    if not text:
        raise DomainError(sentence, code="text")
    if len(text) > TEXT_LIMIT:
        raise DomainError(_("Write up to %(n)d characters.") % {"n": TEXT_LIMIT}, code="text")
    return text
