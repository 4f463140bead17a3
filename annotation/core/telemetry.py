"""Traces and metrics for an OpenTelemetry collector, where the standard variables name one.

OTEL_EXPORTER_OTLP_ENDPOINT switches them on; the SDK reads the other `OTEL_*` variables. They carry
routes, names of tasks and models, counts, and SQL with its placeholders: no address, no key,
no text of anybody. Hence the spans are made here and not by the instrumentations, which send such.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db.backends.signals import connection_created
from django.http import HttpRequest
from django.http.response import HttpResponseBase

try:
    from opentelemetry import context, metrics, propagate, trace
except ImportError:  # without the extra `telemetry`
    trace = None  # type: ignore[assignment]

WANTED = (
    bool(os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"))
    and os.environ.get("OTEL_SDK_DISABLED", "").lower() != "true"
)
SQL_LENGTH = 2000
_tasks: dict[str, tuple] = {}


def start(part: str) -> None:
    """Send what this process and those that it forks do; nothing without a collector's address.

    Raises ImproperlyConfigured where the packages of the extra `telemetry` are missing.
    """
    if not WANTED:
        return
    if trace is None:
        raise ImproperlyConfigured("OTEL_EXPORTER_OTLP_ENDPOINT needs the extra `telemetry`.")
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    os.environ.setdefault("OTEL_SERVICE_NAME", f"attune-{part}")
    traces = TracerProvider()
    traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(traces)
    readers = [PeriodicExportingMetricReader(OTLPMetricExporter())]
    metrics.set_meter_provider(MeterProvider(metric_readers=readers))
    connection_created.connect(_trace_statements)
    # Only where it is wanted: a page needs no Celery.
    from celery import signals

    signals.before_task_publish.connect(_hand_on)
    signals.task_prerun.connect(_begin_task)
    signals.task_postrun.connect(_end_task)


@contextmanager
def span(name: str, kind: str = "INTERNAL", **attributes: Any) -> Iterator[dict[str, Any]]:
    """Time the block; attributes (`__` for a dot) that are known at its end go into the mapping."""
    late: dict[str, Any] = {}
    if not WANTED:
        yield late
        return
    tracer = trace.get_tracer("attune")
    # A message of an exception may quote a row or an answer.
    silent: dict[str, Any] = {"record_exception": False, "set_status_on_exception": False}
    with tracer.start_as_current_span(name, kind=trace.SpanKind[kind], **silent) as current:
        current.set_attributes(_dotted(attributes))
        try:
            yield late
        except BaseException as error:
            current.set_status(trace.StatusCode.ERROR)
            current.set_attribute("error.type", type(error).__name__)
            raise
        finally:
            current.set_attributes(_dotted(late))


def record(name: str, value: float, unit: str = "s", **attributes: Any) -> None:
    """Add a value to the histogram of this name; attributes as those of `span`."""
    if WANTED:
        meter = metrics.get_meter("attune")
        meter.create_histogram(name, unit).record(value, _dotted(attributes))


def _dotted(attributes: dict[str, Any]) -> dict[str, Any]:
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    return {name: value for name, value in named.items() if value is not None}


def traced(get_response: Callable) -> Callable:
    """Time each request under its route: its path may hold a key."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        begun = time.monotonic()
        token = context.attach(propagate.extract(request.headers))
        try:
            with span("HTTP", "SERVER", http__request__method=request.method) as late:
                response = get_response(request)
                match = request.resolver_match
                route = match.route if match else None
                trace.get_current_span().update_name(f"{request.method} {route or 'unknown'}")
                late |= {"http.route": route, "http.response.status_code": response.status_code}
        finally:
            context.detach(token)
        seconds = time.monotonic() - begun
        record("http.server.request.duration", seconds, **late)
        return response

    return middleware


def _trace_statements(connection: Any, **kwargs: Any) -> None:
    if _statement not in connection.execute_wrappers:
        connection.execute_wrappers.append(_statement)


def _statement(execute: Callable, sql: Any, params: Any, many: bool, info: dict) -> Any:
    text = sql if isinstance(sql, str) else type(sql).__name__
    names = {"db__system__name": "postgresql", "db__query__text": text[:SQL_LENGTH]}
    with span(text.split(maxsplit=1)[0] if text.strip() else "SQL", "CLIENT", **names):
        return execute(sql, params, many, info)


def _hand_on(headers: dict, **kwargs: Any) -> None:
    propagate.inject(headers)


def _begin_task(task_id: str, task: Any, **kwargs: Any) -> None:
    sent = {"traceparent": task.request.get("traceparent") or ""}
    tracer = trace.get_tracer("attune")
    begun = tracer.start_span(task.name, propagate.extract(sent), trace.SpanKind.CONSUMER)
    token = context.attach(trace.set_span_in_context(begun))
    _tasks[task_id] = begun, token, time.monotonic()


def _end_task(task_id: str, task: Any, state: str | None = None, **kwargs: Any) -> None:
    begun, token, at = _tasks.pop(task_id)
    if state == "FAILURE":
        begun.set_status(trace.StatusCode.ERROR)
    context.detach(token)
    begun.end()
    record("attune.task.duration", time.monotonic() - at, task=task.name, state=state)
