"""How much of what an endpoint's concurrency allows a worker's crew uses.

A scripted server in a process of its own takes 500 ms a call. The floor is the time that all calls
take back to back over so many connections, without any work of ours; ours is the time in which a
crew writes as many answers as rows: claimed, reserved, called, checked and stored. ``used`` is
floor / ours, ``cpu_ms`` the worker's processor time a call: on a busy machine it says more.
"""

import contextlib
import json
import math
import os
import time

from benchmarks import evaluate, stack
from benchmarks.figures import figure

LATENCY = 0.5


def main(answers=640, concurrency=32) -> dict[str, dict]:
    """Let one crew write the answers of a made-up study."""
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
        begin, processor = time.perf_counter(), time.process_time()
        _work()
        ours = time.perf_counter() - begin
        cpu_ms = (time.process_time() - processor) * 1000 / answers
        _check(answers + concurrency)
    floor = math.ceil(answers / concurrency) * LATENCY
    return figure("generation", ours, floor, "s", used=floor / ours, calls=answers, cpu_ms=cpu_ms)


def _ask(slug: str, number: int) -> None:
    """A study with so many questions, and an answer asked for to each; nobody is notified."""
    from django.db import transaction

    from annotation.candidates import calls, generate
    from annotation.queries.models import Query
    from annotation.studies.models import Study

    calls.ring = lambda: 0  # the crew begins when the clock does
    study = Study.objects.create(slug=slug, title=slug)
    Query.objects.bulk_create(
        Query(study=study, external_id=f"q{n}", text=f"Where shall I walk on day {n}?")
        for n in range(number)
    )
    with transaction.atomic():
        generate.request(study, strategies=["A3"])


def _work() -> None:
    from annotation.candidates import crew

    crew.work()


def _check(number: int) -> None:
    from annotation.candidates.models import Candidate

    done = Candidate.objects.filter(status="done").count()
    if done != number:
        raise RuntimeError(f"{done:,} of {number:,} answers were written")
