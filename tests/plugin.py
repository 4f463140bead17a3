"""Loaded by pytest before Django's settings (pyproject.toml, addopts): compiles the translations,
and starts the services where a test needs them.

The run's first process starts them; the workers of pytest-xdist inherit the environment, and each
keeps its files in a folder of its own. Tests that open no database and have no mark "services" run
without them.
"""

import gc
import os
import sys
from pathlib import Path

import absl.logging

from annotation.core.made import compile_catalogues
from tests import services

# mlcroissant's absl keeps the stderr of its import, and closes it when Django's logging is
# configured anew: that must be no file of pytest's capture. The process's own it leaves open.
absl.logging.get_absl_handler().python_handler.stream = sys.__stderr__

WORKER = os.environ.get("PYTEST_XDIST_WORKER")

if WORKER is None:
    compile_catalogues()
    os.environ.update(services.announce())
else:
    # Each has a study "tea" with a release 1: their files must not meet.
    data = Path(os.environ["ATTUNE_DATA"]) / WORKER
    data.mkdir(mode=0o700, exist_ok=True)
    os.environ["ATTUNE_DATA"] = str(data)


def pytest_configure(config):
    """Start the services where workers run the tests: they are those who collect them."""
    if WORKER is None and config.getoption("numprocesses", None):
        services.start()


def pytest_unconfigure(config):
    if WORKER is None:
        services.stop()


def pytest_collection():
    gc.disable()


def pytest_collection_finish(session):
    if not session.config.option.collectonly and any(map(_needs_services, session.items)):
        services.start()
    # Let the garbage collector look at what tests make, not at all modules and collected tests:
    # to look through those took it half a second, again and again.
    gc.freeze()
    gc.enable()


def _needs_services(item):
    opened = {"db", "transactional_db"} & set(getattr(item, "fixturenames", ()))
    marked = (item.get_closest_marker(name) for name in ("django_db", "services"))
    return bool(opened) or any(marked)
