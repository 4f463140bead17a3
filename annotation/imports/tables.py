"""Opens a table of any format people have: CSV, TSV, JSON, JSON lines, Parquet, Excel, or a zip.

The format is told by content. Rows are read one after another; a row that cannot be read is given
as the reason why.
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
from itertools import accumulate
from pathlib import Path
from typing import IO

import ijson
import pyarrow as pa
import pyarrow.parquet as pq
from django.utils.translation import gettext as _
from python_calamine import CalamineError, CalamineWorkbook

from annotation.core import records
from annotation.core.errors import DomainError
from annotation.core.scratch import scratch_folder

SAMPLE = 65_536
PARQUET_ROWS = 1_000
# What a compressed file may unfold to, and how many times its own size from 10 MB on.
UNPACKED_LIMIT = 4 * 2**30
RATIO_LIMIT, RATIO_FROM = 100, 10 * 2**20
ENTRIES_LIMIT = 10_000
# Levels of a JSON file; those of a record are fewer (core.records).
NESTED_LIMIT = 100
# A sheet is held in memory whole.
SHEET_LIMIT = 200 * 2**20
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
TABLE_ENDINGS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx")
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_WHOLE = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)


class TableError(DomainError):
    """The file is no table that can be read; a sentence says why."""

    code = "table"


@dataclass
class Table:
    """A file as rows: ``rows()`` begins anew each time.

    ``notes`` says what was assumed about the file; ``folder`` is where a zipped bundle or release
    was unpacked, in the formats "bundle" and "release", which have no rows.
    """

    format: str
    open: Callable[[], records.Rows]
    notes: list[str] = field(default_factory=list)
    folder: Path | None = None

    def rows(self) -> records.Rows:
        """Line and record of each row, or the reason why it is none."""
        return self.open()


@contextmanager
def opened(path: Path) -> Iterator[Table]:
    """The table in the file ``path``; TableError where it is none.

    What a zip or gzip holds is unpacked into a temporary folder for the time of the block.
    """
    with scratch_folder() as scratch:
        try:
            yield _open(Path(path), scratch)
        except records.RecordsError as error:
            raise TableError(_("Line %(n)d: %(words)s.") % _parts(error)) from error


def _parts(error: records.RecordsError) -> dict:
    return {"n": error.line, "words": error.words}


def _open(path: Path, scratch: Path) -> Table:
    with path.open("rb") as stream:
        head = stream.read(SAMPLE)
    if not head.strip(b" \t\r\n\x00"):
        raise TableError(_("The file is empty."))
    for magic, read in _MAGIC.items():
        if head.startswith(magic):
            return read(path, scratch)
    text, encoding, notes = _decoded(head)
    start = text.lstrip().lower()[:200]
    if start.startswith(("<!doctype", "<html", "<?xml", "<head", "<body")):
        raise TableError(_("This is a web page or XML, not a table. Save it as CSV or JSON lines."))
    if start[:1] in ("{", "["):
        if encoding != "utf-8-sig":
            path, notes = _recoded(path, scratch, encoding), notes
        return _json(path, text, notes)
    if "\x00" in text:
        raise TableError(_("These are no characters: the file is no table that can be read here."))
    return _csv(path, text, encoding, notes)


# --- Text ----------------------------------------------------------------------------------------


def _decoded(head: bytes) -> tuple[str, str, list[str]]:
    """The beginning as text, its encoding, and what is to be said about it."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return head.decode("utf-16", "replace"), "utf-16", [_("The file is in UTF-16.")]
    half = len(head) // 2
    if half and head[1::2].count(0) > half * 0.4:
        return head.decode("utf-16-le", "replace"), "utf-16-le", [_("The file is in UTF-16.")]
    return head.decode("utf-8-sig", "replace"), "utf-8-sig", []


def _recoded(path: Path, scratch: Path, encoding: str) -> Path:
    """A copy of the file in UTF-8."""
    copy = scratch / "utf-8"
    try:
        with path.open(encoding=encoding) as source, copy.open("w", encoding="utf-8") as sink:
            shutil.copyfileobj(source, sink)
    except UnicodeError as error:
        raise TableError(_("The file begins as UTF-16 and does not go on so.")) from error
    return copy


