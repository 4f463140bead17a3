"""Reads a table of any format people have: CSV, TSV, JSON, JSON lines, Parquet, Excel, or a zip.

The format is told by content. Rows are read one after another; a row that cannot be read is given
as the reason why. Foreign files are read in a process of its own alone (``messages``, which
`tables` reads): it says what the file is, the names of the columns wherever they change, and
[line, cells] or [line, reason] of each row.
"""

import codecs
import csv
import gzip
import io
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import ijson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook

from annotation.core import records
from annotation.core.foreign import (
    ForeignFileError,
    Limits,
    check_footer,
    too_large,
    uncounted,
    zip_directory,
)
from annotation.core.foreign import line as written
from annotation.core.words import StrOrPromise

SAMPLE = 65_536
UTF8 = "utf-8-sig"
# Those that tables of programs come in, by their names in Python.
ENCODINGS: dict[str, StrOrPromise] = {
    "": gettext_lazy("UTF-8, or UTF-16 with its mark"),
    "cp1252": "Windows-1252",
    "cp1250": "Windows-1250",
    "cp1251": "Windows-1251",
    "iso8859-15": "ISO-8859-15",
    "mac-roman": "Mac OS Roman",
    "gb18030": "GB18030",
    "big5": "Big5",
    "cp949": "EUC-KR, CP949",
    "shift-jis": "Shift JIS",
    "utf-16-le": "UTF-16 LE",
    "utf-16-be": "UTF-16 BE",
}
# A row is as long as several cells.
ROW_CELLS = 16
# Rows, from the first on, of which none can be read: then none is taken to follow.
UNREADABLE = 10_000
# Few: one word of a dictionary may be a megabyte in each.
PARQUET_ROWS = 16
# Levels of a JSON file; those of a record are fewer (core.records).
NESTED_LIMIT = 100
# How many times its own size a compressed file may unfold to, from 10 MB on.
RATIO_LIMIT, RATIO_FROM = 100, 10 * 2**20
ENTRIES_LIMIT, DIRECTORY = 10_000, 4 * 2**20
# A sheet is held in memory whole, with its empty cells: at most so many of them, and nine of ten.
SHEET_LIMIT = 200 * 2**20
EMPTY_LIMIT, EMPTY_TIMES = 100_000, 10
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
TABLE_ENDINGS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx")
# A table in several files, as the Hub's libraries name them.
SHARD = re.compile(r"(.*)-(\d{5})-of-(\d{5})(\.\w+)")
_CELL = re.compile(rb"""\br=["']([A-Z]{1,3})([0-9]{1,7})["']""")


@dataclass
class Source:
    """A file as rows: line and record of each, or the reason why it is none.

    ``notes`` says what was assumed about the file; ``folder`` is where a zipped bundle or release
    was unpacked, in the formats "bundle" and "release", which have no rows.
    """

    format: str
    rows: Callable[[], records.Rows]
    notes: list[str] = field(default_factory=list)
    folder: Path | None = None


@dataclass(frozen=True)
class Scratch:
    """A folder that archives are unpacked into, and what else is said of the file."""

    folder: Path
    limits: Limits
    # That of the file's text; "" is UTF-8, or UTF-16 with its mark.
    encoding: str = ""


def messages(
    path: Path, scratch: Path, limits: Limits, encoding: str = ""
) -> Iterator[dict | bytes]:
    """The table in the file ``path``; ForeignFileError where it is none, or exceeds a limit."""
    try:
        source = _open(path, Scratch(scratch, limits, encoding))
        folder = source.folder and str(source.folder)
        yield {"format": source.format, "notes": source.notes, "folder": folder}
        yield from _rows(source.rows(), limits)
    except records.RecordsError as error:
        words = {"n": error.line, "words": error.words}
        raise ForeignFileError(_("Line %(n)d: %(words)s.") % words) from error


def _rows(rows: records.Rows, limits: Limits) -> Iterator[bytes]:
    columns: list[str] = []
    names: set[str] = set()
    cells = text = 0
    for number, (line, row) in enumerate(rows, start=1):
        if isinstance(row, str):
            if number > UNREADABLE and not columns:
                words = {"n": f"{UNREADABLE:,}", "reason": row}
                sentence = _(
                    "None of the first %(n)s rows can be read, the last since: %(reason)s."
                )
                raise ForeignFileError(sentence % words)
            yield written([line, row])
            continue
        if list(row) != columns:
            columns = list(row)
            names.update(columns)
            if len(names) > limits.columns:
                raise _too_wide(limits)
            text += len(head := written({"columns": columns}))
            yield head
        cells += len(row)
        if cells > limits.cells:
            raise too_large(_("The table has more than %(n)s cells, the limit."), limits.cells)
        body = _row(line, row, limits.cell)
        text += len(body)
        if text > limits.text:
            raise bomb()
        yield body


