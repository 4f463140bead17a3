"""The review queue: people accept or reject what models wrote, before anything is made of it.

Where the study asks for two reviewers, the second decides only in agreement with the first; where
they differ, a third has the last word. A reviewer learns nothing of others' opinions.
"""

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.dataclasses import dataclass as schema

from annotation.accounts.models import User
from annotation.candidates.clean import FLAGS as ANSWER_FLAGS
from annotation.candidates.clean import REASONS as ANSWER_REASONS
from annotation.candidates.models import (
    Budget,
    Candidate,
    Generated,
    GenerationRules,
    Opinion,
    Proposal,
)
from annotation.candidates.steps import STEPS
from annotation.candidates.steps.base import NEAR_DUPLICATE
from annotation.core import audit
from annotation.core.errors import Conflict, DomainError
from annotation.core.schema import asked
from annotation.personas import board
from annotation.personas.models import Persona
from annotation.queries.models import Query
from annotation.studies.models import Study

PENDING, ACCEPTED, REJECTED = Generated.Review.values
ANSWER = "answer"
MOST_AT_ONCE = 500
MOST_TOKENS = 2**63 - 1


@schema(frozen=True)
class Limits:
    """What a study's models may cost, altogether and a day (UTC), and what one person may ask
    them for; None is no limit.
    """

    cost: Decimal | None = asked(gettext_lazy("Cost, altogether"), None, ge=0)
    daily_cost: Decimal | None = asked(gettext_lazy("Cost, a day"), None, ge=0)
    tokens: int | None = asked(gettext_lazy("Tokens, altogether"), None, ge=0, le=MOST_TOKENS)
    daily_tokens: int | None = asked(gettext_lazy("Tokens, a day"), None, ge=0, le=MOST_TOKENS)
    owner_texts: int | None = asked(
        gettext_lazy("Texts that one person may ask for, a day"),
        None,
        gettext_lazy("Rewritten gold responses, claims and rubrics of their own queries."),
        ge=0,
        le=10_000,
    )


@schema(frozen=True)
class ReviewRules:
    """How a study reviews what models write."""

    reviewers: int = asked(gettext_lazy("Reviewers of each proposal"), 1, ge=1, le=2)
    review_answers: bool = asked(
        gettext_lazy("Answers wait for a reviewer before raters see them"), False
    )
    similarity: float = asked(
        gettext_lazy("Near-duplicates from this similarity on"), 0.85, ge=0.3, le=1
    )
    length_tolerance: float = asked(
        gettext_lazy("Largest change of a rewrite's word count (0.1 = 10 %)"), 0.1, ge=0, le=1
    )


def rules_of(study: Study) -> GenerationRules:
    """How ``study`` reviews what models write; unsaved defaults where nothing is set."""
    return GenerationRules.objects.filter(study=study).first() or GenerationRules(study=study)


def reasons_of(kind: str) -> dict:
    """Why something of ``kind`` (a step, or "answer") may be rejected: {code: words}."""
    return ANSWER_REASONS if kind == ANSWER else STEPS[kind].reasons


def flags_of(kind: str) -> dict:
    """What automatic checks say of something of ``kind``: {code: words}."""
    near = {NEAR_DUPLICATE: _("similar to another")}
    return near | (ANSWER_FLAGS if kind == ANSWER else STEPS[kind].flags)


def rows_of(study: Study, kind: str) -> QuerySet[Any]:
    """Everything of ``kind`` in ``study`` that was written."""
    if kind == ANSWER:
        return Candidate.objects.filter(study=study, status="done").select_related("query")
    rows = Proposal.objects.filter(study=study, step=kind, status="done")
    return rows.select_related("persona", "nearest")


def waiting(study: Study, kind: str, reviewer: User, *, flag: str = "") -> QuerySet:
    """What waits for ``reviewer``, flagged first: pending, and without their opinion so far."""
    rows = rows_of(study, kind).filter(review=PENDING).exclude(opinions__reviewer=reviewer)
    if flag:
        rows = rows.filter(flags__contains=[flag])
    return rows.order_by(F("flags").desc(), "created_at", "pk")


