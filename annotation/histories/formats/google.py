"""Google: My Activity, Gemini Apps, Chrome's history, prompt files of AI Studio."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from lxml.html import HtmlElement

from annotation.histories import texts
from annotation.histories.formats.build import (
    Draft,
    Entry,
    Layout,
    Spill,
    each,
    fields,
    items,
    made_id,
    names,
    objects,
    place,
)
from annotation.histories.formats.streams import Text
from annotation.histories.records import Record, Search, Skipped, Visit, skipped

LONGEST = 8_000
# Host, path, and the parameter that holds what was typed.
_ENGINES = tuple(
    (re.compile(rf"(?:.*\.)?{host}"), re.compile(path), names)
    for host, path, names in (
        (r"google\.[a-z.]{2,6}", r"/search", ("q",)),
        (r"youtube\.com", r"/results", ("search_query", "q")),
        (r"bing\.com", r"/search", ("q",)),
        (r"duckduckgo\.com", r"/", ("q",)),
        (r"search\.yahoo\.(?:com|co\.jp)", r"/search.*", ("p",)),
        (r"search\.naver\.com", r"/search\.naver", ("query",)),
        (r"search\.daum\.net", r"/search", ("q",)),
        (r"baidu\.com", r"/s", ("wd", "word")),
        (r"yandex\.[a-z.]{2,6}", r"/search/?", ("text",)),
        (r"ecosia\.org", r"/search", ("q",)),
        (r"search\.brave\.com", r"/search", ("q",)),
        (r"startpage\.com", r"/(?:sp|do)/.*", ("query",)),
        (r"qwant\.com", r"/", ("q",)),
    )
)
_MAPS = re.compile(r"https?://(?:maps\.google\.[a-z.]+|(?:[a-z]+\.)?google\.[a-z.]+/maps)\b")


def typed_query(url: object) -> str:
    """The query of a search engine's first page of results, else ""."""
    if not isinstance(url, str) or len(url) > LONGEST:
        return ""
    try:
        parts = urlsplit(url)
        host, path = (parts.hostname or "").lower(), parts.path or "/"
        asked = parse_qs(parts.query, max_num_fields=100)
    except ValueError:
        return ""
    if any(page not in ("0", "1") for page in asked.get("start", [])):
        return ""
    for hosts, paths, parameters in _ENGINES:
        if hosts.fullmatch(host) and paths.fullmatch(path):
            return next((asked[name][0] for name in parameters if name in asked), "")
    return ""


def is_place(url: object) -> bool:
    """Whether it leads to a place on Google's maps, which is not imported."""
    return isinstance(url, str) and bool(_MAPS.match(url))


# An answer and the next prompt further apart than this (seconds) begin a new conversation.
GAP = 30 * 60
_PREFIX = re.compile(
    r"(?:Prompted|Asked:|Asked|Live Prompt|Submitted query|Prompt\s*:|Υποβλήθηκε το ερώτημα)\s+"
)
_NO_PROMPT = re.compile(r"Used |Created Gemini Canvas titled |Branched ")
# What Google calls the product in the languages of Takeout: a title of only this is no prompt.
_PRODUCT = re.compile(
    r"(?:(?:applis?|applications?|aplicaciones|apps?|app|aplicativos|приложения|aplikacje|تطبيقات|"
    r"aplikasi|ứng dụng|แอป|ऐप्स|εφαρμογές)[ -](?:de |do |d[’'])?)?(?:gemini|bard)"
    r"(?:[ -]?(?:apps?|앱|应用|应用程序|應用程式|アプリ|uygulamaları|-appar|-sovellukset|-apper))?",
    re.IGNORECASE,
)
_HEADER = re.compile(r"(?<![A-Za-z0-9])(?:Gemini|Bard)(?![A-Za-z0-9])")
_CHAT = re.compile(r"https://gemini\.google\.com/app/([0-9a-f]{6,64})\b")


def is_header(header: str) -> bool:
    """Whether records under this header, in any language, are Gemini's; Bard's before 2024."""
    return bool(_HEADER.search(header))


class Prompts:
    """Prompts as they are read, newest first, until they can be put into conversations."""

    def __init__(self) -> None:
        self._spill = Spill()
        self._order: list[tuple[float, int, str, int]] = []

    def add(
        self,
        where: str,
        title: str,
        time: texts.Moment,
        answer: str,
        urls: Iterable[object],
        attachments: tuple[str, ...],
    ) -> None:
        """Take one record: `title` is the prompt with its verb, `urls` may name the chat."""
        title = texts.clean(title).replace("\xa0", " ").strip()
        if _NO_PROMPT.match(title) or _PRODUCT.fullmatch(title):
            return
        prefix = _PREFIX.match(title)
        at = time.at.timestamp() if time.at else 0.0
        chats = (_CHAT.match(url) for url in urls if isinstance(url, str))
        chat = next((match[1] for match in chats if match), "")
        prompt = title[prefix.end() :] if prefix else title
        record = (where, prompt, not prefix, at, time.assumed, answer, list(attachments))
        # The later in the file, the older: also among those of the same time.
        self._order.append((at, -len(self._order), chat, self._spill.put(*record)))

    def conversations(self) -> Iterator[Record]:
        """All of them: by the chat that the records name, else by gaps in time."""
        chats: dict[str, list[int]] = {}
        loose: list[list[int]] = []
        last = None
        for at, _, chat, key in sorted(self._order):
            if chat:
                chats.setdefault(chat, []).append(key)
                continue
            if last is None or at - last > GAP:
                loose.append([])
            last = at
            loose[-1].append(key)
        for chat, keys in chats.items():
            yield self._conversation(keys, chat)
        for keys in loose:
            yield self._conversation(keys)

    def _conversation(self, keys: list[int], chat: str = "") -> Record:
        first = self._spill.get(keys[0])
        name = chat or made_id("gemini", str(first[3]), first[1])
        draft = Draft("gemini", first[0], id=name)
        if not chat:
            draft.flags.add("grouped_by_time")
        for key in keys:
            _, prompt, whole, at, assumed, answer, attachments = self._spill.get(key)
            if whole:
                draft.flags.add("prefix_kept")
            time = texts.from_number(at)._replace(assumed=assumed)
            draft.add("user", prompt, time, attachments=names(attachments))
            draft.add("assistant", answer, time)
        return draft.finish()


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
    time: texts.Moment
    advertisement: bool = False


