"""Foreign files: each is read by a process of its own (`main`), within limits.

The process has no database and no secrets, and writes the messages of a reader as lines of JSON, at
last END or a refusal. Workers and commands start it; a web request only for
what is some megabytes long, which it answers for at once (`read`).
"""

import json
import logging
import os
import resource
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, TYPE_CHECKING, Any, cast

from django.apps import apps
from django.conf import settings
from django.utils import translation
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.core import records
from annotation.core.errors import DomainError
from annotation.product import FILES

if TYPE_CHECKING:
    from django.core.files.uploadedfile import UploadedFile

log = logging.getLogger(__name__)
MB = 2**20
# What the smallest file may take: memory, seconds of processor time, and bytes of text.
ROOM, MOMENT, TEXT = 24 * MB, 10, 2 * MB
# And how much of each a file may take for a byte, or a megabyte, of its own.
ROOM_TIMES, SECONDS_A_MB, TEXT_TIMES = 100, 20, 1_000
# Bytes that say where the columns of a Parquet file lie: Arrow makes thirty times as much of them.
FOOTER_LIMIT = 4 * MB
# The last words of the process that reads, and the status with which it ends without them.
END, OUT_OF_MEMORY = "end", 71
# What is logged of the words that a child ended with.
ERRORS = 4_000
HOME = Path(__file__).parents[2]
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}


class ForeignFileError(DomainError):
    """The file cannot be read, or exceeds a limit; a sentence says why."""

    code = "file"


