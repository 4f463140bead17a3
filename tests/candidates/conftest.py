"""A model server on loopback that records every request and can misbehave."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import HealthCheck, settings

from annotation.candidates import calls, generate, writing
from annotation.candidates.models import Candidate, GenerationRules
from annotation.candidates.steps.people import PERSONA
from annotation.personas.models import Memory
from tests.scripted_endpoint import ScriptedEndpoint, example_of

# A busy machine is no reason to fail.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
KEY = "sk-canary-key-0123456789"


class Reply:
    """What the fake says next: a status, headers and a body, or the text of a completion."""

    def __init__(
        self, text="A calm answer.", *, status=200, headers=None, body=None, tokens=(7, 5)
    ):
        self.status = status
        self.headers = {"Content-Type": "application/json", **(headers or {})}
        self.body = body if body is not None else json.dumps(completion(text, tokens)).encode()


def completion(text, tokens=(7, 5)):
    return {
        "id": "cmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "fake-7b-2026",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text},
            }
        ],
        "usage": {
            "prompt_tokens": tokens[0],
            "completion_tokens": tokens[1],
            "total_tokens": sum(tokens),
        },
    }


class Fake:
    """Answers ``replies`` in turn, the last one for ever; a callable reply gets the handler."""

    def __init__(self):
        self.requests = []
        self.replies = [Reply()]
        self.received = threading.Event()
        self.released = threading.Event()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                fake.requests.append((self.path, headers, raw))
                fake.received.set()
                reply = fake.replies.pop(0) if len(fake.replies) > 1 else fake.replies[0]
                try:
                    reply(self) if callable(reply) else self.send(reply)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the client had enough

            def send(self, reply):
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def config(self, **more):
        return {"name": "fake", "base_url": self.url, "api_key": KEY, "model": "fake-7b", **more}

    def bodies(self):
        return [json.loads(raw) for _, _, raw in self.requests]

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def fake(settings):
    fake = Fake()
    settings.ENDPOINTS = [fake.config()]
    yield fake
    fake.close()


PROFILE = {
    "Demographics": {"Age": "31", "Language": ["English", "Korean"], "Career_Information": "baker"},
    "Personality": {
        "Extraversion_or_Introversion": "I",
        "Values_and_Interests": ["quiet", "bread"],
    },
    "Preference": {
        "Local_Life": {"Food_Drinks": "rye toast", "Daily_Outings": "the river path"},
        "Travel": {"Leisure_Travel": "night trains"},
    },
}


@pytest.fixture
def asked(cast, tea, fake):
    """One query of a persona in the study "tea", with a canary for its need."""
    persona = cast.persona(tea, **PROFILE)
    return cast.query(tea, "q1", persona, text="Where shall I walk?", need="NEED-CANARY-4711")


class Script:
    """What the model says in turn, as JSON; the last one for ever."""

    def __init__(self):
        self.values = [{}]

    def __call__(self, request, number):
        value = self.values.pop(0) if len(self.values) > 1 else self.values[0]
        if callable(value):
            value = value(request)
        return value if not isinstance(value, dict) else json.dumps(value)


@pytest.fixture
def script():
    return Script()


@pytest.fixture
def model(script, settings):
    with ScriptedEndpoint(script) as endpoint:
        settings.ENDPOINTS = [endpoint.config(price_in=1, price_out=1, concurrency=4)]
        yield endpoint


@pytest.fixture
def mina(cast, tea):
    persona = cast.persona(tea, **PROFILE)
    for text in ("Ten rye breads to bake at home.", "Night trains are back.", "How to fold a map."):
        Memory.objects.create(persona=persona, text=text)
    return persona


def person(name="Ole Berg", work="lock keeper") -> dict:
    made = _filled(PERSONA)
    made["Name"] = name
    made["Demographics"]["Career_Information"] = work
    return made


def _filled(schema):
    if schema["type"] == "object":
        return {name: _filled(part) for name, part in schema["properties"].items()}
    return (
        "calm days" if schema["type"] == "string" and not schema.get("enum") else example_of(schema)
    )


def write_all():
    for _round in range(40):
        calls.reap()
        ids = calls.calls_due()
        if not ids:
            return
        for pk in ids:
            writing.write_one(pk)


def expand(tea, count=1, **options):
    run = generate.request_proposals(tea, "persona", {"count": count, **options})
    write_all()
    return run


@pytest.fixture
def answer(cast, tea):
    """An answer that two reviewers have to decide on; committed."""
    GenerationRules.objects.create(study=tea, reviewers=2)
    (answer,) = cast.candidates(cast.query(tea), 1)
    Candidate.objects.update(review="pending")
    return answer
