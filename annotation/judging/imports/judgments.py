"""Stores judgments that were made elsewhere, of every kind: each is read by its task's kind.

Each takes an open slot of its item. Workers become accounts that nobody can log in to.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID, uuid4

from django.contrib.auth.hashers import make_password
from django.db import connection, transaction
from django.db.models import Max, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit, sql
from annotation.core.errors import Conflict, DomainError
from annotation.judging.kinds import Answer as Content
from annotation.judging.kinds import Kind, answers_of, config_of_task, kind_of
from annotation.judging.kinds.body import REASON_LIMIT, common_columns
from annotation.judging.models import Answer, Batch, Item, ItemOption, Judgment, Participation, Slot
from annotation.judging.work import hidden_checks
from annotation.judging.work.submit import KEY_LIMIT, Option
from annotation.questions.base import Row
from annotation.studies.models import Study, TaskDefinition

FIRST_YEAR = datetime(1970, 1, 1, tzinfo=UTC)
WORKER_LIMIT = User._meta.get_field("worker").max_length

# The first key of the advisory locks that imports hold, the study being the second.
_IMPORTS = 0x17A9
_WRITERS = """
    SELECT w.virtualtransaction FROM pg_locks w
    WHERE w.locktype = 'relation' AND w.relation = %(table)s::regclass
    AND w.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND w.mode = 'RowExclusiveLock' AND w.granted AND w.pid <> pg_backend_pid()
    AND NOT EXISTS (
        SELECT FROM pg_locks i WHERE i.locktype = 'advisory' AND i.database = w.database
        AND i.classid = %(imports)s AND i.objid <> %(study)s AND i.objsubid = 2
        AND i.virtualtransaction = w.virtualtransaction)"""


@dataclass
class Target:
    """An item that judgments are stored on: what its kind reads, and what happened to it."""

    pk: UUID
    position: int
    overlap: int
    kind: Kind
    config: dict
    # "" for none. Asking the kind for it at each row would take as long as reading the row.
    counted_question: str
    gold: int | None
    next_ordinal: int
    options: list[Option] = field(default_factory=list)
    # (external id, model) of each option.
    names: list[tuple[str, str]] = field(default_factory=list)
    open: list = field(default_factory=list)
    counts: Counter = field(default_factory=Counter)
    added: int = 0
    # The options' numbers in the order of the row that is read.
    shown: tuple[int, ...] = ()

    def without(self, settings: Sequence[str]) -> "Target":
        """The item as it was judged with these settings off."""
        return (
            replace(self, config=self.config | dict.fromkeys(settings, False)) if settings else self
        )

    def counted(self, answer: Content) -> str:
        """The label under which an answer is counted on the item; "" where none is."""
        stated = answer.of(self.counted_question).stated if self.counted_question else None
        return "" if stated is None else str(stated)

    def candidates(self) -> dict[str, str]:
        """{id of an answer in files: id of its candidate}."""
        pairs = zip(self.names, self.options, strict=True)
        return {name: option.candidate for (name, _model), option in pairs}

    def order(self, names: Sequence[str]) -> tuple[int, ...]:
        """The options' numbers in the order of ``names``; () where these are other answers."""
        numbers = {name: place for place, (name, _model) in enumerate(self.names, start=1)}
        return tuple(numbers[name] for name in names) if set(names) == numbers.keys() else ()


@dataclass(frozen=True)
class Imported:
    """The judgment of one worker on one item.

    ``place`` names the row where it is faulty; ``answers`` are the ids of the item's answers in the
    order of the row; ``body(target)`` is the API's body of the item's kind, or raises DomainError;
    ``words`` is its text in the file, of which its digest is made; ``shown`` are the ids of the
    answers as the worker saw them, if that is known; ``marked`` has ``flags``, ``chips`` and
    ``marks`` as in an API body, but with ids of answers as in files; ``off(target)`` names settings
    that did not apply to this answer.
    """

    place: Any
    item: str
    worker: str
    body: Callable[[Target], dict]
    words: Any
    answers: Sequence[str] = ()
    reason: str = ""
    submitted_at: datetime | None = None
    seconds: float | None = None
    shown: Sequence[str] = ()
    marked: dict = field(default_factory=dict)
    off: Callable[[Target], Sequence[str]] = lambda target: ()
    revision: int = 1
    # How often the worker had judged the item before; from 1 on it is stored as a repeat.
    repeat: int = 0

    @property
    def name(self) -> str:
        """The id of the item that it is stored on: a repeat's is a copy for its worker alone."""
        if not self.repeat:
            return self.item
        return f"repeat-{_sha256(json.dumps([self.item, self.worker, self.repeat]))}"

    @property
    def key(self) -> str:
        """The key of the submit: one judgment of a worker on an item."""
        key = f"import:{self.name}:{self.worker}"
        return key if len(key) <= KEY_LIMIT else f"import:{_sha256(key)}"


