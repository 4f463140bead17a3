import uuid

from django.conf import settings
from django.db import models

from annotation.core.jobs import Job
from annotation.datasets import folders
from annotation.judging.models import Item, ItemOption
from annotation.studies.models import Study


class Release(Job):
    """A frozen, numbered dataset of a study. The row is the job; the folder is what it made."""

    OWNER = "study"

    # The id that the API, the manifest and the dataset card use.
    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="releases")
    version = models.PositiveIntegerField()
    layout = models.CharField(max_length=20)
    format = models.CharField(max_length=10)
    # CSV cells that a spreadsheet would run as a formula are written as text.
    safe_csv = models.BooleanField(default=False)
    licence = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    # Pseudonyms are made from this: fresh for each release, so releases cannot be joined.
    salt = models.CharField(max_length=64)
    # When it was frozen, by the database's clock.
    as_of = models.DateTimeField()
    # What exactly is in it, by id: see request_release. Clocks do not decide: a vote that was being
    # stored at that moment, or is imported later with an old date, changes nothing.
    frozen = models.JSONField()
    manifest = models.JSONField(null=True)
    # SHA-256 of manifest.json, which has those of all other files.
    digest = models.CharField(max_length=64, blank=True)
    # When its files first left the server.
    fetched_at = models.DateTimeField(null=True)
    # Fetched releases are written again without who left: v2.1 after v2. What was before, oldest
    # first: {"version", "digest", "fetched_at", "revised_at", "reason"}.
    revision = models.PositiveSmallIntegerField(default=0)
    revisions = models.JSONField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "version"], name="release_version")]
        indexes = [
            models.Index(
                fields=["lease_expires_at"],
                condition=models.Q(status__in=["requested", "running"]),
                name="release_due",
            )
        ]

    def __str__(self) -> str:
        return f"{self.study.slug} v{self.number}"

    @property
    def number(self) -> str:
        """The version with its revision: "2", or "2.1"."""
        return folders.number_of(self.version, self.revision)


class ReleaseImport(Job):
    """A release that became a study, or is to: the row is the job and its report."""

    OWNER = "by"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    # None until it is done.
    study = models.ForeignKey(Study, on_delete=models.CASCADE, null=True, related_name="+")
    slug = models.SlugField(max_length=60)
    # Of all files of the folder: the same folder again changes nothing.
    digest = models.CharField(max_length=64, blank=True)
    report = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        indexes = [models.Index(fields=["slug", "digest"], name="release_import_of")]

    def __str__(self) -> str:
        return f"{self.slug} {self.created_at:%Y-%m-%d}"


class ImportedPair(models.Model):
    """The tier and the winner that an imported item came with. No vote stands behind it."""

    item = models.OneToOneField(
        Item, on_delete=models.CASCADE, primary_key=True, related_name="imported_pair"
    )
    # The answer that was preferred.
    option = models.ForeignKey(ItemOption, on_delete=models.CASCADE, related_name="+")
    tier = models.CharField(max_length=20, blank=True)
