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
import sys

from playwright.sync_api import sync_playwright

from benchmarks import stack
from benchmarks.clients import PAGE
from benchmarks.figures import figure

JUDGMENTS = 60
WARM_UP = 5
# Of a step in the browser, in milliseconds: a loaded machine is slow, which is no fault.
PATIENCE = 180_000
KILOBYTE = 1024
WIDE = {"width": 1440, "height": 900}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
FORMULAS = (
    r"The mean is \(\bar{x} = \frac{1}{n}\sum_{i=1}^{n} x_i\), its error \(\sqrt{s^2 / n}\)."
    "\n\n"
    r"\[f(x) = \frac{1}{\sigma\sqrt{2\pi}} e^{-\frac{(x - \mu)^2}{2\sigma^2}}\]"
    "\n\n"
)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
TEXT = re.compile(rb'(<div class="text"[^>]*>).*?(</div>\s*</section>)', re.DOTALL)
# Shows each answer, as a phone's page asks for, chooses and submits; tells when the next item was
# painted.
GO_ON = """async (patience) => {
  const frame = () => new Promise(requestAnimationFrame);
  const form = document.querySelector("form.judge");
  const slot = form.elements.slot.value;
  for (const pane of form.querySelectorAll(".pane")) {
    pane.scrollIntoView({ block: "nearest", inline: "start", behavior: "instant" });
    await frame();
    await frame();
  }
  while (form.querySelector(".stack button:not(.seen)")) await frame();
  form.querySelector("[name=choice]").checked = true;
  const begin = performance.now();
  const swapped = new Promise((done, refuse) => {
    document.addEventListener("htmx:afterSwap", done, { once: true });
    setTimeout(() => refuse(document.getElementById("trouble").textContent), patience);
  });
  form.requestSubmit(form.querySelector("button[name=submit]"));
  await swapped;
  // Two frames later the first one is on the screen.
  await frame();
  await frame();
  const next = document.querySelector("form.judge").elements.slot.value;
  return { moved: next !== slot, painted: performance.now() - begin };
}"""
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
    tour = page.locator("#tour form")
    tour.wait_for()
    loaded = wire.total - texts_of(answer.body())
    for _step in range(tour.locator("section").count() - 1):
        tour.locator("[data-next]").click()
    tour.locator("[data-done]").click()
    tour.wait_for(state="hidden")
    page.wait_for_load_state("networkidle")
    return loaded / KILOBYTE


def _turns(page, wire: Wire, count: int) -> tuple[list[dict], list[float]]:
    """Judge `count` items; times of each in milliseconds, and kilobytes without texts."""
    times, moved = [], []
    for _ in range(count):
        wire.clear()
        with page.expect_response(lambda answer: answer.url.endswith(PAGE)) as waiting:
            turn = page.evaluate(GO_ON, PATIENCE)
        assert turn["moved"], turn
        body = waiting.value.body()
        page.wait_for_timeout(50)
        moved.append((wire.total - texts_of(body)) / KILOBYTE)
        times.append(turn | {"server": wire.wait_of(PAGE)})
    return times, moved


def _measured(browser, site, person: dict, judgments: int, slowdown: int = 1, **options) -> dict:
    """First load and `judgments` turns of a person in a browser of their own.

    `slowdown` divides the browser's CPU, `options` are those of its context.
    """
    context = browser.new_context(base_url=f"http://127.0.0.1:{site.port}", **options)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    wire = Wire(page)
    _log_in(page, person)
    if slowdown > 1:
        wire.session.send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
    first = _first_load(page, wire)
    page.evaluate(SHIFTS)
    _turns(page, wire, WARM_UP)
    times, moved = _turns(page, wire, judgments)
    shifts = page.evaluate("window.shifts")
    context.close()
    # The metric has three places; a fraction of a pixel comes from rounding widths of text.
    assert round(shifts, 3) == 0, f"the layout shifted by {shifts}"
    return {
        "first": first,
        "moved": moved,
        "painted": statistics.median(turn["painted"] for turn in times),
        "server": statistics.median(turn["server"] for turn in times),
        "shift": shifts,
    }


def _add_formulas(site) -> None:
    """Put a line of mathematics into every answer."""
    with site.connect() as database:
        database.execute("UPDATE candidates_candidate SET text = %s || text", [FORMULAS])


def main(judgments: int = JUDGMENTS) -> dict[str, dict]:
    """Sizes against their targets in kilobytes, and the time to the next item's paint.

    On a desktop, the same with mathematics in every answer, and with it on a phone whose CPU is a
    quarter as fast.
    """
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with stack.running() as site, sync_playwright() as playwright:
        items = judgments + WARM_UP + 5
        made = site.run("benchmarks.seed", "--items", items, "--overlap", 9, "--people", 3)
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        desktop, formulas, phone = made["people"]
        plain = _measured(browser, site, desktop, judgments, viewport=WIDE)
        _add_formulas(site)
        mathematics = _measured(browser, site, formulas, judgments, viewport=WIDE)
        slow = _measured(browser, site, phone, judgments, slowdown=4, **PHONE)
        browser.close()
    figures = {}
    for name, run in (("page", plain), ("page_mathematics", mathematics), ("page_phone", slow)):
        limit = 250 + run["server"] if run is slow else 1.5 * run["server"] + 50
        times = {"server_ms": run["server"], "shift": run["shift"]}
        moved = statistics.median(run["moved"])
        figures |= figure(f"{name}_first_load", run["first"], 60, "KB")
        figures |= figure(f"{name}_submit_and_next", max(run["moved"]), 6, "KB", median=moved)
        figures |= figure(f"{name}_next_painted", run["painted"], limit, "ms", **times)
    return figures


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