def counts(study: Study) -> list[dict]:
    """``{"kind", "label", "pending", "accepted", "rejected", "failed"}`` of each kind there is."""
    by = {
        review: Count("pk", Q(review=review, status="done")) for review in Generated.Review.values
    }
    failed = {"failed": Count("pk", Q(status="failed"))}
    rows = Proposal.objects.filter(study=study).order_by().values("step").annotate(**by, **failed)
    there: dict[str, dict[str, Any]] = {row["step"]: dict(row) for row in rows}
    answers = Candidate.objects.filter(study=study).exclude(review="")
    there[ANSWER] = answers.aggregate(**by, **failed)
    labels = {name: step.label for name, step in STEPS.items()} | {ANSWER: _("Answers")}
    return [
        {"kind": kind, "label": label, **there[kind]}
        for kind, label in labels.items()
        if kind in there and any(there[kind].values())
    ]


@transaction.atomic
def decide(
    study: Study, kind: str, ids: Iterable[UUID], *, accepts: bool, reason: str = "", by: User
) -> int:
    """Store ``by``'s opinion on rows of ``kind``; how many. What was decided before is left out.

    Raises DomainError for a rejection without one of the kind's reasons, and for too many rows.
    """
    ids = list(dict.fromkeys(ids))
    if len(ids) > MOST_AT_ONCE:
        raise DomainError(_("Decide at most {n} at a time.").format(n=MOST_AT_ONCE), code="many")
    if not accepts and reason not in reasons_of(kind):
        raise DomainError(_("Choose the reason why it is rejected."), code="reason")
    rows = rows_of(study, kind).filter(pk__in=ids, review=PENDING)
    # Two reviewers at once would both count as the first.
    locked = {row.pk: row for row in rows.select_for_update(of=("self",)).order_by("pk")}
    column = _column(kind)
    # Read once the rows are locked: the same request may have come twice.
    before = Opinion.objects.filter(**{f"{column}__in": locked}, reviewer=by)
    judged = set(before.values_list(column, flat=True))
    decided = [row for pk, row in locked.items() if pk not in judged]
    Opinion.objects.bulk_create(
        Opinion(**{column: row}, reviewer=by, accepts=accepts, reason="" if accepts else reason)
        for row in decided
    )
    needed = rules_of(study).reviewers
    for row in decided:
        _settle(row, kind, needed, by)
    audit.record(by, "review.decide", study, kind=kind, rows=len(decided), accepts=accepts)
    return len(decided)


def _column(kind: str) -> str:
    return "candidate" if kind == ANSWER else "proposal"


def _settle(row: Proposal | Candidate, kind: str, needed: int, by: User) -> None:
    """The row's review, once ``needed`` opinions agree."""
    opinions = list(row.opinions.order_by("pk"))
    votes = Counter(opinion.accepts for opinion in opinions)
    accepts = votes[True] > votes[False]
    # Where the study asked for two reviewers before, there may be a tie and only one is needed.
    if votes[accepts] < needed or votes[True] == votes[False]:
        return
    fields = {"review": ACCEPTED if accepts else REJECTED, "reviewed_at": timezone.now()}
    if not accepts:
        fields["review_reason"] = next(each.reason for each in opinions if not each.accepts)
    elif kind != ANSWER:
        fields["made"] = STEPS[kind].accept(cast(Proposal, row), by)
    type(row)._base_manager.filter(pk=row.pk).update(**fields)


@transaction.atomic
def set_rules(study: Study, budget: dict[str, Any], rules: dict[str, Any], *, by: User) -> None:
    """Change these fields of the study's Budget and GenerationRules.

    Where fewer reviewers are asked for than before, what they agree on already is decided.
    """
    before = rules_of(study).reviewers
    Budget.objects.update_or_create(study=study, defaults=budget)
    GenerationRules.objects.update_or_create(study=study, defaults=rules)
    changed = {name: str(value) for name, value in (budget | rules).items()}
    audit.record(by, "generation.rules", study, **changed)
    needed = rules.get("reviewers", before)
    for kind in (*STEPS, ANSWER) if needed < before else ():
        rows = rows_of(study, kind).filter(review=PENDING).order_by("pk")
        # Whoever decides at this moment may have read the number of before, and holds the row.
        list(rows.select_related(None).select_for_update().values_list("pk"))
        for row in rows.filter(Exists(Opinion.objects.filter(**{_column(kind): OuterRef("pk")}))):
            _settle(row, kind, needed, by)


