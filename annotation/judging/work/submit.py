"""One submit: check, store, count, and hand out the next slot, in one transaction."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Min, OuterRef, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import sql
from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.judging import ordering
from annotation.judging.kinds import Answer as Content
from annotation.judging.kinds import Kind, config_of, kind_of
from annotation.judging.kinds.body import common_columns
from annotation.judging.kinds.kind import Data
from annotation.judging.models import (
    ANSWERED,
    Answer,
    Batch,
    Desk,
    Handback,
    Item,
    Judgment,
    Slot,
    recounted,
)
from annotation.judging.work import queue, screens
from annotation.studies.models import Study

KEY_LIMIT = 200
SECONDS_LIMIT = 7 * 24 * 3600
_SLOT = """
    s.id, s.item_id, s.ordinal, s.status, s.annotator_id, t.kind, t.config, b.purpose, i.gold_id,
    (SELECT array_agg(ARRAY[o.number::text, o.candidate_id::text])
     FROM judging_itemoption o WHERE o.item_id = s.item_id)"""
_OF_SLOT = """
    JOIN judging_item i ON i.id = s.item_id
    JOIN judging_batch b ON b.id = i.batch_id
    JOIN studies_taskdefinition t ON t.id = b.task_id
    WHERE s.id = %(slot)s AND s.study_id = %(study)s"""
_LOCK = f"SELECT {_SLOT} FROM judging_slot s {_OF_SLOT} FOR UPDATE OF s"  # noqa: S608 - constants
# First the desk, then the slot, as they are after the wait for whoever had locked them.
_LOCK_BOTH = f"""
    SELECT {queue.DESK}, {_SLOT}
    FROM {queue.OF_DESK} CROSS JOIN judging_slot s {_OF_SLOT} AND {queue.THE_DESK}
    FOR UPDATE OF d, s"""  # noqa: S608 - constants only
_JSON = ("shown", "flags", "chips", "marks", "circumstances")
# A judgment and its answers.
_STORE = """
    WITH stored AS (
        INSERT INTO judging_judgment
            (slot_id, annotator_id, revision, replaces_id, key, digest, shown, reason, flags,
             chips, marks, circumstances, seconds, submitted_at, imported, dated)
        VALUES (%(slot_id)s, %(annotator_id)s, %(revision)s, %(replaces_id)s, %(key)s, %(digest)s,
                %(shown)s, %(reason)s, %(flags)s, %(chips)s, %(marks)s, %(circumstances)s,
                %(seconds)s, statement_timestamp(), false, true)
        RETURNING id, submitted_at),
    answered AS (
        INSERT INTO judging_answer (judgment_id, question, option, part, label, value, text, chips)
        SELECT stored.id, a.*
        FROM stored, jsonb_to_recordset(%(answers)s::jsonb) AS a (question text, option smallint,
             part bigint, label text, value smallint, text text, chips jsonb))
    SELECT id, submitted_at FROM stored"""
# What a judgment ends: its slot's work, and the draft.
_FINISH = """
    WITH typed AS (
        DELETE FROM judging_draft WHERE slot_id = %(slot)s AND annotator_id = %(me)s)
    UPDATE judging_slot
    SET status = 'done', annotator_id = %(me)s, returned = false, lease_expires_at = NULL
    WHERE id = %(slot)s RETURNING id"""


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
    numbers in the order shown.
    """

    slot: UUID
    item: UUID
    ordinal: int
    done: bool
    lapsed: bool
    kind: Kind
    config: dict
    options: list[Option]
    counts: bool
    training: bool
    gold: int | None
    shown: tuple[int, ...]


def submit(
    study: Study,
    slot_id: UUID,
    annotator: User,
    data: Data,
    *,
    key: str,
    body: object = None,
    seconds: object = None,
    claim_next: bool = False,
) -> Submitted:
    """Store the annotator's answer to a slot of ``study``, once, and take the next if asked to.

    ``data`` is a form or an API body; ``key`` names the submit: the same key again is answered
    without storing anything, as long as ``body`` (JSON; default ``data``) is the
    same. ``seconds`` is the active time. Raises NotFound where the slot is not this person's,
    Conflict where somebody else has it by now or the key carried other words, DomainError where the
    answer is incomplete. Whatever is raised, nothing was stored.
    """
    _check_key(key)
    seconds = read_seconds(seconds)
    digest = _digest(slot_id, data if body is None else body)
    try:
        with transaction.atomic():
            desk, held = _both_locked(study, slot_id, annotator)
            others = 0
            if held.done:
                judgment = _repeat(held, key, digest)
                if judgment is None:
                    raise Conflict(_("You have judged this item already."), code="already_judged")
            elif desk.excluded_at:
                raise Conflict(_("You take no part in this study any more."), code="excluded")
            elif held.kind.together(held.config):
                judgment, others = _store_screen(study, held, annotator, data, key, digest, seconds)
            else:
                judgment = _store(held, annotator, data, key, digest, seconds)
            next_slot = _advance(desk, held, claim_next, others)
    except IntegrityError as error:
        raise _key_taken(error) from error
    return Submitted(judgment, held.done, next_slot, held.training)


