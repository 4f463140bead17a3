"""Records of a file of JSON lines or CSV: one reader, with line numbers and faults.

A row that is no record is given as the reason, so that the caller decides what a fault means: the
end of the reading, a rejected line, or a line that is left out.
"""

import codecs
import csv
import io
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.core.errors import DomainError

LINE_LIMIT = 5_000_000
DEPTH_LIMIT = 20
# Of one JSON value: decoding a million takes seconds.
VALUES_LIMIT = 300_000
SAMPLE = 65_536
BOM = codecs.BOM_UTF8
# Longer than Python's default: an answer may fill a field. It bounds what an open quote can read.
csv.field_size_limit(LINE_LIMIT)

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_OVERRIDES = re.compile("[\u202d\u202e\u2066-\u2069]")

# The line a record begins on, and the record or what is wrong with it.
Rows = Iterator[tuple[int, dict | str]]
CheckHeader = Callable[[list[str]], None] | None


class RecordsError(DomainError):
    """The file as a whole cannot be read: ``line`` and words, joined in the sentence."""

    code = "records"

    def __init__(self, line: int, words: str):
        super().__init__(_("line %(line)d: %(words)s") % {"line": line, "words": words})
        self.line, self.words = line, words


class BrokenRecordError(ValueError):
    """Bytes that are no JSON object; ``later`` counts the lines before the fault."""

    def __init__(self, words: str, later: int = 0):
        super().__init__(words)
        self.later = later


def read_records(stream: BinaryIO, check_header: CheckHeader = None) -> Rows:
    """Records of ``stream``, JSON lines or CSV, recognised by the first character.

    ``check_header(names)`` may refuse the columns of a CSV with ValueError. Raises RecordsError
    for an empty file and a wrong header.
    """
    head = stream.read(SAMPLE).removeprefix(BOM).lstrip()
    stream.seek(0)
    if not head:
        raise RecordsError(1, _("the file is empty"))
    return json_lines(stream) if head[:1] in b"{[" else csv_rows(stream, check_header)


def columns(names: Collection[str], required: Collection[str]) -> Callable[[list[str]], None]:
    """A ``check_header`` for columns of these names: none twice, all ``required`` ones there."""

    def check(header: list[str]) -> None:
        for name in names:
            if header.count(name) > 1:
                raise ValueError(f"two columns are called {name}")
            if name in required and name not in header:
                raise ValueError(f"there is no column {name}")

    return check


def objects(path: Path, name: str, refusal: type[DomainError]) -> Iterator[tuple[int, dict]]:
    """Line number and object of each line of the JSON lines in ``path``.

    Raises ``refusal`` with ``name`` in its sentence where one is no object, or nothing can be read.
    """
    try:
        with path.open("rb") as stream:
            for line, row in json_lines(stream):
                if isinstance(row, str):
                    raise refusal(f"{name}, line {line}: {row}.")
                yield line, row
    except OSError as error:
        reason = (error.strerror or "it cannot be read").lower()
        raise refusal(f"{name}: {reason}.") from error


def messages(path: Path, scratch: Path, limits: object) -> Iterator[tuple[int, dict | str | list]]:
    """What ``read_records`` says of a foreign file, for the process that reads it (core.foreign).

    Before the rows of a CSV come the names of its columns.
    """
    names: list[str] = []
    with path.open("rb") as stream:
        rows = read_records(stream, names.extend)
        first = next(rows, None)
        if names:
            yield 1, names
        if first:
            yield first
        yield from rows


def texts(path: Path, scratch: Path, limits: object) -> Iterator[list[str]]:
    """The lines of a foreign file of text, for the process that reads it (core.foreign)."""
    try:
        yield clean(path.read_text("utf-8-sig")).splitlines()
    except UnicodeDecodeError as error:
        raise DomainError(_("The file is not UTF-8 text.")) from error


def json_text(path: Path, scratch: Path, limits: object) -> Iterator[list[str]]:
    """The text of a foreign file that holds a JSON object, for the process that reads it."""
    raw = path.read_bytes().removeprefix(BOM)
    try:
        parse(raw)
        yield [raw.decode()]
    except BrokenRecordError as error:
        raise RecordsError(1 + error.later, str(error)) from error


def json_lines(stream: BinaryIO, limit: int = LINE_LIMIT) -> Rows:
    """One JSON object a line; blank lines are passed over. A line over ``limit`` ends the file."""
    number = 0
    # Not `splitlines`: a string of JSON may hold other ends of lines, U+2028 for one.
    while raw := stream.readline(limit + 1):
        number += 1
        if len(raw) > limit:
            yield number, _("the line is longer than %s bytes; no more was read") % f"{limit:,}"
            return
        raw = raw.removeprefix(BOM) if number == 1 else raw
        if not raw.strip():
            continue
        try:
            yield number, parse(raw.rstrip())
        except BrokenRecordError as error:
            yield number, str(error)


def csv_rows(
    stream: BinaryIO,
    check_header: CheckHeader = None,
    delimiter: str = ",",
    encoding: str = "utf-8-sig",
) -> Rows:
    """One dict of text a row, by the names of the first row that is not blank.

    Bytes that are no text become lone surrogates, so that they spoil their own row only.
    """
    text = io.TextIOWrapper(stream, encoding, errors="surrogateescape", newline="")
    lists = _csv_lists(text, delimiter)
    try:
        line, header = next(((line, row) for line, row in lists if row), (1, []))
        if isinstance(header, str):
            raise RecordsError(line, header)
        header = [name.strip() for name in header]
        try:
            if check_header:
                check_header(header)
        except ValueError as error:
            raise RecordsError(line, str(error)) from error
        for number, row in lists:
            if isinstance(row, str):
                yield number, row
            elif row and len(row) != len(header):
                counts = {"n": len(row), "columns": len(header)}
                words = ngettext("%(n)d field where the header has %(columns)d",
                                 "%(n)d fields where the header has %(columns)d",
                                 len(row))  # fmt: skip
                yield number, words % counts
            elif row:
                yield number, dict(zip(header, row, strict=True))
    finally:
        text.detach()