def _csv(path: Path, text: str, encoding: str, notes: list[str]) -> Table:
    delimiter = _delimiter(text)
    if delimiter != ",":
        notes = [*notes, _("The columns are separated by: %s.") % DELIMITERS[delimiter]]

    def rows() -> records.Rows:
        with path.open("rb") as stream:
            yield from records.csv_rows(stream, _check_header, delimiter, encoding)

    return Table("csv", rows, notes)


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
    for name in names:
        if name and names.count(name) > 1:
            raise ValueError(_("two columns are called “%s”") % name[:80])


# --- JSON ----------------------------------------------------------------------------------------


def _json(path: Path, text: str, notes: list[str]) -> Table:
    if text.lstrip()[:1] == "{" and _is_lines(path):
        return Table("jsonl", lambda: _json_lines(path), notes)
    prefix = "item" if text.lstrip()[:1] == "[" else _list_in(path)
    return Table("json", lambda: _json_list(path, prefix), notes)


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
    with path.open("rb") as stream:
        yield from records.json_lines(stream)


def _list_in(path: Path) -> str:
    """The place of the first list of a JSON object: {"data": […]}; "" where it has none."""
    with _broken_json(), path.open("rb") as stream:
        for prefix, event, _value in ijson.parse(_Shallow(stream)):
            if event == "start_array" and "." not in prefix:
                return f"{prefix}.item"
    return ""


def _json_list(path: Path, prefix: str) -> records.Rows:
    """Objects of a JSON list, counted from 1."""
    with _broken_json(), path.open("rb") as stream:
        if stream.read(3) != records.BOM:
            stream.seek(0)
        values = ijson.items(_Shallow(stream), prefix, use_float=True)
        for number, value in enumerate(values, start=1):
            try:
                records.check_json(value)
            except ValueError as error:
                yield number, f"the record {error}"
                continue
            yield number, value if isinstance(value, dict) else "not a JSON object"


