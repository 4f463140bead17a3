"""Files that several machines need: in the data folder, or also in an S3-compatible store.

Without a store (ATTUNE_S3_BUCKET) all machines share one ATTUNE_DATA, and nothing here does
anything. With one, a file's name there is its path below the data folder.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from django.conf import settings
from django.core.files.base import ContentFile, File
from django.core.files.storage import Storage, storages

PIECE = 1 << 20


def object_store() -> Storage | None:
    """The store, where the settings name one."""
    return storages["shared"] if "shared" in settings.STORAGES else None


def put(path: Path) -> bool:
    """Copy a finished file to the store; False where there is none."""
    place = object_store()
    if place:
        _save(place, path, path)
    return place is not None


def opened(path: Path) -> BinaryIO | File:
    """The file for reading, from the store where there is one. Raises FileNotFoundError."""
    place = object_store()
    if place is None:
        return path.open("rb")
    if not place.exists(_name(path)):
        raise FileNotFoundError(path)
    return place.open(_name(path), "rb")


def exists(path: Path) -> bool:
    """Whether the file, or a piece of it, is there."""
    return any(pieces(path)) if object_store() else path.exists()


@contextmanager
def gathered(path: Path) -> Iterator[Path]:
    """``gather`` for as long as the context lasts."""
    yield gather(path)
    if object_store():
        path.unlink(missing_ok=True)


def gather(path: Path) -> Path:
    """Put together at ``path`` the pieces that were written below it by ``put_piece``."""
    if object_store():
        names = list(pieces(path))
        if not names:
            raise FileNotFoundError(path)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("wb") as sink:
            for name in names:
                with opened(name) as source:
                    sink.seek(int(name.name))
                    shutil.copyfileobj(source, sink, PIECE)
    return path


def put_piece(path: Path, offset: int, data: bytes) -> bool:
    """Write one piece of the file at ``path``; False where there is no store.

    Each piece is a file of its own: the next one may reach another machine.
    """
    place = object_store()
    if place:
        place.save(_name(path / _piece(offset)), ContentFile(data))
    return place is not None


def move(path: Path) -> None:
    """Move a file that came whole to the store, as its one piece."""
    if place := object_store():
        _save(place, path, path / _piece(0))
        path.unlink()


def pieces(path: Path) -> Iterator[Path]:
    """The files of the store directly below ``path``, in the order of their names."""
    if place := object_store():
        _folders, names = _listed(place, path)
        yield from (path / name for name in names)


def files(folder: Path) -> Iterator[Path]:
    """Every file below ``folder``: the store's, where there is one."""
    place = object_store()
    if place is None:
        yield from sorted(path for path in folder.rglob("*") if path.is_file())
        return
    waiting = [folder]
    while waiting:
        path = waiting.pop()
        folders, names = _listed(place, path)
        waiting += (path / name for name in folders)
        yield from (path / name for name in names)


def replace(folder: Path, content: Path) -> None:
    """Let the store hold below ``folder`` the files of ``content``, and no others."""
    if place := object_store():
        for path in files(folder):
            place.delete(_name(path))
        for path in sorted(content.rglob("*")):
            if path.is_file():
                _save(place, path, folder / path.relative_to(content))


def remove(path: Path) -> None:
    """Delete a file and its pieces from the store."""
    if place := object_store():
        for name in (path, *pieces(path)):
            place.delete(_name(name))


def append(path: Path, line: str) -> None:
    """Add a line to a list that must outlive the database: on the disk, and in the store."""
    descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    try:
        os.write(descriptor, f"{line}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    put_piece(path, time.time_ns(), line.encode())


def lines(path: Path) -> list[str]:
    """The lines of such a list, each once."""
    here = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    there = []
    for piece in pieces(path):
        with opened(piece) as file:
            there.append(file.read().decode())
    return list(dict.fromkeys([*there, *here]))


def _listed(place: Storage, path: Path) -> tuple[list[str], list[str]]:
    """Names of the folders and of the files directly below ``path``, in order; none without it."""
    try:
        folders, names = place.listdir(_name(path))
    except FileNotFoundError:
        return [], []
    return sorted(folders), sorted(names)


def _save(place: Storage, path: Path, target: Path) -> None:
    with path.open("rb") as file:
        place.save(_name(target), File(file))


def _piece(number: int) -> str:
    return f"{number:020d}"


def _name(path: Path) -> str:
    return path.relative_to(settings.DATA).as_posix()
