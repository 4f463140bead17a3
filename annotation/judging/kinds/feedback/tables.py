from django.db import models

from annotation.judging.tables import ItemOption, Judgment


class Feedback(Judgment):
    """Scores and diagnostic feedback for every answer of an item, a row of Score a criterion."""


class Score(models.Model):
    """One criterion of one answer: 1 to the task's points, and why, in words."""

    feedback = models.ForeignKey(Feedback, on_delete=models.CASCADE, related_name="scores")
    option = models.ForeignKey(ItemOption, on_delete=models.PROTECT, related_name="scores")
    criterion = models.CharField(max_length=60)
    score = models.PositiveSmallIntegerField()
    text = models.TextField(blank=True)
    chips = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["feedback", "option", "criterion"], name="one_score_a_criterion"
            )
        ]

    def __str__(self) -> str:
        return f"{self.criterion}: {self.score}"
