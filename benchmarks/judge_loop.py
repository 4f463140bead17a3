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
from benchmarks.figures import figure

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
        self.acknowledged = 0
        self.judging, self.floor, self.opening = Tally(), Tally(), Tally()
        for browser in self.browsers:
            browser.login()
            assert browser.open() == 200

    def judge(self, count: int, tally: Tally) -> None:
        """One round of `count` judgments."""
        self._round(count, judge, tally)
        self.acknowledged += count

    def touch(self, count: int, tally: Tally) -> None:
        """One round of `count` requests of the floor."""
        self._round(count, touch, tally)

    def open(self, count: int) -> None:
        """Open the judging page `count` times, as a person does who comes back."""
        self._round(count, open_page, self.opening)

    def _round(self, count: int, act, tally: Tally) -> None:
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

    def check(self) -> None:
        """AssertionError unless every judgment is stored once and every counter equals its rows."""
        with self.stack.connect() as database:
            rows, done, slots, desks, most = database.execute(CHECK).fetchone()
            wrong = database.execute(WRONG_ITEMS).fetchone()[0]
        assert rows == done == slots == desks == self.acknowledged, (rows, done, slots, desks)
        assert most <= OVERLAP
        assert wrong == 0, f"{wrong} items whose counters differ from their votes"


CHECK = """
    SELECT (SELECT count(*) FROM judging_judgment), (SELECT sum(done) FROM judging_item),
           (SELECT count(*) FROM judging_slot WHERE status = 'done'),
           (SELECT sum(done) FROM judging_desk), (SELECT max(done) FROM judging_item)"""
WRONG_ITEMS = """
    SELECT count(*) FROM judging_item i
    LEFT JOIN (SELECT s.item_id, count(*) AS n, count(*) FILTER (WHERE v.label = '1') AS first
               FROM judging_answer v JOIN judging_judgment j ON j.id = v.judgment_id
               JOIN judging_slot s ON s.id = j.slot_id
               GROUP BY 1) v ON v.item_id = i.id
    WHERE (i.done, coalesce((i.counts ->> '1')::int, 0), coalesce((i.counts ->> '2')::int, 0))
          IS DISTINCT FROM (coalesce(n, 0), coalesce(first, 0), coalesce(n - first, 0))"""


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
            site.touch(WARM_UP, Tally())
            site.judge(WARM_UP, Tally())
        for _ in range(judgments // ROUND):
            for site in sites:
                site.touch(ROUND, site.floor)
                site.judge(ROUND, site.judging)
                site.open(ROUND // 3)
        for site in sites:
            site.check()
            ours, floor = site.judging, site.floor
            figures |= figure(
                f"judge_loop_{site.items}", ours.rate, floor.rate, "/s", **ours.more(),
                floor_cpu_ms=floor.more()["cpu_ms"], opening_cpu_ms=site.opening.more()["cpu_ms"],
            )  # fmt: skip
    first, second = (site.judging.rate for site in sites)
    return figures | figure("judge_loop_growth", second, first, "/s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judge_loop", description=__doc__)
    for name, default in (("small", 2_000), ("large", 200_000), ("judgments", 1_500)):
        parser.add_argument(f"--{name}", type=int, default=default)
    main(**vars(parser.parse_args()))
