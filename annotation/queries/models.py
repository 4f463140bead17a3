from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from annotation.histories.models import Session
from annotation.personas.models import Persona
from annotation.studies.models import Provenance, Study


class Query(models.Model):
    """What a person asks, in one version. Once answers exist a change makes a new version."""

    class Type(models.TextChoices):
        SPECIFIC = "specific", _("specific to this persona")
        GENERAL = "general", _("general")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="queries")
    external_id = models.CharField(max_length=100)
    version = models.PositiveIntegerField(default=1)
    replaced_at = models.DateTimeField(null=True)
    persona = models.ForeignKey(
        Persona, on_delete=models.PROTECT, null=True, blank=True, related_name="queries"
    )
    # Whose own question this is; None where it was written for a persona.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="queries"
    )
    text = models.TextField()
    # A conversation that the answers go on with ({"role", "content"}); `text` is its transcript.
    # Empty where the query is one question.
    messages = models.JSONField(default=list)
    # BCP 47, as far as known.
    language = models.CharField(max_length=20, blank=True)
    # The gold information need. It reaches a generator in the arm “oracle” alone.
    need = models.TextField(blank=True)
    type = models.CharField(max_length=10, choices=Type, default=Type.SPECIFIC)
    scenario = models.CharField(max_length=100, blank=True)
    # The day on which it is asked: the persona is shown as of then. None: no day in particular.
    asked_on = models.DateField(null=True)
    # What the owner wrote of the need, part by part (author.PARTS); `need` is all of it.
    guide = models.JSONField(default=dict)
    # False while its owner is still writing it.
    ready = models.BooleanField(default=True)
    # Of what was imported; None of what was made here.
    provenance = models.ForeignKey(
        Provenance, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "queries"
        constraints = [
            models.UniqueConstraint(
                fields=["study", "external_id", "version"], name="query_version"
            ),
            models.UniqueConstraint(
                fields=["study", "external_id"],
                condition=Q(replaced_at=None),
                name="one_current_query",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.external_id}: {self.text[:60]}"

    @property
    def asked(self) -> str:
        """The question, or the last message of the conversation that the answers go on with."""
        return self.messages[-1]["content"] if self.messages else self.text


def asked_of(item: str) -> Coalesce:
    """What the item at this path asks about: its query's ``asked``, or its attribute."""
    last = KeyTextTransform("content", KeyTransform("-1", f"{item}__query__messages"))
    return Coalesce(last, F(f"{item}__query__text"), F(f"{item}__attribute__text"))


class Example(models.Model):
    """A hand-made question of a real person: shown to a model as one good question."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="examples")
    external_id = models.CharField(max_length=100)
    # A pseudonym of whoever asks.
    person = models.CharField(max_length=100, blank=True)
    text = models.TextField()
    # What was known of the person when they asked, as texts.
    memories = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "external_id"], name="example_of_study")
        ]

    def __str__(self) -> str:
        return self.text[:60]


class Ground(models.Model):
    """A session of the owner's history that a query grew out of."""

    query = models.ForeignKey(Query, on_delete=models.CASCADE, related_name="grounds")
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="grounds")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["query", "session"], name="one_ground")]


class GoldResponse(models.Model):
    """The response that its owner finds right for a query, in one version."""

    query = models.ForeignKey(Query, on_delete=models.CASCADE, related_name="gold_responses")
    version = models.PositiveIntegerField(default=1)
    text = models.TextField()
    # The candidate whose text it started from.
    source = models.UUIDField(null=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="gold_responses"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["query", "version"], name="gold_response_version")
        ]


class GoldClaim(models.Model):
    """One atomic claim of a gold response, as a model split it off or its owner wrote it."""

    response = models.ForeignKey(GoldResponse, on_delete=models.CASCADE, related_name="claims")
    number = models.PositiveIntegerField()
    text = models.TextField()
    # The model that wrote it; empty where a person did.
    model = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["response", "number"], name="gold_claim_number")
        ]
        ordering = ["number"]


class Rubric(models.Model):
    """What this person wants of an answer to a query, in one version; written by a model first."""

    query = models.ForeignKey(Query, on_delete=models.CASCADE, related_name="rubrics")
    version = models.PositiveIntegerField(default=1)
    text = models.TextField()
    model = models.CharField(max_length=200, blank=True)
    # Ids of the judged answers that it was written from; None where nobody noted them.
    shots = models.JSONField(null=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="rubrics"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["query", "version"], name="rubric_version")]
