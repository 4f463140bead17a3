"""Where releases lie, and how a folder appears whole or not at all."""

import os
import shutil
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

from django.conf import settings

from annotation.core import sharing
from annotation.core.errors import DomainError

# Part of every zip entry, so that the same release gives the same bytes.
EPOCH = (1980, 1, 1, 0, 0, 0)

Written = TypeVar("Written")


class Release(Protocol):
    """What a folder's place depends on: number, try, and the study's name in ``frozen``."""

    version: int
    revision: int
    attempts: int
    frozen: dict[str, Any]


def number_of(version: int, revision: int) -> str:
    """A release's number as people write it: "2", or "2.1" once it was revised."""
    return f"{version}.{revision}" if revision else str(version)


def folder_of(release: Release) -> Path:
    """The published folder of a release; it exists once the release is done."""
    return _root(release) / f"v{number_of(release.version, release.revision)}"


def zip_of(release: Release) -> Path:
    return folder_of(release).with_name(f"{folder_of(release).name}.zip")


def present(release: Release) -> Path:
    """The published folder, unpacked from the store's zip where there is a store."""
    folder = folder_of(release)
    if sharing.object_store():
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (
            suppress(FileNotFoundError),  # whoever opens the folder names what is missing
            sharing.opened(zip_of(release)) as file,
            zipfile.ZipFile(file) as packed,
        ):
            place(folder, lambda work: _unpack(packed, work))
    return folder


def _unpack(packed: zipfile.ZipFile, folder: Path) -> None:
    packed.extractall(folder)
    (whole,) = folder.iterdir()  # our own zip: all below one folder of the release's name
    for path in whole.iterdir():
        path.rename(folder / path.name)
    whole.rmdir()


def withdraw(release: Release, revision: int) -> None:
    """Delete what was published as that revision of a release, here and in the store."""
    folder = _root(release) / f"v{number_of(release.version, revision)}"
    packed = folder.with_name(f"{folder.name}.zip")
    delete(packed)
    delete(folder)
    sharing.remove(packed)


def _root(release: Release) -> Path:
    return settings.DATA / "releases" / release.frozen["about"]["slug"]


def publish(
    release: Release, write: Callable[[Path], dict], check_lease: Callable[[], None]
) -> dict:
    """Make folder and zip of ``release`` under other names and rename them when they are whole.

    ``write`` fills a folder, which is new or holds what a killed attempt had written;
    ``check_lease`` raises where another attempt has taken over. Returns what ``write`` returned.
    """
    target = folder_of(release)
    for parent in (settings.DATA / "releases", target.parent):
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    work = _work_folder(release)
    try:
        manifest = write(work / target.name)
        _sync_all(work / target.name)
        zip_folder(work / target.name, work / "zip", f"{target.parent.name}-{target.name}")
        check_lease()
        (work / "zip").replace(zip_of(release))
        delete(target)  # of an attempt that was killed before it had finished
        (work / target.name).rename(target)
        _sync(target.parent)
        if sharing.put(zip_of(release)):
            delete(zip_of(release))
            delete(target)
    except (DomainError, OSError):
        delete(work)
        raise
    # After anything else, a lost database for one, the next attempt takes the folder up.
    delete(work)
    return manifest


def work_of(release: Release) -> Path:
    """The folder in which the release's present attempt writes."""
    target = folder_of(release)
    return target.parent / f".{target.name}-{release.attempts}"


def _work_folder(release: Release) -> Path:
    """``work_of`` the release, made: the last one that a killed attempt left, or new."""
    target, work = folder_of(release), work_of(release)
    older = [path for path in _unfinished(release) if path != work]
    if older and not work.exists():
        older.pop().rename(work)
    (work / target.name).mkdir(parents=True, exist_ok=True)
    for path in [*older, *work.iterdir()]:
        if path != work / target.name:
            delete(path)
    return work


def _unfinished(release: Release) -> list[Path]:
    """The folders of attempts that were killed, the oldest first."""
    target = folder_of(release)
    left = target.parent.glob(f".{target.name}-*")
    return sorted(left, key=lambda path: int(path.name.rpartition("-")[2]))


def delete_unfinished(release: Release) -> None:
    """Delete what killed attempts left of a release."""
    for path in _unfinished(release):
        delete(path)


def place(target: Path, write: Callable[[Path], Written]) -> Written:
    """Let ``write`` fill a folder beside ``target`` and rename it to ``target`` when it is whole.

    A ``target`` that exists is replaced.
    """
    work = target.parent / f".{target.name}.{os.getpid()}.partial"
    delete(work)
    work.mkdir(parents=True)
    try:
        result = write(work)
        _sync_all(work)
        delete(target)
        work.rename(target)
        _sync(target.parent)
    finally:
        delete(work)
    return result


def zip_folder(folder: Path, target: Path, name: str) -> None:
    """Pack ``folder`` as ``target``, its files under ``name``/; the same files, the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo(f"{name}/{path.relative_to(folder).as_posix()}", EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            with path.open("rb") as source, packed.open(entry, "w", force_zip64=True) as sink:
                shutil.copyfileobj(source, sink, 1 << 20)


def delete(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync_all(folder: Path) -> None:
    for inside, _, _ in os.walk(folder):
        _sync(inside)


def _sync(folder: Path | str) -> None:
    """Make the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
