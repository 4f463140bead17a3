"""A chat-completions server on loopback whose answers are a function of the request.

Its latency, failures and garbage are chosen, and it counts what it was asked and how many requests
ran at once.
"""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TEXT = "A calm answer."


@dataclass(frozen=True)
class Failure:
    """An answer that is none: an HTTP ``status`` with ``body``, or a connection that breaks.

    ``wait`` is sent as Retry-After (seconds). Without a body an error object is sent.
    """

    status: int = 500
    body: bytes | None = None
    wait: float | None = None
    broken: bool = False
    headers: dict = field(default_factory=dict)

    def content(self) -> bytes:
        error = {"error": {"message": f"scripted {self.status}", "code": None}}
        return json.dumps(error).encode() if self.body is None else self.body


RATE_LIMIT = Failure(429)
NO_CREDIT = Failure(402)
SERVER_ERROR = Failure(503)
BAD_KEY = Failure(401)
GARBAGE = Failure(200, b"<html>no completion</html>")
BROKEN = Failure(broken=True)


def completion(text: str, tokens: tuple[int, int], model: str, id: str, **message) -> dict:
    """A chat completion as servers send it."""
    read, written = tokens
    said = {"role": "assistant", "content": text, **message}
    return {
        "id": id,
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": said}],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        },
    }


def prompt_of(request: dict) -> str:
    """All text of a request's messages, in order."""
    return "\n".join(message["content"] for message in request["messages"])


def example_of(schema: dict):
    """The smallest value that fits a JSON schema: first of an enum, empty texts, no list items."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("type") == "object":
        return {name: example_of(part) for name, part in schema.get("properties", {}).items()}
    plain = {"array": [], "integer": schema.get("minimum", 0), "boolean": False, "null": None}
    return plain.get(schema.get("type"), schema.get("minimum", 0.0)
                     if schema.get("type") == "number" else "")  # fmt: skip


class ScriptedEndpoint:
    """Serves POST /v1/chat/completions and GET /v1/models; use it as a context manager.

    ``answer`` gets a request's body and its number from 0 on and returns the text of the completion
    or a Failure; the default fits the request's ``response_format`` where it names a schema.
    ``latency`` is seconds a request takes at least. With ``schemas=False`` a request with a
    response_format is refused with status 400, as older servers do. ``sources``, (title, address)
    each, are reported where a request has ``web_search_options``.
    """

    def __init__(
        self,
        answer: Callable[[dict, int], str | Failure] | None = None,
        *,
        latency: float = 0.0,
        schemas: bool = True,
        model: str = "scripted-1",
        tokens: tuple[int, int] = (7, 5),
        sources: list[tuple[str, str]] = (),
        port: int = 0,
    ):
        self.answer = answer or _default
        self.latency, self.schemas, self.model, self.tokens = latency, schemas, model, tokens
        self.sources = sources
        self.requests: list[dict] = []
        self.running = self.most_at_once = 0
        self.lock = threading.Lock()
        self.server = _Server(("127.0.0.1", port), _handler(self))
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    @property
    def calls(self) -> int:
        """How many completions were asked for."""
        return len(self.requests)

    def config(self, **more) -> dict:
        """An entry of ATTUNE_ENDPOINTS that leads here."""
        return {"name": "scripted", "base_url": self.url, "model": self.model, **more}

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def post(self, handler: BaseHTTPRequestHandler, raw: bytes) -> None:
        """Answer one request for a completion."""
        handler.send(self.respond(json.loads(raw)))

    def respond(self, request: dict) -> Failure:
        """What to send for one request, after the latency."""
        begin = time.monotonic()
        with self.lock:
            number = len(self.requests)
            self.requests.append(request)
            self.running += 1
            self.most_at_once = max(self.most_at_once, self.running)
        try:
            if request.get("response_format") and not self.schemas:
                return Failure(400)
            made = self.answer(request, number)
            time.sleep(max(0.0, begin + self.latency - time.monotonic()))
        finally:
            with self.lock:
                self.running -= 1
        return (
            made
            if isinstance(made, Failure)
            else Failure(200, self._completion(request, made, number))
        )

    def _completion(self, request: dict, text: str, number: int) -> bytes:
        more = {}
        if "web_search_options" in request:
            more["annotations"] = [
                {"type": "url_citation", "url_citation": {"title": title, "url": url}}
                for title, url in self.sources
            ]
        body = completion(text, self.tokens, self.model, f"scripted-{number}", **more)
        return json.dumps(body).encode()


def _default(request: dict, number: int) -> str:
    wanted = request.get("response_format") or {}
    if schema := wanted.get("json_schema", {}).get("schema"):
        return json.dumps(example_of(schema))
    return "{}" if wanted.get("type") == "json_object" else TEXT


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def _handler(endpoint: ScriptedEndpoint):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Header and body leave as they are written: no wait for the client's acknowledgement.
        disable_nagle_algorithm = True

        def do_GET(self):
            body = {"object": "list", "data": [{"id": endpoint.model, "object": "model"}]}
            good = self.path == "/v1/models"
            self.send(Failure(200, json.dumps(body).encode()) if good else Failure(404))

        def do_POST(self):
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path != "/v1/chat/completions":
                self.send(Failure(404))
                return
            try:
                endpoint.post(self, raw)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client had enough

        def send(self, reply: Failure):
            if reply.broken:
                self.close_connection = True
                return
            content = reply.content()
            self.send_response(reply.status)
            for name, value in ({"Content-Type": "application/json"} | reply.headers).items():
                self.send_header(name, value)
            if reply.wait is not None:
                self.send_header("Retry-After", f"{reply.wait:g}")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args):
            pass

    return Handler
