"""Loaded by pytest before Django's settings (pyproject.toml, addopts): starts the services
and compiles the translations.

The run's first process starts them; the workers of pytest-xdist inherit the environment.
"""

import os

from annotation.core.translations import compile_catalogues
from tests import services

if "PYTEST_XDIST_WORKER" not in os.environ:
    compile_catalogues()
    os.environ.update(services.start_for_tests())


def pytest_unconfigure(config):
    if "PYTEST_XDIST_WORKER" not in os.environ:
        services.stop()
