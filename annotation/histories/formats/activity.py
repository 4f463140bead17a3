"""Google's My Activity in Takeout: Search, YouTube and Gemini Apps, as JSON and as pages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml.html import HtmlElement

from annotation.histories import texts, times
from annotation.histories.formats import gemini
from annotation.histories.formats.addresses import is_place, typed_query
from annotation.histories.formats.build import fields, items, names, objects
from annotation.histories.formats.streams import Entry, Text, place
from annotation.histories.records import Record, Search, Skipped, Visit, skipped

_ADVERTISEMENTS = ("From Google Ads", "Google 광고", "Von Google Ads", "Google Ads")
# Languages put the verb before or after the title; what is between may be a no-break space.
_SEARCHED = re.compile(
    r"(?:Searched for|Gesucht nach:|Gezocht naar|Has buscado|Buscaste)\s+(?P<after>.+)"
    r"|(?P<before>.+?)\s*(?:을\(를\)|을|를)\s*검색했습니다\.?",
    re.DOTALL,
)
_SEEN = re.compile(
    r"(?:Visited|Viewed|Watched|Besucht:|Angesehen:)\s+(?P<after>.+)"
    r"|(?P<before>.+?)(?:\s+(?:aufgerufen|angesehen)|\s*(?:을\(를\)|을|를)\s*"
    r"(?:방문|시청|조회)했습니다\.?)",
    re.DOTALL,
)
# Notices and advertisements of Google are no searches or visits.
_NOTICE = re.compile(r"Used .*|\d+ notifications?")
_LONGEST_TITLE, _LONGEST_CELL = 100_000, 1 << 20


@dataclass(frozen=True)
class Activity:
    """One record, of either file: its product, title, address and time."""

    where: str
    header: str
    title: str
    url: str
    time: times.Moment
    advertisement: bool = False


def provider_of(header: str) -> str:
    """The service whose activity it is; all but YouTube and Gemini is Search's."""
    if gemini.is_header(header):
        return "gemini"
    return "youtube" if "youtube" in header.casefold() else "google_search"


def record(activity: Activity) -> Search | Visit | None:
    """A search, a visit, or neither: advertisements, places, "Used Search", notifications."""
    title = texts.clean(activity.title).replace("\xa0", " ").strip()[:_LONGEST_TITLE]
    if activity.advertisement or is_place(activity.url):
        return None
    provider, time = provider_of(activity.header), activity.time
    searched, seen = _SEARCHED.fullmatch(title), _SEEN.fullmatch(title)
    query = typed_query(activity.url) or (searched and not seen and _cut(searched)) or ""
    if (query := texts.clean(query)).strip():
        return Search(provider, query, *time)
    if seen or (activity.url and title and not _NOTICE.fullmatch(title)):
        return Visit(provider, _cut(seen) if seen else title, *time)
    return None


def _cut(clause: re.Match) -> str:
    return (clause["after"] or clause["before"]).strip()


# --- JSON -----------------------------------------------------------------------------------------


def detect(entry: dict) -> str:
    """The provider of the first record: a title with a time, product or header."""
    if isinstance(entry.get("title"), str) and entry.keys() & {"time", "products", "header"}:
        return provider_of(_header(entry))
    return "youtube" if "publishedAt" in fields(entry.get("snippet")) else ""


def read(entries: Iterator[Entry | Skipped]) -> Iterator[Record]:
    """Searches and visits as they come; Gemini's prompts at the end, put into conversations."""
    prompts = gemini.Prompts()
    for entry in entries:
        if isinstance(entry, Skipped):
            yield entry
        elif not isinstance(entry.value, dict) or not detect(entry.value):
            yield skipped(entry.where, "junk")
        elif gemini.is_header(_header(entry.value)):
            yield from _add_prompt(prompts, entry)
        elif activity := record(_of_json(entry)):
            yield activity
    yield from prompts.conversations()


def _header(value: dict) -> str:
    headings = (value.get("header"), *items(value.get("products")))
    return next((word for word in headings if isinstance(word, str) and word), "")