@transaction.atomic
def undo(study: Study, kind: str, ids: Iterable[UUID], *, by: User) -> int:
    """Take ``by``'s opinions on these rows back, with what was made of them; how many.

    Raises Conflict where something made is in use already.
    """
    rows = rows_of(study, kind).filter(pk__in=list(ids), opinions__reviewer=by)
    locked = list(rows.select_for_update(of=("self",)).order_by("pk"))
    for row in locked:
        if row.review == ACCEPTED and kind != ANSWER:
            STEPS[kind].undo(row, by)
        elif row.review == ACCEPTED and row.options.exists():
            raise Conflict(_("People judge this answer already."), code="used")
        row.opinions.filter(reviewer=by).delete()
        changed = {"review": PENDING, "review_reason": "", "reviewed_at": None}
        changed |= {} if kind == ANSWER else {"made": ""}
        type(row)._base_manager.filter(pk=row.pk).update(**changed)
    audit.record(by, "review.undo", study, kind=kind, rows=len(locked))
    return len(locked)


def near_duplicates(study: Study, kind: str, reviewer: User, similarity: float) -> QuerySet:
    """What waits for ``reviewer`` and has a neighbour at least so similar, the nearest first."""
    rows = waiting(study, kind, reviewer).filter(similarity__gte=similarity)
    return rows.order_by("-similarity", "pk")


def preview_threshold(study: Study, kind: str, reviewer: User) -> list[tuple[float, int]]:
    """How many proposals each threshold would show to ``reviewer`` as near-duplicates."""
    steps = [n / 100 for n in range(60, 100, 5)]
    shown = {f"n{place}": Count("pk", Q(similarity__gte=at)) for place, at in enumerate(steps)}
    counted = waiting(study, kind, reviewer).aggregate(**shown)
    return [(at, counted[f"n{place}"]) for place, at in enumerate(steps)]


def over_represented(study: Study, kind: str, *, most: int = 5) -> list[tuple[str, int, float]]:
    """What occurs too often among pending and accepted rows (see ``personas.board``).

    (words, count, share): scenarios of questions, dimensions of personas, strategies of answers.
    """
    rows = rows_of(study, kind).exclude(review=REJECTED)
    if kind == "persona":
        people = list(rows.values_list("output", flat=True))
        tallies = (board.tally(each, people) for each in board.DIMENSIONS.values())
        marked = (row for values in tallies for row in values.marked)
        crowded = [(value, count, count / len(people)) for value, count in marked]
        return sorted(crowded, key=lambda row: -row[1])[:most]
    columns = {ANSWER: "strategy", "question": "output__scenario"}
    column = rows.values_list(columns.get(kind, "persona__external_id"), flat=True)
    counted = Counter(str(value) for value in column if value)
    total = counted.total()
    over = board.over_represented(counted, total)
    crowded = [(words, n, n / total) for words, n in counted.most_common() if words in over]
    return crowded[:most]


def similarity_of(text: str | None, study: Study) -> float:
    """The cosine that an address names, between 0 and 1; else the study's."""
    try:
        return min(1.0, max(0.0, float(text or "")))
    except ValueError:
        return rules_of(study).similarity


def persona_funnel(study: Study) -> list[tuple[str, int]]:
    """How many personas came how far, in the study's own numbers."""
    people = Persona.objects.filter(study=study)
    made = Proposal.objects.filter(study=study, status="done", step="persona")
    split = people.aggregate(
        in_study=Count("pk", Q(dropped_at=None)),
        benchmark=Count("pk", Q(dropped_at=None, split="benchmark")),
        training=Count("pk", Q(dropped_at=None, split="training")),
    )
    return [
        (_("personas written by people"), people.exclude(external_id__startswith="g-").count()),
        (_("personas proposed by models"), made.count()),
        (_("personas accepted"), made.filter(review=ACCEPTED).count()),
        (_("personas kept"), split["in_study"]),
        (_("benchmark personas"), split["benchmark"]),
        (_("training personas"), split["training"]),
    ]


def funnel(study: Study) -> list[tuple[str, int]]:
    """How many personas and questions came how far, in the study's own numbers."""
    proposals = Proposal.objects.filter(study=study, status="done")
    queries = Query.objects.filter(study=study, replaced_at=None)
    return [
        *persona_funnel(study),
        (_("specific questions proposed"), proposals.filter(step="question").count()),
        (_("specific questions"), queries.filter(type="specific").count()),
        (_("general questions in the pool"), proposals.filter(step="general").count()),
        (_("general questions matched"), proposals.filter(step="match").count()),
        (_("general questions"), queries.filter(type="general").count()),
    ]