def _too_wide(limits: Limits) -> ForeignFileError:
    return too_large(_("The table has more than %(n)s columns, the limit."), limits.columns)


def _row(line: int, row: dict, limit: int) -> bytes:
    """The row, or the reason where it or a cell of it is too long."""
    body = written([line, list(row.values())])
    if len(body) <= limit:
        return body
    for name, value in row.items():
        if len(value if isinstance(value, str) else written(value)) > limit:
            words = {"name": name[:60], "n": f"{limit:,}"}
            reason = _("the cell “%(name)s” is longer than %(n)s characters, the limit") % words
            return written([line, reason])
    if len(body) > ROW_CELLS * limit:
        words = {"n": f"{ROW_CELLS * limit:,}"}
        return written([line, _("the row is longer than %(n)s bytes, the limit") % words])
    return body


def _open(path: Path, scratch: Scratch) -> Source:
    with path.open("rb") as stream:
        head = stream.read(SAMPLE)
    if not head.strip(b" \t\r\n\x00"):
        raise ForeignFileError(_("The file is empty."))
    for magic, read in _MAGIC.items():
        if head.startswith(magic):
            return read(path, scratch)
    text, encoding, notes = _decoded(head, scratch.encoding)
    if encoding != UTF8:
        path = _recoded(path, scratch, encoding)
    start = text.lstrip().lower()[:200]
    if start.startswith(("<!doctype", "<html", "<?xml", "<head", "<body")):
        raise ForeignFileError(
            _("This is a web page or XML, not a table. Save it as CSV or JSON lines.")
        )
    if start[:1] in ("{", "["):
        return _json(path, text, notes)
    if "\x00" in text:
        raise ForeignFileError(
            _("These are no characters: the file is no table that can be read here.")
        )
    return _csv(path, text, notes)


# --- Text ----------------------------------------------------------------------------------------


