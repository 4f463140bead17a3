import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.accounts.models import Consent, ConsentText

# Names of pages that stand where a study's address could.
RESERVED_SLUGS = {"new", "import"}


class Role(models.TextChoices):
    ANNOTATOR = "annotator", _("annotator")
    CURATOR = "curator", _("curator")
    RESEARCHER = "researcher", _("researcher")
    ADMINISTRATOR = "administrator", _("administrator")


class StudyQuerySet(models.QuerySet):
    def visible_to(self, user) -> "StudyQuerySet":
        """Studies of which ``user`` is a member; all of them for the site's administrator."""
        if user.is_superuser:
            return self
        return self.filter(memberships__user=user, memberships__left_at=None)

    def with_standing(self, user) -> "StudyQuerySet":
        """Add ``role`` (or None) and ``consented`` of ``user``, in the same query."""
        mine = Membership.objects.filter(study=OuterRef("pk"), user=user, left_at=None)
        agreed = Consent.objects.filter(user=user, text=OuterRef("consent_text"), withdrawn_at=None)
        return self.annotate(
            role=models.Subquery(mine.values("role")[:1]),
            consented=Q(consent_text=None) | Exists(agreed),
        )


class Study(models.Model):
    """One collection of judgments, with its own people, tasks and texts."""

    class Status(models.TextChoices):
        DRAFT = "draft", _("draft")
        OPEN = "open", _("open")
        CLOSED = "closed", _("closed")

    slug = models.SlugField(
        _("address"),
        max_length=60,
        unique=True,
        validators=[RegexValidator(r"^[a-z0-9][a-z0-9-]*$", _("Use a-z, 0-9 and hyphens."))],
    )
    title = models.CharField(_("title"), max_length=200)
    description = models.TextField(_("description"), blank=True)
    languages = models.JSONField(_("languages"), default=list)
    status = models.CharField(max_length=10, choices=Status, default=Status.DRAFT)
    consent_text = models.ForeignKey(
        ConsentText, on_delete=models.PROTECT, null=True, blank=True, related_name="studies"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = StudyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "studies"

    def __str__(self):
        return self.title


class Membership(models.Model):
    """One person's role in one study."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=15, choices=Role)
    joined_at = models.DateTimeField(auto_now_add=True)
    left_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "user"], name="one_role_a_study")]

    def __str__(self):
        return f"{self.user}: {self.role} of {self.study}"


class Invitation(models.Model):
    """A link that makes whoever opens it a member, once. The link's secret is not stored."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=15, choices=Role)
    # Where set, only the account of this address can use the link.
    email = models.EmailField(blank=True)
    digest = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    accepted_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self):
        return f"{self.role} of {self.study} for {self.email or 'anyone'}"

    @staticmethod
    def digest_of(key: str) -> str:
        return hashlib.sha256(key.encode()).hexdigest()

    @classmethod
    def issue(cls, study, role, *, email="", by=None, days=14) -> tuple["Invitation", str]:
        """Make an invitation valid for ``days`` days, and the key that its link carries."""
        key = secrets.token_urlsafe(24)
        invitation = cls.objects.create(
            study=study,
            role=role,
            email=email.strip().lower(),
            digest=cls.digest_of(key),
            created_by=by,
            expires_at=timezone.now() + timedelta(days=days),
        )
        return invitation, key


class TaskDefinition(models.Model):
    """What annotators are asked, in one version. A change is a new version: items name theirs."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="tasks")
    name = models.SlugField(max_length=60)
    version = models.PositiveIntegerField(default=1)
    kind = models.CharField(max_length=20)
    overlap = models.PositiveSmallIntegerField(default=9)
    guideline = models.TextField(blank=True)
    # What the kind needs, checked by judging.kinds.<kind>: options, tie, none, reason, ...
    config = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "name", "version"], name="task_version"),
            models.CheckConstraint(condition=Q(overlap__gte=1), name="task_overlap_positive"),
        ]

    def __str__(self):
        return f"{self.name} v{self.version}"
