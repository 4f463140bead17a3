"""Loaded by pytest before Django's settings (pyproject.toml, addopts): starts the services
and compiles the translations.

The run's first process starts them; the workers of pytest-xdist inherit the environment, and each
keeps its files in a folder of its own.
"""

import gc
import os
from pathlib import Path

from annotation.core.translations import compile_catalogues
from tests import services

WORKER = os.environ.get("PYTEST_XDIST_WORKER")

if WORKER is None:
    compile_catalogues()
    os.environ.update(services.start_for_tests())
else:
    # Each has a study "tea" with a release 1: their files must not meet.
    data = Path(os.environ["ATTUNE_DATA"]) / WORKER
    data.mkdir(mode=0o700, exist_ok=True)
    os.environ["ATTUNE_DATA"] = str(data)


def pytest_unconfigure(config):
    if WORKER is None:
        services.stop()


def pytest_collection():
    gc.disable()


def pytest_collection_finish():
    """Let the garbage collector look at what tests make, not at all modules and collected tests.

    To look through those took it half a second, again and again.
    """
    gc.freeze()
    gc.enable()
