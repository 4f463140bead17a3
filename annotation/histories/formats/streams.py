"""A member's bytes as text, JSON values or table rows, one at a time however large the file is.

JSON is decoded by the standard library's scanner, value by value. A streaming parser such as ijson
refuses a whole file for one NaN, one number beyond its range or half a surrogate pair; exports hold
them all, and only the entry concerned may suffer.
"""

import codecs
import csv
import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from annotation.histories.archives import CHUNK, Stream
from annotation.histories.formats.build import objects
from annotation.histories.records import Refused, Skipped, skipped

READ = 1 << 20  # characters a step
# One value: so many characters, bytes in memory, and bytes that its objects may take.
PIECE, PIECE_BYTES, PIECE_OBJECTS = 12 << 20, 24 << 20, 72 << 20
SMALL_PIECE = 2 << 20  # whatever it holds, its objects fit
DEPTH, SKIPPED = 10_000, 64 << 20  # levels and characters of a value that is stepped over
ROW, COLUMNS = 4 << 20, 1_000  # characters of one row of a table, its columns
# The longest Copilot answer is longer than the 131,072 characters that are the module's default.
csv.field_size_limit(ROW)

# Objects that hold the export's list under one of these keys.
_WRAPPERS = ("conversations", "Browser History")
_BLANK = re.compile("[ \t\r\n\ufeff]*")
_CUT_OFF = re.compile(r"[-+.\w\\]*")
# What is left of a string; a run without brackets but those that hold none; one without commas.
_QUOTED = re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL)
_INNER = r'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")'
_NESTED = re.compile(rf"(?:{_INNER}|\[{_INNER}*+\]|{{{_INNER}*+}})*+", re.DOTALL)
_OUTERMOST = re.compile(r'[^"\[\]{},]*+')
_LINE_END = re.compile(r"\r\n|\n|\r")


class Text:
    """A member as text: a byte order mark decides, else UTF-8; `fallback` names what stands in.

    ``replaced`` turns true once bytes were not what they seemed and the fallback was used.
    """

    def __init__(self, stream: Stream, fallback: str = "utf-8") -> None:
        self._stream, self._fallback, self.replaced = stream, fallback, False
        self._head = self._read(4)
        if self._head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")) or b"\0" in self._head[:2]:
            raise Refused("encoding")
        if self._head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            self._encoding = "utf-16"
        else:
            self._encoding = "utf-8-sig"
        self._decoder = codecs.getincrementaldecoder(self._encoding)("strict")

    def read(self, size: int = READ) -> str:
        """About `size` characters, "" at the end alone."""
        while True:
            data = self._head + self._read(size)
            self._head = b""
            text = self._decode(data, final=not data)
            if text or not data:
                return text

    def _read(self, size: int) -> bytes:
        parts = []
        while size > 0 and (data := self._stream.read(min(size, CHUNK))):
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def _decode(self, data: bytes, final: bool) -> str:
        try:
            return self._decoder.decode(data, final)
        except UnicodeDecodeError:
            held = self._decoder.getstate()[0]
        self.replaced = True
        encoding = self._encoding if self._encoding == "utf-16" else self._fallback
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        if encoding == "utf-16":
            decoder.setstate((b"", self._decoder.getstate()[1]))
        self._decoder = decoder
        return decoder.decode(held + data, final)


# --- JSON -----------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """One value of a file's outermost list, and its place in it."""

    number: int
    value: Any
    of_lines: bool = False

    @property
    def where(self) -> str:
        """The place, for a person."""
        return place(self.number, self.of_lines)


def place(number: int, of_lines: bool = False) -> str:
    """The entry, or line, of a file as a message to a person names it."""
    words = _("line %(number)d") if of_lines else _("entry %(number)d")
    return words % {"number": number}


class _Unfit(Exception):  # noqa: N818 - never leaves this module
    """The current value cannot be decoded; `code` is the reason."""

    def __init__(self, code: str) -> None:
        self.code = code


def _whole(digits: str) -> int | float:
    # Python refuses to read more digits than this, since it takes quadratic time.
    return int(digits) if len(digits) <= 4_000 else float(digits)


