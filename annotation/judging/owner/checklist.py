"""What the owner of a history does in a study, step by step, and how far they are with each step.

Everything is derived from rows: nobody ticks a step off.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from django.db.models import Avg, Count, Exists, OuterRef, Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.accounts.models import User
from annotation.candidates.models import Candidate
from annotation.histories import browse, collection, consent
from annotation.judging.kinds import claim_reviews
from annotation.judging.models import Slot
from annotation.judging.work import hidden_checks
from annotation.queries.models import GoldResponse, Query, Rubric
from annotation.studies.models import Study

# Of the first answers of a study: how many a query gets, and how long one takes.
GUESSED_ANSWERS, GUESSED_SECONDS = 3, 30
SERVED = (Slot.Status.OPEN, Slot.Status.HELD)


@dataclass(frozen=True)
class Progress:
    """Counts of one person in one study; ``history`` is the same in each of their studies."""

    history: dict[str, int]
    reading: bool
    allowed: int = 0
    drafts: int = 0
    ready: int = 0
    judged_queries: int = 0
    gold: int = 0
    reviewed: int = 0
    rubrics: int = 0
    asked: int = 0
    written: int = 0
    failed: int = 0
    answers_waiting: int = 0
    answers_judged: int = 0
    claims_waiting: int = 0
    # Of an answer of this study, on average; None before the first.
    seconds: float | None = None
    # Whether answers come without a curator.
    automatic: bool = False
    # Own items to judge once more.
    retests: int = 0
    # Days of the history that the study collects and that have not come.
    missing: int = 0

    @property
    def opened(self) -> int:
        """Answers that were opened for judging."""
        return self.answers_waiting + self.answers_judged


@dataclass(frozen=True)
class Step:
    """One line of the checklist.

    ``state`` is done, now (the step to take next), waits (for others), or later; ``note`` says how
    far it is, ``action`` names the button that leads to ``url``; it takes about ``minutes`` more.
    ``passed``: done, or not needed any more.
    """

    name: str
    title: str
    action: str
    url: str
    passed: bool
    note: str
    minutes: int
    waits: bool = False
    state: str = "later"

    @property
    def state_words(self) -> str:
        return {
            "done": _("done"),
            "now": _("next"),
            "waits": _("waiting"),
            "later": _("later"),
        }[self.state]


@dataclass(frozen=True)
class Checklist:
    """All steps of one person in one study."""

    study: Study
    progress: Progress
    steps: list[Step]

    @property
    def current(self) -> Step | None:
        """The step to take or to wait for; None when all is done."""
        return next((step for step in self.steps if step.state in ("now", "waits")), None)

    @property
    def number(self) -> int:
        """The place of the current step, from 1."""
        return self.steps.index(self.current) + 1 if self.current else len(self.steps)

    @property
    def minutes(self) -> int:
        """About how long all that is left takes the person, without waiting."""
        return sum(step.minutes for step in self.steps if step.state != "done")

    @property
    def is_due(self) -> bool:
        """Whether there is a step that the person can take now."""
        active = self.study.status != Study.Status.CLOSED
        return active and any(step.state == "now" for step in self.steps)

    @property
    def changes_by_itself(self) -> bool:
        """Whether the page should ask again: something is read or written, or is waited for."""
        return self.progress.reading or any(step.state == "waits" for step in self.steps)


def checklist(user: User, study: Study) -> Checklist:
    """The checklist of ``user`` in ``study``."""
    return checklists(user, [study])[study.pk]


def checklists(user: User, studies: list[Study]) -> dict[int, Checklist]:
    """{study's id: checklist} in a number of statements that does not grow with ``studies``."""
    if not studies:
        return {}
    progress = _progress(user, studies)
    return {
        study.pk: Checklist(study, progress[study.pk], _steps(study, progress[study.pk]))
        for study in studies
    }


def _progress(user: User, studies: list[Study]) -> dict[int, Progress]:
    ids = [study.pk for study in studies]
    history, reading = browse.tally(user), browse.is_being_read(user)
    allowed = consent.allowed_purposes(user)
    counts = defaultdict(dict)
    for rows in (_queries(user, ids), _answers(user, ids), _slots(user, ids)):
        for row in rows:
            counts[row["study"]] |= {name: n for name, n in row.items() if name != "study"}
    retests = hidden_checks.retests_due(user.pk, ids)
    for pk in ids:
        counts[pk] |= {"allowed": allowed.get(pk, 0), "retests": retests.get(pk, 0)}
    for collected in collection.collections(user, studies):
        counts[collected.study.pk]["missing"] = len(collected.missing)
    return {
        study.pk: Progress(history, reading, automatic=study.automatic, **counts[study.pk])
        for study in studies
    }


def _queries(user: User, studies: list[int]) -> Iterable[Mapping[str, Any]]:
    judged = Slot.objects.filter(
        item__query=OuterRef("pk"), item__gold=None, reserved_for=user, status=Slot.Status.DONE
    )
    reviews = (
        claim_reviews().standing().filter(slot__item__gold__query=OuterRef("pk"), annotator=user)
    )
    queries = Query.objects.filter(study__in=studies, owner=user, replaced_at=None).annotate(
        is_judged=Exists(judged),
        has_gold=Exists(GoldResponse.objects.filter(query=OuterRef("pk"))),
        has_review=Exists(reviews),
        has_rubric=Exists(Rubric.objects.filter(query=OuterRef("pk"))),
    )
    return queries.values("study").annotate(  # type: ignore[no-redef] # none of a query's own
        drafts=Count("pk", Q(ready=False)),
        ready=Count("pk", Q(ready=True)),
        judged_queries=Count("pk", Q(is_judged=True)),
        gold=Count("pk", Q(has_gold=True)),
        reviewed=Count("pk", Q(has_review=True)),
        rubrics=Count("pk", Q(has_rubric=True)),
    )


def _answers(user: User, studies: list[int]) -> Iterable[Mapping[str, Any]]:
    asked = Candidate.objects.filter(query__owner=user, study__in=studies)
    return asked.values("study").annotate(
        asked=Count("pk"),
        written=Count("pk", Q(status=Candidate.Status.DONE)),
        failed=Count("pk", Q(status=Candidate.Status.FAILED)),
        seconds=Avg("seconds", filter=Q(status=Candidate.Status.DONE)),
    )


def _slots(user: User, studies: list[int]) -> Iterable[Mapping[str, Any]]:
    # By way of the owner's queries: slots have no index of whom they are reserved for.
    reserved = Slot.objects.filter(
        item__query__owner=user, item__study__in=studies, reserved_for=user
    )
    of_answers = Q(item__gold=None)
    return reserved.values("study").annotate(
        answers_waiting=Count("pk", of_answers & Q(status__in=SERVED)),
        answers_judged=Count("pk", of_answers & Q(status=Slot.Status.DONE)),
        claims_waiting=Count("pk", ~of_answers & Q(status__in=SERVED)),
    )


def _steps(study: Study, progress: Progress) -> list[Step]:
    """All steps with their state; what waits to be judged comes before whatever else is open."""
    steps = _all(study, progress)
    first = next((step.name for step in steps if not step.passed), "")
    to_judge = progress.answers_waiting or progress.retests
    if study.status == Study.Status.OPEN and (to_judge or progress.claims_waiting):
        first = "judge" if to_judge else "claims"
    return [replace(step, state=_state(step, first)) for step in steps]


def _state(step: Step, first: str) -> str:
    if step.name == first:
        return "waits" if step.waits else "now"
    return "done" if step.passed else "later"


def _all(study: Study, p: Progress) -> list[Step]:
    """Every step, in order."""
    queries, judge = (reverse(name, args=[study.slug]) for name in ("own-queries", "judge"))
    return [*_of_history(p), *_of_queries(p, queries, judge), *_of_gold(p, queries, judge)]


def _of_history(p: Progress) -> list[Step]:
    return [
        Step(
            "history",
            _("Send your history"),
            _("Send a file"),
            reverse("history-uploads"),
            passed=not p.missing and (p.asked > 0 or (p.history["total"] > 0 and not p.reading)),
            note=_note_sent(p),
            minutes=0 if p.reading else 5,
            waits=p.reading,
        ),
        Step(
            "decide",
            _("Decide what is kept"),
            _("Decide on sessions"),
            f"{reverse('history')}?state=pending",
            passed=p.asked > 0 or p.history["retained"] > 0,
            note=_note_decided(p),
            minutes=min(30, 2 + p.history["pending"] // 5),
        ),
        Step(
            "allow",
            _("Allow what it may be used for"),
            _("Choose what to allow"),
            reverse("history-consent"),
            passed=p.allowed > 0 or p.ready > 0,
            note=_note_allowed(p),
            minutes=2,
        ),
    ]


def _of_queries(p: Progress, queries: str, judge: str) -> list[Step]:
    return [
        Step(
            "queries",
            _("Write questions of your own"),
            _("Write a query"),
            queries,
            passed=p.ready > 0,
            note=_note_queries(p),
            minutes=10,
        ),
        Step(
            "answers",
            _("Wait for the answers"),
            _("Write one more query"),
            queries,
            passed=p.opened > 0,
            note=_note_answers(p),
            minutes=0,
            waits=True,
        ),
        Step(
            "judge",
            _("Judge the answers"),
            _("Judge"),
            judge,
            passed=p.answers_judged > 0 and not p.answers_waiting and not p.retests,
            note=_note_judged(p),
            minutes=5 * (p.answers_waiting + p.retests or GUESSED_ANSWERS),
        ),
    ]


def _of_gold(p: Progress, queries: str, judge: str) -> list[Step]:
    return [
        Step(
            "gold",
            _("Write the answer you would have wanted"),
            _("Choose a query"),
            queries,
            **_of_judged(p, p.gold, 10),
        ),
        Step(
            "claims",
            _("Decide on its claims"),
            _("Go to the claims"),
            judge if p.claims_waiting else queries,
            **_of_judged(p, p.reviewed, 3),
        ),
        Step(
            "rubric",
            _("Settle your rubric"),
            _("Choose a query"),
            queries,
            **_of_judged(p, p.rubrics, 5),
        ),
    ]


def _of_judged(p: Progress, done: int, minutes: int) -> dict[str, Any]:
    """How far a step is that is taken for each judged query, in so many minutes."""
    note = _("%(n)d of %(of)d queries") % {"n": done, "of": p.judged_queries}
    return {
        "passed": 0 < p.judged_queries <= done,
        "note": note if p.judged_queries else "",
        "minutes": minutes * max(1, p.judged_queries - done),
    }


def _note_sent(p: Progress) -> str:
    if p.reading:
        return _("A file is being read now.")
    if p.missing:
        words = ngettext(
            "Of %(n)d day that this study collects nothing has come yet.",
            "Of %(n)d days that this study collects nothing has come yet.",
            p.missing,
        )
        return words % {"n": p.missing}
    total = p.history["total"]
    words = ngettext("%(n)d session is here.", "%(n)d sessions are here.", total)
    return words % {"n": total} if total else ""


def _note_decided(p: Progress) -> str:
    accepted, pending = p.history["retained"], p.history["pending"]
    if not accepted + pending:
        return ""
    return _("%(kept)d kept, %(pending)d not decided.") % {"kept": accepted, "pending": pending}


def _note_allowed(p: Progress) -> str:
    if p.allowed:
        words = ngettext("%(n)d use is allowed.", "%(n)d uses are allowed.", p.allowed)
        return words % {"n": p.allowed}
    return _("Nothing is allowed: answers rest on your questions alone.") if p.ready else ""


def _note_queries(p: Progress) -> str:
    if not p.ready + p.drafts:
        return ""
    return _("%(ready)d ready, %(drafts)d begun.") % {"ready": p.ready, "drafts": p.drafts}


def _note_answers(p: Progress) -> str:
    if not p.ready:
        return ""
    if p.automatic and not p.opened:
        return _note_expected(p)
    if not p.asked:
        return _(
            "The curators of this study were told, and ask for the answers. You get a message when "
            "they are here."
        )
    if p.written + p.failed < p.asked:
        counts = {"written": p.written, "asked": p.asked}
        return _("%(written)d of %(asked)d answers are written.") % counts
    if not p.opened:
        return _("All answers are written. The curators of this study open them for you next.")
    return ngettext("%(n)d answer is here.", "%(n)d answers are here.", p.opened) % {"n": p.opened}


def _note_expected(p: Progress) -> str:
    """What comes by itself, and in about how many minutes: that of the last look comes on top."""
    left = p.asked - p.written - p.failed if p.asked else GUESSED_ANSWERS * p.ready
    minutes = 1 + ceil(left * (p.seconds or GUESSED_SECONDS) / 60)
    if p.failed and not left and not p.written:
        return _("No answer could be written. The curators of this study see why.")
    words = ngettext(
        "Your answers come by themselves, in about %(n)d minute. A message tells you.",
        "Your answers come by themselves, in about %(n)d minutes. A message tells you.",
        minutes,
    )
    return words % {"n": minutes}


def _note_judged(p: Progress) -> str:
    if not p.opened:
        return ""
    counts = {"done": p.answers_judged, "waiting": p.answers_waiting}
    note = _("%(done)d judged, %(waiting)d waiting.") % counts
    if not p.retests:
        return note
    words = ngettext(
        "%(n)d that you judged before comes again, so that we see how steady judgments are: judge "
        "it as you would today.",
        "%(n)d that you judged before come again, so that we see how steady judgments are: judge "
        "them as you would today.",
        p.retests,
    )
    return f"{note} {words % {'n': p.retests}}"
