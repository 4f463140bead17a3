"""How long ten imports of one study keep another study's release waiting.

The floor is the same release with nothing else to do. Each is asked for as by a page, in a process
of its own, and carried out by the workers of a stack.
"""

import json
import sys
import time
from functools import partial

from benchmarks import stack
from benchmarks.seed import setup_django

IMPORTS, ITEMS, LONGEST_DELAY = 10, 3_000, 20


def main() -> dict[str, dict]:
    """Seconds of the release beside the imports; AssertionError where they delay it too much."""
    with stack.running() as attune:
        begin = partial(attune.run, "benchmarks.fair_work")
        begin("import", "rain", "1")
        floor = begin("release", "rain")
        begin("import", "tea", str(IMPORTS))
        ours = begin("release", "rain")
        assert ours["imports_left"] > IMPORTS / 2, ours
    assert ours["seconds"] - floor["seconds"] <= LONGEST_DELAY, (ours, floor)
    return stack.figure("release_beside_imports", ours["seconds"], floor["seconds"], "s")


def _import(slug: str, count: str) -> dict:
    """Ask for so many imports into a new study; a single one is waited for."""
    from django.core.files.uploadedfile import SimpleUploadedFile

    from annotation.accounts.models import User
    from annotation.imports import run, tasks
    from annotation.imports.bring import Options
    from annotation.imports.models import DataImport
    from annotation.studies.models import Study

    study = Study.objects.create(slug=slug, title=slug)
    person = User.objects.create_user(f"{slug}@example.org")
    columns = {name: [name] for name in ("prompt", "answer_a", "answer_b", "label", "worker")}
    for n in range(int(count)):
        rows = (f"Why {n}-{i}?,yes {i},no {i},A,w{v}\n" for i in range(ITEMS) for v in range(3))
        text = ",".join(columns) + "\n" + "".join(rows)
        row = run.whole(study, person, SimpleUploadedFile("a.csv", text.encode()))
        run.request_import(row, {"columns": columns}, Options())
        tasks.notify(row.pk)
    while count == "1" and DataImport.objects.get(study=study).status != "done":
        time.sleep(0.2)
    return {}


def _release(slug: str) -> dict:
    """Seconds from asking for a release to its end, and how many imports have not ended then."""
    from annotation.datasets import freeze, tasks
    from annotation.imports.models import DataImport
    from annotation.studies.models import Study

    begin = time.perf_counter()
    release = freeze.request_release(Study.objects.get(slug=slug), "long", "", None)
    tasks.notify(release.pk)
    while release.status != "done":
        time.sleep(0.05)
        release.refresh_from_db()
        assert release.status != "failed", release.error
    left = DataImport.objects.exclude(status="done").count()
    return {"seconds": time.perf_counter() - begin, "imports_left": left}


if __name__ == "__main__":
    setup_django()
    print(json.dumps({"import": _import, "release": _release}[sys.argv[1]](*sys.argv[2:])))
