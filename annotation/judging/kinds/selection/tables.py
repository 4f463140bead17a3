from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.judging.tables import ItemOption, Judgment


class Selection(Judgment):
    """The best of an item's answers, a tie, or none of them."""

    class Outcome(models.TextChoices):
        CHOICE = "choice"
        TIE = "tie"
        NONE = "none"

    class Strength(models.TextChoices):
        SLIGHTLY = "slightly", _("slightly")
        CLEARLY = "clearly", _("clearly")
        MUCH = "much", _("much")

    outcome = models.CharField(max_length=6, choices=Outcome)
    choice = models.ForeignKey(
        ItemOption, on_delete=models.PROTECT, null=True, related_name="selections"
    )
    strength = models.CharField(max_length=8, choices=Strength, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(outcome="choice", choice__isnull=False)
                | (~Q(outcome="choice") & Q(choice=None)),
                name="selection_choice",
            ),
        ]
