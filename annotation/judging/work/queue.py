"""Claim, release, skip, expire, void: the only code that hands out work.

Every function that acts for one annotator locks that person's Participation first, so two tabs or
two requests of one person take turns; different people never wait for each other (SKIP LOCKED).
"""

import json
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit, sql
from annotation.core.errors import Conflict, NotFound
from annotation.judging.kinds import answers_of, config_of_task, kind_of
from annotation.judging.models import Batch, Handback, Item, Judgment, Participation, Slot
from annotation.judging.work import hidden_checks
from annotation.studies.models import Study


def may_take(reads: str = "%(reads)s::text[]") -> str:
    """SQL: whether the open slot ``s`` may be handed to this person (%(me)s).

    Theirs or anybody's, not their own question's, of an item that they have neither judged nor
    skipped, in a language that they read: ``reads`` is an expression for the codes, NULL where
    languages do not matter, and then the item's language is not looked up. OFFSET 0 keeps the
    planner from turning the two tests into joins over all slots: the first match is wanted.
    """
    return f"""(s.reserved_for_id IS NULL OR s.reserved_for_id = %(me)s)
      AND s.withheld_from_id IS DISTINCT FROM %(me)s
      AND NOT EXISTS (SELECT 1 FROM judging_slot m
                      WHERE m.item_id = s.item_id AND m.annotator_id = %(me)s OFFSET 0)
      AND NOT EXISTS (SELECT 1 FROM judging_handback h
                      WHERE h.annotator_id = %(me)s AND h.item_id = s.item_id
                        AND h.cause = 'skipped' OFFSET 0)
      AND ({reads} IS NULL OR s.reserved_for_id IS NOT NULL
           OR coalesce((SELECT split_part(q.language, '-', 1) FROM judging_item i
                        JOIN queries_query q ON q.id = i.query_id WHERE i.id = s.item_id), '')
              = ANY({reads} || ARRAY['']))"""  # noqa: S608 - constants only


_OPEN = f"""
    SELECT s.id FROM judging_slot s
    WHERE s.study_id = %(study)s AND s.status = 'open' AND {{where}} AND {may_take()}
    ORDER BY s.position LIMIT 1 FOR UPDATE OF s SKIP LOCKED"""  # noqa: S608 - constants only

# Positions that one claim looks at again behind the cursor.
LAP_STEP = 100
# Returned slots first, then onwards from where this person is. Whatever is opened behind somebody
# comes as a returned slot; only one that another person's undone claim had locked does not. So what
# lies behind is gone through again in steps, at the claims that find nothing ahead, and after a lap
# not for some minutes. Where nothing is ahead the cursor goes to the end: those slots, which this
# person may not take, are not walked over again.
_BEHIND = "%(lap)s AND s.position > %(lapped)s AND s.position <= LEAST(%(cursor)s, %(reach)s)"
# Takes the next slot (``taken``, empty where nothing is left) and moves the person's cursor.
_TAKE = f"""
    WITH back AS ({_OPEN.format(where="s.returned")}), taken AS (
        UPDATE judging_slot SET status = 'held', annotator_id = %(me)s, returned = false,
               claimed_at = now(), lease_expires_at = now() + %(lease)s
        WHERE id = COALESCE((SELECT id FROM back),
                            ({_OPEN.format(where="%(lap)s AND s.position > %(cursor)s")}),
                            ({_OPEN.format(where=_BEHIND)}))
        RETURNING *), participation AS (
    UPDATE judging_participation
    SET done = done + %(finished)s, walked_in = %(reads)s::text[],
        last_judged_at = CASE WHEN %(finished)s > 0 THEN now() ELSE last_judged_at END,
        exhausted_at = CASE WHEN %(lap)s AND %(reach)s >= %(cursor)s
                                 AND NOT EXISTS (SELECT FROM taken) THEN now()
                            ELSE exhausted_at END,
        lapped = CASE WHEN NOT %(lap)s OR EXISTS (SELECT FROM back) THEN %(lapped)s
                      WHEN EXISTS (SELECT FROM taken)
                      THEN (SELECT CASE WHEN position > %(cursor)s THEN %(lapped)s ELSE position END
                            FROM taken)
                      WHEN %(reach)s >= %(cursor)s THEN 0 ELSE %(reach)s END,
        cursor = CASE WHEN NOT %(lap)s OR EXISTS (SELECT FROM back) THEN %(cursor)s
                      ELSE GREATEST(%(cursor)s, COALESCE(
                          (SELECT position FROM taken),
                          (SELECT max(position) FROM judging_slot
                           WHERE study_id = %(study)s AND status = 'open'))) END
    WHERE id = %(participation)s)
    SELECT (SELECT id FROM taken)"""  # noqa: S608 - constants only

