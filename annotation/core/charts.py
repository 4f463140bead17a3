"""Numbers as SVG. Places across are in per cent and places down in pixels, so that a chart fills
its column while its text keeps its size; colours are classes of the style sheet.

Every chart has a name and one sentence that says what it shows; its numbers stand in the table
that follows it on the page. ``axes`` are the titles, with units, of what runs across and down.
"""

import math
import re
import textwrap
import unicodedata
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache

import resvg_py
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.core.errors import DomainError

PLOT = 150
TOP = 18
GUTTER = 10.0
NAMES = 30.0
VALUES = 12.0
WIDEST = 9.0
ROW = 24
LABEL_LIMIT = 60
# Letters of a name that fit beside its bar on a phone, and on the line above it where one does not.
BESIDE, ABOVE = 16, 54
LINE = 17
# Lower ends of the shades of the heat map; what is below the first is drawn in a colour of its own.
SHADES = (0.0, 0.2, 0.4, 0.6, 0.8)
# Room of an axis title.
TITLE = 18
Axes = tuple[str, str]
# Of a chart: its name in the page, its title, and what it shows.
Heading = tuple[str, str, str]
# Of a matrix: {(row, column): value}.
Cells = dict[tuple[int, int], float | None]
Place = Callable[[float], float]
UNTITLED = ("", "")
WIDTH = 800
MARGIN = 12
TEXT_LINE = 16
# Characters of the caption that fit on a line, of Latin letters.
LETTERS = 120


@dataclass(frozen=True)
class Dot:
    """A value with its interval, and the band it should lie in (each None where not known)."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    band: tuple[float, float] | None = None


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers (1, 2 or 5 times a power of ten apart) from ``low`` to ``high``."""
    span = (high - low) or 1.0
    raw = span / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(n * step, 10) for n in range(first, last + 1)]


def shade(value: float | None) -> str:
    """Class of a cell of the heat map: heat-none, heat-below or heat-0 to heat-4."""
    if value is None:
        return "heat-none"
    rank = sum(value >= edge for edge in SHADES)
    return f"heat-{rank - 1}" if rank else "heat-below"


