"""How much of what an endpoint's concurrency allows a worker's pool uses.

A scripted server in a process of its own takes 500 ms a call. The floor is the time in which so
many threads make the same calls over open connections and do nothing else, measured before and
after ours on the same machine; ours is the time in which a pool writes as many answers as rows:
claimed, reserved, called, checked and stored. ``used`` is floor / ours, ``cpu_ms`` and
``floor_cpu_ms`` the processor time a call of this process, ``database_ms`` that of PostgreSQL.

The installation's own worker is stopped meanwhile. Then people judge over HTTP, a moment's thought
between two judgments, before that worker writes answers, while it does and after it: 95 of 100
judgments are stored within so many milliseconds.
"""

import contextlib
import http.client
import itertools
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from benchmarks import evaluate, stack
from benchmarks.clients import Browser, seconds_of
from benchmarks.figures import figure, setup_django
from benchmarks.judge_loop import judge

LATENCY = 0.5
PEOPLE, THOUGHT, JUDGMENTS = 3, 0.2, 40


def main(answers=256, concurrency=32) -> dict[str, dict]:
    """Let one pool write the answers of a made-up study."""
    evaluate.LATENCY = LATENCY
    with contextlib.ExitStack() as parts:
        address = parts.enter_context(evaluate._server())
        server = {"name": "scripted", "base_url": address, "model": "scripted-1"}
        servers = json.dumps([server | {"concurrency": concurrency}])
        run = parts.enter_context(stack.running(ATTUNE_ENDPOINTS=servers))
        setup_django(
            DATABASE_URL=run.database_url,
            ATTUNE_DATA=str(run.data),
            ATTUNE_ENDPOINTS=servers,
        )
        with _stopped(run):
            _ask("warm", concurrency)
            _work()
            _ask("tea", answers)
            floors = [_bare(address, answers, concurrency)]
            database = run.cpu_seconds("postgres")
            ours, cpu = _timed(_work)
            database = run.cpu_seconds("postgres") - database
            floors.append(_bare(address, answers, concurrency))
            _check(answers + concurrency)
        quiet, busy = _judging(run, 16 * answers)
    floor, floor_cpu = min(floors)
    judging = figure("generation_judging_p95", busy * 1e3, quiet * 1e3, "ms")
    return judging | figure(
        "generation",
        ours,
        floor,
        "s",
        used=floor / ours,
        calls=answers,
        cpu_ms=cpu * 1000 / answers,
        floor_cpu_ms=floor_cpu * 1000 / answers,
        database_ms=database * 1000 / answers,
    )


def _timed(work) -> tuple[float, float]:
    """Seconds that ``work`` takes, and this process's processor seconds in it."""
    begin, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begin, time.process_time() - processor


def _bare(address: str, calls: int, concurrency: int) -> tuple[float, float]:
    """The same number of calls by as many threads that do nothing else."""
    body = json.dumps({"model": "scripted-1", "messages": [{"role": "user", "content": "Walk?"}]})
    url, left = urlsplit(address), iter(range(calls))

    def member():
        server = http.client.HTTPConnection(url.hostname, url.port)
        for _call in left:
            server.request("POST", f"{url.path}/chat/completions", body)
            server.getresponse().read()
        server.close()

    def all_calls():
        threads = [threading.Thread(target=member) for _ in range(concurrency)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return _timed(all_calls)


@contextlib.contextmanager
def _stopped(run: stack.Stack) -> Iterator[None]:
    """Let the installation's own worker do nothing in the block."""
    processes = [run.part("worker"), *run.children("worker")]
    for process in processes:
        process.suspend()
    yield
    for process in processes:
        process.resume()


def _judging(run: stack.Stack, answers: int) -> tuple[float, float]:
    """Seconds within which 95 of 100 judgments are stored: without generation, and during it."""
    items = ("--items", 2_000, "--overlap", PEOPLE, "--people", PEOPLE, "--queries", 200)
    people = run.run("benchmarks.seed", *items)["people"]
    browsers = [Browser(run.port, person) for person in people]
    for browser in browsers:
        browser.login()
        browser.open()
    round_of(browsers)
    quiet = round_of(browsers)
    _ask("rain", answers)
    _wait(lambda rows: rows.filter(status="done").exists())  # the periodic task notifies it
    busy = round_of(browsers)
    if not _rows("rain").filter(status="requested").update(status="cancelled"):
        raise RuntimeError("the answers were written before the judgments were stored")
    _wait(lambda rows: not rows.filter(status="running").exists())
    quiet += round_of(browsers)
    return statistics.quantiles(quiet, n=20)[-1], statistics.quantiles(busy, n=20)[-1]


def _rows(slug: str):
    from annotation.candidates.models import Candidate

    return Candidate.objects.filter(study__slug=slug)


def _wait(ready: Callable) -> None:
    """Wait a minute at most until ``ready`` says so of the answers that people judge beside."""
    end = time.monotonic() + 60
    while not ready(_rows("rain")):
        if time.monotonic() > end:
            raise RuntimeError("the worker does not write, or does not end")
        time.sleep(0.1)


def round_of(browsers: list[Browser], judgments: int = JUDGMENTS) -> list[float]:
    """Seconds of each of everybody's next judgments."""

    def work(browser: Browser) -> list[float]:
        seconds = []
        for _judgment in range(judgments):
            time.sleep(THOUGHT)
            seconds.append(seconds_of(lambda: judge(browser)))
        return seconds

    with ThreadPoolExecutor(len(browsers)) as threads:
        return list(itertools.chain.from_iterable(threads.map(work, browsers)))


def _ask(slug: str, number: int) -> None:
    """A study with so many questions, and an answer asked for to each; nobody is notified."""
    from django.db import transaction

    from annotation.candidates import calls, generate
    from annotation.queries.models import Query
    from annotation.studies.models import Study

    calls.notify_due = lambda: 0  # the pool begins when the clock does
    study = Study.objects.create(slug=slug, title=slug)
    Query.objects.bulk_create(
        Query(study=study, external_id=f"q{n}", text=f"Where shall I walk on day {n}?")
        for n in range(number)
    )
    with transaction.atomic():
        generate.request(study, strategies=["A3"])


def _work() -> None:
    from annotation.candidates import pool

    pool.work()


def _check(number: int) -> None:
    from annotation.candidates.models import Candidate

    done = Candidate.objects.filter(status="done").count()
    if done != number:
        raise RuntimeError(f"{done:,} of {number:,} answers were written")