def provider_of(header: str) -> str:
    """The service whose activity it is; all but YouTube and Gemini is Search's."""
    if is_header(header):
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


def detect_activity(entry: dict) -> str:
    """The provider of the first record: a title with a time, product or header."""
    if isinstance(entry.get("title"), str) and entry.keys() & {"time", "products", "header"}:
        return provider_of(_page_header(entry))
    return ""


def read_activity(entries: Iterator[Entry | Skipped]) -> Iterator[Record]:
    """Searches and visits as they come; Gemini's prompts at the end, put into conversations."""
    prompts = Prompts()
    for entry in entries:
        if isinstance(entry, Skipped):
            yield entry
        elif not isinstance(entry.value, dict) or not detect_activity(entry.value):
            yield skipped(entry.where, "junk")
        elif is_header(_page_header(entry.value)):
            yield from _add_prompt(prompts, entry)
        elif activity := record(_of_json(entry)):
            yield activity
    yield from prompts.conversations()


def _page_header(value: dict) -> str:
    headings = (value.get("header"), *items(value.get("products")))
    return next((word for word in headings if isinstance(word, str) and word), "")


def _of_json(entry: Entry) -> Activity:
    value = entry.value
    details = objects(value.get("details"))
    return Activity(
        where=entry.where,
        header=_page_header(value),
        title=value.get("title") if isinstance(value.get("title"), str) else "",
        url=value.get("titleUrl") if isinstance(value.get("titleUrl"), str) else "",
        time=texts.moment(value.get("time")),
        advertisement=any(detail.get("name") in _ADVERTISEMENTS for detail in details),
    )


def _add_prompt(prompts: Prompts, entry: Entry) -> Iterator[Skipped]:
    activity, value = _of_json(entry), entry.value
    items_of_html = objects(value.get("safeHtmlItem"))
    pieces = [html for item in items_of_html if isinstance(html := item.get("html"), str)]
    # A tree of HTML takes many times the room of its text.
    if sum(map(len, pieces)) > _LONGEST_CELL:
        yield skipped(activity.where, "too_large")
        return
    urls = [activity.url, *(detail.get("url") for detail in objects(value.get("details")))]
    prompts.add(
        activity.where,
        activity.title,
        activity.time,
        "\n".join(filter(None, map(texts.plain, pieces))),
        urls,
        names(items(value.get("attachedFiles"))),
    )


# --- Pages ----------------------------------------------------------------------------------------

_CELL = '<div class="outer-cell'
_BODY = "mdl-typography--body-1"


def detect_activity_page(head: str) -> str:
    """The name "google_search", "youtube" or "gemini" by the first record of a page of records."""
    at = head.find(_CELL)
    if at < 0:
        return ""
    title = re.search(r"mdl-typography--title[^>]*>([^<]*)", head[at : at + 10_000])
    return provider_of(title[1] if title else "")


def read_activity_page(text: Text) -> Iterator[Record]:
    """All records of a page, one cell at a time. Nested or unclosed cells are cells as well."""
    prompts = Prompts()
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


def _of_cell(where: str, cell: str, prompts: Prompts) -> Iterator[Record]:
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
    dated = [(n, moment) for n, line in enumerate(lines) if (moment := texts.from_page(line))]
    # Gemini's answer stands after the time; elsewhere the time is the last line.
    is_prompt = is_header(header)
    at, time = len(lines), texts.UNKNOWN
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


def is_aistudio(entry: dict) -> bool:
    return isinstance(entry.get("chunkedPrompt"), dict)


def _aistudio_turns(value: dict) -> Iterator[dict]:
    """The chunks, without the model's thoughts."""
    model = fields(value.get("runSettings")).get("model")
    for chunk in objects(fields(value["chunkedPrompt"]).get("chunks")):
        if not chunk.get("isThought"):
            yield chunk | {"model": model if chunk.get("role") == "model" else ""}


AISTUDIO = Layout("aistudio", _aistudio_turns, id="", at="createTime")


_RELOAD = "RELOAD"


def detect_chrome(entry: dict) -> str:
    """The name "chrome" for a visit with its time in microseconds."""
    return "chrome" if "time_usec" in entry and isinstance(entry.get("url"), str) else ""


@each(detect_chrome)
def read_chrome(entry: Entry) -> Iterator[Record]:
    """One visit. Loading a page of results again is not typing again."""
    visit = entry.value
    url, time = visit["url"], texts.from_number(visit["time_usec"])
    how = visit.get("page_transition_qualifier"), visit.get("page_transition")
    if is_place(url):
        return
    if query := texts.clean(typed_query(url)).strip():
        if _RELOAD not in how:
            yield Search("chrome", query, *time)
        return
    title = visit.get("title")
    text = texts.clean(title if isinstance(title, str) and title.strip() else url).strip()
    if text:
        yield Visit("chrome", text, *time)
