"""What one annotator sees of their own part in their studies: the desk and past judgments.

Nothing here distinguishes work from hidden checks or is about anybody else.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection
from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Left
from django.http import Http404
from django.utils.translation import gettext as _

from annotation import policies
from annotation.accounts.models import User
from annotation.judging.kinds import Answer, answers_of, config_of_task, kind_of
from annotation.judging.models import Item, Judgment, Participation, Slot
from annotation.judging.work import comments, queue, submit
from annotation.queries.models import asked_of
from annotation.studies import messages
from annotation.studies.access import member_of, study_for
from annotation.studies.models import Membership, Role, Study

# Open slots looked at on either side of the person's cursor: a desk must not count a whole study.
LOOK = 2_000
BEGINNING = 160
TENS = 10

# Time is counted of all answers: one that was taken out took its time, too. Everything given until
# a person's judgments were taken out is out. `open` holds what queue.claim would hand out.
_READS = "CASE WHEN study.match_languages THEN %(reads)s::text[] END"
_PLACES = f"""
    WITH given AS MATERIALIZED (
        SELECT s.study_id, s.status, j.revision, j.submitted_at, j.seconds,
               (j.circumstances ->> 'idle')::float AS idle
        FROM judging_judgment j JOIN judging_slot s ON s.id = j.slot_id
        WHERE j.annotator_id = %(me)s),
    outs AS (
        SELECT g.study_id, greatest(
            max(g.submitted_at), (SELECT d.excluded_at FROM judging_participation d
                                  WHERE d.study_id = g.study_id AND d.annotator_id = %(me)s),
            (SELECT max(c.withdrawn_at) FROM studies_study s
             JOIN accounts_consenttext now ON now.id = s.consent_text_id
             JOIN accounts_consenttext any_ ON any_.name = now.name
             JOIN accounts_consent c ON c.text_id = any_.id AND c.user_id = %(me)s
             WHERE s.id = g.study_id)) AS until
        FROM given g WHERE g.status = 'void' GROUP BY g.study_id),
    sums AS (
        SELECT study_id,
               count(*) FILTER (WHERE revision = 1) AS given,
               count(*) FILTER (WHERE revision = 1 AND submitted_at <= until) AS taken_out,
               sum(seconds) AS active, sum(idle) AS idle
        FROM given LEFT JOIN outs USING (study_id) GROUP BY study_id)
    SELECT study.id AS study, coalesce(sums.given - sums.taken_out, 0) AS done,
           coalesce(sums.taken_out, 0) AS taken_out, outs.until AS out_until,
           coalesce(sums.active, 0) AS active, coalesce(sums.idle, 0) AS idle,
           d.last_judged_at AS last, d.stopped_at IS NOT NULL AS stopped,
           coalesce(d.stop_reason, '') AS stop_reason,
           EXISTS (SELECT FROM judging_slot h WHERE h.study_id = study.id
                   AND h.annotator_id = %(me)s AND h.status = 'held') AS held,
           open.items AS waiting, open.cut AS more,
           EXISTS (SELECT FROM judging_itemset w WHERE w.study_id = study.id) AS sets,
           EXISTS (SELECT FROM judging_checks c WHERE c.study_id = study.id
                   AND (c.gold_every > 0 OR c.repeat_every > 0)) AS hides
    FROM studies_study study
    LEFT JOIN judging_participation d ON d.study_id = study.id AND d.annotator_id = %(me)s
    LEFT JOIN outs ON outs.study_id = study.id
    LEFT JOIN sums ON sums.study_id = study.id
    CROSS JOIN LATERAL (
        SELECT count(DISTINCT s.item_id) FILTER (
                   WHERE {queue.may_take(_READS)}
               ) AS items,
               count(*) FILTER (WHERE s.ahead) >= %(look)s
                   OR count(*) FILTER (WHERE NOT s.ahead) >= %(look)s AS cut
        FROM ((SELECT true AS ahead, item_id, reserved_for_id, withheld_from_id
               FROM judging_slot
               WHERE study_id = study.id AND status = 'open' AND position > coalesce(d.cursor, 0)
               ORDER BY position LIMIT %(look)s)
              UNION ALL
              (SELECT false, item_id, reserved_for_id, withheld_from_id
               FROM judging_slot
               WHERE study_id = study.id AND status = 'open' AND position <= coalesce(d.cursor, 0)
               ORDER BY position LIMIT %(look)s)) s
        WHERE study.status = 'open' AND d.stopped_at IS NULL) open
    WHERE study.id = ANY(%(studies)s)"""  # noqa: S608 - constants only


@dataclass(frozen=True)
class Place:
    """How one person stands in one study: counts, seconds, and what waits for them.

    ``waiting`` items may still be handed to them, or more where ``more`` is set, in ``sets`` where
    they may choose. What they gave up to ``out_until`` was taken out.
    """

    study: Study
    done: int = 0
    taken_out: int = 0
    out_until: datetime | None = None
    active: float = 0
    idle: float = 0
    last: datetime | None = None
    stopped: bool = False
    stop_reason: str = ""
    held: bool = False
    waiting: int = 0
    more: bool = False
    sets: bool = False

    @property
    def state(self) -> str:
        """consent, stopped, draft, closed, work or done: the first line of the desk."""
        if not self.study.consented:
            return "consent"
        if self.stopped:
            return "stopped"
        if self.study.status != Study.Status.OPEN:
            return self.study.status
        return "work" if self.held or self.waiting or self.more else "done"

    @property
    def calls(self) -> bool:
        """Whether there is something for the person to do."""
        return self.state in ("consent", "work") or self.held

    @property
    def begun(self) -> bool:
        return bool(self.done or self.taken_out or self.active or self.state == "work")

    @property
    def in_all(self) -> int | None:
        """Done and to be done, None unless exact: only while the study hands out work."""
        counted = self.state in ("work", "done") and not self.more
        return self.done + self.waiting + self.held if counted else None

    @property
    def active_words(self) -> str:
        return duration(self.active)

    @property
    def idle_words(self) -> str:
        return duration(self.idle)

    @property
    def pay(self) -> Decimal | None:
        """Estimate in the study's currency, or None where it sets no rate."""
        hourly, each = self.study.pay_per_hour, self.study.pay_per_judgment
        if hourly is None and each is None:
            return None
        hours = Decimal(self.active) / 3600
        return (hourly or 0) * hours + (each or 0) * (self.done + self.taken_out)


