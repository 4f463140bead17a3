"""What exports write: texts, stored but for what no database holds or nobody sees, and times.

Times are in UTC: of numbers, ISO texts, and the local times of Takeout's pages.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

from lxml import etree, html

# NUL, halves of surrogate pairs, and the marks around a citation. The second mark is sought only
# up to the next first one, so that the search stays linear.
_SUSPECT = re.compile("[\0\ud800-\udfff\ue200]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201")
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figure", "footer",
    "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "ol", "p", "pre", "section",
    "table", "tr", "ul",
))  # fmt: skip
_CELLS = frozenset(("td", "th"))
_HIDDEN = frozenset(("script", "style", "head", "title", "template"))
NAME_LIMIT = 300
# Stands for a blank in code while other blanks are joined; no text holds it, see `clean`.
_BLANK = "\0"
# A number above is in milliseconds, or microseconds.
_MILLISECONDS, _MICROSECONDS = 1e11, 1e14
# Neither chat nor search is older; what is later than this was never a time.
_FIRST, _LAST = datetime(1990, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
_LONGEST = 100
# Hours east of UTC. CST, IST and the like mean several zones and are left out.
_ZONES = {
    "UTC": 0, "GMT": 0, "Z": 0, "WET": 0, "BST": 1, "WEST": 1, "CET": 1, "MEZ": 1, "CEST": 2,
    "MESZ": 2, "EET": 2, "EEST": 3, "OEZ": 2, "OESZ": 3, "MSK": 3, "TRT": 3, "KST": 9, "JST": 9,
    "NST": -3.5, "EST": -5, "EDT": -4, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
    "AKST": -9, "AKDT": -8, "HST": -10, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
}  # fmt: skip
# The first letters of months in English, German, Dutch, Spanish, French, Italian and Turkish.
_MONTHS = (
    "jan ene oca gen", "feb fév fev şub", "mar mär mrt", "apr abr avr nis", "may mai mei mayı mag",
    "jun juin haz giu", "jul juil tem lug", "aug ago aoû ağu", "sep set eyl", "oct okt eki ott",
    "nov kas", "dec dez dic déc ara",
)  # fmt: skip
_MONTH_OF = {word: place for place, words in enumerate(_MONTHS, 1) for word in words.split()}
_INVISIBLE = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_CLOCK = re.compile(
    r"(?P<before>\D{0,12}?)\b(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?"
    r"\s*(?P<half>[AaPp]\.?\s?[Mm]\b\.?|ص|م(?!\w))?\s*(?P<zone>[^\W\d_]+)?"
    r"(?:(?P<sign>[+-])(?P<hours>\d{1,2}?)(?::?(?P<minutes>\d\d))?)?$"
)
_MORNING = {"a", "ص", "오전", "上午", "午前"}
_EVENING = {"p", "م", "오후", "下午", "午後"}


def clean(text: object) -> str:
    """Text without NUL and citation marks, halves of surrogate pairs as U+FFFD; "" for no text."""
    if not isinstance(text, str):
        return ""
    if not _SUSPECT.search(text):
        return text
    return _SURROGATE.sub("\ufffd", _CITATION.sub("", text.replace("\0", "")))


def name(text: object) -> str:
    """A title, an id or a file's name: `clean`, on one line and not endless."""
    return " ".join(clean(text)[: 4 * NAME_LIMIT].split())[:NAME_LIMIT]


def parse(source: str) -> html.HtmlElement | None:
    """The tree of a piece of HTML, or None where nothing is in it."""
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        return html.document_fromstring(
            clean(source).encode(), parser=parser, ensure_head_body=True
        )
    except (etree.ParserError, etree.XMLSyntaxError):
        return None


def plain(source: str) -> str:
    """The text that a piece of HTML shows, a line for each of its blocks."""
    tree = parse(source)
    return "" if tree is None else "\n".join(lines(tree))


def lines(tree: etree._Element) -> list[str]:
    """The lines of text below an element, without blank ones; code keeps what indents it."""
    parts: list[str] = []
    hidden, code = None, 0
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        if event == "start":
            hidden = hidden if hidden is not None or element.tag not in _HIDDEN else element
            code += element.tag == "pre"
            if element.tag in _BLOCKS:
                parts.append("\n")
            if hidden is None and element.text:
                parts.append(_indented(element.text) if code else element.text)
        else:
            hidden = None if element is hidden else hidden
            code -= element.tag == "pre"
            if element.tag in _BLOCKS and element.tag != "br":
                parts.append("\n")
            elif element.tag in _CELLS:
                parts.append(" ")
            if hidden is None and element.tail and element is not tree:
                parts.append(_indented(element.tail) if code else element.tail)
    text = "".join(parts)
    rows = [" ".join(line.split()).replace(_BLANK, " ").rstrip() for line in text.split("\n")]
    return [line for line in rows if line]


