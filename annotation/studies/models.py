import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from annotation import policies
from annotation.accounts.models import Consent, ConsentText, User
from annotation.studies.bundle_rows import DEFAULT_OVERLAP

SLUG, SLUG_LIMIT = r"^[a-z0-9][a-z0-9-]*$", 60
TITLE_LIMIT, DESCRIPTION_LIMIT = 200, 20_000
# Names of pages that stand where a study's address could.
RESERVED_SLUGS = {"new", "import"}


class Role(models.TextChoices):
    ANNOTATOR = policies.ANNOTATOR, _("annotator")
    CURATOR = policies.CURATOR, _("curator")
    RESEARCHER = policies.RESEARCHER, _("researcher")
    ADMINISTRATOR = policies.ADMINISTRATOR, _("administrator")


class StudyQuerySet(models.QuerySet):
    def visible_to(self, user: User) -> "StudyQuerySet":
        """Studies of which ``user`` is a member; all of them for the site's administrator."""
        if user.is_superuser:
            return self
        return self.filter(memberships__user=user, memberships__left_at=None)

    def with_membership(self, user: User) -> "StudyQuerySet":
        """Add ``role`` (or None) and ``consented`` of ``user``, in the same query."""
        membership = Membership.objects.filter(study=OuterRef("pk"), user=user, left_at=None)
        agreed = Consent.objects.filter(user=user, text=OuterRef("consent_text"), withdrawn_at=None)
        return self.annotate(
            role=models.Subquery(membership.values("role")[:1]),
            consented=Q(consent_text=None) | Exists(agreed),
        )


class Study(models.Model):
    """One collection of judgments, with its own people, tasks and texts."""

    # Of the person that ``with_membership`` asks about.
    role: str | None
    consented: bool
    # Of the person whose desk or list it stands on (judging.annotator.overview).
    opens: bool
    counts: dict | None

    class Status(models.TextChoices):
        DRAFT = "draft", _("draft")
        OPEN = "open", _("open")
        CLOSED = "closed", _("closed")

    class CardGroup(models.TextChoices):
        # The names of personas.schema.CARD_GROUPS.
        PREFERENCES = "preferences", _("preferences")
        PERSON = "person", _("the person")
        PERSONALITY = "personality", _("personality")

    # Labels, bounds and help of what can be changed are in studies.schemas.
    slug = models.SlugField(max_length=SLUG_LIMIT, unique=True)
    title = models.CharField(max_length=TITLE_LIMIT)
    description = models.TextField(blank=True)
    languages = models.JSONField(default=list)
    # {language: {"title", "description"}}, read by texts.localized; so in the other models too.
    translations = models.JSONField(default=dict)
    status = models.CharField(max_length=10, choices=Status, default=Status.DRAFT)
    consent_text = models.ForeignKey(
        ConsentText, on_delete=models.PROTECT, null=True, related_name="studies"
    )
    edit_hours = models.PositiveSmallIntegerField(default=24)
    pay_per_hour = models.DecimalField(max_digits=8, decimal_places=2, null=True)
    pay_per_judgment = models.DecimalField(max_digits=8, decimal_places=2, null=True)
    currency = models.CharField(max_length=3, blank=True)
    break_minutes = models.PositiveSmallIntegerField(default=45)
    remind_to_read = models.BooleanField(default=False)
    # judging.batches.preparation
    automatic = models.BooleanField(default=False)
    # Languages that people say they read (User.reads) decide what they are handed out.
    match_languages = models.BooleanField(default=False)
    # 0: as many as they like.
    owner_queries = models.PositiveSmallIntegerField(default=0)
    # histories.collection; 0: nothing is collected day by day.
    collect_days = models.PositiveSmallIntegerField(default=0)
    # survey.answer; 0: as many as come.
    group_places = models.PositiveIntegerField(default=0)
    # live.talks.Live: how people talk with hidden models; {} where they do not.
    live = models.JSONField(default=dict)
    card_first = models.CharField(max_length=12, choices=CardGroup, default=CardGroup.PREFERENCES)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = StudyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.title

    @property
    def role_name(self) -> str:
        return str(Role(self.role).label) if self.role else ""


