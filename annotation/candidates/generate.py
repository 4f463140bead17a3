"""Answers from models: asked for as rows, written by workers, one row one answer."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any, cast

from django.db import transaction
from django.db.models import Count, F, Q, Sum
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.candidates import calls, clean, endpoints, results, retrieve, spending, wording
from annotation.candidates.endpoints import Answer, CallFailed, Endpoint
from annotation.candidates.models import Candidate, Retrieval, Run
from annotation.candidates.prompts import Manner, Prompt
from annotation.candidates.results import Written, rules_of
from annotation.candidates.strategies import (
    FROM_ATTRIBUTES,
    QUESTION_ALONE,
    Brief,
    Draft,
    Source,
    Strategy,
    by_default,
    by_name,
    keeps_length,
)
from annotation.core import audit
from annotation.core.errors import Conflict, DomainError
from annotation.personas.models import Attribute, Memory, Persona, PersonaVersion, held_on
from annotation.queries.models import Query
from annotation.queries.scenarios import FEWEST
from annotation.studies.models import Study

RUNNING, REQUESTED = Candidate.Status.RUNNING, Candidate.Status.REQUESTED
CANCELLED = Candidate.Status.CANCELLED
DONE, FAILED = Candidate.Status.DONE, Candidate.Status.FAILED


# --- Asking -----------------------------------------------------------------------------------


def _estimate(study: Study, server: Endpoint, rows: list[Candidate]) -> dict:
    count = sum(2 if by_name()[row.strategy].asks_twice else 1 for row in rows)
    names = {row.strategy for row in rows}
    earlier = Candidate.every.filter(study=study, strategy__in=names)
    return spending.estimate(server, count, earlier, len(rows))


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
        raise DomainError(
            _("Choose among the strategies {names}.").format(names=", ".join(by_name())),
            code="strategy",
        )
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
        self.study, self.server, self.versions, self.answers = study, server, versions, answers
        self.retrieval = Retrieval.objects.filter(study=study).first()
        self._agreed = {}
        described = Attribute.objects.filter(persona__study=study)
        self.described = set(described.values_list("persona_id", flat=True))
        self.people = study.personas.filter(dropped_at=None).count()

    def sources(self, query: Query, strategy: Strategy) -> list[Candidate | None]:
        """The answers to ``query`` to rewrite; [None] where ``strategy`` can answer it itself."""
        if strategy.rewrites:
            return self.answers.get(query.pk, [])
        return [None] if self._suffice(query, strategy) else []

    def _suffice(self, query: Query, strategy: Strategy) -> bool:
        if strategy.needs_persona and query.persona_id not in self.versions:
            return False
        if strategy.needs_attributes and query.persona_id not in self.described:
            return False
        if strategy.other_persona and self.people < 2:
            return False
        if strategy.searches and self.retrieval is None:
            return False
        if strategy.endpoint_searches and self.server.web_search is None:
            return False
        if strategy.oracle and not (self.retrieval and self.retrieval.oracle and query.need):
            return False
        return not strategy.history or self._may_see_history(query.owner)

    def _may_see_history(self, owner: User | None) -> bool:
        if owner is None:
            return False
        if owner not in self._agreed:
            self._agreed[owner] = retrieve.agreed(self.study, owner, self.server.name)
        return self._agreed[owner]


def planned(rows: Sequence[Candidate]) -> dict:
    """What ``rows``, which were just asked for, are expected to take (spending.estimate)."""
    return rows[0].run.planned if rows and rows[0].run else spending.NOTHING


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
    is returned, and tried again where it failed. ``parameters`` are kept with it.
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
        row.save(force_insert=True)
        audit.record(by, f"{purpose}.request", query, endpoint=server.name)
        transaction.on_commit(calls.notify_due)
    return row


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
    asked = set(
        Candidate.every.filter(query__in=queries, endpoint=server.name).values_list(
            "query_id", "strategy", "source_id", "attribute_id"
        )
    )
    new = [
        row
        for row in rows
        if (row.query_id, row.strategy, row.source_id, row.attribute_id) not in asked
    ]
    new = new[:limit]
    names = [row.external_id for row in new]
    taken = Candidate.every.filter(study=study, external_id__in=names).first()
    if taken:
        raise Conflict(
            _("The study already has another answer with the id {name}.").format(
                name=taken.external_id
            )
        )
    if new:
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
    Candidate.every.bulk_create(new, batch_size=2000)
    if new:
        audit.record(by, "candidates.request", study, candidates=len(new), endpoint=server.name)
        transaction.on_commit(calls.notify_due)
    return new


# --- Writing ----------------------------------------------------------------------------------


def write_answer(candidate: Candidate) -> None:
    """Ask a model for the answer of a row that was claimed, and store it. Raises CallFailed."""
    server = endpoints.configured(candidate.endpoint)
    if server is None:
        raise CallFailed("no_endpoint")
    if candidate.prompt is None:
        strategy = by_name()[candidate.strategy]
        if strategy.endpoint_searches:
            server = _searching(server)
        brief = _brief(candidate, server, strategy)
        draft = strategy.draft(brief, lambda name, prompt: _asked(candidate, server, name, prompt))
    else:  # its prompt was made by whoever asked for the text
        _check_sessions(candidate)
        draft = Draft(Prompt(candidate.template, candidate.prompt))
    answer = _called(candidate, server, draft.prompt.messages)
    cleaned = clean.clean(answer.text, draft.tag)
    if not cleaned.text:
        raise CallFailed("empty")
    before, tolerance = draft.parameters.get("words_before"), rules_of(candidate.study)
    if before and not keeps_length(before, cleaned.text, tolerance.length_tolerance):
        raise CallFailed("length")
    results.store_result(Written(candidate, server, draft, answer, cleaned))


def _searching(server: Endpoint) -> Endpoint:
    """The endpoint with its own web search switched on."""
    if server.web_search is None:
        raise CallFailed("no_search")
    return replace(server, parameters=server.parameters | server.web_search)


def _brief(candidate: Candidate, server: Endpoint, strategy: Strategy) -> Brief:
    """What the strategy may see of the row. The gold need is read for "oracle" and nowhere else."""
    version = _written_for(candidate, strategy)
    memories = (
        Memory.objects.filter(held_on(candidate.query.asked_on), persona=version.persona_id)
        .order_by("pk")
        .values_list("text", flat=True)
        if version
        else ()
    )
    source = candidate.parameters.get("source")
    answer = ""
    if strategy.rewrites:
        texts = Candidate.every.filter(pk=source, status=DONE).values_list("text", flat=True)
        answer = texts.first() or ""
        if not answer:
            raise CallFailed("no_source")
    return Brief(
        question=candidate.query.text,
        profile=version.profile if version else {},
        memories=tuple(memories),
        attributes=_statements(candidate) if strategy.needs_attributes else (),
        answer=answer,
        history=_history(candidate, strategy),
        sources=_sources(candidate) if strategy.searches else (),
        need=candidate.query.need if strategy.oracle else "",
        seed=candidate.parameters["seed"],
        manner=Manner(server.embedded, wording.versions(candidate.parameters.get("prompts", {}))),
    )


def _written_for(candidate: Candidate, strategy: Strategy) -> PersonaVersion | None:
    """The persona that the answer is written for; for "mismatch" another one, drawn and kept."""
    if not strategy.needs_persona:
        return None
    if not strategy.other_persona:
        return candidate.persona_version
    drawn = candidate.parameters.get("written_for")
    others = PersonaVersion.objects.filter(persona__study=candidate.study_id)
    if drawn is None:
        others = others.filter(persona__dropped_at=None).exclude(persona=candidate.query.persona_id)
        split = cast(Persona, candidate.query.persona).split
        newest = others.filter(persona__split=split).order_by("persona", "-version")
        there = list(newest.distinct("persona").values_list("pk", flat=True))
        if not there:
            raise CallFailed("no_source")
        drawn = there[candidate.parameters["seed"] % len(there)]
        calls.store_parameter(candidate, "written_for", drawn)
    return others.get(pk=drawn)


def _history(candidate: Candidate, strategy: Strategy) -> tuple[str, ...]:
    """Texts of the owner's sessions, redacted, as far as the owner agrees at this moment."""
    if not strategy.history:
        return ()
    shown = retrieve.history(candidate.query, candidate.endpoint, nearest=strategy.selects)
    _note_shown(candidate, (str(transcript.session) for transcript in shown))
    return tuple(transcript.text for transcript in shown)