# The same of the set that this person chose, wherever its slots lie.
_TAKE_OF_SET = f"""
    UPDATE judging_slot SET status = 'held', annotator_id = %(me)s, returned = false,
           claimed_at = now(), lease_expires_at = now() + %(lease)s
    WHERE id = ({_OPEN.format(where="s.position BETWEEN %(first)s AND %(last)s")})
    RETURNING id"""  # noqa: S608 - constants only
# Of each person and type of question the first set with something for this person.
_SETS = f"""
    SELECT * FROM (
        SELECT DISTINCT ON (w.persona_id, w.type) w.id, w.first, w.last - w.first + 1 AS size,
               w.type, (SELECT v.profile::text FROM personas_personaversion v
                        WHERE v.persona_id = w.persona_id
                        ORDER BY v.version DESC LIMIT 1) AS profile
        FROM judging_itemset w
        WHERE w.study_id = %(study)s AND EXISTS (
            SELECT FROM judging_slot s WHERE s.study_id = w.study_id AND s.status = 'open'
            AND s.position BETWEEN w.first AND w.last AND {may_take()})
        ORDER BY w.persona_id, w.type, w.first) sets
    ORDER BY first LIMIT %(most)s"""  # noqa: S608 - constants only
MOST_SETS = 200
# On one screen, at most.
MOST_TOGETHER = 60
_GATHER = f"""
    UPDATE judging_slot SET status = 'held', annotator_id = %(me)s, returned = false,
           claimed_at = now(), lead = %(lead)s,
           lease_expires_at = (SELECT l.lease_expires_at FROM judging_slot l WHERE l.id = %(lead)s)
    WHERE id IN (
        SELECT free.id FROM judging_slot l
        JOIN judging_item first ON first.id = l.item_id
        JOIN judging_item i ON i.batch_id = first.batch_id AND i.query_id = first.query_id
                           AND i.id <> first.id
        JOIN judging_batch b ON b.id = i.batch_id AND b.purpose = 'work'
        CROSS JOIN LATERAL (
            SELECT s.id FROM judging_slot s WHERE s.item_id = i.id AND s.status = 'open'
            AND {may_take()} ORDER BY s.ordinal LIMIT 1 FOR UPDATE OF s SKIP LOCKED) free
        WHERE l.id = %(lead)s AND l.annotator_id = %(me)s AND l.status = 'held'
        ORDER BY i.position LIMIT %(most)s)"""  # noqa: S608 - constants only

_DESK = """
    SELECT d.id, d.cursor, d.lapped, d.walked_in, d.done,
        coalesce(d.exhausted_at > now() - interval '15 minutes', false),
        d.stopped_at, d.excluded_at, d.qualified_at, d.training_since, d.next_gold, d.next_repeat,
        w.first, w.last,
        CASE WHEN study.match_languages AND person.reads <> '[]' THEN person.reads END,
        checks.pass_mark, checks.gold_every, checks.repeat_every,
        checks.retest_number, checks.retest_share, checks.retest_days
    FROM judging_participation d JOIN studies_study study ON study.id = d.study_id
    JOIN accounts_user person ON person.id = d.annotator_id
    LEFT JOIN judging_checks checks ON checks.study_id = d.study_id
    LEFT JOIN judging_itemset w ON w.id = d.chosen_id
    WHERE d.study_id = %(study)s AND d.annotator_id = %(me)s FOR UPDATE OF d"""
_FIELDS = (
    *("pk", "cursor", "lapped", "walked_in", "done", "exhausted"),
    *("stopped_at", "excluded_at", "qualified_at", "training_since"),
    *("next_gold", "next_repeat", "first", "last", "reads"),
)


