"""Private folders: made 0700, checked for their owner, never through a change to a parent."""

import hashlib
import os
import pwd
import secrets
import shutil
import stat
import tempfile
from pathlib import Path

SOCKET_PATH_BYTES = 100  # sun_path holds 104 bytes on macOS and 108 on Linux, with the final NUL.
LONGEST_SOCKET_NAME = ".s.PGSQL.5432"
ENTRIES = {"bench.json", "log", "mail", "postgres", "redis", "run", "secrets", "static"}
# A new cluster takes 60 MB, and its write-ahead log grows before it is reused.
FREE_MEGABYTES = 300


def private_folder(path: Path) -> Path:
    """Make `path`, and what is missing above it, mode 0700; an existing folder must be ours.

    Raises LocalServiceError where another account owns it or can enter it, or it cannot be made.
    """
    if path.exists():
        check_private(path)
        return path
    if not path.parent.exists():
        private_folder(path.parent)
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise LocalServiceError(f"The folder {path} cannot be made: {error.strerror}.") from error
    check_private(path)
    return path


def check_private(path: Path) -> None:
    """Raise LocalServiceError unless `path` is a folder of this account with mode 0700 or less."""
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):
        raise LocalServiceError(f"{path} is not a folder: move it away or set ATTUNE_DATA.")
    if status.st_uid != os.geteuid():
        raise LocalServiceError(
            f"The folder {path} belongs to {_account(status.st_uid)}, not to "
            f"{_account(os.geteuid())}: set ATTUNE_DATA to a folder of your own."
        )
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise LocalServiceError(
            f"The folder {path} is open to other accounts: run `chmod 700 {path}` first."
        )


def data_folder(path: Path) -> Path:
    """Return the resolved data folder, private and writable, with room for the database.

    A folder of ours that holds nothing but Attune's files is closed to others; one that holds
    more is refused instead, because other programs might use it too.
    """
    path = path.expanduser().resolve()
    if path.is_dir() and path.stat().st_uid == os.geteuid() and _holds_only_ours(path):
        path.chmod(0o700)
    private_folder(path)
    try:
        with tempfile.NamedTemporaryFile(dir=path) as probe:
            probe.write(b"\0" * 4096)
    except OSError as error:
        raise LocalServiceError(
            f"The folder {path} cannot be written: {error.strerror}."
        ) from error
    free = shutil.disk_usage(path).free // 2**20
    if free < FREE_MEGABYTES:
        raise LocalServiceError(
            f"The disk that holds {path} is full: {free} MB are free and "
            f"{FREE_MEGABYTES} MB are needed."
        )
    return path


def _holds_only_ours(path: Path) -> bool:
    return all(entry.name in ENTRIES for entry in path.iterdir())


def socket_folder(data: Path) -> Path:
    """Return a private folder whose sockets' paths fit into a socket address.

    That is `data`/run, or where this is too long a folder of ours below the temporary folder.
    """
    short = f"attune-{os.geteuid()}-{path_digest(data)}"
    temporary = (tempfile.gettempdir(), "/tmp")  # noqa: S108 (owner and mode are checked)
    for folder in (data / "run", *(Path(each) / short for each in temporary)):
        if len(os.fsencode(folder / LONGEST_SOCKET_NAME)) < SOCKET_PATH_BYTES:
            return private_folder(folder)
    raise LocalServiceError(
        f"No folder with a path short enough for a socket was found for {data}: set TMPDIR."
    )


def path_digest(path: Path) -> str:
    """Return a short stable name for an absolute path."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def _account(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"account {uid}"


class LocalServiceError(Exception):
    """A service cannot start or keep running; the message is one sentence for the operator."""


def read_or_create(path: Path, nbytes: int = 50) -> str:
    """Return the secret in `path`; where the file is missing, make one of `nbytes` random bytes.

    The file is mode 0600 and appears whole or not at all, so two processes that start at once
    agree on one secret. Missing folders above it are made with mode 0700.

    Raises LocalServiceError where the file is empty, belongs to somebody else, can be read by
    another account or cannot be written.
    """
    private_folder(path.parent)
    try:
        return _read(path)
    except FileNotFoundError:
        _publish(path, secrets.token_urlsafe(nbytes))
        return _read(path)


def write_private(path: Path, text: str) -> None:
    """Replace `path` by `text`, atomically, readable by its owner only."""
    os.replace(_temporary(path, text), path)


def _read(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        status = os.fstat(file.fileno())
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise LocalServiceError(
                f"The secret {path} is open to other accounts: "
                f"it must be owned by this account with mode 0600."
            )
        text = file.read().strip()
    if not text:
        raise LocalServiceError(f"The secret {path} is empty: delete it to have a new one made.")
    return text


def _publish(path: Path, text: str) -> None:
    temporary = _temporary(path, text + "\n")
    try:
        os.link(temporary, path)
    except FileExistsError:
        return  # Another process made it first: its secret is the one.
    finally:
        temporary.unlink()


def _temporary(path: Path, text: str) -> Path:
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:  # mkstemp's mode is 0600
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise LocalServiceError(f"{path} cannot be written: {error.strerror}.") from error
    return Path(name)
