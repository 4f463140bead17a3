import uuid

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.core.files.storage import Storage, storages
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField

from annotation.core.embed import DIMENSIONS
from annotation.core.jobs import Job
from annotation.personas.models import PersonaVersion
from annotation.queries.models import Query
from annotation.studies.models import Study


class Answers(models.Manager):
    """What people may judge: no claims or rubrics, which are written by the same machinery."""

    def get_queryset(self):
        return super().get_queryset().filter(purpose=Candidate.Purpose.ANSWER)


class Candidate(Job):
    """One answer to one query: asked for as a row, written by a worker or imported, never edited.

    The row is the job, so a lost broker or a killed worker loses nothing.
    """

    class Purpose(models.TextChoices):
        ANSWER = "answer"
        CLAIMS = "claims"
        RUBRIC = "rubric"

    # Random: annotators see this id, and it must tell nothing about order or origin.
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="candidates")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="candidates")
    external_id = models.CharField(max_length=100)
    purpose = models.CharField(max_length=6, choices=Purpose, default=Purpose.ANSWER)
    text = models.TextField(blank=True)
    urls = models.JSONField(default=list)
    strategy = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    # The request, and what came back with the answer.
    # An imported answer was never a job.
    status = models.CharField(max_length=15, choices=Job.Status, default=Job.Status.DONE)
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
    # Of claims and rubrics: when whoever asked took them over.
    taken_at = models.DateTimeField(null=True)

    objects = Answers()
    every = models.Manager()

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


class AspectScore(models.Model):
    """What a reward model or another judge gave an answer on one aspect: a diagnostic, no vote.

    Higher is better; the scale is the source's own. Never edited: another value comes under
    another source.
    """

    candidate = models.ForeignKey(
        Candidate, on_delete=models.CASCADE, related_name="aspect_scores", db_index=False
    )
    aspect = models.CharField(max_length=60)
    score = models.FloatField()
    source = models.CharField(max_length=60, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["candidate", "aspect", "source"], name="one_score_an_aspect"
            )
        ]

    def __str__(self):
        return f"{self.candidate} {self.aspect}: {self.score:g}"


class Retrieval(models.Model):
    """Where a study's search-augmented answers may look, and how much of it they are shown."""

    class Source(models.TextChoices):
        HISTORY = "history", _("the owner's own history")
        DOCUMENTS = "documents", _("the study's document collection")
        WEB = "web", _("the web")

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="retrieval")
    sources = models.JSONField(default=list)
    # Sources shown to the model for one answer, over all kinds.
    results = models.PositiveSmallIntegerField(default=6)
    # What is asked for where nobody names strategies (strategies.STRATEGIES).
    strategies = models.JSONField(default=list)
    # Whether an experiment may show the gold need to a model: the arm "oracle".
    oracle = models.BooleanField(default=False)

    def __str__(self):
        return f"retrieval of {self.study}"


class Document(models.Model):
    """One text of a study's own collection."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="documents")
    external_id = models.CharField(max_length=200)
    title = models.CharField(max_length=300, blank=True)
    url = models.TextField(blank=True)
    text = models.TextField()
    added_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "external_id"], name="document_of_study")
        ]

    def __str__(self):
        return self.title or self.external_id


def document_storage() -> Storage:
    """Where files of documents lie until they are read."""
    return storages["documents"]


def document_path(row: "DocumentFile", name: str) -> str:
    """A name by chance: what the curator's file is called stays in the row."""
    return uuid.uuid4().hex


class DocumentFile(Job):
    """A file that was added to a study's collection: the job of reading it, then its record."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="document_files")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    name = models.CharField(max_length=200)
    size = models.PositiveBigIntegerField()
    # Empty once the file was read or refused.
    file = models.FileField(storage=document_storage, upload_to=document_path, blank=True)
    requested_at = models.DateTimeField(auto_now_add=True)
    # Passages embedded so far, and in all.
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    added = models.PositiveIntegerField(default=0)
    unchanged = models.PositiveIntegerField(default=0)
    # The first of what was left out, {"where", "reason"}, and how many there were.
    skipped = models.JSONField(default=list)
    skipped_count = models.PositiveIntegerField(default=0)

    def __str__(self):
        return self.name


class DocumentPassage(models.Model):
    """A part of a document as search sees it: its words, and where it lies among meanings."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="passages")
    start = models.PositiveIntegerField()
    length = models.PositiveIntegerField()
    words = SearchVectorField()
    embedding = HalfVectorField(dimensions=DIMENSIONS)

    class Meta:
        indexes = [GinIndex(fields=["words"], name="document_words")]

    def __str__(self):
        return f"{self.document} from {self.start}"
