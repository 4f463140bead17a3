import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.core import mathematics, text


def formulas(source: str) -> list[tuple[str, str]]:
    """(display, source) of each formula that is rendered."""
    html = text.render(source)
    return re.findall(r'<math alttext="([^"]*)" display="(\w+)">', html)


@pytest.mark.parametrize(
    ("source", "rendered"),
    [
        (r"Euler: \(e^{i\pi}\).", [(r"e^{i\pi}", "inline")]),
        (r"\[\frac{a}{b}\]", [(r"\frac{a}{b}", "block")]),
        ("So $x_1$ and $y$.", [("x_1", "inline"), ("y", "inline")]),
        ("$$\na^2\n- b = c\n$$\nafter", [("a^2\n- b = c", "block")]),
        ("$$a$$ and $$b$$", [("a", "block"), ("b", "block")]),
        ("- item\n\n  $$\n  x\n  $$", [("x", "block")]),
        (r"A sum \[x\] in a line", [("x", "block")]),
    ],
)
def test_formulas_of_all_delimiters_become_mathml(source, rendered):
    assert formulas(source) == rendered


@pytest.mark.parametrize(
    ("source", "html"),
    [
        # Prices, shares and code.
        ("It costs $5, not $10.", "<p>It costs $5, not $10.</p>"),
        ("US$5/US$10 and $AAPL/$TSLA", "<p>US$5/US$10 and $AAPL/$TSLA</p>"),
        (r"`\(x\)`", r"<p><code>\(x\)</code></p>"),
        # What cannot be rendered keeps its backslashes.
        (r"\(x^\)", r"<p>\(x^\)</p>"),
        (r"\(\unheard{x}\)", r"<p>\(\unheard{x}\)</p>"),
        (r"\(\text{<b>x</b>}\)", r"<p>\(\text{&lt;b&gt;x&lt;/b&gt;}\)</p>"),
        (r"\(  \)", r"<p>\(  \)</p>"),
    ],
)
def test_what_is_no_formula_stays_as_it_was_written(source, html):
    assert text.render(source).strip() == html


def test_text_after_a_formula_on_its_line_is_not_lost():
    assert "the tail" in text.render(r"\[x\] the tail")


def test_redacted_words_in_a_formula_keep_their_mark():
    html = text.render_marked([(r"\(x + ", ""), ("Mina", "NAME"), (r"\)", "")])
    assert '<mark title="NAME">Mina</mark>' in html
    assert "<math" not in html


def test_a_text_has_a_share_of_formulas_and_keeps_the_rest_as_written():
    formula = r"\(" + "x" * 1_000 + r"\) "
    html = text.render(formula * 12)
    assert html.count("<math") == mathematics.TEXT_LIMIT // 1_000
    assert html.count(r"\(x") == 2


PARTS = (r"\(", r"\)", r"\[", r"\]", "$", "$$", "x", "^", "_", "{", "}", r"\frac", r"\text", "&")
PARTS += ("<", ">", '"', "\\", r"\begin{matrix}", "\n", "\n\n", "- ", "> ", "    ")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(st.lists(st.sampled_from(PARTS), max_size=30))
def test_no_formula_brings_markup_that_is_not_allowed(parts):
    html = text.render("".join(parts))
    names = set(re.findall(r"<([a-z][a-z0-9]*)", html))
    assert names <= text.TAGS
    assert not re.search(r"<(script|img|style)|\son\w+=|href=\"java", html)