class Membership(models.Model):
    """One person's role in one study."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=15, choices=Role)
    joined_at = models.DateTimeField(auto_now_add=True)
    left_at = models.DateTimeField(null=True)
    # When a mail last said which days of their history are missing.
    reminded_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "user"], name="one_role_a_study")]


class Invitation(models.Model):
    """A link that makes whoever opens it a member, once. The link's secret is not stored."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=15, choices=Role)
    # Where set, only the account of this address can use the link.
    email = models.EmailField(blank=True)
    # The link went to that address by mail and was shown to nobody: whoever has it, reads its mail.
    mailed_at = models.DateTimeField(null=True)
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

    @staticmethod
    def digest_of(key: str) -> str:
        return hashlib.sha256(key.encode()).hexdigest()

    @classmethod
    def issue(
        cls, study: Study, role: str, *, email: str = "", by: User | None = None, days: int = 14
    ) -> tuple["Invitation", str]:
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


class Provenance(models.Model):
    """Where imported material and judgments come from; empty is what is not known."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="provenances")
    file = models.CharField(max_length=200)
    source = models.CharField(max_length=300, blank=True)
    citation = models.TextField(blank=True)
    licence = models.CharField(max_length=200, blank=True)
    collected_from = models.DateField(null=True)
    collected_to = models.DateField(null=True)
    # What those people agreed to, in words.
    consent = models.TextField(blank=True)
    # BCP 47.
    languages = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    # What is asked of whoever imports, in the order of the page.
    ASKED = (
        *("source", "citation", "licence", "collected_from", "collected_to"),
        *("consent", "languages"),
    )

    def __str__(self) -> str:
        return self.source or self.file

    def as_json(self) -> dict:
        """What is known; dates in ISO 8601."""
        fields = {name: getattr(self, name) for name in ("file", *self.ASKED)}
        for name in ("collected_from", "collected_to"):
            fields[name] = fields[name] and str(fields[name])
        return fields


class Survey(models.Model):
    """One version of what a study asks people about themselves; the newest counts."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="surveys")
    version = models.PositiveIntegerField()
    # [{"question": str, "choices": [str]}]; [] ends the survey.
    questions = models.JSONField(default=list)
    # Its own: who answers agrees to it.
    consent_text = models.ForeignKey(ConsentText, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "version"], name="survey_version")]


class SurveyAnswer(models.Model):
    """What a person said to one version; {} where they skipped it."""

    survey = models.ForeignKey(Survey, on_delete=models.CASCADE, related_name="answers")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="survey_answers"
    )
    # {question: choice}
    answers = models.JSONField(default=dict)
    answered_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["survey", "user"], name="one_answer_a_survey")
        ]


