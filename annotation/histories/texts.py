"""Texts of exports: stored verbatim but for what a database cannot hold or nobody could see."""

import re

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
