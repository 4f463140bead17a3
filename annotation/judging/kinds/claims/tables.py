from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.judging.tables import Judgment
from annotation.queries.models import GoldClaim


class ClaimReview(Judgment):
    """A verdict on each claim of a gold response, a row of ClaimVerdict each."""


class ClaimVerdict(models.Model):
    class Verdict(models.TextChoices):
        KEEP = "keep", _("keep")
        EDIT = "edit", _("edit")
        DROP = "drop", _("drop")

    review = models.ForeignKey(ClaimReview, on_delete=models.CASCADE, related_name="verdicts")
    claim = models.ForeignKey(GoldClaim, on_delete=models.PROTECT, related_name="verdicts")
    verdict = models.CharField(max_length=4, choices=Verdict)
    # The claim as edited.
    text = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["review", "claim"], name="one_verdict_a_claim")
        ]

    def __str__(self) -> str:
        return f"{self.claim}: {self.verdict}"
