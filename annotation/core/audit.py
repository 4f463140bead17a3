from annotation.core.models import AuditEvent


def record(actor, action: str, thing, **details) -> AuditEvent:
    """Append one audit event; call it inside the transaction of the act itself.

    ``actor`` is a user or None (a command), ``thing`` a saved model instance.
    """
    return AuditEvent.objects.create(
        actor=getattr(actor, "pk", None),
        action=action,
        target=thing._meta.model_name,
        target_id=str(thing.pk),
        details=details,
    )