def _decoded(head: bytes, encoding: str) -> tuple[str, str, list[str]]:
    """The beginning as text, its encoding, and what is to be said about it."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return head.decode("utf-16", "replace"), "utf-16", [_("The file is in UTF-16.")]
    if encoding and not head.startswith(records.BOM):
        return head.decode(encoding, "replace"), encoding, []
    half = len(head) // 2
    if half and head[1::2].count(0) > half * 0.4:
        return head.decode("utf-16-le", "replace"), "utf-16-le", [_("The file is in UTF-16.")]
    return head.decode(UTF8, "replace"), UTF8, []


def _recoded(path: Path, scratch: Scratch, encoding: str) -> Path:
    """A copy of the file in UTF-8."""
    copy = scratch.folder / f"utf-8-{path.name}"
    try:
        with (
            path.open(encoding=encoding, newline="") as source,
            copy.open("w", encoding="utf-8", newline="") as sink,
        ):
            shutil.copyfileobj(source, sink)
    except UnicodeError as error:
        words = _("The file is not text in %s: choose another encoding.")
        name = ENCODINGS.get(encoding, encoding.upper())
        raise ForeignFileError(words % name, code="encoding") from error
    return copy


def _csv(path: Path, text: str, notes: list[str]) -> Source:
    if "\ufffd" in text.lstrip().partition("\n")[0]:  # no column could be named
        return Source("csv", lambda: iter([(1, _no_text())]), notes)
    delimiter = _delimiter(text)
    if delimiter != ",":
        notes = [*notes, _("The columns are separated by: %s.") % DELIMITERS[delimiter]]

    def rows() -> records.Rows:
        with path.open("rb") as stream:
            yield from records.csv_rows(stream, _check_header, delimiter)

    return Source("csv", rows, notes)


def _no_text() -> str:
    return _("the bytes are not UTF-8 text: choose the file's encoding")


def _delimiter(text: str) -> str:
    """The sign that separates the columns of the first lines, a comma where none does."""
    lines = text.split("\n")[: -1 if len(text) >= SAMPLE // 4 and "\n" in text else None]
    best, most = ",", 1.0
    for delimiter in DELIMITERS:
        try:
            rows = [row for row in csv.reader(lines[:200], delimiter=delimiter) if row][:20]
        except csv.Error:
            continue
        # What separates columns does so in most rows alike; a comma in a sentence does not.
        widths = [len(row) for row in rows]
        alike = widths.count(widths[0]) / len(widths) if widths else 0
        if widths and widths[0] * alike > most:
            best, most = delimiter, widths[0] * alike
    return best


def _check_header(names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name and name in seen:
            raise ValueError(_("two columns are called “%s”") % name[:80])
        seen.add(name)


# --- JSON ----------------------------------------------------------------------------------------


def _json(path: Path, text: str, notes: list[str]) -> Source:
    if text.lstrip()[:1] == "{" and _is_lines(path):
        return Source("jsonl", lambda: _json_lines(path), notes)
    if not _is_text(path):
        return Source("json", lambda: iter([(1, _no_text())]), notes)
    prefix = "item" if text.lstrip()[:1] == "[" else _list_in(path)
    return Source("json", lambda: _json_list(path, prefix), notes)


def _is_lines(path: Path) -> bool:
    """Whether the first line that is not blank is an object of its own, or is broken as one."""
    with path.open("rb") as stream:
        first = second = b""
        while raw := stream.readline(records.LINE_LIMIT + 1):
            line = raw.removeprefix(records.BOM).strip()
            if line and not first:
                first = line
            elif line:
                second = line
                break
    if len(first) > records.LINE_LIMIT:
        return False
    try:
        records.parse(first)
    except records.BrokenRecordError:
        return second.startswith(b"{")
    return True


def _json_lines(path: Path) -> records.Rows:
    broken = _("the bytes are not UTF-8 text")
    with path.open("rb") as stream:
        for line, row in records.json_lines(stream):
            yield line, _no_text() if row == broken else row


def _list_in(path: Path) -> str:
    """The place of the first list of a JSON object: {"data": […]}; "" where it has none."""
    with _broken_json(), path.open("rb") as stream:
        for prefix, event, _value in ijson.parse(_shallow(stream)):
            if event == "start_array" and "." not in prefix:
                return f"{prefix}.item"
    return ""


def _json_list(path: Path, prefix: str) -> records.Rows:
    """Objects of a JSON list, counted from 1."""
    level = prefix.count(".") + bool(prefix)
    with _broken_json(), path.open("rb") as stream:
        if stream.read(3) != records.BOM:
            stream.seek(0)
        values = ijson.items(ijson.parse(_shallow(stream, level)), prefix)
        for number, value in enumerate(values, start=1):
            try:
                records.check_json(value)
            except ValueError as error:
                yield number, f"the record {error}"
                continue
            yield number, value if isinstance(value, dict) else _("not a JSON object")


def _is_text(path: Path) -> bool:
    """Whether the file is in UTF-8."""
    try:
        with path.open(encoding="utf-8") as stream:
            while stream.read(1 << 20):
                pass
    except UnicodeError:
        return False
    return True


def _shallow(stream: IO[bytes], level: int = 0) -> Iterator[tuple[str, Any]]:
    """The events of a stream of JSON whose records lie below ``level`` brackets.

    ForeignFileError where it is nested deeper than tables are, since ijson holds the whole path of
    each open level (100,000 brackets would take 25 GB of memory), or a record holds too much.
    """
    depth = held = 0
    for event, value in ijson.basic_parse(stream, use_float=True):
        depth += event.startswith("start") - event.startswith("end")
        is_over = event.startswith("end") and depth == level
        held = 0 if is_over else held + 1
        if held > records.VALUES_LIMIT:
            sentence = _("A record of the file holds more than %(n)s values, the limit.")
            raise too_large(sentence, records.VALUES_LIMIT)
        if depth > NESTED_LIMIT:
            raise ForeignFileError(_("The file is nested too deeply to be a table."))
        yield event, value


@contextmanager
def _broken_json() -> Iterator[None]:
    try:
        yield
    except (ijson.JSONError, UnicodeError) as error:
        words = " ".join(str(error).split())[:160]
        raise ForeignFileError(_("The JSON is broken: %s") % words) from error


# --- Parquet and Excel ---------------------------------------------------------------------------


def _parquet(path: Path, scratch: Scratch) -> Source:
    with uncounted():  # the library itself is far larger than most files
        import pyarrow as pa
        import pyarrow.parquet as pq

    @contextmanager
    def broken() -> Iterator[None]:
        try:
            yield
        except MemoryError:  # Arrow's own is an ArrowException, too
            raise
        except (pa.ArrowException, OSError) as error:
            words = _("The Parquet file is broken: %s") % str(error)[:160]
            raise ForeignFileError(words) from error

    def rows() -> records.Rows:
        number = 0
        with broken(), pq.ParquetFile(path) as file:
            for batch in file.iter_batches(PARQUET_ROWS, use_threads=False):
                for row in batch.to_pylist():
                    number += 1
                    yield number, {key: _plain(value) for key, value in row.items()}

    with broken():
        check_footer(path)
    with broken(), pq.ParquetFile(path) as table:
        if len(table.schema_arrow) > scratch.limits.columns:
            raise _too_wide(scratch.limits)
    return Source("parquet", rows)


def _excel(path: Path, scratch: Scratch) -> Source:
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > SHEET_LIMIT:
                raise ForeignFileError(_("The Excel file is too large: save it as CSV."))
            for entry in archive.namelist():
                if entry.startswith("xl/worksheets/"):
                    _check_grid(archive, entry)
        book = CalamineWorkbook.from_path(str(path))
        name = next(iter(book.sheet_names), None)
        if name is None:
            raise ForeignFileError(_("The Excel file has no sheet."))
        sheet = book.get_sheet_by_name(name)
    except CalamineError as error:
        raise ForeignFileError(_("The Excel file is broken: %s") % str(error)[:160]) from error
    if merged := sheet.merged_cell_ranges:
        row, column = merged[0][0]
        place = {"n": len(merged), "sheet": name, "row": row + 1, "column": column + 1}
        raise ForeignFileError(
            _(
                "The sheet “%(sheet)s” has %(n)d merged cells, the first in row %(row)d, column "
                "%(column)d: which row they belong to is unclear. Split them and send it again."
            )
            % place
        )
    notes = [_("Only the first sheet is read: %s.") % name] if len(book.sheet_names) > 1 else []
    return Source("xlsx", lambda: _sheet_rows(sheet), notes)


def _check_grid(archive: zipfile.ZipFile, name: str) -> None:
    """Refuse a sheet of which nearly all cells are empty: one far cell makes millions of them."""
    rows = columns = filled = 0
    rest = b""
    with archive.open(name) as stream:
        while data := stream.read(1 << 20):
            data, last = rest + data, 0
            for cell in _CELL.finditer(data):
                filled, last = filled + 1, cell.end()
                rows, columns = max(rows, int(cell[2])), max(columns, _column(cell[1]))
            rest = data[max(last, len(data) - 20) :]
    if rows * columns > max(EMPTY_LIMIT, EMPTY_TIMES * filled):
        words = {"rows": rows, "columns": columns, "filled": filled}
        raise ForeignFileError(
            _(
                "A sheet reaches over %(rows)d rows and %(columns)d columns, and only %(filled)d "
                "of its cells hold anything: delete what stands far away from the table, or save "
                "the table as CSV."
            )
            % words
        )


def _column(letters: bytes) -> int:
    """The number of a column: 1 for A, 27 for AA."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


