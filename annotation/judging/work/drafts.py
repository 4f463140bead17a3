"""What is typed and not yet submitted, stored on the server for its author."""

import json
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import sql
from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.judging.models import Draft, Slot
from annotation.studies.models import Study

SIZE_LIMIT = 400_000
# Locked, so that a draft cannot come between a submit's rows. By its id alone (reason: see
# present).
_SLOT = """
    SELECT study_id, annotator_id, status FROM judging_slot
    WHERE id = %(slot)s AND status IN ('held', 'done') FOR NO KEY UPDATE"""
_KEEP = """
    WITH renewed AS (
        UPDATE judging_slot SET lease_expires_at = now() + %(lease)s::interval
        WHERE (id = %(slot)s OR lead = %(slot)s AND status = 'held')
          AND %(lease)s::interval IS NOT NULL)
    INSERT INTO judging_draft (slot_id, annotator_id, data, saved_at)
    VALUES (%(slot)s, %(me)s, %(data)s::jsonb, now())
    ON CONFLICT (slot_id, annotator_id) DO UPDATE
    SET data = EXCLUDED.data, saved_at = EXCLUDED.saved_at
    RETURNING id"""


@transaction.atomic
def save(study: Study, slot_id: UUID, annotator: User, data: dict, *, change: bool = False) -> None:
    """Keep ``data`` (field: list of text) as this person's draft of a slot, over the earlier one.

    Whoever types still works: a held slot's lease is renewed. ``change``: the draft is of
    a change to an answer already given. Raises NotFound where the slot is not this person's,
    Conflict where the answer was given meanwhile (in another tab, or just before a late draft
    came in), DomainError where there is too much.
    """
    data = {_storable(name): [_storable(text) for text in texts] for name, texts in data.items()}
    stored = json.dumps(data)
    if len(stored) > SIZE_LIMIT:
        raise DomainError(
            _("A draft has at most %(n)d characters.") % {"n": SIZE_LIMIT}, code="too_long"
        )
    *whose, status = sql.first(_SLOT, {"slot": slot_id}) or [None]
    if whose != [study.pk, annotator.pk]:
        raise NotFound(_("You do not hold this item."))
    if (status == Slot.Status.DONE) != change:
        raise Conflict(_("You have judged this item already."), code="already_judged")
    lease = None if change else timedelta(minutes=settings.LEASE_MINUTES)
    sql.first(_KEEP, {"slot": slot_id, "me": annotator.pk, "lease": lease, "data": stored})


def _storable(text: str) -> str:
    """``text`` without what JSON in PostgreSQL cannot hold: NUL and lone surrogates."""
    return text.replace("\x00", "").encode(errors="replace").decode()


def drop(slot_id: UUID, annotator: User) -> None:
    """Forget this person's draft of a slot that they gave back."""
    Draft.objects.filter(slot=slot_id, annotator=annotator).delete()