@dataclass(frozen=True)
class DeskRow:
    """A study on somebody's desk, with what needs them there."""

    study: Study
    place: Place | None
    unread: list
    # Of the curators, to comments of this person.
    answers: list
    steps: Any
    # {"done", "wanted", "people", "last"} for who runs the study.
    counts: dict | None

    @property
    def rank(self) -> int:
        """By what needs the person: to go on with, changed, to do, to run, waits, done."""
        place = self.place
        if place and place.held:
            return 0
        if self.unread or self.answers:
            return 1
        if (place and place.calls) or (self.steps and self.steps.is_due):
            return 2
        if self.study.status == Study.Status.CLOSED:
            return 5
        return 3 if self.counts and self.study.status == Study.Status.OPEN else 4

    @property
    def need(self) -> str:
        """What needs the person, in a word or two."""
        words = (_("Go on"), _("New for you"), _("To do"))
        return words[self.rank] if self.rank < len(words) else ""

    @property
    def next_step(self) -> tuple[str, str] | None:
        """What who runs the study does next, in words, and the name of the page for it."""
        if not self.counts or self.study.status == Study.Status.CLOSED:
            return None
        if not self.counts["wanted"]:
            return _("See what comes next"), "overview"
        if self.counts["done"] >= self.counts["wanted"]:
            return _("Look at the results"), "study"
        if self.counts["people"]:
            return None
        # Members are an administrator's; whoever may not invite looks at what there is.
        invites = self.counts["invites"]
        return (_("Invite people"), "people") if invites else (_("See what comes next"), "overview")


def tell(user: User, studies: list[Study]) -> list[Study]:
    """``studies`` (with_membership) with ``opens``: whether ``user`` may see how far one is, and
    then with ``counts``, in which ``invites`` is whether they may invite people."""
    members = {study.pk: member_of(user, study) for study in studies}
    for study in studies:
        study.opens = policies.study.may_read(members[study.pk])
    counted = counts([study for study in studies if study.opens])
    for study in studies:
        study.counts = counted.get(study.pk)
        if study.counts:
            study.counts["invites"] = policies.member.may_manage(members[study.pk])
    return studies


def counts(studies: list[Study]) -> dict[int, dict]:
    """{study's id: judgments done and wanted, annotators, the last activity}, for who runs it."""
    people = Q(memberships__role=Role.ANNOTATOR, memberships__left_at=None)
    members = Study.objects.filter(pk=OuterRef("pk")).values("pk")
    desks = Participation.objects.filter(study=OuterRef("pk")).order_by().values("study")
    rows = Study.objects.filter(pk__in=[study.pk for study in studies]).annotate(
        people=Subquery(members.annotate(n=Count("memberships", filter=people)).values("n")),
        last=Subquery(desks.annotate(at=Max("last_judged_at")).values("at")),
    )
    # Not what desks count: checks and what was taken out are among it, imported votes are not.
    items = Item.objects.work().filter(study__in=studies).order_by().values_list("study")
    sums = {study: sums for study, *sums in items.annotate(Sum("done"), Sum("overlap"))}
    return {
        row["pk"]: row | dict(zip(("done", "wanted"), sums.get(row["pk"], (0, 0)), strict=True))
        for row in rows.values("pk", "people", "last")
    }


