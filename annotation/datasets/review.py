"""Finds what looks like personal data in a release's texts, before it is published."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from annotation.core.errors import DomainError
from annotation.datasets import release_files
from annotation.datasets.check import read_manifest
from annotation.datasets.release_files import Faults
from annotation.histories.redact import suggest

AROUND = 30
# Read by harnesses: what they hold stands in other tables.
COPIES = "harness/"


def review(folder: Path) -> Iterator[dict]:
    """{"file", "line", "field", "kind", "text", "around"} of each passage, each text once.

    DomainError where the folder is no release.
    """
    seen: set[tuple[str, str]] = set()
    files = read_manifest(folder).get("files")
    if not isinstance(files, list):
        raise DomainError(f"{folder / 'manifest.json'}: there is no list of files.")
    for path in sorted(str(entry.get("path")) for entry in files if isinstance(entry, dict)):
        name, _, ending = path.rpartition(".")
        if ending not in release_files.ENDINGS or path.startswith(COPIES):
            continue
        for _file, line, row in release_files.rows(folder, name, Faults()):
            for field, text in _texts(row, ""):
                if (field, text) not in seen:
                    seen.add((field, text))
                    yield from _passages({"file": path, "line": line, "field": field}, text)


def _texts(value: Any, field: str) -> Iterator[tuple[str, str]]:
    """(field, text) of every text inside; names of fields are joined by points."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from _texts(entry, f"{field}.{key}" if field else key)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry, field)


def _passages(place: dict, text: str) -> Iterator[dict]:
    for span in suggest(text):
        around = text[max(0, span.start - AROUND) : span.end + AROUND]
        yield place | {"kind": span.kind, "text": text[span.start : span.end], "around": around}
