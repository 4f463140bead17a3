"""What a web address tells: the query of a search page, or that it is a place on a map."""

import re
from urllib.parse import parse_qs, urlsplit

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
    for hosts, paths, names in _ENGINES:
        if hosts.fullmatch(host) and paths.fullmatch(path):
            return next((asked[name][0] for name in names if name in asked), "")
    return ""


def is_place(url: object) -> bool:
    """Whether it leads to a place on Google's maps, which is not imported."""
    return isinstance(url, str) and bool(_MAPS.match(url))
