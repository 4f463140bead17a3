"""What is typed and not yet submitted, stored on the server for its author."""

import json
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.judging.models import Draft, Slot

SIZE_LIMIT = 400_000


@transaction.atomic
def save(study, slot_id, annotator, data: dict, *, change: bool = False) -> None:
    """Keep ``data`` (field: list of text) as this person's draft of a slot, over the earlier one.

    Whoever types still works: a held slot's lease is renewed. ``change``: the draft is of
    a change to an answer already given. Raises NotFound where the slot is not this person's,
    Conflict where the answer was given meanwhile (in another tab, or just before a late draft
    came in), DomainError where there is too much.
    """
    data = {_storable(name): [_storable(text) for text in texts] for name, texts in data.items()}
    if len(json.dumps(data)) > SIZE_LIMIT:
        raise DomainError(
            _("A draft has at most %(n)d characters.") % {"n": SIZE_LIMIT}, code="too_long"
        )
    # Locked, so that a draft cannot come between a submit's rows.
    slots = Slot.objects.select_for_update(no_key=True).filter(
        pk=slot_id, study=study, annotator=annotator, status__in=["held", "done"]
    )
    slot = slots.first()
    if slot is None:
        raise NotFound(_("You do not hold this item."))
    if (slot.status == Slot.Status.DONE) != change:
        raise Conflict(_("You have judged this item already."), code="already_judged")
    if not change:
        lease = timedelta(minutes=settings.LEASE_MINUTES)
        Slot.objects.filter(pk=slot.pk).update(lease_expires_at=Now() + lease)
    Draft.objects.update_or_create(
        slot_id=slot_id,
        annotator=annotator,
        defaults={"data": data},
    )


def _storable(text: str) -> str:
    """``text`` without what JSON in PostgreSQL cannot hold: NUL and lone surrogates."""
    return text.replace("\x00", "").encode(errors="replace").decode()


def drop(slot_id, annotator) -> None:
    """Forget this person's draft of a slot that they gave back."""
    Draft.objects.filter(slot=slot_id, annotator=annotator).delete()
