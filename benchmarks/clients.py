"""An annotator's browser and program, as cheap as they can be: one kept connection, no parser."""

import http.client
import json
import re
import time
from urllib.parse import urlencode

from benchmarks.seed import SLUG

PAGE = f"/studies/{SLUG}/judge/"
TOKEN = re.compile(rb'name="csrfmiddlewaretoken" value="([^"]+)"')
SLOT = re.compile(rb'name="slot" value="([^"]+)"')
KEY = re.compile(rb'name="key" value="([^"]+)"')
CHOICE = re.compile(rb'name="answer-choice" id="[^"]+"[^>]* value="([^"]+)"')
HTMX = {"Content-Type": "application/x-www-form-urlencoded", "HX-Request": "true"}
TIMEOUT = 30
# The server closes a connection that was idle for two seconds, maybe just while we write to it.
IDLE = 1


class Connection:
    """One kept HTTP connection; a broken one is opened again by the next request."""

    def __init__(self, port: int) -> None:
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        self.cookies: dict[str, str] = {}
        self.used = 0.0

    def send(self, method: str, path: str, body: bytes | str = b"", headers=None):
        """Status and body of the answer; 0 and nothing where none came (refused, cut, too slow)."""
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if time.monotonic() - self.used > IDLE:
            self.http.close()
        try:
            self.http.request(method, path, body, {"Cookie": cookie, **(headers or {})})
            answer = self.http.getresponse()
            for line in answer.headers.get_all("Set-Cookie", ()):
                name, _, value = line.partition(";")[0].partition("=")
                self.cookies[name] = value
            body = answer.read()
            self.used = time.monotonic()
            return answer.status, body
        except (OSError, http.client.HTTPException):
            self.http.close()
            return 0, b""


class Browser(Connection):
    """A signed-in annotator; `page` is the last page or fragment that showed an item."""

    def __init__(self, port: int, person: dict) -> None:
        super().__init__(port)
        self.cookies |= person["cookies"]
        self.page = b""
        self.token = ""

    def open(self) -> int:
        """Fetch the judging page; its status."""
        status, self.page = self.send("GET", PAGE)
        if status == http.client.OK:
            self.token = TOKEN.search(self.page)[1].decode()
        return status

    def shown(self) -> dict | None:
        """The item that the page shows: slot, key and the ids of its answers; None where none."""
        slot = SLOT.search(self.page)
        if slot is None:
            return None
        return {
            "slot": slot[1].decode(),
            "key": KEY.search(self.page)[1].decode(),
            "options": [found.decode() for found in CHOICE.findall(self.page)],
        }

    def submit(self, fields: dict) -> int:
        """Send an answer as htmx does; the next item is the new page. The answer's status."""
        form = urlencode(fields | {"csrfmiddlewaretoken": self.token})
        status, page = self.send("POST", PAGE, form, HTMX)
        if status == http.client.OK:
            self.page = page
        return status


class Program(Connection):
    """The same annotator through the API."""

    def __init__(self, port: int, person: dict) -> None:
        super().__init__(port)
        self.headers = {
            "Authorization": f"Bearer {person['token']}",
            "Content-Type": "application/json",
        }

    def call(self, path: str, body: dict | None = None, **headers: str) -> tuple[int, dict]:
        """Status and JSON of a POST."""
        status, answer = self.send(
            "POST", f"/api/v1/{path}", json.dumps(body or {}), self.headers | headers
        )
        return status, json.loads(answer) if status in (200, 201) else {}


def seconds_of(call) -> float:
    """How long one call took."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin
