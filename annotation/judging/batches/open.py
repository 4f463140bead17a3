"""Open batches: make items, number them, insert their slots, and notify the owners of queries.

The message on an owner's desk is written in the transaction that opens the items, is shown in the
reader's language and leaves the desk with the last of the items. A mail follows where a mail server
is set; a mail that cannot be sent is logged, and the message stays.
"""

import hashlib
import logging
from collections.abc import Iterable
from functools import partial
from itertools import chain, count, islice
from typing import Any, cast
from uuid import uuid4

from django.conf import settings
from django.core.mail import send_mail
from django.db import connection, transaction
from django.db.models import Count, Exists, Max, OuterRef, QuerySet
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.dataclasses import dataclass as schema

from annotation import policies
from annotation.accounts.models import User
from annotation.candidates.models import Candidate
from annotation.core import audit, sql
from annotation.core.errors import Conflict, DomainError
from annotation.core.schema import asked, taken
from annotation.judging import ordering
from annotation.judging.kinds import kind_of
from annotation.judging.kinds.planning import EVERYTHING, NAMES_LIMIT, Scope
from annotation.judging.models import Batch, Checks, Item, ItemOption, ItemSet, Participation, Slot
from annotation.personas.models import Persona, PersonaVersion
from annotation.policies import holding
from annotation.studies.bundle_rows import OVERLAP_LIMIT
from annotation.studies.models import (
    SLUG_LIMIT,
    Membership,
    Message,
    Study,
    TaskDefinition,
    items_opened,
)
from annotation.studies.wording import localized

log = logging.getLogger(__name__)
# Rows of items (as of ``add_items``), each with its task.
Plan = list[tuple[TaskDefinition, dict]]
SET_LIMIT = 100
NO_CONTROL = gettext_lazy(
    "This task compares no answers to a query, so it can hide no control among them."
)
# Of several tasks that are opened together: one task after the other, all items of a question
# before those of the next, or all at random.
ORDERS = {
    "task": gettext_lazy("one task after the other"),
    "query": gettext_lazy("question by question"),
    "mixed": gettext_lazy("at random"),
}


@schema(frozen=True, kw_only=True)
class Opening(Scope):
    """A batch that is asked for."""

    task: str = asked("Name of the task", max_length=SLUG_LIMIT)
    also: list[str] = asked(gettext_lazy("Also items of these tasks"), [], max_length=NAMES_LIMIT)
    order: str = asked(gettext_lazy("Order between the tasks"), "task", choices=ORDERS)
    overlap: int | None = asked(
        gettext_lazy("Judgments an item"),
        None,
        gettext_lazy("0: models judge first, then you draw the items that people get."),
        ge=0,
        le=OVERLAP_LIMIT,
    )
    sets: int | None = asked(
        gettext_lazy("Sets of so many items of one person"),
        None,
        gettext_lazy(
            "Annotators may choose a person and a type of question, and go on set by set."
        ),
        ge=2,
        le=SET_LIMIT,
    )
    dry_run: bool = asked("Say what would be opened, and open nothing", False)

    @property
    def wanted(self) -> dict[str, Any]:
        """The arguments of ``open_batches`` apart from the tasks."""
        scope = Scope(**taken(Scope, vars(self)))
        return {"order": self.order, "overlap": self.overlap, "sets": self.sets, "scope": scope}


def open_batch(study: Study, task: TaskDefinition, **wanted: Any) -> Batch | None:
    """``open_batches`` of one task: its batch, or None where nothing was new."""
    return next(iter(open_batches(study, [task], **wanted)), None)


