"""One submit: check, store, count, and hand out the next slot, in one transaction; and drafts."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Min, OuterRef, Subquery
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import sql
from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.core.records import number_of
from annotation.judging import ordering
from annotation.judging.kinds import Answer as Content
from annotation.judging.kinds import Kind, config_of, kind_of
from annotation.judging.kinds.body import common_columns
from annotation.judging.kinds.kind import Data
from annotation.judging.models import (
    Answer,
    Batch,
    Draft,
    Handback,
    Item,
    Judgment,
    Participation,
    Slot,
    recounted,
)
from annotation.judging.work import queue
from annotation.studies.models import Study

KEY_LIMIT = 200
SECONDS_LIMIT = 7 * 24 * 3600
DRAFT_LIMIT = 400_000
# The slot as it is after the wait for whoever had locked it, with what its item shows.
_LOCK = """
    SELECT s.id, s.item_id, s.ordinal, s.status, s.annotator_id, t.kind, t.config, b.purpose,
           i.gold_id, statement_timestamp(),
           (SELECT array_agg(ARRAY[o.number::text, o.candidate_id::text])
            FROM judging_itemoption o WHERE o.item_id = s.item_id)
    FROM judging_slot s
    JOIN judging_item i ON i.id = s.item_id
    JOIN judging_batch b ON b.id = i.batch_id
    JOIN studies_taskdefinition t ON t.id = b.task_id
    WHERE s.id = %(slot)s AND s.study_id = %(study)s
    FOR UPDATE OF s"""
# Prepared, unlike the ORM's two statements, which took a tenth of a submit's time.
_CLOSE = """
    WITH draft AS (
        DELETE FROM judging_draft WHERE slot_id = %(slot)s AND annotator_id = %(annotator)s
    )
    UPDATE judging_slot
    SET status = 'done', annotator_id = %(annotator)s, returned = false, lease_expires_at = NULL
    WHERE id = %(slot)s RETURNING id"""
# A label that is not counted is empty.
_COUNT = """
    UPDATE judging_item
    SET done = done + %(done)s, last_judgment = %(judgment)s,
        counts = counts || CASE WHEN %(label)s::text = '' THEN '{}'::jsonb ELSE
            jsonb_build_object(%(label)s::text, coalesce((counts ->> %(label)s)::int, 0) + 1) END
    WHERE id = %(item)s RETURNING id"""

# Locked, so that a draft cannot come between a submit's rows. By its id alone: see present.
_OF_DRAFT = """
    SELECT study_id, annotator_id, status FROM judging_slot
    WHERE id = %(slot)s AND status IN ('held', 'done') FOR NO KEY UPDATE"""
_KEEP_DRAFT = """
    WITH renewed AS (
        UPDATE judging_slot SET lease_expires_at = now() + %(lease)s::interval
        WHERE (id = %(slot)s OR lead = %(slot)s AND status = 'held')
          AND %(lease)s::interval IS NOT NULL)
    INSERT INTO judging_draft (slot_id, annotator_id, data, saved_at)
    VALUES (%(slot)s, %(me)s, %(data)s::jsonb, now())
    ON CONFLICT (slot_id, annotator_id) DO UPDATE
    SET data = EXCLUDED.data, saved_at = EXCLUDED.saved_at
    RETURNING id"""
# A field of a screen with several items is named after its slot.
_NAMED = re.compile(r"(?s)(.+)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
# Of a screen's fields so many are looked at.
FIELDS_LIMIT = 200
# Fields of the page that are no part of an answer.
TECHNICAL = {"csrfmiddlewaretoken", "slot", "key", "seconds", "circumstances", "submit", "change"}


@dataclass(frozen=True)
class Submitted:
    """A stored judgment; ``repeated`` where the same submit had been stored before.

    ``next_slot`` is the id of the slot handed out with it, or None; ``training``: its item explains
    itself now.
    """

    judgment: Judgment
    repeated: bool
    next_slot: UUID | None = None
    training: bool = False


@dataclass(frozen=True)
class Option:
    """One of an item's answers: its canonical number, and its candidate."""

    number: int
    candidate: str


