"""Checks a release's folder, by its manifest at first. Needs no database; trusts no file."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq

from annotation.core.errors import DomainError
from annotation.datasets import papers

MANIFEST = "manifest.json"
MANIFEST_LIMIT = 64 * 1024 * 1024
BLOCK = 1 << 20
CACHE = "__pycache__"


def check(folder: Path) -> list[dict]:
    """Return [{"path", "reason"}] of everything that is wrong with a release; [] if nothing is.

    What ``differences`` finds, and what the papers that are known find in such folders.
    """
    faults = [
        {"path": path, "reason": reason}
        for paper in papers.registered().values()
        if paper.faults
        for path, reason in paper.faults(folder)
    ]
    return [*differences(folder), *faults]


def differences(folder: Path) -> list[dict]:
    """Return [{"path", "reason"}] of everything that differs from the manifest; [] if nothing does.

    Files that changed, are missing or were added, and wrong numbers of rows. Raises DomainError
    where there is no folder, or its manifest is none.
    """
    if not folder.is_dir():
        raise DomainError(f"{folder} is not a folder.")
    listed, faults = {}, []
    for number, entry in enumerate(_entries(folder), start=1):
        path = _path(entry, number)
        if path in listed:
            raise DomainError(f"{MANIFEST}: {path} is listed twice.")
        listed[path] = entry
    for path, entry in listed.items():
        if reason := _fault(folder, path, entry):
            faults.append({"path": path, "reason": reason})
    added = _present(folder) - listed.keys() - {MANIFEST}
    faults += [{"path": path, "reason": "is not in the manifest"} for path in added]
    return sorted(faults, key=lambda fault: fault["path"])


def read_manifest(folder: Path) -> dict:
    """Return the folder's manifest; DomainError with a sentence where it cannot be one."""
    path = folder / MANIFEST
    try:
        if path.stat().st_size > MANIFEST_LIMIT:
            raise DomainError(f"{path}: the file is too large for a manifest.")
        manifest = json.loads(path.read_bytes())
    except OSError as error:
        raise DomainError(f"{path}: {(error.strerror or 'unreadable').lower()}.") from error
    except (ValueError, RecursionError) as error:
        raise DomainError(f"{path}: the file is not JSON.") from error
    if not isinstance(manifest, dict):
        raise DomainError(f"{path}: the file is not a manifest.")
    return manifest


def _entries(folder: Path) -> list:
    files = read_manifest(folder).get("files")
    if not isinstance(files, list):
        raise DomainError(f"{folder / MANIFEST}: there is no list of files.")
    return files


def _path(entry: object, number: int) -> str:
    """The entry's path, if it is one inside the folder."""
    path = entry.get("path") if isinstance(entry, dict) else None
    if not isinstance(path, str) or not path or not path.isprintable() or "\\" in path:
        raise DomainError(f"{MANIFEST}: file {number} has no path.")
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or str(parts) != path or path == MANIFEST:
        raise DomainError(f"{MANIFEST}: file {number} is not a path inside the release.")
    return path


def _fault(folder: Path, path: str, entry: dict) -> str:
    """What is wrong with one listed file, or ""."""
    here = folder / path
    if any(
        (folder / parent).is_symlink()
        for parent in [path, *map(str, PurePosixPath(path).parents)][:-1]
    ):
        return "is a link"
    if not here.is_file():
        return "is missing"
    try:
        with here.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if here.stat().st_size != entry.get("bytes") or digest != entry.get("sha256"):
            return "has changed"
        rows = _rows(here)
    except OSError as error:
        return f"cannot be read: {(error.strerror or 'damaged').lower()}"
    except pa.ArrowInvalid:
        return "is not a Parquet file"
    if type(entry.get("rows")) is not int or rows != entry["rows"]:
        return f"has {rows} rows, not as listed"
    return ""


def _rows(path: Path) -> int:
    """Number of rows: lines of JSON, records below a CSV's header, rows of Parquet; else none."""
    if path.suffix == ".jsonl":
        return sum(block.count(b"\n") for block in _blocks(path))
    if path.suffix == ".csv":
        return _csv_records(path) - 1
    if path.suffix == ".parquet":
        return pq.read_metadata(path).num_rows
    return 0


def _csv_records(path: Path) -> int:
    """Line ends outside of quotes: between the quotes of a block, every second piece is outside."""
    records, inside = 0, False
    for block in _blocks(path):
        pieces = block.split(b'"')
        records += sum(piece.count(b"\n") for piece in pieces[inside::2])
        inside ^= len(pieces) % 2 == 0
    return records


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


def _present(folder: Path) -> set[str]:
    paths = set()
    for where, folders, files in os.walk(folder):
        # Python leaves it beside the tasks of harness/ that were run.
        if CACHE in folders:
            folders.remove(CACHE)
        links = [name for name in folders if (Path(where) / name).is_symlink()]
        paths |= {(Path(where) / name).relative_to(folder).as_posix() for name in files + links}
    return paths
