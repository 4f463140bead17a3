from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db.models import Model

from annotation.core.models import AuditEvent


def record(
    actor: AbstractBaseUser | AnonymousUser | None, action: str, thing: Model, **details: Any
) -> AuditEvent:
    """Append one audit event; call it inside the transaction of the act itself.

    ``actor`` is a user or None (a command), ``thing`` a saved model instance.
    """
    return AuditEvent.objects.create(
        actor=getattr(actor, "pk", None),
        action=action,
        target=str(thing._meta.model_name),
        target_id=str(thing.pk),
        details=details,
    )
