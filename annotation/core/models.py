from django.db import models


class AuditEvent(models.Model):
    """Who did what to which thing. Rows are never changed or deleted: a trigger refuses it."""

    at = models.DateTimeField(auto_now_add=True)
    # Plain ids: the record outlives the people and things it names.
    actor = models.BigIntegerField(null=True)
    action = models.CharField(max_length=60)
    target = models.CharField(max_length=60)
    target_id = models.CharField(max_length=60)
    details = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["target", "target_id"])]

    def __str__(self) -> str:
        return f"{self.action} {self.target} {self.target_id}"


class Installation(models.Model):
    """The one row that names the files that belong to this database (core.installation)."""

    name = models.CharField(max_length=40)

    def __str__(self) -> str:
        return self.name


class Heartbeat(models.Model):
    """When a background process was last seen, so that a page can say that none is running."""

    name = models.CharField(max_length=30, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} at {self.at:%H:%M:%S}"
