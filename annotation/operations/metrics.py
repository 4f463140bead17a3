"""Metrics for Prometheus: requests counted in each web process, and rows read at the scrape.

Labels hold names of views and states, never an id of a person.
"""

import hmac
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal

from django.conf import settings
from django.db import connection
from django.db.models import Count, Sum
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, multiprocess
from prometheus_client.metrics_core import GaugeMetricFamily

from annotation.candidates.models import Spending
from annotation.core.models import Heartbeat
from annotation.judging.models import Judgment, Slot
from annotation.operations import examine

# Whoever asks may call a method anything: each name would be a series of its own.
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15)
REQUESTS = Counter("attune_requests", "Requests answered.", ["method", "view", "status"])
LATENCY = Histogram("attune_request_seconds", "Time to an answer.", ["view"], buckets=BUCKETS)


def counted(get_response: Callable) -> Callable:
    """Middleware: count each request and its time under the name of its view."""

    def middleware(request: HttpRequest) -> HttpResponse:
        began = time.monotonic()
        response = get_response(request)
        view = request.resolver_match.view_name if request.resolver_match else "none"
        method = request.method if request.method in METHODS else "other"
        REQUESTS.labels(method, view, response.status_code).inc()
        LATENCY.labels(view).observe(time.monotonic() - began)
        return response

    return middleware


def allowed(request: HttpRequest) -> bool:
    """Whether the request carries ATTUNE_METRICS_KEY; without that setting nobody may."""
    sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
    key = settings.METRICS_KEY
    return bool(key) and hmac.compare_digest(sent.encode(), key.encode())


def text() -> bytes:
    """All metrics in Prometheus's text format."""
    registry = CollectorRegistry()
    if settings.METRICS_FOLDER:
        # Each web process keeps a file of its own: their sum is what happened.
        multiprocess.MultiProcessCollector(registry, path=settings.METRICS_FOLDER)
    else:
        registry.register(REQUESTS)
        registry.register(LATENCY)
    registry.register(Rows())
    return generate_latest(registry)


def spend() -> Decimal:
    """What all calls of models have cost, with what is reserved for calls in progress."""
    return Spending.objects.aggregate(cost=Sum("cost"))["cost"] or Decimal(0)


class Rows:
    """What the database and the disks say at this moment."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield _gauge("judgments", "Judgments stored.", Judgment.objects.count())
        slots = Slot.objects.order_by().values_list("status").annotate(n=Count("pk"))
        yield _by("slots", "Slots by state.", ["state"], slots)
        yield _by("jobs", "Jobs by kind and state.", ["kind", "state"], self._jobs())
        yield _gauge("jobs_overdue", "Jobs nobody works at.", examine.count_stuck())
        yield _gauge("spend", "Cost of all model calls.", float(spend()))
        yield _by("heartbeat_age_seconds", "Since the last sign.", ["part"], self._signs())
        yield _by("disk_free_bytes", "Free room.", ["place"], self._disks())
        yield _gauge("database_connections", "Connections to the database.", self._connections())

    def _jobs(self) -> Iterator[tuple]:
        for kind, states in examine.states().items():
            yield from ((kind, state, count) for state, count in states.items())

    def _signs(self) -> Iterator[tuple]:
        now = timezone.now()
        for name, at in Heartbeat.objects.values_list("name", "at"):
            yield name, (now - at).total_seconds()

    def _disks(self) -> Iterator[tuple]:
        for name, folder in examine.places().items():
            if folder.exists():
                yield name, shutil.disk_usage(folder).free

    def _connections(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            )
            return cursor.fetchone()[0]


def _gauge(name: str, words: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"attune_{name}", words, value=float(value))


def _by(name: str, words: str, labels: list[str], rows: Iterable[tuple]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"attune_{name}", words, labels=labels)
    for *values, value in rows:
        family.add_metric([str(label) for label in values], float(value))
    return family
