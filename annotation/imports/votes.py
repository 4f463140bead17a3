"""Stores imported judgments of every kind: each is read and stored by its task's kind.

Each takes an open slot of its item, or a new one. Workers become accounts that nobody can log in
to.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from django.contrib.auth.hashers import make_password
from django.db import connection
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core.errors import DomainError
from annotation.imports import shape
from annotation.imports.mapping import Mapping
from annotation.imports.shape import Vote
from annotation.judging.kinds import KINDS, config_of, kind_of
from annotation.judging.kinds.base import Kind
from annotation.judging.kinds.imported import ImportedFile, ImportedJudgment
from annotation.judging.models import Batch, Item, ItemOption, Judgment, Slot
from annotation.judging.work.submit import KEY_LIMIT, Option
from annotation.studies.models import Study

ITEMS_AT_ONCE = 200
REASON_LIMIT = 5_000
SEEN_LIMIT = 1_000


class Seen:
    """Labels, criteria and the range of scores in a file: a new task is made to fit them."""

    def __init__(self):
        self.labels: set[str] = set()
        self.criteria: dict[str, None] = {}
        self.places = 1
        self.low, self.high = 0.0, 0.0

    def add(self, vote: Vote) -> None:
        if vote.label and len(self.labels) < SEEN_LIMIT:
            self.labels.add(vote.label)
        for name, score in vote.scores.items():
            place, criterion = name.split("/", 1)
            self.places = max(self.places, int(place))
            self.criteria.setdefault(criterion)
            self.low, self.high = min(self.low, score), max(self.high, score)


def task_for(mapping: Mapping, size: int, seen: Seen) -> tuple[str, dict] | None:
    """Kind and settings of a task for items of ``size`` answers; None where none fits."""
    file = ImportedFile(
        columns=frozenset(mapping.columns),
        size=size,
        labels=frozenset(seen.labels),
        criteria=tuple(seen.criteria),
        rated=seen.places,
        low=seen.low,
        high=seen.high,
        label_name=mapping.columns.get("label", ("score",))[0],
    )
    for code, kind in KINDS.items():
        config = kind.imported_config(file)
        if config is not None:
            return code, config
    return None


def store(
    study: Study,
    fault: Callable[[int, str], None],
    check: Callable[[int], None],
    *,
    signed: bool = False,
) -> dict:
    """Store the votes of ``import_vote``; counts of votes, scores and workers.

    ``fault(line, reason)`` takes those that do not fit. ``signed``: scores of pairs are below zero
    for one side and above it for the other.
    """
    votes = _Votes(study, fault, signed)
    for names in _items_of_votes():
        check(0)
        votes.store(names)
    return {"votes": votes.stored, "scores": votes.scores, "workers": len(votes.workers)}


def _items_of_votes() -> Iterator[list[str]]:
    """Ids of the items that votes name, some at a time."""
    last = ""
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT DISTINCT item FROM import_vote WHERE item > %s ORDER BY item LIMIT %s",
                [last, ITEMS_AT_ONCE],
            )
            names = [row[0] for row in cursor.fetchall()]
        if not names:
            return
        yield names
        last = names[-1]


@dataclass
class Target:
    """An item that votes are stored on: what its kind reads, and what happened to it."""

    pk: object
    position: int
    kind: Kind
    config: dict
    options: list[Option]
    # (external id, model) of each option.
    names: list[tuple[str, str]]
    gold: int | None
    open: list = field(default_factory=list)
    next_ordinal: int = 0
    counters: Counter = field(default_factory=Counter)
    added: int = 0
    shown: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Judgment:
    """All that one worker says of one item, of one row or several."""

    line: int
    item: str
    worker: str
    answers: tuple[str, ...]
    label: str
    scores: dict
    reason: str
    submitted_at: datetime | None
    seconds: float | None

    @property
    def digest(self) -> str:
        return _sha256(json.dumps([self.item, self.worker, self.label, self.scores]))

    @property
    def key(self) -> str:
        key = f"import:{self.item}:{self.worker}"
        return key if len(key) <= KEY_LIMIT else f"import:{_sha256(key)}"


class _Votes:
    def __init__(self, study: Study, fault: Callable[[int, str], None], signed: bool):
        self.study, self.fault, self.signed = study, fault, signed
        self.stored = self.scores = 0
        self.workers: set[int] = set()
        # Of the items at hand, by kind: (answer, item, common columns).
        self.answers: dict[str, list] = defaultdict(list)

    def store(self, names: list[str]) -> None:
        """Store the votes on these items."""
        judgments = list(self.judgments(names))
        targets = _targets(self.study, names)
        people = _people(self.study, {judgment.worker for judgment in judgments})
        there = self.there(targets, people)
        taken, slots = [], []
        self.answers.clear()
        for judgment in judgments:
            try:
                target, person = self.place(judgment, targets, people)
                pair = (target.pk, person)
                if pair not in there:
                    there[pair] = judgment.digest
                    self.add(judgment, target, person, taken, slots)
                elif there[pair] != judgment.digest:
                    words = _("%s has given another vote on this item before")
                    raise DomainError(words % judgment.worker)
            except DomainError as refusal:
                self.fault(judgment.line, refusal.sentence)
                continue
            self.stored += 1
            self.scores += len(judgment.scores)
            self.workers.add(person)
        _take_slots(taken)
        Slot.objects.bulk_create(slots, batch_size=5_000)
        for code, rows in self.answers.items():
            kind_of(code).store_many(rows)
        _count(targets.values())

    def judgments(self, names: list[str]) -> Iterator[_Judgment]:
        with connection.cursor() as cursor:
            cursor.execute(
                """SELECT item, worker, line, answers, label, scores, reason, submitted_at, seconds
                   FROM import_vote WHERE item = ANY(%s) ORDER BY item, worker, line""",
                [names],
            )
            rows = cursor.fetchall()
        for (item, worker), group in groupby(rows, key=lambda row: row[:2]):
            yield from self.joined(item, worker, list(group))

    def joined(self, item: str, worker: str, rows: list[tuple]) -> Iterator[_Judgment]:
        """One judgment of the rows of one worker on one item; scores of several are joined."""
        scores: dict = {}
        label = rows[0][4]
        for row in rows:
            new = json.loads(row[5]) if isinstance(row[5], str) else row[5]
            if row[4] != label or any(
                scores.get(key, value) != value for key, value in new.items()
            ):
                self.fault(row[2], _("%s has given another vote on this item before") % worker)
                continue
            scores |= new
        times = [row[7] for row in rows if row[7]]
        seconds = [row[8] for row in rows if row[8] is not None]
        yield _Judgment(
            line=rows[0][2],
            item=item,
            worker=worker,
            answers=tuple(rows[0][3]),
            label=label,
            scores=scores,
            reason="\n".join(dict.fromkeys(row[6] for row in rows if row[6])),
            submitted_at=max(times, default=None),
            seconds=max(seconds, default=None),
        )

    def there(self, targets: dict[str, Target], people: dict[str, int]) -> dict[tuple, str]:
        """Digest of what each worker has said of these items already, voided votes too."""
        rows = Judgment.objects.filter(
            replaced_by=None,
            slot__item__in=[target.pk for target in targets.values()],
            annotator__in=people.values(),
        )
        return {
            (item, person): digest
            for item, person, digest in rows.values_list("slot__item_id", "annotator_id", "digest")
        }

    def place(self, judgment, targets, people) -> tuple[Target, int]:
        target = targets.get(judgment.item)
        if target is None:
            raise DomainError(_("the study has no item “%s”") % judgment.item[:80])
        return target, people[judgment.worker]

    def add(self, judgment, target: Target, person: int, taken: list, slots: list) -> None:
        target.shown = _order(judgment, target)
        body = _body(judgment, target, self.signed) | {"reason": judgment.reason}
        answer = target.kind.read(body, target)
        if target.open:
            slot = target.open.pop()
            taken.append((slot, person))
        else:
            slot = self.new_slot(target, person, slots)
        common = {
            "slot_id": slot,
            "annotator_id": person,
            "key": judgment.key,
            "digest": judgment.digest,
            # Which order the worker saw is not known.
            "shown": [],
            "reason": judgment.reason[:REASON_LIMIT],
            "seconds": judgment.seconds,
            "submitted_at": judgment.submitted_at or timezone.now(),
            "imported": True,
        }
        self.answers[target.kind.CODE].append((answer, target, common))
        target.added += 1
        if target.kind.COUNTED:
            target.counters[Item.COUNTERS[answer.label]] += 1

    def new_slot(self, target: Target, person: int, slots: list[Slot]):
        slot = Slot(
            study=self.study,
            item_id=target.pk,
            ordinal=target.next_ordinal,
            position=target.position,
            status=Slot.Status.DONE,
            annotator_id=person,
        )
        target.next_ordinal += 1
        slots.append(slot)
        return slot.pk


def _targets(study: Study, names: list[str]) -> dict[str, Target]:
    """The items of these ids, with their options and locked open slots."""
    items = Item.objects.filter(
        study=study, external_id__in=names, batch__purpose=Batch.Purpose.WORK
    ).annotate(last=Max("slots__ordinal"))
    targets = {}
    for item in items.select_related("batch__task"):
        task = item.batch.task
        config = _eased(config_of(task.kind, task.config))
        target = Target(item.pk, item.position, kind_of(task.kind), config, [], [], item.gold_id)
        target.next_ordinal = -1 if item.last is None else item.last
        target.next_ordinal += 1
        targets[item.external_id] = target
    by_pk = {target.pk: target for target in targets.values()}
    options = ItemOption.objects.filter(item__in=by_pk).select_related("candidate")
    for option in options.order_by("item", "number"):
        target, candidate = by_pk[option.item_id], option.candidate
        target.options.append(Option(option.pk, option.number, str(candidate.pk)))
        target.names.append((candidate.external_id, candidate.model))
    slots = Slot.objects.select_for_update().filter(item__in=by_pk, status=Slot.Status.OPEN)
    for item, slot in slots.order_by("item", "-ordinal").values_list("item_id", "pk"):
        by_pk[item].open.append(slot)
    return targets


def _eased(config: dict) -> dict:
    """Settings by which what was not collected elsewhere is not required."""
    return {key: "optional" if value == "required" else value for key, value in config.items()}


def _order(judgment: _Judgment, target: Target) -> tuple[int, ...]:
    """The options' numbers in the order of the row."""
    numbers = {name: place for place, (name, _model) in enumerate(target.names, start=1)}
    if set(judgment.answers) == numbers.keys():
        return tuple(numbers[name] for name in judgment.answers)
    return tuple(numbers.values())


