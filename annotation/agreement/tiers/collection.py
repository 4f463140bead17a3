"""How many votes items get by their tiers, and the audit of the easy tier.

An item stops when all its missing votes for its leader would still leave it below ``hard`` (or
``borderline``, where those are wanted for the fill or a top-up): on failure, never on success, so
the tiers that are released are exactly those of the full panel. Borderline items are the reserve,
about which more people may be asked.

The easy tier is not voted into being: its pairs are of a ground truth and a generic answer. Whether
it is easy is audited: nine people judge a sample of its pairs in a task of its own, whose votes are
read by ``audit_easy`` and give no pairs themselves.
"""

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db import transaction
from django.db.models import Count, F, Q, Sum, prefetch_related_objects
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.agreement.models import EarlyStop, ItemTier, StoppedItem, TopUp
from annotation.agreement.statistics.tiers import (
    COEFFICIENTS,
    DEFAULT,
    STOPS,
    Judged,
    TierRule,
    audit_easy,
    audit_size,
    is_closed,
    may_stop,
)
from annotation.agreement.tiers import rules
from annotation.core import audit
from annotation.core.errors import Conflict, DomainError
from annotation.core.records import chunks
from annotation.judging.batches.open import add_items, ask_for_more
from annotation.judging.kinds import KINDS, kind_of
from annotation.judging.models import Batch, Item, ItemOption, ItemQuerySet, Slot
from annotation.studies.models import Study, TaskDefinition
from annotation.votes import counting
from annotation.votes.counting import AUDIT_TASK
from annotation.votes.stored import task_votes

CHUNK = 2_000
QUESTION_ALONE = "A3"
(CHOICE,) = (code for code, kind in KINDS.items() if kind.chooses)
REASON = "pairs of a ground truth and the answer to the question alone are not voted on"


def rules_of(study: Study) -> dict[str, TierRule]:
    """{task: its tier rule} of the tasks where items stop early, or once did."""
    stops = EarlyStop.objects.filter(study=study).values_list("task", "below")
    return {task: replace(DEFAULT, stop_below=below) for task, below in stops}


@transaction.atomic
def choose_stop(study: Study, task: str, below: str, *, by: User | None = None) -> None:
    """Stop items of ``task`` below "hard" or "borderline" from now on; "" stops no more."""
    if below and below not in STOPS:
        raise DomainError(_("Stop below hard or below borderline, or not at all."), code="stop")
    if below:
        fields = {"below": below, "active": True}
        EarlyStop.objects.update_or_create(study=study, task=task, defaults=fields)
    else:
        EarlyStop.objects.filter(study=study, task=task).update(active=False)
    audit.record(by, "tiers.early_stop", study, task=task, below=below)


def stop_state(study: Study, task: str) -> dict:
    """``{"below", "items", "saved"}``: what is chosen, items stopped, votes saved so far."""
    chosen = EarlyStop.objects.filter(study=study, task=task, active=True)
    below = chosen.values_list("below", flat=True).first()
    stopped = StoppedItem.objects.filter(item__study=study, item__batch__task__name=task)
    totals = stopped.aggregate(items=Count("pk"), saved=Sum("saved", default=0))
    return {"below": below or "", **totals}


@transaction.atomic
def stop(study: Study, task: str, judged: list[Judged], options: int, rule: TierRule) -> int:
    """Ask nobody more about those of ``judged`` that may stop; how many.

    Held slots stay with their holders. Run again it stops the same items.
    """
    chosen = EarlyStop.objects.filter(study=study, task=task, active=True).exists()
    if not chosen or study.status != Study.Status.OPEN:
        return 0
    names = [
        item.task
        for item in judged
        if 2 <= item.n < rule.panel and may_stop(item.votes.values(), options, rule)
    ]
    return sum(_stop_some(study, task, some) for some in chunks(names, CHUNK))


def _stop_some(study: Study, task: str, names: list[str]) -> int:
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    work = {"batch__task__name": task, "batch__purpose": Batch.Purpose.WORK}
    rows = Item.objects.filter(study=study, external_id__in=names, stopped=None, **work)
    items = list(rows.select_for_update(of=("self",)).order_by("pk"))
    slots = Slot.objects.filter(item__in=items)
    slots.filter(status=Slot.Status.OPEN).update(status=Slot.Status.CLOSED)
    left = Q(status__in=(Slot.Status.DONE, Slot.Status.HELD))
    counted = slots.values("item").order_by().annotate(n=Count("pk", left))
    counts = dict(counted.values_list("item", "n"))
    made = []
    for item in items:
        saved = item.overlap - counts[item.pk]
        # Not lower than one: an item asks for at least one judgment.
        item.overlap = max(1, counts[item.pk])
        if saved > 0:
            made.append(StoppedItem(item=item, saved=saved))
    Item.objects.bulk_update(items, ["overlap"], batch_size=1000)
    StoppedItem.objects.bulk_create(made)
    return len(made)