def _indented(code: str) -> str:
    return code.expandtabs(4).replace(" ", _BLANK)


class Moment(NamedTuple):
    """A time in UTC, or None; ``assumed`` where its zone had to be taken as UTC."""

    at: datetime | None
    assumed: bool = False


UNKNOWN = Moment(None)


def moment(value: object) -> Moment:
    """What an export writes as a time: epoch number, ISO text, or MongoDB's `$date` object."""
    for key in ("$date", "$numberLong"):
        value = value.get(key) if isinstance(value, dict) else value
    if isinstance(value, str):
        return from_text(value)
    return from_number(value)


def seconds(value: object) -> float:
    """``moment`` in seconds since 1970; 0 where it is none."""
    at = moment(value).at
    return at.timestamp() if at else 0.0


def from_number(value: object) -> Moment:
    """Seconds, milliseconds or microseconds since 1970, distinguished by size."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e18:
        return UNKNOWN
    scale = 1e6 if value > _MICROSECONDS else 1e3 if value > _MILLISECONDS else 1
    if value / scale > _LAST.timestamp():
        return UNKNOWN
    return _sane(datetime.fromtimestamp(value / scale, UTC))


def from_text(value: str) -> Moment:
    """ISO 8601 text, or a number as text."""
    value = value.strip()
    if len(value) > _LONGEST:
        return UNKNOWN
    if re.fullmatch(r"\d{9,18}(\.\d+)?", value, re.ASCII):
        return from_number(float(value))
    try:
        return _in_utc(datetime.fromisoformat(value))
    except ValueError:
        return UNKNOWN


def _in_utc(time: datetime) -> Moment:
    if time.tzinfo is None:
        return _sane(time.replace(tzinfo=UTC), assumed=True)
    try:
        return _sane(time.astimezone(UTC))
    except OverflowError:
        return UNKNOWN


def _sane(time: datetime, assumed: bool = False) -> Moment:
    return Moment(time, assumed) if _FIRST <= time < _LAST else UNKNOWN


# --- Takeout's pages write the local time of whoever asked for the export, in their language ------


def from_page(text: str) -> Moment | None:
    """The local time that Takeout writes into a page, or None where `text` is not such a time.

    The zone's abbreviation holds at the time of the export, also on dates of the other half of the
    year, so it is a fixed offset; an unknown one keeps the local time and is flagged.
    """
    text = " ".join(_INVISIBLE.sub("", text).replace("،", ",").split()) if len(text) < 200 else ""
    clock = re.search(r"\d{1,2}:\d\d", text)
    match = clock and _CLOCK.search(text, max(0, clock.start() - 12))
    if not clock or not match or not (day := _date(text[: clock.start()])):
        return None
    minute, second = int(match["minute"]), int(match["second"] or 0)
    try:
        return _shifted(datetime(*day, _hour(match), minute, second), match)  # noqa: DTZ001
    except ValueError:
        return None


def _date(text: str) -> tuple[int, int, int] | None:
    """Year, month and day, in whichever order the language writes them."""
    numbers = re.findall(r"\d+", text)
    words = re.findall(r"[^\W\d_]{3,}", text.lower())
    starts = (start for word in words for start in (word[:4], word[:3]))
    month = next((_MONTH_OF[start] for start in starts if start in _MONTH_OF), None)
    if month and len(numbers) == 2:
        year, day = sorted(map(int, numbers), reverse=True)
        return year, month, day
    if len(numbers) != 3 or any(len(number) > 4 for number in numbers):
        return None
    first, middle, last = map(int, numbers)
    return (first, middle, last) if len(numbers[0]) == 4 else (last, middle, first)


def _hour(match: re.Match) -> int:
    hour = int(match["hour"])
    words = [match["half"][0].lower()] if match["half"] else match["before"].split()
    half = words[-1] if words else ""
    if half in _EVENING:
        return hour % 12 + 12
    return hour % 12 if half in _MORNING else hour


def _shifted(local: datetime, match: re.Match) -> Moment:
    name = (match["zone"] or "").upper()
    if name not in _ZONES and (name or not match["sign"]):
        return _sane(local.replace(tzinfo=UTC), assumed=True)
    shift = timedelta(hours=_ZONES.get(name, 0))
    if match["sign"]:
        more = timedelta(hours=int(match["hours"]), minutes=int(match["minutes"] or 0))
        shift += -more if match["sign"] == "-" else more
    return _in_utc(local.replace(tzinfo=timezone(shift)))