def _body(judgment: _Judgment, target: Target, signed: bool) -> dict:
    """What the judgment says, in the words of the API's body of its kind."""
    return target.kind.imported_body(
        ImportedJudgment(
            label=judgment.label,
            config=target.config,
            answers=[target.options[number - 1].candidate for number in target.shown],
            choice=lambda label: _choice(label, target),
            scores=judgment.scores,
            signed=signed,
        )
    )


def _choice(label: str, target: Target) -> str:
    rows = [target.names[number - 1] for number in target.shown]
    choice = shape.choice_of(label, [row[0] for row in rows], [row[1] for row in rows])
    if choice is None:
        raise DomainError(_("the item has no answer “%s”") % label[:80])
    if choice.isdigit():
        return target.options[target.shown[int(choice) - 1] - 1].candidate
    if not target.config.get(choice):
        raise DomainError(_("the item's task allows no “%s”") % choice)
    return choice


def _people(study: Study, names: set[str]) -> dict[str, int]:
    """Accounts of the workers, without an address and unable to log in."""
    keys = {f"{study.slug}:{name}": name for name in names}
    accounts = User.objects.filter(worker__in=keys)
    missing = keys.keys() - set(accounts.values_list("worker", flat=True))
    if missing:
        password = make_password(None)
        User.objects.bulk_create(
            [User(worker=key, password=password, is_active=False) for key in sorted(missing)],
            # Another import may have made the same person a moment ago.
            ignore_conflicts=True,
        )
    return {keys[key]: pk for key, pk in accounts.all().values_list("worker", "pk")}


def _take_slots(taken: list[tuple]) -> None:
    """Mark locked open slots as done by their workers: (slot, worker) pairs."""
    if not taken:
        return
    slots, workers = zip(*taken, strict=True)
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE judging_slot s SET status = 'done', annotator_id = v.worker, returned = false
               FROM unnest(%s::uuid[], %s::bigint[]) v (id, worker) WHERE s.id = v.id""",
            [list(slots), list(workers)],
        )


def _count(targets) -> None:
    """Add the new votes to their items' counters; more votes than planned raise the overlap."""
    names = ("votes_1", "votes_2", "votes_3", "ties", "nones")
    rows = [
        (target.pk, target.added, *(target.counters[name] for name in names))
        for target in targets
        if target.added
    ]
    if not rows:
        return
    added = ", ".join(f"{name} = i.{name} + v.{name}" for name in ("done", *names))
    arrays = ", ".join(["%s::uuid[]"] + ["%s::int[]"] * 6)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""UPDATE judging_item i SET {added}, overlap = greatest(i.overlap, i.done + v.done)
                FROM unnest({arrays}) v (id, done, {", ".join(names)})
                WHERE i.id = v.id""",  # noqa: S608 - constants only
            [list(column) for column in zip(*rows, strict=True)],
        )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
