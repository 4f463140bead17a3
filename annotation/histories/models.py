"""A person's own history: what was uploaded, what it holds, and what of it nobody else sees.

Everything belongs to one owner. A session is used nowhere until its owner keeps it, and then only
through ``browse``, which gives redacted texts and asks for the consent of the purpose first.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import OperationalError, connection, models, transaction
from django.db.models import F, Q
from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField

from annotation.accounts.models import ConsentText, User
from annotation.core import jobs
from annotation.core.embed import DIMENSIONS
from annotation.core.errors import Conflict
from annotation.core.jobs import Job
from annotation.core.uploads import Uploads
from annotation.histories.records import NAMES
from annotation.studies.models import Study

# What a file held, as `store.Counts` names it.
HELD = {
    "sessions": ngettext_lazy("%(n)s conversation", "%(n)s conversations", "n"),
    "messages": ngettext_lazy("%(n)s message", "%(n)s messages", "n"),
    "searches": ngettext_lazy("%(n)s search", "%(n)s searches", "n"),
    "visits": ngettext_lazy("%(n)s visit", "%(n)s visits", "n"),
    "duplicates": _("%(n)s already here"),
}


class Upload(Job):
    """One file of a history. The row is the job: reading it, then marking what it held."""

    OWNER = "owner"

    class Status(models.TextChoices):
        RECEIVING = "receiving", _("being received")
        REQUESTED = "requested", _("waiting")
        RUNNING = "running", _("being read")
        DONE = "done", _("imported")
        DUPLICATE = "duplicate", _("already here")
        ERASED_BEFORE = "erased_before", _("erased before")
        FAILED = "failed", _("refused")
        CANCELLED = "cancelled", _("cancelled")

    # The private folder of files, which lie there until they are read.
    FILES = Uploads("histories", "HISTORY_MAX_BYTES")
    # These go on by themselves; and with them what waits for its owner's answer holds a file, too.
    READING = (Status.RECEIVING, Status.REQUESTED, Status.RUNNING)
    UNDER_WAY = (*READING, Status.ERASED_BEFORE)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="histories"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    # The browser's fingerprint of the file, to continue an interrupted transfer.
    fingerprint = models.CharField(max_length=100, blank=True)
    # The file's own name, which may name a person: its owner alone sees it, and no log holds it.
    name = models.CharField(max_length=200, blank=True)
    size = models.BigIntegerField()
    received = models.BigIntegerField(default=0)
    # The name below ATTUNE_DATA/histories, random; "" once the file is deleted.
    stored = models.CharField(max_length=40, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    # The owner confirmed the import of a file whose sessions they had erased.
    again = models.BooleanField(default=False)

    # The sender's language, for messages about the file.
    language = models.CharField(max_length=10, blank=True)

    source = models.CharField(max_length=60, blank=True)
    counts = models.JSONField(default=dict)
    skipped = models.JSONField(default=list)

    status = models.CharField(max_length=15, choices=Status, default=Status.RECEIVING)
    # Bytes read, then sessions marked, of how many.
    progress = models.BigIntegerField(default=0)
    # When all rows of the file were stored, in one transaction; what follows can be repeated.
    stored_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            # The same bytes are read once a person, whatever arrives at the same moment.
            models.UniqueConstraint(
                fields=["owner", "sha256"],
                condition=Q(status__in=["running", "done"]) & ~Q(sha256=""),
                name="same_bytes_once",
            ),
            models.UniqueConstraint(
                fields=["owner", "fingerprint"],
                condition=Q(status="receiving") & ~Q(fingerprint=""),
                name="one_upload_of_a_file",
            ),
            models.CheckConstraint(
                condition=Q(received__lte=F("size")), name="received_within_size"
            ),
        ]
        indexes = [
            models.Index(
                fields=["lease_expires_at"],
                condition=Q(status__in=["receiving", "requested", "running"]),
                name="upload_due",
            )
        ]

    @property
    def source_name(self) -> str:
        """What people call the service that the file comes from."""
        return str(NAMES.get(self.source, self.source))

    def held(self) -> list[str]:
        """What was found in the file, in words."""
        counts = ((words, self.counts.get(kind)) for kind, words in HELD.items())
        return [words % {"n": n} for words, n in counts if n]

    def left_out(self) -> list[tuple[str, str]]:
        """What was left out, and why: in words, without the code that a program reads."""
        return [
            (omission["where"], omission["reason"].partition(": ")[2] or omission["reason"])
            for omission in self.skipped
        ]


class Session(models.Model):
    """One conversation, or one day of searches or visits with one provider."""

    class Kind(models.TextChoices):
        CHAT = "chat", _("chat")
        SEARCH = "search", _("searches")
        VISIT = "visit", _("visits")

    class State(models.TextChoices):
        PENDING = "pending", _("not decided")
        RETAINED = "kept", _("kept")
        DROPPED = "dropped", _("dropped")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="history_sessions"
    )
    # The upload that brought the copy that counts.
    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="sessions")
    kind = models.CharField(max_length=10, choices=Kind)
    provider = models.CharField(max_length=40)
    # The provider's id; where it gives none, a digest of the content.
    external_id = models.CharField(max_length=300)
    # ORIGINAL: others get what `browse` gives of it, redacted.
    title = models.TextField(blank=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    # The provider's; decides which of two copies counts.
    updated_at = models.DateTimeField(null=True)
    time_zone_assumed = models.BooleanField(default=False)
    # What of it the reader inferred: `records.Conversation.flags`.
    flags = models.JSONField(default=list)
    length = models.PositiveIntegerField(default=0)
    characters = models.PositiveBigIntegerField(default=0)
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    # When its owner first opened it; keeping many at once shows how many were never opened.
    opened_at = models.DateTimeField(null=True)
    # Until personal data is looked for nobody can keep it.
    marked_at = models.DateTimeField(null=True)
    # The version of the rules (redact.RULES) that looked last; None: none did, as for a session of
    # a published benchmark.
    rules = models.PositiveSmallIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "kind", "provider", "external_id"], name="session_of_owner"
            ),
            models.CheckConstraint(
                condition=~Q(state="kept") | Q(marked_at__isnull=False), name="kept_is_marked"
            ),
        ]
        indexes = [
            models.Index(F("owner"), F("started_at").desc(nulls_last=True), name="session_time"),
            models.Index(fields=["upload"], condition=Q(marked_at=None), name="session_unmarked"),
            models.Index(fields=["rules"], name="session_rules"),
        ]

    @property
    def provider_name(self) -> str:
        """What people call the service that it was held with."""
        return str(NAMES.get(self.provider, self.provider))


class Message(models.Model):
    """One turn, search or visit. ``text`` is the ORIGINAL: others get `marks.shown_text`."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="messages")
    position = models.PositiveIntegerField()
    role = models.CharField(max_length=10)
    text = models.TextField(blank=True)
    at = models.DateTimeField(null=True)
    external_id = models.CharField(max_length=300, blank=True)
    # Their names may be personal: only the owner sees them.
    attachments = models.JSONField(default=list)
    model = models.CharField(max_length=100, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "position"], name="message_position")
        ]


