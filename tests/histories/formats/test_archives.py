"""Archives are read and never extracted; an unsafe one is refused with its code."""

import gzip
import io
import stat
import struct
import tarfile
import zipfile

import pytest

from annotation.histories import archives

from .samples import CHATGPT, CLAUDE, as_json, records, refusal, skips, tarred, zipped

HISTORY = as_json([CHATGPT])


def entry(name, content=b"x", **fields) -> bytes:
    """A zip of the history and one more entry with these fields."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("conversations.json", HISTORY)
        info = zipfile.ZipInfo(name)
        for field, value in fields.items():
            setattr(info, field, value)
        archive.writestr(info, content)
    return file.getvalue()


def tar_entry(name="x", **fields) -> bytes:
    """The same as a .tgz."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        info = tarfile.TarInfo("conversations.json")
        info.size = len(HISTORY)
        archive.addfile(info, io.BytesIO(HISTORY))
        info = tarfile.TarInfo(name)
        for field, value in fields.items():
            setattr(info, field, value)
        archive.addfile(info)
    return file.getvalue()


def patched(data: bytes, signature: bytes, offset: int, layout: str, value: int) -> bytes:
    """The zip with one field of its last such header changed."""
    changed = bytearray(data)
    struct.pack_into(layout, changed, data.rfind(signature) + offset, value)
    return bytes(changed)


@pytest.mark.parametrize(
    "name",
    ["../x", "a/../../x", "/x", "C:\\x", "C:x", "a\\b", "a/..", "a\nb", "\x7f", "x" * 2_000],
)
def test_a_name_that_leaves_its_folder_is_unsafe(name):
    assert refusal(entry(name)) == "unsafe_path"
    assert refusal(tar_entry(name)) == "unsafe_path"


@pytest.mark.parametrize("name", ["conversations.json", "CONVERSATIONS.json"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_are_refused(name):
    assert refusal(entry(name)) == "duplicate_member"
    assert refusal(tar_entry(name)) == "duplicate_member"


def test_links_and_devices_are_refused():
    assert refusal(entry("x", external_attr=(stat.S_IFLNK | 0o777) << 16)) == "symlink"
    assert refusal(entry("x", external_attr=(stat.S_IFIFO | 0o644) << 16)) == "unsafe_member"
    for kind, code in (
        (tarfile.SYMTYPE, "symlink"), (tarfile.LNKTYPE, "symlink"),
        (tarfile.FIFOTYPE, "unsafe_member"), (tarfile.CHRTYPE, "unsafe_member"),
    ):  # fmt: skip
        assert refusal(tar_entry("x", type=kind, linkname="/etc/passwd")) == code


def test_a_locked_archive_is_told():
    assert refusal(patched(zipped({"a": HISTORY}), b"PK\1\2", 8, "<H", 1)) == "encrypted_archive"


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packing_without_bounds_is_refused(method):
    assert refusal(entry("x", compress_type=method)) == "unsafe_member"


def test_a_bomb_is_refused_before_it_is_read():
    assert refusal(zipped({"a.json": b" " * (32 << 20)})) == "zip_bomb"
    assert refusal(gzip.compress(b"[" + b" " * (32 << 20))) == "zip_bomb"
    assert refusal(tarred({"a.json": b"[" + b" " * (32 << 20)})) == "zip_bomb"


def test_entries_that_share_their_bytes_are_a_bomb():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(range(256)) * 4_000)
        (first,) = archive.infolist()
        for number in range(100):
            copy = zipfile.ZipInfo(f"{number}")
            for field in ("CRC", "compress_size", "file_size", "compress_type", "header_offset"):
                setattr(copy, field, getattr(first, field))
            archive.filelist.append(copy)
    assert refusal(file.getvalue()) == "zip_bomb"


def test_many_members_are_refused(monkeypatch):
    monkeypatch.setattr(archives, "MEMBERS", 20)
    many = {f"{number}.json": b"[]" for number in range(21)}
    assert refusal(zipped(many)) == "zip_bomb"
    assert refusal(tarred(many)) == "zip_bomb"
    monkeypatch.setattr(archives, "DIRECTORY", 1_000)
    monkeypatch.setattr(archives, "MEMBERS", 50)
    assert refusal(zipped(many)) == "zip_bomb"


def test_a_size_that_lies_is_a_damaged_archive():
    data = zipped({"a.json": HISTORY + b" " * 5_000})
    for size in (10, 100_000):
        assert refusal(patched(data, b"PK\1\2", 24, "<I", size)) == "corrupt_archive"


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_truncated_archive_is_damaged(pack):
    data = pack({"a.json": HISTORY, "b.json": HISTORY + b" " * 100_000})
    assert {refusal(data[:end]) for end in range(4, len(data) - 8, 7)} == {"corrupt_archive"}


def test_an_archive_inside_is_told_and_not_opened():
    inner = zipped({"conversations.json": HISTORY})
    assert refusal(zipped({"inner.json": inner})) == "nested_archive"
    assert refusal(zipped({"inner.tgz": tarred({"a": HISTORY})})) == "nested_archive"
    assert refusal(gzip.compress(inner)) == "nested_archive"
    both = zipped({"upload.docx": inner, "conversations.json": HISTORY})
    assert skips(both) == [("upload.docx", "nested_archive")]


def test_litter_and_folders_are_passed_over():
    archive = zipped({
        "__MACOSX/._conversations.json": b"\0\5\x16\7", ".DS_Store": b"\0\0", "._x": b"[",
        "folder/": b"", "conversations.json": HISTORY,
    })  # fmt: skip
    assert records(archive) == records(HISTORY)


def test_broken_json_of_a_known_export_refuses_the_archive():
    cut = as_json([CLAUDE, CLAUDE])[:-20]
    assert refusal(zipped({"conversations.json": cut})) == "truncated_json"


def test_broken_json_of_nobodys_is_told_and_left():
    archive = zipped({"upload.json": b'{"a": b}', "conversations.json": HISTORY, "e.json": b""})
    assert skips(archive) == [("upload.json", "invalid_json")]
    assert refusal(zipped({"upload.json": b'{"a": b}'})) == "invalid_json"


def test_an_archive_without_a_history_is_no_export():
    assert refusal(zipped({})) == "unsupported_format"
    assert refusal(zipped({"a.png": b"\x89PNG", "b.txt": b"hello"})) == "unsupported_format"
    assert refusal(zipped({"conversations.json": b"[]"})) == "empty_history"