def collecting(study: Study, task: str, closed_batches: list[int] | None = None) -> frozenset[str]:
    """The task's items, by their own ids, that still wait for votes (``tiers.is_closed``).

    ``closed_batches`` as of ``counting``, read where it is None.
    """
    closed = set(counting.closed_batches(study) if closed_batches is None else closed_batches)
    rows = study.items.work().filter(batch__task__name=task)
    return frozenset(
        name
        for name, done, overlap, batch in rows.values_list(
            "external_id", "done", "overlap", "batch_id"
        ).iterator(chunk_size=20_000)
        if not is_closed(done, overlap, batch in closed)
    )


def topped(study: Study, task: str) -> frozenset[str]:
    """The task's items that were topped up, by their own ids."""
    top_ups = TopUp.objects.filter(item__study=study, item__batch__task__name=task)
    return frozenset(top_ups.values_list("item__external_id", flat=True))


def counts(study: Study) -> Counter:
    """How many items of each task were topped up; it never falls."""
    names = TopUp.objects.filter(item__study=study).values_list("item__batch__task__name")
    return Counter(dict(names.annotate(n=Count("pk")).order_by()))


def reserve(study: Study, task: str) -> ItemQuerySet:
    """Borderline items, by the tiers as last computed, that can be topped up and were not yet."""
    if task == AUDIT_TASK or study.status != Study.Status.OPEN:
        return Item.objects.none()
    work = {"batch__purpose": Batch.Purpose.WORK, "batch__closed_at": None}
    items = Item.objects.filter(study=study, batch__task__name=task, **work)
    return items.filter(tier__tier="borderline", top_up=None, done__gte=DEFAULT.panel)


@transaction.atomic
def top_up(study: Study, task: str, by: User | None = None) -> int:
    """Ask more people about every item of the ``reserve``; how many items that are.

    Each gets slots up to the rule's ``top_up`` votes, handed out before new items. Raises
    DomainError where there is none.
    """
    # Two requests at once would add the slots twice; openings take the same lock.
    Study.objects.select_for_update().get(pk=study.pk)
    items = list(reserve(study, task).select_for_update(of=("self",)).order_by("pk"))
    if not items:
        raise DomainError(_("No borderline item waits to be topped up."), code="no_reserve")
    slots = ask_for_more(items, DEFAULT.top_up)
    TopUp.objects.bulk_create([TopUp(item=item) for item in items], batch_size=5000)
    audit.record(by, "tiers.top_up", study, task=task, items=len(items), slots=slots)
    return len(items)


def easy_tier(study: Study) -> dict:
    """The entry of the easy tier in the contract's tiers document.

    Its items are the questions whose three-way ground truth is not the answer that was written from
    the question alone (strategy A3), each a pair with that answer.
    """
    nothing = {"value": None, "reason": REASON}
    return {
        "items": sum(_count(study, definition) for definition in _triples(study)),
        "votes_per_item": dict.fromkeys(("min", "median", "max")),
        **dict.fromkeys(COEFFICIENTS, nothing),
        "band": None,
        "in_band": None,
        "note": REASON,
    }


def _triples(study: Study) -> list[TaskDefinition]:
    """The newest definition of each task with three options that has votes."""
    choices = (task for task in counting.newest(study) if kind_of(task.kind).chooses)
    return [task for task in choices if task.config["options"] == 3]


def _count(study: Study, definition: TaskDefinition) -> int:
    """Easy pairs of a task, from its votes as they are now."""
    read = task_votes(definition)
    waiting, more = collecting(study, definition.name), topped(study, definition.name)
    judged = rules.judge(read.votes, len(read.declared), collecting=waiting, topped=more)
    won = {item.task: int(item.winner) for item in judged if item.winner and item.winner.isdigit()}
    generic = ItemOption.objects.filter(
        item__study=study, item__external_id__in=won, candidate__strategy=QUESTION_ALONE
    )
    rows = generic.values_list("item__external_id", "number")
    return sum(won[item] != number for item, number in rows)


@dataclass(frozen=True)
class EasyPair:
    """One pair of the easy tier: the ``item`` of three it comes from, and its two answers' ids.

    ``audited`` is the item of the audit that asks about it (None: not drawn), ``truth`` and
    ``against`` its votes, ``complete`` whether it waits for no more of them.
    """

    item: Item
    chosen: object
    generic: object
    audited: Item | None = None
    truth: int = 0
    against: int = 0
    complete: bool = False

    @property
    def name(self) -> str:
        """Id of the audit's item of this pair; another ground truth makes another pair."""
        parts = f"{self.item.pk}/{self.chosen}/{self.generic}"
        return f"{AUDIT_TASK}-{hashlib.sha256(parts.encode()).hexdigest()[:16]}"


@dataclass(frozen=True)
class Audit:
    """The audit of a study's easy tier.

    ``size`` pairs in the tier, ``wanted`` of them to audit; ``drawn`` are those whose audit is
    open; ``verdict`` as of ``tiers.audit_easy``, by the ids of the items of three.
    """

    size: int
    wanted: int
    drawn: list[EasyPair]
    verdict: dict

    @property
    def missing(self) -> int:
        """How many more pairs are to be drawn."""
        return max(self.wanted - len(self.drawn), 0)

    def as_json(self) -> dict:
        """What a release keeps of it: the verdict, and how many of how many pairs it is about."""
        audited = sum(pair.complete for pair in self.drawn)
        return {"pairs": self.size, "wanted": self.wanted, "audited": audited, **self.verdict}