def lock_participation(study: Study, annotator: User) -> Participation:
    """Lock the annotator's participation in ``study`` until the transaction ends; made if missing.

    ``rates`` on it are those of the study's checks, None where it has none; ``exhausted`` means
    that a lap gave this person nothing a short while ago; ``reads`` are the languages of the items
    that they may get, None where the study does not look at languages or they named none.
    """
    whose = {"study": study.pk, "me": annotator.pk}
    row = sql.first(_DESK, whose)
    if row is None:
        Participation.objects.bulk_create(
            [Participation(study=study, annotator=annotator)], ignore_conflicts=True
        )
        row = cast(tuple, sql.first(_DESK, whose))
    state, rates = dict(zip(_FIELDS, row, strict=False)), row[len(_FIELDS) :]
    exhausted, reads = state.pop("exhausted"), state.pop("reads")
    first, last = state.pop("first"), state.pop("last")
    participation = Participation(study_id=study.pk, annotator_id=annotator.pk, **state)
    participation.exhausted = exhausted
    participation.within = None if first is None else (first, last)
    participation.reads = None if reads is None else json.loads(reads)
    participation.rates = None if rates[0] is None else hidden_checks.Rates(*rates)
    return participation


def take(participation: Participation, finished: int = 0) -> UUID | None:
    """Hand the person the next open slot and add ``finished`` to what they have done.

    The caller holds the lock. Returns the slot's id, or None where nothing is left or this
    person is given no work. A check that is due goes before work (hidden_checks.next_slot).
    """
    check = None
    if participation.rates and not participation.stopped_at:
        check = hidden_checks.next_slot(
            participation, participation.rates, participation.done + finished
        )
    if check or participation.stopped_at:
        count_done(participation, finished)
        return check
    if participation.within:
        return _of_set(participation, finished)
    return cast(tuple, sql.first(_TAKE, _taking(participation, finished)))[0]


def _of_set(participation: Participation, finished: int) -> UUID | None:
    """The next slot of the set that the person chose; None ends it: they may choose anew."""
    count_done(participation, finished)
    first, last = cast(tuple, participation.within)
    row = sql.first(_TAKE_OF_SET, _taking(participation, finished) | {"first": first, "last": last})
    if row is None:
        Participation.objects.filter(pk=participation.pk).update(chosen=None)
    return row[0] if row else None


@transaction.atomic
def choose(study: Study, annotator: User, number: int | None) -> None:
    """Hand out the items of one set (its id), until it has none for this person; None: of all.

    What they hold stays in their hands. Raises NotFound where the study has no such set.
    """
    participation = lock_participation(study, annotator)
    if number is not None and not study.item_sets.filter(pk=number).exists():
        raise NotFound(_("The study has no such set."))
    Participation.objects.filter(pk=participation.pk).update(chosen=number)


def open_sets(study: Study, annotator: User) -> list[dict]:
    """Of each person and type of question the set that comes next for ``annotator``.

    {"id", "size", "type", "profile" (JSON, "" without a person)}. How much of it is left is not
    said: a hidden check takes nothing off it.
    """
    reads = annotator.reads if study.match_languages and annotator.reads else None
    values = {"study": study.pk, "me": annotator.pk, "reads": reads, "most": MOST_SETS}
    with connection.cursor() as cursor:
        cursor.execute(_SETS, values)
        return [
            {"id": number, "size": size, "type": type, "profile": profile or ""}
            for number, _first, size, type, profile in cursor.fetchall()
        ]


def count_done(participation: Participation, finished: int) -> None:
    """Add judgments that were stored just now to what the person has done; the lock is held."""
    if finished:
        Participation.objects.filter(pk=participation.pk).update(
            done=F("done") + finished, last_judged_at=Now()
        )


def _taking(participation: Participation, finished: int) -> dict:
    # What was passed by may be for whoever reads other languages now.
    afresh = participation.reads != participation.walked_in
    lapped = 0 if afresh else participation.lapped
    return {
        "study": participation.study_id,
        "me": participation.annotator_id,
        "lease": timedelta(minutes=settings.LEASE_MINUTES),
        "cursor": 0 if afresh else participation.cursor,
        "lapped": lapped,
        "reach": lapped + LAP_STEP,
        "reads": participation.reads,
        "lap": afresh or not participation.exhausted,
        "participation": participation.pk,
        "finished": finished,
    }


