"""Uploads and archives: read member by member, never extracted, with limits on everything."""

import contextlib
import errno
import gzip
import io
import re
import shutil
import stat
import struct
import tarfile
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any, BinaryIO, Protocol, cast

from annotation.core.foreign import zip_directory
from annotation.histories import texts
from annotation.histories.records import Refused

CHUNK = 1 << 16
MEMBERS = 20_000
DIRECTORY = 6 << 20  # bytes of a zip's table of contents, which is held in memory
TOTAL = 16 << 30  # bytes that come out of one archive
RATIO, RATIO_FROM = 200, 16 << 20  # exports pack 5 to 20 to 1; only small files pack better
LONGEST_NAME = 1_000
ZIP, GZIP = (b"PK\x03\x04", b"PK\x05\x06"), b"\x1f\x8b"
_ARCHIVES = (*ZIP, GZIP, b"7z\xbc\xaf", b"Rar!", b"\xfd7zXZ", b"BZh")
# The privacy portal's download is a zip of such zips: the one nesting that exists.
_PORTAL = re.compile(r"(.*/)?conversations__[^/]*chatgpt[^/]*\.zip", re.IGNORECASE)
_LITTER = re.compile(r"(.*/)?(__MACOSX/.*|\._[^/]*|\.DS_Store)")
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, EOFError, struct.error, ValueError, NotImplementedError,
    IndexError, OverflowError, RecursionError, tarfile.TarError, gzip.BadGzipFile,
)  # fmt: skip


@contextlib.contextmanager
def damage_refused() -> Iterator[None]:
    """Turn what reading a damaged archive raises into Refused("corrupt_archive")."""
    try:
        yield
    except _DAMAGE as error:
        raise Refused("corrupt_archive") from error
    except OSError as error:
        # EINVAL: a header points before the file. The rest is the disk's trouble, not the file's.
        if error.errno != errno.EINVAL:
            raise
        raise Refused("corrupt_archive") from error


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Stream(io.RawIOBase):
    """The bytes of one member, in pieces; damage is refused, progress is reported.

    `size` is what the archive says they are, where it says so; more than `limit` is refused.
    """

    def __init__(
        self,
        file: Readable,
        notify: Callable[[], None],
        size: int | None = None,
        limit: int = TOTAL,
    ) -> None:
        self._file, self._notify, self._size, self._limit = file, notify, size, limit
        self._head, self._count = b"", 0

    def head(self, size: int) -> bytes:
        """The first `size` bytes, which `read` gives again."""
        while len(self._head) < size and (data := self._next(size)):
            self._head += data
        return self._head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._head[: len(buffer)] or self._next(len(buffer))
        self._head = self._head[len(data) :]
        buffer[: len(data)] = data
        return len(data)

    def _next(self, size: int) -> bytes:
        # Never without a size: zipfile would unpack everything before it looks at what it declared.
        with damage_refused():
            data = self._file.read(min(size, CHUNK))
        self._count += len(data)
        if self._count > self._limit:
            raise Refused("zip_bomb")
        if not data and self._size not in (None, self._count):
            raise Refused("corrupt_archive")
        self._notify()
        return data


@dataclass(frozen=True)
class Member:
    """One file of an upload, named as in the archive; `open()` gives its bytes from the start."""

    name: str
    open: Callable[[], Stream]


