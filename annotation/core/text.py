"""The one renderer of foreign text: Markdown in, a small set of safe tags out.

Every answer, persona, query, guideline and reason goes through ``render``, whatever wrote it, so
that nothing in the markup tells strategies apart and no text can act in the reader's browser.
"""

import functools
import re
import socket
from collections.abc import Iterable, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from html import unescape
from itertools import pairwise
from urllib.parse import unquote, urlsplit

import nh3
from django.conf import settings
from django.http.request import validate_host
from django.utils.html import escape, format_html, strip_tags
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore

from annotation.core import languages, mathematics
from annotation.core.records import clean

# Beyond these a text is shown as it is, unrendered: parsing time and the size of the page must not
# be the writer's choice. Within them the worst texts known take half a second.
MARKDOWN_LIMIT = 100_000
LINE_LIMIT = 5_000
LINE_LENGTH_LIMIT = 50_000
SIGN_LIMIT = 10_000
CELL_LIMIT = 20_000
NESTING_LIMIT = 20
# A page full of answers costs one parse each; an enormous one is not worth its memory.
CACHED_LENGTH = 20_000

TAGS = {
    *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "a"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li"),
    *("table", "thead", "tbody", "tr", "th", "td"),
    *mathematics.TAGS,
}
# "*" empties what the sanitiser would keep on every tag; `lang` is ours: foreign HTML stays text.
ATTRIBUTES = {"*": {"lang"}, "a": {"href"}, "ol": {"start"}, **mathematics.ATTRIBUTES}

_sanitiser = nh3.Cleaner(
    tags=TAGS,
    attributes=ATTRIBUTES,
    url_schemes={"http", "https", "mailto"},
    link_rel="noopener noreferrer nofollow",
)

_PLACEHOLDERS = re.compile("[\ue000\ue001]")
_SIGNS = re.compile(r"[][*_`<>|~!&\\#+-]")

_markdown = MarkdownIt(
    "js-default", {"html": False, "linkify": False, "maxNesting": NESTING_LIMIT, "breaks": True}
)
# No remote picture ever loads: an image stays the text it was written as. A reference's address is
# repeated at every use, so that a short text could make a page of gigabytes: it stays text too.
_markdown.disable(["image", "reference"])
# With the options above these rules never change a text, but each is tried at every line or word.
_markdown.disable(["html_block", "html_inline", "linkify", "replacements", "smartquotes"])
mathematics.extend(_markdown)


def _leads_out(address: str) -> bool:
    """Whether a link may be one: in foreign text, none leads to a page of this server."""
    try:
        parts = urlsplit(address.strip())
        host = _asked_host(parts.hostname or "")
    except ValueError:
        return False
    own = {urlsplit(settings.BASE_URL).hostname or "", *settings.ALLOWED_HOSTS} - {"*"}
    return parts.scheme == "mailto" or (
        parts.scheme in ("http", "https") and host != "" and not validate_host(host, own)
    )


def _asked_host(name: str) -> str:
    """The host that a browser asks where an address has ``name``; ValueError where it is none."""
    host = unquote(name).encode("idna").decode().rstrip(".").lower()
    with suppress(OSError):
        host = socket.inet_ntoa(socket.inet_aton(host))  # 127.1 and 0x7f000001 are 127.0.0.1
    return f"[{host}]" if ":" in host else host


# What is no link stays the text it was written as.
_markdown.validateLink = _leads_out  # type: ignore[assignment, method-assign]
# SequenceMatcher is quadratic: longer texts are compared line by line.
WORDS_LIMIT = 4_000


def _mark_languages(state: StateCore) -> None:
    """Give each block of text the `lang` that differs from its page's."""
    blocks = {
        n: "".join(part.content for part in inline.children or () if part.type == "text")
        for n, inline in enumerate(state.tokens)
        if inline.type == "inline"
    }
    whole = " ".join(blocks.values())
    for n, words in blocks.items():
        code = languages.differing(words, state.env["page"], state.env["stored"], whole)
        if code:
            # The paragraph of a tight list has no tag; its item has.
            hidden = state.tokens[n - 1].hidden
            state.tokens[n - 1 - hidden].attrSet("lang", code)


_markdown.core.ruler.push("languages", _mark_languages)


def render(text: str, language: str = "") -> SafeString:
    """Return ``text`` (Markdown of any origin) as HTML made of ``TAGS`` only.

    Raw HTML is shown as text, images are not loaded, links open without a referrer. Texts that are
    too long or too costly to parse are shown unrendered, whole. Paragraphs in another language
    than the page's have a `lang`; ``language`` is the one stored with the text, "" where none is.
    """
    page = get_language() or ""
    make = _cached if len(text) <= CACHED_LENGTH else _render
    return make(text, page, language)


def _render(text: str, page: str, stored: str) -> SafeString:
    text = clean(text)
    if _costly(text):
        return mark_safe(f"<pre>{escape(text)}</pre>")  # noqa: S308 - escaped
    html = _sanitiser.clean(_markdown.render(text, {"page": page, "stored": stored}))
    return mark_safe(html)  # noqa: S308 - the one place where foreign text becomes markup


def plain(text: str, language: str = "") -> SafeString:
    """``text`` escaped, in a ``<bdi>`` with its `lang` where that is another than the page's."""
    text = clean(text)
    if code := languages.differing(text, get_language() or "", language):
        return format_html('<bdi lang="{}">{}</bdi>', code, text)
    return escape(text)


