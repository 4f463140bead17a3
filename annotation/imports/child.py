"""The process in which one foreign table is read: it has no database, no secrets, and limits.

Started by `tables`. It writes lines of JSON: what the file is, the names of the columns wherever
they change, [line, cells] or [line, reason] of each row, and at last END or a refusal.
"""

import json
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _

from annotation.core import memory
from annotation.core.records import RecordsError, Rows
from annotation.imports import readers
from annotation.imports.limits import END, OUT_OF_MEMORY, ROW_CELLS, Limits, TableError, too_large
from annotation.product import FILES


def main(path: str, scratch: str, limits: Limits, language: str) -> None:
    """Write the table in the file ``path`` to standard output."""
    settings.configure(USE_I18N=True, LOCALE_PATHS=[FILES / "locale"])
    django.setup()
    translation.activate(language)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1))
    # Whoever waited for the rows may have gone.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        with memory.bounded(limits.memory):
            for message in _messages(Path(path), Path(scratch), limits):
                sys.stdout.buffer.write(message + b"\n")
            sys.stdout.buffer.flush()
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)


def _messages(path: Path, scratch: Path, limits: Limits) -> Iterator[bytes]:
    try:
        source = readers.read(path, scratch, limits.unpacked)
        folder = source.folder and str(source.folder)
        yield _written({"format": source.format, "notes": source.notes, "folder": folder})
        yield from _rows(source.rows(), limits)
        yield _written(END)
    except RecordsError as error:
        words = {"n": error.line, "words": error.words}
        yield _written({"refusal": _("Line %(n)d: %(words)s.") % words, "code": TableError.code})
    except TableError as error:
        yield _written({"refusal": error.sentence, "code": error.code})


def _rows(rows: Rows, limits: Limits) -> Iterator[bytes]:
    columns: list[str] = []
    names: set[str] = set()
    cells = text = 0
    for line, row in rows:
        if isinstance(row, str):
            yield _written([line, row])
            continue
        if list(row) != columns:
            columns = list(row)
            names.update(columns)
            if len(names) > limits.columns:
                sentence = _("The table has more than %(n)s columns, the limit.")
                raise too_large(sentence, limits.columns)
            text += len(head := _written({"columns": columns}))
            yield head
        cells += len(row)
        if cells > limits.cells:
            raise too_large(_("The table has more than %(n)s cells, the limit."), limits.cells)
        written = _row(line, row, limits.cell)
        text += len(written)
        if text > limits.text:
            raise readers.bomb()
        yield written


def _row(line: int, row: dict, limit: int) -> bytes:
    """The row, or the reason where it or a cell of it is too long."""
    written = _written([line, list(row.values())])
    if len(written) <= limit:
        return written
    for name, value in row.items():
        if len(value if isinstance(value, str) else _written(value)) > limit:
            words = {"name": name[:60], "n": f"{limit:,}"}
            reason = _("the cell “%(name)s” is longer than %(n)s characters, the limit") % words
            return _written([line, reason])
    if len(written) > ROW_CELLS * limit:
        words = {"n": f"{ROW_CELLS * limit:,}"}
        return _written([line, _("the row is longer than %(n)s bytes, the limit") % words])
    return written


def _written(message: Any) -> bytes:
    # Bytes that were no text are lone surrogates.
    return json.dumps(message, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Limits(**json.loads(sys.argv[3])), sys.argv[4])
