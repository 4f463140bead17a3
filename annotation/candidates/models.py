import uuid

from django.db import models
from django.db.models import Q

from annotation.personas.models import PersonaVersion
from annotation.queries.models import Query
from annotation.studies.models import Study


class Candidate(models.Model):
    """One answer to one query: asked for as a row, written by a worker or imported, never edited.

    The row is the job: ``status``, ``lease_expires_at`` and ``attempts`` say where it stands, so a
    lost broker or a killed worker loses nothing.
    """

    class Status(models.TextChoices):
        REQUESTED = "requested"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    # Random: annotators see this id, and it must tell nothing about order or origin.
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="candidates")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="candidates")
    external_id = models.CharField(max_length=100)
    text = models.TextField(blank=True)
    urls = models.JSONField(default=list)
    strategy = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    # The request, and what came back with the answer.
    status = models.CharField(max_length=10, choices=Status, default=Status.DONE)
    endpoint = models.CharField(max_length=60, blank=True)
    persona_version = models.ForeignKey(
        PersonaVersion, on_delete=models.PROTECT, null=True, related_name="candidates"
    )
    # The model string that the server returned; for imported answers, what the bundle says.
    model = models.CharField(max_length=200, blank=True)
    template = models.CharField(max_length=40, blank=True)
    prompt = models.JSONField(null=True)
    prompt_digest = models.CharField(max_length=64, blank=True)
    parameters = models.JSONField(default=dict)
    request_id = models.CharField(max_length=200, blank=True)
    tokens_in = models.PositiveIntegerField(default=0)
    tokens_out = models.PositiveIntegerField(default=0)
    cost = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    answered_at = models.DateTimeField(null=True)

    # The job.
    attempts = models.PositiveSmallIntegerField(default=0)
    # Attempts before somebody asked again: only later ones count as tries.
    tries_from = models.PositiveSmallIntegerField(default=0)
    lease_expires_at = models.DateTimeField(null=True)
    next_try_at = models.DateTimeField(null=True)
    error_code = models.CharField(max_length=40, blank=True)
    error = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "external_id"], name="candidate_of_study"),
            # A second request for the same answer is the same row.
            models.UniqueConstraint(
                fields=["query", "strategy", "endpoint"],
                condition=~Q(endpoint=""),
                name="one_candidate_a_request",
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_try_at"],
                condition=Q(status__in=["requested", "running"]),
                name="candidate_due",
            )
        ]

    def __str__(self):
        return self.external_id
