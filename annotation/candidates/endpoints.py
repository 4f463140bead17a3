"""Model servers: which there are, and the one client that calls them.

Endpoints are configuration (ATTUNE_ENDPOINTS) and nothing else: no page, file or database row can
name an address to call. The key never leaves the configuration but in the Authorization header.
"""

import email.utils
import functools
import json
import math
import os
import threading
import time
from dataclasses import field
from decimal import Decimal
from typing import Annotated, Any
from urllib.parse import urlsplit

import httpx2
from django.conf import settings
from django.core import checks
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field, ValidationError
from pydantic.dataclasses import dataclass

from annotation.core import records, telemetry
from annotation.core.errors import DomainError, NotFound

ANSWER_BYTES = 2 * 2**20
# Two calls of one candidate must fit into a Celery task's time limit.
LONGEST_TIMEOUT = 240
SHORTEST_TELLING_KEY = 8
# Of what a server's own web search reports.
MOST_SOURCES, LONGEST_URL = 50, 2_000
# The laptop's own model rambles, and shares its processors with everything else.
EMBEDDED = {"max_tokens": 320, "timeout": LONGEST_TIMEOUT}


class EndpointsWrong(Exception):  # noqa: N818 - says what is wrong with the configuration
    """ATTUNE_ENDPOINTS cannot be used; the message is one sentence without any value of a key."""


def _address(base_url: str) -> str:
    try:
        url = httpx2.URL(base_url)
    except httpx2.InvalidURL:
        url = httpx2.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError("must be an address http(s)://host[:port]/path")
    if url.userinfo or url.query or url.fragment:
        raise ValueError("must hold no user name, password, ? or #")
    return base_url


def _without_reserved(parameters: dict) -> dict:
    if parameters.keys() & {"messages", "model", "stream"}:
        raise ValueError("must not hold messages, model or stream")
    return parameters


Word = Annotated[str, Field(min_length=1)]
Price = Annotated[Decimal, Field(ge=0, le=1_000_000)]
Parameters = Annotated[dict, AfterValidator(_without_reserved)]


@dataclass(frozen=True, config={"extra": "forbid"})
class Endpoint:
    """One model server and the model to ask for.

    ``price_in`` and ``price_out`` are per million tokens, in one currency of the operator's choice;
    ``timeout`` is seconds for one whole call; ``concurrency`` how many calls may run at once;
    ``parameters`` go into every request's body as they are (temperature, for example);
    ``embedded`` is the laptop's own small model. ``web_search`` are further parameters with which
    the server searches the web by itself and reports its sources; None where it cannot.
    """

    name: Annotated[Word, Field(max_length=60)]
    base_url: Annotated[str, AfterValidator(_address)]
    model: Word
    api_key: Annotated[str, Field(pattern=r"^[ -~]*$")] = field(default="", repr=False)
    price_in: Price = Decimal(0)
    price_out: Price = Decimal(0)
    max_tokens: Annotated[int, Field(gt=0)] | None = 1024
    timeout: Annotated[float, Field(ge=1, le=LONGEST_TIMEOUT)] = 120
    concurrency: Annotated[int, Field(gt=0)] = 2
    parameters: Parameters = field(default_factory=dict, hash=False)
    embedded: bool = False
    web_search: Parameters | None = field(default=None, hash=False)

    @property
    def request(self) -> dict:
        """What every request says besides its messages."""
        limit = {} if self.max_tokens is None else {"max_tokens": self.max_tokens}
        return {**limit, "model": self.model, **self.parameters}

    def named(self, model: str) -> str:
        """``model``, as the server calls it, told apart from that of endpoints which ask it, too.

        They differ in their parameters: extractors at several temperatures are several models.
        """
        same = [server for server in usable() if server.model == self.model]
        return f"{model} ({self.name})"[:200] if len(same) > 1 else model

    def cost(self, tokens_in: int, tokens_out: int) -> Decimal:
        return (tokens_in * self.price_in + tokens_out * self.price_out) / 1_000_000


@dataclass(frozen=True)
class Reply:
    """What a server said, and what it says about it.

    ``sources`` are (title, address) of what the server's own web search rests on; ``sure`` is the
    probability of the text, where the endpoint's parameters ask for ``logprobs``.
    """

    text: str
    model: str
    request_id: str
    tokens_in: int
    tokens_out: int
    finish_reason: str
    sources: tuple[tuple[str, str], ...] = ()
    sure: float | None = None


