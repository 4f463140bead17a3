"""Charts as files of their own, for papers: SVG with its colours and a caption, and PNG."""

import re
import textwrap
import unicodedata
from functools import cache

import resvg_py
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.core.errors import DomainError

WIDTH = 800
MARGIN = 12
LINE = 16
# Characters of the caption that fit on a line, of Latin letters.
LETTERS = 120
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
    height = tall + LINE * (len(lines) + 1) + 2 * MARGIN
    places = ((MARGIN, MARGIN + tall + LINE * n, line) for n, line in enumerate(lines, start=2))
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
