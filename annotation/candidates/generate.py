"""What models are asked for, answers and proposals of steps: as rows, one row one result.

``writing`` has workers fill them.
"""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, timedelta
from functools import cache
from itertools import islice
from operator import attrgetter
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Max, Q, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.candidates import calls, endpoints, retrieve, wording
from annotation.candidates.endpoints import Endpoint
from annotation.candidates.models import Budget, Candidate, Proposal, Retrieval, Run
from annotation.candidates.review import PENDING, rules_of
from annotation.candidates.steps import STEPS, Step
from annotation.candidates.steps.base import as_json, checked
from annotation.candidates.strategies import (
    FROM_ATTRIBUTES,
    QUESTION_ALONE,
    Prompt,
    Strategy,
    by_default,
    by_name,
)
from annotation.core import audit, jobs
from annotation.core.errors import Conflict, DomainError
from annotation.personas.models import Attribute, PersonaVersion
from annotation.queries.models import Query
from annotation.queries.scenarios import FEWEST
from annotation.studies.models import Study

CHUNK = 2_000
REQUESTED, RUNNING, DONE = jobs.REQUESTED, jobs.RUNNING, jobs.Job.Status.DONE
FAILED, CANCELLED = jobs.FAILED, jobs.Job.Status.CANCELLED
STATUSES = (REQUESTED, RUNNING, DONE, FAILED, CANCELLED)

# --- Answers --------------------------------------------------------------------------------------


def _estimate(study: Study, server: Endpoint, rows: list[Candidate]) -> dict:
    count = sum(2 if by_name()[row.strategy].asks_twice else 1 for row in rows)
    names = {row.strategy for row in rows}
    earlier = Candidate.every.filter(study=study, strategy__in=names)
    return calls.estimate(server, count, earlier, len(rows))


def request_answers(
    study: Study,
    *,
    endpoint: str = "",
    strategies: Sequence[str] = (),
    of: str = "A1",
    limit: int | None = None,
    only: Q = Q(),  # noqa: B008 - never changed
    by: User | None = None,
) -> list[Candidate]:
    """Ask ``endpoint`` for one answer to each current query with each strategy, ``limit`` at most.

    ``only`` narrows the queries. ``strategies`` are the study's own where none are named; those
    that rewrite take the answers of the strategy ``of``. What was asked for before is not asked
    again, and a strategy passes over the queries that it cannot answer: without a persona, without
    an owner who agreed that this endpoint sees their history, without a need for "oracle". Returns
    the new rows, in the order of the queries. Raises DomainError where there is nothing to ask
    about or to rewrite, or the endpoint or a strategy is unknown.
    """
    server = endpoints.get(endpoint)
    names = dict.fromkeys(strategies or default_strategies(study))
    if not names or names.keys() - by_name().keys():
        sentence = _("Choose among the strategies {names}.")
        raise DomainError(sentence.format(names=", ".join(by_name())), code="strategy")
    with transaction.atomic():
        _lock(study)
        current = Query.objects.filter(only, study=study, replaced_at=None, ready=True).exclude(
            persona__dropped_at__isnull=False
        )
        queries = list(current.select_related("owner").order_by("pk"))
        if not queries:
            raise DomainError(_("This study has no queries to answer yet."), code="no_queries")
        versions = _current_versions(queries)
        means = _Means(study, server, versions, _answers_of(study, of))
        rows = [
            _row(query, name, server, versions.get(query.persona_id), source)
            for query in queries
            for name in names
            for source in means.sources(query, by_name()[name])
        ]
        if not means.answers and all(by_name()[name].rewrites for name in names):
            raise DomainError(
                _("Only answers that are written can be rewritten."), code="no_source"
            )
        return _insert(study, server, rows, by, limit)


def _answers_of(study: Study, strategy: str) -> dict[int, list[Candidate]]:
    """{query's id: the answers of ``strategy`` that can be rewritten}."""
    rows = Candidate.objects.filter(study=study, strategy=strategy, status=DONE)
    rows = rows.filter(query__replaced_at=None, review__in=("", Candidate.Review.ACCEPTED))
    answers = defaultdict(list)
    for row in rows.order_by("pk"):
        answers[row.query_id].append(row)
    return answers


def default_strategies(study: Study) -> tuple[str, ...]:
    """The strategies that ``study`` uses where nobody names others."""
    retrieval = Retrieval.objects.filter(study=study).first()
    return tuple((retrieval and retrieval.strategies) or by_default())