class Alias(models.Model):
    """What stands for one value of one person: ``[EMAIL_1]``. The value itself is not stored."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=12)
    number = models.PositiveIntegerField()
    # Keyed, so that nobody who reads the table can try addresses one by one.
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "kind", "digest"], name="alias_of_value"),
            models.UniqueConstraint(fields=["owner", "kind", "number"], name="alias_number"),
        ]

    def __str__(self) -> str:
        return f"[{self.kind.upper()}_{self.number}]"


class Mark(models.Model):
    """A passage of a text that others see as its alias, unless the owner rejected the mark."""

    class State(models.TextChoices):
        SUGGESTED = "suggested", _("suggested")
        ACCEPTED = "accepted", _("hidden")
        REJECTED = "rejected", _("shown")

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="marks")
    # None: the session's title.
    message = models.ForeignKey(Message, on_delete=models.CASCADE, null=True, related_name="marks")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    rule = models.CharField(max_length=40)
    alias = models.ForeignKey(Alias, on_delete=models.CASCADE, related_name="marks")
    state = models.CharField(max_length=10, choices=State, default=State.SUGGESTED)
    # Later rules found it in a session that was there before, and its owner has not decided on it.
    is_late = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["session", "message", "start", "end"],
                name="one_mark_a_passage",
                nulls_distinct=False,
            ),
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="mark_not_empty"),
            models.CheckConstraint(
                condition=Q(is_late=False) | Q(state="suggested"), name="late_is_undecided"
            ),
        ]
        indexes = [models.Index(fields=["session"], condition=Q(is_late=True), name="mark_late")]


class NamesWord(models.Model):
    """A word that its owner wants hidden wherever it stands."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="names_words"
    )
    word = models.CharField(max_length=100)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "word"], name="names_word")]


