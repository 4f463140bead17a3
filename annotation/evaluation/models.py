from django.db import models

from annotation.judging.models import Item


class Verdict(models.Model):
    """What a model says of an item that people judge. It is no vote and is shown to no annotator.

    Rows are only ever added: another run of a model comes under another name.
    """

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="verdicts")
    model = models.CharField(max_length=200)
    # The label of the kind's Answer; a preference counts from 1, the first candidate much better.
    label = models.CharField(max_length=20)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "model"], name="one_verdict_of_a_model")
        ]

    def __str__(self):
        return f"{self.model} on {self.item}: {self.label}"