@transaction.atomic
def claim(study: Study, annotator: User) -> UUID | None:
    """Return the id of the slot this person holds, its lease renewed, or of a new one, or None."""
    participation = lock_participation(study, annotator)
    return renew(participation) or take(participation)


@transaction.atomic
def gather(study: Study, slot_id: UUID, annotator: User) -> None:
    """Let this person hold, with the slot they hold, one of each other item of its query and batch.

    For tasks whose items of one query are judged together. An item that they may not take, or of
    which no slot is open, is left out.
    """
    reads = lock_participation(study, annotator).reads
    values: dict[str, Any] = {"lead": slot_id, "me": annotator.pk, "reads": reads}
    with connection.cursor() as cursor:
        cursor.execute(_GATHER, values | {"most": MOST_TOGETHER})


def companions(slot_id: UUID, annotator: User) -> QuerySet[Slot]:
    """The slots that this person holds together with ``slot_id``, in the order of their items."""
    held = Slot.objects.filter(lead=slot_id, annotator=annotator, status=Slot.Status.HELD)
    return held.order_by("position")


def in_hand(study: Study | int, annotator: User | int) -> UUID | None:
    """The id of the slot this person holds, or None; nothing is handed out."""
    held = Slot.objects.filter(study=study, annotator=annotator, status="held", lead=None)
    return held.values_list("pk", flat=True).first()


def renew(participation: Participation) -> UUID | None:
    """Extend the lease of the slot that the person holds; its id, or None."""
    slot = in_hand(participation.study_id, participation.annotator_id)
    if slot is None:
        return None
    lease = timedelta(minutes=settings.LEASE_MINUTES)
    # Where the reaper took it in between, nothing is renewed and the caller takes another.
    held = Slot.objects.filter(annotator=participation.annotator_id, status="held")
    renewed = held.filter(Q(pk=slot) | Q(lead=slot)).update(lease_expires_at=Now() + lease)
    return slot if renewed else None


@transaction.atomic
def hand_back(slot_id: UUID, annotator: User, cause: str, reason: str = "") -> None:
    """Give a held slot back: ``released`` may be offered to the same person again, ``skipped`` not.

    Raises NotFound where the slot is not this person's, Conflict where it has been judged.
    """
    slot = Slot.objects.filter(pk=slot_id, annotator=annotator).select_related("study").first()
    if slot is None:
        raise NotFound(_("You do not hold this item."))
    lock_participation(slot.study, annotator)
    slot = Slot.objects.select_for_update().get(pk=slot_id)
    judged = slot.status in (Slot.Status.DONE, Slot.Status.VOID)
    if judged and slot.annotator_id == annotator.pk:
        raise Conflict(_("You have judged this item: it cannot be given back."))
    if slot.annotator_id != annotator.pk:
        raise NotFound(_("You do not hold this item."))
    reopen([slot, *companions(slot.pk, annotator)], cause, reason)


def expire(limit: int = 1000) -> int:
    """Reopen up to ``limit`` slots whose lease has run out, by the database's clock."""
    with transaction.atomic():
        slots = list(
            Slot.objects.select_for_update(skip_locked=True)
            .filter(status=Slot.Status.HELD, lease_expires_at__lt=Now())
            .order_by("lease_expires_at")[:limit]
        )
        reopen(slots, Handback.Cause.EXPIRED)
    return len(slots)


def reopen(slots: list[Slot], cause: str, reason: str = "") -> None:
    """Give the slots back to their batches; to nobody where a batch was closed or an item is held
    back.
    """
    over = _over(slots)
    Handback.objects.bulk_create(
        Handback(
            slot=slot,
            item_id=slot.item_id,
            annotator_id=cast(int, slot.annotator_id),
            cause=cause,
            reason=reason,
        )
        for slot in slots
    )
    free: dict[str, Any] = {"annotator": None, "claimed_at": None, "lease_expires_at": None}
    free |= {"returned": True, "lead": None}
    given_up = [slot.pk for slot in slots if slot.item_id in over]
    again = [slot.pk for slot in slots if slot.item_id not in over]
    Slot.objects.filter(pk__in=given_up).update(status=Slot.Status.CLOSED, **free)
    Slot.objects.filter(pk__in=again).update(status=Slot.Status.OPEN, **free)


