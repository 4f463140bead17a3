"""Loaded by pytest before Django's settings (pyproject.toml, addopts): starts the services.

The run's first process starts them; the workers of pytest-xdist inherit the environment.
"""

import os

from tests import services

if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ.update(services.start_for_tests())


def pytest_unconfigure(config):
    if "PYTEST_XDIST_WORKER" not in os.environ:
        services.stop()
