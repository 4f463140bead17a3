"""What the owner of a history does in a study, step by step, and how far they are with each step.

Everything is derived from rows: nobody ticks a step off.
"""

from dataclasses import dataclass
from math import ceil

from django.db.models import Avg, Count, Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

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
STATES = {
    "done": gettext_lazy("done"),
    "now": gettext_lazy("next"),
    "waits": gettext_lazy("waiting"),
    "later": gettext_lazy("later"),
}
# Every step in order: its title, and the button that leads to it.
STEPS = {
    "history": (gettext_lazy("Send your history"), gettext_lazy("Send a file")),
    "decide": (gettext_lazy("Decide what is kept"), gettext_lazy("Decide on sessions")),
    "allow": (
        gettext_lazy("Allow what it may be used for"),
        gettext_lazy("Choose what to allow"),
    ),
    "queries": (gettext_lazy("Write questions of your own"), gettext_lazy("Write a query")),
    "answers": (gettext_lazy("Wait for the answers"), gettext_lazy("Write one more query")),
    "judge": (gettext_lazy("Judge the answers"), gettext_lazy("Judge")),
    "gold": (
        gettext_lazy("Write the answer you would have wanted"),
        gettext_lazy("Write it"),
    ),
    "claims": (gettext_lazy("Decide on its claims"), gettext_lazy("Go to the claims")),
    "rubric": (gettext_lazy("Settle your rubric"), gettext_lazy("Go to the rubric")),
}


@dataclass(frozen=True)
class Progress:
    """Counts of one person in one study; ``history`` is the same in each of their studies."""

    history: dict[str, int]
    reading: bool
    # Uses of the history that are allowed; days of it that the study collects and that are missing.
    allowed: int
    missing: int
    # Queries.
    drafts: int
    ready: int
    judged_queries: int
    gold: int
    reviewed: int
    rubrics: int
    # Answers: asked for, written, and the seconds that one of this study takes on average.
    asked: int
    written: int
    failed: int
    seconds: float | None
    # Whether answers come without a curator.
    automatic: bool
    answers_waiting: int
    answers_judged: int
    claims_waiting: int
    # Own items to judge once more.
    retests: int
    # {step of judged queries: the oldest query that still lacks it}.
    lacking: dict[str, str]

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
    title: str
    action: str
    url: str
    note: str
    minutes: int
    state: str

    @property
    def state_words(self) -> str:
        return str(STATES[self.state])


@dataclass(frozen=True)
class Checklist:
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
    """The checklist of ``user`` in ``study``; what waits to be judged comes before the rest."""
    p = _progress(user, study)
    stands = _stands(p)
    first = next((name for name in STEPS if not stands[name][0]), "")
    to_judge = p.answers_waiting or p.retests
    if study.status == Study.Status.OPEN and (to_judge or p.claims_waiting):
        first = "judge" if to_judge else "claims"
    waits = first == "answers" or (first == "history" and p.reading)
    queries, judge = (reverse(name, args=[study.slug]) for name in ("own-queries", "judge"))
    urls = {
        "history": reverse("history-uploads"),
        "decide": f"{reverse('history')}?state=pending",
        "allow": reverse("history-consent"),
        "judge": judge,
    }
    for name, key in p.lacking.items():
        section = "" if name == "gold" else f"#{name}-of-it"
        urls[name] = reverse("gold", args=[study.slug, key]) + section
    if p.claims_waiting:
        urls["claims"] = judge
    steps = []
    for name, (title, action) in STEPS.items():
        passed, minutes, note = stands[name]
        state = "done" if passed else "later"
        if name == first:
            state = "waits" if waits else "now"
        url = urls.get(name, queries)
        steps.append(Step(name, str(title), str(action), url, note, minutes, state))
    return Checklist(study, p, steps)


