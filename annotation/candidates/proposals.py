"""Proposals of models: planned, asked for as rows, written by workers, then reviewed."""

import logging
from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from itertools import islice
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Count, Max, Q, QuerySet, Sum
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from pgvector.django import CosineDistance

from annotation.accounts.models import User
from annotation.candidates import calls, endpoints, spending, structured
from annotation.candidates.endpoints import CallFailed, Endpoint
from annotation.candidates.models import Proposal, Run
from annotation.candidates.prompts import Prompt
from annotation.candidates.results import rules_of
from annotation.candidates.steps import STEPS, Step
from annotation.candidates.steps.base import (
    NEAR_DUPLICATE,
    Result,
    UnfitError,
    as_json,
    checked,
)
from annotation.core import audit, jobs
from annotation.core.embed import embed
from annotation.core.errors import DomainError
from annotation.studies.models import Study

log = logging.getLogger(__name__)

CHUNK = 2_000
REQUESTED, RUNNING, DONE = jobs.REQUESTED, jobs.RUNNING, jobs.Job.Status.DONE
FAILED, CANCELLED = jobs.FAILED, jobs.Job.Status.CANCELLED
STATUSES = (REQUESTED, RUNNING, DONE, FAILED, CANCELLED)
PENDING = Proposal.Review.PENDING


def step_of(name: str) -> Step:
    """The step of that name. Raises DomainError."""
    if name not in STEPS:
        raise DomainError(
            _("Choose among the steps {names}.").format(names=", ".join(STEPS)), code="step"
        )
    return STEPS[name]


def plan(study: Study, name: str, options: dict, *, endpoint: str = "") -> dict:
    """What a step would take; nothing is stored. Raises DomainError where it cannot be done."""
    step, server = step_of(name), endpoints.get(endpoint)
    count = sum(1 for _row in step.plan(study, checked(step.options, options), server.name))
    return _estimate(study, step, server, count)


def _estimate(study: Study, step: Step, server: Endpoint, count: int) -> dict:
    earlier = Proposal.objects.filter(study=study, step=step.name)
    return spending.estimate(server, count * step.calls, earlier, count)


@transaction.atomic
def request_proposals(
    study: Study,
    name: str,
    options: dict,
    *,
    endpoint: str = "",
    limit: int | None = None,
    by: User | None = None,
    newest: int | None = None,
) -> Run:
    """Ask for what the step plans, at most ``limit`` proposals; the run with its estimate.

    ``newest`` is the study's newest run when the plan was shown: where the same was asked for since
    then, the form was sent twice, and that run is the answer. Texts are not compared: of them only
    new ones are asked for.
    """
    step, server = step_of(name), endpoints.get(endpoint)
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    chosen = checked(step.options, options)
    stored = as_json(chosen, {*step.options} - {"texts"})
    if newest is not None and "texts" not in step.options:
        same = study.runs.filter(step=name, endpoint=server.name, options=stored, created_by=by)
        if run := same.filter(pk__gt=newest).first():
            return run
    rows = list(islice(step.plan(study, chosen, server.name), limit))
    if not rows:
        raise DomainError(_("There is nothing new to ask for."), code="nothing")
    run = Run.objects.create(
        study=study,
        step=name,
        endpoint=server.name,
        options=stored,
        planned=_estimate(study, step, server, len(rows)),
        created_by=by,
    )
    review = PENDING if step.reviewed or rules_of(study).review_answers else ""
    Proposal.objects.bulk_create(
        (
            Proposal(
                run=run,
                study=study,
                step=name,
                persona=persona,
                number=number,
                input=drawn,
                endpoint=server.name,
                review=review,
            )
            for number, (persona, drawn) in enumerate(rows, start=1)
        ),
        batch_size=CHUNK,
    )
    audit.record(by, "generation.request", run, step=name, proposals=len(rows))
    transaction.on_commit(calls.notify_due)
    return run


def write_proposal(proposal: Proposal) -> None:
    """Ask a model for a proposal that was claimed, and store it. Raises CallFailed."""
    server = endpoints.configured(proposal.endpoint)
    if server is None:
        raise CallFailed("no_endpoint")
    step = step_of(proposal.step)
    try:
        result = step.write(
            proposal, lambda name, prompt, schema: _asked(proposal, server, name, prompt, schema)
        )
    except UnfitError as error:
        log.info("proposal %s: %s", proposal.pk, error)
        _forget_last(proposal)
        raise CallFailed("schema") from None
    _store(proposal, result)


def _asked(proposal: Proposal, server: Endpoint, name: str, prompt: Prompt, schema: dict) -> dict:
    """The value of one call; asked once and kept, for later attempts too."""
    asked = proposal.parameters.get(name)
    if asked is None:
        try:
            value, answer, seconds = structured.call(
                proposal.study_id, server, prompt.messages, schema
            )
        except CallFailed as failure:
            if failure.answer:
                spending.paid(proposal, server, failure.answer, 0)
            raise
        spending.paid(proposal, server, answer, seconds)
        asked = {
            "value": value,
            "template": prompt.template,
            "prompt": prompt.messages,
            "model": server.named(answer.model),
            "request": server.request,
            "request_id": answer.request_id,
        }
        calls.store_parameter(proposal, name, asked)
    return asked["value"]


