"""One submit: check, store, count, and hand out the next slot, in one transaction."""

import hashlib
import json
import math
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import Model
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.judging import plan, queue
from annotation.judging.kinds import kind_of
from annotation.judging.models import Handback, Slot

KEY_LIMIT = 200
SECONDS_LIMIT = 7 * 24 * 3600
# Columns of the slot and its task that a submit reads; making whole rows costs more than the query.
_NEEDED = (
    *("study", "item", "ordinal", "status", "annotator", "returned", "lease_expires_at"),
    *("item__batch__task__kind", "item__batch__task__config"),
)


@dataclass(frozen=True)
class Submitted:
    """A stored judgment; ``repeated`` where the same submit had been stored before.

    ``next_slot`` is the id of the slot handed out with it, or None.
    """

    judgment: Model
    repeated: bool
    next_slot: object = None


def submit(
    study, slot_id, annotator, data, *, key: str, said=None, seconds=None, claim_next=False
) -> Submitted:
    """Store the annotator's answer to a slot of ``study``, once, and take the next if asked to.

    ``data`` is a form or an API body; ``key`` names the submit: the same key again is answered
    without storing anything, as long as ``said`` (what was said, JSON; default ``data``) is the
    same. ``seconds`` is the active time. Raises NotFound where the slot is not this person's,
    Conflict where somebody else has it by now or the key carried other words, DomainError where the
    answer is incomplete. Whatever is raised, nothing was stored.
    """
    _check_key(key)
    seconds = read_seconds(seconds)
    digest = _digest(slot_id, data if said is None else said)
    try:
        with transaction.atomic():
            desk = queue.lock_desk(study, annotator)
            slot = _locked(study, slot_id, annotator)
            repeated = slot.status == Slot.Status.DONE
            if repeated:
                judgment = _repeat(slot, key, digest)
            else:
                judgment = _store(slot, annotator, data, key, digest, seconds)
            next_slot = _advance(desk, 0 if repeated else 1, claim_next)
    except IntegrityError as error:
        # The desk's lock leaves one way here: the key belongs to an answer elsewhere.
        raise Conflict(_("This key was used for another item."), code="key_reused") from error
    return Submitted(judgment, repeated, next_slot)


def read_seconds(value) -> float | None:
    """Seconds of active time from a form or an API body; DomainError where it is no such number."""
    if value in (None, ""):
        return None
    try:
        seconds = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not 0 <= seconds <= SECONDS_LIMIT:
        raise DomainError(_("seconds must be a number from 0 to 604,800."), code="seconds")
    return seconds


def _check_key(key: str) -> None:
    if not key.strip() or len(key) > KEY_LIMIT or not key.isprintable():
        raise DomainError(
            f"A submit needs a key of 1 to {KEY_LIMIT} printable characters.", code="key"
        )


def _digest(slot_id, said) -> str:
    text = json.dumps([str(slot_id), said], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _locked(study, slot_id, annotator) -> Slot:
    """The slot, locked and held (or done) by this person; a lost lease is renewed where free."""
    slots = (
        Slot.objects.select_for_update(of=["self"])
        .select_related("item__batch__task")
        .only(*_NEEDED)
        .filter(pk=slot_id, study=study)
    )
    slot = next(iter(slots), None)
    if slot is None:
        raise NotFound(_("You do not hold this item."))
    if slot.annotator_id == annotator.pk:
        return slot
    if not Handback.objects.filter(slot=slot, annotator=annotator, cause="expired").exists():
        raise NotFound(_("You do not hold this item."))
    another = slot.item.slots.filter(annotator=annotator).exists()
    if slot.status != Slot.Status.OPEN or another:
        raise Conflict(
            _("Your time for this item ran out and somebody else has it now. Nothing was stored."),
            code="lease_lost",
        )
    slot.annotator = annotator
    slot.returned = False
    return slot


def _store(slot, annotator, data, key, digest, seconds) -> Model:
    kind = kind_of(slot.item.batch.task.kind)
    options = list(slot.item.options.all())
    answer = kind.read(data, slot, options)
    judgment = kind.store(
        slot,
        answer,
        annotator=annotator,
        key=key,
        digest=digest,
        shown=plan.shown_order(slot.item_id, slot.ordinal, len(options)),
        seconds=seconds,
        submitted_at=Now(),
    )
    slot.status = Slot.Status.DONE
    slot.lease_expires_at = None
    slot.save(update_fields=["status", "annotator", "returned", "lease_expires_at"])
    return judgment


def _repeat(slot, key, digest) -> Model:
    judgment = getattr(slot, slot.item.batch.task.kind)
    if judgment.key != key:
        raise Conflict(_("You have judged this item already."), code="already_judged")
    if judgment.digest != digest:
        raise Conflict(
            _("This answer was stored before with other words; the first one stands."),
            code="key_reused",
        )
    return judgment


def _advance(desk, finished: int, claim_next: bool):
    """Count what was done, and where asked to, hand out the next slot."""
    if claim_next:
        return (None if finished else queue.renew(desk)) or queue.take(desk, finished)
    if finished:
        desk.done += finished
        desk.save(update_fields=["done"])
    return None
