"""A model server on loopback that records every request and can misbehave."""

import json
import threading

import pytest
from hypothesis import HealthCheck, settings

from annotation.candidates import calls, generate, writing
from annotation.candidates.models import Candidate, GenerationRules
from annotation.candidates.steps.people import PERSONA
from annotation.personas.models import Memory
from tests.scripted_endpoint import Failure, ScriptedEndpoint, example_of
from tests.scripted_endpoint import completion as completion_of

# A busy machine is no reason to fail.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
KEY = "sk-canary-key-0123456789"


def Reply(text="A calm answer.", *, status=200, headers=None, body=None, tokens=(7, 5)):
    """What the fake says next: a status, headers and a body, or the text of a completion."""
    content = json.dumps(completion(text, tokens)).encode() if body is None else body
    return Failure(status, content, headers=headers or {})


def completion(text, tokens=(7, 5)):
    return completion_of(text, tokens, "fake-7b-2026", "cmpl-1")


class Fake(ScriptedEndpoint):
    """Answers ``replies`` in turn, the last one for ever; a callable reply gets the handler.

    Its ``requests`` are (path, headers, body) as they came.
    """

    def __init__(self):
        super().__init__(model="fake-7b")
        self.replies, self.released = [Reply()], threading.Event()

    def post(self, handler, raw):
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.requests.append((handler.path, headers, raw))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        reply(handler) if callable(reply) else handler.send(reply)

    def config(self, **more):
        return super().config(**{"name": "fake", "api_key": KEY} | more)

    def bodies(self):
        return [json.loads(raw) for _, _, raw in self.requests]

    def close(self):
        self.released.set()
        super().close()


@pytest.fixture
def fake(settings):
    with Fake() as fake:
        settings.ENDPOINTS = [fake.config()]
        yield fake


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


def text_of(response) -> str:
    return response.content.decode()


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
