"""What the pages of a study's results cost as its votes grow, and the recomputation behind them.

Studies of more and more judgments, made by SQL, each in a stack of its own. A page is fetched
through the application in this process; its figure is processor time, of this process and of the
database's server process together. The floor of each size is the size before, so that a ratio of 1
means that the page does not grow; `slowest` is the longest statement of the page in milliseconds.
`judgment` is one over HTTP, submit and next, with `slowest` as the longest of them by the clock.
"""

import itertools
import json
import sys
import time
from pathlib import Path

from benchmarks import stack
from benchmarks.clients import Browser, seconds_of
from benchmarks.judge_loop import SERVER, judge
from benchmarks.seed import LOCK, TASK, setup_django

OVERLAP, SIZES = 9, (10_000, 100_000)
# Items that are left to judge, and judgments of them that are measured after as many others.
LEFT, MEASURED = 100, 300


def main(votes: tuple[int, ...] = SIZES) -> dict[str, dict]:
    """Milliseconds of each page at each number of `votes`, beside those at the number before."""
    figures, before = {}, {}
    for count in votes:
        with stack.running() as run:
            items = count // OVERLAP + 1
            # As many answers a question in each size.
            sizes = ("--items", items + LEFT, "--items-judged", items, "--queries", items // 10)
            made = run.run("benchmarks.seed", *sizes, "--overlap", OVERLAP)
            taken = run.run("benchmarks.results", "--child")
            taken["judgment"] = _judgment(run, made["people"])
        for page, (milliseconds, slowest) in taken.items():
            floor = before.get(page, (milliseconds, 0))[0]
            name = f"results_{page}_{count}"
            figures |= stack.figure(name, milliseconds, floor, "ms", slowest=slowest)
        before = taken
    return figures


def _child() -> dict[str, tuple[float, float]]:
    """{page: (milliseconds of the second fetch, its slowest statement's)} of one installation."""
    setup_django()
    from django.db import connection
    from django.test import Client

    from annotation.agreement import recompute
    from annotation.judging.models import Item
    from annotation.studies.models import Study

    study, client = Study.objects.get(), Client(SERVER_NAME="127.0.0.1")
    client.force_login(curator(study))
    connection.ensure_connection()
    (task,) = study.tasks.values_list("name", flat=True)
    while recompute.recompute(study, task) is None:  # the worker of the stack does it just now
        time.sleep(1)
    taken = {"recompute": spent(lambda: recompute.recompute(study, task))}
    taken["digests"] = spent(lambda: recompute.digests(study))
    start = f"/studies/{study.slug}/"
    item = Item.objects.order_by("position").first()
    pages = {
        "study": start,
        "results": f"{start}results/{task}/",
        "item": f"{start}results/{task}/items/{item.pk}/",
        "raters": f"{start}raters/",
        "checks": f"{start}checks/",
    }
    for name, address in pages.items():
        assert client.get(address).status_code == 200, address  # imports and compiles templates
        taken[name] = spent(lambda address=address: client.get(address))
    return taken


def _judgment(run: stack.Stack, people: list[dict]) -> tuple[float, float]:
    """Processor milliseconds of one of MEASURED judgments, and the longest of them by the clock."""
    browsers = [Browser(run.port, person) for person in people]
    assert all(browser.open() == 200 for browser in browsers)
    with run.connect() as connection:  # no recomputation beside it
        connection.execute(LOCK, [TASK])
        _rounds(browsers)
        begin = sum(map(run.cpu_seconds, SERVER))
        times = _rounds(browsers)
        used = sum(map(run.cpu_seconds, SERVER)) - begin
    return used / len(times) * 1e3, max(times) * 1e3


def _rounds(browsers: list[Browser]) -> list[float]:
    """Seconds of each of MEASURED judgments, of everybody in turn."""
    turns = itertools.islice(itertools.cycle(browsers), MEASURED)
    return [seconds_of(lambda browser=browser: judge(browser)) for browser in turns]


def curator(study):
    """Somebody who curates `study`."""
    from annotation.accounts.models import User
    from annotation.studies.models import Membership

    user = User.objects.create_user("curator@bench.example.org", None)
    Membership.objects.create(study=study, user=user, role="curator")
    return user


def spent(call) -> tuple[float, float]:
    """Processor milliseconds of `call`, here and in the database, and its longest statement's."""
    from django.db import connection

    longest = 0.0

    def time_of(execute, *statement):
        nonlocal longest
        begin = server_seconds(connection.connection)
        result = execute(*statement)
        longest = max(longest, server_seconds(connection.connection) - begin)
        return result

    begin = time.process_time() + server_seconds(connection.connection)
    with connection.execute_wrapper(time_of):
        call()
    seconds = time.process_time() + server_seconds(connection.connection) - begin
    return seconds * 1e3, longest * 1e3


def server_seconds(connection) -> float:
    """Processor seconds that the connection's server process has used, to the nanosecond."""
    process = Path(f"/proc/{connection.info.backend_pid}/schedstat")
    return int(process.read_text().split()[0]) / 1e9


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(_child()))
    else:
        main(tuple(map(int, sys.argv[1:])) or SIZES)