def number(value: float | None) -> str:
    """A number as it stands in a chart; a dash for none."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.2f}"


def columns(head: Heading, rows: list[tuple[str, float]], *, axes: Axes = UNTITLED) -> SafeString:
    """Upright bars for ``rows`` of (label, value from 0 on)."""
    most = max(max(value for _, value in rows), 1)
    wide = (100 - GUTTER) / len(rows)
    parts = []
    for tick in (t for t in ticks(0, most) if t == int(t)):
        y = TOP + PLOT * (most - tick) / most
        parts.append(_segment("grid", GUTTER, y, 100, y))
        parts.append(_text(GUTTER - 1, y + 4, f"{tick:,g}", "end"))
    # On a phone eight labels fit beside one another: more stand on two lines.
    lines = 1 if len(rows) <= 8 else 2
    every, thick = math.ceil(len(rows) / 8 / lines), min(wide * 0.8, WIDEST)
    for place, (label, value) in enumerate(rows):
        left, tall = GUTTER + place * wide, PLOT * value / most
        words = f"{label}: {number(value)}"
        aside = left + (wide - thick) / 2
        parts.append(_rect("mark", aside, TOP + PLOT - tall, thick, tall, words))
        if place % every == 0:
            line = place // every % lines
            parts.append(_text(left + wide / 2, TOP + PLOT + 16 + 14 * line, label, "middle"))
    return _svg(head, TOP + PLOT + 10 + 14 * lines, parts, axes)


def bars(
    head: Heading,
    rows: list[tuple[str, float]],
    *,
    marked: Collection[str] = (),
    axes: Axes = UNTITLED,
) -> SafeString:
    """Lying bars, one row a label, for ``rows`` of (label, value from 0 on).

    Labels that are ``marked`` stand out by colour and by a sign at their value.
    """
    most = max(max(value for _, value in rows), 1e-12)
    names, left, tall = _beside([label for label, _ in rows])
    parts, wide = [names], 100 - left - VALUES
    for place, (label, value) in enumerate(rows):
        bottom, words = (place + 1) * tall, f"{label}: {number(value)}"
        kind, sign = (
            ("mark over", " \N{BLACK UP-POINTING TRIANGLE}") if label in marked else ("mark", "")
        )
        parts.append(_rect(kind, left, bottom - ROW + 5, wide * value / most, ROW - 9, words))
        parts.append(_text(100, bottom - 8, number(value) + sign, "end"))
    return _svg(head, len(rows) * tall + 4, parts, axes)


def dots(
    head: Heading, rows: list[Dot], *, reference: float | None = None, axes: Axes = UNTITLED
) -> SafeString:
    """One row a value, with its interval, its band and a ``reference`` line for all of them."""
    values = [x for row in rows for x in (row.value, row.low, row.high, *(row.band or ()))]
    values = [x for x in (*values, reference) if x is not None]
    margin = (max(values) - min(values) or 1) * 0.05
    low, high = min(values) - margin, max(values) + margin
    names, left, tall = _beside([row.label for row in rows])
    wide = 100 - left - VALUES

    def across(x: float) -> float:
        return left + wide * (x - low) / (high - low)

    height = len(rows) * tall
    parts = []
    for tick in ticks(low, high):
        parts.append(_segment("grid", across(tick), 0, across(tick), height))
        parts.append(_text(across(tick), height + 16, f"{tick:g}", "middle"))
    if reference is not None:
        parts.append(_segment("reference", across(reference), 0, across(reference), height))
    parts.append(names)
    middle = tall - ROW / 2
    parts += [_dot(row, place * tall + middle, across) for place, row in enumerate(rows)]
    return _svg(head, height + 24, parts, axes)


def heat(head: Heading, names: list[str], cells: Cells, *, axes: Axes = UNTITLED) -> SafeString:
    """The lower half of a symmetric matrix: ``cells`` (row, column) with column < row."""
    size = len(names)
    wide, tall = (100 - NAMES) / size, 24 if size <= 12 else 15
    parts = [_labels([f"{n}  {name}" for n, name in enumerate(names, start=1)], tall)]
    parts += _matrix(names, names, cells, tall, 0.94, written=size <= 6)
    for column in range(0, size, math.ceil(size / 12)):
        place = NAMES + (column + 0.5) * wide
        parts.append(_text(place, size * tall + 14, str(column + 1), "middle"))
    parts.append(_legend(size * tall + 26))
    return _svg(head, size * tall + 58, parts, axes)


def grid(
    head: Heading, names: list[str], heads: list[str], cells: Cells, *, axes: Axes = UNTITLED
) -> SafeString:
    """A whole matrix of values: ``cells`` (row, column), rows ``names``, columns ``heads``."""
    wide = (100 - NAMES) / len(heads)
    parts = [_labels(names)]
    parts += _matrix(names, heads, cells, ROW, 0.96, unknown="–")
    for column, name in enumerate(heads):
        # Every second one a line lower: on a phone neighbours would run into one another.
        place, line = NAMES + (column + 0.48) * wide, 14 + 14 * (column % 2)
        # Centred, the last would run over the edge.
        at = (100, "end") if column and column == len(heads) - 1 else (place, "middle")
        parts.append(_text(at[0], len(names) * ROW + line, name, at[1]))
    parts.append(_legend(len(names) * ROW + 40))
    return _svg(head, len(names) * ROW + 72, parts, axes)


def stacked(
    head: Heading,
    rows: list[tuple[str, list[int], str]],
    heads: list[str],
    *,
    axes: Axes = UNTITLED,
) -> SafeString:
    """Lying bars cut into shares: ``rows`` of (label, counts by head, words at the end)."""
    wide = 100 - NAMES - VALUES
    parts = [_labels([label for label, _counts, _words in rows])]
    for place, (label, counts, words) in enumerate(rows):
        left = NAMES
        for shade_, (name, count) in enumerate(zip(heads, counts, strict=True)):
            share = wide * count / (sum(counts) or 1)
            title = f"{label}, {name}: {number(count)}"
            parts.append(_rect(f"heat-{shade_}", left, place * ROW + 4, share, ROW - 8, title))
            left += share
        parts.append(_text(100, place * ROW + 16, words, "end"))
    entries = [(f"heat-{n}", name) for n, name in enumerate(heads)]
    parts.append(_key(entries, len(rows) * ROW + 6))
    return _svg(head, len(rows) * ROW + 38, parts, axes)


def _svg(head: Heading, height: float, parts: list[SafeString], axes: Axes) -> SafeString:
    key, title, desc = head
    if any(axes):
        inner = format_html('<g transform="translate(0 {})">{}</g>', TITLE, _all(parts))
        height += 2 * TITLE
        titles = (
            _text(0, 12, axes[1], "start", "axis"),
            _text(100, height - 4, axes[0], "end", "axis"),
        )
        parts = [titles[0], inner, titles[1]]
    return format_html(
        '<svg class="chart" role="img" width="100%" height="{height}" '
        'aria-labelledby="{key}-name {key}-desc"><title id="{key}-name">{title}</title>'
        '<desc id="{key}-desc">{desc}</desc>{parts}</svg>',
        key=key,
        title=title,
        desc=desc,
        height=_n(height),
        parts=_all(parts),
    )


def _all(parts: Iterable[SafeString]) -> SafeString:
    return format_html_join("", "{}", ((part,) for part in parts))


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _text(x: float, y: float, words: str, anchor: str, kind: str = "") -> SafeString:
    line = '<text x="{}%" y="{}" text-anchor="{}" class="{}">{}</text>'
    return format_html(line, _n(x), _n(y), anchor, kind, words)


def _rect(
    kind: str, x: float, y: float, width: float, height: float, words: str = ""
) -> SafeString:
    line = '<rect class="{}" x="{}%" y="{}" width="{}%" height="{}">{}</rect>'
    named = format_html("<title>{}</title>", words) if words else ""
    return format_html(line, kind, _n(x), _n(y), _n(width), _n(height), named)


def _segment(kind: str, x1: float, y1: float, x2: float, y2: float) -> SafeString:
    line = '<line class="{}" x1="{}%" y1="{}" x2="{}%" y2="{}"/>'
    return format_html(line, kind, _n(x1), _n(y1), _n(x2), _n(y2))


def _labels(names: list[str], tall: int = ROW) -> SafeString:
    """Names of rows, cut at the gutter's edge by an image of their own."""
    rows = (
        (_n(place * tall + tall / 2 + 4), name, name[:LABEL_LIMIT])
        for place, name in enumerate(names)
    )
    texts = format_html_join("", '<text x="0" y="{}"><title>{}</title>{}</text>', rows)
    line = '<svg width="{}%" height="{}">{}</svg>'
    return format_html(line, _n(NAMES - 1), len(names) * tall, texts)


