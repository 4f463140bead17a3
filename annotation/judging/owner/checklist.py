"""What the owner of a history does in a study, step by step, and how far they are with each step.

Everything is derived from rows: nobody ticks a step off.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from django.db.models import Avg, Count, Exists, OuterRef, Q
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.accounts.models import User
from annotation.candidates.models import Candidate
from annotation.histories import browse, consent
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

    history: dict = field(default_factory=dict)
    reading: bool = False
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

    @property
    def opened(self) -> int:
        """Answers that were opened for judging."""
        return self.answers_waiting + self.answers_judged


@dataclass(frozen=True)
class Step:
    """One line of the checklist.

    ``state`` is done, now (the step to take next), waits (for others), or later; ``note`` says how
    far it is, ``action`` names the button that leads to ``url``; it takes about ``minutes`` more.
    """

    name: str
    title: str | Promise
    state: str
    note: str
    action: str | Promise
    url: str
    minutes: int

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


@dataclass(frozen=True)
class _Rule:
    """How one step is derived; ``skipped`` steps are passed without being done."""

    name: str
    title: Promise
    action: Promise
    url: Callable[[Study, Progress], str]
    done: Callable[[Progress], bool]
    note: Callable[[Progress], str]
    minutes: Callable[[Progress], int]
    waits: Callable[[Progress], bool] = lambda progress: False
    skipped: Callable[[Progress], bool] = lambda progress: False


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
    first = next((rule for rule in _RULES if not _passed(rule, progress)), None)
    to_judge = progress.answers_waiting or progress.retests
    if study.status == Study.Status.OPEN and (to_judge or progress.claims_waiting):
        wanted = "judge" if to_judge else "claims"
        first = next(rule for rule in _RULES if rule.name == wanted)
    steps = []
    for rule in _RULES:
        if rule is first:
            state = "waits" if rule.waits(progress) else "now"
        else:
            state = "done" if _passed(rule, progress) else "later"
        note = rule.note(progress)
        steps.append(
            Step(
                rule.name,
                rule.title,
                state,
                note,
                rule.action,
                rule.url(study, progress),
                rule.minutes(progress),
            )
        )
    return steps


def _passed(rule: _Rule, progress: Progress) -> bool:
    return rule.done(progress) or rule.skipped(progress)


# --- The steps ----------------------------------------------------------------------------------


def _note_sent(p: Progress) -> str:
    if p.reading:
        return _("A file is being read now.")
    total = p.history.get("total", 0)
    words = ngettext("%(n)d session is here.", "%(n)d sessions are here.", total)
    return words % {"n": total} if total else ""


def _note_decided(p: Progress) -> str:
    accepted, pending = p.history.get("retained", 0), p.history.get("pending", 0)
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


def _of_judged(held: str) -> Callable[[Progress], str]:
    def note(p: Progress) -> str:
        if not p.judged_queries:
            return ""
        counts = {"n": getattr(p, held), "of": p.judged_queries}
        return _("%(n)d of %(of)d queries") % counts

    return note


def _all_judged(held: str) -> Callable[[Progress], bool]:
    return lambda p: 0 < p.judged_queries <= getattr(p, held)


def _each_judged(held: str, minutes: int) -> Callable[[Progress], int]:
    return lambda p: minutes * max(1, p.judged_queries - getattr(p, held))


def _page_of(name: str) -> Callable[[Study, Progress], str]:
    return lambda study, progress: reverse(name, args=[study.slug])


def _claims_page(study: Study, progress: Progress) -> str:
    return (_JUDGE if progress.claims_waiting else _QUERIES)(study, progress)


_QUERIES = _page_of("own-queries")
_JUDGE = _page_of("judge")
_RULES = (
    _Rule(
        "history",
        gettext_lazy("Send your history"),
        gettext_lazy("Send a file"),
        lambda study, progress: reverse("history-uploads"),
        done=lambda p: p.history.get("total", 0) > 0 and not p.reading,
        waits=lambda p: p.reading,
        skipped=lambda p: p.asked > 0,
        note=_note_sent,
        minutes=lambda p: 0 if p.reading else 5,
    ),
    _Rule(
        "decide",
        gettext_lazy("Decide what is kept"),
        gettext_lazy("Decide on sessions"),
        lambda study, progress: f"{reverse('history')}?state=pending",
        done=lambda p: p.history.get("retained", 0) > 0,
        skipped=lambda p: p.asked > 0,
        note=_note_decided,
        minutes=lambda p: min(30, 2 + p.history.get("pending", 30) // 5),
    ),
    _Rule(
        "allow",
        gettext_lazy("Allow what it may be used for"),
        gettext_lazy("Choose what to allow"),
        lambda study, progress: reverse("history-consent"),
        done=lambda p: p.allowed > 0,
        skipped=lambda p: p.ready > 0,
        note=_note_allowed,
        minutes=lambda p: 2,
    ),
    _Rule(
        "queries",
        gettext_lazy("Write questions of your own"),
        gettext_lazy("Write a query"),
        _QUERIES,
        done=lambda p: p.ready > 0,
        note=_note_queries,
        minutes=lambda p: 10,
    ),
    _Rule(
        "answers",
        gettext_lazy("Wait for the answers"),
        gettext_lazy("Write one more query"),
        _QUERIES,
        done=lambda p: p.opened > 0,
        waits=lambda p: True,
        note=_note_answers,
        minutes=lambda p: 0,
    ),
    _Rule(
        "judge",
        gettext_lazy("Judge the answers"),
        gettext_lazy("Judge"),
        _JUDGE,
        done=lambda p: p.answers_judged > 0 and not p.answers_waiting and not p.retests,
        note=_note_judged,
        minutes=lambda p: 5 * (p.answers_waiting + p.retests or GUESSED_ANSWERS),
    ),
    _Rule(
        "gold",
        gettext_lazy("Write the answer you would have wanted"),
        gettext_lazy("Choose a query"),
        _QUERIES,
        done=_all_judged("gold"),
        note=_of_judged("gold"),
        minutes=_each_judged("gold", 10),
    ),
    _Rule(
        "claims",
        gettext_lazy("Decide on its claims"),
        gettext_lazy("Go to the claims"),
        _claims_page,
        done=_all_judged("reviewed"),
        note=_of_judged("reviewed"),
        minutes=_each_judged("reviewed", 3),
    ),
    _Rule(
        "rubric",
        gettext_lazy("Settle your rubric"),
        gettext_lazy("Choose a query"),
        _QUERIES,
        done=_all_judged("rubrics"),
        note=_of_judged("rubrics"),
        minutes=_each_judged("rubrics", 5),
    ),
)
