"""Calls of models: as jobs (core.jobs) of which an endpoint takes so many at once, within what a
study may spend, and with answers as JSON.
"""

import json
import logging
import random
import re
import time
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import zip_longest
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.db import models, transaction
from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import Now
from django.utils import timezone

from annotation.candidates import clean, endpoints
from annotation.candidates.endpoints import FREE, CallFailed, Endpoint, Reply
from annotation.candidates.models import Budget, Candidate, Generated, Proposal, Spending
from annotation.celery import app
from annotation.core import jobs, records
from annotation.studies.models import Study

log = logging.getLogger(__name__)

BACKOFF_SECONDS, LONGEST_BACKOFF = 4, 120
# So many answers waiting for another try mean that the endpoint itself is in trouble.
TROUBLE = 3
# What models fill; an id is of one of these tables, and all share the places of an endpoint.
TABLES = (Candidate.every, Proposal.objects)
RELATED = {
    Candidate: ("query__persona", "persona_version", "study"),
    Proposal: ("persona", "study"),
}
# No row takes longer than two calls can take.
LONGEST_LEASE = 2 * endpoints.LONGEST_TIMEOUT
RUNNING, REQUESTED, FAILED = jobs.RUNNING, jobs.REQUESTED, jobs.FAILED
CANCELLED = jobs.Job.Status.CANCELLED


def notify_of_calls() -> int:
    """Notify workers of as many due rows as each endpoint has free places; of how many.

    Rows whose lease has run out come back first, or are parked after TRIES attempts. A row may be
    notified of twice: the second worker finds it taken. A broker that is away loses nothing: the
    periodic task notifies again.
    """
    reap()
    count = 0
    for candidate_id in calls_due():
        if not jobs.enqueue(app.signature("annotation.candidates.tasks.write"), candidate_id):
            break
        count += 1
    return count


def reap() -> None:
    """Mark as failed the rows whose workers ended without a result at each of their tries."""
    for table in TABLES:
        lost = jobs.exhausted(table.all())
        for name in _endpoints_of(lost):
            lost.filter(endpoint=name).update(
                status=FAILED,
                error_code="worker_lost",
                error=endpoints.sentence("worker_lost", name),
                lease_expires_at=None,
            )


def calls_due(study: Study | None = None) -> list[UUID]:
    """Ids of rows that may start now, at most the free places of each endpoint.

    The oldest of each study, in turn: one that asks for thousands keeps no other waiting.
    """
    places, ids = {}, []
    for table in TABLES:
        rows = jobs.startable(table.filter(study=study) if study else table.all())
        for name in _endpoints_of(rows):
            free = places.setdefault(name, _places(name))
            some = _in_turn(rows.filter(endpoint=name), free) if free else []
            places[name] -= len(some)
            ids += some
    return ids


def _in_turn(rows: QuerySet, most: int) -> list[UUID]:
    studies = rows.order_by().values_list("study", flat=True).distinct()
    oldest = rows.order_by("created_at", "pk").values_list("pk", flat=True)
    shares = [oldest.filter(study=pk)[:most] for pk in studies]
    return [pk for turn in zip_longest(*shares) for pk in turn if pk][:most]


def _places(name: str) -> int:
    """How many calls to the endpoint may start now; none while it is to be left in peace.

    That is when it asked for patience, or when TROUBLE rows wait for another try after it failed.
    A row of an endpoint that is no longer configured needs no place: its failure is only written
    down.
    """
    server = endpoints.configured(name)
    if server is None:
        return 1
    waits = Q(status=REQUESTED, next_try_at__gt=Now())
    counted = {
        "running": Count("pk", Q(status=RUNNING, lease_expires_at__gt=Now())),
        "limited": Count("pk", waits & Q(error_code="rate_limit")),
        "troubled": Count("pk", waits & Q(error_code__in=endpoints.TROUBLES)),
    }
    counts: Counter[str] = Counter()
    for table in TABLES:
        # As the indexes candidate_busy and proposal_busy: few, though many wait.
        busy = Q(status=RUNNING) | Q(status=REQUESTED, next_try_at__isnull=False)
        counts.update(table.filter(busy, endpoint=name).aggregate(**counted))
    if counts["limited"] or counts["troubled"] >= TROUBLE:
        return 0
    return max(0, server.concurrency - counts["running"])