def _beside(names: list[str]) -> tuple[SafeString, float, int]:
    """Names of rows, where their bars begin (per cent), and how tall a row is (pixels).

    Names stand beside their bars where all of them fit on a phone, and else above them.
    """
    if all(_letters(name) <= BESIDE for name in names):
        return _labels(names), NAMES, ROW
    tall = ROW + LINE
    rows = ((place * tall + LINE - 3, name, name[:ABOVE]) for place, name in enumerate(names))
    line = '<text x="0" y="{}" class="name"><title>{}</title>{}</text>'
    return format_html_join("", line, rows), 0.0, tall


def _letters(name: str) -> int:
    """The width of a name in Latin letters: those of East Asia take two."""
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in name)


def _matrix(
    names: list[str],
    heads: list[str],
    cells: Cells,
    tall: int,
    filled: float,
    *,
    written: bool = True,
    unknown: str = "",
) -> list[SafeString]:
    """The cells as rectangles, ``filled`` the share of their room; ``written``: with their values.

    ``unknown`` stands in a cell without one.
    """
    wide, parts = (100 - NAMES) / len(heads), []
    for (row, column), value in sorted(cells.items()):
        left, top = NAMES + column * wide, row * tall
        words = f"{names[row]} × {heads[column]}: {number(value)}"
        parts.append(_rect(shade(value), left, top, wide * filled, tall - 1.5, words))
        shown = unknown if value is None else f"{value:.2f}"
        if written and shown:
            kind = "on-dark" if value is not None and value >= SHADES[3] else "on-light"
            parts.append(_text(left + wide * filled / 2, top + 16, shown, "middle", kind))
    return parts


