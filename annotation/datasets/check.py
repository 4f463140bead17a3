"""Checks, reviews, compares and signs releases' folders. Needs no database; trusts no file.

Signatures are as minisign writes and verifies them: of manifest.json, which lists the SHA-256 of
every other file. The key is derived from the installation's secret key.
"""

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import httpx2
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

from annotation.core.arrow import pa, pq
from annotation.core.errors import DomainError
from annotation.datasets import papers, release_files
from annotation.datasets.release_files import Faults
from annotation.histories.redact import suggest

MANIFEST, SIGNATURE = "manifest.json", "manifest.json.minisig"
MANIFEST_LIMIT = 64 * 1024 * 1024
BLOCK = 1 << 20
CACHE = "__pycache__"


def check_release(folder: Path, key: str = "") -> list[dict]:
    """Return [{"path", "reason"}] of everything that is wrong with a release; [] if nothing is.

    What ``differences`` finds, what the papers that are known find in such folders, and a signature
    that is not of its manifest, or not of the public ``key``.
    """
    faults = [
        {"path": path, "reason": reason}
        for paper in papers.registered().values()
        if paper.faults
        for path, reason in paper.faults(folder)
    ]
    return [*differences(folder), *faults, *_signed(folder, key)]


def _signed(folder: Path, key: str) -> Iterator[dict]:
    try:
        if signer(folder) != (key or signer(folder)):
            yield {"path": SIGNATURE, "reason": "is not of the key that was named"}
    except DomainError as refusal:
        yield {"path": SIGNATURE, "reason": refusal.sentence}


def differences(folder: Path) -> list[dict]:
    """Return [{"path", "reason"}] of everything that differs from the manifest; [] if nothing does.

    Files that changed, are missing or were added, and wrong numbers of rows. Raises DomainError
    where there is no folder, or its manifest is none.
    """
    if not folder.is_dir():
        raise DomainError(f"{folder} is not a folder.")
    listed = _listed(folder)
    faults = [(path, reason) for path, entry in listed.items()
              if (reason := _fault(folder, path, entry))]  # fmt: skip
    added = _present(folder) - listed.keys() - {MANIFEST, SIGNATURE}
    faults += [(path, "is not in the manifest") for path in added]
    return [{"path": path, "reason": reason} for path, reason in sorted(faults)]


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


def _listed(folder: Path) -> dict[str, dict]:
    """{path: its entry} of the files that the manifest lists; DomainError for a wrong list."""
    files = read_manifest(folder).get("files")
    if not isinstance(files, list):
        raise DomainError(f"{folder / MANIFEST}: there is no list of files.")
    listed: dict[str, dict] = {}
    for number, entry in enumerate(files, start=1):
        if (path := _path(entry, number)) in listed:
            raise DomainError(f"{MANIFEST}: {path} is listed twice.")
        listed[path] = entry
    return listed


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
    entries = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    paths = [path.relative_to(folder) for path in entries]
    # Python leaves its cache beside the tasks of harness/ that were run.
    return {path.as_posix() for path in paths if CACHE not in path.parts}


AROUND = 30
# Read by harnesses: what they hold stands in other tables.
COPIES = "harness/"


def review(folder: Path) -> Iterator[dict]:
    """{"file", "line", "field", "kind", "text", "around"} of each passage, each text once.

    DomainError where the folder is no release.
    """
    seen: set[tuple[str, str]] = set()
    for path in sorted(_listed(folder)):
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


# What names a row, the first that a table has; without any of them its content does.
KEYS = ("item_id", "judgment", "candidate_id", "attribute_id", "unit_id")
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
    names = [f"{m.get('study')} v{m.get('version')} ({m.get('layout')})" for m in manifests]
    paths = sorted(_tables(old) | _tables(new))
    tables = {path: _compare(_row_digests(old, path), _row_digests(new, path)) for path in paths}
    return {
        "old": names[0],
        "new": names[1],
        "counts": _changed(*(manifest.get("counts", {}) for manifest in manifests)),
        "tables": {path: entry for path, entry in tables.items() if entry},
    }


def _tables(folder: Path) -> set[str]:
    ends = tuple(f".{ending}" for ending in release_files.ENDINGS)
    return {release_files.table_of(path) for path in _listed(folder) if path.endswith(ends)}


