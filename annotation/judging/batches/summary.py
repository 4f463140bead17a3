"""What opening a batch would do: the items, the work, the cost, and what happens to the study."""

from dataclasses import dataclass

from django.conf import settings
from django.db.models import Avg, Sum

from annotation.candidates.models import Candidate
from annotation.judging.batches.open import digest, planned
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
    laptop's own small model wrote.
    """

    items: int
    by_query: int
    overlap: int
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
    study, task: TaskDefinition, *, overlap: int | None = None, scope: Scope = EVERYTHING
) -> Summary:
    """What ``open_batch`` with these arguments would do now. Nothing is stored."""
    rows = planned(study, task, scope)
    each = 1 if task.config.get("owner_only") else overlap or task.overlap
    judgments = len(rows) * each
    seconds, measured = _seconds(study, task)
    hours = judgments * seconds / 3600
    writing = Candidate.objects.filter(study=study, status__in=["requested", "running"])
    lacking = kind_of(task.kind).lacking(study, task, scope)
    return Summary(
        items=len(rows),
        by_query=len({row["query"].pk for row in rows if row.get("query")}),
        overlap=each,
        judgments=judgments,
        seconds=seconds,
        measured=measured,
        hours=hours,
        cost=_cost(study, judgments, hours),
        currency=study.currency,
        waiting=_waiting(study),
        writing=writing.count(),
        embedded=_embedded(rows),
        opens=bool(rows) and study.status == Study.Status.DRAFT,
        digest=digest(rows),
        sample=_sample(rows[:SAMPLE]),
        lacking=str(lacking.sentence) if lacking else "",
        answers=len(lacking.pairs) + len(lacking.queries) if lacking else 0,
    )


def _seconds(study, task) -> tuple[float, bool]:
    made = Judgment.objects.filter(slot__study=study, slot__item__batch__task__name=task.name)
    made = made.filter(seconds__gt=0, seconds__lt=LONGEST)
    mean = made.aggregate(mean=Avg("seconds"))["mean"]
    return (mean, True) if mean else (SECONDS, False)


def _cost(study, judgments: int, hours: float) -> float | None:
    hourly, each = study.pay_per_hour, study.pay_per_judgment
    if hourly is None and each is None:
        return None
    return float(hourly or 0) * hours + float(each or 0) * judgments


def _waiting(study) -> int:
    work = Item.objects.work().filter(study=study)
    wanted = work.filter(batch__closed_at=None).aggregate(n=Sum("overlap") - Sum("done"))
    return wanted["n"] or 0


def _embedded(rows: list[dict]) -> int:
    ids = {candidate for row in rows for candidate in row.get("candidates", ())}
    names = [entry.get("name") for entry in settings.ENDPOINTS if entry.get("embedded") is True]
    if not names:
        return 0
    return Candidate.objects.filter(pk__in=ids, endpoint__in=names).count()


def _sample(rows: list[dict]) -> list[dict]:
    """Question, statement and answers of the first rows, as texts."""
    ids = [candidate for row in rows for candidate in row.get("candidates", ())]
    texts = dict(Candidate.objects.filter(pk__in=ids).values_list("pk", "text"))
    return [
        {
            "item": row["external_id"],
            "query": row["query"].text if row.get("query") else "",
            "attribute": row["attribute"].text if row.get("attribute") else "",
            "answers": [texts[candidate] for candidate in row.get("candidates", ())],
        }
        for row in rows
    ]
