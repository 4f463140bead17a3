"""Work at once: two transactions, the second begun before the first is committed; or many calls."""

import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connection, transaction


def at_once(first: Callable, second: Callable) -> tuple[Any, Any]:
    """What both return; ``first`` is committed when ``second`` waits for it, or has ended."""

    def run():
        try:
            return second()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic(), connection.cursor() as cursor:
            returned, running = first(), pool.submit(run)
            blocked = "SELECT FROM pg_locks WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))"
            while not running.done():
                cursor.execute(blocked)
                if cursor.fetchone() is not None:
                    break
                time.sleep(0.01)
        return returned, running.result()


def race(work: Callable, arguments: Collection) -> list:
    """What ``work`` returns for each of ``arguments``, all begun at one moment in threads."""
    start = threading.Barrier(len(arguments))

    def run(argument):
        try:
            start.wait()
            return work(argument)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(run, arguments))