def _csv_lists(text: Iterable[str], delimiter: str) -> Iterator[tuple[int, list | str]]:
    reader = csv.reader(text, strict=True, delimiter=delimiter)
    while True:
        line = reader.line_num + 1
        try:
            yield line, next(reader)
        except csv.Error as error:
            reason = str(error)
            if reason == "unexpected end of data":
                last = reader.line_num
                words = _("a quotation mark is never closed: nothing is read from it to line %d")
                reason = words % last
            yield line, _("broken CSV (%s)") % reason
        except StopIteration:
            return


# What Python's reader says, here for the catalogues.
JSON_FAULTS = (
    gettext_lazy("Expecting value"),
    gettext_lazy("Expecting property name enclosed in double quotes"),
    gettext_lazy("Expecting ':' delimiter"),
    gettext_lazy("Expecting ',' delimiter"),
    gettext_lazy("Unterminated string starting at"),
    gettext_lazy("Invalid control character at"),
    gettext_lazy("Invalid \\escape"),
    gettext_lazy("Invalid \\uXXXX escape"),
    gettext_lazy("Extra data"),
)


def parse(raw: bytes) -> dict:
    """The JSON object of these bytes; BrokenRecordError with the reason where they are none."""
    try:
        text = raw.decode()
        if holds_many(text):
            raise ValueError(_("holds more than %(n)s values") % {"n": f"{VALUES_LIMIT:,}"})
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite, parse_int=_integer)
        # Only an escape can bring in what UTF-8 text cannot hold.
        if b"\\u" in raw or raw.count(b"{") + raw.count(b"[") > DEPTH_LIMIT:
            check_json(value)
    except UnicodeDecodeError as error:
        later = raw.count(b"\n", 0, error.start)
        raise BrokenRecordError(_("the bytes are not UTF-8 text"), later) from error
    except json.JSONDecodeError as error:
        place = {"fault": _(error.msg), "n": error.colno}
        words = _("a NUL byte") if b"\x00" in raw else _("%(fault)s, column %(n)d") % place
        raise BrokenRecordError(_("broken JSON (%s)") % words, error.lineno - 1) from error
    except RecursionError as error:
        words = _("the line is nested deeper than %d levels") % DEPTH_LIMIT
        raise BrokenRecordError(words) from error
    except ValueError as error:
        raise BrokenRecordError(_("the line %(fault)s") % {"fault": error}) from error
    if not isinstance(value, dict):
        raise BrokenRecordError(_("not a JSON object"))
    return value


def holds_many(text: str) -> bool:
    """Whether a JSON text holds more than VALUES_LIMIT keys and values."""
    return _marks(text) > VALUES_LIMIT and _marks(_STRING.sub("", text)) > VALUES_LIMIT


def _marks(text: str) -> int:
    return text.count(",") + text.count(":")


def check_json(value: object, depth: int = 0) -> None:
    """ValueError with words where a JSON value cannot be stored or shown (NUL, depth, …)."""
    if depth > DEPTH_LIMIT:
        raise ValueError(_("is nested deeper than %(n)d levels") % {"n": DEPTH_LIMIT})
    if isinstance(value, str):
        if "\x00" in value:
            raise ValueError(_("holds a NUL character"))
        if _SURROGATE.search(value):
            raise ValueError(_("holds half of a surrogate pair"))
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(_("holds a number that is too large"))
    elif isinstance(value, list | dict):
        for entry in value if isinstance(value, list) else [*value, *value.values()]:
            check_json(entry, depth + 1)


def _no_number(word: str) -> NoReturn:
    raise ValueError(_("holds %(word)s, which is not JSON") % {"word": word})


def _integer(word: str) -> int:
    if len(word) > 300:
        raise ValueError(_("holds a number that is too large"))
    return int(word)


def _finite(word: str) -> float:
    value = float(word)
    if not math.isfinite(value):
        raise ValueError(_("holds a number that is too large"))
    return value


def number_of(value: Any) -> float | None:
    """A finite number, also one written as text; None for anything else."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


# --- Streams of rows, and texts that can be stored ------------------------------------------------


def chunks(rows: Iterable, size: int) -> Iterator[list]:
    rows = iter(rows)
    while chunk := list(islice(rows, size)):
        yield chunk


def silent(rows: Iterable, name: str, total: int | None) -> Iterable:
    """``rows`` as they are: what takes a ``bar`` shows nothing by default."""
    return rows


def bar(rows: Iterable, name: str, total: int | None) -> Iterable:
    """``rows``, with a progress bar called ``name`` where stderr is a terminal."""
    from tqdm import tqdm  # only where somebody may look

    return tqdm(rows, desc=name, total=total, unit="", disable=None, leave=False)


def clean(text: str) -> str:
    """Return ``text`` without characters that PostgreSQL or a browser cannot hold.

    NUL is dropped, a lone surrogate becomes U+FFFD, and bidirectional overrides and isolates,
    which could make a text read otherwise than it is, are dropped too.
    """
    text = _SURROGATE.sub("\ufffd", text.replace("\x00", ""))
    return _OVERRIDES.sub("", text)


def transcript(messages: list[dict]) -> str:
    """A conversation ({"role", "content"}) as one text, each message under its role."""
    if len(messages) == 1:
        return str(messages[0]["content"])
    return "\n\n".join(f"**{one['role'].capitalize()}:** {one['content']}" for one in messages)
