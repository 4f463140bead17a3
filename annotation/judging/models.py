"""Batches of items, the slots that are handed out, and what all judgments have in common.

A slot is one wanted judgment. Opening a batch inserts ``overlap`` slots an item; a claim gives one
of them to one person. Afterwards a slot is only ever replaced (voided, and a new one opened with
its ordinal), so n judgments an item is arithmetic. Checks (training, gold, repeats) are items of
batches of their own, whose slots are made for one person at the moment they are handed out.
"""

import uuid
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Exists, F, Func, OuterRef, Q, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce
from django.utils.translation import gettext_lazy as _

from annotation.accounts.models import User
from annotation.candidates.models import Candidate
from annotation.personas.models import Attribute, Persona, PersonaVersion
from annotation.queries.models import GoldResponse, Query
from annotation.studies.models import Provenance, Study, TaskDefinition


class Batch(models.Model):
    """Items of one task, opened for judging together."""

    class Purpose(models.TextChoices):
        WORK = "work", _("judgments that count")
        TRAINING = "training", _("training")
        GOLD = "gold", _("hidden checks")
        REPEAT = "repeat", _("repeats")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="batches")
    task = models.ForeignKey(TaskDefinition, on_delete=models.PROTECT, related_name="batches")
    # Number of items, fixed when the batch is opened, so that no page has to count them.
    size = models.PositiveIntegerField(default=0)
    purpose = models.CharField(max_length=8, choices=Purpose, default=Purpose.WORK)
    # Of what was imported; None of what was made here.
    provenance = models.ForeignKey(
        Provenance, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "batches"

    def __str__(self) -> str:
        return f"{self.task} of {self.study.slug}, {self.created_at:%Y-%m-%d}"


class ItemQuerySet(models.QuerySet["Item"]):
    def work(self) -> "ItemQuerySet":
        """Items whose judgments count: no checks."""
        return self.filter(batch__purpose=Batch.Purpose.WORK)

    def originals(self) -> "ItemQuerySet":
        """Items that were not made for one person: no repeats or second trainings."""
        return self.filter(made_for=None)

    def shared(self) -> "ItemQuerySet":
        """Items that anybody may judge: an owner's are nobody else's business."""
        # A task that was defined before the setting has no such key.
        key = "batch__task__config__owner_only"
        return self.filter(Q(**{key: False}) | Q(**{f"{key}__isnull": True}))


class Item(models.Model):
    """One thing to judge, with every version that annotators will see pinned to it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="items", db_index=False)
    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="items")
    external_id = models.CharField(max_length=200)
    # What is judged apart from the answers, as the task's kind requires.
    query = models.ForeignKey(Query, on_delete=models.PROTECT, null=True, related_name="items")
    attribute = models.ForeignKey(
        Attribute, on_delete=models.PROTECT, null=True, related_name="items"
    )
    gold = models.ForeignKey(
        GoldResponse, on_delete=models.PROTECT, null=True, related_name="items"
    )
    persona_version = models.ForeignKey(
        PersonaVersion, on_delete=models.PROTECT, null=True, related_name="items"
    )
    # Place in the study: slots are handed out in this order. Copies for one person have none, so
    # that making one neither waits for others nor moves the places of the study's work.
    position = models.BigIntegerField(null=True)
    # Of repeats and second trainings: the one person whom this copy of an item is shown to.
    made_for = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        related_name="+",
        db_index=False,
    )
    overlap = models.PositiveSmallIntegerField()
    # Of checks: the right answer (the `label` of the kind's Answer), why it is,
    # and of repeats and copies the item that is shown again.
    expected = models.JSONField(null=True)
    explanation = models.TextField(blank=True)
    # What experts said of it elsewhere, {name of the column: label or number}: nobody who judges
    # sees it; people and models are compared with it.
    keys = models.JSONField(default=dict)
    repeats = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, related_name="repetitions"
    )
    # The probability with which the item was drawn for votes so far; null where all items get
    # votes (open_batches with no votes an item opens such items, evaluation.draws draws them).
    chance = models.FloatField(null=True)
    # Handed out to nobody else: a check that is over, or work that is held back.
    retired_at = models.DateTimeField(null=True)

    # The newest judgment, and how many there are, updated in each vote's own transaction: far
    # cheaper to read than the votes. ``counts`` is {label: votes} of the task's primary question
    # (``Kind.counted_question``), empty where it has none.
    done = models.PositiveSmallIntegerField(default=0)
    last_judgment = models.BigIntegerField(default=0)
    counts = models.JSONField(default=dict)

    objects = ItemQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "external_id"], name="item_of_study"),
            models.UniqueConstraint(fields=["study", "position"], name="item_position"),
            models.CheckConstraint(
                condition=Q(done__lte=F("overlap")), name="item_never_over_overlap"
            ),
            models.CheckConstraint(
                condition=Q(position__isnull=False, made_for=None)
                | Q(position=None, made_for__isnull=False),
                name="item_has_a_place_or_a_person",
            ),
        ]
        indexes = [
            models.Index(
                fields=["made_for", "study"],
                condition=Q(made_for__isnull=False),
                name="item_copies",
            ),
        ]

    def __str__(self) -> str:
        return self.external_id

    @property
    def asked(self) -> str:
        """What it asks about: its query's last message or its attribute, "" where it has none."""
        if self.query:
            return self.query.asked
        return self.attribute.text if self.attribute else ""


def votes_for(label: str) -> Combinable:
    """How many of an item's votes are for ``label``."""
    # Not by a transform, which takes a label of digits for the place in a list.
    path = Func(F("counts"), Value(label), function="jsonb_extract_path_text")
    return Coalesce(Cast(path, models.IntegerField()), 0)


class MostVotes(Func):
    """The votes of an item's most frequent label, of its ``counts``; null for none."""

    template = "(SELECT max(n::int) FROM jsonb_each_text(%(expressions)s) AS votes (label, n))"
    output_field = models.IntegerField()


class Leaders(Func):
    """How many labels share an item's first place."""

    template = """(SELECT count(*) FROM (
        SELECT rank() OVER (ORDER BY n::int DESC) AS place
        FROM jsonb_each_text(%(expressions)s) AS votes (label, n)) AS ranked WHERE place = 1)"""
    output_field = models.IntegerField()


def recounted(steps: Mapping[str, int]) -> Combinable:
    """An item's counts with ``steps``, {label: votes to add}."""
    counts: Combinable = F("counts")
    for label, step in steps.items():
        fresh = Func(Value(label), votes_for(label) + step, function="jsonb_build_object")
        counts = Func(counts, fresh, template="%(expressions)s", arg_joiner=" || ")
    return counts


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


class Slot(models.Model):
    """One wanted judgment."""

    class Status(models.TextChoices):
        OPEN = "open"
        HELD = "held"
        DONE = "done"
        CLOSED = "closed"
        # Judged by somebody whose judgments were taken out; another slot has its ordinal.
        VOID = "void"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # Without indexes of their own: every claim and submit would write them, and nobody reads them.
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="slots", db_index=False)
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="slots", db_index=False)
    # 0 .. overlap-1 within the item: decides the shown order (ordering.shown_order).
    ordinal = models.PositiveSmallIntegerField()
    # The item's position (of a copy that of the item it repeats), here for the hand-out index.
    position = models.BigIntegerField()
    status = models.CharField(max_length=6, choices=Status, default=Status.OPEN)
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        related_name="slots",
        db_index=False,
    )
    # Owner-bound: only this person gets it. Of others' items: everybody but their author.
    reserved_for = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        related_name="+",
        db_index=False,
    )
    withheld_from = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        db_index=False,
    )
    claimed_at = models.DateTimeField(null=True)
    lease_expires_at = models.DateTimeField(null=True)
    # Handed back once: given out first, so that its item does not wait for the next lap.
    returned = models.BooleanField(default=False)
    # Held together with this slot, on one screen; the slot that leads has none itself.
    lead = models.UUIDField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item", "ordinal"], condition=~Q(status="void"), name="slot_ordinal"
            ),
            models.UniqueConstraint(fields=["item", "annotator"], name="one_slot_a_person"),
            models.UniqueConstraint(
                fields=["study", "annotator"],
                condition=Q(status="held", lead=None),
                name="one_held_slot_a_study",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["open", "closed"], annotator=None)
                | Q(status__in=["held", "done", "void"], annotator__isnull=False),
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
                fields=["reserved_for", "study"],
                condition=Q(reserved_for__isnull=False),
                name="slot_of_owner",
            ),
            # The hand-out asks for each item whether a person had it: an index of annotators alone
            # would lead it through all that they judged.
            models.Index(
                fields=["annotator", "item"],
                condition=Q(annotator__isnull=False),
                name="slot_of_annotator",
            ),
            models.Index(
                fields=["lease_expires_at"], condition=Q(status="held"), name="slot_lease"
            ),
            models.Index(
                fields=["lead"], condition=Q(status="held", lead__isnull=False), name="slot_lead"
            ),
        ]