class Passage(models.Model):
    """A part of a message as search sees it: its words, and where it lies among meanings."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="+")
    # None: the session's title.
    message = models.ForeignKey(Message, on_delete=models.CASCADE, null=True, related_name="+")
    start = models.PositiveIntegerField(default=0)
    words = SearchVectorField()
    embedding = HalfVectorField(dimensions=DIMENSIONS)

    class Meta:
        indexes = [GinIndex(fields=["words"], name="passage_words")]


class HistoryConsent(models.Model):
    """That a person's kept sessions may be used in one study for one purpose, until withdrawn."""

    class Purpose(models.TextChoices):
        SHOW = "show_to_judges", _("show to judges")
        SEND = "send_to_endpoint", _("send to a model server")
        PUBLISH = "publish", _("publish")

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="history_consents"
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="history_consents")
    purpose = models.CharField(max_length=20, choices=Purpose)
    # The model server's name, for SEND alone.
    endpoint = models.CharField(max_length=60, blank=True)
    text = models.ForeignKey(ConsentText, on_delete=models.PROTECT, related_name="+")
    granted_at = models.DateTimeField(auto_now_add=True)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "study", "purpose", "endpoint"],
                condition=Q(withdrawn_at=None),
                name="one_standing_history_consent",
            ),
            models.CheckConstraint(
                condition=Q(purpose="send_to_endpoint") ^ Q(endpoint=""), name="endpoint_to_send"
            ),
        ]


class Erasure(models.Model):
    """That a person took all of it back. The row is the job: rows and files go until it is done."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    requested_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner"], condition=Q(done_at=None), name="one_open_erasure"
            )
        ]


class Tombstone(models.Model):
    """That something was erased: a digest without content, so that it does not come back."""

    class What(models.TextChoices):
        UPLOAD = "upload"
        SESSION = "session"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    what = models.CharField(max_length=10, choices=What)
    # Of the file's bytes; of kind, provider and provider's id.
    digest = models.CharField(max_length=64)
    erased_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "what", "digest"], name="one_tombstone")
        ]


# How long who changes a history waits for somebody else who does.
PATIENCE_MS = 2_000


@contextmanager
def changing(owner: User, patiently: bool = False) -> Iterator[None]:
    """A transaction in which nobody else changes ``owner``'s history.

    Raises Conflict where somebody does and takes long, as the reading of a file; ``patiently``
    waits for the end of that instead.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SHOW lock_timeout")
            before = cursor.fetchone()[0]
            cursor.execute(f"SET LOCAL lock_timeout = {0 if patiently else PATIENCE_MS}")
            try:
                jobs.lock(f"history {owner.pk}")
            except OperationalError as error:
                if getattr(error.__cause__, "sqlstate", "") != "55P03":  # lock_not_available
                    raise
                sentence = gettext("Your history is being read just now. Try again in a moment.")
                raise Conflict(sentence, code="busy") from error
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [before])
        yield