def _dot(row: Dot, y: float, across: Place) -> SafeString:
    parts = []
    if row.band:
        left, right = (across(edge) for edge in row.band)
        parts.append(_rect("band", left, y - 9, right - left, 18))
    if row.low is not None and row.high is not None:
        parts.append(_segment("line", across(row.low), y, across(row.high), y))
    shown = "–" if row.value is None else f"{row.value:.2f}"
    if row.value is not None:
        circle = '<circle class="mark" cx="{}%" cy="{}" r="3.5"><title>{}</title></circle>'
        words = f"{row.label}: {row.value:.3f}"
        parts.append(format_html(circle, _n(across(row.value)), _n(y), words))
    parts.append(_text(100, y + 4, shown, "end"))
    return _all(parts)


def _legend(top: float) -> SafeString:
    return _key([("heat-below", "< 0"), *((shade(edge), f"≥ {edge:g}") for edge in SHADES)], top)


def _key(entries: list[tuple[str, str]], top: float) -> SafeString:
    """What the shades ``entries`` (class, words) mean, in one row."""
    wide = (100 - NAMES) / len(entries)
    parts = []
    for place, (kind, words) in enumerate(entries):
        left = NAMES + place * wide
        parts.append(_rect(kind, left, top, wide * 0.94, 12))
        parts.append(_text(left, top + 26, words, "start"))
    return _all(parts)


STYLE = (
    'text{font:12px "DejaVu Sans","Liberation Sans",Arial,"Noto Sans",sans-serif;fill:#444}'
    ".axis,.caption{fill:#111}.on-dark{fill:#fff}.on-light{fill:#111}.chart{overflow:visible}"
    ".mark{fill:#205493}.over{fill:#b3541e}.line{stroke:#205493;stroke-width:2}.grid{stroke:#ddd}"
    ".reference{stroke:#333;stroke-dasharray:4 3}.band{fill:#205493;fill-opacity:.2}"
    ".heat-none{fill:none;stroke:#ccc}.heat-below{fill:#d9a38f}.heat-0{fill:#e9eef4}"
    ".heat-1{fill:#c7d4e4}.heat-2{fill:#a1b7d0}.heat-3{fill:#587fae}.heat-4{fill:#205493}"
)


def svg(chart: str, caption: str) -> SafeString:
    """A chart of ``charts`` as a document of its own, on white, its caption below it."""
    lines = _lines(caption)
    tall = float(re.findall(r' height="([\d.]+)"', chart)[0])
    height = tall + TEXT_LINE * (len(lines) + 1) + 2 * MARGIN
    places = (
        (MARGIN, MARGIN + tall + TEXT_LINE * n, line) for n, line in enumerate(lines, start=2)
    )
    text = format_html_join("", '<text class="caption" x="{}" y="{}">{}</text>', places)
    # The style is a constant: part of the format, because its quotes are CSS.
    style = STYLE.replace("{", "{{").replace("}", "}}")
    return format_html(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}">'
        "<style>" + style + '</style><rect width="{0}" height="{1}" fill="#fff"/><svg x="{2}" '
        'y="{2}" width="{3}" height="{4}" overflow="visible">{5}</svg>{6}</svg>\n',
        WIDTH + 2 * MARGIN,
        f"{height:g}",
        MARGIN,
        WIDTH,
        tall,
        chart,
        text,
    )


def png(drawing: str) -> bytes:
    """A drawing of ``svg`` as PNG, two pixels a unit. DomainError where no font is installed."""
    if not _writes():
        raise DomainError(_("No font is installed on the server for PNG: take the SVG."))
    return resvg_py.svg_to_bytes(svg_string=drawing, zoom=2)


@cache
def _writes() -> bool:
    """Whether the fonts of the system that ``STYLE`` names can draw a letter."""
    empty, letter = (
        resvg_py.svg_to_bytes(
            svg_string='<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">'
            f'<style>{STYLE}</style><text y="15">{text}</text></svg>'
        )
        for text in ("", "M")
    )
    return empty != letter


def _lines(caption: str) -> list[str]:
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in caption)
    share = wide / (len(caption) or 1)
    return textwrap.wrap(caption, int(LETTERS / (1 + share)))