def _check_sessions(candidate: Candidate) -> None:
    """CallFailed where the prompt holds sessions that their owner does not show any more."""
    owner = candidate.query.owner
    if candidate.parameters.get("sessions") and not (
        owner and retrieve.agreed(candidate.study, owner, candidate.endpoint)
    ):
        raise CallFailed("no_consent")


def _note_shown(candidate: Candidate, sessions: Iterable[str]) -> None:
    """Keep which sessions the model is shown: what is erased later leaves the answer's row, too."""
    shown = candidate.parameters.get("sessions", [])
    if added := set(sessions) - set(shown):
        calls.store_parameter(candidate, "sessions", sorted({*shown, *added}))


def _statements(candidate: Candidate) -> tuple[str, ...]:
    """The attribute that the answer is to be written from, else all that hold when it is asked."""
    query = candidate.query
    rows = Attribute.objects.filter(persona=query.persona_id).order_by("pk")
    if candidate.attribute_id:
        rows = rows.filter(pk=candidate.attribute_id)
    else:
        rows = rows.filter(held_on(query.asked_on))
    return tuple(rows.values_list("text", flat=True))


def _sources(candidate: Candidate) -> tuple:
    """What the study's search finds; kept, so that all attempts see the same."""
    sources = candidate.parameters.get("sources")
    if sources is None:
        sources = retrieve.sources(candidate.query, candidate.endpoint)
        _note_shown(candidate, (source.id for source in sources if source.kind == "history"))
        calls.store_parameter(candidate, "sources", [asdict(source) for source in sources])
        return tuple(sources)
    return tuple(Source(**source) for source in sources)