class Upload:
    """One uploaded file, plain or archive. Only one member may be open at a time."""

    def __init__(self, file: BinaryIO, progress: Callable[[int], None] | None = None) -> None:
        self._file, self._progress, self._furthest = file, progress, 0
        self.size = file.seek(0, 2)
        if not self.size:
            raise Refused("empty_file")
        file.seek(0)
        self._head = file.read(4)
        self.is_archive = self._head.startswith((*ZIP, GZIP))

    def members(self) -> list[Member]:
        """Its files in the order of their bytes; Refused where one of them is unsafe."""
        if self._head.startswith(ZIP):
            return self._of_zip(self._file, self.size, portal=True)
        if self._head.startswith(GZIP):
            return self._of_gzip()
        return [Member("", self._plain)]

    def _plain(self) -> Stream:
        self._file.seek(0)
        return Stream(self._file, self._tell)

    def _tell(self) -> None:
        at = self._file.tell()
        if self._progress and at > self._furthest:
            self._furthest = at
            self._progress(at)

    # --- zip --------------------------------------------------------------------------------------

    def _of_zip(self, file: BinaryIO, size: int, *, portal: bool) -> list[Member]:
        with damage_refused():
            if zip_directory(file) > DIRECTORY:
                raise Refused("zip_bomb")
            archive = zipfile.ZipFile(file)
        infos = archive.infolist()
        _check_zip(infos, size)
        infos = [info for info in infos if not info.is_dir() and not _LITTER.match(info.filename)]
        members, spooled = [], 0
        for info in sorted(infos, key=lambda info: info.header_offset):
            if portal and _PORTAL.fullmatch(info.filename):
                spooled += info.file_size
                # Zips do not pack, so together they are no larger than the archive.
                if spooled > 2 * size + RATIO_FROM:
                    raise Refused("zip_bomb")
                members += self._of_portal(archive, info)
            else:
                members.append(Member(texts.name(info.filename), self._opener(archive, info)))
        return members

    def _opener(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], Stream]:
        def entry() -> Stream:
            with damage_refused():
                # By its entry, not by its name: a name may stand for another entry.
                return Stream(archive.open(info), self._tell, info.file_size)

        return entry

    def _of_portal(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> list[Member]:
        """A zip inside the zip, copied to a nameless file, since reading it takes seeking."""
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as its members
        shutil.copyfileobj(self._opener(archive, info)(), copy, CHUNK)
        copy.seek(0)
        if not copy.read(4).startswith(ZIP):
            raise Refused("corrupt_archive")
        return self._of_zip(copy, info.file_size, portal=False)

    # --- gzip, with a tar inside or one file ------------------------------------------------------

    def _of_gzip(self) -> list[Member]:
        limit = max(RATIO_FROM, RATIO * self.size)
        with damage_refused():
            head = self._unpacked().read(512)
            if is_archive(head):
                raise Refused("nested_archive")
            if head[257:262] != b"ustar":
                return [Member("", lambda: Stream(self._unpacked(), self._tell, limit=limit))]
            archive = tarfile.TarFile(fileobj=cast(IO[bytes], self._unpacked()), encoding="utf-8")
            infos = _checked_tar(archive, self.size)
        return [
            Member(texts.name(info.name), self._entry(archive, info))
            for info in infos
            if info.isreg() and not _LITTER.match(info.name)
        ]

    def _unpacked(self) -> gzip.GzipFile:
        self._file.seek(0)
        return gzip.GzipFile(fileobj=self._file)

    def _entry(self, archive: tarfile.TarFile, info: tarfile.TarInfo) -> Callable[[], Stream]:
        return lambda: Stream(cast(Readable, archive.extractfile(info)), self._tell)


def is_archive(head: bytes) -> bool:
    """Whether a member that begins so is an archive itself."""
    return head.startswith(_ARCHIVES)


def _check_zip(infos: list[zipfile.ZipInfo], size: int) -> None:
    """Refuse what makes an archive unsafe, before any of it is read."""
    if len(infos) > MEMBERS:
        raise Refused("zip_bomb")
    # A NUL cuts the name that zipfile shows; the original has the rest.
    _check_names(info.orig_filename for info in infos)
    for info in infos:
        mode = info.external_attr >> 16
        if stat.S_ISLNK(mode):
            raise Refused("symlink")
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise Refused("unsafe_member")
        if info.flag_bits & 0x2041:  # encrypted, strongly so, or with hidden names
            raise Refused("encrypted_archive")
        # bzip2 and LZMA unpack without bounds; nobody's exports use them.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Refused("unsafe_member")
        if _is_bomb(info.file_size, info.compress_size):
            raise Refused("zip_bomb")
    # Entries that share their bytes count as often as they are listed.
    if _is_bomb(sum(info.file_size for info in infos), size):
        raise Refused("zip_bomb")


def _is_bomb(unpacked: int, packed: int) -> bool:
    return unpacked > TOTAL or unpacked > max(RATIO_FROM, RATIO * packed)


def _check_names(names: Iterable[str]) -> None:
    seen = set()
    for name in names:
        parts = name.split("/")
        if (
            not name
            or name.startswith("/")
            or "\\" in name
            or ".." in parts
            or re.match("[A-Za-z]:", name)
            or len(name) > LONGEST_NAME
            or any(unicodedata.category(letter) == "Cc" for letter in name)
        ):
            raise Refused("unsafe_path")
        key = unicodedata.normalize("NFC", name.rstrip("/")).casefold()
        if key in seen:
            raise Refused("duplicate_member")
        seen.add(key)


def _checked_tar(archive: tarfile.TarFile, size: int) -> list[tarfile.TarInfo]:
    """The files and folders of a tar of ``size`` packed bytes; Refused where it is unsafe."""
    infos: list[tarfile.TarInfo] = []
    for info in archive:
        infos.append(info)
        if len(infos) > MEMBERS:
            raise Refused("zip_bomb")
        if info.issym() or info.islnk():
            raise Refused("symlink")
        if not (info.isdir() or info.isreg()) or info.issparse():
            raise Refused("unsafe_member")
    _check_names(info.name for info in infos)
    if _is_bomb(sum(info.size for info in infos), size):
        raise Refused("zip_bomb")
    # tarfile is content with an archive that ends early.
    while cast(IO[bytes], archive.fileobj).read(CHUNK):
        pass
    return infos