def places(user: User, studies: list[Study]) -> dict[int, Place]:
    """{study's id: the person's Place}, in one statement for all ``studies`` (with_membership)."""
    values = {
        "me": user.pk,
        "studies": [study.pk for study in studies],
        "look": LOOK,
        "reads": user.reads or None,
    }
    by_id = {study.pk: study for study in studies}
    with connection.cursor() as cursor:
        cursor.execute(_PLACES, values)
        names = [column.name for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    for row in rows:
        # A hidden check is judged without one waiting less: an exact number would give it away.
        if row.pop("hides") and row["waiting"]:
            row |= {"more": True, "waiting": row["waiting"] // TENS * TENS}
    return {row["study"]: Place(**row | {"study": by_id[row["study"]]}) for row in rows}


def duration(seconds: float) -> str:
    """Hours and minutes in words; below a minute as such."""
    minutes = round(seconds / 60)
    if not minutes:
        return _("under a minute") if seconds else _("none yet")
    if minutes < 60:
        return _("%(m)d min") % {"m": minutes}
    return _("%(h)d h %(m)02d min") % {"h": minutes // 60, "m": minutes % 60}


def unread(user: User, studies: list[Study]) -> dict[int, list]:
    """{study's id: its unread messages, newest first}, in one statement for all ``studies``.

    Without notices of batches in which nothing waits for ``user``.
    """
    parts = [messages.unread(user, study).order_by() for study in studies]
    rows = sorted(parts[0].union(*parts[1:], all=True), key=lambda row: -row.pk) if parts else []
    batches = {row.batch_number for row in rows if row.batch_number}
    unjudged = Slot.objects.filter(item__batch__in=batches, reserved_for=user)
    unjudged = unjudged.filter(status__in=(Slot.Status.OPEN, Slot.Status.HELD))
    waiting = set(unjudged.values_list("item__batch", flat=True)) if batches else set()
    of_study = defaultdict(list)
    for row in rows:
        if row.batch_number in {None, *waiting}:
            of_study[row.study_id].append(row)
    return dict(of_study)


def left(user: User) -> QuerySet[Membership]:
    """The person's ended memberships as an annotator, the last first."""
    ended = user.memberships.filter(role=Role.ANNOTATOR).exclude(left_at=None)
    return ended.select_related("study").order_by("-left_at")


def own_study(user: User, slug: str) -> Study:
    """The study that ``user`` annotates, or annotated before leaving: their data stays accessible.

    With ``role`` (None for who left) and ``consented``, and refusals, as of ``study_for``.
    """
    ended = Membership.objects.filter(user=user, role=Role.ANNOTATOR).exclude(left_at=None)
    try:
        return study_for(user, slug, policies.judgment.may_read_own)
    except Http404:
        study = Study.objects.filter(slug=slug, memberships__in=ended).with_membership(user).first()
        if study is None:
            raise
        return study


def judgments(study: Study, user: User) -> QuerySet[Judgment]:
    """The person's newest judgment of each item, the last first.

    ``study`` comes from ``study_for``. Each has ``question`` (its beginning), ``first_at``, and
    ``out``: it was taken out.
    """
    until = places(user, [study])[study.pk].out_until
    first = Judgment.objects.filter(slot=OuterRef("slot"), revision=1)
    newest = Judgment.objects.filter(slot__study=study, annotator=user, replaced_by=None)
    newest = newest.select_related("slot__item__batch__task").annotate(
        question=Left(asked_of("slot__item"), BEGINNING + 1),
        first_at=Subquery(first.values("submitted_at")),
        out=Q(submitted_at__lte=until) if until else Value(False),
    )
    return newest.order_by("-submitted_at", "-pk")


def judgment_rows(study: Study, page: Sequence[Any]) -> list[dict]:
    """What the page shows of each judgment in ``page``, some of ``judgments``."""
    threads = comments.threads(judgment.slot_id for judgment in page)
    answers = shown_answers(page)
    return [
        {
            "judgment": judgment,
            "words": answer_words(judgment, answers[judgment.pk]),
            "changes": judgment.revision - 1,
            "may_change": not judgment.out and submit.editable(study, judgment, judgment.first_at),
            "comments": threads[judgment.slot_id],
        }
        for judgment in page
    ]


def shown_answers(judgments: Sequence[Judgment]) -> dict[int, Answer]:
    """{judgment's id: its answer as its annotator saw it}; they come with their items' tasks."""
    tasks = {judgment.pk: judgment.slot.item.batch.task for judgment in judgments}
    answers = answers_of({pk: task.kind for pk, task in tasks.items()})
    for judgment in judgments:
        task, pk = tasks[judgment.pk], judgment.pk
        kind, config = kind_of(task.kind), config_of_task(task)
        answers[pk] = kind.as_shown(answers[pk], judgment.shown, config)
    return answers


def answer_words(judgment: Judgment, answer: Answer) -> list[str]:
    """One of ``shown_answers`` in words, a line or more."""
    task = judgment.slot.item.batch.task
    return kind_of(task.kind).words(answer, config_of_task(task))


def place_of(judgment: Judgment, number: int) -> int | None:
    """Where the answer with the canonical ``number`` was shown, from 1."""
    return judgment.shown.index(number) + 1 if number in judgment.shown else None