class Storing:
    """One import of judgments into ``study``, some at a time, with the id of their provenance.

    ``fault(place, reason)`` takes those that do not fit. ``beyond``: an item without an open slot
    gets a new one, its overlap grows; otherwise its judgment is a fault.
    """

    def __init__(
        self,
        study: Study,
        fault: Callable[[Any, str], None],
        *,
        beyond: bool,
        provenance: int | None = None,
    ) -> None:
        self.study, self.fault, self.beyond, self.provenance = study, fault, beyond, provenance
        # Of every judgment that is in the study now, its item's position, which repeat it is, and
        # its worker in one number: a million of them take 60 MB.
        self._pairs: set[int] = set()
        # Single scores of those judgments.
        self.scores = 0

    def counts(self) -> dict[str, int]:
        """How many ``votes`` of the file, on how many ``items`` by how many ``workers``."""
        return {
            "votes": len(self._pairs),
            "items": len({pair >> 72 for pair in self._pairs}),
            "workers": len({pair & ((1 << 64) - 1) for pair in self._pairs}),
        }

    def store(self, rows: Sequence[Imported], *, write: bool = True) -> list[Imported]:
        """Store some judgments; those that are in the study now. Part of a transaction.

        A worker's second judgment of an item is left out: silently where it is the same. Without
        ``write`` they are only read, counted and found faulty.
        """
        self._people = _people(self.study, {row.worker for row in rows})
        copies = _copied(self.study, [row for row in rows if row.repeat], self._people)
        self._targets = _targets(self.study, {row.item for row in rows}, copies)
        # Read after the slots were locked: whoever held them has finished.
        self._labels = _labels_there(self._targets.values(), self._people.values())
        self._taken: list[tuple] = []
        self._slots: list[dict] = []
        # (the answer's rows, the judgment's columns)
        self._judged: list[tuple[Sequence[Row], dict]] = []
        stored = []
        for row in rows:
            try:
                self._add(row)
            except DomainError as refusal:
                self.fault(row.place, refusal.sentence)
            else:
                stored.append(row)
        if write:
            _take_slots(self._taken)
            sql.copy(Slot, self._slots)
            last = _store(self._judged)
            _count(self._targets.values(), last)
        return stored

    def _add(self, row: Imported) -> None:
        target = self._targets.get(row.name)
        if target is None:
            raise DomainError(_("the study has no item “%s”") % row.item[:80])
        if row.worker not in self._people:
            raise DomainError(_("the worker's name is too long: %s…") % row.worker[:80])
        person = self._people[row.worker]
        target.shown = target.order(row.answers) or tuple(range(1, len(target.options) + 1))
        answer = target.kind.read(row.body(target), target.without(row.off(target)))
        pair = (target.pk, person)
        if pair in self._labels:
            if self._labels[pair] != answer.label:
                raise DomainError(_("%s has given another vote on this item before") % row.worker)
        else:
            common = _common(row, target) | {"provenance_id": self.provenance}
            slot = self._slot(target, person)
            self._labels[pair] = answer.label
            columns = {"slot_id": slot, "annotator_id": person, **common}
            self._judged.append((answer.rows, columns))
            target.added += 1
            if label := target.counted(answer):
                target.counts[label] += 1
        key = target.position << 72 | row.repeat << 64 | person
        if key not in self._pairs and target.kind.shape == "scores":
            self.scores += len(answer.label)
        self._pairs.add(key)

    def _slot(self, target: Target, person: int) -> UUID:
        """The slot of the next judgment: one that is open, else a new one."""
        if target.open:
            slot = target.open.pop()
            self._taken.append((slot, person))
            return slot
        if not self.beyond:
            words = _("none of the item's %d judgments is open: they are done, held or closed")
            raise DomainError(words % target.overlap)
        key = uuid4()
        new = {"id": key, "study_id": self.study.pk, "item_id": target.pk, "status": "done"}
        new |= {"ordinal": target.next_ordinal, "position": target.position}
        target.next_ordinal += 1
        self._slots.append(new | {"annotator_id": person})
        return key


def widen(task: TaskDefinition, settings: dict, by: User | None) -> None:
    """Give a task further ``settings`` (``files.wider``); Conflict where people have judged it."""
    judged = Judgment.objects.filter(slot__item__batch__task=task, imported=False)
    if judged.exists():
        words = _("People have judged under the task “%s” as it is: name a new task for this file.")
        raise Conflict(words % task.name, code="judged")
    task.config = kind_of(task.kind).check_config(config_of_task(task) | settings)
    task.save(update_fields=["config"])
    audit.record(by, "task.widen", task, settings=sorted(settings))


