"""What the judging page costs an annotator: bytes to load it and to go on, and time to see it.

Headless Chromium against a stack of its own. The answers' texts are counted apart: how much of a
compressed page is theirs is found by compressing it again without them. The floor of the time is
the server's own, of the very same requests: what is painted later than its answer is the page's.
"""

import gzip
import json
import re
import shutil
import statistics

from playwright.sync_api import sync_playwright

from benchmarks import stack
from benchmarks.clients import PAGE
from benchmarks.figures import figure

JUDGMENTS = 60
WARM_UP = 5
KILOBYTE = 1024
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
TEXT = re.compile(rb'(<div class="text"[^>]*>).*?(</div>\s*</section>)', re.DOTALL)
# Chooses and submits; tells when the next item was painted.
GO_ON = """() => new Promise((done) => {
  const form = document.querySelector("form.judge");
  const slot = form.elements.slot.value;
  form.querySelector("[name=choice]").checked = true;
  const begin = performance.now();
  document.addEventListener("htmx:afterSwap", () => {
    // Two frames later the first one is on the screen.
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const next = document.querySelector("form.judge").elements.slot.value;
      done({ moved: next !== slot, painted: performance.now() - begin });
    }));
  }, { once: true });
  form.requestSubmit(form.querySelector("button[name=submit]"));
})"""
SHIFTS = """() => {
  window.shifts = 0;
  // What answers a press may move; the judgments here are made without one, so all of theirs count.
  const add = (list) => list.getEntries().filter((one) => !one.hadRecentInput)
    .forEach((one) => { window.shifts += one.value; });
  new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
}"""


class Wire:
    """What the browser receives, by request, as it is on the line."""

    def __init__(self, page) -> None:
        self.session = page.context.new_cdp_session(page)
        self.session.send("Network.enable")
        self.addresses: dict[str, str] = {}
        self.sizes: dict[str, float] = {}
        self.waits: dict[str, float] = {}
        self.session.on("Network.responseReceived", self._begin)
        self.session.on("Network.loadingFinished", self._end)

    def _begin(self, event) -> None:
        answer = event["response"]
        self.addresses[event["requestId"]] = answer["url"]
        timing = answer.get("timing") or {}
        # From the request's last byte to the answer's first: the server's own time.
        self.waits[event["requestId"]] = timing.get("receiveHeadersEnd", 0) - timing.get(
            "sendEnd", 0
        )

    def _end(self, event) -> None:
        self.sizes[event["requestId"]] = event["encodedDataLength"]

    def clear(self) -> None:
        """Forget what was seen."""
        for seen in (self.addresses, self.sizes, self.waits):
            seen.clear()

    @property
    def total(self) -> float:
        """Bytes of all answers, headers too."""
        return sum(self.sizes.values())

    def wait_of(self, ending: str) -> float:
        """Milliseconds that the server took for the last answer of an address."""
        return [self.waits[key] for key, url in self.addresses.items() if url.endswith(ending)][-1]


def texts_of(page: bytes) -> int:
    """How many of the compressed page's bytes are the answers'."""
    return len(gzip.compress(page)) - len(gzip.compress(TEXT.sub(rb"\1\2", page)))


def _log_in(page, person: dict) -> None:
    page.goto("/accounts/login/")
    page.locator("#id_login").fill(person["email"])
    page.locator("#id_password").fill(person["password"])
    page.locator("main").get_by_role("button", name="Log in", exact=True).click()
    page.wait_for_url("**/")


def _first_load(page, wire: Wire) -> float:
    """Kilobytes of a first visit, without the answers' texts; the tour is closed."""
    wire.session.send("Network.clearBrowserCache")
    wire.clear()
    answer = page.goto(PAGE)
    page.wait_for_load_state("networkidle")
    page.locator("#tour form").wait_for()
    loaded = wire.total - texts_of(answer.body())
    for name in ("Next", "Next", "Start judging"):
        page.locator("#tour").get_by_role("button", name=name).click()
    page.wait_for_load_state("networkidle")
    return loaded / KILOBYTE


def _turns(page, wire: Wire, count: int) -> tuple[list[dict], list[float]]:
    """Judge `count` items; times of each in milliseconds, and kilobytes without texts."""
    times, moved = [], []
    for _ in range(count):
        wire.clear()
        with page.expect_response(lambda answer: answer.url.endswith(PAGE)) as waiting:
            turn = page.evaluate(GO_ON)
        assert turn["moved"], turn
        body = waiting.value.body()
        page.wait_for_timeout(50)
        moved.append((wire.total - texts_of(body)) / KILOBYTE)
        times.append(turn | {"server": wire.wait_of(PAGE)})
    return times, moved


def main(judgments: int = JUDGMENTS) -> dict[str, dict]:
    """Sizes against their targets in kilobytes, and the time to the next item's paint."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with stack.running() as site, sync_playwright() as playwright:
        made = site.run(
            "benchmarks.seed", "--items", judgments + WARM_UP + 5, "--overlap", 9, "--people", 1
        )
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_context(
            base_url=f"http://127.0.0.1:{site.port}", viewport={"width": 1440, "height": 900}
        ).new_page()
        wire = Wire(page)
        _log_in(page, made["people"][0])
        first = _first_load(page, wire)
        page.evaluate(SHIFTS)
        _turns(page, wire, WARM_UP)
        times, moved = _turns(page, wire, judgments)
        shifts = page.evaluate("window.shifts")
        browser.close()
    assert shifts == 0, f"the layout shifted by {shifts}"
    painted = statistics.median(load["painted"] for load in times)
    server = statistics.median(load["server"] for load in times)
    figures = figure("page_first_load", first, 60, "KB")
    figures |= figure("page_submit_and_next", max(moved), 6, "KB", median=statistics.median(moved))
    return figures | figure(
        "page_next_painted", painted, 1.5 * server + 50, "ms", server_ms=server, shift=shifts
    )


if __name__ == "__main__":
    print(json.dumps(main()))