@transaction.atomic
def open_batches(
    study: Study,
    tasks: list[TaskDefinition],
    *,
    order: str = "task",
    overlap: int | None = None,
    sets: int | None = None,
    scope: Scope = EVERYTHING,
    seen: str = "",
    by: User | None = None,
) -> list[Batch]:
    """Plan items of what ``tasks`` ask about and do not have yet, and open their slots.

    The kind of each task plans them, within ``scope``; those of several tasks are handed out in
    ``order``, one of ORDERS. ``overlap`` is the number of judgments an item (default: the task's);
    with 0 nothing is handed out yet: models judge first, and votes are drawn (evaluation.draws).
    ``sets`` of so many items of one person and type of question follow one another (ItemSet).
    ``seen`` is the digest of the plan that somebody agreed to: Conflict where it would be another
    by now. Returns a batch for each task with something new. Raises DomainError where nothing can
    be planned for want of answers or of earlier judgments.
    """
    # Two openings at once would plan the same queries twice.
    Study.objects.select_for_update().get(pk=study.pk)
    plan = planned(study, tasks, order=order, sets=sets, scope=scope)
    if seen and seen != digest(plan):
        raise Conflict(
            _("The study has changed since: look at the batch once more."), code="changed"
        )
    if not plan:
        _refuse_lacking(study, tasks, scope)
    first = _last_position(study) + 1
    batches = []
    for task in tasks:
        votes = {"overlap": task.overlap if overlap is None else overlap}
        rows = {n: votes | row for n, (of, row) in enumerate(plan, first) if of is task}
        if rows:
            batches.append(add_items(study, task, [*rows.values()], positions=[*rows], by=by))
    if sets:
        _store_sets(study, plan, sets, first)
    return batches


def planned(
    study: Study,
    tasks: list[TaskDefinition],
    *,
    order: str = "task",
    sets: int | None = None,
    scope: Scope = EVERYTHING,
) -> Plan:
    """What ``open_batches`` with these arguments would open, in the order of hand-out."""
    plan = [(task, row) for task in tasks for row in _rows(study, task, scope)]
    if order == "query":
        turns: dict = {}
        for _task, row in plan:
            turns.setdefault(_subject(row), len(turns))
        plan.sort(key=lambda entry: turns[_subject(entry[1])])
    elif order == "mixed":
        plan = ordering.mixed(plan, "/".join(task.name for task in tasks))
    return [*chain(*_gathered(plan, sets))] if sets else plan


def _rows(study: Study, task: TaskDefinition, scope: Scope) -> list[dict]:
    kind = kind_of(task.kind)
    if scope.control and not kind.takes_control(task.config):
        raise DomainError(str(NO_CONTROL), code="control")
    rows: Iterable[dict] = kind.plan(study, task, scope)
    if scope.mixed:
        rows = ordering.mixed(sorted(rows, key=lambda row: row["external_id"]), task.name)
    return list(islice(rows, scope.number))


def _subject(row: dict) -> tuple:
    """The question that a row is about, else the person."""
    return ("query", row["query"].pk) if row.get("query") else ("persona", _persona(row))


def _gathered(plan: Plan, size: int) -> list[Plan]:
    """``plan`` in sets of at most ``size`` of a kind, in the order of their first rows."""
    made: list[Plan] = []
    current: dict[tuple, Plan] = {}
    for entry in plan:
        kin = _kin(entry[1])
        if len(current.get(kin, ())) % size == 0:  # none yet, or a full one
            current[kin] = []
            made.append(current[kin])
        current[kin].append(entry)
    return made


def _kin(row: dict) -> tuple[int | None, str]:
    """What the items of a set have in common: the person, and the type of question."""
    return _persona(row), row["query"].type if row.get("query") else ""


def _store_sets(study: Study, plan: Plan, size: int, first: int) -> None:
    """Store the sets of a plan, whose rows have the positions from ``first`` on."""
    sets = []
    for entries in _gathered(plan, size):
        persona, type_ = _kin(entries[0][1])
        last = first + len(entries) - 1
        sets.append(ItemSet(study=study, first=first, last=last, persona_id=persona, type=type_))
        first = last + 1
    ItemSet.objects.bulk_create(sets)


def digest(plan: Plan) -> str:
    """A name of the items that a plan makes, with their answers."""
    parts = [(row["external_id"], *map(str, row.get("candidates", ()))) for _task, row in plan]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _refuse_lacking(study: Study, tasks: list[TaskDefinition], scope: Scope) -> None:
    """DomainError where answers or judgments are wanting: then something could be planned."""
    if scope.control:
        raise DomainError(
            _("No query has a generic answer (A3) beside others that are not compared yet."),
            code="no_control",
        )
    for task in tasks:
        if lacking := kind_of(task.kind).lacking(study, task, scope):
            raise DomainError(lacking.sentence, code="lacking")


