import json
import logging
import socket
import time

import pytest
from django.core.checks.registry import registry

from annotation.candidates import endpoints
from annotation.candidates.endpoints import CallFailed
from annotation.core.errors import DomainError
from tests.candidates.conftest import KEY, Reply, completion

HELLO = [{"role": "user", "content": "Hello?"}]


def failure(fake, *replies, **config):
    """How a call fails when the fake answers so."""
    fake.replies = list(replies)
    endpoint = endpoints._endpoint(1, fake.config(**config))
    with pytest.raises(CallFailed) as caught:
        endpoints.call(endpoint, HELLO)
    assert KEY not in repr(caught.value)
    assert caught.value.__cause__ is None
    return caught.value


def json_reply(value, status=200):
    return Reply(status=status, body=json.dumps(value).encode())


def test_a_call_sends_the_key_the_model_and_the_parameters_and_nothing_else(fake, monkeypatch):
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "from-the-environment")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: from-the-environment")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    fake.replies = [Reply("Hi.", headers={"x-request-id": "r-77"})]
    endpoint = endpoints._endpoint(1, fake.config(max_tokens=9, parameters={"temperature": 0.5}))
    answer = endpoints.call(endpoint, HELLO)
    assert answer == endpoints.Reply("Hi.", "fake-7b-2026", "r-77", 7, 5, "stop")
    path, headers, _ = fake.requests[0]
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == f"Bearer {KEY}"
    usual = {"host", "accept", "connection", "content-length", "content-type", "user-agent"}
    assert headers.keys() == usual | {"authorization", "accept-encoding"}
    assert headers["accept-encoding"] == "identity"
    assert "from-the-environment" not in str(headers)
    assert fake.bodies() == [
        {"messages": HELLO, "model": "fake-7b", "max_tokens": 9, "temperature": 0.5}
    ]


@pytest.mark.parametrize(
    ("status", "body", "code", "retry"),
    [
        (401, {}, "key", False),
        (403, {}, "key", False),
        (402, {}, "quota", False),
        (404, {}, "not_found", False),
        (400, {}, "refused", False),
        (422, {}, "refused", False),
        (429, {}, "rate_limit", True),
        (429, {"error": {"code": "insufficient_quota"}}, "quota", False),
        (408, {}, "timeout", True),
        (500, {}, "server_error", True),
        (503, {}, "server_error", True),
    ],
)
def test_each_status_has_its_cause_and_is_called_once(fake, status, body, code, retry):
    found = failure(fake, json_reply(body, status))
    assert (found.code, found.retry, len(fake.requests)) == (code, retry, 1)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body=b"<html>hello</html>", headers={"Content-Type": "text/html"}),
        Reply(body=b""),
        Reply(body=b"\xff\xfe"),
        Reply(body=b"[" * 100_000),
        json_reply([]),
        json_reply({"choices": []}),
        json_reply({"choices": [{"message": None}]}),
        json_reply({"choices": [{"message": {"content": ["a"]}}]}),
        json_reply({"choices": "x", "usage": 3}),
        Reply(headers={"Content-Encoding": "gzip"}),
    ],
)
def test_what_is_no_chat_completion_is_unparsable(fake, reply):
    assert failure(fake, reply).code == "unparsable"


LINK = "https://example.org/a"
ENTRY = {"url": LINK, "title": "A"}


@pytest.mark.parametrize(
    ("message", "payload", "sources"),
    [
        ({"annotations": [{"type": "url_citation"} | ENTRY]}, {}, (("A", LINK),)),
        ({}, {"citations": [LINK, LINK, 5, "ftp://x/", "https://"]}, (("", LINK),)),
        ({}, {"citations": [LINK], "search_results": [ENTRY]}, (("A", LINK),)),
        ({"citations": "x", "annotations": [None, {"type": "file"}]}, {"citations": {}}, ()),
        ({}, {"citations": [f"https://example.org/{'x' * 2000}", "https://[x"]}, ()),
    ],
)
def test_sources_that_a_server_reports_are_read_in_any_of_three_forms(
    fake, message, payload, sources
):
    body = completion("Walk.")
    body["choices"][0]["message"] |= message
    fake.replies = [json_reply(body | payload)]
    searching = endpoints._endpoint(1, fake.config(web_search={}))
    assert endpoints.call(searching, HELLO).sources == sources
    assert endpoints.call(endpoints._endpoint(1, fake.config()), HELLO).sources == ()


def test_odd_but_readable_answers_are_taken(fake):
    body = completion("a\x00b \ud800") | {"usage": {"prompt_tokens": -3}, "model": 5}
    fake.replies = [json_reply(body)]
    answer = endpoints.call(endpoints.get("fake"), HELLO)
    assert (answer.text, answer.model, answer.tokens_in) == ("ab \ufffd", "", 0)


def test_retry_after_is_read_as_seconds_and_as_a_date(fake):
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 3600))
    for value, least, most in [("17", 17, 17), (date, 3000, 3600), ("soon", 0, 0)]:
        limited = Reply(status=429, body=b"{}", headers={"Retry-After": value})
        assert least <= failure(fake, limited).wait <= most


