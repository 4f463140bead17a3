"""The scripted model server does what tests and benchmarks rely on, through the one client."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from annotation.candidates import endpoints
from annotation.candidates.endpoints import CallFailed, Endpoint
from tests import scripted_endpoint as scripted
from tests.scripted_endpoint import ScriptedEndpoint

ASK = [{"role": "user", "content": "Which of the two?"}]


def server(endpoint, **more):
    return Endpoint(**{**endpoint.config(), "price_in": Decimal(1), **more})


def test_it_answers_what_the_script_says_and_counts():
    with ScriptedEndpoint(lambda request, n: f"{n}: {scripted.prompt_of(request)}") as made:
        texts = [endpoints.call(server(made), ASK).text for _ in range(2)]
    assert texts == ["0: Which of the two?", "1: Which of the two?"]
    assert (made.calls, made.running, made.most_at_once) == (2, 0, 1)


def test_a_schema_gets_an_answer_that_fits_it():
    schema = {
        "type": "object",
        "properties": {"verdict": {"enum": ["a", "b"]}, "score": {"type": "integer", "minimum": 1}},
    }
    form = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema}}
    with ScriptedEndpoint() as made:
        answer = endpoints.call(server(made, parameters={"response_format": form}), ASK)
        assert answer.text == '{"verdict": "a", "score": 1}'
    with ScriptedEndpoint(schemas=False) as made, pytest.raises(CallFailed, match="refused"):
        endpoints.call(server(made, parameters={"response_format": form}), ASK)


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (scripted.RATE_LIMIT, "rate_limit"),
        (scripted.NO_CREDIT, "quota"),
        (scripted.SERVER_ERROR, "server_error"),
        (scripted.BAD_KEY, "key"),
        (scripted.GARBAGE, "unparsable"),
        (scripted.BROKEN, "connection"),
    ],
)
def test_each_failure_is_what_the_client_calls_it(failure, code):
    with ScriptedEndpoint(lambda request, n: failure) as made, pytest.raises(CallFailed) as caught:
        endpoints.call(server(made), ASK)
    assert caught.value.code == code


def test_requests_at_once_are_counted():
    with ScriptedEndpoint(latency=0.2) as made, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _n: endpoints.call(server(made), ASK), range(4)))
    assert made.most_at_once > 1
    assert (made.calls, made.running) == (4, 0)