def tasks_of(study: Study, names: Iterable[str]) -> list[TaskDefinition]:
    """The newest versions of the tasks of these names, each once; DomainError where one is not."""
    newest = {task.name: task for task in study.tasks.order_by("version")}
    for name in names:
        if name not in newest:
            raise DomainError(
                _("The study has no task “%(name)s”. Its tasks: %(names)s.")
                % {"name": name[:60], "names": ", ".join(sorted(newest)) or _("none")},
                code="task",
            )
    return [newest[name] for name in dict.fromkeys(names)]


def add_items(
    study: Study,
    task: TaskDefinition,
    rows: list[dict],
    *,
    positions: Iterable[int] | None = None,
    purpose: str = Batch.Purpose.WORK,
    by: User | None = None,
) -> Batch:
    """Store items and open their slots, in the order given; part of the caller's transaction.

    ``positions`` are the items' in the study, greater than those that are there (default: next).

    Each row has ``external_id``, ``overlap``, ``candidates`` (ids in canonical order), ``query``,
    ``attribute`` and ``gold`` (rows or None) as the task's kind asks, and checks ``expected`` and
    ``explanation``. Only work gets slots: those of checks are made as they are handed out. A draft
    is opened by it; Conflict where an administrator has closed the study, DomainError where an
    owner's task meets a query without one, or an item is about a training persona.
    """
    _check(study, task, rows)
    bound = task.config.get("owner_only", False)
    batch = Batch.objects.create(study=study, task=task, size=len(rows), purpose=purpose)
    items = store_items(batch, rows, bound, positions)
    if purpose != Batch.Purpose.WORK:
        # Its being there is what makes the hand-out ask for checks.
        Checks.objects.get_or_create(study=study)
    else:
        insert_slots(batch, bound)
        # Who had nothing left looks again. A claim under way holds its desk: it ends before this.
        look_again(study)
        if bound:
            announce(batch, by)
        if study.status == Study.Status.DRAFT:
            study.status = Study.Status.OPEN
            study.save(update_fields=["status"])
    audit.record(by, "batch.open", batch, items=len(items), task=task.pk, purpose=purpose)
    return batch


def _check(study: Study, task: TaskDefinition, rows: list[dict]) -> None:
    if study.status == Study.Status.CLOSED:
        raise Conflict("The study is closed: an administrator can open it again.", code="closed")
    if task.config.get("owner_only") and any(
        row["query"] is None or row["query"].owner_id is None for row in rows
    ):
        raise DomainError(
            "Only the owner of a query judges in this task, and a query here has no owner.",
            code="no_owner",
        )
    if Persona.objects.filter(pk__in={_persona(row) for row in rows}, split="training").exists():
        raise DomainError(
            _("An item here is about a training persona: people judge the benchmark's alone."),
            code="training",
        )
    if task.config.get("attribute") and any(row.get("attribute") is None for row in rows):
        raise DomainError(
            _("This task shows an attribute of the person, and an item here names none."),
            code="no_attribute",
        )


def _last_position(study: Study) -> int:
    return Item.objects.filter(study=study).aggregate(last=Max("position"))["last"] or 0


def store_items(
    batch: Batch, rows: list[dict], bound: bool = False, positions: Iterable[int] | None = None
) -> list[Item]:
    """Store the items of ``rows`` (as of ``add_items``) with their options, without slots.

    ``bound``: each is its query's owner's alone.
    """
    study = batch.study
    items = [
        Item(
            id=row.get("id") or uuid4(),
            study=study,
            batch=batch,
            external_id=row["external_id"],
            query=row.get("query"),
            attribute=row.get("attribute"),
            gold=row.get("gold"),
            expected=row.get("expected"),
            explanation=row.get("explanation", ""),
            persona_version_id=version,
            position=position,
            # There is one owner.
            overlap=1 if bound else row["overlap"],
            chance=None if bound or row["overlap"] else 0.0,
        )
        for position, row, version in zip(
            positions or count(_last_position(study) + 1),
            rows,
            _versions(study, rows),
            strict=False,
        )
    ]
    Item.objects.bulk_create(items, batch_size=2000)
    ItemOption.objects.bulk_create(
        (
            ItemOption(item=item, number=number, candidate_id=candidate)
            for item, row in zip(items, rows, strict=True)
            for number, candidate in enumerate(row.get("candidates", ()), start=1)
        ),
        batch_size=5000,
    )
    return items


