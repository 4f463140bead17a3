"""A collector receives what web, worker, database and model calls do, and no text of anybody."""

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.core.exceptions import ImproperlyConfigured

from annotation.core import telemetry

PROGRAM = """
import json, logging
from django.conf import settings
from django.test import Client

backend = "django.contrib.staticfiles.storage.StaticFilesStorage"
settings.STORAGES["staticfiles"] = {"BACKEND": backend}
from annotation import wsgi
from annotation.candidates import endpoints
from annotation.core import logs, tasks, telemetry
from annotation.celery import app

client = Client(headers={"host": "localhost"})
answer = client.get("/health/ready")
client.get("/invitations/secret-key-of-somebody-else/")
app.conf.task_always_eager = True
tasks.beat.apply()
server = endpoints.Endpoint(name="m", base_url="http://127.0.0.1:9/v1", model="small")
try:
    endpoints.call(server, [{"role": "user", "content": "PRIVATE"}])
except endpoints.CallFailed:
    pass
with telemetry.span("work"):
    record = logging.makeLogRecord({"msg": "line", "name": "attune"})
    logs.Context().filter(record)
    print(json.loads(logs.Json().format(record))["trace_id"], answer.status_code)
"""


class Sink(BaseHTTPRequestHandler):
    received: dict[str, list[bytes]]

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.setdefault(self.path, []).append(body)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def collector():
    sink = type("Kept", (Sink,), {"received": {}})
    with ThreadingHTTPServer(("127.0.0.1", 0), sink) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", sink.received
        server.shutdown()


@pytest.mark.django_db(transaction=True)
def test_spans_and_metrics_reach_the_collector_under_routes_and_without_texts(collector, settings):
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
    )
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    address, received = collector
    own = settings.DATABASES["default"]
    url = f"postgresql://{own['USER']}:{own['PASSWORD']}@/{own['NAME']}?host={own['HOST']}"
    url += f"&port={own['PORT']}" if own["PORT"] else ""
    environment = os.environ | {"DATABASE_URL": url, "OTEL_EXPORTER_OTLP_ENDPOINT": address}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    trace_id, status = done.stdout.split()

    spans = []
    for body in received["/v1/traces"]:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            (service,) = [a for a in resource.resource.attributes if a.key == "service.name"]
            assert service.value.string_value == "attune-web"
            spans += [span for scope in resource.scope_spans for span in scope.spans]
    names = {span.name for span in spans}
    assert {"GET health/ready", "SELECT", "annotation.core.tasks.beat", "chat small"} <= names
    assert status == "200"
    assert any(span.name == "work" and span.trace_id.hex() == trace_id for span in spans)
    (request,) = [span for span in spans if span.name == "GET health/ready"]
    assert any(span.parent_span_id == request.span_id for span in spans if span.name == "SELECT")
    (call,) = [span for span in spans if span.name == "chat small"]
    assert call.status.code == 2
    sent = b"".join(body for bodies in received.values() for body in bodies)
    assert b"secret-key" not in sent
    assert b"PRIVATE" not in sent

    metrics = {
        metric.name
        for body in received["/v1/metrics"]
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert {"http.server.request.duration", "attune.task.duration"} <= metrics


def test_nothing_is_sent_or_imported_without_a_collector():
    assert not telemetry.WANTED
    telemetry.start("web")
    with telemetry.span("work") as late:
        late["n"] = 1
    assert telemetry._tasks == {}


def test_a_collector_without_the_packages_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(telemetry, "WANTED", True)
    monkeypatch.setattr(telemetry, "trace", None)
    with pytest.raises(ImproperlyConfigured, match="needs the extra `telemetry`"):
        telemetry.start("web")