def claim(pk: UUID | str) -> Generated | None:
    """Take the row ``pk`` for one attempt, where it may start and its endpoint has a place."""
    for table in TABLES:
        name = table.filter(pk=pk).exclude(endpoint="").values_list("endpoint", flat=True).first()
        if name and _taken(table, pk, name):
            return table.select_related(*RELATED[table.model]).get(pk=pk)
    return None


@transaction.atomic
def _taken(table: models.Manager, pk: UUID | str, name: str) -> bool:
    jobs.lock(f"call {name}")  # the places of one endpoint are counted in turn
    return _places(name) > 0 and jobs.take(table.all(), pk)


def _endpoints_of(rows: QuerySet) -> list[str]:
    return list(rows.order_by().values_list("endpoint", flat=True).distinct())


def stopped(rows: QuerySet) -> QuerySet:
    """Those of ``rows`` that failed or were cancelled; no answers to questions that were replaced.

    The words of such a question may be erased.
    """
    rows = rows.filter(status__in=(FAILED, CANCELLED))
    return rows.filter(query__replaced_at=None) if rows.model is Candidate else rows


def retry_calls(rows: QuerySet) -> int:
    """Ask once more for ``rows``; the patience for their endpoint begins anew. How many."""
    transaction.on_commit(notify_of_calls)
    rows.update(asked_at=Now())
    return jobs.retry_jobs(rows)


def put_off(row: Generated, failure: CallFailed) -> None:
    """Store the class of the failure; another try later, or parked for good.

    A server that asks for patience is obeyed without counting a try, as long as its row was asked
    for less than GENERATION_HOURS ago; the budget of the next day is waited for in any case.
    """
    patience = failure.code == "budget_day" or (failure.code == "rate_limit" and failure.wait > 0)
    pause = min(LONGEST_BACKOFF, BACKOFF_SECONDS * 2**row.tries)
    wait = failure.wait + random.uniform(0, pause)  # noqa: S311 - full jitter
    end = row.asked_at + timedelta(hours=settings.GENERATION_HOURS)
    in_time = timezone.now() + timedelta(seconds=wait) < end or failure.code == "budget_day"
    again = failure.retry and in_time and (patience or row.tries < jobs.TRIES)
    jobs.end(
        row,
        REQUESTED if again else FAILED,
        next_try_at=Now() + timedelta(seconds=wait) if again else None,
        tries_from=F("tries_from") + (1 if patience and again else 0),
        error_code=failure.code,
        error=endpoints.sentence(failure.code, row.endpoint),
    )
    log.info("%s %s: attempt %s: %s", type(row).__name__, row.pk, row.attempts, failure.code)


def store_parameter(row: Generated, name: str, value: Any) -> None:
    """Store what an attempt drew or was answered, for its later attempts too."""
    row.parameters[name] = value
    jobs.held(row).update(parameters=row.parameters)


# --- What a study's calls may cost ----------------------------------------------------------------

# The largest cost a call can have is reserved in one transaction that locks the study's budget, so
# calls at once cannot exceed it together, and settled after it. A worker that dies leaves its
# reservation counted: the call may have been charged.
# A token is at least one byte of text; servers add a few tokens a message.
TOKENS_A_MESSAGE = 64
# Of a call of which nothing is known yet: tokens read and written, seconds.
ASSUMED = (900, 350, 8.0)
MEASURED_CALLS = 200


@dataclass(frozen=True)
class Reservation:
    """What is counted for one call before it is made."""

    spending: int
    tokens: int
    cost: Decimal


# What no call takes.
NOTHING = {"calls": 0, "tokens": 0, "cost": 0.0, "seconds": 0.0, "measured": 0}