@dataclass(frozen=True)
class Held:
    """A locked slot with what its task's kind needs to read an answer.

    ``done``: judged before; ``lapsed``: the lease had run out, and nobody has the slot since;
    ``counts``: not a check; ``training``: a check that explains itself; ``shown``: the options'
    numbers in the order shown; ``at`` is the database's time.
    """

    slot: UUID
    item: UUID
    done: bool
    lapsed: bool
    kind: Kind
    config: dict
    options: list[Option]
    counts: bool
    training: bool
    gold: int | None
    shown: tuple[int, ...]
    at: datetime


@dataclass(frozen=True)
class _Sent:
    """What one submit sends: a form or an API body, its key, and the digest of its words."""

    data: Data
    key: str
    digest: str
    seconds: float | None


@dataclass(frozen=True)
class _Part:
    """An answer to one slot, that was read; a screen with several items gives several."""

    held: Held
    sent: _Sent
    answer: Content
    replaces: Judgment | None = None


def submit(
    study: Study,
    slot_id: UUID,
    annotator: User,
    data: Data,
    *,
    key: str,
    seconds: object = None,
    claim_next: bool = False,
) -> Submitted:
    """Store the annotator's answer to a slot of ``study``, once, and take the next if asked to.

    ``data`` is a form or an API body; ``key`` names the submit: the same key again is answered
    without storing anything, as long as the answer is the same. ``seconds`` is the active time.
    Raises NotFound where the slot is not this person's, Conflict where somebody else has it by now
    or the key carried other words, DomainError where the answer is incomplete. Whatever is raised,
    nothing was stored.
    """
    sent = _check_sent(slot_id, data, key, seconds)
    with _refuse_used_keys(), transaction.atomic():
        participation, held, repeated = _guard(study, slot_id, annotator, sent)
        if held.done and not repeated:
            raise Conflict(_("You have judged this item already."), code="already_judged")
        if participation.excluded_at and not repeated:
            raise Conflict(_("You take no part in this study any more."), code="excluded")
        parts = [] if repeated else _read(study, held, annotator, sent)
        judgments = [_store(part, annotator) for part in parts]
        for part, judgment in zip(parts, judgments, strict=True):
            _count(part, judgment)
        next_slot = _next(participation, held, len(parts), claim_next=claim_next)
    return Submitted(repeated or judgments[0], repeated is not None, next_slot, held.training)


def revise(
    study: Study, slot_id: UUID, annotator: User, data: Data, *, key: str, seconds: object = None
) -> Submitted:
    """Store a new answer in place of the annotator's own to ``slot_id``; the old one stays stored.

    Arguments and idempotency as of ``submit``. Raises NotFound where this person has not judged the
    slot, Conflict where the study's window for edits is over, DomainError for a wrong answer.
    """
    sent = _check_sent(slot_id, data, key, seconds)
    with _refuse_used_keys(), transaction.atomic():
        _participation, held, repeated = _guard(study, slot_id, annotator, sent)
        if repeated:
            return Submitted(repeated, repeated=True)
        old = own_judgment(study, slot_id, annotator)
        if not editable(study, old):
            raise Conflict(_("The time to change this answer is over."), code="too_late")
        part = _Part(held, sent, held.kind.read(data, held), old)
        judgment = _store(part, annotator)
        _count(part, judgment)
    return Submitted(judgment, repeated=False)


@transaction.atomic
def save_draft(
    study: Study, slot_id: UUID, annotator: User, data: dict, *, change: bool = False
) -> None:
    """Keep ``data`` (field: list of text) as this person's draft of a slot, over the earlier one.

    Whoever types still works: a held slot's lease is renewed. ``change``: the draft is of
    a change to an answer already given. Raises NotFound where the slot is not this person's,
    Conflict where the answer was given meanwhile (in another tab, or just before a late draft
    came in), DomainError where there is too much.
    """
    data = {_storable(name): [_storable(text) for text in texts] for name, texts in data.items()}
    stored = json.dumps(data)
    if len(stored) > DRAFT_LIMIT:
        raise DomainError(
            _("A draft has at most %(n)d characters.") % {"n": DRAFT_LIMIT}, code="too_long"
        )
    *whose, status = sql.first(_OF_DRAFT, {"slot": slot_id}) or [None]
    if whose != [study.pk, annotator.pk]:
        raise NotFound(_("You do not hold this item."))
    if (status == Slot.Status.DONE) != change:
        raise Conflict(_("You have judged this item already."), code="already_judged")
    lease = None if change else timedelta(minutes=settings.LEASE_MINUTES)
    sql.first(_KEEP_DRAFT, {"slot": slot_id, "me": annotator.pk, "lease": lease, "data": stored})