def _asked(candidate: Candidate, server: Endpoint, name: str, prompt: Prompt) -> str:
    """The answer to a call before the last; asked once and kept, for later attempts too."""
    stored = candidate.parameters.get(name)
    if stored is None:
        answer = _called(candidate, server, prompt.messages)
        stored = {
            "text": clean.clean(answer.text).text,
            "template": prompt.template,
            "prompt_digest": prompt.digest,
            "model": answer.model,
            "request_id": answer.request_id,
        }
        calls.store_parameter(candidate, name, stored)
    return stored["text"]


def _called(candidate: Candidate, server: Endpoint, messages: list[dict]) -> Answer:
    answer, seconds = spending.call(candidate.study_id, server, messages)
    spending.paid(candidate, server, answer, seconds)
    return answer


# --- Looking ----------------------------------------------------------------------------------


def progress(study: Study) -> dict:
    """Counts of the answers that were asked of models, with tokens and cost, per strategy too.

    ``{"requested", "running", "done", "failed", "cancelled", "total", "tokens", "cost",
    "strategies": [...]}``, where ``requested`` counts rows that still wait and ``total`` all.
    """
    rows = (
        Candidate.every.filter(study=study)
        .exclude(endpoint="")
        .order_by("strategy")
        .values("strategy")
        .annotate(
            total=Count("pk"),
            requested=Count("pk", Q(status=REQUESTED)),
            running=Count("pk", Q(status=RUNNING)),
            done=Count("pk", Q(status=DONE)),
            failed=Count("pk", Q(status=FAILED)),
            cancelled=Count("pk", Q(status=CANCELLED)),
            tokens=Sum(F("tokens_in") + F("tokens_out")),
            cost=Sum("cost"),
        )
    )
    by_strategy: list[dict[str, Any]] = [dict(row) for row in rows]
    keys = ("total", "requested", "running", "done", "failed", "cancelled", "tokens", "cost")
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