def _progress(user: User, study: Study) -> Progress:
    judged = Slot.objects.filter(
        item__query=OuterRef("pk"), item__gold=None, reserved_for=user, status=Slot.Status.DONE
    )
    reviews = claim_reviews().standing()
    reviews = reviews.filter(slot__item__gold__query=OuterRef("pk"), annotator=user)
    queries = Query.objects.filter(study=study, owner=user, replaced_at=None).annotate(
        is_judged=Exists(judged),
        has_gold=Exists(GoldResponse.objects.filter(query=OuterRef("pk"))),
        has_review=Exists(reviews),
        has_rubric=Exists(Rubric.objects.filter(query=OuterRef("pk"))),
    )
    written = Q(status=Candidate.Status.DONE)
    # By way of the owner's queries: slots have no index of whom they are reserved for.
    reserved = Slot.objects.filter(item__query__owner=user, item__study=study, reserved_for=user)
    of_answers, served = Q(item__gold=None), Q(status__in=SERVED)
    collected = collection.collections(user, [study])
    return Progress(
        history=browse.tally(user),
        reading=browse.is_being_read(user),
        allowed=consent.allowed_purposes(user).get(study.pk, 0),
        missing=sum(len(each.missing) for each in collected),
        automatic=study.automatic,
        retests=hidden_checks.retests_due(user.pk, study.pk),
        lacking=_lacking(queries),
        **queries.aggregate(
            drafts=Count("pk", Q(ready=False)),
            ready=Count("pk", Q(ready=True)),
            judged_queries=Count("pk", Q(is_judged=True)),
            gold=Count("pk", Q(has_gold=True)),
            reviewed=Count("pk", Q(has_review=True)),
            rubrics=Count("pk", Q(has_rubric=True)),
        ),
        **Candidate.objects.filter(query__owner=user, study=study).aggregate(
            asked=Count("pk"),
            written=Count("pk", written),
            failed=Count("pk", Q(status=Candidate.Status.FAILED)),
            seconds=Avg("seconds", filter=written),
        ),
        **reserved.aggregate(
            answers_waiting=Count("pk", of_answers & served),
            answers_judged=Count("pk", of_answers & Q(status=Slot.Status.DONE)),
            claims_waiting=Count("pk", ~of_answers & served),
        ),
    )


def _lacking(queries: QuerySet[Query]) -> dict[str, str]:
    of_steps = {"gold": "has_gold", "claims": "has_review", "rubric": "has_rubric"}
    judged = list(queries.filter(Q(is_judged=True)).order_by("-pk"))
    return {
        step: query.external_id
        for step, made in of_steps.items()
        for query in judged
        if not getattr(query, made)
    }


def _stands(p: Progress) -> dict[str, tuple[bool, int, str]]:
    """{step: (whether it is done or not needed any more, minutes that it takes, how far it is)}."""
    sent = p.asked > 0 or (p.history["total"] > 0 and not p.reading)
    judged = p.answers_judged > 0 and not p.answers_waiting and not p.retests
    kept = {"kept": p.history["retained"], "pending": p.history["pending"]}
    decided = _("%(kept)d kept, %(pending)d not decided.") % kept if any(kept.values()) else ""
    begun = {"ready": p.ready, "drafts": p.drafts}
    written = _("%(ready)d ready, %(drafts)d begun.") % begun if any(begun.values()) else ""
    # Of each judged query: for how many it is made, and the minutes that one takes.
    of_judged = {"gold": (p.gold, 10), "claims": (p.reviewed, 3), "rubric": (p.rubrics, 5)}
    words = _("queries: %(n)d of %(of)d")
    return {
        "history": (not p.missing and sent, 0 if p.reading else 5, _note_sent(p)),
        "decide": (
            p.asked > 0 or p.history["retained"] > 0,
            min(30, 2 + p.history["pending"] // 5),
            decided,
        ),
        "allow": (p.allowed > 0 or p.ready > 0, 2, _note_allowed(p)),
        "queries": (p.ready > 0, 10, written),
        "answers": (p.opened > 0, 0, _note_answers(p) if p.ready else ""),
        "judge": (
            judged,
            5 * (p.answers_waiting + p.retests or GUESSED_ANSWERS),
            _note_judged(p) if p.opened else "",
        ),
        **{
            name: (
                0 < p.judged_queries <= n,
                minutes * max(1, p.judged_queries - n),
                words % {"n": n, "of": p.judged_queries} if p.judged_queries else "",
            )
            for name, (n, minutes) in of_judged.items()
        },
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


def _note_allowed(p: Progress) -> str:
    if p.allowed:
        words = ngettext("%(n)d use is allowed.", "%(n)d uses are allowed.", p.allowed)
        return words % {"n": p.allowed}
    return _("Nothing is allowed: answers rest on your questions alone.") if p.ready else ""


def _note_answers(p: Progress) -> str:
    if p.automatic and not p.opened:
        return _note_expected(p)
    if not p.asked:
        return _(
            "The curators of this study were told, and ask for the answers. You get a message when "
            "they are here."
        )
    if p.written + p.failed < p.asked:
        counts = {"written": p.written, "asked": p.asked}
        return _("Answers written: %(written)d of %(asked)d.") % counts
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
