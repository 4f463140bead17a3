"""Nine people judge over HTTP, submit and next in one request, in a small and in a large study.

Both studies have a stack of their own, as `manage.py up` starts it. The floor is a page of the
same server that only loads the session and the user. Short rounds alternate, so that whatever else
the machine does meets all of them alike.
"""

import argparse
import contextlib
import itertools
import random
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from benchmarks import stack
from benchmarks.clients import Browser, seconds_of

OVERLAP = 9
ROUND = 150
WARM_UP = 45
SERVER = ("web", "postgres", "redis")


@dataclass
class Tally:
    """What one kind of request took: seconds of each, of the rounds, and of each part's CPU."""

    each: list[float] = field(default_factory=list)
    wall: float = 0
    cpu: dict[str, float] = field(default_factory=lambda: dict.fromkeys(SERVER, 0.0))

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.each) / self.wall

    def more(self) -> dict[str, float]:
        """Percentiles and CPU, in milliseconds a request."""
        cuts = statistics.quantiles(self.each, n=20)
        cpu = {f"{part}_cpu_ms": used * 1e3 / len(self.each) for part, used in self.cpu.items()}
        more = {"p50_ms": cuts[9] * 1e3, "p95_ms": cuts[18] * 1e3, "cpu_ms": sum(cpu.values())}
        return more | cpu


class Site:
    """One stack with `items` open for judging, and its signed-in people."""

    def __init__(self, running: stack.Stack, items: int, people: int) -> None:
        self.stack = running
        self.items = items
        queries = items // 10 if items >= 20_000 else items
        made = running.run(
            "benchmarks.seed",
            *("--items", items, "--overlap", OVERLAP, "--people", people, "--queries", queries),
        )
        # Bulk loading leaves dirty pages: a restart writes them now, not during the measurement.
        running.stop()
        running.start()
        self.browsers = [Browser(running.port, person) for person in made["people"]]
        self.judging, self.floor, self.opening = Tally(), Tally(), Tally()
        for browser in self.browsers:
            assert browser.open() == 200

    def round(self, count: int, act, tally: Tally) -> None:
        """Let people `act` so many times: `judge`, open the page, or `touch` the floor."""
        turns = iter(range(count))

        def work(browser):
            return [seconds_of(lambda: act(browser)) for _ in turns]

        before, begin = self._cpu(), time.perf_counter()
        with ThreadPoolExecutor(len(self.browsers)) as pool:
            tally.each += itertools.chain.from_iterable(pool.map(work, self.browsers))
        tally.wall += time.perf_counter() - begin
        tally.cpu = {
            part: tally.cpu[part] + now - before[part] for part, now in self._cpu().items()
        }

    def _cpu(self) -> dict[str, float]:
        return {part: self.stack.cpu_seconds(part) for part in SERVER}


def judge(browser: Browser) -> None:
    item = browser.shown()
    choice = random.choice(item["options"])
    fields = {"slot": item["slot"], "key": item["key"], "choice": choice, "seconds": "12.5"}
    status = browser.submit(fields | {"reason": "", "submit": "1"})
    assert status == 200, f"status {status}"


def open_page(browser: Browser) -> None:
    assert browser.open() == 200


def touch(browser: Browser) -> None:
    status, body = browser.send("GET", "/floor/")
    assert (status, len(body) > 150) == (200, True), f"status {status}"


def main(small=2_000, large=200_000, judgments=1_500, people=9) -> dict[str, dict]:
    """Measure both sizes with `judgments` each; judgments a second against the floor's requests."""
    figures = {}
    with contextlib.ExitStack() as ends:
        sites = [
            Site(ends.enter_context(stack.running()), items, people) for items in (small, large)
        ]
        for site in sites:
            site.round(WARM_UP, touch, Tally())
            site.round(WARM_UP, judge, Tally())
        for _ in range(judgments // ROUND):
            for site in sites:
                site.round(ROUND, touch, site.floor)
                site.round(ROUND, judge, site.judging)
                site.round(ROUND // 3, open_page, site.opening)
        for site in sites:
            ours, floor = site.judging, site.floor
            figures |= stack.figure(
                f"judge_loop_{site.items}", ours.rate, floor.rate, "/s", **ours.more(),
                floor_cpu_ms=floor.more()["cpu_ms"], opening_cpu_ms=site.opening.more()["cpu_ms"],
            )  # fmt: skip
    first, second = (site.judging.rate for site in sites)
    return figures | stack.figure("judge_loop_growth", second, first, "/s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judge_loop", description=__doc__)
    for name, default in (("small", 2_000), ("large", 200_000), ("judgments", 1_500)):
        parser.add_argument(f"--{name}", type=int, default=default)
    main(**vars(parser.parse_args()))