# The scanner of a decoder is in no stub.
_Scan = Callable[[str, int], tuple[object, int]]
_scan: _Scan = vars(json.JSONDecoder(strict=False))["scan_once"]
_scan_long_numbers: _Scan = vars(json.JSONDecoder(strict=False, parse_int=_whole))["scan_once"]


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where ``pattern``, which also matches nothing, stops to match ``text`` from ``at`` on."""
    match = pattern.match(text, at)
    return match.end() if match else at


class Document:
    """The entries of a JSON document: of an array, of a known wrapper around one, or of lines.

    `text` gives the document, after what is in `begun`; with `open_end` anything may follow it.
    """

    def __init__(self, text: Text, begun: str = "", *, open_end: bool = False) -> None:
        self._text, self._buffer, self._open_end = text, begun, open_end
        self._at, self._line, self._ended = 0, 1, False
        self._spare = ""  # what follows the buffer and was read already

    def entries(self) -> Iterator[Entry | Skipped]:
        """All entries, in order; Refused where the document is broken beyond one of its lines."""
        if self._peek() != "[":
            yield from self._lines()
            return
        yield from self._elements()
        if not self._open_end and self._peek():
            raise Refused("invalid_json")

    def _lines(self) -> Iterator[Entry | Skipped]:
        begun = False
        while self._peek():
            line = self._line
            wrapper = self._buffer[self._at] == "{" and not begun
            try:
                value = self._decode()
            except _Unfit as unfit:
                if unfit.code == "too_large" and wrapper:
                    yield from self._members()
                elif unfit.code in ("too_large", "too_deep"):
                    self._skip()
                    yield skipped(place(line, True), unfit.code)
                else:
                    self._next_line(unfit.code, begun)
                    yield skipped(place(line, True), unfit.code)
            else:
                yield from _unwrapped(line, value)
            begun = True
            if self._open_end:
                return

    def _elements(self) -> Iterator[Entry | Skipped]:
        self._move(self._at + 1)
        number = 0
        mark = self._peek()
        while mark != "]" or number:
            number += 1
            try:
                yield Entry(number, self._decode())
            except _Unfit as unfit:
                if unfit.code not in ("too_large", "too_deep"):
                    raise Refused(unfit.code) from None
                self._skip()
                yield skipped(place(number), unfit.code)
            if self._separator("]"):
                return
        self._move(self._at + 1)

    def _members(self) -> Iterator[Entry | Skipped]:
        """What an object too large to hold has under a wrapper's key."""
        self._move(self._at + 1)
        while True:
            self._peek()
            try:
                key = self._decode()
            except _Unfit as unfit:
                raise Refused(unfit.code) from None
            if not isinstance(key, str) or self._peek() != ":":
                raise Refused("invalid_json")
            self._move(self._at + 1)
            if self._peek() == "[" and key in _WRAPPERS:
                yield from self._elements()
            else:
                self._skip()
            if self._separator("}"):
                return

    def _separator(self, closing: str) -> bool:
        """Step over the comma, or over what closes the list: then true."""
        mark = self._peek()
        if mark not in (",", closing):
            raise Refused("invalid_json" if mark else "truncated_json")
        self._move(self._at + 1)
        self._peek()
        return mark == closing

    def _peek(self) -> str:
        """The next character that is not blank, "" at the end."""
        while True:
            self._move(_end(_BLANK, self._buffer, self._at))
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                return ""

    def _move(self, to: int) -> None:
        self._line += self._buffer.count("\n", self._at, to)
        self._at = to

    def _more(self) -> bool:
        """Read on; what has been passed is dropped."""
        rest = self._buffer[self._at :]
        self._buffer, self._at = "", 0
        # As much again as there is: a long value is tried a few times only.
        size = max(READ, min(len(rest), PIECE + READ - len(rest)))
        if self._spare:
            piece, self._spare = self._spare[:size], self._spare[size:]
        else:
            piece = "" if self._ended else self._text.read(size)
        self._buffer = rest + piece
        self._ended = not piece
        return not self._ended

    def _decode(self) -> object:
        """The value that begins here; _Unfit where it is broken, too large or too deep."""
        if len(self._buffer) - self._at > SMALL_PIECE:
            # Left from a large value. The size of the buffer shall tell that of the value in it.
            ahead = self._buffer[self._at :]
            self._spare = ahead[READ:] + self._spare
            self._buffer, self._at = ahead[:READ], 0
        while True:
            self._check_size()
            try:
                value, end = self._scanned()
                length = end - self._at
                # A number at the very end of what was read may go on.
                if end < len(self._buffer) or self._ended or not self._more():
                    self._move(self._at + length)
                    return value
                continue
            except RecursionError:
                raise _Unfit("too_deep") from None
            except StopIteration as stop:
                fault, open_text = stop.value, False
            except json.JSONDecodeError as error:
                fault, open_text = error.pos, error.msg.startswith("Unterminated")
            # Is this wrong, or only not read to its end?
            if not open_text and not _CUT_OFF.fullmatch(self._buffer, fault):
                raise _Unfit("invalid_json")
            if self._ended or not self._more():
                raise _Unfit("truncated_json")

    def _scanned(self) -> tuple[object, int]:
        try:
            return _scan(self._buffer, self._at)
        except json.JSONDecodeError:
            raise
        except ValueError:
            return _scan_long_numbers(self._buffer, self._at)

    def _check_size(self) -> None:
        length = len(self._buffer) - self._at
        if length <= SMALL_PIECE:
            return
        if length > PIECE or sys.getsizeof(self._buffer) > PIECE_BYTES:
            raise _Unfit("too_large")
        weights = {"{": 240, "[": 80, '"': 30, ",": 32}
        if sum(w * self._buffer.count(c, self._at) for c, w in weights.items()) > PIECE_OBJECTS:
            raise _Unfit("too_large")

    def _skip(self) -> None:
        """Step over the value that begins here, without holding it."""
        depth, quoted, done, passed = 0, False, False, 0
        self._peek()
        while True:
            at, depth, quoted, done = _skim(self._buffer, self._at, depth, quoted)
            self._move(at)
            if done:
                return
            passed += READ
            if passed > SKIPPED:
                raise Refused("too_large")
            if not self._more():
                raise Refused("truncated_json")

    def _next_line(self, code: str, begun: bool) -> None:
        """Go to the line after a broken one; Refused unless the document is one of lines."""
        while (end := self._buffer.find("\n", self._at)) < 0:
            if not self._more():
                if not begun:
                    raise Refused(code)
                self._move(len(self._buffer))
                return
            if len(self._buffer) > PIECE:
                raise Refused(code)
        line = self._buffer[self._at : end].strip()
        self._move(end)
        if not begun and (len(line) < 2 or self._peek() != "{"):
            raise Refused(code)


