"""A member's bytes as text, JSON values or table rows, one at a time however large the file is.

The end of a JSON value is sought first, and the value is decoded alone. A streaming parser such as
ijson refuses a whole file for one NaN, one number beyond its range or half a surrogate pair;
exports hold them all, and only the entry concerned may suffer.
"""

import codecs
import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

from annotation.core.records import holds_many
from annotation.histories.archives import CHUNK, Stream
from annotation.histories.formats.build import Entry, objects, place
from annotation.histories.records import Refused, Skipped, skipped

READ = 1 << 20  # characters a step
PIECE = 12 << 20  # characters of one value
DEPTH = 10_000  # levels of a value
ROW, COLUMNS = 4 << 20, 1_000  # characters of one row of a table, its columns
# The longest Copilot answer is longer than the 131,072 characters that are the module's default.
csv.field_size_limit(ROW)

# Objects that hold the export's list under one of these keys.
_WRAPPERS = ("conversations", "Browser History")
# One that begins with it may be of any size. ShareGPT's records call their turns "conversations".
_WRAPPED = re.compile(
    rf'\{{\s*"(?:{"|".join(_WRAPPERS)})"\s*:\s*(?=\[)(?!\[\s*\{{\s*"(?:from|value)")'
)
_BLANK = re.compile("[ \t\r\n\ufeff]*")
# What is left of a string; a run without brackets but those that hold none; one without commas.
_QUOTED = re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL)
_INNER = r'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")'
_NESTED = re.compile(rf"(?:{_INNER}|\[{_INNER}*+\]|{{{_INNER}*+}})*+", re.DOTALL)
_OUTERMOST = re.compile(r'[^"\[\]{},\n]*+')


class Text:
    """A member as text: a byte order mark decides, else UTF-8; `fallback` names what stands in.

    ``replaced`` turns true once bytes were not what they seemed and the fallback was used.
    """

    def __init__(self, stream: Stream, fallback: str = "utf-8") -> None:
        self.replaced = False
        head = stream.head(4)
        if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")) or b"\0" in head[:2]:
            raise Refused("encoding")
        is_wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        self._fallback = "" if is_wide else fallback
        # One member is read at a time, so the name is this text's as long as it is read.
        codecs.register_error("noted", self._replace)
        encoding = "utf-16" if is_wide else "utf-8-sig"
        text = io.TextIOWrapper(io.BufferedReader(stream, CHUNK), encoding, "noted", newline="")
        self.read, self.readline = text.read, text.readline

    def _replace(self, error: Any) -> tuple[str, int]:
        self.replaced = True
        odd = error.object[error.start : error.end]
        return odd.decode(self._fallback, "replace") if self._fallback else "\ufffd", error.end


# --- JSON -----------------------------------------------------------------------------------------


class _Unfit(Exception):  # noqa: N818 - never leaves this module
    """The current value cannot be decoded; `code` is the reason."""

    def __init__(self, code: str) -> None:
        self.code = code


def _whole(digits: str) -> int | float:
    # Python refuses to read more digits than this, since it takes quadratic time.
    return int(digits) if len(digits) <= 4_000 else float(digits)


def _decoded(text: str) -> object:
    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, strict=False, parse_int=_whole)