class _Means:
    """What there is in a study for a strategy to work with."""

    def __init__(self, study: Study, server: Endpoint, versions: dict, answers: dict) -> None:
        self.server, self.versions, self.answers = server, versions, answers
        self.retrieval = Retrieval.objects.filter(study=study).first()
        self.agrees = cache(lambda owner: retrieve.agreed(study, owner, server.name))
        described = Attribute.objects.filter(persona__study=study)
        self.described = set(described.values_list("persona_id", flat=True))
        self.people = study.personas.filter(dropped_at=None).count()

    def sources(self, query: Query, strategy: Strategy) -> list[Candidate | None]:
        """The answers to ``query`` to rewrite; [None] where ``strategy`` can answer it itself."""
        if strategy.rewrites:
            return self.answers.get(query.pk, [])
        return [] if self._lacks(query, strategy) else [None]

    def _lacks(self, query: Query, strategy: Strategy) -> bool:
        """Whether something that ``strategy`` needs is missing."""
        return (
            (strategy.needs_persona and query.persona_id not in self.versions)
            or (strategy.needs_attributes and query.persona_id not in self.described)
            or (strategy.other_persona and self.people < 2)
            or (strategy.searches and self.retrieval is None)
            or (strategy.endpoint_searches and self.server.web_search is None)
            or (strategy.oracle and not (self.retrieval and self.retrieval.oracle and query.need))
            or (strategy.history and not (query.owner and self.agrees(query.owner)))
        )


def planned(rows: Sequence[Candidate]) -> dict:
    """What ``rows``, which were just asked for, are expected to take (calls.estimate)."""
    return rows[0].run.planned if rows and rows[0].run else calls.NOTHING


def request_text(
    query: Query,
    purpose: str,
    name: str,
    prompt: Prompt,
    *,
    endpoint: str = "",
    by: User | None = None,
    **parameters: Any,
) -> Candidate:
    """Ask ``endpoint`` for a text about ``query`` that is no answer (claims, rubric); its row.

    ``name`` tells it from others of this query and purpose: asked for again, the row that is there
    is returned, and tried again where it failed. ``parameters`` are kept with it. DomainError where
    ``by`` has asked for as many today as one person may.
    """
    server = endpoints.get(endpoint)
    row = _row(query, f"{purpose}-{name}", server, None)
    row.purpose = purpose
    row.parameters |= parameters
    row.prompt, row.template = prompt.messages, prompt.template
    with transaction.atomic():
        _lock(query.study)
        asked = Candidate.every.filter(query=query, strategy=row.strategy, endpoint=server.name)
        if stored := asked.first():
            if stored.status == FAILED:
                calls.retry_calls(Candidate.every.filter(pk=stored.pk))
            return stored
        _check_daily_texts(query.study, by)
        row.save(force_insert=True)
        audit.record(by, f"{purpose}.request", query, endpoint=server.name)
        transaction.on_commit(calls.notify_of_calls)
    return row


def _check_daily_texts(study: Study, owner: User | None) -> None:
    most = (Budget.objects.filter(study=study).first() or Budget()).owner_texts
    if owner is None or most is None:
        return
    today = timezone.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    purposes = Candidate.Purpose.CLAIMS, Candidate.Purpose.RUBRIC, Candidate.Purpose.REFINED
    texts = Candidate.every.filter(study=study, query__owner=owner, purpose__in=purposes)
    if texts.filter(created_at__gte=today).count() >= most:
        words = _("You have asked models for %(n)d texts today. You can ask for more tomorrow.")
        raise DomainError(words % {"n": most}, code="owner_texts")


def request_personalised(
    study: Study,
    *,
    pairs: Collection[tuple[Query, Attribute]] = (),
    queries: Collection[Query] = (),
    endpoint: str = "",
    limit: int | None = None,
    by: User | None = None,
) -> list[Candidate]:
    """Ask for an answer from one attribute to each of ``pairs`` (query, attribute) and for the
    generic answer to each of ``queries``; what was asked for before is not asked again.

    Returns the new rows. Raises DomainError for an unknown endpoint.
    """
    server = endpoints.get(endpoint)
    with transaction.atomic():
        _lock(study)
        versions = _current_versions([query for query, _attribute in pairs])
        rows = [_row(query, QUESTION_ALONE, server, None) for query in queries]
        for query, attribute in pairs:
            version = versions.get(query.persona_id)
            rows.append(_row(query, FROM_ATTRIBUTES, server, version, attribute=attribute))
        return _insert(study, server, rows, by, limit)


def retry(study: Study, *, by: User | None = None) -> int:
    """Ask again for every answer of ``study`` that stopped (``calls.stopped``); how many."""
    with transaction.atomic():
        count = calls.retry_calls(calls.stopped(Candidate.every.filter(study=study)))
        if count:
            audit.record(by, "candidates.retry", study, candidates=count)
    return count


def cancel(study: Study, *, by: User | None = None) -> int:
    """Ask for nothing more of what waits in ``study``; how many answers. Calls in progress end."""
    with transaction.atomic():
        waiting = Candidate.every.filter(study=study, status=REQUESTED)
        count = waiting.update(status=CANCELLED)
        if count:
            audit.record(by, "candidates.cancel", study, candidates=count)
    return count