def as_stored(text: str) -> SafeString:
    """``text`` escaped, to the character: a parser makes a line feed of a plain carriage return."""
    return mark_safe(escape(text).replace("\r", "&#13;"))  # noqa: S308 - escaped


def render_marked(pieces: Iterable[tuple[str, ...]]) -> SafeString:
    """``render`` the joined pieces (words, label), with those that have a label in ``<mark>``.

    A third part of a piece is a note that stands raised behind its words.

    Signs of private use stand for the labelled words while the rest is rendered, so that a mark
    never changes what is markup. Where such a sign ends up in an address, it stays encoded there.
    """
    pieces = list(pieces)
    marked = [piece for piece in pieces if piece[1]]
    joined, number = "", 0
    for words, label, *_note in pieces:
        if label:
            joined, number = f"{joined}\ue000{number}\ue001", number + 1
        else:
            joined += _PLACEHOLDERS.sub("", words)

    def highlight(match: re.Match) -> str:
        words, label, *note = marked[int(match[1])]
        raised = "".join(f"<sup>{escape(each)}</sup>" for each in note)
        return f'<mark title="{escape(label)}">{escape(clean(words))}{raised}</mark>'

    html = re.sub("\ue000(\\d+)\ue001", highlight, render(joined))
    return mark_safe(html)  # noqa: S308 - rendered above, and the words are escaped


# The end of a line, and what makes the next one a heading, a quote or an entry of a list.
_LINE_STARTS = re.compile(r"(?:\A|\n+)[ \t]*(?:(?:[-*+>]|#{1,6}|\d+[.)])[ \t]+)*")


def covered(text: str, spans: Sequence[tuple[int, int, str]]) -> list[tuple[str, list[str]]]:
    """``text`` in pieces, each with the names of the ``spans`` (start, end, name) that it lies in.

    What begins a line is a piece of its own, without names: a mark never changes what is markup.
    """
    starts = [match.span() for match in _LINE_STARTS.finditer(text)]
    within = {place for start, end, _name in spans for place in (start, end)}
    cuts = {0, len(text), *within, *(place for start in starts for place in start)}
    pieces = []
    for begin, end in pairwise(sorted(place for place in cuts if place <= len(text))):
        names = [name for start, stop, name in spans if start <= begin and end <= stop]
        plain = any(start <= begin and end <= stop for start, stop in starts)
        pieces.append((text[begin:end], [] if plain else names))
    return pieces


_cached = functools.lru_cache(maxsize=1024)(_render)
_CELLS = re.compile(r"(?=<t[dh]\b)")


def label_cells(rows: SafeString, heads: Sequence[str]) -> SafeString:
    """Rendered rows of a table, every plain ``<td>`` with its column's name in `data-label`.

    A text of its own (``dir="auto"``) and a cell over several columns get none.
    """
    labelled = (_labelled(row, heads) for row in re.split(r"(?=<tr\b)", rows))
    return mark_safe("".join(labelled))  # noqa: S308 - a template rendered it; names are escaped


def split_heads(rows: SafeString) -> tuple[tuple[str, ...], SafeString]:
    """The words of a table's first row, which has its heads, and the other rows."""
    first, _, others = rows.partition("</tr>")
    heads = (unescape(strip_tags(cell)).strip() for cell in _CELLS.split(first)[1:])
    return tuple(heads), mark_safe(others)  # noqa: S308 - a template rendered it


def numeric_columns(rows: str, count: int) -> list[bool]:
    """Whether each of ``count`` columns holds numbers (class ``n``), as the first row says that is
    no heading of a group.
    """
    row = next((row for row in rows.split("</tr>") if "colspan" not in row), "")
    cells = _CELLS.split(row)[1:]
    return ['class="n"' in cell.partition(">")[0] for cell in (cells + [""] * count)[:count]]


def _labelled(row: str, heads: Sequence[str]) -> str:
    start, *cells = _CELLS.split(row)
    for place, head in enumerate(heads[: len(cells)]):
        opening, rest = cells[place].split(">", 1)
        unnamed = opening.startswith("<td") and not re.search('dir="auto"|colspan', opening)
        if head and unnamed:
            cells[place] = opening + format_html(' data-label="{}">', head) + rest
    return start + "".join(cells)


def _costly(text: str) -> bool:
    """Whether parsing could take long: by length, lines, signs, cells or a long run of one sign."""
    lines = text.split("\n")
    return (
        len(text) > MARKDOWN_LIMIT
        or len(lines) > LINE_LIMIT
        or max(map(len, lines)) > LINE_LENGTH_LIMIT
        or len(_SIGNS.findall(text)) > SIGN_LIMIT
        # The rows of a table are filled up with empty cells.
        or max(line.count("|") for line in lines) * len(lines) > CELL_LIMIT
        # Openers that are never closed take quadratic time.
        or any(sign * 200 in text for sign in "[*_>`!(<|~")
    )


# A run of white space, a Chinese, Japanese or Korean sign, or a word with what clings to it.
_TOKEN = re.compile(
    r"\s+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)


def compared(old: str, new: str) -> list[tuple[str, str]]:
    """The differences in order: (sign, text) with sign "=" equal, "-" removed, "+" added."""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    if max(len(before), len(after)) > WORDS_LIMIT:
        before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    parts = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, i, j, k, n in matcher.get_opcodes():
        if tag == "equal":
            parts.append(("=", "".join(before[i:j])))
            continue
        parts += [("-", "".join(before[i:j]))] if j > i else []
        parts += [("+", "".join(after[k:n]))] if n > k else []
    return parts