def _storable(text: str) -> str:
    """``text`` without what JSON in PostgreSQL cannot hold: NUL and lone surrogates."""
    return text.replace("\x00", "").encode(errors="replace").decode()


def own_judgment(study: Study, slot_id: UUID, annotator: User) -> Judgment:
    """The standing judgment of this person on a slot; NotFound for none."""
    judgments = Judgment.objects.filter(
        slot=slot_id, slot__study=study, slot__status=Slot.Status.DONE, annotator=annotator
    ).select_related("slot__item__batch__task")
    newest = judgments.order_by("-revision").first()
    if newest is None:
        raise NotFound(_("You have not judged this item."))
    return newest


def last_answered(study: Study, annotator: User) -> UUID | None:
    """The slot of this person's last judgment in ``study`` while it may be changed, or None."""
    if not study.edit_hours:
        return None
    # Of this person's latest judgments, which an index finds. Looking up the slot of each, and not
    # joining them, keeps PostgreSQL from beginning with all slots that this person ever had.
    since = timezone.now() - timedelta(hours=study.edit_hours)
    slot = Slot.objects.filter(pk=OuterRef("slot"), status=Slot.Status.DONE)
    answered = Judgment.objects.filter(annotator=annotator, submitted_at__gt=since)
    answered = answered.annotate(study=Subquery(slot.values("study"))).filter(study=study.pk)
    judgments = Judgment.objects.select_related("slot__item__batch")
    # By time first, which an index of the person's judgments has.
    last = answered.order_by("-submitted_at", "-pk").values("pk")[:1]
    newest = judgments.filter(pk=last).first()
    return newest.slot_id if newest and editable(study, newest) else None


def beside(study: Study, slot_id: UUID, annotator: User) -> tuple[UUID | None, UUID | None]:
    """The slots that this person judged before and after ``slot_id``, None for none."""
    own = Judgment.objects.filter(annotator=annotator, revision=1, slot__study=study)
    own = own.filter(slot__status=Slot.Status.DONE)
    first = own.filter(slot=slot_id).values("pk")[:1]
    before, after = own.filter(pk__lt=first).order_by("-pk"), own.filter(pk__gt=first)
    pair = [rows.values_list("slot", flat=True).first() for rows in (before, after.order_by("pk"))]
    return pair[0], pair[1]


def editable(study: Study, judgment: Judgment, first_at: datetime | None = None) -> bool:
    """Whether its annotator may still change a judgment: ``edit_hours`` from the first answer.

    ``first_at`` is the time of that, where it is known. Hidden checks like work, so that it does
    not reveal them; their first answer counts.
    """
    if judgment.slot.item.batch.purpose == Batch.Purpose.TRAINING:
        return False
    first = first_at or judgment.slot.judgments.aggregate(at=Min("submitted_at"))["at"]
    return timezone.now() < first + timedelta(hours=study.edit_hours)


def read_seconds(value: object) -> float | None:
    """Seconds of active time from a form or an API body; DomainError where it is no such number."""
    if value in (None, ""):
        return None
    seconds = number_of(value)
    if seconds is None or not 0 <= seconds <= SECONDS_LIMIT:
        raise DomainError(_("seconds must be a number from 0 to 604,800."), code="seconds")
    return seconds


# Guard: the key, the participation, the slot