class TaskDefinition(models.Model):
    """What annotators are asked, in one version. A change is a new version: items name theirs."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="tasks")
    name = models.SlugField(max_length=SLUG_LIMIT)
    version = models.PositiveIntegerField(default=1)
    kind = models.CharField(max_length=20)
    overlap = models.PositiveSmallIntegerField(default=DEFAULT_OVERLAP)
    guideline = models.TextField(blank=True)
    # {language: {"guideline", "question"}}
    translations = models.JSONField(default=dict, blank=True)
    # What the kind needs, checked by judging.kinds.<kind>: options, tie, none, reason, ...
    config = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "name", "version"], name="task_version"),
            models.CheckConstraint(condition=Q(overlap__gte=1), name="task_overlap_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"


class JoinCode(models.Model):
    """A short code that makes up to ``uses`` people annotators. The code itself is not stored."""

    # Crockford's: no letter that could be read as another sign.
    ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    LENGTH = 8

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="codes")
    digest = models.CharField(max_length=64, unique=True)
    uses = models.PositiveIntegerField()
    used = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(used__lte=F("uses")), name="code_never_over_uses"),
        ]

    @staticmethod
    def digests_of(code: str) -> list[str]:
        """Digests of ``code`` in any spelling: under the secret key, then under its fallbacks.

        Forty bits could be guessed from a plain digest; this one needs the key.
        """
        plain = code.upper().translate(str.maketrans("OIL", "011", " -\u2013\t"))
        keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
        return [
            salted_hmac("annotation.studies.JoinCode", plain, key, algorithm="sha256").hexdigest()
            for key in keys
        ]

    @classmethod
    def issue(
        cls, study: Study, *, uses: int, days: int, by: User | None = None
    ) -> tuple["JoinCode", str]:
        """Make a code for ``uses`` people, valid ``days`` days, and the code as people read it."""
        signs = "".join(secrets.choice(cls.ALPHABET) for _ in range(cls.LENGTH))
        code = cls.objects.create(
            study=study,
            digest=cls.digests_of(signs)[0],
            uses=uses,
            created_by=by,
            expires_at=timezone.now() + timedelta(days=days),
        )
        return code, f"{signs[:4]}-{signs[4:]}"


class CrowdSource(models.Model):
    """A link for a crowd platform's participants, and what they take back when they are done."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="sources")
    name = models.CharField(_("name"), max_length=100)
    completion_code = models.CharField(_("completion code"), max_length=64)
    # May hold {code}; empty: the code alone is shown.
    return_url = models.CharField(_("address to go back to"), max_length=500, blank=True)
    places = models.PositiveIntegerField(_("places"), null=True, blank=True)
    quota = models.PositiveIntegerField(_("judgments a person"), null=True, blank=True)
    # The platform's own id of the study, where only this one may arrive.
    submission_study = models.CharField(_("study id on the platform"), max_length=64, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.name} of {self.study}"


class CrowdEntry(models.Model):
    """One participant of a crowd source. Their platform id is stored here and nowhere else."""

    # Beside the source's own, for the constraint: nobody takes part twice by two links.
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="crowd_entries")
    source = models.ForeignKey(CrowdSource, on_delete=models.CASCADE, related_name="entries")
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="crowd_entry"
    )
    participant = models.CharField(max_length=64)
    submission_study = models.CharField(max_length=64)
    # Digest of the platform's session id: it lets the same submission in from another browser.
    session = models.CharField(max_length=64)
    arrived_at = models.DateTimeField(auto_now_add=True)
    completed_at = models.DateTimeField(null=True)
    returned_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "crowd entries"
        constraints = [
            models.UniqueConstraint(fields=["study", "participant"], name="one_entry_a_participant")
        ]


class Message(models.Model):
    """A message between a study's curators and its annotators."""

    class Audience(models.TextChoices):
        ANNOTATORS = "annotators", _("all annotators")
        PERSON = "person", _("one annotator")
        CURATORS = "curators", _("the curators")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="messages")
    sender = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="messages_sent"
    )
    audience = models.CharField(max_length=10, choices=Audience)
    recipient = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        related_name="messages_received",
    )
    body = models.TextField()
    # Of a notice that items were opened: how many, and the batch's number (judging.batches.open).
    items = models.PositiveIntegerField(null=True)
    batch_number = models.BigIntegerField(null=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(audience="person", recipient__isnull=False)
                | (~Q(audience="person") & Q(recipient=None)),
                name="message_has_its_recipient",
            )
        ]
        indexes = [models.Index(fields=["study", "-at"], name="message_of_study")]

    @property
    def words(self) -> str:
        """What a reader is shown: a notice in the page's language, others as they were written."""
        return self.body if self.items is None else items_opened(self.items)


def items_opened(count: int) -> str:
    """The notice that ``count`` items wait for the owner of a query, in the active language."""
    words = ngettext(
        "%(n)d item made from your own queries is ready. It waits for you on your desk.",
        "%(n)d items made from your own queries are ready. They wait for you on your desk.",
        count,
    )
    return words % {"n": count}


class MessageRead(models.Model):
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="reads")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="messages_read"
    )
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["message", "user"], name="read_once")]