def call(
    row: Generated, server: Endpoint, messages: list[dict], schema: dict | None = None
) -> Reply:
    """``endpoints.call`` for ``row``, within its study's budget.

    What it cost is added to the row, whatever becomes of the answer and of this attempt. Raises
    CallFailed: as the call does, and with "budget", "budget_day" or "no_bound" where the budget has
    no room, before anything is sent.
    """
    reservation = reserve(row.study_id, server, messages, schema)
    begin = time.monotonic()
    try:
        answer = endpoints.call(server, messages, schema)
    except CallFailed as failure:
        if failure.code in FREE:
            settle(reservation, 0, Decimal(0))
        raise
    cost = server.cost(answer.tokens_in, answer.tokens_out)
    settle(reservation, answer.tokens_in + answer.tokens_out, cost)
    type(row)._base_manager.filter(pk=row.pk).update(
        tokens_in=F("tokens_in") + answer.tokens_in,
        tokens_out=F("tokens_out") + answer.tokens_out,
        cost=F("cost") + cost,
        seconds=F("seconds") + time.monotonic() - begin,
        calls=F("calls") + 1,
    )
    return answer


@transaction.atomic
def reserve(
    study_id: int, server: Endpoint, messages: list[dict], schema: dict | None = None
) -> Reservation:
    """Count the most that a call can cost; CallFailed where the budget has no room for it."""
    tokens_in, tokens_out = bound(server, messages, schema)
    tokens, cost = tokens_in + tokens_out, server.cost(tokens_in, tokens_out)
    today = timezone.now().astimezone(UTC).date()
    # Those who reserve for one study wait for each other here and nowhere else.
    budget = Budget.objects.select_for_update().filter(study=study_id).first()
    if budget and server.max_tokens is None:
        raise CallFailed("no_bound")
    if budget:
        _check_room(budget, today, tokens, cost)
    day, _made = Spending.objects.get_or_create(study_id=study_id, day=today)
    Spending.objects.filter(pk=day.pk).update(
        calls=F("calls") + 1, tokens=F("tokens") + tokens, cost=F("cost") + cost
    )
    return Reservation(day.pk, tokens, cost)


def settle(reservation: Reservation, tokens: int, cost: Decimal) -> None:
    """Put what a call used in the place of what was reserved for it."""
    Spending.objects.filter(pk=reservation.spending).update(
        tokens=F("tokens") + tokens - reservation.tokens, cost=F("cost") + cost - reservation.cost
    )


def _check_room(budget: Budget, today: date, tokens: int, cost: Decimal) -> None:
    """CallFailed where the locked ``budget`` has no room for a call of so much at the most."""
    total = spent(budget.study_id)
    day = Spending.objects.filter(study=budget.study_id, day=today).first() or Spending()
    for_good = (
        (budget.cost, total["cost"], cost),
        (budget.tokens, total["tokens"], tokens),
        # A call that does not fit into an empty day will not fit tomorrow.
        (budget.daily_cost, 0, cost),
        (budget.daily_tokens, 0, tokens),
    )
    if any(_exceeds(*limit) for limit in for_good):
        raise CallFailed("budget")
    daily = ((budget.daily_cost, day.cost, cost), (budget.daily_tokens, day.tokens, tokens))
    if any(_exceeds(*limit) for limit in daily):
        tomorrow = datetime.combine(today + timedelta(days=1), datetime.min.time(), UTC)
        raise CallFailed("budget_day", wait=(tomorrow - timezone.now()).total_seconds())


def bound(server: Endpoint, messages: list[dict], schema: dict | None = None) -> tuple[int, int]:
    """The most tokens that a call can read and write."""
    sent = len(json.dumps([messages, schema], ensure_ascii=False).encode())
    return sent + TOKENS_A_MESSAGE * len(messages), server.max_tokens or 0


def spent(study_id: int) -> dict:
    """``{"calls", "tokens", "cost"}`` of all days, reservations included."""
    days = Spending.objects.filter(study=study_id)
    total = days.aggregate(calls=Sum("calls"), tokens=Sum("tokens"), cost=Sum("cost"))
    return {key: value or 0 for key, value in total.items()}


def estimate(server: Endpoint, calls: int, earlier: QuerySet, rows: int) -> dict:
    """What ``calls`` calls for ``rows`` results will take, with the keys of NOTHING.

    Measured on ``earlier`` rows of the same work where there are any, assumed otherwise;
    ``measured`` is on how many.
    """
    done = earlier.filter(endpoint=server.name, status="done", tokens_out__gt=0)
    fields = ("tokens_in", "tokens_out", "seconds")
    last = list(done.order_by("-answered_at").values_list(*fields)[:MEASURED_CALLS])
    if last:
        means = [sum(column) / len(last) for column in zip(*last, strict=True)]
        read, wrote, seconds = (mean * rows for mean in means)
    else:
        read, wrote, seconds = (number * calls for number in ASSUMED)
        wrote = min(wrote, calls * (server.max_tokens or ASSUMED[1]))
    return {
        "calls": calls,
        "tokens": round(read + wrote),
        "cost": float(server.cost(round(read), round(wrote))),
        "seconds": round(seconds / server.concurrency, 1),
        "measured": len(last),
    }


