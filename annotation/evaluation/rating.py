"""Runs of models as raters: what one would cost, and its start by command or page."""

from dataclasses import dataclass

from annotation.accounts.models import User
from annotation.candidates import endpoints
from annotation.candidates.endpoints import Endpoint
from annotation.core.errors import DomainError
from annotation.evaluation import raters, runs
from annotation.evaluation.models import Run
from annotation.studies.models import Study

MOST_SAMPLES = 20


@dataclass(frozen=True)
class Wanted:
    """A run that nothing is stored of yet; ``expected`` are calls, tokens and cost."""

    study: object
    task: str
    model: str
    server: Endpoint
    limit: int | None
    plan: runs.Ratings
    expected: dict
    run: Run | None = None


def wanted(
    study: Study,
    task: str,
    endpoint: str,
    *,
    name: str = "",
    limit: int | None = None,
    samples: int = 1,
    resume: str = "",
) -> Wanted:
    """The run of ``endpoint`` on the items of ``task`` that have no verdict of that ``name``.

    Each order of an item's answers is asked ``samples`` times. ``resume`` is the id of a stopped
    run, which is taken again. Raises DomainError where nothing is left to rate, the task cannot be
    rated, or the endpoint is unknown.
    """
    runs.check_limit(limit)
    if not 1 <= samples <= MOST_SAMPLES:
        raise DomainError(f"samples must be from 1 to {MOST_SAMPLES}.", code="samples")
    server = endpoints.get(endpoint)
    model, run = (name or server.model)[:200], None
    if resume:
        run = runs.resume(resume, None, study=study, endpoint=server.name, task=task, limit=limit)
        model = run.model
        samples = run.samples
    plan = runs.Ratings(study, task, model, limit, samples, run=run)
    if not plan.units:
        raise DomainError(f"“{model}” has judged every item of this task.", code="nothing_new")
    expected = raters.estimate(plan.units, samples)
    expected |= {"items": len(plan.units), "cost": float(runs.cost(server, expected))}
    return Wanted(study, task, model, server, limit, plan, expected, run)


def start(wanted: Wanted, *, by: User | None = None, background: bool = False) -> Run:
    """The row of the run: held by this process, or in the ``background`` for a worker."""
    if wanted.run is not None:
        return wanted.run
    fields = runs.fields_of(wanted.server, "", wanted.limit, "", wanted.expected["calls"])
    fields |= {"model": wanted.model, "prompt": raters.VERSION}
    fields |= {"study": wanted.study, "task": wanted.task, "background": background}
    fields |= {"samples": wanted.plan.samples}
    return runs.request(None, Run.Kind.RATER, by=by, start=not background, **fields)


def words(wanted: Wanted) -> str:
    """What the run is expected to take."""
    expected = wanted.expected
    return (
        f"{expected['items']:,} items, {expected['calls']:,} calls to {wanted.server.name}, about "
        f"{expected['tokens_in'] + expected['tokens_out']:,} tokens, cost {expected['cost']:.4f}"
    )


def tasks_of(study: Study) -> list[str]:
    """The names of the tasks whose items models can judge."""
    tasks = study.tasks.order_by("name", "-version").distinct("name")
    return [task.name for task in tasks if raters.can_rate(task)]


def runs_of(study: Study) -> list[Run]:
    """The newest runs of models as raters in ``study``."""
    return list(Run.objects.filter(study=study).order_by("-created_at")[:20])