class ItemSet(models.Model):
    """Items of one person and one type of question that are judged after one another.

    They are those from the position ``first`` to ``last`` in the study; opened by
    ``batches.open.open_batches`` with ``sets``.
    """

    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, related_name="item_sets", db_index=False
    )
    first = models.BigIntegerField()
    last = models.BigIntegerField()
    persona = models.ForeignKey(Persona, on_delete=models.CASCADE, null=True, related_name="+")
    type = models.CharField(max_length=10, choices=Query.Type, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "first"], name="one_set_a_place")]


class Participation(models.Model):
    """One annotator's place in one study: how far the hand-out went, and how much is done.

    Its row is locked by every claim and submit of that person, so two tabs take turns.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="participations")
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="participations"
    )
    # Every position up to here was offered to this person since the last lap, or had no open slot.
    cursor = models.BigIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    last_judged_at = models.DateTimeField(null=True)
    # How far up to the cursor what lies behind has been gone through again (queue.take).
    lapped = models.BigIntegerField(default=0, db_default=0)
    # The languages with which this person went up to the cursor; null: of no study that asks.
    walked_in = ArrayField(models.CharField(max_length=20), null=True)
    # When a lap gave this person nothing. New work comes as a returned slot or as a batch, and a
    # batch clears this: until then only returned slots are looked at.
    exhausted_at = models.DateTimeField(null=True)
    # What this person chose to judge: nothing else is handed out until it has nothing for them.
    chosen = models.ForeignKey(
        ItemSet, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    # Names of the tasks whose tour this person has seen.
    toured = models.JSONField(default=list)
    # Given no work: since when, and the sentence that the person reads.
    stopped_at = models.DateTimeField(null=True)
    stop_reason = models.TextField(blank=True)
    # Taken out by a curator: what this person judged does not count.
    excluded_at = models.DateTimeField(null=True)
    # The training was passed then; only what was trained since the last reset counts.
    qualified_at = models.DateTimeField(null=True)
    training_since = models.DateTimeField(null=True)
    # The number of judgments after which the next hidden check comes (hidden_checks.next_slot).
    next_gold = models.PositiveIntegerField(null=True)
    next_repeat = models.PositiveIntegerField(null=True)
    # Only where ``work.queue.lock_participation`` read it, which says what they mean.
    exhausted: bool
    reads: list[str] | None
    rates: Any
    within: tuple[int, int] | None

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "annotator"], name="one_participation")
        ]

    @classmethod
    def done_by(cls, annotator: User, study: Study) -> int:
        """How many judgments this person has made in the study."""
        participations = cls.objects.filter(study=study, annotator=annotator)
        return participations.values_list("done", flat=True).first() or 0


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


class Draft(models.Model):
    """What a person has typed of an answer that is not submitted yet."""

    slot = models.ForeignKey(Slot, on_delete=models.CASCADE, related_name="drafts", db_index=False)
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="drafts"
    )
    # The form's fields, each a list of text.
    data = models.JSONField(default=dict)
    # What the form began with, as of a judgment without "changed"; None where nothing was proposed.
    proposal = models.JSONField(null=True)
    saved_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["slot", "annotator"], name="one_draft")]


class JudgmentQuerySet(models.QuerySet):
    def standing(self, last: int | None = None) -> "JudgmentQuerySet":
        """Judgments that count: not revised (up to the judgment ``last``), not voided."""
        newer = Judgment.objects.filter(replaces=OuterRef("pk"))
        if last is not None:
            newer = newer.filter(pk__lte=last)
            self = self.filter(pk__lte=last)
        return self.filter(~Exists(newer)).exclude(slot__status=Slot.Status.VOID)


class Judgment(models.Model):
    """What every kind of answer has in common. Rows are only ever added: an edit is a new row."""

    slot = models.ForeignKey(
        Slot, on_delete=models.PROTECT, related_name="judgments", db_index=False
    )
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="judgments", db_index=False
    )
    revision = models.PositiveSmallIntegerField(default=1)
    # The judgment that this one was written to replace.
    replaces = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, related_name="replaced_by"
    )
    # The submit's key and a digest of its body: a repeat is answered, not stored again.
    key = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    # Canonical option numbers in the order shown, from the left or top.
    shown = models.JSONField(default=list)
    reason = models.TextField(blank=True)
    # What is wrong (kinds.settings.TAGS), and which of the task's common reasons apply.
    flags = models.JSONField(default=list)
    chips = models.JSONField(default=list)
    # Marked passages: {"option", "start", "end", "text", "sign": "+"|"-", "comment"}, in characters
    # of the answer's text.
    marks = models.JSONField(default=list)
    # How it was judged: {"idle", "panes", "diff", "raw", "card", "ends", "device"}.
    circumstances = models.JSONField(default=dict)
    # What the form began with: {"from": the task's setting, "of": the model or the judgment,
    # "label", "changed": whether the answer is another}; None where nothing was proposed.
    proposal = models.JSONField(null=True)
    seconds = models.FloatField(null=True)
    submitted_at = models.DateTimeField()
    imported = models.BooleanField(default=False)
    # False: where it was imported from gave no time, and `submitted_at` is that of the import.
    dated = models.BooleanField(default=True)
    provenance = models.ForeignKey(
        Provenance, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )

    objects = JudgmentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["slot", "revision"], name="one_judgment_a_slot"),
            models.UniqueConstraint(fields=["annotator", "key"], name="one_judgment_a_key"),
        ]
        indexes = [models.Index(fields=["annotator", "submitted_at"], name="judgment_of_annotator")]


class Answer(models.Model):
    """One answer of a judgment: to one question, about the item, one of its options or a part.

    A question is a criterion's name, or what its kind calls it. Rows are only ever
    added, with their judgment.
    """

    judgment = models.ForeignKey(
        Judgment, on_delete=models.CASCADE, related_name="answers", db_index=False
    )
    question = models.CharField(max_length=60)
    # The canonical number of the option that it is about, and the key of the part (a claim's).
    option = models.PositiveSmallIntegerField(null=True)
    part = models.BigIntegerField(null=True)
    # A class in the words of its question, or a number: a point of a scale, a place, a degree.
    label = models.CharField(max_length=60, blank=True)
    value = models.SmallIntegerField(null=True)
    # What was written with it, and the common reasons that were ticked.
    text = models.TextField(blank=True)
    chips = models.JSONField(default=list)
    # Of marked passages {"start", "end", "class"?, "text"?}, in characters of the option's text.
    marks = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["judgment", "question", "option", "part"],
                nulls_distinct=False,
                name="one_answer_a_question",
            ),
            models.CheckConstraint(
                condition=~Q(label="")
                | Q(value__isnull=False)
                | ~Q(text="")
                | ~Q(chips=[])
                | Q(marks__isnull=False),
                name="answer_says_something",
            ),
        ]


class Checks(models.Model):
    """How a study trains and checks its annotators; items of such batches are its material."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="checks")
    # Share of the training items that must be right before work is handed out; 0 asks nothing.
    pass_mark = models.FloatField(default=0)
    # One hidden gold item, and one repeat of an own judgment, every so many judgments; 0 is never.
    gold_every = models.PositiveSmallIntegerField(default=0)
    repeat_every = models.PositiveSmallIntegerField(default=0)
    # So many of an owner's own items, or such a share of them where the number is 0, are judged by
    # the owner once more, so many days after the first time.
    retest_number = models.PositiveSmallIntegerField(default=0, db_default=0)
    retest_share = models.FloatField(default=0, db_default=0)
    retest_days = models.PositiveSmallIntegerField(default=7, db_default=7)

    class Meta:
        verbose_name_plural = "checks"
        constraints = [
            models.CheckConstraint(
                condition=Q(retest_share__gte=0, retest_share__lte=1), name="retest_share_is_one"
            )
        ]


class Adjudication(models.Model):
    """A curator's ruling on an item on which annotators disagree. Votes stay as they are."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="adjudications")
    # As the `label` of the kind's answer.
    label = models.JSONField()
    reason = models.TextField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="adjudications"
    )
    at = models.DateTimeField(auto_now_add=True)


class ItemComment(models.Model):
    """What the slot's annotator and the curators write to each other about a judged item."""

    slot = models.ForeignKey(Slot, on_delete=models.CASCADE, related_name="comments")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="item_comments"
    )
    text = models.TextField()
    at = models.DateTimeField(auto_now_add=True)
    # When the annotator saw a curator's answer.
    read_at = models.DateTimeField(null=True)