def _check_sent(slot_id: UUID, data: Data, key: str, seconds: object) -> _Sent:
    if not key.strip() or len(key) > KEY_LIMIT or not key.isprintable():
        raise DomainError(
            f"A submit needs a key of 1 to {KEY_LIMIT} printable characters.", code="key"
        )
    body = answer_fields(data) if isinstance(data, QueryDict) else data
    text = json.dumps([str(slot_id), body], sort_keys=True, ensure_ascii=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return _Sent(data, key, digest, read_seconds(seconds))


def answer_fields(form: QueryDict) -> dict[str, list[str]]:
    """The fields of a form that are the answer's."""
    return {name: values for name, values in form.lists() if name not in TECHNICAL}


@contextmanager
def _refuse_used_keys() -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        cause = cast(Any, error.__cause__)  # the one of psycopg
        if cause.diag.constraint_name != "one_judgment_a_key":
            raise
        words = _("This key was used for another item.")
        raise Conflict(words, code="key_reused") from error


def _guard(
    study: Study, slot_id: UUID, annotator: User, sent: _Sent
) -> tuple[Participation, Held, Judgment | None]:
    """The person's participation and slot, locked, and what this submit stored before."""
    participation = queue.lock_participation(study, annotator)
    held = _lock_slot(study, slot_id, annotator)
    return participation, held, _stored_before(held, sent) if held.done else None


def _lock_slot(study: Study, slot_id: UUID, annotator: User) -> Held:
    """The slot, locked and held (or done) by this person; a lost lease is renewed where free."""
    row = sql.first(_LOCK, {"slot": slot_id, "study": study.pk})
    if row is None:
        raise NotFound(_("You do not hold this item."))
    slot, item, ordinal, status, holder, kind, config, purpose, gold, at, options = row
    if holder != annotator.pk:
        _check_lapsed(slot, item, status, annotator)
    return Held(
        slot=slot,
        item=item,
        # A voided judgment is a judgment: sent again, it is answered as stored.
        done=status in (Slot.Status.DONE, Slot.Status.VOID),
        lapsed=holder != annotator.pk,
        kind=kind_of(kind),
        config=config_of(kind, json.loads(config)),
        options=[Option(int(number), answer) for number, answer in options or ()],
        counts=purpose == Batch.Purpose.WORK,
        training=purpose == Batch.Purpose.TRAINING,
        gold=gold,
        shown=ordering.shown_order(item, ordinal, len(options or ())),
        at=at,
    )


def _check_lapsed(slot_id: UUID, item_id: UUID, status: str, annotator: User) -> None:
    """Refuse unless this person's lease on the slot ran out and nobody has it since."""
    lapsed = Handback.objects.filter(slot=slot_id, annotator=annotator, cause="expired")
    if not lapsed.exists():
        raise NotFound(_("You do not hold this item."))
    if Slot.objects.filter(item=item_id, annotator=annotator).exists():
        raise Conflict(
            _("Your time for this item ran out and you were given it anew: judge it there."),
            code="lease_lost",
        )
    if status not in (Slot.Status.OPEN, Slot.Status.CLOSED):
        raise Conflict(
            _("Your time for this item ran out and somebody else has it now. Nothing was stored."),
            code="lease_lost",
        )


def _stored_before(held: Held, sent: _Sent) -> Judgment | None:
    """The judgment that this submit stored before, or None; Conflict where its body differed."""
    judgment = Judgment.objects.filter(slot=held.slot, key=sent.key).first()
    if judgment and judgment.digest != sent.digest:
        raise Conflict(
            _("This answer was stored before with other words; the first one stands."),
            code="key_reused",
        )
    return judgment


# Read, store, count


def _read(study: Study, held: Held, annotator: User, sent: _Sent) -> list[_Part]:
    """What a submit says of each item on its screen, that of ``held`` first."""
    screen = _screen(study, held, annotator, sent)
    return [_Part(each, of_slot, each.kind.read(of_slot.data, each)) for each, of_slot in screen]


def _store(part: _Part, annotator: User) -> Judgment:
    """Store a judgment with its answers, and close its slot."""
    held, sent, replaces = part.held, part.sent, part.replaces
    judgment = Judgment(
        slot_id=held.slot,
        annotator=annotator,
        key=sent.key,
        digest=sent.digest,
        shown=held.shown,
        seconds=sent.seconds,
        submitted_at=held.at,
        replaces=replaces,
        revision=replaces.revision + 1 if replaces else 1,
        proposal=_proposal(part, annotator),
        **common_columns(sent.data, held),
    )
    judgment.save(force_insert=True)
    Answer.objects.bulk_create(Answer(judgment=judgment, **row.columns) for row in part.answer.rows)
    sql.first(_CLOSE, {"slot": held.slot, "annotator": annotator.pk})
    return judgment


def _proposal(part: _Part, annotator: User) -> dict | None:
    """What the form began with, and whether the answer is another; None for nothing."""
    held = part.held
    began = part.replaces.proposal if part.replaces else None
    if not part.replaces and held.config["proposal"] != "off":
        drafts = Draft.objects.filter(slot=held.slot, annotator=annotator)
        began = drafts.values_list("proposal", flat=True).first()
    if not began:
        return None
    wanted, label = held.kind.of_label(began["label"], held.config).label, part.answer.label
    if isinstance(wanted, dict) and isinstance(label, dict):
        label = {key: label.get(key) for key in wanted}
    return began | {"changed": label != wanted}


def _count(part: _Part, judgment: Judgment) -> None:
    """Count an answer on its item, unless that is a check; it takes the place of an earlier one."""
    held, replaces = part.held, part.replaces
    if not held.counts:
        return
    if replaces:
        before = held.kind.counted(held.kind.answer_of(replaces), held.config)
        if before:
            Item.objects.filter(pk=held.item).update(counts=recounted({before: -1}))
    values = {"item": held.item, "judgment": judgment.pk, "done": 0 if replaces else 1}
    sql.first(_COUNT, values | {"label": held.kind.counted(part.answer, held.config)})


# Several items on one screen


def _screen(study: Study, lead: Held, annotator: User, sent: _Sent) -> list[tuple[Held, _Sent]]:
    """The slots that one submit judges, that of ``lead`` first, each with what is sent for it.

    Of a task with several items on a screen, a slot that lapsed and that somebody else has by now
    is left out: its item has its votes. What is held and was not answered, as by a body of the API
    for one slot, is opened to all again.
    """
    if not lead.config.get("together"):
        return [(lead, sent)]
    named = _slots_named(sent.data)
    held = {slot.pk: slot for slot in queue.companions(lead.slot, annotator)}
    if named:  # every item of the screen has to be answered
        named |= held.keys()
    slots = [lead]
    for slot in sorted(named - {lead.slot}):
        with suppress(Conflict, NotFound):  # it is not this person's any more
            slots.append(_lock_slot(study, slot, annotator))
    slots = [each for each in slots if each is lead or not each.done]
    # Two people who judge the same items lock them in one order.
    items = Item.objects.select_for_update(no_key=True).filter(pk__in=[each.item for each in slots])
    list(items.order_by("pk"))
    queue.reopen([held[pk] for pk in held.keys() - named], Handback.Cause.RELEASED)
    seconds = None if sent.seconds is None else sent.seconds / len(slots)
    return [
        (
            each,
            replace(
                sent,
                data=_part_of(sent.data, each.slot, whole=each is lead),
                key=sent.key if each is lead else f"screen-{lead.slot}-{each.slot}",
                seconds=seconds,
            ),
        )
        for each in slots
    ]


def _slots_named(names: Iterable[str]) -> set[UUID]:
    """The slots that fields are named after, at most FIELDS_LIMIT."""
    matches = (match for name in names if (match := _NAMED.fullmatch(name)))
    return {UUID(match[2]) for match in list(matches)[:FIELDS_LIMIT]}


def _part_of(data: Any, slot: UUID, *, whole: bool) -> Any:
    """The fields of ``slot`` under their own names; ``whole``: with those of no slot.

    A body of the API, and a form of one item, is returned as it is.
    """
    if not hasattr(data, "lists") or not _slots_named(data):
        return data
    part = QueryDict(mutable=True)
    for name, values in data.lists():
        match = _NAMED.fullmatch(name)
        if match and match[2] == str(slot):
            part.setlist(match[1], values)
        elif not match and whole:
            part.setlist(name, values)
    return part


# Next


def _next(
    participation: Participation, held: Held, stored: int, *, claim_next: bool
) -> UUID | None:
    """Count the judgments ``stored``, and where asked to, hand out the next slot."""
    # What was finished is what was in hand, but for a repeated or a late answer.
    renewed = queue.renew(participation) if claim_next and (held.done or held.lapsed) else None
    if claim_next and renewed is None:
        return queue.take(participation, finished=stored)
    queue.count_done(participation, stored)
    return renewed
