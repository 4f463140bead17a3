"""The version that pages show is the newest one of the changelog."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from annotation.__main__ import main

ROOT = Path(__file__).parents[2]


def test_the_changelog_begins_with_the_version_that_runs():
    changelog = (ROOT / "CHANGELOG.md").read_text()
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\]", changelog, re.MULTILINE)
    assert newest.group(1) == settings.VERSION


def test_a_page_shows_the_version(client, db):
    assert f"Attune {settings.VERSION}" in client.get("/accounts/login/").content.decode()


@pytest.mark.parametrize("word", ["version", "--version"])
def test_the_command_line_says_the_products_version_and_not_djangos(word, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["attune", word])
    # Of the process that runs the tests: less often collected, the memory of others would differ.
    monkeypatch.setattr("gc.set_threshold", lambda *_counts: None)
    main()
    assert capsys.readouterr().out == f"Attune {settings.VERSION}\n"
