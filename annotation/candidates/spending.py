"""What a study's calls may cost: reserved before a call, settled after it, never above its budget.

The largest cost a call can have is reserved in one transaction that locks the study's budget, so
calls at once cannot exceed it together. A worker that dies leaves its reservation counted: the call
may have been charged.
"""

import json
import time
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from django.db import connection, transaction
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
# A row may have paid for several calls.
PAY = """
    UPDATE {table} AS t SET tokens_in = t.tokens_in + p.read, tokens_out = t.tokens_out + p.wrote,
           cost = t.cost + p.cost, seconds = t.seconds + p.seconds, calls = t.calls + p.calls
    FROM (SELECT id, count(*) AS calls, sum(read) AS read, sum(wrote) AS wrote, sum(cost) AS cost,
                 sum(seconds) AS seconds
          FROM unnest(%s::uuid[], %s::int[], %s::int[], %s::numeric[], %s::float[])
               AS p (id, read, wrote, cost, seconds)
          GROUP BY id) AS p
    WHERE t.id = p.id
"""


@dataclass(frozen=True)
class Reservation:
    """What is counted for one call before it is made."""

    spending: int
    tokens: int
    cost: Decimal


@dataclass(frozen=True)
class Estimate:
    """What a plan expects: calls, tokens, cost, seconds; ``measured`` rows it is based on."""

    calls: int
    tokens: int
    cost: float
    seconds: float
    measured: int

    def as_json(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Wish:
    """The most that a call of a study can cost; ``bounded`` is false where nobody knows it."""

    study: int
    tokens: int
    cost: Decimal
    bounded: bool


@dataclass(frozen=True)
class Settlement:
    """What a call took, in the place of what was reserved for it."""

    reservation: Reservation
    tokens: int
    cost: Decimal


@dataclass(frozen=True)
class Payment:
    """What a call for a row cost."""

    table: type[Generated]
    row: UUID
    tokens_in: int
    tokens_out: int
    cost: Decimal
    seconds: float


class Ledger:
    """Accounts for each call at once and by itself; a pool's ledger does it for many together."""

    def reserve(self, wish: Wish) -> Reservation:
        (reserved,) = account([], [], [wish])
        if isinstance(reserved, CallFailed):
            raise reserved
        return reserved

    def settle(self, settlement: Settlement) -> None:
        account([settlement], [], [])

    def pay(self, payment: Payment) -> None:
        account([], [payment], [])


ledger: ContextVar[Ledger] = ContextVar("ledger", default=Ledger())  # noqa: B039 - has no state


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
    read, wrote = answer.tokens_in, answer.tokens_out
    cost = server.cost(read, wrote)
    ledger.get().pay(Payment(type(row), row.pk, read, wrote, cost, seconds))


def reserve(
    study_id: int, server: Endpoint, messages: list[dict], schema: dict | None = None
) -> Reservation:
    """Count the most that a call can cost; CallFailed where the budget has no room for it."""
    tokens_in, tokens_out = bound(server, messages, schema)
    cost = server.cost(tokens_in, tokens_out)
    bounded = server.max_tokens is not None
    return ledger.get().reserve(Wish(study_id, tokens_in + tokens_out, cost, bounded))


def settle(reservation: Reservation, tokens: int, cost: Decimal) -> None:
    """Put what a call used in the place of what was reserved for it."""
    ledger.get().settle(Settlement(reservation, tokens, cost))


def account(
    settlements: list[Settlement], payments: list[Payment], wishes: list[Wish]
) -> list[Reservation | CallFailed]:
    """Settle, pay and reserve in one transaction; of each wish its reservation or its refusal."""
    with transaction.atomic(savepoint=False):
        # Budgets first, in one order: those who reserve wait for each other here and nowhere else.
        studies = {wish.study for wish in wishes}
        locked = Budget.objects.select_for_update().filter(study__in=studies).order_by("pk")
        budgets = {budget.study_id: budget for budget in locked} if wishes else {}
        _settle(settlements)
        _pay(payments)
        results = {}
        for study in sorted(studies):
            numbers = [n for n, wish in enumerate(wishes) if wish.study == study]
            some = _reserve(study, budgets.get(study), [wishes[n] for n in numbers])
            results |= zip(numbers, some, strict=True)
    return [results[n] for n in range(len(wishes))]


def _reserve(study: int, budget: Budget | None, wishes: list[Wish]) -> list:
    """Reservations of one study's wishes, as far as its locked budget has room."""
    today = timezone.now().astimezone(UTC).date()
    refusals = _refusals(budget, wishes, today) if budget else [None] * len(wishes)
    granted = [wish for wish, refusal in zip(wishes, refusals, strict=True) if refusal is None]
    if not granted:
        return refusals
    tokens, cost = (
        sum(wish.tokens for wish in granted),
        sum((wish.cost for wish in granted), Decimal(0)),
    )
    day = _count(study, today, len(granted), tokens, cost)
    return [
        refusal or Reservation(day, wish.tokens, wish.cost)
        for wish, refusal in zip(wishes, refusals, strict=True)
    ]


def _refusals(budget: Budget, wishes: list[Wish], today: date) -> list[CallFailed | None]:
    """Why each wish is refused, None where it has room beside those before it."""
    total = spent(budget.study_id)
    day = Spending.objects.filter(study=budget.study_id, day=today).first() or Spending()
    refusals = []
    for wish in wishes:
        refusal = _refusal(budget, total, day, wish)
        refusals.append(refusal)
        if refusal is None:
            total = {"tokens": total["tokens"] + wish.tokens, "cost": total["cost"] + wish.cost}
            day.tokens, day.cost = day.tokens + wish.tokens, day.cost + wish.cost
    return refusals


def _refusal(budget: Budget, total: dict, day: Spending, wish: Wish) -> CallFailed | None:
    tokens, cost = wish.tokens, wish.cost
    if not wish.bounded:
        return CallFailed("no_bound")
    limits = ((budget.cost, total["cost"], cost), (budget.tokens, total["tokens"], tokens))
    if any(_exceeds(*limit) for limit in limits):
        return CallFailed("budget")
    limits = ((budget.daily_cost, day.cost, cost), (budget.daily_tokens, day.tokens, tokens))
    if not any(_exceeds(*limit) for limit in limits):
        return None
    # A call that does not fit into an empty day will not fit tomorrow.
    never = _exceeds(budget.daily_cost, 0, cost) or _exceeds(budget.daily_tokens, 0, tokens)
    return CallFailed("budget") if never else CallFailed("budget_day", wait=_until_tomorrow())


def _count(study_id: int, day: date, calls: int, tokens: int, cost: Decimal) -> int:
    """Add calls to the study's day, in one statement; the row's id."""
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO candidates_spending AS s (study_id, day, calls, tokens, cost)
               VALUES (%s, %s, %s, %s, %s)
               ON CONFLICT (study_id, day) DO UPDATE SET calls = s.calls + excluded.calls,
                   tokens = s.tokens + excluded.tokens, cost = s.cost + excluded.cost
               RETURNING id""",
            [study_id, day, calls, tokens, cost],
        )
        return cursor.fetchone()[0]


def _settle(settlements: list[Settlement]) -> None:
    days = {settlement.reservation.spending for settlement in settlements}
    for day in sorted(days):
        some = [row for row in settlements if row.reservation.spending == day]
        Spending.objects.filter(pk=day).update(
            tokens=F("tokens") + sum(row.tokens - row.reservation.tokens for row in some),
            cost=F("cost") + sum(row.cost - row.reservation.cost for row in some),
        )


def _pay(payments: list[Payment]) -> None:
    """Add what calls cost to their rows, one statement a table."""
    for table in {payment.table for payment in payments}:
        name = connection.ops.quote_name(table._meta.db_table)
        some = [payment for payment in payments if payment.table is table]
        fields = ((p.row, p.tokens_in, p.tokens_out, p.cost, p.seconds) for p in some)
        columns = zip(*fields, strict=True)
        with connection.cursor() as cursor:
            cursor.execute(PAY.format(table=name), [list(column) for column in columns])


def bound(server: Endpoint, messages: list[dict], schema: dict | None = None) -> tuple[int, int]:
    """The most tokens that a call can read and write."""
    sent = len(json.dumps([messages, schema], ensure_ascii=False).encode())
    return sent + TOKENS_A_MESSAGE * len(messages), server.max_tokens or 0


def spent(study_id: int) -> dict:
    """``{"calls", "tokens", "cost"}`` of all days, reservations included."""
    days = Spending.objects.filter(study=study_id)
    total = days.aggregate(calls=Sum("calls"), tokens=Sum("tokens"), cost=Sum("cost"))
    return {key: value or 0 for key, value in total.items()}


def estimate(
    server: Endpoint | None, calls: int, earlier: QuerySet | None = None, *, rows: int = 0
) -> Estimate:
    """What ``calls`` calls for ``rows`` results will take (one call a result where 0).

    Measured on ``earlier`` rows of the same work where there are any, assumed otherwise.
    """
    if server is None:
        return Estimate(calls=0, tokens=0, cost=0.0, seconds=0.0, measured=0)
    last = []
    if earlier is not None:
        rows_done = earlier.filter(endpoint=server.name, status="done", tokens_out__gt=0)
        fields = ("tokens_in", "tokens_out", "seconds")
        last = list(rows_done.order_by("-answered_at").values_list(*fields)[:MEASURED_CALLS])
    if last:
        means = [sum(column) / len(last) for column in zip(*last, strict=True)]
        read, wrote, seconds = (mean * (rows or calls) for mean in means)
    else:
        read, wrote, seconds = (number * calls for number in ASSUMED)
        wrote = min(wrote, calls * (server.max_tokens or ASSUMED[1]))
    return Estimate(
        calls=calls,
        tokens=round(read + wrote),
        cost=float(server.cost(round(read), round(wrote))),
        seconds=round(seconds / server.concurrency, 1),
        measured=len(last),
    )


def together(plans: list[Estimate]) -> Estimate:
    """What several runs are expected to take, one after the other."""
    rows = [plan.as_json() for plan in plans]
    return Estimate(**{name: sum(row[name] for row in rows) for name in asdict(estimate(None, 0))})


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