def _sheet_rows(sheet: CalamineSheet) -> records.Rows:
    # Rows above the first cell are not given.
    first = (sheet.start or (0, 0))[0] + 1
    header: list[str] | None = None
    for line, row in enumerate(sheet.iter_rows(), start=first):
        cells = [_plain(cell) for cell in row]
        if not any(cell != "" for cell in cells):
            continue
        if header is None:
            header = [str(cell).strip() for cell in cells]
            try:
                _check_header(header)
            except ValueError as error:
                raise ForeignFileError(str(error)) from error
        else:
            yield line, dict(zip(header, cells, strict=False))


def _plain(value: object) -> object:
    """A cell as JSON has it."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value


# --- Archives ------------------------------------------------------------------------------------


def _zip(path: Path, scratch: Scratch) -> Source:
    try:
        with path.open("rb") as file:
            if zip_directory(file) > DIRECTORY:
                raise ForeignFileError(_("The zip file holds too many files."))
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not _ignored(entry)]
            names = {entry.filename for entry in entries}
            if "xl/workbook.xml" in names:
                return _excel(path, scratch)
            _check_size(path, entries, scratch.limits.unpacked)
            return _unzipped(archive, entries, scratch)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise ForeignFileError(_("The zip file is broken: %s") % str(error)[:160]) from error


def _unzipped(archive: zipfile.ZipFile, entries: list, scratch: Scratch) -> Source:
    for name, format_ in (("study.json", "bundle"), ("manifest.json", "release")):
        roots = [entry for entry in entries if Path(entry.filename).name == name]
        if roots:
            # Absolute paths and “..” are dropped by `extract`.
            for entry in entries:
                archive.extract(entry, scratch.folder)
            root = min(roots, key=lambda entry: len(Path(entry.filename).parts))
            folder = (scratch.folder / root.filename).parent
            with uncounted():
                import pyarrow.parquet  # noqa: F401 - which core.arrow would import within the bound

                from annotation.datasets.release_files import read_through
            read_through(folder)
            return Source(format_, lambda: iter(()), folder=folder)
    tables = [entry for entry in entries if entry.filename.lower().endswith(TABLE_ENDINGS)]
    tables.sort(key=lambda entry: entry.filename)
    if len(tables) != 1 and not are_shards([entry.filename for entry in tables]):
        raise ForeignFileError(
            _("The zip file holds %(n)d tables: send one table, or a study bundle.")
            % {"n": len(tables)}
        )
    shards = []
    for number, entry in enumerate(tables):
        inner = scratch.folder / f"table{number}"
        with archive.open(entry) as source, inner.open("wb") as sink:
            _copy(source, sink, scratch.limits.unpacked)
        shards.append(_open(inner, scratch))
    return shards[0] if len(shards) == 1 else _joined(shards)


def are_shards(names: list[str]) -> bool:
    """Whether sorted file names are those of one whole table: ``train-00000-of-00002.parquet``…"""
    first = SHARD.fullmatch(names[0]) if names else None
    if first is None:
        return False
    stem, _number, _of, ending = first.groups()
    return names == [f"{stem}-{n:05}-of-{len(names):05}{ending}" for n in range(len(names))]


def _joined(shards: list[Source]) -> Source:
    """Tables one after the other; lines are counted on."""

    def rows() -> records.Rows:
        last = 0
        for shard in shards:
            before = last
            for line, row in shard.rows():
                last = before + line
                yield last, row

    notes = [_("%d files are read as one table.") % len(shards), *shards[0].notes]
    return Source(shards[0].format, rows, notes)


def _ignored(entry: zipfile.ZipInfo) -> bool:
    """Folders, and what macOS adds."""
    name = Path(entry.filename).name
    return entry.is_dir() or name.startswith(".") or "__MACOSX" in entry.filename


def _check_size(path: Path, entries: list, limit: int) -> None:
    total = sum(entry.file_size for entry in entries)
    ratio = total / max(path.stat().st_size, 1)
    if total > limit or (total > RATIO_FROM and ratio > RATIO_LIMIT):
        raise bomb()
    if len(entries) > ENTRIES_LIMIT:
        raise ForeignFileError(_("The zip file holds too many files."))


def _gzip(path: Path, scratch: Scratch) -> Source:
    inner = scratch.folder / "table"
    limit = max(RATIO_FROM, path.stat().st_size * RATIO_LIMIT)
    try:
        with gzip.open(path) as source, inner.open("wb") as sink:
            _copy(source, sink, min(limit, scratch.limits.unpacked))
    except (OSError, EOFError) as error:
        raise ForeignFileError(_("The gzip file is broken: %s") % str(error)[:160]) from error
    return _open(inner, scratch)


def _copy(source: IO[bytes] | io.BufferedIOBase, sink: IO[bytes], left: int) -> None:
    while piece := source.read(1 << 20):
        left -= len(piece)
        if left < 0:
            raise bomb()
        sink.write(piece)


def bomb() -> ForeignFileError:
    return ForeignFileError(
        _("The file unfolds to far more than it is: that is refused. Send it uncompressed.")
    )


def _refuse(sentence: Callable[[], str]) -> Callable:
    def read(path: Path, scratch: Scratch) -> Source:
        raise ForeignFileError(sentence())

    return read


_MAGIC: dict[bytes, Callable[[Path, Scratch], Source]] = {
    b"PAR1": _parquet,
    b"PK\x03\x04": _zip,
    b"PK\x05\x06": _zip,
    b"\x1f\x8b": _gzip,
    b"\xd0\xcf\x11\xe0": _refuse(lambda: _("This is an old Excel file: save it as .xlsx or CSV.")),
    b"%PDF-": _refuse(lambda: _("This is a PDF, not a table.")),
}
