"""An import as a job, the lines it could not read, and mappings that a study keeps."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.core.jobs import Job
from annotation.studies.models import Study


class DataImport(Job):
    """A file that a curator sends, how it is read, and what came in.

    The bytes lie in a private folder from the first one until the import has ended. A worker alone
    reads them: first what they begin with, which the page of the mapping shows, then, once
    ``mapping`` says how, all of them: a file is found good before anything of it is stored.
    """

    OWNER = "study"

    class Status(models.TextChoices):
        RECEIVING = "receiving", _("being sent")
        WAITING = "waiting", _("to be mapped")
        REQUESTED = "requested", _("requested")
        RUNNING = "running", _("being imported")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("cancelled")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="imports")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    status = models.CharField(max_length=15, choices=Status, default=Status.RECEIVING)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)
    # The language of whoever sent it: faults and refusals are written in it.
    language = models.CharField(max_length=20, blank=True)

    # The file: its name at the sender's, its place here, and how much of it has come.
    name = models.CharField(max_length=200)
    stored = models.CharField(max_length=32, blank=True)
    size = models.BigIntegerField()
    received = models.BigIntegerField(default=0)
    fingerprint = models.CharField(max_length=100, blank=True)
    # A table of the Hugging Face Hub that a worker fetches (tables.HubTable).
    hub = models.JSONField(default=dict)

    # That of its text (tables.ENCODINGS).
    encoding = models.CharField(max_length=20, blank=True, default="", db_default="")

    # What a worker read of its beginning (tables.Beginning, as JSON), until it has ended.
    sample = models.TextField(blank=True)

    # How it is to be read ({"columns", "values"}, {"recipe"}, or {} by the columns' names), for
    # which task, and whether faulty lines are left out. None: nobody has asked for the import yet.
    mapping = models.JSONField(null=True)
    task = models.CharField(max_length=60, blank=True)
    # False: questions and answers alone are stored, and a batch opens items of them later.
    open_items = models.BooleanField(default=True)
    skip_faults = models.BooleanField(default=False)
    # Whether a person's further judgments of an item are stored as repeats; else they are faults.
    repeats = models.BooleanField(default=False)
    # Further files of the study whose rows are joined: {"upload", "name", "column", "key"} of each.
    joins = models.JSONField(default=list)
    # What a task that does not fit is given, and what a refusal proposed (names of WIDER).
    allow = models.JSONField(default=list)
    wider = models.JSONField(default=list)
    # Where it comes from, as far as whoever sends it knows (fields of bring.Known).
    provenance = models.JSONField(default=dict)

    # The last item whose judgments are stored, "" before the first: where a killed import goes on.
    # Null: nothing is stored.
    mark = models.JSONField(null=True)
    # What became of it. ``rows`` counts those read so far, ``rows_stored`` those stored.
    rows = models.PositiveIntegerField(default=0)
    rows_stored = models.PositiveIntegerField(default=0)
    counts = models.JSONField(default=dict)
    unknown = models.JSONField(default=list)
    rejected = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "by", "fingerprint", "size"],
                condition=Q(status="receiving") & ~Q(fingerprint=""),
                name="one_import_of_a_file_being_sent",
            )
        ]
        indexes = [models.Index(fields=["study", "-created_at"], name="import_of_study")]

    def __str__(self) -> str:
        return f"{self.name} into {self.study.slug}"


class ImportFault(models.Model):
    """A line that was not imported, and why."""

    source = models.ForeignKey(DataImport, on_delete=models.CASCADE, related_name="faults")
    line = models.PositiveIntegerField()
    reason = models.TextField()

    class Meta:
        ordering = ["source", "line", "pk"]

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason[:60]}"


class ImportRecipe(models.Model):
    """A mapping that curators of a study keep under a name."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="import_recipes")
    name = models.CharField(max_length=60)
    mapping = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="one_recipe_of_a_name")
        ]

    def __str__(self) -> str:
        return self.name
