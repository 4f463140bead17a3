"""What a study's calls may cost: reserved before a call, settled after it, never above its budget.

The largest cost a call can have is reserved in one transaction that locks the study's budget, so
calls at once cannot exceed it together. A worker that dies leaves its reservation counted: the call
may have been charged.
"""

import json
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import F, QuerySet, Sum
from django.utils import timezone

from annotation.candidates import endpoints
from annotation.candidates.endpoints import FREE, CallFailed, Endpoint
from annotation.candidates.models import Budget, Generated, Spending

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
    study_id: int, server: Endpoint, messages: list[dict], schema: dict | None = None
) -> tuple[endpoints.Answer, float]:
    """``endpoints.call`` within the study's budget: the Answer and the seconds it took.

    Raises CallFailed: as the call does, and with "budget", "budget_day" or "no_bound" where the
    budget has no room, before anything is sent.
    """
    reservation = reserve(study_id, server, messages, schema)
    begin = time.monotonic()
    try:
        answer = endpoints.call(server, messages, schema)
    except CallFailed as failure:
        if failure.code in FREE:
            settle(reservation, 0, Decimal(0))
        raise
    used = answer.tokens_in + answer.tokens_out
    settle(reservation, used, server.cost(answer.tokens_in, answer.tokens_out))
    return answer, time.monotonic() - begin


def paid(row: Generated, server: Endpoint, answer: endpoints.Answer, seconds: float) -> None:
    """Add what a call for ``row`` cost, whatever becomes of its answer and of this attempt."""
    type(row)._base_manager.filter(pk=row.pk).update(
        tokens_in=F("tokens_in") + answer.tokens_in,
        tokens_out=F("tokens_out") + answer.tokens_out,
        cost=F("cost") + server.cost(answer.tokens_in, answer.tokens_out),
        seconds=F("seconds") + seconds,
        calls=F("calls") + 1,
    )


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
    if _exceeds(budget.cost, total["cost"], cost) or _exceeds(
        budget.tokens, total["tokens"], tokens
    ):
        raise CallFailed("budget")
    day = Spending.objects.filter(study=budget.study_id, day=today).first() or Spending()
    limits = ((budget.daily_cost, day.cost, cost), (budget.daily_tokens, day.tokens, tokens))
    if any(_exceeds(*limit) for limit in limits):
        # A call that does not fit into an empty day will not fit tomorrow.
        if any(_exceeds(limit, 0, most) for limit, _so_far, most in limits):
            raise CallFailed("budget")
        raise CallFailed("budget_day", wait=_until_tomorrow())


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


def _until_tomorrow() -> float:
    now = timezone.now().astimezone(UTC)
    tomorrow = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), UTC)
    return (tomorrow - now).total_seconds()