class _Shallow:
    """A stream of JSON, refused where it is nested deeper than any table is.

    ijson holds the whole path of each open level: 100,000 brackets would take 25 GB of memory.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._depth, self._open = stream, 0, b""

    def read(self, size: int = -1) -> bytes:
        """The next bytes; TableError where a bracket in them opens a level too many."""
        data = self._stream.read(size)
        text = _STRINGS.sub(b"", self._open + data)
        text, quote, half = text.partition(b'"')
        # What stands for a string that goes on in the next bytes, maybe after a backslash.
        self._open = quote and (b'"\\' if _WHOLE.fullmatch(half) is None else quote)
        opened = text.count(b"[") + text.count(b"{")
        if self._depth + opened > NESTED_LIMIT:
            steps = ((byte in b"[{") - (byte in b"]}") for byte in text)
            if max(accumulate(steps, initial=self._depth)) > NESTED_LIMIT:
                raise TableError(_("The file is nested too deeply to be a table."))
        self._depth += opened - text.count(b"]") - text.count(b"}")
        return data


@contextmanager
def _broken_json() -> Iterator[None]:
    try:
        yield
    except (ijson.JSONError, UnicodeError) as error:
        words = " ".join(str(error).split())[:160]
        raise TableError(_("The JSON is broken: %s") % words) from error


# --- Parquet and Excel ---------------------------------------------------------------------------


def _parquet(path: Path, scratch: Path) -> Table:
    try:
        pq.ParquetFile(path).close()
    except (pa.ArrowException, OSError) as error:
        raise TableError(_("The Parquet file is broken: %s") % str(error)[:160]) from error

    def rows() -> records.Rows:
        number = 0
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(PARQUET_ROWS):
                    for row in batch.to_pylist():
                        number += 1
                        yield number, {key: _plain(value) for key, value in row.items()}
        except (pa.ArrowException, OSError) as error:
            raise TableError(_("The Parquet file is broken: %s") % str(error)[:160]) from error

    return Table("parquet", rows)


def _excel(path: Path, scratch: Path) -> Table:
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > SHEET_LIMIT:
                raise TableError(_("The Excel file is too large: save it as CSV."))
        book = CalamineWorkbook.from_path(str(path))
        sheet = next(iter(book.sheet_names), None)
        if sheet is None:
            raise TableError(_("The Excel file has no sheet."))
        merged = book.get_sheet_by_name(sheet).merged_cell_ranges
    except CalamineError as error:
        raise TableError(_("The Excel file is broken: %s") % str(error)[:160]) from error
    if merged:
        row, column = merged[0][0]
        place = {"n": len(merged), "sheet": sheet, "row": row + 1, "column": column + 1}
        raise TableError(
            _(
                "The sheet “%(sheet)s” has %(n)d merged cells, the first in row %(row)d, column "
                "%(column)d: which row they belong to is unclear. Split them and send it again."
            )
            % place
        )
    notes = [_("Only the first sheet is read: %s.") % sheet] if len(book.sheet_names) > 1 else []
    return Table("xlsx", lambda: _sheet_rows(path, sheet), notes)


def _sheet_rows(path: Path, name: str) -> records.Rows:
    sheet = CalamineWorkbook.from_path(str(path)).get_sheet_by_name(name)
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
                raise TableError(str(error)) from error
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


def _zip(path: Path, scratch: Path) -> Table:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not _ignored(entry)]
            names = {entry.filename for entry in entries}
            if "xl/workbook.xml" in names:
                return _excel(path, scratch)
            _check_size(path, entries)
            return _unzipped(archive, entries, scratch)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise TableError(_("The zip file is broken: %s") % str(error)[:160]) from error


def _unzipped(archive: zipfile.ZipFile, entries: list, scratch: Path) -> Table:
    for name, format_ in (("study.json", "bundle"), ("manifest.json", "release")):
        roots = [entry for entry in entries if Path(entry.filename).name == name]
        if roots:
            # Absolute paths and “..” are dropped by `extract`.
            for entry in entries:
                archive.extract(entry, scratch)
            root = min(roots, key=lambda entry: len(Path(entry.filename).parts))
            folder = (scratch / root.filename).parent
            return Table(format_, lambda: iter(()), folder=folder)
    tables = [entry for entry in entries if entry.filename.lower().endswith(TABLE_ENDINGS)]
    if len(tables) != 1:
        raise TableError(
            _("The zip file holds %(n)d tables: send one table, or a study bundle.")
            % {"n": len(tables)}
        )
    inner = scratch / "table"
    with archive.open(tables[0]) as source, inner.open("wb") as sink:
        _copy(source, sink)
    return _open(inner, scratch)


def _ignored(entry: zipfile.ZipInfo) -> bool:
    """Folders, and what macOS adds."""
    name = Path(entry.filename).name
    return entry.is_dir() or name.startswith(".") or "__MACOSX" in entry.filename


def _check_size(path: Path, entries: list) -> None:
    total = sum(entry.file_size for entry in entries)
    ratio = total / max(path.stat().st_size, 1)
    if total > UNPACKED_LIMIT or (total > RATIO_FROM and ratio > RATIO_LIMIT):
        raise _bomb()
    if len(entries) > ENTRIES_LIMIT:
        raise TableError(_("The zip file holds too many files."))


def _gzip(path: Path, scratch: Path) -> Table:
    inner, limit = scratch / "table", max(RATIO_FROM, path.stat().st_size * RATIO_LIMIT)
    try:
        with gzip.open(path) as source, inner.open("wb") as sink:
            _copy(source, sink, min(limit, UNPACKED_LIMIT))
    except (OSError, EOFError) as error:
        raise TableError(_("The gzip file is broken: %s") % str(error)[:160]) from error
    return _open(inner, scratch)


def _copy(
    source: IO[bytes] | io.BufferedIOBase, sink: IO[bytes], limit: int = UNPACKED_LIMIT
) -> None:
    left = limit
    while piece := source.read(1 << 20):
        left -= len(piece)
        if left < 0:
            raise _bomb()
        sink.write(piece)


def _bomb() -> TableError:
    return TableError(
        _("The file unfolds to far more than it is: that is refused. Send it uncompressed.")
    )


def _refuse(sentence: Callable[[], str]) -> Callable:
    def read(path: Path, scratch: Path) -> Table:
        raise TableError(sentence())

    return read


_MAGIC: dict[bytes, Callable[[Path, Path], Table]] = {
    b"PAR1": _parquet,
    b"PK\x03\x04": _zip,
    b"PK\x05\x06": _zip,
    b"\x1f\x8b": _gzip,
    b"\xd0\xcf\x11\xe0": _refuse(lambda: _("This is an old Excel file: save it as .xlsx or CSV.")),
    b"%PDF-": _refuse(lambda: _("This is a PDF, not a table.")),
}


def sample(table: Table, size: int) -> list[tuple[int, dict]]:
    """The first rows that can be read, at most ``size``."""
    taken: list[tuple[int, dict]] = []
    for line, row in table.rows():
        if isinstance(row, dict):
            taken.append((line, row))
        if len(taken) == size:
            break
    return taken
