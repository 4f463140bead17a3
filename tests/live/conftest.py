import pytest

from annotation.live import settings as live_settings
from annotation.live import talks
from annotation.live.settings import Live
from tests.candidates.conftest import write_all
from tests.scripted_endpoint import ScriptedEndpoint


def says(request, number):
    """Each model names itself and how many messages it was sent."""
    return f"{request['model']} after {len(request['messages'])}"


@pytest.fixture
def models(settings):
    """Three endpoints on one server: oak, elm and ash."""
    with ScriptedEndpoint(lambda request, number: models.says(request, number)) as server:
        models = server
        models.says = says
        settings.ENDPOINTS = [
            server.config(name=name, model=name, concurrency=4) for name in ("oak", "elm", "ash")
        ]
        yield server


@pytest.fixture
def ann(cast, tea):
    return cast.person("Ann")


@pytest.fixture
def live(cast, tea, models):
    """A function that lets the people of "tea" talk; its settings are those of Live."""
    cast.task(tea, "served", options=2, overlap=1, tie=True)
    cast.task(tea, "next", options=2, overlap=1)
    cast.task(tea, "three", options=3, overlap=1)

    def save(**fields):
        live_settings.save_live(
            tea, Live(**{"tasks": ["served"], "endpoints": ["oak", "elm"]} | fields)
        )

    return save


@pytest.fixture
def at_once(monkeypatch):
    """Texts appear at once."""
    monkeypatch.setattr(talks, "RATE", 10**9)


def ask(talk, text="Where shall I walk?", turn=0):
    """Send a message of the talk's person, and let the systems answer."""
    talks.say(talk.pk, talk.person, text, turn)
    write_all()
