"""What opening a batch would do: the items, the work, the cost, and what happens to the study."""

from dataclasses import dataclass

from django.conf import settings
from django.db.models import Avg, Sum

from annotation.candidates.models import Candidate
from annotation.judging.batches.open import arranged, digest, in_order, planned
from annotation.judging.kinds import kind_of
from annotation.judging.kinds.planning import EVERYTHING, Scope
from annotation.judging.models import Item, Judgment
from annotation.studies.models import Study, TaskDefinition

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
    scope: Scope = EVERYTHING,
) -> Summary:
    """What ``open_batches`` with these arguments would do now. Nothing is stored."""
    plans = [planned(study, task, scope) for task in tasks]
    places = arranged(tasks, plans, order)
    rows = in_order(plans, places)
    names = in_order(
        [[task.name] * len(plan) for task, plan in zip(tasks, plans, strict=True)], places
    )
    each = [
        1 if task.config.get("owner_only") else task.overlap if overlap is None else overlap
        for task in tasks
    ]
    wanted = [len(plan) * n for plan, n in zip(plans, each, strict=True)]
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
        digest=digest(rows),
        sample=_sample(rows[:SAMPLE], names),
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


def _sample(rows: list[dict], tasks: list[str]) -> list[dict]:
    """Task, question, statement and answers of the first rows, as texts."""
    ids = [candidate for row in rows for candidate in row.get("candidates", ())]
    texts = dict(Candidate.objects.filter(pk__in=ids).values_list("pk", "text"))
    return [
        {
            "item": row["external_id"],
            "task": task,
            "query": row["query"].text if row.get("query") else "",
            "attribute": row["attribute"].text if row.get("attribute") else "",
            "answers": [texts[candidate] for candidate in row.get("candidates", ())],
        }
        for row, task in zip(rows, tasks, strict=False)
    ]
