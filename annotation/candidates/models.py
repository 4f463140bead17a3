import uuid
from typing import Any

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.core.files.storage import Storage, storages
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField

from annotation.core.embed import DIMENSIONS
from annotation.core.jobs import Job
from annotation.personas.models import Attribute, Persona, PersonaVersion
from annotation.queries.models import Query
from annotation.studies.models import Provenance, Study

# Of attributes: people judge it, or an answer that was written from it.
JUDGED = Q(items__isnull=False) | Q(candidates__options__isnull=False)


class Answers(models.Manager["Candidate"]):
    """What people may judge: no claims or rubrics, which are written by the same machinery."""

    def get_queryset(self) -> "models.QuerySet[Candidate]":
        return super().get_queryset().filter(purpose=Candidate.Purpose.ANSWER)


class Run(models.Model):
    """One start of generation: what was planned, and who started it. Its rows say what happened."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="runs")
    # "answer", or the name of a step (candidates.steps).
    step = models.CharField(max_length=20)
    endpoint = models.CharField(max_length=60)
    options = models.JSONField(default=dict)
    # As calls.estimate: calls, tokens, cost, seconds, and what it is based on.
    planned = models.JSONField(default=dict)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    cancelled_at = models.DateTimeField(null=True)


class Generated(Job):
    """A row that a model fills: the request, what came back, and what reviewers say of it."""

    class Review(models.TextChoices):
        PENDING = "pending", _("to be reviewed")
        ACCEPTED = "accepted", _("accepted")
        REJECTED = "rejected", _("rejected")

    # Random: annotators see an answer's id, and it must tell nothing about order or origin.
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="%(class)ss")
    created_at = models.DateTimeField(auto_now_add=True)
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, related_name="%(class)ss")
    endpoint = models.CharField(max_length=60, blank=True)
    # The model string that the server returned; for imported answers, what the bundle says.
    model = models.CharField(max_length=200, blank=True)
    template = models.CharField(max_length=40, blank=True)
    prompt: "models.JSONField[Any, Any]" = models.JSONField(null=True)
    prompt_digest = models.CharField(max_length=64, blank=True)
    parameters = models.JSONField(default=dict)
    request_id = models.CharField(max_length=200, blank=True)
    tokens_in = models.PositiveIntegerField(default=0)
    tokens_out = models.PositiveIntegerField(default=0)
    cost = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    # That were answered; what they cost is that of all of them.
    calls = models.PositiveIntegerField(default=0, db_default=0)
    # Of all calls for this row together.
    seconds = models.FloatField(default=0)
    # From here counts how long a server may ask for patience.
    asked_at = models.DateTimeField(default=timezone.now)
    answered_at = models.DateTimeField(null=True)

    # "" needs no review; raters see nothing that is pending or rejected.
    review = models.CharField(max_length=10, choices=Review, blank=True)
    review_reason = models.CharField(max_length=40, blank=True)
    reviewed_at = models.DateTimeField(null=True)
    # Codes of what automatic checks say of the text (candidates.clean).
    flags = models.JSONField(default=list)

    class Meta:
        abstract = True
        indexes = [
            models.Index(
                fields=["next_try_at"],
                condition=Q(status__in=["requested", "running"]),
                name="%(class)s_due",
            ),
            models.Index(
                fields=["endpoint"],
                condition=Q(status="running") | Q(status="requested", next_try_at__isnull=False),
                name="%(class)s_busy",
            ),
            # The oldest of an endpoint's rows that wait, though many do.
            models.Index(
                fields=["endpoint", "created_at", "id"],
                condition=Q(status__in=["requested", "running"]),
                name="%(class)s_upcoming",
            ),
        ]


class Candidate(Generated):
    """One answer to one query: asked for as a row, written by a worker or imported, never edited.

    The row is the job, so a lost broker or a killed worker loses nothing.
    """

    class Purpose(models.TextChoices):
        ANSWER = "answer"
        CLAIMS = "claims"
        RUBRIC = "rubric"
        # A gold response's next version.
        REFINED = "refine"
        # What a model said in a live conversation.
        TURN = "turn"
        # What a history is searched by in place of the question.
        EXPANSION = "expand"

    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="candidates")
    # Of what was imported; None of what was made here.
    provenance = models.ForeignKey(
        Provenance, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    external_id = models.CharField(max_length=100)
    purpose = models.CharField(max_length=6, choices=Purpose, default=Purpose.ANSWER)
    text = models.TextField(blank=True)
    urls = models.JSONField(default=list)
    strategy = models.CharField(max_length=40, blank=True)
    # Of a rewrite: the answer that was rewritten.
    source = models.ForeignKey(
        "self", on_delete=models.RESTRICT, null=True, related_name="rewrites"
    )
    # Of an answer personalised by one statement about the person: that statement.
    attribute = models.ForeignKey(
        Attribute, on_delete=models.CASCADE, null=True, related_name="candidates"
    )
    # An imported answer was never a job.
    status = models.CharField(max_length=15, choices=Job.Status, default=Job.Status.DONE)
    persona_version = models.ForeignKey(
        PersonaVersion, on_delete=models.PROTECT, null=True, related_name="candidates"
    )
    # Of claims and rubrics: when whoever asked took them over.
    taken_at = models.DateTimeField(null=True)

    objects = Answers()
    every = models.Manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "external_id"], name="candidate_of_study"),
            # A second request for the same answer is the same row.
            models.UniqueConstraint(
                fields=["query", "strategy", "endpoint", "source", "attribute"],
                condition=~Q(endpoint=""),
                nulls_distinct=False,
                name="one_candidate_a_request",
            ),
        ]
        indexes = [
            *Generated.Meta.indexes,
            models.Index(
                fields=["study"], condition=Q(review="pending"), name="candidate_to_review"
            ),
        ]

    def __str__(self) -> str:
        return self.external_id


class Proposal(Generated):
    """What a model proposes for a study besides answers: a persona, a feature, a question, ...

    ``input`` is what was drawn for it, ``output`` what the model said in the step's schema (of
    memories also the ids of those that were made). Nothing
    of it is used before it is accepted; ``made`` then names what it became.
    """

    step = models.CharField(max_length=20)
    persona = models.ForeignKey(
        Persona, on_delete=models.CASCADE, null=True, related_name="proposals"
    )
    number = models.PositiveIntegerField()
    input = models.JSONField(default=dict)
    output: "models.JSONField[Any, Any]" = models.JSONField(null=True)
    # The output in words, as it is shown and compared with others of the step.
    text = models.TextField(blank=True)
    embedding = HalfVectorField(dimensions=DIMENSIONS, null=True)
    # The most similar earlier text of the step, and the cosine to it.
    nearest = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="+")
    similarity = models.FloatField(null=True)
    made = models.CharField(max_length=100, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="proposal_number")]
        indexes = [
            *Generated.Meta.indexes,
            models.Index(fields=["study", "step", "review"], name="proposal_to_review"),
        ]


class Extraction(models.Model):
    """A statement that a model extracted from a person's conversations, as it came.

    Statements of one meaning become one attribute (candidates.attributes); ``verdict`` and
    ``refined`` are what a second look by a model gave.
    """

    class Verdict(models.TextChoices):
        SUPPORTED = "supported", _("supported")
        REFINED = "refined", _("refined")
        UNSUPPORTED = "unsupported", _("not supported")

    proposal = models.ForeignKey(Proposal, on_delete=models.CASCADE, related_name="extractions")
    persona = models.ForeignKey(Persona, on_delete=models.CASCADE, related_name="extractions")
    number = models.PositiveSmallIntegerField()
    text = models.TextField()
    confidence = models.FloatField()
    # [{"conversation": id, "turn": place from 0, "start", "end"}], in characters of its text.
    evidence = models.JSONField(default=list)
    verdict = models.CharField(max_length=11, choices=Verdict, blank=True)
    refined = models.TextField(blank=True)
    # Of ``wording``.
    embedding = HalfVectorField(dimensions=DIMENSIONS)
    # What it became, alone or with others.
    attribute = models.ForeignKey(
        Attribute, on_delete=models.SET_NULL, null=True, related_name="extractions"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["proposal", "number"], name="extraction_number")
        ]

    @property
    def wording(self) -> str:
        return self.refined or self.text


class Opinion(models.Model):
    """What one reviewer says of a proposal or an answer; the last word is in its ``review``."""

    proposal = models.ForeignKey(
        Proposal, on_delete=models.CASCADE, null=True, related_name="opinions"
    )
    candidate = models.ForeignKey(
        Candidate, on_delete=models.CASCADE, null=True, related_name="opinions"
    )
    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="opinions"
    )
    accepts = models.BooleanField()
    reason = models.CharField(max_length=40, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["proposal", "reviewer"], name="one_opinion_proposal"),
            models.UniqueConstraint(fields=["candidate", "reviewer"], name="one_opinion_answer"),
            models.CheckConstraint(
                condition=Q(proposal=None) ^ Q(candidate=None), name="opinion_of_one_thing"
            ),
        ]


class GenerationRules(models.Model):
    """How a study reviews what models write."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="generation_rules")
    reviewers = models.PositiveSmallIntegerField(default=1)
    # Whether answers wait for a reviewer before raters see them; proposals always do.
    review_answers = models.BooleanField(default=False)
    # Cosine from which two texts of a step are shown as near-duplicates.
    similarity = models.FloatField(default=0.85)
    # Largest share by which a rewrite may differ from the words of its source.
    length_tolerance = models.FloatField(default=0.1)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(reviewers__gte=1, reviewers__lte=2), name="one_or_two_reviewers"
            )
        ]


