import hashlib
import json

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models


class IdempotentCall(models.Model):
    """A call that was carried out under a key of its caller, and what it was answered."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    answer = models.JSONField(encoder=DjangoJSONEncoder)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="one_call_a_key")]

    @staticmethod
    def digest_of(path: str, body: object) -> str:
        """SHA-256 of what was asked: the same key with another digest is another call."""
        words = json.dumps([path, body], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(words.encode()).hexdigest()