class CallFailed(Exception):  # noqa: N818 - a turn of the way, not an error of ours
    """A call brought no answer.

    ``code`` is the class of the cause, ``retry`` whether another try makes sense, ``wait`` the
    least number of seconds before it. Nothing of it is a word that the server sent.
    """

    def __init__(self, code: str, *, wait: float = 0) -> None:
        super().__init__(code)
        self.code = code
        self.retry = code in RETRIED
        self.wait = wait


TROUBLES = {"timeout", "server_error", "connection"}
RETRIED = {
    *TROUBLES,
    *("rate_limit", "unparsable", "empty", "length", "search", "schema", "budget_day"),
}
# A server that refuses or fails a call does not charge for it; after other failures it may.
FREE = {*("rate_limit", "server_error", "key", "quota", "not_found", "refused", "redirect")}


def sentence(code: str, endpoint: str) -> str:
    """What a failure's code means, for the people of the study."""
    sentences = {
        "timeout": _("{endpoint} did not answer in time."),
        "rate_limit": _("{endpoint} takes no more requests at the moment (rate limit)."),
        "server_error": _("{endpoint} reported an error of its own."),
        "connection": _("{endpoint} could not be reached, or the connection broke."),
        "unparsable": _("{endpoint} sent something that is no chat completion."),
        "empty": _("{endpoint} sent an answer without text."),
        "length": _("{endpoint} did not keep the length of the answer it was to rewrite."),
        "key": _("{endpoint} refused our key, or the key may not use this model."),
        "quota": _("The account at {endpoint} has no credit or quota left."),
        "not_found": _("{endpoint} does not know this address or model."),
        "refused": _("{endpoint} refused the request as wrong."),
        "redirect": _("{endpoint} answered with a redirect, which is never followed."),
        "too_large": _("{endpoint} sent more than an answer can be."),
        "echo": _("{endpoint} sent our key back; its answer was not kept."),
        "no_endpoint": _("{endpoint} is no longer configured."),
        "no_source": _("The answer to rewrite is gone."),
        "no_consent": _("The owner of the history does not agree that {endpoint} sees it."),
        "search": _("The web search could not be reached, or sent no results that can be read."),
        "no_search": _("{endpoint} has no web search of its own any more."),
        "schema": _("{endpoint} sent something else than what was asked for."),
        "budget": _("The study's budget is used up: {endpoint} was not asked."),
        "budget_day": _("The study's budget for today is used up: {endpoint} is asked tomorrow."),
        "no_bound": _("{endpoint} has no max_tokens, so no budget can bound what a call costs."),
        "worker_lost": _("The worker stopped before there was an answer, three times."),
    }
    return sentences[code].format(endpoint=f"“{endpoint}”")


def all() -> list[Endpoint]:
    """Every configured endpoint, in the configuration's order.

    Raises EndpointsWrong, with a sentence, where the configuration cannot be used.
    """
    entries = settings.ENDPOINTS
    if not isinstance(entries, list):
        raise EndpointsWrong("ATTUNE_ENDPOINTS must be a JSON list of objects.")
    endpoints = [_endpoint(number, entry) for number, entry in enumerate(entries, start=1)]
    names = [endpoint.name for endpoint in endpoints]
    for name in names:
        if names.count(name) > 1:
            raise EndpointsWrong(f"Two endpoints have the name {name}.")
    return endpoints


def usable() -> list[Endpoint]:
    """Every configured endpoint; none where the configuration cannot be used."""
    try:
        return all()
    except EndpointsWrong:
        return []


def choices() -> list[tuple[str, str]]:
    """Name and words of every usable endpoint, for a form."""
    return [(server.name, f"{server.name} ({server.model})") for server in usable()]


def get(name: str = "") -> Endpoint:
    """The endpoint of that name; without a name the first. Raises DomainError with a sentence."""
    try:
        endpoints = all()
    except EndpointsWrong as wrong:
        raise DomainError(str(wrong), code="endpoints_wrong") from wrong
    if not endpoints:
        raise DomainError(_("No endpoint is configured: set ATTUNE_ENDPOINTS."), code="no_endpoint")
    if not name:
        return endpoints[0]
    for endpoint in endpoints:
        if endpoint.name == name:
            return endpoint
    names = ", ".join(endpoint.name for endpoint in endpoints)
    raise NotFound(
        _("There is no endpoint “{name}”; configured are: {names}.").format(name=name, names=names)
    )