def _lock(study: Study) -> None:
    # Two requests at once would plan the same rows; the second then finds them.
    Study.objects.select_for_update().get(pk=study.pk)


def _current_versions(queries: Iterable[Query]) -> dict:
    rows = PersonaVersion.objects.filter(persona__in={query.persona_id for query in queries})
    return {row.persona_id: row for row in rows.order_by("version")}


def _row(
    query: Query,
    strategy: str,
    server: Endpoint,
    version: PersonaVersion | None,
    source: Candidate | None = None,
    attribute: Attribute | None = None,
) -> Candidate:
    number = f"-v{query.version}" if query.version > 1 else ""
    of = f"-{source.pk.hex[:12]}" if source else ""
    if attribute:
        of = f"-{attribute.external_id}"
    name = f"{query.external_id}{number}-{strategy}{of}-{server.name}"
    digest = hashlib.sha256(name.encode()).hexdigest()
    if len(name) > 100:
        name = f"{name[:83]}-{digest[:16]}"
    rule = by_name().get(strategy)
    return Candidate(
        study_id=query.study_id,
        query=query,
        external_id=name,
        strategy=strategy,
        source=source,
        attribute=attribute,
        status=REQUESTED,
        endpoint=server.name,
        persona_version=version if rule and rule.needs_persona else None,
        parameters={"seed": int(digest[:8], 16)} | ({"source": str(source.pk)} if source else {}),
    )


def _insert(
    study: Study, server: Endpoint, rows: list[Candidate], by: User | None, limit: int | None = None
) -> list[Candidate]:
    queries = {row.query_id for row in rows}
    fields = ("query_id", "strategy", "source_id", "attribute_id")
    stored = Candidate.every.filter(query__in=queries, endpoint=server.name)
    asked = set(stored.values_list(*fields))
    new = [row for row in rows if attrgetter(*fields)(row) not in asked][:limit]
    if not new:
        return []
    names = [row.external_id for row in new]
    if taken := Candidate.every.filter(study=study, external_id__in=names).first():
        sentence = _("The study already has another answer with the id {name}.")
        raise Conflict(sentence.format(name=taken.external_id))
    run = Run.objects.create(
        study=study,
        step="answer",
        endpoint=server.name,
        options={"strategies": sorted({row.strategy for row in new})},
        planned=_estimate(study, server, new),
        created_by=by,
    )
    versions = wording.of_answers(study)
    for row in new:
        row.run = run
        # All answers of a run are asked for in the wordings of its start.
        row.parameters |= {"prompts": versions} if versions else {}
    Candidate.every.bulk_create(new, batch_size=CHUNK)
    audit.record(by, "candidates.request", study, candidates=len(new), endpoint=server.name)
    transaction.on_commit(calls.notify_of_calls)
    return new


# --- Proposals ------------------------------------------------------------------------------------


def _step_of(name: str) -> Step:
    if name not in STEPS:
        sentence = _("Choose among the steps {names}.")
        raise DomainError(sentence.format(names=", ".join(STEPS)), code="step")
    return STEPS[name]


def plan(study: Study, name: str, options: dict, *, endpoint: str = "") -> dict:
    """What a step would take; nothing is stored. Raises DomainError where it cannot be done."""
    step, server = _step_of(name), endpoints.get(endpoint)
    count = sum(1 for _row in step.plan(study, checked(step.options, options), server.name))
    return _estimate_step(study, step, server, count)


def _estimate_step(study: Study, step: Step, server: Endpoint, count: int) -> dict:
    earlier = Proposal.objects.filter(study=study, step=step.name)
    return calls.estimate(server, count * step.calls, earlier, count)


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
    step, server = _step_of(name), endpoints.get(endpoint)
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
        planned=_estimate_step(study, step, server, len(rows)),
        created_by=by,
    )
    review = PENDING if step.reviewed or rules_of(study).review_answers else ""
    shared: Any = {
        "run": run, "study": study, "step": name, "endpoint": server.name, "review": review
    }  # fmt: skip
    proposals = (
        Proposal(number=number, persona=persona, input=drawn, **shared)
        for number, (persona, drawn) in enumerate(rows, start=1)
    )
    Proposal.objects.bulk_create(proposals, batch_size=CHUNK)
    audit.record(by, "generation.request", run, step=name, proposals=len(rows))
    transaction.on_commit(calls.notify_of_calls)
    return run


# --- What became of them --------------------------------------------------------------------------


