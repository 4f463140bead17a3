"""What is typed and not yet submitted, kept on the server for its author."""

import json

from annotation.core.errors import DomainError, NotFound
from annotation.judging.models import Draft, Slot

SIZE_LIMIT = 400_000


def save(study, slot_id, annotator, data: dict) -> None:
    """Keep ``data`` (field: list of text) as this person's draft of a slot, over the earlier one.

    Raises NotFound where the slot is not this person's, DomainError where there is too much.
    """
    text = json.dumps(data)
    if len(text) > SIZE_LIMIT:
        raise DomainError(f"A draft has at most {SIZE_LIMIT:,} characters.", code="too_long")
    mine = Slot.objects.filter(
        pk=slot_id, study=study, annotator=annotator, status__in=["held", "done"]
    )
    if not mine.exists():
        raise NotFound("You do not hold this item.")
    Draft.objects.update_or_create(
        slot_id=slot_id,
        annotator=annotator,
        # JSON in PostgreSQL holds no NUL.
        defaults={"data": json.loads(text.replace("\\u0000", ""))},
    )
