"""The one renderer of foreign text: Markdown in, a small set of safe tags out.

Every answer, persona, query, guideline and reason goes through ``render``, whatever wrote it, so
that nothing in the markup tells strategies apart and no text can act in the reader's browser.
"""

import functools
import re

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

# Beyond this a text is shown as it is, unrendered: parsing time must not be the writer's choice.
MARKDOWN_LIMIT = 200_000
NESTING_LIMIT = 20

TAGS = {
    *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "a"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"a": {"href"}, "ol": {"start"}}

_SURROGATES = re.compile("[\ud800-\udfff]")
_OVERRIDES = re.compile("[\u202d\u202e]")

_markdown = MarkdownIt(
    "js-default", {"html": False, "linkify": False, "maxNesting": NESTING_LIMIT, "breaks": True}
)
# No remote picture ever loads: an image stays the text it was written as.
_markdown.disable(["image"])


@functools.lru_cache(maxsize=4096)
def render(text: str) -> SafeString:
    """Return ``text`` (Markdown of any origin) as HTML made of ``TAGS`` only.

    Raw HTML is shown as text, images are not loaded, links open without a referrer. Texts over
    ``MARKDOWN_LIMIT`` characters are shown unrendered.
    """
    text = clean(text)
    if len(text) > MARKDOWN_LIMIT or _costly(text):
        return mark_safe(f"<pre>{escape(text)}</pre>")  # noqa: S308 - escaped
    html = nh3.clean(
        _markdown.render(text),
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return mark_safe(html)  # noqa: S308 - the one place where foreign text becomes markup


def clean(text: str) -> str:
    """Return ``text`` without characters that PostgreSQL or a browser cannot hold.

    NUL is dropped, a lone surrogate becomes U+FFFD, and bidirectional overrides, which could make
    a text read otherwise than it is, are dropped too.
    """
    text = _SURROGATES.sub("\ufffd", text.replace("\x00", ""))
    return _OVERRIDES.sub("", text)


def _costly(text: str) -> bool:
    """Whether the text is of a shape that Markdown parsers take quadratic time over."""
    longest = max((len(line) for line in text.split("\n")), default=0)
    return longest > 50_000 or any(text.count(sign * 200) for sign in "[*_>`!(<|~")