def analyze() -> None:
    sql.analyze(Slot, Judgment, Answer, Participation, User)


def _store(judged: Sequence[tuple[Sequence[Row], dict]]) -> int:
    """Add judgments with their answers: (the answer's rows, the judgment's columns).

    Returns the key of the newest.
    """
    keys = sql.copy(Judgment, [columns for _rows, columns in judged])
    sql.copy(
        Answer,
        [
            row.columns | {"judgment_id": key}
            for key, (rows, _columns) in zip(keys, judged, strict=True)
            for row in rows
        ],
    )
    return max(keys, default=0)


def _common(row: Imported, target: Target) -> dict:
    columns = {"reason": row.reason, "flags": [], "chips": [], "marks": [], "circumstances": {}}
    if any(row.marked.values()):
        columns = common_columns({"reason": row.reason, **_marked(row.marked, target)}, target)
    return columns | {
        "key": row.key,
        "digest": _sha256(json.dumps([row.item, row.worker, row.words])),
        "shown": list(target.order(row.shown)) if row.shown else [],
        "seconds": row.seconds,
        "submitted_at": row.submitted_at or timezone.now(),
        "revision": row.revision,
        "imported": True,
        "dated": row.submitted_at is not None,
    }


def _marked(marked: dict, target: Target) -> dict:
    """``marked`` with the candidates of the answers that its marks name."""
    ids = target.candidates()
    if not all(isinstance(mark, dict) for mark in marked.get("marks") or ()):
        raise DomainError(_("The marked passages cannot be read."))
    marks = [
        mark | {"option": ids.get(str(mark.get("option")), "")}
        for mark in marked.get("marks") or ()
    ]
    return marked | {"marks": marks}


def _copied(study: Study, rows: Sequence[Imported], people: dict[str, int]) -> set[str]:
    """Make the copies of items that repeats are stored on, where they are missing; their ids."""
    names = {row.name: row for row in rows if row.worker in people}
    copies = Item.objects.filter(sql.among("external_id", names), study=study)
    there = set(copies.values_list("external_id", flat=True)) if names else set()
    missing = {name: row for name, row in names.items() if name not in there}
    wanted = {row.item for row in missing.values()}
    work = study.items.work().filter(sql.among("external_id", wanted)).select_related("batch")
    items = {item.external_id: item for item in work.prefetch_related("options")} if wanted else {}
    for name, row in missing.items():
        if old := items.get(row.item):
            batch = hidden_checks.batch_of_copies(old.batch, Batch.Purpose.REPEAT)
            hidden_checks.copy(old, people[row.worker], batch, name)
    return set(names)


def _targets(study: Study, names: Iterable[str], copies: Collection[str]) -> dict[str, Target]:
    """The items of these ids and the ``copies``, with their options and locked open slots."""
    items = Item.objects.filter(sql.among("external_id", [*names, *copies]), study=study)
    items = items.annotate(last=Max("slots__ordinal"))
    work = Q(batch__purpose=Batch.Purpose.WORK)
    items = items.filter(work | Q(external_id__in=copies)).select_related("repeats")
    # A batch has thousands of items: its task is read once.
    tasks = Batch.objects.filter(study=study).select_related("task")
    asked = {batch.pk: _asked(batch.task) for batch in tasks}
    targets = {}
    for item in items:
        targets[item.external_id] = Target(
            item.pk,
            (item.repeats or item).position or 0,
            item.overlap,
            *asked[item.batch_id],
            item.gold_id,
            next_ordinal=0 if item.last is None else item.last + 1,
        )
    by_pk = {target.pk: target for target in targets.values()}
    options = ItemOption.objects.filter(sql.among("item_id", by_pk)).order_by("item", "number")
    fields = ("item_id", "number", "candidate_id")
    names = ("candidate__external_id", "candidate__model")
    for item, number, candidate, *name in options.values_list(*fields, *names):
        by_pk[item].options.append(Option(number, str(candidate)))
        by_pk[item].names.append(tuple(name))
    slots = Slot.objects.select_for_update().filter(
        sql.among("item_id", by_pk), status=Slot.Status.OPEN
    )
    for item_id, slot in slots.order_by("item", "-ordinal").values_list("item_id", "pk"):
        by_pk[item_id].open.append(slot)
    return targets


def _asked(task: TaskDefinition) -> tuple[Kind, dict, str]:
    """Kind and settings of a task, and the question whose labels are counted; "" for none.

    By these settings what was not collected elsewhere is not required.
    """
    kind, config = kind_of(task.kind), config_of_task(task)
    config = {key: "optional" if value == "required" else value for key, value in config.items()}
    counted = kind.counted_question(config)
    return kind, config, counted.name if counted else ""