def revise(
    study: Study,
    slot_id: UUID,
    annotator: User,
    data: Data,
    *,
    key: str,
    body: object = None,
    seconds: object = None,
) -> Submitted:
    """Store a new answer in place of the annotator's own to ``slot_id``; the old one stays stored.

    Arguments and idempotency as of ``submit``. Raises NotFound where this person has not judged the
    slot, Conflict where the study's window for edits is over, DomainError for a wrong answer.
    """
    _check_key(key)
    seconds = read_seconds(seconds)
    digest = _digest(slot_id, data if body is None else body)
    try:
        with transaction.atomic():
            queue.lock_desk(study, annotator)
            held = _locked(study, slot_id, annotator)
            stored = _repeat(held, key, digest)
            if stored is None:
                old = own_judgment(study, slot_id, annotator)
                if not editable(study, old):
                    raise Conflict(_("The time to change this answer is over."), code="too_late")
                judgment = _store(held, annotator, data, key, digest, seconds, replaces=old)
    except IntegrityError as error:
        raise _key_taken(error) from error
    return Submitted(stored or judgment, stored is not None)


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


def editable(study: Study, judgment: Judgment) -> bool:
    """Whether its annotator may still change a judgment: ``edit_hours`` from the first answer.

    Hidden checks like work, so that it does not reveal them; their first answer counts.
    """
    if judgment.slot.item.batch.purpose == Batch.Purpose.TRAINING:
        return False
    first = judgment.slot.judgments.aggregate(at=Min("submitted_at"))["at"]
    return timezone.now() < first + timedelta(hours=study.edit_hours)


def read_seconds(value: object) -> float | None:
    """Seconds of active time from a form or an API body; DomainError where it is no such number."""
    if value in (None, ""):
        return None
    try:
        seconds = math.nan if isinstance(value, bool) else float(cast(Any, value))
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not 0 <= seconds <= SECONDS_LIMIT:
        raise DomainError(_("seconds must be a number from 0 to 604,800."), code="seconds")
    return seconds


def _key_taken(error: IntegrityError) -> Exception:
    cause = cast(Any, error.__cause__)  # the one of psycopg
    if cause.diag.constraint_name != "one_judgment_a_key":
        return error
    return Conflict(_("This key was used for another item."), code="key_reused")


def _check_key(key: str) -> None:
    if not key.strip() or len(key) > KEY_LIMIT or not key.isprintable():
        raise DomainError(
            f"A submit needs a key of 1 to {KEY_LIMIT} printable characters.", code="key"
        )