def configured(name: str) -> Endpoint | None:
    """The endpoint of that name, or None where it is not (or no longer) configured."""
    try:
        return get(name)
    except DomainError:
        return None


def call(endpoint: Endpoint, messages: list[dict], schema: dict | None = None) -> Reply:
    """Ask ``endpoint`` once for a chat completion of ``messages``, as JSON of ``schema``.

    A study's calls go through ``calls.call``, which keeps its budget. Connections stay open
    between calls of a thread. Raises CallFailed with the class of the cause. Nothing is retried
    here, no redirect is followed, no proxy or environment variable is used; time and size of the
    answer are bounded.
    """
    names = {"gen_ai__operation__name": "chat", "gen_ai__request__model": endpoint.model}
    with telemetry.span(f"chat {endpoint.model}", "CLIENT", **names) as late:
        answer = _answered(endpoint, messages, schema)
        late |= {
            "gen_ai.usage.input_tokens": answer.tokens_in,
            "gen_ai.usage.output_tokens": answer.tokens_out,
        }
    return answer


def _answered(endpoint: Endpoint, messages: list[dict], schema: dict | None) -> Reply:
    body: dict[str, Any] = {"messages": messages}
    if schema is not None:
        named = {"name": "result", "schema": schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    body |= endpoint.request
    http = _client(endpoint.concurrency, os.getpid(), threading.get_ident())
    key = {"authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
    address = f"{endpoint.base_url.rstrip('/')}/chat/completions"
    response = send(http, "POST", address, timeout=endpoint.timeout, json=body, headers=key)
    if not response.is_success:
        raise _status_failure(response)
    return _answer(response.text, response.headers, endpoint)


@functools.lru_cache(maxsize=128)
def _client(connections: int, process: int, thread: int) -> httpx2.Client:
    # A process that was forked must not share its parent's connections, and threads that share a
    # client wait for each other while it looks through all its connections.
    return client(connections)


# Reading what servers' certificates are checked by takes most of a client's making.
_certificates = functools.cache(functools.partial(httpx2.create_ssl_context, trust_env=False))


def client(connections: int = 1) -> httpx2.Client:
    """An HTTP client that follows no redirect and asks neither proxy nor environment."""
    return httpx2.Client(
        verify=_certificates(),
        trust_env=False,
        follow_redirects=False,
        limits=httpx2.Limits(max_keepalive_connections=connections),
        # Compressed, a small answer could become a huge one.
        headers={"accept-encoding": "identity"},
    )


def send(
    http: httpx2.Client, method: str, url: str, *, timeout: float, **content: Any
) -> httpx2.Response:
    """The response with its body; CallFailed where it is too long, compressed or later than that.

    ``timeout`` is in seconds, for the whole call.
    """
    deadline, body = time.monotonic() + timeout, bytearray()
    try:
        with http.stream(method, url, timeout=timeout, **content) as response:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise CallFailed("unparsable")
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > ANSWER_BYTES:
                    raise CallFailed("too_large")
                if time.monotonic() > deadline:
                    raise CallFailed("timeout")
    except httpx2.TimeoutException:
        raise CallFailed("timeout") from None
    except httpx2.RequestError:
        raise CallFailed("connection") from None
    return httpx2.Response(response.status_code, headers=response.headers, content=bytes(body))


def _status_failure(response: httpx2.Response) -> CallFailed:
    status = response.status_code
    if status == 402 or _error_code(response.text) == "insufficient_quota":
        return CallFailed("quota")
    if status == 429:
        return CallFailed("rate_limit", wait=_retry_after(response.headers))
    if status in (408, 425) or status >= 500:
        code = "timeout" if status == 408 else "server_error"
        return CallFailed(code, wait=_retry_after(response.headers))
    final = {401: "key", 403: "key", 404: "not_found"}
    return CallFailed("redirect" if status < 400 else final.get(status, "refused"))


def _error_code(raw: str) -> str | None:
    try:
        return json.loads(raw)["error"]["code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _retry_after(headers: httpx2.Headers) -> float:
    """Seconds of a Retry-After header, as a number or as an HTTP date; 0 where there is none."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0


def _answer(raw: str, headers: httpx2.Headers, endpoint: Endpoint) -> Reply:
    key = endpoint.api_key
    if len(key) >= SHORTEST_TELLING_KEY and (key in raw or key in str(headers.raw)):
        raise CallFailed("echo")
    try:
        payload = json.loads(raw)
        choice = payload["choices"][0]
        text = choice["message"]["content"] or ""
        usage = payload.get("usage") or {}
        return Reply(
            text=records.clean(text),
            model=_short(payload.get("model")),
            request_id=_short(headers.get("x-request-id") or payload.get("id")),
            tokens_in=_count(usage.get("prompt_tokens")),
            tokens_out=_count(usage.get("completion_tokens")),
            finish_reason=_short(choice.get("finish_reason")),
            sources=() if endpoint.web_search is None else _sources(payload, choice["message"]),
            sure=_probability(choice.get("logprobs")),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise CallFailed("unparsable") from None


def _probability(logprobs: object) -> float | None:
    """That of all tokens together, None where they are not told."""
    tokens = _entries(logprobs.get("content")) if isinstance(logprobs, dict) else []
    numbers: list[Any] = [token.get("logprob") for token in tokens if isinstance(token, dict)]
    if not numbers or {type(number) for number in numbers} - {int, float}:
        return None
    return math.exp(min(math.fsum(numbers), 0.0))


def _sources(payload: dict, message: dict) -> tuple[tuple[str, str], ...]:
    """(title, address) of each source that a reply reports, each address once.

    Servers report them as annotations of the message ("url_citation"), as ``search_results`` or as
    ``citations``, addresses alone.
    """
    reported = [
        entry.get("url_citation", entry)
        for entry in _entries(message.get("annotations"))
        if isinstance(entry, dict) and entry.get("type") == "url_citation"
    ]
    for name in ("search_results", "citations"):
        reported += _entries(payload.get(name)) + _entries(message.get(name))
    sources: dict[str, str] = {}
    for entry in reported:
        entry = {"url": entry} if isinstance(entry, str) else entry
        url = _web_address(entry.get("url")) if isinstance(entry, dict) else ""
        if url and len(sources) < MOST_SOURCES:
            sources[url] = sources.get(url) or _short(entry.get("title"))
    return tuple((title, url) for url, title in sources.items())


def _entries(value: object) -> list:
    return value if isinstance(value, list) else []


def _web_address(value: object) -> str:
    """``value`` where it is an address http(s)://host..., else empty."""
    text = records.clean(value).strip() if isinstance(value, str) else ""
    try:
        url = urlsplit(text)
    except ValueError:
        return ""
    fits = url.scheme in ("http", "https") and url.netloc and len(text) <= LONGEST_URL
    return text if fits else ""


def _short(value: object) -> str:
    return records.clean(value)[:200] if isinstance(value, str) else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**31 else 0


def _endpoint(number: int, entry: object) -> Endpoint:
    """The endpoint of one entry of the configuration; EndpointsWrong names the fault."""
    if not isinstance(entry, dict):
        raise EndpointsWrong(f"Endpoint {number} must be a JSON object.")
    where = f"Endpoint {entry.get('name') or number}"
    if entry.get("embedded") is True and "base_url" not in entry:
        raise EndpointsWrong(f"{where}: only `make up` starts the embedded model.")
    values: dict[str, Any] = (EMBEDDED if entry.get("embedded") else {}) | entry
    try:
        return Endpoint(**values)
    except ValidationError as error:
        # Pydantic's sentences name no value: one may be a key.
        fault = error.errors(include_url=False, include_input=False)[0]
        words = fault["msg"].removeprefix("Value error, ")
        raise EndpointsWrong(f"{where}, {fault['loc'][0]}: {words}.") from None


LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@checks.register
def endpoints_can_be_used(app_configs: object, **kwargs: Any) -> list:
    """An error where the configuration is wrong, a warning where a key would travel unencrypted."""
    try:
        configured = all()
    except EndpointsWrong as wrong:
        hint = "Each is an object with name, base_url, model, and mostly api_key."
        return [checks.Error(str(wrong), hint=hint, id="candidates.E001")]
    return [
        checks.Warning(
            f"Endpoint {endpoint.name} would get its key over plain HTTP.",
            hint="Use https://, or a server on this machine.",
            id="candidates.W001",
        )
        for endpoint in configured
        if endpoint.api_key and _is_exposed(endpoint.base_url)
    ]


def _is_exposed(base_url: str) -> bool:
    parts = urlsplit(base_url)
    return parts.scheme == "http" and parts.hostname not in LOOPBACK
