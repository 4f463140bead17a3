from django.db import models
from django.utils.functional import cached_property

from annotation.agreement.wording import coefficients_of
from annotation.judging.models import Item
from annotation.studies.models import Study
from annotation.votes import counting


class AgreementResult(models.Model):
    """Agreement and tiers of one task as last recomputed, with the rule and the n behind them."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="agreement_results")
    # The task's name: versions of a task are read together.
    task = models.SlugField(max_length=60)
    votes = models.PositiveIntegerField()
    # Whether no item of the task waits for votes.
    closed = models.BooleanField()
    # Of all that the result depends on: another one, and the result is due again.
    digest = models.CharField(max_length=64)
    computed_at = models.DateTimeField(auto_now=True)
    # ``report.agreement_report``; of other kinds than selections with "level" and "rule", of
    # several criteria or questions "criteria": {its name: that report}, of claims the counts alone.
    agreement = models.JSONField()
    # Of selections; empty for other kinds.
    tiers = models.JSONField()
    # Of tasks with very many votes, what its page is drawn from (``board.Board.columns``):
    # sums of all votes, and the single votes of the first items, packed.
    sums = models.JSONField(null=True)
    sample = models.BinaryField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "task"], name="one_result_a_task")]

    @property
    def level(self) -> str:
        """The scale of the labels that the coefficients are of."""
        return self.agreement.get("level", "nominal")

    @property
    def parts(self) -> list[tuple[str, dict, list[tuple[str, str, dict]]]]:
        """The coefficients that pages show: of each criterion in words ("" where there is one label
        an answer) its report, and key of the formula, name, values of each."""
        if "criteria" in self.agreement:
            criteria = self.agreement["criteria"]
            order = sorted(criteria, key=lambda name: criteria[name].get("place", 0))
            reports = {name: criteria[name] for name in order}
        else:
            reports = {"": self.agreement} if "paired_items" in self.agreement else {}
        return [
            (self.titles.get(name, name), report, coefficients_of(report, self.level))
            for name, report in reports.items()
        ]

    @cached_property
    def titles(self) -> dict[str, str]:
        """What is asked by the names of what is compared (``counting.titles_of``)."""
        several = "criteria" in self.agreement
        return counting.titles_of_task(self.study, self.task) if several else {}


class TopUp(models.Model):
    """A borderline item about which more people are asked (``tiers.TierRule.top_up``)."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="top_up")
    at = models.DateTimeField(auto_now_add=True)


class EarlyStop(models.Model):
    """A task whose items end early once they can no longer reach a tier (``TierRule.stop_below``).

    Not ``active`` it stops no more items; those that were stopped are judged by ``below`` still.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="early_stops")
    task = models.SlugField(max_length=60)
    below = models.CharField(max_length=10)
    active = models.BooleanField(default=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "task"], name="one_stop_a_task")]


class StoppedItem(models.Model):
    """An item that nobody more is asked about; ``saved`` votes were never collected."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="stopped")
    at = models.DateTimeField(auto_now_add=True)
    saved = models.PositiveSmallIntegerField()


class ItemTier(models.Model):
    """The tier the rule gives one item; derived, never edited."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="tier")
    tier = models.CharField(max_length=20)
    # Canonical number of the winning option; None for a tie or none.
    winner = models.PositiveSmallIntegerField(null=True)
    share = models.FloatField(null=True)
    votes = models.PositiveSmallIntegerField()
