"""What the process that reads a foreign table says of it; `tables` reads it.

What the file is, the names of the columns wherever they change, and [line, cells] or
[line, reason] of each row.
"""

from collections.abc import Iterator
from pathlib import Path

from django.utils.translation import gettext as _

from annotation.core.child import line as written
from annotation.core.foreign import ForeignFileError, Limits, too_large
from annotation.core.records import RecordsError, Rows
from annotation.imports import readers

# A row is as long as several cells.
ROW_CELLS = 16


def messages(path: Path, scratch: Path, limits: Limits) -> Iterator[dict | bytes]:
    """The table in the file ``path``; ForeignFileError where it is none, or exceeds a limit."""
    try:
        source = readers.read(path, scratch, limits.unpacked)
        folder = source.folder and str(source.folder)
        yield {"format": source.format, "notes": source.notes, "folder": folder}
        yield from _rows(source.rows(), limits)
    except RecordsError as error:
        words = {"n": error.line, "words": error.words}
        raise ForeignFileError(_("Line %(n)d: %(words)s.") % words) from error


def _rows(rows: Rows, limits: Limits) -> Iterator[bytes]:
    columns: list[str] = []
    names: set[str] = set()
    cells = text = 0
    for line, row in rows:
        if isinstance(row, str):
            yield written([line, row])
            continue
        if list(row) != columns:
            columns = list(row)
            names.update(columns)
            if len(names) > limits.columns:
                sentence = _("The table has more than %(n)s columns, the limit.")
                raise too_large(sentence, limits.columns)
            text += len(head := written({"columns": columns}))
            yield head
        cells += len(row)
        if cells > limits.cells:
            raise too_large(_("The table has more than %(n)s cells, the limit."), limits.cells)
        body = _row(line, row, limits.cell)
        text += len(body)
        if text > limits.text:
            raise readers.bomb()
        yield body


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