def _row_digests(folder: Path, table: str) -> dict[str, str]:
    """{id or digest: digest} of the rows of a table; several rows of an id are one."""
    digests: dict[str, str] = {}
    for _file, _number, row in release_files.rows(folder, table, Faults()):
        digest = _digest(row)
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


FEED_SECONDS, FEED_BYTES = 20, 1_000_000


def replaced(folder: Path) -> str:
    """Why and when the release in ``folder`` was written again, as its feed says; "" if it was not.

    Raises DomainError where its manifest names no feed, or that does not answer.
    """
    address = read_manifest(folder).get("feed")
    if not isinstance(address, str) or not address.startswith(("http://", "https://")):
        raise DomainError(f"{folder / MANIFEST} names no feed to ask.")
    digest = hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
    items = _fetched(address).get("items", [])
    entry = next((item for item in items if item.get("id") == digest), None)
    if entry is None:
        return ""
    return f"{entry.get('title', '')} {entry.get('content_text', '')} {entry.get('date_published')}"


def _fetched(address: str) -> dict:
    try:
        with httpx2.stream("GET", address, timeout=FEED_SECONDS, follow_redirects=False) as answer:
            answer.raise_for_status()
            body = b""
            for part in answer.iter_bytes():
                body += part
                if len(body) > FEED_BYTES:
                    raise DomainError(f"{address} answers with too much.")
        document = json.loads(body)
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError) as error:
        raise DomainError(f"{address} does not answer with a feed.") from error
    if not isinstance(document, dict) or not all(
        isinstance(item, dict) for item in document.get("items", [])
    ):
        raise DomainError(f"{address} does not answer with a feed.")
    return document


# --- Signatures -----------------------------------------------------------------------------------


COMMENT, TRUSTED = "untrusted comment: ", "trusted comment: "
SIGNATURE_LIMIT = 4096


def public_key() -> str:
    """This installation's key, as `minisign -P` takes it."""
    key = _own_key().public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    # Eight bytes that mean nothing: by them minisign tells keys apart.
    return base64.b64encode(b"Ed" + hashlib.sha256(key).digest()[:8] + key).decode()


def sign(folder: Path, about: str) -> None:
    """Write the signature of the folder's manifest; ``about`` is a line that is signed, too."""
    key, data = _own_key(), (folder / MANIFEST).read_bytes()
    signature = key.sign(hashlib.blake2b(data).digest())
    comment = f"{about}, key {public_key()}"
    whole = key.sign(signature + comment.encode())
    head = b"ED" + base64.b64decode(public_key())[2:10]
    lines = [
        f"{COMMENT}signature of {MANIFEST} by Attune",
        base64.b64encode(head + signature).decode(),
        f"{TRUSTED}{comment}",
        base64.b64encode(whole).decode(),
    ]
    (folder / SIGNATURE).write_text("\n".join(lines) + "\n", encoding="utf-8")


def signer(folder: Path) -> str:
    """The public key that the folder's signature names and is of; "" where it has no signature.

    DomainError for a signature that is not of this manifest. Whose the key is, nobody but its
    owner can say: compare it with the one that they publish.
    """
    path = folder / SIGNATURE
    if not path.is_file():
        return ""
    wrong = DomainError(f"is not the signature of this {MANIFEST}", code="signature")
    try:
        if path.stat().st_size > SIGNATURE_LIMIT:
            raise wrong
        _untrusted, first, comment, second = path.read_text(encoding="utf-8").splitlines()
        comment = comment.removeprefix(TRUSTED)
        named = comment.rpartition(" key ")[2]
        key, head = base64.b64decode(named, validate=True), base64.b64decode(first, validate=True)
        if key[:2] != b"Ed" or head[:2] != b"ED" or key[2:10] != head[2:10]:
            raise wrong
        public, signature = Ed25519PublicKey.from_public_bytes(key[10:]), head[10:]
        public.verify(signature, hashlib.blake2b((folder / MANIFEST).read_bytes()).digest())
        public.verify(base64.b64decode(second, validate=True), signature + comment.encode())
    except (ValueError, InvalidSignature) as error:
        raise wrong from error
    return named


def _own_key() -> Ed25519PrivateKey:
    derived = HKDF(SHA256(), 32, salt=None, info=b"attune release")
    return Ed25519PrivateKey.from_private_bytes(derived.derive(settings.SECRET_KEY.encode()))
