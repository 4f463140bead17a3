"""Many signed-in people who take their time: how long each waits for the next item.

Each thinks `think` seconds on average (evenly spread from half to one and a half of it), submits
and gets the next item in the same request. The floor is the page of session and user, asked for
once by each person at the same pace.
"""

import argparse
import random
import statistics
import threading
import time

from benchmarks import stack
from benchmarks.clients import Browser, seconds_of
from benchmarks.figures import figure
from benchmarks.judge_loop import SERVER, judge, touch

OVERLAP = 9


def main(people: int = 500, think: float = 20, rounds: int = 5) -> dict[str, dict]:
    """The 95th percentile of the waiting times in milliseconds, against the floor's."""
    with stack.running() as run:
        items = people * (rounds + 2) // OVERLAP + people
        words = ("--items", items, "--overlap", OVERLAP, "--people", people)
        made = run.run("benchmarks.seed", *words)
        browsers = [Browser(run.port, person) for person in made["people"]]
        for browser in browsers:  # so many log-ins from one address would be refused
            browser.cookies |= browser.person["cookies"]
            assert browser.open() == 200
        floor = _paced(browsers, think, 1, touch)
        begin = {part: run.cpu_seconds(part) for part in SERVER}
        waits = _paced(browsers, think, rounds, judge)
        used = {part: run.cpu_seconds(part) - begin[part] for part in SERVER}
    cuts, floors = statistics.quantiles(waits, n=20), statistics.quantiles(floor, n=20)
    return figure(
        "crowd_loop", cuts[18] * 1e3, floors[18] * 1e3, "ms", p50_ms=cuts[9] * 1e3,
        cpu_ms=sum(used.values()) / len(waits) * 1e3, people=people, think_s=think,
        **{f"{part}_cpu_ms": seconds / len(waits) * 1e3 for part, seconds in used.items()},
    )  # fmt: skip


def _paced(browsers: list[Browser], think: float, rounds: int, act) -> list[float]:
    """Seconds of each of `rounds` acts of everybody, a thread each, thinking before each act."""
    waits: list[float] = []

    def person(browser: Browser) -> None:
        time.sleep(random.uniform(0, think))  # people do not begin together
        for _ in range(rounds):
            time.sleep(random.uniform(think / 2, think * 1.5))
            waits.append(seconds_of(lambda: act(browser)))

    threads = [threading.Thread(target=person, args=[browser]) for browser in browsers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(waits) == len(browsers) * rounds, "somebody's request failed"
    return waits


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crowd_loop", description=__doc__)
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--think", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    main(**vars(parser.parse_args()))
