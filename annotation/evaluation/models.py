import uuid
from typing import Any

from django.conf import settings
from django.db import models

from annotation.core.jobs import Job
from annotation.datasets.models import Release
from annotation.judging.models import Item
from annotation.studies.models import Study


class Verdict(models.Model):
    """What a model says of an item that people judge. It is no vote and is shown to no annotator.

    Rows are only ever added: another run of a model comes under another name.
    """

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="verdicts")
    model = models.CharField(max_length=200)
    # What of an answer is compared (questions.Measure), "" where it is one label; the canonical
    # number of the option that it is about.
    question = models.CharField(max_length=130, blank=True)
    option = models.PositiveSmallIntegerField(null=True)
    # As an Answer has it, numbers as digits; a preference counts from 1, the first much better.
    label = models.CharField(max_length=60)
    # How sure the model was of this label, from 0 to 1.
    confidence = models.FloatField(null=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item", "model", "question", "option"],
                nulls_distinct=False,
                name="one_verdict_of_a_model",
            )
        ]


class Draw(models.Model):
    """One round in which items of a task were drawn for people's votes (evaluation.draws).

    Each item's own probability is ``Item.chance``.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="draws")
    task = models.CharField(max_length=60)
    rule = models.CharField(max_length=20)
    version = models.PositiveSmallIntegerField()
    # Votes on an item, votes that were asked for, and the half-width of all intervals at which
    # rounds end by themselves.
    panel = models.PositiveSmallIntegerField()
    votes = models.PositiveIntegerField()
    half_width = models.FloatField(null=True)
    # Whose answers the rule reads and half_width is of; "": the task's first.
    question = models.CharField(max_length=200, default="", db_default="")
    items = models.PositiveIntegerField()
    slots = models.PositiveIntegerField()
    at = models.DateTimeField(auto_now_add=True)
    # When no further round follows by itself.
    ended_at = models.DateTimeField(null=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )


class Benchmark(models.Model):
    """What models are measured on: a release's files, by their digest, wherever the folder lies.

    ``facts`` holds what figures need of each pair, in the release's order: "cell" (place in
    pairs.CELLS), "item" (a number for each item) and "length" (log length of the chosen answer less
    that of the other). It is {} where the release holds no pairs.
    """

    digest = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=200)
    layout = models.CharField(max_length=20)
    release = models.ForeignKey(
        Release, on_delete=models.SET_NULL, null=True, related_name="benchmarks"
    )
    facts = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Run(Job):
    """One model on one benchmark in one setting, or on a task's items. The row is the job."""

    OWNER = "created_by"

    class Kind(models.TextChoices):
        CHOICE = "choice"
        SCORES = "scores"
        LEARNED = "learned"
        JUDGE = "judge"
        RATER = "rater"
        SYSTEM = "system"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.CASCADE, null=True, related_name="runs"
    )
    # Of a system whose answers the model judges: its name, what it knew of the person, and what it
    # wrote, each (user, query, text) as brought; or the endpoint that writes them.
    system = models.CharField(max_length=200, blank=True)
    context = models.CharField(max_length=200, blank=True)
    answers: "models.JSONField[Any, Any]" = models.JSONField(null=True)
    writer = models.CharField(max_length=60, blank=True)
    # Of a rater: the study and the name of the task whose items it judges.
    study = models.ForeignKey(Study, on_delete=models.CASCADE, null=True, related_name="rater_runs")
    task = models.CharField(max_length=60, blank=True)
    # How often each order of an item's answers is asked about.
    samples = models.PositiveSmallIntegerField(default=1)
    kind = models.CharField(max_length=10, choices=Kind)
    # What tables call it; ``group`` is a heading of tables, such as "chat" or "reward".
    model = models.CharField(max_length=200)
    group = models.CharField(max_length=40, blank=True)
    endpoint = models.CharField(max_length=60, blank=True)
    setting = models.CharField(max_length=20)
    limit = models.PositiveIntegerField(null=True)
    prompt = models.CharField(max_length=40, blank=True)
    # Where the release lay when it was asked for; a resumed run may name another copy.
    folder = models.TextField(blank=True)
    # Whether workers go on with it; what a command asks for is that command's.
    background = models.BooleanField(default=False)
    calls = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    result: "models.JSONField[Any, Any]" = models.JSONField(null=True)
    # Of a run on pairs: "place" and "score" of each pair that was asked about.
    outcomes: "models.JSONField[Any, Any]" = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(benchmark__isnull=False) ^ models.Q(study__isnull=False),
                name="run_on_a_benchmark_or_in_a_study",
            )
        ]
        indexes = [
            models.Index(
                fields=["lease_expires_at"],
                condition=models.Q(status__in=["requested", "running"]),
                name="evaluation_run_due",
            )
        ]


class Reply(models.Model):
    """What a model answered to one question of a run; rows are only ever added by the run.

    ``value`` is what was read from the text, null where nothing could be; ``code`` says why there
    is no text (see endpoints.sentence).
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="replies")
    unit = models.CharField(max_length=80)
    value = models.JSONField(null=True)
    text = models.TextField(blank=True)
    code = models.CharField(max_length=40, blank=True)
    tokens_in = models.PositiveIntegerField(default=0)
    tokens_out = models.PositiveIntegerField(default=0)
    # The probability of the text, where the server tells it.
    sure = models.FloatField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "unit"], name="one_reply_to_a_question")
        ]