def _digest(slot_id: UUID, body: object) -> str:
    text = json.dumps([str(slot_id), body], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _both_locked(study: Study, slot_id: UUID, annotator: User) -> tuple[Desk, Held]:
    """This person's desk and the slot as ``_locked`` has it, both locked in one statement."""
    values = {"slot": slot_id, "study": study.pk, "me": annotator.pk}
    row = sql.first(_LOCK_BOTH, values)
    if row is None:  # no such slot in the study, or no desk yet
        return queue.lock_desk(study, annotator), _locked(study, slot_id, annotator)
    desk, row = queue.desk_of(study, annotator, row)
    return desk, _held(row, annotator)


def _locked(study: Study, slot_id: UUID, annotator: User) -> Held:
    """The slot, locked and held (or done) by this person; a lost lease is renewed where free."""
    row = sql.first(_LOCK, {"slot": slot_id, "study": study.pk})
    if row is None:
        raise NotFound(_("You do not hold this item."))
    return _held(row, annotator)


def _held(row: Sequence[Any], annotator: User) -> Held:
    slot, item, ordinal, status, holder, kind, config, purpose, gold, options = row
    if holder != annotator.pk:
        _check_lapsed(slot, item, status, annotator)
    return Held(
        slot=slot,
        item=item,
        ordinal=ordinal,
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


def _store(
    held: Held,
    annotator: User,
    data: Data,
    key: str,
    digest: str,
    seconds: float | None,
    replaces: Judgment | None = None,
) -> Judgment:
    """Store one answer, close its slot, drop its draft and count it."""
    answer = held.kind.read(data, held)
    judgment = Judgment(
        slot_id=held.slot,
        annotator=annotator,
        key=key,
        digest=digest,
        shown=held.shown,
        seconds=seconds,
        replaces=replaces,
        revision=replaces.revision + 1 if replaces else 1,
        **common_columns(data, held),
    )
    _insert(judgment, held.kind.stored(answer))
    sql.first(_FINISH, {"slot": held.slot, "me": annotator.pk})
    if held.counts:
        _count(held, judgment, answer)
    return judgment


def _insert(judgment: Judgment, answers: Sequence[Answer]) -> None:
    """Store a new judgment with its answers, and set its key and time."""
    columns = {
        name: getattr(judgment, name)
        for name in ("slot_id", "annotator_id", "revision", "replaces_id", "key", "digest")
    }
    texts = {name: json.dumps(getattr(judgment, name)) for name in _JSON}
    rows = [{name: getattr(row, name) for name in ANSWERED} for row in answers]
    written = {"reason": judgment.reason, "seconds": judgment.seconds, "answers": json.dumps(rows)}
    judgment.pk, judgment.submitted_at = cast(tuple, sql.first(_STORE, columns | texts | written))
    judgment._state.adding = False


def _count(held: Held, judgment: Judgment, answer: Content) -> None:
    """Count an answer on its item; one that replaces another takes its place."""
    replaces = judgment.replaces
    steps = Counter({held.kind.counted(answer, held.config): 1})
    if replaces:
        steps[held.kind.counted(held.kind.answer_of(replaces), held.config)] -= 1
    Item.objects.filter(pk=held.item).update(
        done=F("done") + (0 if replaces else 1),
        last_judgment=judgment.pk,
        counts=recounted({label: step for label, step in steps.items() if label and step}),
    )


def _store_screen(
    study: Study,
    lead: Held,
    annotator: User,
    data: Data,
    key: str,
    digest: str,
    seconds: float | None,
) -> tuple[Judgment, int]:
    """Store the answers to all items of a screen; that of ``lead``, and how many there are beside.

    A slot that lapsed and that somebody else has by now is left out: its item has its votes. What
    is held and was not answered, as by a body of the API for one slot, is opened to all again.
    """
    named = screens.slots_named(data)
    if named:  # every item of the screen has to be answered
        named |= set(queue.companions(lead.slot, annotator).values_list("pk", flat=True))
    named -= {lead.slot}
    beside = [_companion(study, slot, annotator) for slot in sorted(named)]
    companions = [other for other in beside if other and not other.done]
    # Two people who judge the same items lock them in one order.
    items = sorted([lead.item, *(other.item for other in companions)])
    list(Item.objects.select_for_update(no_key=True).filter(pk__in=items).order_by("pk"))
    share = None if seconds is None else seconds / len(items)
    part = screens.part_of(data, lead.slot, whole=True)
    judgment = _store(lead, annotator, part, key, digest, share)
    for other in companions:
        part = screens.part_of(data, other.slot, whole=False)
        _store(other, annotator, part, f"screen-{lead.slot}-{other.slot}", digest, share)
    queue.reopen(list(queue.companions(lead.slot, annotator)), Handback.Cause.RELEASED)
    return judgment, len(companions)


def _companion(study: Study, slot: UUID, annotator: User) -> Held | None:
    """A slot that is judged beside another, locked; None where it is not this person's any more."""
    try:
        return _locked(study, slot, annotator)
    except (Conflict, NotFound):
        return None


def _repeat(held: Held, key: str, digest: str) -> Judgment | None:
    """The judgment that this submit stored before, or None; Conflict where its body differed."""
    judgment = Judgment.objects.filter(slot=held.slot, key=key).first()
    if judgment and judgment.digest != digest:
        raise Conflict(
            _("This answer was stored before with other words; the first one stands."),
            code="key_reused",
        )
    return judgment


def _advance(desk: Desk, held: Held, claim_next: bool, others: int = 0) -> UUID | None:
    """Count what was done, and where asked to, hand out the next slot.

    ``others`` is how many judgments were stored beside the one of ``held``.
    """
    # What was finished is what was in hand, but for a repeated or a late answer.
    renewed = queue.renew(desk) if claim_next and (held.done or held.lapsed) else None
    if claim_next and renewed is None:
        return queue.take(desk, finished=0 if held.done else 1 + others)
    if not held.done:
        desk.done += 1 + others
        desk.save(update_fields=["done"])
    return renewed