def _skim(text: str, at: int, depth: int, quoted: bool) -> tuple[int, int, bool, bool]:
    """Where a value ends, or how deep in it and whether in a string its text ends; and which."""
    while True:
        if quoted:
            at = _end(_QUOTED, text, at)
            if at == len(text) or text[at] == "\\":
                return at, depth, True, False
            at, quoted = at + 1, False
        else:
            at = _end(_NESTED if depth else _OUTERMOST, text, at)
            if at == len(text):
                return at, depth, False, False
            mark = text[at]
            if depth == 0 and mark in ",]}":
                return at, 0, False, True
            at, quoted = at + 1, mark == '"'
            depth += 1 if mark in "[{" else -1 if mark in "]}" else 0
            if depth > DEPTH:
                raise Refused("too_deep")
        if depth == 0 and not quoted:
            return at, 0, False, True


def _unwrapped(line: int, value: object) -> Iterator[Entry]:
    """The entries of a wrapper that was small enough to be decoded whole, else the value itself."""
    if isinstance(value, dict):
        for key in _WRAPPERS:
            inner = value.get(key)
            # ShareGPT's records call their turns "conversations".
            if isinstance(inner, list) and not any("from" in turn for turn in objects(inner)):
                for number, element in enumerate(inner, 1):
                    yield Entry(number, element)
                return
    yield Entry(line, value, of_lines=True)


def each(fits: Callable[[dict], object]) -> Callable[[Callable], Callable]:
    """For formats whose entries stand alone: read those that ``fits``; the others are junk."""

    def of_all(read: Callable) -> Callable:
        def read_all(entries: Iterator[Entry | Skipped]) -> Iterator:
            for entry in entries:
                if isinstance(entry, Skipped):
                    yield entry
                elif isinstance(entry.value, dict) and fits(entry.value):
                    yield from read(entry)
                else:
                    yield skipped(entry.where, "junk")

        return read_all

    return of_all


def holds(key: str, shape: type) -> Callable[[dict], bool]:
    """Whether an object has a value of the type ``shape`` under ``key``."""
    return lambda value: isinstance(value.get(key), shape)


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
        rest = ""
        while piece := self._text.read():
            rest += piece
            at = 0
            for ending in _LINE_END.finditer(rest):
                # The line feed of a pair may be in the next piece.
                if ending.end() == len(rest) and ending[0] == "\r":
                    break
                line, at = rest[at : ending.end()], ending.end()
                self._spend(len(line))
                yield line
            rest = rest[at:]
            self._spend(0, len(rest))
        if rest:
            self._spend(len(rest))
            yield rest

    def _spend(self, passed: int, held: int = 0) -> None:
        # Quotes that never close would let one row grow to the size of the file.
        self._since += passed
        if self._since + held > ROW:
            raise Refused("too_large")
