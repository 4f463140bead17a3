"""What a process imports at its start: memory and seconds of every command and every test."""

import json
import os
import subprocess
import sys

import grimp
from django.conf import settings

BEGUN = """
import json, sys
import django
django.setup()
from annotation.judging.management.commands import import_study, open_batch
print(json.dumps(sorted(sys.modules)))
"""
SERVING = (
    BEGUN
    + """
from django.urls import get_resolver
get_resolver().url_patterns
print(json.dumps(sorted(sys.modules)))
"""
)
BEAT = """
import json, sys, annotation.beat
annotation.beat.app.conf.beat_schedule
print(json.dumps(sorted(sys.modules)))
"""


def imported(program: str, folder) -> list[set[str]]:
    """The names of modules that the program prints."""
    environment = {**os.environ, "ATTUNE_DATA": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        check=True,
    )
    return [set(json.loads(line)) for line in done.stdout.splitlines()]


def test_heavy_libraries_are_imported_where_they_are_used(tmp_path):
    ready, pages = imported(SERVING, tmp_path)
    nowhere = {"scipy.stats", "scipy.optimize", "jsonschema", "openai", "wordllama", "xllamacpp"}
    nowhere |= {"scipy.special", "scipy.sparse", "pyarrow", "pypdf"}
    assert pages & nowhere == set()
    late = {"scipy", "numpy", "markdown_it", "celery", "redis"}
    assert ready & (late | {"annotation.histories.redact"}) == set()


def test_beat_needs_neither_models_nor_tasks(tmp_path):
    (modules,) = imported(BEAT, tmp_path)
    assert "annotation.celery" not in modules
    assert [name for name in modules if name.startswith("annotation.judging")] == []


def test_the_contracts_see_every_module():
    """A folder inside a package is passed over unless it has an `__init__.py`, too."""
    seen = grimp.build_graph("annotation", cache_dir=None).modules
    folder = settings.BASE_DIR / "annotation"
    files = [path for path in folder.rglob("*.py") if path.name.count(".") == 1]
    names = {".".join(path.relative_to(folder.parent).with_suffix("").parts) for path in files}
    assert {name.removesuffix(".__init__") for name in names} - seen == set()
