from django.db import models

from annotation.judging.tables import ItemOption, Judgment


class Ranking(Judgment):
    """An item's answers in order, a row of RankedOption each."""


class RankedOption(models.Model):
    """The place of one answer, from 1 (best) on without gaps; equal places are a tie."""

    ranking = models.ForeignKey(Ranking, on_delete=models.CASCADE, related_name="ranked")
    option = models.ForeignKey(ItemOption, on_delete=models.PROTECT, related_name="ranked")
    place = models.PositiveSmallIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["ranking", "option"], name="one_place_an_option")
        ]

    def __str__(self) -> str:
        return f"{self.option}: {self.place}"