class Document:
    """The entries of a JSON document: of an array, of a known wrapper around one, or of lines.

    `text` gives the document, after what is in `begun`; with `open_end` anything may follow it.
    """

    def __init__(self, text: Text, begun: str = "", *, open_end: bool = False) -> None:
        self._text, self._buffer, self._open_end = text, begun, open_end
        self._at, self._line = 0, 1

    def entries(self) -> Iterator[Entry | Skipped]:
        """All entries, in order; Refused where the document is broken beyond one of its lines."""
        first = self._peek()
        if wrapped := _WRAPPED.match(self._buffer, self._at):
            self._move(wrapped.end())
            yield from self._elements()
        elif first == "[":
            yield from self._elements()
            if not self._open_end and self._peek():
                raise Refused("invalid_json")
        else:
            yield from self._lines()

    def _elements(self) -> Iterator[Entry | Skipped]:
        self._move(self._at + 1)
        number, mark = 0, ","
        if self._peek() == "]":
            self._move(self._at + 1)
            return
        while mark == ",":
            number += 1
            self._peek()
            try:
                yield Entry(number, self._decode())
            except _Unfit as unfit:
                if unfit.code not in ("too_large", "too_deep"):
                    raise Refused(unfit.code) from None
                yield skipped(place(number), unfit.code)
            mark = self._peek()
            if mark not in (",", "]"):
                raise Refused("invalid_json" if mark else "truncated_json")
            self._move(self._at + 1)

    def _lines(self) -> Iterator[Entry | Skipped]:
        begun = False
        while self._peek():
            line = self._line
            try:
                yield from _unwrapped(line, self._decode(of_lines=True))
            except _Unfit as unfit:
                code = unfit.code
                if code not in ("too_large", "too_deep"):
                    code = self._next_line(code, begun)
                yield skipped(place(line, True), code)
            begun = True

    def _peek(self) -> str:
        """The next character that is not blank, "" at the end."""
        while True:
            blank = _BLANK.match(self._buffer, self._at)
            self._move(blank.end() if blank else self._at)
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                return ""

    def _move(self, to: int) -> None:
        self._line += self._buffer.count("\n", self._at, to)
        self._at = to

    def _more(self) -> bool:
        """Read on; what has been passed is dropped."""
        piece = self._text.read(READ)
        self._buffer, self._at = self._buffer[self._at :] + piece, 0
        return bool(piece)

    def _decode(self, of_lines: bool = False) -> object:
        """The value that begins here, which is stepped over.

        _Unfit where it is too large or too deep, which is stepped over too, or broken.
        """
        text = self._value(of_lines)
        if holds_many(text):
            self._move(self._at + len(text))
            raise _Unfit("too_large")
        try:
            value = _decoded(text)
        except json.JSONDecodeError:
            raise _Unfit("invalid_json") from None
        except RecursionError:
            self._move(self._at + len(text))
            raise _Unfit("too_deep") from None
        self._move(self._at + len(text))
        return value

    def _value(self, of_lines: bool) -> str:
        """The text of the value that begins here.

        A large one is stepped over without holding it, unless it has several lines: then, of
        lines, one is broken.
        """
        length, depth, quoted, done, large = 0, 0, False, False, False
        while not done:
            end, depth, quoted, done = _skim(self._buffer, self._at + length, depth, quoted)
            length = end - self._at
            if length > PIECE:
                if of_lines and "\n" in self._buffer[self._at : end]:
                    raise _Unfit("invalid_json")
                self._move(end)
                length, large = 0, True
            if not done and not self._more():
                if depth or quoted or not length:
                    raise _Unfit("truncated_json")
                done = True
        if large:
            self._move(self._at + length)
            raise _Unfit("too_large")
        return self._buffer[self._at : self._at + length]

    def _next_line(self, code: str, begun: bool) -> str:
        """Go to the line after a broken one; its fault. Refused unless the document has lines."""
        while (end := self._buffer.find("\n", self._at)) < 0:
            if len(self._buffer) > PIECE:
                raise Refused(code)
            if not self._more():
                if not begun:
                    raise Refused(code)
                self._move(len(self._buffer))
                return code
        line = self._buffer[self._at : end].strip()
        self._move(end)
        if not begun and (len(line) < 2 or self._peek() != "{"):
            raise Refused(code)
        return "invalid_json"


def _skim(text: str, at: int, depth: int, quoted: bool) -> tuple[int, int, bool, bool]:
    """Where a value ends, or how deep in it and whether in a string its text ends; and which."""
    while at < len(text):
        if quoted:
            at = _end(_QUOTED, text, at)
            if at == len(text) or text[at] == "\\":
                return at, depth, True, False
            at, quoted = at + 1, False
        else:
            at = _end(_NESTED if depth else _OUTERMOST, text, at)
            if at == len(text):
                break
            mark = text[at]
            if depth == 0 and mark in ",]}\n":
                return at, 0, False, True
            at, quoted = at + 1, mark == '"'
            depth += 1 if mark in "[{" else -1 if mark in "]}" else 0
            if depth > DEPTH:
                raise Refused("too_deep")
        if depth == 0 and not quoted:
            return at, 0, False, True
    return at, depth, quoted, False


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where ``pattern``, which also matches nothing, stops to match ``text`` from ``at`` on."""
    match = pattern.match(text, at)
    return match.end() if match else at


def _unwrapped(line: int, value: object) -> Iterator[Entry]:
    """The entries of a wrapper that was decoded whole, else the value itself."""
    if isinstance(value, dict):
        for key in _WRAPPERS:
            inner = value.get(key)
            if isinstance(inner, list) and not any("from" in turn for turn in objects(inner)):
                for number, element in enumerate(inner, 1):
                    yield Entry(number, element)
                return
    yield Entry(line, value, of_lines=True)


# --- Tables ---------------------------------------------------------------------------------------


class Table:
    """A CSV file; ``header`` holds its column names, lower case, the separator is the header's."""

    def __init__(self, text: Text) -> None:
        self._text, self._since = text, 0
        lines = self._lines()
        first = next(lines, "")
        separator = max(",;\t", key=first.count)
        names = next(csv.reader([first], delimiter=separator), [])
        if len(names) > COLUMNS:
            raise Refused("unsupported_format")
        self.header = [name.strip(" \t\ufeff").lower() for name in names]
        self._rows = csv.reader(lines, delimiter=separator)

    def rows(self) -> Iterator[Entry]:
        """One entry a row: {column name: cell}; blank rows are none."""
        while True:
            line = self._rows.line_num + 2
            try:
                row = next(self._rows, None)
            except csv.Error:
                raise Refused("too_large") from None
            self._since = 0
            if row is None:
                return
            if row:
                yield Entry(line, dict(zip(self.header, row, strict=False)), of_lines=True)

    def _lines(self) -> Iterator[str]:
        while line := self._text.readline(ROW + 1):
            # Quotes that never close would let one row grow to the size of the file.
            self._since += len(line)
            if self._since > ROW:
                raise Refused("too_large")
            yield line
