"""What opening a batch would do: items, work and cost; and the answers that it still needs.

A curator asks models for these; a study that needs no curator (``Study.automatic``) asks, passes
and opens own queries by itself.
"""

import logging
from collections import Counter
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Avg, Count, Q, Sum
from django.utils import timezone

from annotation.accounts.models import User
from annotation.candidates.models import Candidate
from annotation.core.errors import DomainError
from annotation.judging.batches.open import Plan, digest, open_batch, planned
from annotation.judging.kinds import KINDS, kind_of
from annotation.judging.kinds.planning import EVERYTHING, Scope
from annotation.judging.models import Item, Judgment
from annotation.queries.models import Query
from annotation.studies.models import Study, TaskDefinition

log = logging.getLogger(__name__)
OWNED = Q(owner__isnull=False, ready=True, replaced_at=None)
SAMPLE = 5
# Assumed where nobody has judged this task yet, and the longest time that counts as one judgment.
SECONDS, LONGEST = 90, 1800


@dataclass(frozen=True)
class Summary:
    """``hours`` rest on ``seconds`` a judgment, ``measured`` in this task or assumed.

    ``waiting`` are judgments of earlier batches, which are handed out first; ``writing`` answers
    that are still being written and would not be in it. ``embedded`` counts answers in it that the
    laptop's own small model wrote. ``overlap`` is None where the tasks' differ.
    """

    items: int
    by_query: int
    overlap: int | None
    judgments: int
    seconds: float
    measured: bool
    hours: float
    cost: float | None
    currency: str
    waiting: int
    writing: int
    embedded: int
    opens: bool
    digest: str
    sample: list[dict]
    # What keeps further items out, in a sentence; and the answers that would bring them in.
    lacking: str = ""
    answers: int = 0


def summary_of(
    study: Study,
    tasks: list[TaskDefinition],
    *,
    order: str = "task",
    overlap: int | None = None,
    sets: int | None = None,
    scope: Scope = EVERYTHING,
) -> Summary:
    """What ``open_batches`` with these arguments would do now. Nothing is stored."""
    plan = planned(study, tasks, order=order, sets=sets, scope=scope)
    rows, sizes = [row for _task, row in plan], Counter(task.pk for task, _row in plan)
    each = [
        1 if task.config.get("owner_only") else task.overlap if overlap is None else overlap
        for task in tasks
    ]
    wanted = [sizes[task.pk] * n for task, n in zip(tasks, each, strict=True)]
    pace = [_seconds(study, task) for task in tasks]
    total = sum(n * seconds for n, (seconds, _measured) in zip(wanted, pace, strict=True))
    judgments, hours = sum(wanted), total / 3600
    writing = Candidate.objects.filter(study=study, status__in=["requested", "running"])
    lacking = [kind_of(task.kind).lacking(study, task, scope) for task in tasks]
    missing = [entry for entry in lacking if entry]
    return Summary(
        items=len(rows),
        by_query=len({row["query"].pk for row in rows if row.get("query")}),
        overlap=each[0] if len(set(each)) == 1 else None,
        judgments=judgments,
        seconds=total / judgments if judgments else pace[0][0],
        measured=all(measured for _seconds, measured in pace),
        hours=hours,
        cost=_cost(study, judgments, hours),
        currency=study.currency,
        waiting=_waiting(study),
        writing=writing.count(),
        embedded=_embedded(rows),
        opens=bool(rows) and study.status == Study.Status.DRAFT,
        digest=digest(plan),
        sample=_sample(plan[:SAMPLE]),
        lacking=" ".join(dict.fromkeys(str(entry.sentence) for entry in missing)),
        answers=sum(len(entry.pairs) + len(entry.queries) for entry in missing),
    )


def _seconds(study: Study, task: TaskDefinition) -> tuple[float, bool]:
    made = Judgment.objects.filter(slot__study=study, slot__item__batch__task__name=task.name)
    made = made.filter(seconds__gt=0, seconds__lt=LONGEST)
    mean = made.aggregate(mean=Avg("seconds"))["mean"]
    return (mean, True) if mean else (SECONDS, False)