def audit_of(study: Study) -> Audit:
    """The audit's progress and verdict, by the tiers as last recomputed."""
    pairs = _with_votes(study, _pairs(study))
    drawn = [pair for pair in pairs if pair.audited]
    prefetch_related_objects([pair.item for pair in drawn], "query")
    done = {p.item.external_id: (p.truth, p.against) for p in drawn if p.complete}
    return Audit(len(pairs), audit_size(len(pairs)), drawn, audit_easy(done, len(pairs)))


@transaction.atomic
def open_audit(study: Study, by: User | None = None) -> int:
    """Draw as many pairs as the audit still wants and open them for judging; how many.

    The draw is a seeded order of the study's own: the pairs whose hash comes first. Raises
    DomainError where there is no easy pair, Conflict where a task of the audit's name is another.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    seen = audit_of(study)
    if not seen.size:
        raise DomainError(_("There are no easy pairs to audit yet."), code="no_easy_pairs")
    drawn = {pair.name for pair in seen.drawn}
    waiting = [pair for pair in _pairs(study) if pair.name not in drawn]
    fresh = sorted(waiting, key=lambda pair: pair.name)[: seen.missing]
    if fresh:
        prefetch_related_objects([pair.item for pair in fresh], "query")
        add_items(study, _task(study, by), [_row(pair) for pair in fresh], by=by)
    return len(fresh)


def _pairs(study: Study) -> list[EasyPair]:
    """Every pair of the easy tier by the stored tiers, in the order of its items.

    There are thousands: their items come without their texts.
    """
    won = ItemTier.objects.filter(item__in=counting.items(study)).exclude(winner=None)
    options = ItemOption.objects.filter(item__in=won.values("item")).values("item")
    triples = options.annotate(
        options=Count("pk"),
        chosen=ArrayAgg("candidate", filter=Q(number=F("item__tier__winner"))),
        generic=ArrayAgg(
            "candidate", filter=Q(candidate__strategy=QUESTION_ALONE), order_by="number"
        ),
    )
    pairs = {
        item: (chosen[0], generic[0])
        for item, chosen, generic in triples.filter(options=3, generic__isnull=False)
        .order_by()
        .values_list("item", "chosen", "generic")
        if chosen[0] != generic[0]
    }
    items = Item.objects.filter(pk__in=pairs).only("external_id", "query_id").order_by("position")
    return [EasyPair(item, *pairs[item.pk]) for item in items]


def _with_votes(study: Study, pairs: list[EasyPair]) -> list[EasyPair]:
    audits = counting.items(study, AUDIT_TASK, labels=("1", "2")).prefetch_related("options")
    by_name = {item.external_id: item for item in audits}
    closed = set(counting.closed_batches(study))
    return [_voted(pair, by_name.get(pair.name), closed) for pair in pairs]


def _voted(pair: EasyPair, item: Any, closed: set[int]) -> EasyPair:
    """``item`` asks about the pair and has its votes (``counting.items``); None: not drawn."""
    if item is None:
        return pair
    numbers = {option.candidate_id: option.number for option in item.options.all()}
    truth = item.judged_0 if numbers[pair.chosen] == 1 else item.judged_1
    ended = is_closed(item.judged, item.overlap, item.batch_id in closed)
    complete, against = ended and item.judged >= DEFAULT.minimum, item.judged - truth
    return replace(pair, audited=item, truth=truth, against=against, complete=complete)


def _row(pair: EasyPair) -> dict:
    # By the hash: the place of the ground truth must not reveal it.
    answers = sorted(
        (pair.chosen, pair.generic),
        key=lambda candidate: hashlib.sha256(f"{pair.name}/{candidate}".encode()).digest(),
    )
    return {
        "external_id": pair.name,
        "query": pair.item.query,
        "candidates": answers,
        "overlap": DEFAULT.panel,
    }


def _task(study: Study, by: User | None) -> TaskDefinition:
    """The audit's task, made where missing, with the guideline of the task of three."""
    task = study.tasks.filter(name=AUDIT_TASK).order_by("-version").first()
    if task:
        if not kind_of(task.kind).chooses or task.config["options"] != 2:
            raise Conflict(
                _("The task “%(task)s” is not one of two answers: the audit needs its name.")
                % {"task": AUDIT_TASK}
            )
        return task
    asked = max(_triples(study), key=lambda definition: definition.pk, default=None)
    created = TaskDefinition.objects.create(
        study=study,
        name=AUDIT_TASK,
        kind=CHOICE,
        overlap=DEFAULT.panel,
        guideline=asked.guideline if asked else "",
        translations=asked.translations if asked else {},
        config=kind_of(CHOICE).check_config({"options": 2}),
    )
    audit.record(by, "task.define", created, version=created.version)
    return created
