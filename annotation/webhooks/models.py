import base64
import secrets
import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotation.core.jobs import Job
from annotation.core.outgoing import URL_LIMIT
from annotation.studies.models import Study


def new_nonce() -> str:
    """What a webhook's secret is derived from, beside the installation's key."""
    return secrets.token_hex(16)


class Webhook(models.Model):
    """An address that is told of a study's events."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=URL_LIMIT)
    events = models.JSONField(default=list)
    nonce = models.CharField(max_length=32, default=new_nonce)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    paused_at = models.DateTimeField(null=True)
    # Events up to then were looked for.
    seen_at = models.DateTimeField(auto_now_add=True)
    # Calls in a row that failed, and until when it is not called for that.
    failures = models.PositiveIntegerField(default=0)
    waits_until = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.url} of {self.study}"

    @property
    def waits(self) -> bool:
        """Whether it is not called now, because too many calls in a row failed."""
        return self.waits_until is not None and self.waits_until > timezone.now()

    @property
    def secret(self) -> str:
        """The key of the signatures, as Standard Webhooks writes it; nothing of it is stored."""
        key = salted_hmac(f"webhook {self.pk}", self.nonce, algorithm="sha256").digest()
        return "whsec_" + base64.b64encode(key).decode()


class Delivery(Job):
    """One message to one webhook, and how its sending stands."""

    # Listeners that dawdle hold a thread a study, not all that notices have, too.
    OWNER = "webhook__study"

    # The message's id: the same at every attempt, so that a receiver can drop repetitions.
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=40)
    # What it is about: an event is told once.
    subject = models.CharField(max_length=100)
    body = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)
    tried_at = models.DateTimeField(null=True)
    answer_status = models.PositiveSmallIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["webhook", "event", "subject"], name="one_message")
        ]
        indexes = [
            models.Index(
                fields=["next_try_at"],
                condition=models.Q(status__in=["requested", "running"]),
                name="delivery_due",
            )
        ]