def _over(slots: list[Slot]) -> set[UUID]:
    """The items of ``slots`` that are handed out to nobody: held back, or of a closed batch.

    Copies for one person are retired from the start and wait for that person all the same.
    """
    items = Item.objects.filter(pk__in=[slot.item_id for slot in slots])
    # Holding back and closing take the same locks: a slot comes back before them or after them.
    # Not those of checks, which a submit takes after that of its own item.
    list(items.work().select_for_update(no_key=True, of=("self",)).order_by("pk"))
    batches = Batch.objects.select_for_update(no_key=True).order_by("pk")
    closed = [batch.pk for batch in batches.filter(pk__in=items.values("batch")) if batch.closed_at]
    over = Q(batch__in=closed) | Q(retired_at__isnull=False, made_for=None)
    return set(items.filter(over).values_list("pk", flat=True))


# Taking judgments out


@transaction.atomic
def void(study: Study, annotator: User, *, cause: str, by: User | None = None) -> int:
    """Void what ``annotator`` has judged of the study's work; how many judgments that were.

    The rows stay. Items count without them, and for each a new slot of the same ordinal is open to
    others, before new ones (closed where its batch is closed, or where only this person may judge
    the item). What the person holds is handed back. Checks count nowhere.
    ``cause`` is a sentence for the audit log. Doing it twice does nothing the second time.
    """
    # Voids and imports of votes take turns: both touch many items at once.
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    participation = lock_participation(study, annotator)
    # Locks in the order of a submit and of the reaper: slots, items, batches.
    of_annotator = Slot.objects.select_for_update().filter(study=study, annotator=annotator)
    slots = list(of_annotator.filter(status__in=["held", "done"]).order_by("item_id"))
    purposes = dict(Item.objects.filter(slots__in=slots).values_list("pk", "batch__purpose"))
    held = [slot for slot in slots if slot.status == Slot.Status.HELD]
    done = [slot for slot in slots if slot.status == Slot.Status.DONE]
    gone = [slot for slot in done if purposes[slot.item_id] == Batch.Purpose.WORK]
    if gone:
        _uncount(gone)
    # Checks, too: those that their person could still open would be known by that.
    Slot.objects.filter(pk__in=[slot.pk for slot in done]).update(status=Slot.Status.VOID)
    if gone:
        _open_anew(study, gone, annotator)
    if held:
        reopen(held, Handback.Cause.RELEASED, cause)
    if slots:
        audit.record(
            by, "judgments.void", participation, study=study.slug, cause=cause, voided=len(gone)
        )
    return len(gone)


def _uncount(gone: list[Slot]) -> None:
    """Take the standing judgments of ``gone`` out of their items' counts."""
    pks = [slot.item_id for slot in gone]
    locked = Item.objects.filter(pk__in=pks).select_related("batch__task").order_by("pk")
    items = {item.pk: item for item in locked.select_for_update(of=("self",), no_key=True)}
    judged = dict(
        Judgment.objects.standing().filter(slot__in=gone).values_list("pk", "slot__item_id")
    )
    tasks = {pk: items[item].batch.task for pk, item in judged.items()}
    answers = answers_of({pk: task.kind for pk, task in tasks.items()})
    for pk, answer in answers.items():
        item, task = items[judged[pk]], tasks[pk]
        label = kind_of(task.kind).counted(answer, config_of_task(task))
        if label:
            item.counts[label] -= 1
    for item in items.values():
        item.done -= 1
        item.counts = {label: n for label, n in item.counts.items() if n}
    Item.objects.bulk_update(items.values(), ["done", "counts"], batch_size=1_000)


def _open_anew(study: Study, gone: list[Slot], annotator: User) -> None:
    items = Item.objects.filter(slots__in=gone)
    over = _over(gone)
    # What was only assigned to this person is anybody's.
    own = set(items.filter(query__owner=annotator).values_list("pk", flat=True))
    Slot.objects.bulk_create(
        Slot(
            study_id=slot.study_id,
            item_id=slot.item_id,
            ordinal=slot.ordinal,
            position=slot.position,
            reserved_for_id=slot.reserved_for_id if slot.item_id in own else None,
            withheld_from_id=slot.withheld_from_id,
            status=Slot.Status.CLOSED if slot.item_id in over | own else Slot.Status.OPEN,
            returned=True,
        )
        for slot in gone
    )