class PromptTemplate(models.Model):
    """A study's own wording of a prompt, in versions; results name the version that made them."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="prompt_templates")
    name = models.CharField(max_length=30)
    version = models.PositiveIntegerField()
    system = models.TextField()
    user = models.TextField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "name", "version"], name="template_version")
        ]

    def __str__(self) -> str:
        return f"{self.name}/{self.study.slug}-{self.version}"


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
    # What is asked for where nobody names strategies (``strategies.by_name``).
    strategies = models.JSONField(default=list)
    # Whether an experiment may show the gold need to a model: the arm "oracle".
    oracle = models.BooleanField(default=False)


class Document(models.Model):
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

    def __str__(self) -> str:
        return self.title or self.external_id


def document_storage() -> Storage:
    """Where files of documents lie until they are read."""
    return storages["documents"]


def document_path(row: "DocumentFile", name: str) -> str:
    """A name by chance: what the curator's file is called stays in the row."""
    return uuid.uuid4().hex


class DocumentFile(Job):
    """A file that was added to a study's collection: the job of reading it, then its record."""

    OWNER = "study"

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

    def __str__(self) -> str:
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


class Budget(models.Model):
    """What a study's models may cost: altogether and a day (UTC); an empty limit is none.

    ``owner_texts`` are those that one person may ask for a day: whoever presses a button again and
    again spends what is meant for all.
    """

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="budget")
    cost = models.DecimalField(max_digits=12, decimal_places=4, null=True, blank=True)
    daily_cost = models.DecimalField(max_digits=12, decimal_places=4, null=True, blank=True)
    tokens = models.PositiveBigIntegerField(null=True, blank=True)
    daily_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    owner_texts = models.PositiveIntegerField(null=True, blank=True, default=60, db_default=60)


class Spending(models.Model):
    """What a study's calls cost on one day (UTC), with what is reserved for calls in progress."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="spending")
    day = models.DateField()
    calls = models.PositiveIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0)
    cost = models.DecimalField(max_digits=12, decimal_places=6, default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "day"], name="one_spending_a_day")]
