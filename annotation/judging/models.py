"""Batches of items, the slots that are handed out, and the answers, one table a kind.

A slot is one wanted judgment. Opening a batch inserts ``overlap`` slots an item; a claim gives one
of them to one person; no code adds slots afterwards. So n judgments an item is arithmetic.
"""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.candidates.models import Candidate
from annotation.personas.models import PersonaVersion
from annotation.queries.models import Query
from annotation.studies.models import Study, TaskDefinition


class Batch(models.Model):
    """Items of one task, opened for judging together."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="batches")
    task = models.ForeignKey(TaskDefinition, on_delete=models.PROTECT, related_name="batches")
    # Number of items, fixed when the batch is opened, so that no page has to count them.
    size = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "batches"

    def __str__(self):
        return f"{self.task} of {self.study.slug}, {self.created_at:%Y-%m-%d}"


class Item(models.Model):
    """One thing to judge, with every version that annotators will see pinned to it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="items", db_index=False)
    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="items")
    external_id = models.CharField(max_length=200)
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="items")
    persona_version = models.ForeignKey(
        PersonaVersion, on_delete=models.PROTECT, null=True, related_name="items"
    )
    # Place in the study: slots are handed out in this order.
    position = models.BigIntegerField()
    overlap = models.PositiveSmallIntegerField()

    # Counts of the votes, kept in each vote's own transaction (statistics.md 5).
    done = models.PositiveSmallIntegerField(default=0)
    votes_1 = models.PositiveSmallIntegerField(default=0)
    votes_2 = models.PositiveSmallIntegerField(default=0)
    votes_3 = models.PositiveSmallIntegerField(default=0)
    ties = models.PositiveSmallIntegerField(default=0)
    nones = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "external_id"], name="item_of_study"),
            models.UniqueConstraint(fields=["study", "position"], name="item_position"),
            models.CheckConstraint(
                condition=Q(done__lte=models.F("overlap")), name="item_never_over_overlap"
            ),
        ]

    def __str__(self):
        return self.external_id


class ItemOption(models.Model):
    """One of an item's answers. ``number`` is its canonical place, never shown."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="options", db_index=False)
    number = models.PositiveSmallIntegerField()
    candidate = models.ForeignKey(Candidate, on_delete=models.PROTECT, related_name="options")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "number"], name="option_number"),
            models.UniqueConstraint(fields=["item", "candidate"], name="option_candidate"),
        ]
        ordering = ["number"]

    def __str__(self):
        return f"{self.item} {self.number}"


class Slot(models.Model):
    """One wanted judgment."""

    class Status(models.TextChoices):
        OPEN = "open"
        HELD = "held"
        DONE = "done"
        CLOSED = "closed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # Without indexes of their own: every claim and submit would write them, and nobody reads them.
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="slots", db_index=False)
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="slots", db_index=False)
    # 0 .. overlap-1 within the item: decides the shown order (plan.shown_order).
    ordinal = models.PositiveSmallIntegerField()
    # The item's position, here for the hand-out index.
    position = models.BigIntegerField()
    status = models.CharField(max_length=6, choices=Status, default=Status.OPEN)
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="slots"
    )
    claimed_at = models.DateTimeField(null=True)
    lease_expires_at = models.DateTimeField(null=True)
    # Handed back once: given out first, so that its item does not wait for the next lap.
    returned = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "ordinal"], name="slot_ordinal"),
            models.UniqueConstraint(fields=["item", "annotator"], name="one_slot_a_person"),
            models.UniqueConstraint(
                fields=["study", "annotator"],
                condition=Q(status="held"),
                name="one_held_slot_a_study",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["open", "closed"], annotator=None)
                | Q(status__in=["held", "done"], annotator__isnull=False),
                name="slot_has_its_annotator",
            ),
        ]
        indexes = [
            models.Index(
                fields=["study", "position"], condition=Q(status="open"), name="slot_open"
            ),
            models.Index(
                fields=["study", "position"],
                condition=Q(status="open", returned=True),
                name="slot_returned",
            ),
            models.Index(
                fields=["lease_expires_at"], condition=Q(status="held"), name="slot_lease"
            ),
        ]

    def __str__(self):
        return f"{self.item} #{self.ordinal}"


class Desk(models.Model):
    """One annotator's place in one study: how far the hand-out went, and how much is done.

    Its row is locked by every claim and submit of that person, so two tabs take turns.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="desks")
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="desks"
    )
    # Every position up to here was offered to this person since the last lap, or had no open slot.
    cursor = models.BigIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "annotator"], name="one_desk")]

    def __str__(self):
        return f"{self.annotator} in {self.study}"

    @classmethod
    def done_by(cls, annotator, study) -> int:
        """How many judgments this person has made in the study."""
        desks = cls.objects.filter(study=study, annotator=annotator)
        return desks.values_list("done", flat=True).first() or 0


class Handback(models.Model):
    """A slot that came back unjudged, and why. A skipped item is not offered again."""

    class Cause(models.TextChoices):
        SKIPPED = "skipped"
        RELEASED = "released"
        EXPIRED = "expired"

    slot = models.ForeignKey(Slot, on_delete=models.CASCADE, related_name="handbacks")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="handbacks")
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="handbacks"
    )
    cause = models.CharField(max_length=10, choices=Cause)
    reason = models.TextField(blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["annotator", "item"], name="handback_of")]

    def __str__(self):
        return f"{self.slot} {self.cause}"


class Judgment(models.Model):
    """What every kind of answer has in common. Rows are only ever added."""

    slot = models.OneToOneField(Slot, on_delete=models.PROTECT, related_name="%(class)s")
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="%(class)ss"
    )
    # The submit's own key and what it said: a repeat is answered, not stored again.
    key = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    # Canonical option numbers in the order shown, from the left or top.
    shown = models.JSONField(default=list)
    reason = models.TextField(blank=True)
    flags = models.JSONField(default=list)
    seconds = models.FloatField(null=True)
    submitted_at = models.DateTimeField()
    imported = models.BooleanField(default=False)

    class Meta:
        abstract = True


class Selection(Judgment):
    """The best of an item's answers, a tie, or none of them."""

    class Outcome(models.TextChoices):
        CHOICE = "choice"
        TIE = "tie"
        NONE = "none"

    outcome = models.CharField(max_length=6, choices=Outcome)
    choice = models.ForeignKey(
        ItemOption, on_delete=models.PROTECT, null=True, related_name="selections"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["annotator", "key"], name="one_selection_a_key"),
            models.CheckConstraint(
                condition=Q(outcome="choice", choice__isnull=False)
                | (~Q(outcome="choice") & Q(choice=None)),
                name="selection_choice",
            ),
        ]

    def __str__(self):
        return f"{self.slot}: {self.outcome}"