def _forget_last(proposal: Proposal) -> None:
    """What made no sense is asked for anew at the next try."""
    if proposal.parameters:
        proposal.parameters.pop(list(proposal.parameters)[-1])
        jobs.held(proposal).update(parameters=proposal.parameters)


def _store(proposal: Proposal, result: Result) -> None:
    (vector,) = embed([result.text])
    nearest, similarity = nearest_to(proposal, vector)
    flags = list(result.flags)
    if similarity is not None and similarity >= rules_of(proposal.study).similarity:
        flags.append(NEAR_DUPLICATE)
    last = next(reversed(proposal.parameters.values()), {})
    with transaction.atomic():
        stored = jobs.end(
            proposal,
            DONE,
            output=result.output,
            text=result.text,
            embedding=vector,
            nearest=nearest,
            similarity=similarity,
            flags=flags,
            model=last.get("model", ""),
            template=last.get("template", ""),
            request_id=last.get("request_id", ""),
            answered_at=Now(),
            error_code="",
            error="",
        )
        if stored:
            step_of(proposal.step).store(proposal, result)
    if not stored:
        log.warning("proposal %s: attempt %s came too late", proposal.pk, proposal.attempts)


def nearest_to(proposal: Proposal, vector: np.ndarray) -> tuple[Proposal | None, float | None]:
    """The most similar proposal of the same step that is not rejected, and the cosine to it."""
    if not step_of(proposal.step).reviewed:  # its statements are clustered, one by one
        return None, None
    others = Proposal.objects.filter(
        study=proposal.study_id, step=proposal.step, embedding__isnull=False
    ).exclude(Q(review=Proposal.Review.REJECTED) | Q(pk=proposal.pk))
    # The same question for two personas, or one text chosen by two, is meant.
    if proposal.step in ("match", "memory"):
        others = others.filter(persona=proposal.persona_id)
    near = others.annotate(away=CosineDistance("embedding", vector)).order_by("away").first()
    return (near, 1 - near.away) if near else (None, None)


@transaction.atomic
def cancel(run: Run, *, by: User | None = None) -> int:
    """Let nothing more of ``run`` be asked for; how many rows. Calls in progress end."""
    Run.objects.filter(pk=run.pk, cancelled_at=None).update(cancelled_at=timezone.now())
    count = sum(rows.filter(status=REQUESTED).update(status=CANCELLED) for rows in rows_of(run))
    audit.record(by, "generation.cancel", run, proposals=count)
    return count


@transaction.atomic
def resume(run: Run, *, by: User | None = None) -> int:
    """Ask again for what of ``run`` stopped (``calls.stopped``); how many rows."""
    Run.objects.filter(pk=run.pk).update(cancelled_at=None)
    count = sum(calls.retry_calls(calls.stopped(rows)) for rows in rows_of(run))
    audit.record(by, "generation.resume", run, proposals=count)
    return count


def rows_of(run: Run) -> list:
    """The rows of ``run``, a query set a table."""
    return [table.filter(run=run) for table in calls.TABLES]


def progress(run: Run) -> dict:
    """What became of ``run`` (``progress_of``)."""
    return progress_of([run])[run.pk]


def progress_of(runs: Sequence[Run]) -> dict[int, dict]:
    """{run's id: what became of it}: counts by status, results a minute, failures by cause.

    ``{"total", "requested", "running", "done", "failed", "cancelled", "rate", "actual",
    "failures": [{"error_code", "error", "count"}]}``; ``actual`` is what was planned as it came:
    calls that were answered, tokens, cost, seconds from the run's start to its last result.
    """
    counts: dict[int, dict] = {}
    failures: dict[int, list[dict]] = defaultdict(list)
    for table in calls.TABLES:
        rows: QuerySet[Any] = table.filter(run__in=runs).order_by()
        counts |= {row["run"]: row for row in _counted(rows.values("run"))}
        causes = rows.exclude(error_code="").exclude(status=DONE)
        causes = causes.values("run", "error_code", "error").annotate(count=Count("pk"))
        for cause in causes.order_by("-count", "error"):
            failures[cause.pop("run")].append(cause)
    return {
        run.pk: _progress(run, counts.get(run.pk, {})) | {"failures": failures[run.pk]}
        for run in runs
    }


def _counted(rows: QuerySet[Any]) -> QuerySet[Any]:
    minute = Q(answered_at__gt=timezone.now() - timedelta(minutes=1))
    return rows.annotate(
        total=Count("pk"),
        answered=Sum("calls", default=0),
        tokens=Sum("tokens_in", default=0) + Sum("tokens_out", default=0),
        price=Sum("cost", default=0),
        rate=Count("pk", minute),
        last=Max("answered_at"),
        **{str(status): Count("pk", Q(status=status)) for status in STATUSES},
    )


def _progress(run: Run, counts: dict) -> dict:
    last = counts.get("last")
    actual = {
        "calls": counts.get("answered", 0),
        "tokens": counts.get("tokens", 0),
        "cost": float(counts.get("price", 0)),
        "seconds": round((last - run.created_at).total_seconds(), 1) if last else 0.0,
    }
    shown = {str(name): counts.get(str(name), 0) for name in ("total", *STATUSES, "rate")}
    return shown | {"actual": actual}