def _of_json(entry: Entry) -> Activity:
    value = entry.value
    if "snippet" in value and "title" not in value:
        # YouTube's files of 2017.
        snippet = fields(value["snippet"])
        title = snippet.get("title") if isinstance(snippet.get("title"), str) else ""
        return Activity(
            entry.where, "YouTube", f"Watched {title}", "", times.moment(snippet.get("publishedAt"))
        )
    details = objects(value.get("details"))
    return Activity(
        where=entry.where,
        header=_header(value),
        title=value.get("title") if isinstance(value.get("title"), str) else "",
        url=value.get("titleUrl") if isinstance(value.get("titleUrl"), str) else "",
        time=times.moment(value.get("time")),
        advertisement=any(detail.get("name") in _ADVERTISEMENTS for detail in details),
    )


def _add_prompt(prompts: gemini.Prompts, entry: Entry) -> Iterator[Skipped]:
    activity, value = _of_json(entry), entry.value
    items_of_html = objects(value.get("safeHtmlItem"))
    pieces = [html for item in items_of_html if isinstance(html := item.get("html"), str)]
    # A tree of HTML takes many times the room of its text.
    if sum(map(len, pieces)) > _LONGEST_CELL:
        yield skipped(activity.where, "too_large")
        return
    answers = map(texts.plain, pieces)
    urls = [activity.url, *(detail.get("url") for detail in objects(value.get("details")))]
    prompts.add(
        activity.where,
        activity.title,
        activity.time,
        "\n".join(answer for answer in answers if answer),
        urls,
        names(items(value.get("attachedFiles"))),
    )


# --- Pages ----------------------------------------------------------------------------------------

_CELL = '<div class="outer-cell'
_BODY = "mdl-typography--body-1"


def detect_page(head: str) -> str:
    """The name "google_search", "youtube" or "gemini" by the first record of a page of records."""
    at = head.find(_CELL)
    if at < 0:
        return ""
    title = re.search(r"mdl-typography--title[^>]*>([^<]*)", head[at : at + 10_000])
    return provider_of(title[1] if title else "")


def read_page(text: Text) -> Iterator[Record]:
    """All records of a page, one cell at a time. Nested or unclosed cells are cells as well."""
    prompts = gemini.Prompts()
    for number, cell in enumerate(_cells(text), 1):
        where = place(number)
        if len(cell) > _LONGEST_CELL:
            yield skipped(where, "too_large")
            continue
        yield from _of_cell(where, cell, prompts)
    yield from prompts.conversations()


def _cells(text: Text) -> Iterator[str]:
    """The pieces that begin with a cell; one that is too large comes cut."""
    rest, begun = "", False
    while piece := text.read():
        *whole, rest = (rest + piece).split(_CELL)
        yield from whole if begun else whole[1:]
        begun = begun or bool(whole)
        if len(rest) > 2 * _LONGEST_CELL:
            # Its end may be the beginning of the next cell's mark.
            rest = rest[: _LONGEST_CELL + 1] + rest[-len(_CELL) :]
    if begun:
        yield rest


def _of_cell(where: str, cell: str, prompts: gemini.Prompts) -> Iterator[Record]:
    tree = texts.parse(_CELL + cell) if _BODY in cell else None
    body = None if tree is None else _by_class(tree, "div", _BODY)
    if tree is None or body is None:
        yield skipped(where, "junk")
        return
    heading = _by_class(tree, "p", "mdl-typography--title")
    header = " ".join(texts.lines(heading)) if heading is not None else ""
    link = next(body.iter("a"), None)
    url = "" if link is None else link.get("href", "")
    lines = texts.lines(body)
    dated = [(n, moment) for n, line in enumerate(lines) if (moment := times.from_page(line))]
    # Gemini's answer stands after the time; elsewhere the time is the last line.
    is_prompt = gemini.is_header(header)
    at, time = len(lines), times.UNKNOWN
    if dated:
        at, time = dated[0] if is_prompt else dated[-1]
    if is_prompt:
        answer = "\n".join(lines[at + 1 :])
        urls = [anchor.get("href", "") for anchor in tree.iter("a")]
        prompts.add(where, "\n".join(lines[:at]), time, answer, urls, ())
        return
    title = lines[0] if at else ""
    caption = cell.partition("mdl-typography--caption")[2]
    advertised = any(mark in caption for mark in _ADVERTISEMENTS)
    if activity := record(Activity(where, header, title, url, time, advertised)):
        yield activity


def _by_class(tree: "HtmlElement", tag: str, name: str) -> "HtmlElement | None":
    return next((e for e in tree.iter(tag) if name in e.get("class", "").split()), None)
