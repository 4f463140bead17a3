"""What differs between two releases' folders: rows by their ids, table by table. Pure.

Pseudonyms are fresh in each release, so columns of people and row ids are not compared.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from annotation.core.errors import DomainError
from annotation.datasets import release_files
from annotation.datasets.check import MANIFEST, read_manifest
from annotation.datasets.release_files import Faults

# What names a row, the first that a table has; without any of them its content does.
KEYS = ("item_id", "candidate_id", "attribute_id", "unit_id")
# Of one release alone: names and places of people, and what follows from all votes together.
FRESH = frozenset(("user_id", "user", "worker", "id", "query-id", "posterior", "persona"))
SHOWN = 100


def compare(old: Path, new: Path) -> dict:
    """What differs between two folders: counts of rows by table, and of the manifests.

    A table has "added", "removed", "changed" and "same"; its "ids" name up to 100 rows of each sort
    that have an id. "counts" are those of the manifests that differ, as [old, new]. DomainError
    where a folder is no release.
    """
    manifests = [read_manifest(folder) for folder in (old, new)]
    paths = sorted(_tables(old) | _tables(new))
    tables = {path: _compare(_rows(old, path), _rows(new, path)) for path in paths}
    return {
        "old": _name(manifests[0]),
        "new": _name(manifests[1]),
        "counts": _changed(*(manifest.get("counts", {}) for manifest in manifests)),
        "tables": {path: entry for path, entry in tables.items() if entry},
    }


def _name(manifest: dict) -> str:
    return f"{manifest.get('study')} v{manifest.get('version')} ({manifest.get('layout')})"


def _tables(folder: Path) -> set[str]:
    files = read_manifest(folder).get("files")
    if not isinstance(files, list):
        raise DomainError(f"{folder / MANIFEST}: there is no list of files.")
    paths = {entry.get("path", "") for entry in files if isinstance(entry, dict)}
    ends = tuple(f".{ending}" for ending in release_files.ENDINGS)
    return {release_files.table_of(path) for path in paths if path.endswith(ends)}


def _rows(folder: Path, table: str) -> dict[str, str]:
    """{id or digest: digest} of the rows of a table; several rows of an id are one."""
    digests: dict[str, str] = {}
    for _file, _number, row in release_files.rows(folder, table, Faults()):
        digest = _digest({key: value for key, value in row.items() if key not in FRESH})
        key = next((str(row[name]) for name in KEYS if row.get(name)), f"#{digest}")
        digests[key] = _digest([digests[key], digest]) if key in digests else digest
    return digests


def _digest(value: Any) -> str:
    text = json.dumps(_without_fresh(value), sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _without_fresh(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_fresh(entry) for entry in value]
    if isinstance(value, dict):
        return {key: _without_fresh(inner) for key, inner in value.items() if key not in FRESH}
    return value


def _compare(old: dict, new: dict) -> dict:
    sorts = {
        "added": [key for key in new if key not in old],
        "removed": [key for key in old if key not in new],
        "changed": [key for key in old if key in new and old[key] != new[key]],
    }
    if not any(sorts.values()):
        return {}
    ids = {sort: [key for key in keys if key[0] != "#"][:SHOWN] for sort, keys in sorts.items()}
    counts = {sort: len(keys) for sort, keys in sorts.items()}
    same = len(old) - counts["removed"] - counts["changed"]
    return counts | {"same": same, "ids": {sort: keys for sort, keys in ids.items() if keys}}


def _changed(old: dict, new: dict) -> dict:
    return {
        name: [old.get(name), new.get(name)]
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    }