def in_words(amounts: dict) -> str:
    """Calls, tokens, cost and seconds, planned or actual, for a terminal."""
    return "{calls:,} calls, {tokens:,} tokens, cost {cost:.4f}, {seconds:,.0f} s".format(**amounts)


def compared(planned: dict, actual: dict) -> str:
    """What a run was planned to take and what it took, for a terminal."""
    return f"planned: {in_words(planned)}\nactual: {in_words(actual)}"


def _exceeds(limit: Decimal | int | None, so_far: Decimal | int, more: Decimal | int) -> bool:
    return limit is not None and so_far + more > limit


# --- Answers as JSON of a schema ------------------------------------------------------------------

# Asked for by ``response_format`` and checked in any case. A server that refuses the field is asked
# again in words, and remembered so long.
REMEMBERED_SECONDS = 3600
DEPTH = 12
EMBEDDED_TOKENS = 1_200


def call_structured(
    row: Generated, server: Endpoint, messages: list[dict], schema: dict
) -> tuple[Any, Reply]:
    """Ask for JSON of ``schema`` for ``row``: the value, and the Reply that holds it.

    Raises CallFailed as ``call``, and with "schema" where what came is no such JSON.
    """
    if server.embedded:  # its limit is for answers; half a JSON object is none
        server = replace(server, max_tokens=max(server.max_tokens or 0, EMBEDDED_TOKENS))
    key = f"no-schema:{server.name}:{server.model}"
    if not cache.get(key):
        try:
            answer = call(row, server, messages, schema)
        except CallFailed as failure:
            if failure.code != "refused":
                raise
        else:
            return _checked(answer, schema), answer
    answer = call(row, server, _with_schema(messages, schema))
    value = _checked(answer, schema)
    # Only now: another fault of the request is refused in words, too.
    cache.set(key, True, REMEMBERED_SECONDS)
    return value, answer


def _with_schema(messages: list[dict], schema: dict) -> list[dict]:
    """``messages`` with the schema as an instruction, for servers that know no response_format."""
    wish = (
        "Answer with one JSON object and nothing else. It must fit this JSON schema:\n"
        + json.dumps(schema, ensure_ascii=False)
    )
    first, *others = messages
    return [{**first, "content": f"{first['content']}\n\n{wish}"}, *others]


def parsed(text: str, schema: dict) -> Any:
    """The JSON value in ``text`` that fits ``schema``; ValueError where there is none.

    Thinking, code fences and words around the object are passed over.
    """
    # Only here: where the checks of its formats are installed, importing it takes seconds.
    import jsonschema

    text = clean.without_thoughts(text)
    if fenced := re.search(r"```(?:json)?\s*(\{.*\})\s*```", text, re.S):
        text = fenced.group(1)
    begin = text.find("{")
    if begin < 0:
        raise ValueError("no JSON object")
    try:
        value, _end = json.JSONDecoder().raw_decode(text[begin:])
        value = _cleaned(value, DEPTH)
        jsonschema.validate(value, schema)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except jsonschema.ValidationError as error:
        raise ValueError(error.message) from error
    return value


def _checked(answer: Reply, schema: dict) -> Any:
    try:
        return parsed(answer.text, schema)
    except ValueError:
        raise CallFailed("schema" if answer.text.strip() else "empty") from None


def _cleaned(value: Any, depth: int) -> Any:
    """The value with texts that a database takes: no NUL, no lone surrogates."""
    if depth < 0:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        return records.clean(value).strip()
    if isinstance(value, list):
        return [_cleaned(inner, depth - 1) for inner in value]
    if isinstance(value, dict):
        return {records.clean(key): _cleaned(inner, depth - 1) for key, inner in value.items()}
    return value