@dataclass(frozen=True)
class Limits:
    """The limits of one file: the settings', or less where the file is small."""

    memory: int
    seconds: int
    cells: int
    columns: int
    cell: int
    unpacked: int
    text: int

    @classmethod
    def of(cls, size: int, room: int = ROOM) -> "Limits":
        """Those of a file of ``size`` bytes, whose smallest may take ``room`` bytes of memory."""
        unpacked = settings.IMPORT_UNPACKED_BYTES
        return cls(
            memory=min(room + ROOM_TIMES * size, settings.IMPORT_MEMORY_BYTES),
            seconds=min(MOMENT + SECONDS_A_MB * size // MB, settings.IMPORT_SECONDS),
            cells=settings.IMPORT_CELLS,
            columns=settings.IMPORT_COLUMNS,
            cell=settings.IMPORT_CELL_LENGTH,
            unpacked=unpacked,
            text=min(TEXT + TEXT_TIMES * size, unpacked),
        )


def too_large(sentence: str, limit: int) -> ForeignFileError:
    """The refusal of a file beyond ``limit``."""
    return ForeignFileError(sentence % {"n": f"{limit:,}"}, code="file_limit")


def zip_directory(file: IO[bytes]) -> int:
    """Bytes of a zip's table of contents: zipfile reads all of it, and makes an object an entry."""
    end = zipfile._EndRecData(file)  # type: ignore[attr-defined] # not public
    return end[zipfile._ECD_SIZE] if end else 0  # type: ignore[attr-defined]


def check_footer(path: Path) -> None:
    """Refuse a Parquet file whose description of its columns is too long."""
    with path.open("rb") as file:
        file.seek(-8, os.SEEK_END)
        end = file.read()
    if end[4:] == b"PAR1" and int.from_bytes(end[:4], "little") > FOOTER_LIMIT:
        sentence = _(
            "The Parquet file describes its columns and row groups in more than %(n)s MB, "
            "the limit."
        )
        raise too_large(sentence, FOOTER_LIMIT // MB)


# Out of memory, by itself or by a library's or the kernel's hand; out of time.
_OUT_OF_MEMORY = {OUT_OF_MEMORY, -signal.SIGABRT, -signal.SIGKILL}
_ENDS = {*_OUT_OF_MEMORY, -signal.SIGXCPU}


def command(reader: str, path: Path, scratch: Path, limits: Limits) -> list[str]:
    """What starts the process in which ``reader`` reads the file ``path``."""
    words = [reader, str(path.absolute()), str(scratch), json.dumps(asdict(limits))]
    return [sys.executable, "-m", "annotation.core.foreign", *words, get_language() or "en"]


def read_foreign(reader: str, path: Path, scratch: Path, room: int = ROOM) -> Generator[Any]:
    """What ``reader`` says of the file ``path``, message by message, to its end.

    ``reader`` is "module:function" of a function (path, folder, limits) whose messages are JSON,
    or bytes of one line of it, or "module:function:WORD", which is its fourth argument; what it
    unpacks lies in ``scratch``. ForeignFileError where it
    refuses the file, or the file exceeds a limit.
    """
    limits = Limits.of(path.stat().st_size, room)
    folder = Path(mkdtemp(dir=scratch))
    with (folder / "errors").open("w+b") as errors:
        process = subprocess.Popen(  # noqa: S603 - our own words
            command(reader, path, folder, limits),
            cwd=HOME,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        try:
            for line in cast(IO[bytes], process.stdout):
                message = json.loads(line.decode("utf-8", "surrogatepass"))
                if message == END:
                    return
                if isinstance(message, dict) and "refusal" in message:
                    raise ForeignFileError(message["refusal"], code=message["code"])
                yield message
            raise _ended(process.wait(), errors, limits)
        finally:
            process.kill()
            process.wait()
            cast(IO[bytes], process.stdout).close()


def read(reader: str, file: "UploadedFile | Path", room: int = ROOM) -> Generator[Any]:
    """As ``read_foreign``, of a file that a form sent or that lies anywhere.

    OSError where it cannot be opened.
    """
    from annotation.core.uploads import scratch_folder  # which the process that reads does without

    with scratch_folder() as folder:
        if isinstance(file, Path):
            file.open("rb").close()
            yield from read_foreign(reader, file, folder, room)
            return
        path = folder / "file"
        with path.open("wb") as stream:
            stream.writelines(file.chunks())
        yield from read_foreign(reader, path, folder, room)


def rows(file: "UploadedFile | Path", check_header: records.CheckHeader = None) -> records.Rows:
    """Line and record, or what is wrong with it, of a file of JSON lines or CSV.

    ``check_header(names)`` may refuse the columns of a CSV with ValueError. ForeignFileError and
    OSError as ``read``.
    """
    for line, row in read("annotation.core.records:messages", file):
        if not isinstance(row, list):
            yield line, row
        elif check_header:
            try:
                check_header(row)
            except ValueError as error:
                raise ForeignFileError(f"line {line}: {error}", code="records") from error


def rows_at(
    path: Path | str,
    refusal: Callable[[str], DomainError],
    check_header: records.CheckHeader = None,
) -> records.Rows:
    """As ``rows``, of the file at ``path``; ``refusal`` names it where it cannot be read."""
    try:
        yield from rows(Path(path), check_header)
    except ForeignFileError as error:
        raise refusal(f"{path}, {error.sentence}") from error
    except OSError as error:
        raise refusal(f"{path}: {(error.strerror or 'it cannot be read').lower()}") from error


def _ended(code: int, errors: IO[bytes], limits: Limits) -> ForeignFileError:
    """The refusal of a file at which the child ended."""
    if code == -signal.SIGXCPU:
        sentence = _("Reading the file takes more than %(n)s seconds, the limit for its size.")
        return too_large(sentence, limits.seconds)
    if code in _OUT_OF_MEMORY:
        sentence = _("Reading the file takes more than %(n)s MB of memory, the limit for its size.")
    else:  # a library crashed
        errors.seek(0)
        log.error("the reader of a file ended with %d: %s", code, errors.read()[-ERRORS:].decode())
        sentence = _(
            "The file cannot be read: it is broken, or reading it takes more than %(n)s MB of "
            "memory, the limit for its size."
        )
    return too_large(sentence, limits.memory // MB)


# --- The process that reads ----------------------------------------------------------------------

_STATM = Path("/proc/self/statm")


def _taken() -> int:
    # The sixth number is what the kernel holds against this limit, in pages.
    return int(_STATM.read_text().split()[5]) * resource.getpagesize()


@contextmanager
def bounded(room: int) -> Iterator[None]:
    """Let the process grow by ``room`` bytes and no more: MemoryError, or an abort of a library.

    Only Linux tells a process how large it is: elsewhere there is no bound.
    """
    if not _STATM.exists():
        yield
        return
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [n for n in (_taken() + room, before, hard) if n != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


@contextmanager
def uncounted() -> Iterator[None]:
    """Do not hold what the block takes, such as a library's own memory, against a bound."""
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if before == resource.RLIM_INFINITY or not _STATM.exists():
        yield
        return
    taken = _taken()
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before + _taken() - taken, hard))


def main(reader: str, path: str, scratch: str, limits: Limits, language: str) -> None:
    """Write what ``reader`` says of the file ``path`` to standard output."""
    settings.configure(USE_I18N=True, LOCALE_PATHS=[FILES / "locale"])
    # What translations need of Django's setup: the rest would take as long as most files.
    apps.populate([])
    translation.activate(language)
    module, name, *words = reader.split(":")
    read = getattr(import_module(module), name)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1))
    # Whoever waited for the messages may have gone.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        with bounded(limits.memory):
            for message in _messages(read, Path(path), Path(scratch), limits, *words):
                sys.stdout.buffer.write(message + b"\n")
            sys.stdout.buffer.flush()
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)


def _messages(
    read: Callable[..., Iterator], path: Path, scratch: Path, limits: Limits, *words: str
) -> Iterator[bytes]:
    try:
        for message in read(path, scratch, limits, *words):
            yield message if isinstance(message, bytes) else line(message)
        yield line(END)
    except DomainError as error:
        yield line({"refusal": error.sentence, "code": error.code})


def line(message: Any) -> bytes:
    """A message as it is written. Bytes that were no text are lone surrogates."""
    return json.dumps(message, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")


if __name__ == "__main__":
    READER, PATH, SCRATCH, LIMITS, LANGUAGE = sys.argv[1:]
    main(READER, PATH, SCRATCH, Limits(**json.loads(LIMITS)), LANGUAGE)