@transaction.atomic
def close_batch(batch: Batch, *, by: User | None = None) -> None:
    """Hand out nothing more of this batch; what people hold may still be submitted."""
    Batch.objects.filter(pk=batch.pk, closed_at=None).update(closed_at=Now())
    Slot.objects.filter(item__batch=batch, status=Slot.Status.OPEN).update(
        status=Slot.Status.CLOSED
    )
    audit.record(by, "batch.close", batch)


def hold_back(items: QuerySet[Item]) -> int:
    """Hand out nothing more of ``items``, nor what comes back of them; how many slots that closes.

    What people hold may still be submitted.
    """
    items.filter(retired_at=None).update(retired_at=Now())
    slots = Slot.objects.filter(item__in=items, status=Slot.Status.OPEN)
    return slots.update(status=Slot.Status.CLOSED)


@transaction.atomic
def reopen_batch(batch: Batch, *, by: User | None = None) -> int:
    """Hand out what a closed batch still lacks; how many slots that is. Conflict in a closed study.

    Items that were held back or stopped early stay so.
    """
    if batch.study.status == Study.Status.CLOSED:
        raise Conflict(_("The study is closed: an administrator can open it again."), code="closed")
    Batch.objects.filter(pk=batch.pk).update(closed_at=None)
    changed = reopen_slots(batch.study, Item.objects.filter(batch=batch, retired_at=None))
    audit.record(by, "batch.reopen", batch, slots=changed)
    return changed


def reopen_slots(study: Study, items: Iterable[Item]) -> int:
    """Hand out the closed slots of ``items`` again, before new items; how many those are.

    Not of those that were stopped early, nor an owner's whose judgment of the item was taken out.
    """
    had = Slot.objects.filter(item=OuterRef("item"), annotator=OuterRef("reserved_for"))
    slots = Slot.objects.filter(~Exists(had), item__in=items, status=Slot.Status.CLOSED)
    changed = slots.filter(item__stopped=None).update(status=Slot.Status.OPEN, returned=True)
    look_again(study)
    return changed


def look_again(study: Study) -> None:
    """Who had nothing left looks again."""
    Participation.objects.filter(study=study, exhausted_at__isnull=False).update(exhausted_at=None)


def _versions(study: Study, rows: list[dict]) -> list:
    """The persona version of each row: the one its answers were written for, else the newest."""
    personas = {_persona(row) for row in rows}
    versions = PersonaVersion.objects.filter(persona__in=personas).order_by("version")
    newest = dict(versions.values_list("persona_id", "pk"))
    shown = {candidate for row in rows for candidate in row.get("candidates", ())}
    answers = Candidate.objects.filter(sql.among("pk", shown)).exclude(persona_version=None)
    written = dict(answers.values_list("pk", "persona_version_id"))
    chosen = []
    for row in rows:
        written_for = {written[pk] for pk in row.get("candidates", ()) if pk in written}
        chosen.append(
            written_for.pop() if len(written_for) == 1 else newest.get(_persona(row) or 0)
        )
    return chosen


def _persona(row: dict) -> int | None:
    about = row.get("query") or row.get("attribute")
    return about.persona_id if about else None


def ask_for_more(items: list[Item], overlap: int) -> int:
    """Open slots of ``items`` up to ``overlap`` judgments each; how many slots those are.

    They are handed out before new items. An item that waited to be drawn is there for certain then.
    The caller holds the items' lock.
    """
    rows = Item.objects.filter(sql.among("pk", [item.pk for item in items]))
    owners = dict(rows.values_list("pk", "query__owner"))
    # Of an item that was stopped early the last ordinal is not its overlap less one.
    last = dict(rows.values_list("pk").annotate(last=Max("slots__ordinal", default=-1)))
    slots = [
        Slot(
            study_id=item.study_id,
            item=item,
            ordinal=last[item.pk] + n,
            position=cast(int, item.position),
            withheld_from_id=owners[item.pk],
            returned=True,
        )
        for item in items
        for n in range(1, overlap - item.overlap + 1)
    ]
    for item in items:
        if item.chance is not None and not item.overlap:
            item.chance = 1.0
        item.overlap = max(item.overlap, overlap)
    Item.objects.bulk_update(items, ["overlap", "chance"], batch_size=1000)
    Slot.objects.bulk_create(slots, batch_size=5000)
    return len(slots)


