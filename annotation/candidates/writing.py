"""Has models write what was asked for: answers and proposals, many at once in one worker.

A pool is threads that wait for model servers, each with its own row. What may run at once is
decided in the database (``calls.claim`` counts an endpoint's places), so any number of workers can
have a pool. A place is free again once its answer is stored: a worker that is killed repeats at
most one call a place.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from queue import Empty, SimpleQueue
from typing import Any, cast
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now
from pgvector.django import CosineDistance
from tqdm import tqdm

from annotation.candidates import calls, clean, endpoints, retrieve, wording
from annotation.candidates.endpoints import CallFailed, Endpoint, Reply
from annotation.candidates.models import Candidate, Generated, Proposal
from annotation.candidates.review import rules_of
from annotation.candidates.steps import STEPS
from annotation.candidates.steps.base import NEAR_DUPLICATE, Result, UnfitError
from annotation.candidates.strategies import (
    Brief,
    Draft,
    Manner,
    Prompt,
    Source,
    Strategy,
    by_name,
    keeps_length,
)
from annotation.core import jobs
from annotation.core.embed import embed
from annotation.personas.models import Attribute, Memory, Persona, PersonaVersion, held_on
from annotation.studies.models import Study

log = logging.getLogger(__name__)

DONE = jobs.Job.Status.DONE

MOST_THREADS = 32
# A pool ends well within a task's time limit; the next notification starts another.
SECONDS = 240
# How often a command that waits looks.
POLL_SECONDS = 0.5

# --- Answers --------------------------------------------------------------------------------------


def write_answer(candidate: Candidate, server: Endpoint) -> None:
    """Ask a model for the answer of a row that was claimed, and store it. Raises CallFailed."""
    if candidate.prompt is None:
        strategy = by_name()[candidate.strategy]
        if strategy.endpoint_searches:
            if server.web_search is None:
                raise CallFailed("no_search")
            server = replace(server, parameters=server.parameters | server.web_search)
        brief = _brief(candidate, server, strategy)
        draft = strategy.draft(
            brief, lambda name, prompt: _asked_for_text(candidate, server, name, prompt)
        )
    else:  # its prompt was made by whoever asked for the text
        _check_sessions(candidate)
        draft = Draft(Prompt(candidate.template, candidate.prompt))
    answer = calls.call(candidate, server, draft.prompt.messages)
    cleaned = clean.clean(answer.text, draft.tag)
    if not cleaned.text:
        raise CallFailed("empty")
    before, tolerance = draft.parameters.get("words_before"), rules_of(candidate.study)
    if before and not keeps_length(before, cleaned.text, tolerance.length_tolerance):
        raise CallFailed("length")
    _store_answer(candidate, server, draft, answer, cleaned)


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
    if "sources" not in candidate.parameters:
        sources = retrieve.sources(candidate.query, candidate.endpoint)
        _note_shown(candidate, (source.id for source in sources if source.kind == "history"))
        calls.store_parameter(candidate, "sources", [asdict(source) for source in sources])
    return tuple(Source(**source) for source in candidate.parameters["sources"])


def _asked_for_text(candidate: Candidate, server: Endpoint, name: str, prompt: Prompt) -> str:
    """The answer to a call before the last; asked once and kept, for later attempts too."""
    stored = candidate.parameters.get(name)
    if stored is None:
        answer = calls.call(candidate, server, prompt.messages)
        stored = {
            "text": clean.clean(answer.text).text,
            "template": prompt.template,
            "prompt_digest": prompt.digest,
            "model": answer.model,
            "request_id": answer.request_id,
        }
        calls.store_parameter(candidate, name, stored)
    return stored["text"]


def _store_answer(
    row: Candidate, server: Endpoint, draft: Draft, answer: Reply, cleaned: clean.Cleaned
) -> None:
    text = cleaned.text
    made = {
        "finish_reason": answer.finish_reason,
        "identity": clean.identity(text),
        "words": clean.count_words(text),
        "request": server.request,
    }
    if answer.sources:
        made["sources"] = draft.parameters.get("sources", []) + [
            asdict(Source("endpoint", url, title, url, "")) for title, url in answer.sources
        ]
    urls = dict.fromkeys([*cleaned.urls, *(url for _title, url in answer.sources)])
    flags, review = _looked_over(row, server, answer, text)
    _end(
        row,
        flags=flags,
        review=review,
        text=text,
        urls=list(urls),
        model=server.named(answer.model),
        request_id=answer.request_id,
        template=draft.prompt.template,
        prompt=draft.prompt.messages,
        prompt_digest=draft.prompt.digest,
        parameters=row.parameters | draft.parameters | made,
    )


def _looked_over(
    row: Candidate, server: Endpoint, answer: Reply, text: str
) -> tuple[list[str], str]:
    """What the text checks say of an answer, and whether it waits for a curator."""
    query = row.query
    if row.purpose != Candidate.Purpose.ANSWER:
        return [], ""
    others = Candidate.objects.filter(query=query, status=Candidate.Status.DONE).exclude(pk=row.pk)
    attributes = Attribute.objects.filter(held_on(query.asked_on), persona=query.persona_id)
    flags = clean.check_answer(
        text,
        question=query.text,
        language=query.language,
        name=query.persona.current.name if query.persona else "",
        finish_reason=answer.finish_reason,
        others=[words for words in others.values_list("parameters__words", flat=True) if words],
        attributes=list(attributes.values_list("text", flat=True)),
    )
    # The embedded model always writes to its limit.
    holding = clean.HOLDING - ({"truncated"} if server.embedded else set())
    waits = rules_of(row.study).review_answers or holding & set(flags)
    return flags, Candidate.Review.PENDING if waits else ""


# --- Proposals ------------------------------------------------------------------------------------


def write_proposal(proposal: Proposal, server: Endpoint) -> None:
    """Ask a model for a proposal that was claimed, and store it. Raises CallFailed."""
    try:
        result = STEPS[proposal.step].write(
            proposal,
            lambda name, prompt, schema: _asked_for_json(proposal, server, name, prompt, schema),
        )
    except UnfitError as error:
        log.info("proposal %s: %s", proposal.pk, error)
        if proposal.parameters:
            # What made no sense is asked for anew at the next try.
            proposal.parameters.pop(list(proposal.parameters)[-1])
            jobs.held(proposal).update(parameters=proposal.parameters)
        raise CallFailed("schema") from None
    _store_proposal(proposal, result)


def _asked_for_json(
    proposal: Proposal, server: Endpoint, name: str, prompt: Prompt, schema: dict
) -> dict:
    """The value of one call; asked once and kept, for later attempts too."""
    stored = proposal.parameters.get(name)
    if stored is None:
        value, answer = calls.call_structured(proposal, server, prompt.messages, schema)
        stored = {
            "value": value,
            "template": prompt.template,
            "prompt": prompt.messages,
            "model": server.named(answer.model),
            "request": server.request,
            "request_id": answer.request_id,
        }
        calls.store_parameter(proposal, name, stored)
    return stored["value"]


def _store_proposal(proposal: Proposal, result: Result) -> None:
    (vector,) = embed([result.text])
    nearest, similarity = nearest_to(proposal, vector)
    flags = list(result.flags)
    if similarity is not None and similarity >= rules_of(proposal.study).similarity:
        flags.append(NEAR_DUPLICATE)
    last = next(reversed(proposal.parameters.values()), {})
    with transaction.atomic():
        stored = _end(
            proposal,
            output=result.output,
            text=result.text,
            embedding=vector,
            nearest=nearest,
            similarity=similarity,
            flags=flags,
            model=last.get("model", ""),
            template=last.get("template", ""),
            request_id=last.get("request_id", ""),
        )
        if stored:
            STEPS[proposal.step].store(proposal, result)


def nearest_to(proposal: Proposal, vector: np.ndarray) -> tuple[Proposal | None, float | None]:
    """The most similar proposal of the same step that is not rejected, and the cosine to it."""
    if not STEPS[proposal.step].reviewed:  # its statements are clustered, one by one
        return None, None
    others = Proposal.objects.filter(
        study=proposal.study_id, step=proposal.step, embedding__isnull=False
    ).exclude(Q(review=Proposal.Review.REJECTED) | Q(pk=proposal.pk))
    # The same question for two personas, or one text chosen by two, is meant.
    if proposal.step in ("match", "memory"):
        others = others.filter(persona=proposal.persona_id)
    near = others.annotate(away=CosineDistance("embedding", vector)).order_by("away").first()
    return (near, 1 - near.away) if near else (None, None)


# --- Many at once ---------------------------------------------------------------------------------

WRITE: dict[type[Generated], Callable] = {Candidate: write_answer, Proposal: write_proposal}


def _end(row: Generated, **fields: Any) -> bool:
    """Store what was written; False, which is logged, where the attempt came too late."""
    stored = jobs.end(row, DONE, answered_at=Now(), error_code="", error="", **fields)
    if not stored:
        log.warning("%s %s: attempt %s came too late", type(row).__name__, row.pk, row.attempts)
    return stored


def write_one(pk: UUID | str) -> Generated | None:
    """Write the answer or the proposal ``pk``, if it is due and nobody else has it.

    May be called any number of times and may die at any point: one attempt at most stores
    something. Returns the row as it was claimed, None where it was not to be had.
    """
    row = calls.claim(pk)
    if row is not None:
        _write(row)
    return row


@contextmanager
def place() -> Iterator[bool]:
    """Hold one of the places for pools of workers' tasks while the block runs; False: all held.

    A pool takes up what all are asked for: more than GENERATION_POOLS would only keep workers from
    what else is to do.
    """
    keys = [f"pool {number}" for number in range(settings.GENERATION_POOLS)]
    held = next((key for key in keys if _answer("pg_try_advisory_lock", key)), None)
    try:
        yield held is not None
    finally:
        if held:
            _answer("pg_advisory_unlock", held)


def _answer(function: str, key: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(hashtextextended(%s, 0))", [key])
        return cursor.fetchone()[0]


def wait_for(
    study: Study, counts: Callable[[], dict], unit: str, alone: Callable[[], None] = lambda: None
) -> None:
    """Wait, with a bar, until ``counts`` says that nothing is left to write.

    While no worker is running, of which ``alone`` is told once, the rows of ``study`` are written
    here.
    """
    is_told = False
    with tqdm(unit=unit, file=sys.stderr, disable=not sys.stderr.isatty()) as bar:
        while (now := counts())["requested"] + now["running"]:
            bar.total, bar.n = now["total"], now["done"] + now["failed"]
            bar.refresh()
            if jobs.worker_alive():
                time.sleep(POLL_SECONDS)
                continue
            if not is_told:
                is_told = True
                alone()
            calls.reap()
            if not any(write_one(pk) for pk in calls.calls_due(study)[:1]):
                time.sleep(POLL_SECONDS)


def work() -> None:
    """Write what is due, in many threads, until nothing is or for SECONDS."""
    end, give_sign = time.monotonic() + SECONDS, jobs.pulse()
    ended: SimpleQueue[Generated] = SimpleQueue()
    running = 0
    while True:
        if time.monotonic() < end:
            for row in filter(None, map(calls.claim, calls.calls_due()[: MOST_THREADS - running])):
                threading.Thread(target=_write_in_thread, args=(row, ended), daemon=True).start()
                running += 1
        if not running:
            return
        with suppress(Empty):
            ended.get(timeout=jobs.RENEW_SECONDS)
            running -= 1
        give_sign()


def _write(row: Generated) -> None:
    try:
        server = endpoints.configured(row.endpoint)
        if server is None:
            raise CallFailed("no_endpoint")
        with jobs.renewed(row, longest=calls.LONGEST_LEASE):
            WRITE[type(row)](row, server)
    except CallFailed as failure:
        calls.put_off(row, failure)


def _write_in_thread(row: Generated, ended: SimpleQueue[Generated]) -> None:
    try:
        _write(row)
    except Exception:
        # The row stays claimed until its lease runs out, and is tried again then.
        log.exception("%s %s was not written", type(row).__name__, row.pk)
    finally:
        connection.close()  # this thread's own
        ended.put(row)
