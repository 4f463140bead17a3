"""How much of what an endpoint's concurrency allows a worker's pool uses.

A scripted server in a process of its own takes 500 ms a call. The floor is the time in which so
many threads make the same calls over open connections and do nothing else, measured before and
after ours on the same machine; ours is the time in which a pool writes as many answers as rows:
claimed, reserved, called, checked and stored. ``used`` is floor / ours, ``cpu_ms`` and
``floor_cpu_ms`` the processor time a call of this process, ``database_ms`` that of PostgreSQL.
"""

import contextlib
import http.client
import json
import os
import threading
import time
from urllib.parse import urlsplit

from benchmarks import evaluate, stack
from benchmarks.figures import figure

LATENCY = 0.5


def main(answers=256, concurrency=32) -> dict[str, dict]:
    """Let one pool write the answers of a made-up study."""
    evaluate.LATENCY = LATENCY
    with contextlib.ExitStack() as parts:
        address = parts.enter_context(evaluate._server())
        server = {"name": "scripted", "base_url": address, "model": "scripted-1"}
        servers = json.dumps([server | {"concurrency": concurrency}])
        run = parts.enter_context(stack.running(ATTUNE_ENDPOINTS=servers))
        os.environ |= {
            "DATABASE_URL": run.database_url,
            "ATTUNE_DATA": str(run.data),
            "ATTUNE_ENDPOINTS": servers,
        }
        os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
        import django

        django.setup()
        _ask("warm", concurrency)
        _work()
        _ask("tea", answers)
        floors = [_bare(address, answers, concurrency)]
        database = run.cpu_seconds("postgres")
        ours, cpu = _timed(_work)
        database = run.cpu_seconds("postgres") - database
        floors.append(_bare(address, answers, concurrency))
        _check(answers + concurrency)
    floor, floor_cpu = min(floors)
    return figure(
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


def _ask(slug: str, number: int) -> None:
    """A study with so many questions, and an answer asked for to each; nobody is notified."""
    from django.db import transaction

    from annotation.candidates import calls, generate
    from annotation.queries.models import Query
    from annotation.studies.models import Study

    calls.ring = lambda: 0  # the pool begins when the clock does
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
