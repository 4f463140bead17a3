"""Attune's own settings, with the floor's page among the addresses."""

from annotation.settings import *  # noqa: F403

ROOT_URLCONF = "benchmarks.urls"
