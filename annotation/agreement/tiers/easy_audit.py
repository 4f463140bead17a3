"""The easy tier of a study: not voted into being, but a ground truth against a generic answer.

Whether it is easy is audited: nine people judge a sample of its pairs in a task of its own, whose
votes are read by ``tiers.audit_easy`` and give no pairs themselves.
"""

import hashlib
from dataclasses import dataclass, replace

from django.contrib.postgres.aggregates import ArrayAgg
from django.db import transaction
from django.db.models import Count, F, Q, prefetch_related_objects
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.agreement.models import ItemTier
from annotation.agreement.tiers import collection, rules
from annotation.core import audit
from annotation.core.errors import Conflict, DomainError
from annotation.judging.batches.open import add_items
from annotation.judging.kinds import KINDS, kind_of
from annotation.judging.models import Item, ItemOption
from annotation.studies.models import Study, TaskDefinition
from annotation.votes import counting
from annotation.votes.counting import AUDIT_TASK
from annotation.votes.stored import task_votes

QUESTION_ALONE = "A3"
(CHOICE,) = (code for code, kind in KINDS.items() if kind.chooses)
REASON = "pairs of a ground truth and the answer to the question alone are not voted on"


def easy_tier(study: Study) -> dict:
    """The entry of the easy tier in the contract's tiers document.

    Its items are the questions whose three-way ground truth is not the answer that was written from
    the question alone (strategy A3), each a pair with that answer.
    """
    nothing = {"value": None, "reason": REASON}
    return {
        "items": sum(_count(study, definition) for definition in _triples(study)),
        "votes_per_item": dict.fromkeys(("min", "median", "max")),
        **dict.fromkeys(rules.COEFFICIENTS, nothing),
        "band": None,
        "in_band": None,
        "note": REASON,
    }


def _triples(study: Study) -> list[TaskDefinition]:
    """The newest definition of each task with three options that has votes."""
    voted = counting.newest(study, counting.voted_tasks(study))
    choices = (task for task in voted if kind_of(task.kind).chooses)
    return [task for task in choices if task.config["options"] == 3]


def _count(study: Study, definition: TaskDefinition) -> int:
    """Easy pairs of a task, from its votes as they are now."""
    read = task_votes(definition)
    waiting = collection.collecting(study, definition.name)
    topped = collection.topped(study, definition.name)
    judged = rules.judge(read.votes, len(read.declared), collecting=waiting, topped=topped)
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
    return Audit(
        len(pairs), rules.audit_size(len(pairs)), drawn, rules.audit_easy(done, len(pairs))
    )


@transaction.atomic
def open_audit(study: Study, by: User | None = None) -> int:
    """Draw as many pairs as the audit still wants and open them for judging; how many.

    The draw is a seeded order of the study's own: the pairs whose hash comes first. Raises
    DomainError where there is no easy pair, Conflict where a task of the audit's name is another.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    audit = audit_of(study)
    if not audit.size:
        raise DomainError(_("There are no easy pairs to audit yet."), code="no_easy_pairs")
    drawn = {pair.name for pair in audit.drawn}
    waiting = [pair for pair in _pairs(study) if pair.name not in drawn]
    fresh = sorted(waiting, key=lambda pair: pair.name)[: audit.missing]
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
    """The pairs with the votes of their audits."""
    audits = counting.items(study, AUDIT_TASK, labels=("1", "2")).prefetch_related("options")
    by_name = {item.external_id: item for item in audits}
    closed = set(counting.closed_batches(study))
    return [
        _voted(pair, item, (item.judged, item.judged_0, item.judged_1), closed) if item else pair
        for pair in pairs
        for item in [by_name.get(pair.name)]
    ]


def _voted(pair: EasyPair, item: Item, votes: tuple[int, int, int], closed: set[int]) -> EasyPair:
    """``votes``: all of them, those for the first answer, those for the second."""
    truth = next(
        option.number for option in item.options.all() if option.candidate_id == pair.chosen
    )
    n = votes[0]
    ended = rules.is_closed(n, item.overlap, item.batch_id in closed)
    complete = ended and n >= rules.DEFAULT.minimum
    against = n - votes[truth]
    return replace(pair, audited=item, truth=votes[truth], against=against, complete=complete)


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
        "overlap": rules.DEFAULT.panel,
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
        overlap=rules.DEFAULT.panel,
        guideline=asked.guideline if asked else "",
        translations=asked.translations if asked else {},
        config=kind_of(CHOICE).check_config({"options": 2}),
    )
    audit.record(by, "task.define", created, version=created.version)
    return created
