"""Items of two answers from a CSV into a study: time and peak memory of `imports`.

The floor is one pass of Python's csv reader over the same file, and COPY of the same rows (the
queries, answers, items, options and slots that ours made) into tables with the same columns and
indexes. Ours runs in a process of its own, which tells its peak memory, and then fetches pages of
the table of these items: `items_page` is the processor time of the slowest one, beside the most
that it should take.
`python -m benchmarks.import_data 20000` takes 20,000 items instead of 200,000.
"""

import csv
import json
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from benchmarks import results, stack
from benchmarks.seed import WORDS, setup_django

ITEMS = 200_000
PAGE_MS = 300
WORDS = (*WORDS.split(), "녹차", "grün", "茶")
TABLES = ("queries_query", "candidates_candidate", "judging_item", "judging_itemoption",
          "judging_slot")  # fmt: skip


def main(items: int = ITEMS) -> dict[str, dict]:
    """Seconds of ours and of the floor, `peak_mb` of ours; milliseconds of a page of the items.

    AssertionError where the study does not hold what the file has.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.csv"
        _generate(path, items)
        with stack.running() as attune:
            ours = attune.run("benchmarks.import_data", "--child", str(path))
            assert ours["items"] == items, ours
            floor = _floor(attune.database_url, path, Path(folder))
    more = {"peak_mb": ours["peak_mb"], "items": items}
    page = stack.figure("items_page", ours["page_ms"], PAGE_MS, "ms", items=items)
    return page | stack.figure("import", ours["seconds"], floor, "s", **more)


def _generate(path: Path, items: int) -> None:
    dice = random.Random(1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "prompt", "answer_a", "answer_b", "model_a", "model_b"))
        for number in range(items):
            answers = (" ".join(dice.choices(WORDS, k=100)) for _ in range(2))
            question = " ".join(dice.choices(WORDS, k=20))
            writer.writerow((f"i{number}", f"{question} {number}?", *answers, "one", "two"))


def _child(path: str) -> dict:
    """Import the file into a new study."""
    setup_django()
    from annotation.imports import bring, tables
    from annotation.studies.models import Study

    study = Study.objects.create(slug="bench-import", title="Bench")
    begin = time.perf_counter()
    with tables.opened(Path(path)) as table:
        brought = bring.bring(study, table, bring.mapping_for(table, {}))
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    more = {"items": brought.counts["items"], "page_ms": _slowest_page(study)}
    return {"seconds": seconds, "peak_mb": peak, **more}


def _slowest_page(study) -> float:
    """Milliseconds of the slowest page of the table of items, each fetched for the second time."""
    from django.db import connection
    from django.test import Client

    from annotation.core.pages import key_of
    from annotation.overview.items import LIST, of_work

    items = of_work(study).order_by(*LIST.orders[""])
    middle = key_of(items[items.count() // 2], LIST.orders[""])
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(results.curator(study))
    connection.ensure_connection()
    times = []
    for asked in ("", f"?after={middle}", "?sort=newest", "?sort=least&votes=none", "?q=199"):
        address = f"/studies/{study.slug}/items/{asked}"
        assert client.get(address).status_code == 200, address
        times.append(results.spent(lambda address=address: client.get(address))[0])
    return max(times)


def _floor(url: str, path: Path, folder: Path) -> float:
    with psycopg.connect(url) as connection:
        cursor = connection.cursor()
        for name in TABLES:
            source = f"COPY {name} TO STDOUT"
            with (folder / name).open("wb") as file, cursor.copy(source) as copy:
                file.writelines(copy)
            cursor.execute(f"CREATE TABLE bench_{name} (LIKE {name} INCLUDING ALL)")
        connection.commit()
        begin = time.perf_counter()
        with path.open(newline="") as file:
            for _row in csv.reader(file):
                pass
        for name in TABLES:
            target = f"COPY bench_{name} FROM STDIN"
            with (folder / name).open("rb") as file, cursor.copy(target) as copy:
                while block := file.read(1 << 20):
                    copy.write(block)
        connection.commit()
        return time.perf_counter() - begin


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(_child(sys.argv[2])))
    else:
        main(*map(int, sys.argv[1:]))
