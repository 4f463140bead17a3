from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.personas.models import Persona
from annotation.studies.models import Study


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
    text = models.TextField()
    # The gold information need. It never reaches a generator: candidates.prompts cannot see it.
    need = models.TextField(blank=True)
    type = models.CharField(max_length=10, choices=Type, default=Type.SPECIFIC)
    scenario = models.CharField(max_length=100, blank=True)
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

    def __str__(self):
        return f"{self.external_id}: {self.text[:60]}"
