from django.db import models

from annotation.judging.models import Item
from annotation.studies.models import Study, TaskDefinition


class AgreementResult(models.Model):
    """Agreement and tiers of one task as last recomputed, with the rule and the n behind them."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="agreement_results")
    task = models.OneToOneField(
        TaskDefinition, on_delete=models.CASCADE, related_name="agreement_result"
    )
    votes = models.PositiveIntegerField()
    computed_at = models.DateTimeField()
    rule = models.JSONField()
    agreement = models.JSONField()
    tiers = models.JSONField()

    def __str__(self):
        return f"{self.task}: {self.votes} votes"


class ItemTier(models.Model):
    """The tier the rule gives one item; derived, never edited."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="tier")
    tier = models.CharField(max_length=20)
    # Canonical number of the winning option; None for a tie or none.
    winner = models.PositiveSmallIntegerField(null=True)
    share = models.FloatField(null=True)
    votes = models.PositiveSmallIntegerField()

    def __str__(self):
        return f"{self.item}: {self.tier}"
