r"""Formulas in Markdown: LaTeX between ``\(…\)``, ``\[…\]``, ``$…$`` or ``$$…$$`` becomes MathML.

What is no formula that can be rendered stays as it was written, with its delimiters. Pure.
"""

import re
from collections.abc import MutableMapping
from typing import Any
from xml.etree import ElementTree

from latex2mathml import converter, exceptions
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

# Opening and closing delimiter, and whether the formula stands on a line of its own.
DELIMITERS = {r"\(": (r"\)", False), r"\[": (r"\]", True), "$$": ("$$", True), "$": ("$", False)}
# Characters of a formula, and of all the formulas of a text: converting takes time in proportion.
FORMULA_LIMIT = 2_000
TEXT_LIMIT = 10_000
LINE_LIMIT = 60

TAGS = {
    *("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mstyle", "mpadded", "mphantom"),
    *("mfrac", "msqrt", "mroot", "msub", "msup", "msubsup", "munder", "mover", "munderover"),
    *("mtable", "mtr", "mtd", "menclose"),
}
ATTRIBUTES = {
    "math": {"display", "alttext"},
    "mi": {"mathvariant"},
    "mn": {"mathvariant"},
    "mo": {
        *("stretchy", "fence", "form", "separator", "lspace", "rspace", "minsize", "maxsize"),
        *("movablelimits", "largeop"),
    },
    "mspace": {"width"},
    "mstyle": {"displaystyle", "scriptlevel", "mathvariant"},
    "mfrac": {"linethickness"},
    "mover": {"accent"},
    "mtable": {"columnalign", "rowspacing", "columnspacing", "displaystyle"},
    "mtd": {"columnalign"},
    "menclose": {"notation"},
}
# Between single dollars stand prices too: a formula has one of these signs, or is a single letter.
_FORMULA = re.compile(r"[\\^_={}+<>]|^[A-Za-z]$")
# What stands for redacted words (core.text.render_marked) must not be taken apart.
_PLACEHOLDER = re.compile("[\ue000\ue001]")
_BROKEN: tuple[type[Exception], ...] = (
    *(
        kind
        for kind in vars(exceptions).values()
        if isinstance(kind, type) and issubclass(kind, Exception)
    ),
    # The converter has no rule for every broken formula, and then fails as Python does.
    *(ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError),
    *(StopIteration, ElementTree.ParseError),
)


def extend(markdown: MarkdownIt) -> None:
    """Let ``markdown`` render formulas."""
    markdown.inline.ruler.before("escape", "formula", _inline)
    markdown.block.ruler.before(
        "fence", "formula_block", _block, {"alt": ["paragraph", "blockquote", "list"]}
    )
    markdown.add_render_rule("formula", lambda _self, tokens, at, *_rest: tokens[at].content)


def to_mathml(latex: str, display: bool) -> str | None:
    """``latex`` as MathML, made of TAGS; None where it cannot be rendered as it is."""
    if not latex.strip() or len(latex) > FORMULA_LIMIT or _PLACEHOLDER.search(latex):
        return None
    try:
        mathml = converter.convert(latex, display="block" if display else "inline")
        # The converter does not escape what stands in \text: that formula stays as written.
        root = ElementTree.fromstring(mathml)  # noqa: S314 - no DTD: it begins with <math
    except _BROKEN:
        return None
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    # An unknown command comes out as its own name.
    written = "\\" in "".join(root.itertext())
    if written or not names <= TAGS:
        return None
    return mathml.replace("<math ", f'<math alttext="{escapeHtml(latex.strip())}" ', 1)


def _delimiter(source: str, at: int) -> str:
    """The opening delimiter at a place of ``source``, or nothing."""
    if source[at : at + 1] not in "$\\":  # asked at each sign that may begin something
        return ""
    return next((opening for opening in DELIMITERS if source.startswith(opening, at)), "")


def _inline(state: StateInline, silent: bool) -> bool:
    opening = _delimiter(state.src, state.pos)
    if not opening:
        return False
    closing, display = DELIMITERS[opening]
    start = state.pos + len(opening)
    end = state.src.find(closing, start, start + FORMULA_LIMIT + len(closing))
    if end < 0 or end == start:
        return False
    latex, after = state.src[start:end], end + len(closing)
    if opening == "$" and not _is_formula(state.src, state.pos, latex, after):
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content = _rendered(state.env, state.src[state.pos : after], latex, display)
    state.pos = after
    return True


def _is_formula(source: str, before: int, latex: str, after: int) -> bool:
    """Whether single dollars hold a formula: no blank within them, no digit beside them."""
    beside = source[before - 1 : before] + source[after : after + 1]
    return (
        latex == latex.strip()
        and "\n\n" not in latex
        and not any(sign.isalnum() for sign in beside)
        and bool(_FORMULA.search(latex))
    )


def _block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """A formula that begins a line and ends one: its lines are no lists or headings."""
    begin = state.bMarks[first] + state.tShift[first]
    opening = _delimiter(state.src, begin)
    if not opening or state.is_code_block(first) or not DELIMITERS[opening][1]:
        return False
    closing = DELIMITERS[opening][0]
    for line in range(first, min(last, first + LINE_LIMIT)):
        start = begin + len(opening) if line == first else state.bMarks[line] + state.tShift[line]
        text = state.src[start : state.eMarks[line]].rstrip()
        if line > first and state.sCount[line] < state.blkIndent:
            return False
        if closing in text:
            ends_there = text.index(closing) == len(text) - len(closing)
            return ends_there and _take_block(state, first, line, silent)
    return False


def _take_block(state: StateBlock, first: int, line: int, silent: bool) -> bool:
    if silent:
        return True
    source = state.getLines(first, line + 1, state.blkIndent, False).strip()
    state.push("paragraph_open", "p", 1)
    token = state.push("formula", "", 0)
    token.content = _rendered(state.env, source, source[2:-2], True)
    state.push("paragraph_close", "p", -1)
    state.line = line + 1
    return True


def _rendered(env: MutableMapping[str, Any], source: str, latex: str, display: bool) -> str:
    """MathML, or the source as text where it is none or the text has had its share."""
    env["formulas"] = env.get("formulas", 0) + len(latex)
    mathml = to_mathml(latex, display) if env["formulas"] <= TEXT_LIMIT else None
    return mathml or escapeHtml(source)