def test_a_redirect_is_not_followed(fake):
    for target in (f"{fake.url}/elsewhere", "http://169.254.169.254/"):
        reply = Reply(status=307, body=b"", headers={"Location": target})
        assert failure(fake, reply).code == "redirect"
    assert [path for path, _, _ in fake.requests] == ["/v1/chat/completions"] * 2


def test_a_giant_body_is_cut_off(fake):
    def giant(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(10**10))
        handler.end_headers()
        for _ in range(10_000):
            handler.wfile.write(b" " * 65536)

    assert failure(fake, giant).code == "too_large"


def test_a_body_that_drips_is_given_up_in_time(fake):
    def drip(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "10000")
        handler.end_headers()
        while not fake.released.wait(0.05):
            handler.wfile.write(b" ")

    # The whole body would take eight minutes.
    before = time.monotonic()
    assert failure(fake, drip, timeout=1).code == "timeout"
    assert time.monotonic() - before < 60


def test_silence_is_a_timeout_and_a_cut_line_a_lost_connection(fake):
    assert failure(fake, lambda handler: fake.released.wait(), timeout=1).code == "timeout"

    def cut(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"{")
        handler.wfile.flush()
        handler.connection.shutdown(socket.SHUT_RDWR)

    assert failure(fake, cut).code == "connection"


def test_nobody_listening_is_a_lost_connection():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        nobody = PLAIN | {"base_url": f"http://127.0.0.1:{probe.getsockname()[1]}"}
    with pytest.raises(CallFailed, match="connection"):
        endpoints.call(endpoints._endpoint(1, nobody), HELLO)


def test_an_endpoint_that_echoes_the_key_is_not_believed(fake, caplog):
    caplog.set_level(logging.INFO)
    assert failure(fake, Reply(f"Your header was Bearer {KEY}")).code == "echo"
    assert failure(fake, Reply(headers={"x-request-id": KEY})).code == "echo"
    assert failure(fake, json_reply({"error": {"message": KEY}}, 500)).code == "server_error"
    assert KEY not in caplog.text
    assert KEY not in repr(endpoints.all())


PLAIN = {"name": "x", "base_url": "http://h", "model": "m"}


@pytest.mark.parametrize(
    ("configured", "sentence"),
    [
        ({}, "ATTUNE_ENDPOINTS must be a JSON list of objects."),
        (["x"], "Endpoint 1 must be a JSON object."),
        ([{"name": "x", "model": "m"}], "Endpoint x, base_url: Field required."),
        ([{"base_url": "http://h", "model": "m"}], "Endpoint 1, name: Field required."),
        ([PLAIN | {"name": "x" * 61}], "at most 60 characters"),
        ([PLAIN | {"base_url": "file:///etc"}], "must be an address http(s)"),
        ([PLAIN | {"base_url": "http://u:p@h/"}], "no user name, password"),
        ([PLAIN | {"speed": 1}], "speed: Unexpected keyword argument"),
        ([PLAIN | {"timeout": 900}], "less than or equal to 240"),
        ([PLAIN | {"price_in": -1}], "price_in: Input should be greater than or equal to 0"),
        ([PLAIN | {"api_key": "schlüssel"}], "api_key: String should match pattern"),
        ([PLAIN | {"web_search": True}], "web_search: Input should be a valid dictionary"),
        ([PLAIN | {"parameters": {"stream": 1}}], "must not hold messages, model or stream"),
        ([PLAIN | {"embedded": True, "base_url": 5}], "base_url: Input should be a valid string"),
        ([PLAIN] * 2, "Two endpoints have the name x."),
    ],
)
def test_a_wrong_configuration_is_named_at_the_start(settings, configured, sentence):
    settings.ENDPOINTS = configured
    (found,) = endpoints.endpoints_can_be_used(None)
    assert found.id == "candidates.E001"
    assert sentence in found.msg
    assert "schlüssel" not in found.msg
    with pytest.raises(DomainError):
        endpoints.get("x")


def test_a_key_over_plain_http_is_warned_of_but_not_on_this_machine(settings, fake):
    def warned():
        return [one.msg for one in endpoints.endpoints_can_be_used(None)]

    assert endpoints.endpoints_can_be_used in registry.get_checks()
    assert warned() == []
    settings.ENDPOINTS = [fake.config(base_url="http://models.example/v1")]
    assert warned() == ["Endpoint fake would get its key over plain HTTP."]


def test_an_unknown_endpoint_is_refused_by_naming_the_known(fake, settings):
    with pytest.raises(DomainError, match="no endpoint “gone”; configured are: fake") as caught:
        endpoints.get("gone")
    assert caught.value.status == 404
    assert endpoints.get().name == "fake"
    settings.ENDPOINTS = []
    with pytest.raises(DomainError, match="No endpoint is configured"):
        endpoints.get()


def test_prices_are_per_million_tokens(fake):
    endpoint = endpoints._endpoint(1, fake.config(price_in=2.5, price_out=10))
    assert endpoint.cost(1000, 100) == endpoints.Decimal("0.0035")
