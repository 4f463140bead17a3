"""Files that a page offers: tables as CSV, charts as SVG or PNG."""

import csv
from collections.abc import Iterable, Iterator

from django.http import HttpResponse

from annotation.core import charts
from annotation.core.errors import DomainError

CHART_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}


def attachment(name: str, kind: str, content: str | bytes = b"") -> HttpResponse:
    """``content`` as a file called ``name`` (ASCII letters, digits and signs of addresses)."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(content, content_type=kind, headers=headers)


class _Line:
    """What csv writes into: each line is given back."""

    def write(self, line: str) -> str:
        return line


def csv_lines(rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """``rows`` as lines of CSV, one at a time, that no spreadsheet takes for formulas."""
    writer = csv.writer(_Line())
    for row in rows:
        yield writer.writerow([disarmed(v) if isinstance(v, str) else v for v in row])


def csv_response(name: str, rows: Iterable[Iterable[object]]) -> HttpResponse:
    return attachment(name, CHART_TYPES["csv"], "".join(csv_lines(rows)))


def picture(name: str, chart: str, caption: str) -> HttpResponse:
    """A chart with its caption, as ``name`` ends: ``.svg`` or ``.png``."""
    drawing, ending = charts.svg(chart, caption), name.rpartition(".")[2]
    try:
        content = charts.png(drawing) if ending == "png" else drawing
    except DomainError as refusal:
        return HttpResponse(refusal.sentence, status=503, content_type="text/plain; charset=utf-8")
    return attachment(name, CHART_TYPES[ending], content)


# A spreadsheet takes a cell that begins with one of these for a formula; in East Asia with the wide
# forms, too.
FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def disarmed(text: str) -> str:
    """``text`` as a spreadsheet shows it: an apostrophe before what it would run as a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text