def _labels_there(targets: Iterable[Target], people: Iterable[int]) -> dict[tuple, Any]:
    """{(item, worker): label} of what these people judged of these items before.

    The voided ones too: who was taken out of an item is never given it again.
    """
    rows = Judgment.objects.filter(
        sql.among("slot__item_id", [target.pk for target in targets]),
        sql.among("annotator_id", people),
        replaced_by=None,
    ).values_list("pk", "slot__item_id", "annotator_id", "slot__item__batch__task__kind")
    judged = list(rows)
    answers = answers_of({pk: kind for pk, _item, _person, kind in judged})
    return {(item, person): answers[pk].label for pk, item, person, _kind in judged}


def _people(study: Study, names: set[str]) -> dict[str, int]:
    """Accounts of the workers, without an address and unable to log in.

    A name that is too long has none.
    """
    keys = {f"{study.slug}:{name}": name for name in names}
    keys = {key: name for key, name in keys.items() if len(key) <= cast(int, WORKER_LIMIT)}
    accounts = User.objects.filter(worker__in=keys)
    missing = keys.keys() - set(accounts.values_list("worker", flat=True))
    if missing:
        password = make_password(None)
        User.objects.bulk_create(
            [User(worker=key, password=password, is_active=False) for key in sorted(missing)],
            # Another import may have made the same person a moment ago.
            ignore_conflicts=True,
        )
    return {keys[key]: pk for key, pk in accounts.all().values_list("worker", "pk") if key}


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


def _count(targets: Iterable[Target], last: int) -> None:
    """Add the new votes, up to the judgment ``last``, to their items' counts.

    More votes than planned raise the overlap; those of who holds a slot are still to come.
    """
    rows = [(target.pk, target.added, json.dumps(target.counts)) for target in targets
            if target.added]  # fmt: skip
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE judging_item i
               SET done = i.done + v.done, last_judgment = %s,
                   overlap = greatest(i.overlap, (
                       SELECT count(*) FROM judging_slot s
                       WHERE s.item_id = i.id AND s.status IN ('open', 'held', 'done'))),
                   counts = (
                       SELECT coalesce(jsonb_object_agg(label, n), '{}')
                       FROM (SELECT label, sum(votes::int) AS n
                             FROM (SELECT * FROM jsonb_each_text(i.counts)
                                   UNION ALL SELECT * FROM jsonb_each_text(v.counts))
                                 AS counted (label, votes)
                             GROUP BY label) AS summed)
               FROM unnest(%s::uuid[], %s::int[], %s::jsonb[]) v (id, done, counts)
               WHERE i.id = v.id""",
            [last, *(list(column) for column in zip(*rows, strict=True))],
        )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# --- Imports into one study take turns; releases of other studies need not wait for them


def take_turn(study: Study) -> Study:
    """Lock ``study`` for an import until the transaction ends; its row as it is then.

    Judging goes on meanwhile. Call it before the first judgment is stored.
    """
    locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_IMPORTS, _key(study)])
    return locked


def writers(study: Study) -> set[str]:
    """The transactions that may be storing judgments of ``study`` now, by their virtual ids.

    All that write judgments, save imports into other studies.
    """
    values: dict[str, Any] = {
        "table": Judgment._meta.db_table,
        "imports": _IMPORTS,
        "study": _key(study),
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_WRITERS, values)
        return {row[0] for row in cursor.fetchall()}


def _key(study: Study) -> int:
    # Two studies of one key would wait for each other, no more.
    return study.pk % (1 << 31)


# --- Fields of judgments in files ----------------------------------------------------------------


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise DomainError(f"{name} must be text")
    if "\x00" in value:
        raise DomainError(f"{name} holds a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DomainError(f"{name} is not valid UTF-8 text") from error
    return value.strip()


def name(value: object, column: str) -> str:
    """A name or an id; DomainError, which names the column, where there is none."""
    # JSON may spell an id or a worker as a number.
    value = _text(str(value) if type(value) is int else value or "", column)
    if not value:
        raise DomainError(f"{column} is missing")
    return value


def moment(value: object) -> datetime | None:
    """A time in ISO 8601, without a zone in UTC; None for nothing. DomainError for no such time."""
    if value in (None, ""):
        return None
    try:
        at = datetime.fromisoformat(_text(value, "submitted_at"))
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
    except ValueError as error:
        raise DomainError("submitted_at is not a time in ISO 8601") from error
    if not FIRST_YEAR <= at <= timezone.now() + timedelta(days=1):
        raise DomainError("submitted_at lies before 1970 or in the future")
    return at


def reason(value: object) -> str:
    """A text of at most REASON_LIMIT characters, nothing included; DomainError."""
    text = _text("" if value is None else value, "reason")
    if len(text) > REASON_LIMIT:
        raise DomainError(f"the reason has more than {REASON_LIMIT:,} characters")
    return text