def _cost(study: Study, judgments: int, hours: float) -> float | None:
    hourly, each = study.pay_per_hour, study.pay_per_judgment
    if hourly is None and each is None:
        return None
    return float(hourly or 0) * hours + float(each or 0) * judgments


def _waiting(study: Study) -> int:
    work = Item.objects.work().filter(study=study)
    wanted = work.filter(batch__closed_at=None).aggregate(n=Sum("overlap") - Sum("done"))
    return wanted["n"] or 0


def _embedded(rows: list[dict]) -> int:
    ids = {candidate for row in rows for candidate in row.get("candidates", ())}
    names = [entry.get("name") for entry in settings.ENDPOINTS if entry.get("embedded") is True]
    if not names:
        return 0
    return Candidate.objects.filter(pk__in=ids, endpoint__in=names).count()


def _sample(plan: Plan) -> list[dict]:
    """Task, question, statement and answers of each row, as texts."""
    ids = [candidate for _task, row in plan for candidate in row.get("candidates", ())]
    texts = dict(Candidate.objects.filter(pk__in=ids).values_list("pk", "text"))
    return [
        {
            "item": row["external_id"],
            "task": task.name,
            "query": row["query"].text if row.get("query") else "",
            "attribute": row["attribute"].text if row.get("attribute") else "",
            "answers": [texts[candidate] for candidate in row.get("candidates", ())],
        }
        for task, row in plan
    ]


# Answers that are needed before


def request_answers(
    study: Study,
    task: TaskDefinition,
    *,
    scope: Scope = EVERYTHING,
    endpoint: str = "",
    limit: int | None = None,
    by: User | None = None,
) -> list[Candidate]:
    """Ask ``endpoint`` for the answers without which items of ``task`` cannot be planned.

    Answers under way are not asked for again. Returns the new rows. Raises DomainError for an
    unknown endpoint, and where it is no answer that is missing but an earlier judgment.
    """
    # Here, because it brings the queue, and a command that only looks needs none.
    from annotation.candidates import generate

    lacking = kind_of(task.kind).lacking(study, task, scope)
    if lacking is None:
        return []
    if not lacking.pairs and not lacking.queries:
        raise DomainError(lacking.sentence, code="lacking")
    return generate.request_personalised(
        study, pairs=lacking.pairs, queries=lacking.queries, endpoint=endpoint, limit=limit, by=by
    )


def go_on() -> None:
    """Take the own queries of each such study as far as they come now; may run at any time."""
    for study in Study.objects.filter(automatic=True).exclude(status=Study.Status.CLOSED):
        try:
            _ask(study)
            _pass(study)
            _open(study)
        except DomainError as refusal:
            log.warning("study %s: %s", study.slug, refusal.sentence)


def _ask(study: Study) -> None:
    from annotation.candidates import generate

    unasked = Query.objects.filter(OWNED, study=study, candidates=None)
    if names := list(unasked.values_list("pk", flat=True)):
        generate.request_answers(study, only=Q(pk__in=names))


def _pass(study: Study) -> None:
    """Accept what waits for a reviewer though no check flagged it."""
    owned = Candidate.objects.filter(study=study, query__owner__isnull=False, status="done")
    clean = owned.filter(review=Candidate.Review.PENDING, flags=[])
    clean.update(review=Candidate.Review.ACCEPTED, reviewed_at=timezone.now())


def _open(study: Study) -> None:
    """Open the queries whose answers are written, those that passed."""
    shown = Q(candidates__status="done", candidates__review__in=("", Candidate.Review.ACCEPTED))
    asked = Q(candidates__status__in=(Candidate.Status.REQUESTED, Candidate.Status.RUNNING))
    queries = Query.objects.filter(OWNED, study=study, items=None).annotate(
        shown=Count("candidates", shown), unwritten=Count("candidates", asked)
    )
    names = list(queries.filter(Q(shown__gt=0, unwritten=0)).values_list("external_id", flat=True))
    tasks = study.tasks.filter(config__owner_only=True).order_by("name", "-version")
    for task in tasks.distinct("name") if names else ():
        if "gold" not in KINDS[task.kind].shows:
            open_batch(study, task, scope=Scope(queries=names))
