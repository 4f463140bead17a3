from datetime import date
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField
from psycopg.types.json import Json

from annotation.core.embed import DIMENSIONS
from annotation.histories.models import Session
from annotation.personas import schema
from annotation.studies.models import Study


class JSONInOrder(models.JSONField):
    """JSON whose objects keep the order of their keys: the database's binary form sorts them."""

    def db_type(self, connection: Any) -> str:
        return "json"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return Json(value) if isinstance(value, dict | list) else value

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        # The driver has read it already, unlike the binary form.
        return value


class Persona(models.Model):
    """A written person of a study. What it says is in its versions."""

    class Split(models.TextChoices):
        BENCHMARK = "benchmark", _("benchmark")
        TRAINING = "training", _("training")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="personas")
    # The curator's or the bundle's own id; comes back in every export.
    external_id = models.CharField(max_length=100)
    dropped_at = models.DateTimeField(null=True)
    # Benchmark personas are released, training personas train models: none is ever both.
    split = models.CharField(max_length=10, choices=Split, blank=True)
    dropped_because = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "external_id"], name="persona_of_study")
        ]

    def __str__(self) -> str:
        return self.external_id

    @property
    def current(self) -> "PersonaVersion":
        return self.versions.latest("version")


class PersonaVersion(models.Model):
    """A profile as it stood; annotators' votes point at the version they saw."""

    persona = models.ForeignKey(Persona, on_delete=models.CASCADE, related_name="versions")
    version = models.PositiveIntegerField(default=1)
    # The schema of docs/data-dictionary.md; unknown keys are kept and rendered, in their order.
    profile = JSONInOrder()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["persona", "version"], name="persona_version")
        ]
        ordering = ["persona", "version"]

    @property
    def card(self) -> list:
        """The profile as a reader sees it; see `schema.card`."""
        return schema.card(self.profile)

    @property
    def name(self) -> str:
        return str(self.profile.get("Name") or self.persona.external_id)


class PairDecision(models.Model):
    """What a curator decided of two personas that are much alike: both stay, or one is dropped."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="pair_decisions")
    # The one with the lower id is the first.
    first = models.ForeignKey(Persona, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Persona, on_delete=models.CASCADE, related_name="+")
    # None: both stay.
    dropped = models.ForeignKey(Persona, on_delete=models.CASCADE, null=True, related_name="+")
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    decided_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["first", "second"], name="one_decision_a_pair"),
            models.CheckConstraint(condition=Q(first__lt=F("second")), name="pair_in_order"),
            models.CheckConstraint(
                condition=Q(dropped=None) | Q(dropped=F("first")) | Q(dropped=F("second")),
                name="dropped_of_pair",
            ),
        ]


class Dated(models.Model):
    """Something that holds of a person for a time.

    It holds from the day ``since`` on and no longer on the day ``until``; None leaves the end open.
    """

    since = models.DateField(null=True)
    until = models.DateField(null=True)

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(
                condition=Q(until__gt=F("since")), name="%(class)s_ends_after_it_begins"
            )
        ]


def held_on(day: date | None) -> Q:
    """The rows of a Dated table that hold on ``day``; without a day all of them."""
    if day is None:
        return Q()
    began = Q(since=None) | Q(since__lte=day)
    return began & (Q(until=None) | Q(until__gt=day))


class Memory(Dated):
    """A public text the persona would be interested in."""

    persona = models.ForeignKey(Persona, on_delete=models.CASCADE, related_name="memories")
    text = models.TextField()

    class Meta(Dated.Meta):
        verbose_name_plural = "memories"


class Source(models.TextChoices):
    """Who wrote a person's side of a conversation."""

    HUMAN = "human", _("human")
    SYNTHETIC = "synthetic", _("synthetic")


class Conversation(models.Model):
    """A person's chat with a model, of a public collection or of a member's history.

    It belongs to a pool of the study until its person is taken, and then to a persona.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="conversations")
    persona = models.ForeignKey(
        Persona, on_delete=models.SET_NULL, null=True, related_name="conversations"
    )
    # Of a member's history: gone with it.
    session = models.ForeignKey(Session, on_delete=models.CASCADE, null=True, related_name="+")
    provider = models.CharField(max_length=30)
    source = models.CharField(max_length=10, choices=Source, default=Source.HUMAN)
    external_id = models.CharField(max_length=100)
    # A pseudonym of whoever held it; of a collection that names nobody, the conversation's own id.
    speaker = models.CharField(max_length=100)
    # As the collection names it: "English"; "" where it does not.
    language = models.CharField(max_length=40, blank=True)
    # [{"role": "user"|"assistant", "text": str}]
    messages = models.JSONField(default=list)
    # Messages of the person.
    turns = models.PositiveIntegerField()
    # A digest of how it begins, without numbers: the same where a script fills in a template.
    opening = models.CharField(max_length=32)
    # Most of the person's messages say the same.
    repetitive = models.BooleanField(default=False)
    # Of what the person writes in it.
    embedding = HalfVectorField(dimensions=DIMENSIONS)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "provider", "external_id"], name="conversation_of_study"
            )
        ]
        indexes = [
            models.Index(fields=["study", "speaker"], name="conversation_speaker"),
            models.Index(fields=["study", "opening"], name="conversation_opening"),
        ]


class Attribute(Dated):
    """A short statement about a person, extracted from conversations; its text is never edited."""

    persona = models.ForeignKey(Persona, on_delete=models.CASCADE, related_name="attributes")
    external_id = models.CharField(max_length=100)
    text = models.TextField()
    # The extracting model's own confidence, 0 to 1; None where it gave none.
    confidence = models.FloatField(null=True)
    model = models.CharField(max_length=200, blank=True)
    # The turn of the imported conversation in which the person states it, from 1.
    turn = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["persona", "external_id"], name="attribute_of_persona"),
            *Dated.Meta.constraints,
        ]


class Evidence(models.Model):
    """A conversation that an attribute was extracted from, as it is shown to judges."""

    attribute = models.ForeignKey(Attribute, on_delete=models.CASCADE, related_name="evidence")
    number = models.PositiveSmallIntegerField(default=1)
    # Of the study's pool, where it comes from there.
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, null=True)
    # "" where it is not known.
    source = models.CharField(max_length=10, choices=Source, blank=True)
    # [{"role": "user"|"assistant", "text": str, "spans"?: [[start, end], ...]}]: spans are what the
    # attribute rests on, in characters of the text.
    messages = models.JSONField(default=list)

    class Meta:
        verbose_name_plural = "evidence"
        constraints = [
            models.UniqueConstraint(fields=["attribute", "number"], name="evidence_number")
        ]
        ordering = ["number"]