def insert_slots(batch: Batch, bound: bool = False) -> None:
    """Open the slots of a batch whose items are stored; ``bound``: for their owners alone."""
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO judging_slot (id, study_id, item_id, ordinal, position, status, returned,
                                         reserved_for_id, withheld_from_id)
               SELECT gen_random_uuid(), i.study_id, i.id, n, i.position, 'open', false,
                      CASE WHEN %(bound)s THEN q.owner_id END,
                      CASE WHEN NOT %(bound)s THEN q.owner_id END
               FROM judging_item i LEFT JOIN queries_query q ON q.id = i.query_id,
                    generate_series(0, i.overlap - 1) n
               WHERE i.batch_id = %(batch)s""",
            {"batch": batch.pk, "bound": bound},
        )
        slots = cursor.rowcount
    # The hand-out reads these tables at once; the planner must not take them for empty. After the
    # commit: until its transaction ends, ANALYZE keeps that of every other import waiting.
    tables = (Slot, Item, ItemOption, Batch, Candidate, TaskDefinition, Study, Membership)
    transaction.on_commit(partial(sql.analyze_grown, slots, *tables), robust=True)


# Notices for the owners of queries


def announce(batch: Batch, by: User | None = None) -> int:
    """Write a message to each owner whose items ``batch`` opened; how many messages.

    Part of the transaction that opens the batch. ``by`` opened it; where a worker did, the message
    comes from the first who manages the study.
    """
    sender = by or _manager(batch)
    if sender is None:
        return 0
    counts = _counts(batch)
    owners = User.objects.in_bulk(counts)
    Message.objects.bulk_create(
        Message(
            study=batch.study,
            sender=sender,
            audience=Message.Audience.PERSON,
            recipient=owner,
            body=_sentence(owner, count),
            items=count,
            batch_number=batch.pk,
        )
        for owner, count in ((owners[pk], count) for pk, count in counts.items())
    )
    if settings.EMAIL_URL and owners:
        transaction.on_commit(lambda: _request_mail(batch.pk))
    return len(owners)


def mail(batch_id: int) -> int:
    """Mail to each owner what ``announce`` wrote on their desks; how many mails were sent."""
    batch = Batch.objects.select_related("study").get(pk=batch_id)
    counts, sent = _counts(batch), 0
    link = settings.BASE_URL + reverse("owner-steps", args=[batch.study.slug])
    for owner in User.objects.filter(pk__in=counts, is_active=True):
        with translation.override(owner.language or settings.LANGUAGE_CODE):
            subject = settings.ACCOUNT_EMAIL_SUBJECT_PREFIX + localized(batch.study, "title")
            body = f"{_sentence(owner, counts[owner.pk])}\n\n{link}\n"
        try:
            sent += send_mail(" ".join(subject.split()), body, None, [owner.email or ""])
        except OSError as error:
            log.warning("batch %s: no mail to %s (%s)", batch_id, owner.pk, type(error).__name__)
    return sent


def _counts(batch: Batch) -> dict[int, int]:
    slots = Slot.objects.filter(item__batch=batch).exclude(reserved_for=None)
    rows = slots.values("reserved_for").annotate(n=Count("pk")).order_by()
    return dict(rows.values_list("reserved_for", "n"))


def _sentence(owner: User, count: int) -> str:
    with translation.override(owner.language or settings.LANGUAGE_CODE):
        return items_opened(count)


def _manager(batch: Batch) -> User | None:
    roles = holding(policies.batch.may_change)
    members = batch.study.memberships.filter(role__in=roles, left_at=None)
    member = members.select_related("user").order_by("pk").first()
    return member.user if member else None


def _request_mail(batch_id: int) -> None:
    # Here, because every command that can open items imports this module, and most send no mail.
    import redis
    from kombu.exceptions import OperationalError

    from annotation.celery import app

    try:
        app.send_task("annotation.judging.tasks.mail_owners", [batch_id])
    except (OperationalError, redis.RedisError) as error:
        log.warning("no broker (%s): no mail for batch %s", type(error).__name__, batch_id)