def progress(study: Study) -> dict:
    """Counts of the answers that were asked of models, with tokens and cost, per strategy too.

    ``{"requested", "running", "done", "failed", "cancelled", "total", "tokens", "cost",
    "strategies": [...]}``, where ``requested`` counts rows that still wait and ``total`` all.
    """
    rows = Candidate.every.filter(study=study).exclude(endpoint="").order_by("strategy")
    by_strategy: list[dict[str, Any]] = [dict(row) for row in _counted(rows, "strategy")]
    keys = ("total", *map(str, STATUSES), "tokens", "cost")
    total = {key: sum(row[key] for row in by_strategy) for key in keys}
    return total | {"strategies": by_strategy}


def with_few_answers(study: Study) -> int:
    """How many ready queries of owners have fewer than FEWEST answers, written or asked for.

    A release gives a judge some of a query's judged answers as examples and tests it on others.
    """
    counted = Q(candidates__purpose=Candidate.Purpose.ANSWER) & ~Q(candidates__status=FAILED)
    owned = Query.objects.filter(study=study, replaced_at=None, ready=True, owner__isnull=False)
    return owned.annotate(n=Count("candidates", counted)).filter(n__gt=0, n__lt=FEWEST).count()


def failures(study: Study) -> list[dict]:
    """Why answers of ``study`` failed: ``{"error_code", "error", "count"}``, the most first."""
    rows = Candidate.every.filter(study=study, status=FAILED).values("error_code", "error")
    return [dict(row) for row in rows.annotate(count=Count("pk")).order_by("-count", "error")]


@transaction.atomic
def cancel_run(run: Run, *, by: User | None = None) -> int:
    """Let nothing more of ``run`` be asked for; how many rows. Calls in progress end."""
    Run.objects.filter(pk=run.pk, cancelled_at=None).update(cancelled_at=timezone.now())
    count = sum(rows.filter(status=REQUESTED).update(status=CANCELLED) for rows in rows_of(run))
    audit.record(by, "generation.cancel", run, proposals=count)
    return count


@transaction.atomic
def resume_run(run: Run, *, by: User | None = None) -> int:
    """Ask again for what of ``run`` stopped (``calls.stopped``); how many rows."""
    Run.objects.filter(pk=run.pk).update(cancelled_at=None)
    count = sum(calls.retry_calls(calls.stopped(rows)) for rows in rows_of(run))
    audit.record(by, "generation.resume", run, proposals=count)
    return count


def rows_of(run: Run) -> list:
    """The rows of ``run``, a query set a table."""
    return [table.filter(run=run) for table in calls.TABLES]


def progress_of_run(run: Run) -> dict:
    """What became of ``run`` (``progress_of_runs``)."""
    return progress_of_runs([run])[run.pk]


def progress_of_runs(runs: Sequence[Run]) -> dict[int, dict]:
    """{run's id: what became of it}: counts by status, results a minute, failures by cause.

    ``{"total", "requested", "running", "done", "failed", "cancelled", "rate", "actual",
    "failures": [{"error_code", "error", "count"}]}``; ``actual`` is what was planned as it came:
    calls that were answered, tokens, cost, seconds from the run's start to its last result.
    """
    counts: dict[int, dict] = {}
    failures: dict[int, list[dict]] = defaultdict(list)
    for table in calls.TABLES:
        rows: QuerySet[Any] = table.filter(run__in=runs).order_by()
        counts |= {row["run"]: row for row in _counted(rows, "run")}
        causes = rows.exclude(error_code="").exclude(status=DONE)
        causes = causes.values("run", "error_code", "error").annotate(count=Count("pk"))
        for cause in causes.order_by("-count", "error"):
            failures[cause.pop("run")].append(cause)
    return {
        run.pk: _progress_of_run(run, counts.get(run.pk, {})) | {"failures": failures[run.pk]}
        for run in runs
    }


def _counted(rows: QuerySet[Any], group: str) -> QuerySet[Any]:
    """What became of the ``rows`` of each ``group``, a column of theirs."""
    minute = Q(answered_at__gt=timezone.now() - timedelta(minutes=1))
    return rows.values(group).annotate(
        total=Count("pk"),
        tokens=Sum(F("tokens_in") + F("tokens_out")),
        cost=Sum("cost"),
        calls=Sum("calls"),
        rate=Count("pk", minute),
        last=Max("answered_at"),
        **{str(status): Count("pk", Q(status=status)) for status in STATUSES},
    )


def _progress_of_run(run: Run, counts: dict) -> dict:
    last = counts.get("last")
    actual = {
        "calls": counts.get("calls", 0),
        "tokens": counts.get("tokens", 0),
        "cost": float(counts.get("cost", 0)),
        "seconds": round((last - run.created_at).total_seconds(), 1) if last else 0.0,
    }
    shown = {str(name): counts.get(str(name), 0) for name in ("total", *STATUSES, "rate")}
    return shown | {"actual": actual}
