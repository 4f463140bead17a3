"""An upgrade under load: people judge with the version before while this one's migrations run.

`python -m benchmarks.upgrade [--judgments N] [--since COMMIT]` checks out the commit before the
newest migration, starts it, fills it with N judgments and lets nine people judge in it: before the
migrations, while they run, and afterwards, so that the old web server works on the new schema. It
prints the figures and ends with 1 where an answer was refused or an acknowledged judgment is lost.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import stack
from benchmarks.clients import Browser

OVERLAP = 9
# Items beyond those that are judged at the start: more than the people get through.
OPEN_ITEMS = 2_000
# Seconds of load before the migrations and after them.
BEFORE, AFTER = 10, 30
# What else the version before reads of the new schema, every so many judgments.
PAGES = ("/", "/studies/bench/mine/", "/studies/bench/guideline/")
EVERY = 20
# A squashed migration changes nothing in a database that has run those it replaces.
MIGRATIONS = ("annotation/*/migrations/0*.py", ":!annotation/*/migrations/*_squashed_*")
STORED = "SELECT slot_id::text FROM judging_judgment WHERE slot_id = ANY(%s)"


@dataclass
class Load:
    """What the people's browsers got: seconds of each submit with its end, statuses, slots."""

    submits: list[tuple[float, float]] = field(default_factory=list)
    statuses: Counter = field(default_factory=Counter)
    acknowledged: list[str] = field(default_factory=list)

    def longest(self, begin: float, end: float) -> float:
        """Milliseconds of the longest submit that ended between two times (time.monotonic)."""
        return max((taken for at, taken in self.submits if begin <= at <= end), default=0) * 1e3


def _git(*words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=stack.REPOSITORY, stdout=subprocess.PIPE, check=True, text=True
    )
    return done.stdout.strip()


def before_newest_migration() -> str:
    """The commit before the one that added the newest migration."""
    return _git("log", "--diff-filter=A", "--format=%H^", "-1", "--", *MIGRATIONS)


@contextlib.contextmanager
def version(commit: str) -> Iterator[Path]:
    """A folder with the files of `commit`, as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="attune-before-") as name:
        tree = Path(name) / "tree"
        _git("worktree", "add", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _judge(browser: Browser, load: Load, end: threading.Event) -> None:
    load.statuses[browser.open()] += 1
    while not end.is_set():
        shown = browser.shown()
        if shown is None:
            load.statuses[browser.open()] += 1
            continue
        fields = {"slot": shown["slot"], "key": shown["key"], "choice": shown["options"][0]}
        begin = time.monotonic()
        status = browser.submit(fields | {"seconds": "5"})
        load.submits.append((time.monotonic(), time.monotonic() - begin))
        load.statuses[status] += 1
        if status == 200:
            load.acknowledged.append(shown["slot"])
        else:
            browser.open()
        if len(load.acknowledged) % EVERY == 0:
            for page in PAGES:
                load.statuses[browser.send("GET", page)[0]] += 1


def _migrate(site: stack.Stack) -> tuple[float, float, list[str]]:
    """Run this version's migrations in `site`: begin, end, and the names of those that ran."""
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--no-color"],
        cwd=stack.REPOSITORY,
        env=site.environment,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    names = [words[1].rstrip(".") for words in lines if words[:1] == ["Applying"]]
    return begin, time.monotonic(), names


def under_load(site: stack.Stack, people: list[dict]) -> tuple[Load, float, float, list[str]]:
    """Let `people` judge in `site`, and run the migrations meanwhile."""
    load, end = Load(), threading.Event()
    browsers = [Browser(site.port, person) for person in people]
    for browser in browsers:
        browser.login()
    threads = [threading.Thread(target=_judge, args=(browser, load, end)) for browser in browsers]
    for thread in threads:
        thread.start()
    try:
        time.sleep(BEFORE)
        migrated = _migrate(site)
        time.sleep(AFTER)
    finally:
        end.set()
        for thread in threads:
            thread.join()
    return load, *migrated


def main(judgments: int, since: str) -> dict:
    """The figures; times in milliseconds."""
    judged = judgments // OVERLAP
    with version(since) as tree, stack.running(tree=tree) as site:
        sizes = ("--items", judged + OPEN_ITEMS, "--items-judged", judged, "--overlap", OVERLAP)
        made = site.run("benchmarks.growth", *sizes)
        load, begin, end, names = under_load(site, made["people"])
        with site.connect() as database:
            stored = database.execute(STORED, [load.acknowledged]).fetchall()
    first = load.submits[0][0]
    return {
        "judgments": judged * OVERLAP,
        "migrations": names,
        "migrations_ms": (end - begin) * 1e3,
        "acknowledged": len(load.acknowledged),
        "lost": len(set(load.acknowledged) - {row[0] for row in stored}),
        "refused": sum(n for status, n in load.statuses.items() if status != 200),
        "longest_before_ms": load.longest(first, begin),
        "longest_meanwhile_ms": load.longest(begin, end),
        "longest_after_ms": load.longest(end, time.monotonic()),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.upgrade", description=__doc__)
    parser.add_argument("--judgments", type=int, default=1_000_000)
    parser.add_argument("--since", help="a commit; else the one before the newest migration")
    chosen = parser.parse_args()
    figures = main(chosen.judgments, chosen.since or before_newest_migration())
    print(json.dumps(figures))
    passed = figures["migrations"] and figures["acknowledged"]
    sys.exit(0 if passed and not figures["lost"] and not figures["refused"] else 1)
