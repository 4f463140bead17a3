from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.personas import schema
from annotation.studies.models import Study


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

    def __str__(self):
        return self.external_id

    @property
    def current(self) -> "PersonaVersion":
        return self.versions.latest("version")


class PersonaVersion(models.Model):
    """A profile as it stood; annotators' votes point at the version they saw."""

    persona = models.ForeignKey(Persona, on_delete=models.CASCADE, related_name="versions")
    version = models.PositiveIntegerField(default=1)
    # The PersonaFeedback schema (docs/data-dictionary.md); unknown keys are kept and rendered.
    profile = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["persona", "version"], name="persona_version")
        ]
        ordering = ["persona", "version"]

    def __str__(self):
        return f"{self.persona} v{self.version}"

    @property
    def card(self) -> list:
        """The profile as a reader sees it; see `schema.card`."""
        return schema.card(schema.ordered(self.profile))

    @property
    def name(self) -> str:
        return str(self.profile.get("Name") or self.persona.external_id)


class Memory(models.Model):
    """A public text the persona would be interested in."""

    persona = models.ForeignKey(Persona, on_delete=models.CASCADE, related_name="memories")
    text = models.TextField()

    class Meta:
        verbose_name_plural = "memories"

    def __str__(self):
        return self.text[:60]


class Attribute(models.Model):
    """A short statement about a person, extracted from conversations; never edited."""

    persona = models.ForeignKey(Persona, on_delete=models.CASCADE, related_name="attributes")
    external_id = models.CharField(max_length=100)
    text = models.TextField()
    # The extracting model's own confidence, 0 to 1; None where it gave none.
    confidence = models.FloatField(null=True)
    model = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["persona", "external_id"], name="attribute_of_persona")
        ]

    def __str__(self):
        return self.text[:60]


class Evidence(models.Model):
    """A conversation that an attribute was extracted from, as it is shown to judges."""

    attribute = models.ForeignKey(Attribute, on_delete=models.CASCADE, related_name="evidence")
    number = models.PositiveSmallIntegerField(default=1)
    # [{"role": "user"|"assistant", "text": str}]
    messages = models.JSONField(default=list)

    class Meta:
        verbose_name_plural = "evidence"
        constraints = [
            models.UniqueConstraint(fields=["attribute", "number"], name="evidence_number")
        ]
        ordering = ["number"]

    def __str__(self):
        return f"{self.attribute}: conversation {self.number}"
