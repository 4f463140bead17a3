import pytest

from tests.api.caller import Caller
from tests.papers.bespoke.conftest import bespoke, fake, judged  # noqa: F401 - fixtures


@pytest.fixture
def carol(cast, tea, client):
    return Caller(client, cast.person("Carol"))


PERSONAS = [{"id": f"p{n}", "profile": {"Name": f"Person {n}"}} for n in range(3)]
QUERIES = [{"id": f"q{n}", "persona": f"p{n}", "text": f"What about {n}?"} for n in range(3)]
ANSWERS = [
    {"id": f"q{n}-{side}", "query": f"q{n}", "text": f"Answer {side}.", "model": side}
    for n in range(3)
    for side in "ab"
]


def fill(caller, study="tea"):
    for name, rows in (("personas", PERSONAS), ("queries", QUERIES), ("candidates", ANSWERS)):
        answer = caller("POST", f"studies/{study}/{name}/", {"rows": rows})
        assert (answer.status_code, answer.json()) == (201, {"stored": len(rows), "faults": []})


def opened(carol):
    """The three queries of ``fill`` as items of a task that two people judge."""
    fill(carol)
    task = {"name": "better", "kind": "selection", "overlap": 2, "settings": {"options": 2}}
    carol("POST", "studies/tea/tasks/", task)
    return carol("POST", "studies/tea/batches/", {"task": "better"}).json()["id"]
