from django.db import models
from django.utils import timezone

from annotation.agreement.formulas import FORMULAS_OF
from annotation.judging.models import Batch, Item
from annotation.studies.models import Study


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
    # The digest as of the last time that single votes were read, not only counts of them, and when
    # they are read next where it is another one.
    checked = models.CharField(max_length=64, blank=True, default="", db_default="")
    check_at = models.DateTimeField(null=True)
    # When the figures from counts were not those of the votes, if so at the last such time.
    differed_at = models.DateTimeField(null=True)
    computed_at = models.DateTimeField(auto_now=True)
    # ``report.agreement_report``; of other kinds than selections with "level" and "rule", of
    # feedback "criteria": {criterion: that report}, of claims the counts alone.
    agreement = models.JSONField()
    # Of selections; empty for other kinds.
    tiers = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "task"], name="one_result_a_task")]

    def __str__(self) -> str:
        return f"{self.study.slug} {self.task}: {self.votes} votes"

    @property
    def check_passed(self) -> bool:
        """Whether ``check_at`` is over."""
        return self.check_at is None or self.check_at <= timezone.now()

    @property
    def level(self) -> str:
        """The scale of the labels that the coefficients are of."""
        return self.agreement.get("level", "nominal")

    @property
    def current(self) -> bool:
        """Whether it holds all that pages show; what an older version stored is due again."""
        whole = all("paired_items" in report for _name, report, _figures in self.parts)
        return whole and (not self.tiers or "all" in self.tiers)

    @property
    def parts(self) -> list[tuple[str, dict, list[tuple[str, str, dict]]]]:
        """The coefficients that pages show: of each criterion ("" where there is one label an
        answer) its report, and key of the formula, name, values of each."""
        if "criteria" in self.agreement:
            reports = self.agreement["criteria"]
        else:
            reports = {"": self.agreement} if "paired_items" in self.agreement else {}
        return [(name, report, self._figures(report)) for name, report in reports.items()]

    def _figures(self, report: dict) -> list[tuple[str, str, dict]]:
        values = report | report.get("icc", {})
        if "krippendorff_alpha" in report:
            values["krippendorff_alpha"] = report["krippendorff_alpha"][self.level]
        return [
            (key, str(formula.name), values[key])
            for key, formula in FORMULAS_OF[self.level].items()
        ]


class StoredVotes(models.Model):
    """The single votes behind the charts of a result that has very many, ready to be computed from.

    ``rows`` are ``task_votes.Rows`` packed, ``progress`` judgments by day and by annotator.
    """

    result = models.OneToOneField(
        AgreementResult, on_delete=models.CASCADE, related_name="stored_votes"
    )
    rows = models.BinaryField()
    progress = models.JSONField()

    def __str__(self) -> str:
        return f"votes of {self.result}"


class VoteCount(models.Model):
    """How many items of a batch have these votes, as the sum of ``items`` over such rows.

    Triggers of the table of items add rows in the transaction of each vote, and
    ``vote_counts.fold`` makes one of many. ``changes`` counts changes of items and never falls.
    """

    # Items are counted off after their batch is gone, so no constraint holds the key.
    batch = models.ForeignKey(
        Batch, on_delete=models.DO_NOTHING, db_constraint=False, related_name="vote_counts"
    )
    # As of Item.
    overlap = models.PositiveSmallIntegerField()
    done = models.PositiveSmallIntegerField()
    votes_1 = models.PositiveSmallIntegerField()
    votes_2 = models.PositiveSmallIntegerField()
    votes_3 = models.PositiveSmallIntegerField()
    ties = models.PositiveSmallIntegerField()
    nones = models.PositiveSmallIntegerField()
    items = models.BigIntegerField()
    changes = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.batch_id}: {self.items} items with {self.done} votes"


class TopUp(models.Model):
    """A borderline item about which more people are asked (``tiers.TierRule.top_up``)."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="top_up")
    at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.item}: topped up"


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

    def __str__(self) -> str:
        return f"{self.study.slug} {self.task}: {self.below}"


class StoppedItem(models.Model):
    """An item that nobody more is asked about; ``saved`` votes were never collected."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="stopped")
    at = models.DateTimeField(auto_now_add=True)
    saved = models.PositiveSmallIntegerField()

    def __str__(self) -> str:
        return f"{self.item}: {self.saved} votes saved"


class ItemTier(models.Model):
    """The tier the rule gives one item; derived, never edited."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="tier")
    tier = models.CharField(max_length=20)
    # Canonical number of the winning option; None for a tie or none.
    winner = models.PositiveSmallIntegerField(null=True)
    share = models.FloatField(null=True)
    votes = models.PositiveSmallIntegerField()

    def __str__(self) -> str:
        return f"{self.item}: {self.tier}"
