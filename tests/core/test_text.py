import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from annotation.core import records, text
from annotation.core.templatetags import attune
from tests.security.vectors import corpus

CORPUS = corpus()
ALLOWED = text.ATTRIBUTES | {"a": {"href", "rel"}}


def scheme(address: str) -> str:
    """The scheme that a browser would see: it drops tabs and newlines, and leading controls."""
    seen = re.sub("[\t\n\r]", "", address).lstrip("".join(map(chr, range(0x21))))
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", seen)
    return found[1].lower() if found else ""


class Reader(HTMLParser):
    """Collects what is wrong with rendered HTML: a tag, an attribute or an address too many."""

    def __init__(self, html: str):
        super().__init__()
        self.faults, self.links = [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag not in text.TAGS:
            self.faults.append(tag)
        for name, value in attributes:
            if name not in ALLOWED.get(tag, set()) | ALLOWED["*"]:
                self.faults.append(f"{tag} {name}")
            if name == "href":
                self.links.append(value)
                if scheme(value) not in {"", "http", "https", "mailto"}:
                    self.faults.append(value)

    def unknown_decl(self, data):
        self.faults.append(data)

    handle_comment = handle_decl = handle_pi = unknown_decl


def test_the_corpus_is_large_enough_to_mean_something():
    assert len(CORPUS) >= 500


@pytest.mark.parametrize("part", range(8))
def test_hostile_texts_become_allowed_tags_only(part):
    wrong = {one: Reader(text.render(one)).faults for one in CORPUS[part::8]}
    assert {one: faults for one, faults in wrong.items() if faults} == {}


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=[])))
@example("\ud800\x00")
@settings(deadline=None, max_examples=300)
def test_any_text_renders_to_allowed_tags(value):
    assert Reader(text.render(value)).faults == []


SIGNS = [*"[)<>`*_|\n;\"'x~#\\", "](", "- ", "> ", "![", "&#", "javascript:"]


@given(st.lists(st.sampled_from(SIGNS)))
@settings(deadline=None, max_examples=300)
def test_any_heap_of_signs_renders_to_allowed_tags(signs):
    assert Reader(text.render("".join(signs))).faults == []


def test_a_script_address_is_no_link():
    for address in ("javascript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd"):
        assert Reader(text.render(f"[x]({address}) <{address}>")).links == []


def test_an_image_stays_the_text_it_was_written_as():
    assert text.render("![cat](https://foreign.invalid/cat.png)") == (
        '<p>!<a href="https://foreign.invalid/cat.png" rel="noopener noreferrer nofollow">cat</a>'
        "</p>\n"
    )


def test_marked_words_say_who_marked_them_and_leave_lists_and_headings_what_they_are():
    words = "# Tea\n\n- green tea\n- black"
    spans = [(0, 5, "Ann"), (9, 20, "Ann"), (15, 25, "Bo")]
    pieces = [(part, ",".join(who), str(len(who))) for part, who in text.covered(words, spans)]
    assert "".join(part for part, *_ in pieces) == words
    assert text.covered("", []) == []
    assert text.render_marked(pieces).replace("\n", "") == (
        '<h1><mark title="Ann">Tea<sup>1</sup></mark></h1><ul><li>'
        '<mark title="Ann">green <sup>1</sup></mark><mark title="Ann,Bo">tea<sup>2</sup></mark>'
        '</li><li><mark title="Bo">blac<sup>1</sup></mark>k</li></ul>'
    )


def test_links_open_without_a_referrer_and_keep_nothing_else():
    assert text.render('[x](https://a.example "title")') == (
        '<p><a href="https://a.example" rel="noopener noreferrer nofollow">x</a></p>\n'
    )


def test_markdown_that_answers_are_written_in_is_set():
    html = text.render(
        "# 제목\n\n1. **굵게** `code`\n2. 二\n\n|a|b|\n|-|-|\n|1|~~2~~|\n\n> q\n\n---"
    )
    tags = re.findall(r"<([a-z0-9]+)", html)
    expected = "h1 ol li strong code li table thead tr th th tbody tr td td s blockquote p hr"
    assert tags == expected.split()
    assert Reader(text.render("```python\nx = 1\n```")).faults == []


def test_characters_that_reverse_or_break_a_text_are_gone():
    assert records.clean("a\x00b\ud800c\u202ed\u202de") == "ab\ufffdcde"


N = 100_000
COSTLY = {
    **{f"{sign} 10^5 times": sign * N for sign in "[*>_`!(<|~"},
    **{f"{sign} and a blank": f"{sign} " * N for sign in "[*>_`!(<|~#-+&"},
    "one line of 5 MB": "x" * 5_000_000,
    "one line of 5 MB of brackets": "[" * 5_000_000,
    "a table of 10^5 columns": "|".join("a" * N) + "\n" + "|".join("-" * N) + "\n",
    "a table of empty cells": "a|" * 2000 + "\n" + "-|" * 2000 + "\n" + "x|\n" * 60,
    "lines": "a\n" * N,
    "emphasis never closed": "*a **b " * 20_000,
    "links never closed": "[a](" * 20_000,
    "code never closed": "a``b`" * 20_000,
}


@pytest.mark.parametrize("name", COSTLY)
def test_a_costly_text_is_shown_whole_and_unparsed(name, monkeypatch):
    def parsed(*_args):
        raise AssertionError("the text was given to the parser")

    monkeypatch.setattr(text, "_markdown", type("Parser", (), {"render": parsed}))
    html = text.render(COSTLY[name])
    assert html.startswith("<pre>")
    assert Reader(html).faults == []


@pytest.mark.parametrize(
    "value",
    [
        "[" * 199 + "a",
        ("[" * 199 + "a") * 50,
        "[ " * 9_900,
        "*a " * 9_900,
        "> - " * 2_400,
        "|a" * 90 + "\n" + "|-" * 90 + "\n" + "|x\n" * 200,
        "[a]: http://x.example/" + "x" * 40_000 + "\n\n" + "[a]" * 3_000,
    ],
    ids=lambda value: value[:12],
)
def test_what_is_parsed_stays_within_a_small_multiple_of_the_text(value):
    assert not text._costly(value)
    assert len(text.render(value)) < 12 * len(value) + 200_000


def test_a_profile_is_escaped_at_every_depth():
    hostile = "<img src=x onerror=alert(1)>"
    html = attune.profile(
        {hostile: [hostile, {hostile: hostile}], "n": 1.5, "empty": "", "no": None}
    )
    assert "<img" not in html
    assert html.count("&lt;img") + html.count("&lt;Img") == 4
    assert "<dd>1.5</dd>" in html
    assert "mpty" not in html


def test_a_profile_cannot_reverse_its_readers_line():
    assert attune.profile("a\u202eb") == "ab"


@pytest.mark.parametrize(
    "address",
    [
        *("/accounts/logout/", "//evil.example/a", "tokens/", "#top", "?a=1", "http:///a"),
        *("http://127.0.0.1:8000/tokens/", "javascript:alert(1)", "data:text/html,x", "http://["),
        # As a browser reads them, the same host; and other names of the server.
        *("http://%31%327.0.0.1:8000/tokens/", "http://127.0.0.1.:8000/", "http://127.1:8000/"),
        *("http://2130706433:8000/", "http://0x7f000001/", "http://127.0.0.1%00/", "http://[::1]/"),
        *("http://LOCALHOST:8000/", "http://l%EF%BD%8Fcalhost/", "https://a.second.example/"),
    ],
)
def test_no_link_of_a_foreign_text_leads_to_a_page_of_ours(address, settings):
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, ".second.example"]
    assert "href" not in text.render(f"[open]({address})")
    assert "href" not in text.render(f"<{address}>")


def test_a_link_to_another_host_stays_one_where_every_name_is_the_servers(settings):
    settings.ALLOWED_HOSTS = ["*"]
    for address in ("https://other.example/a", "https://müller.example", "mailto:a@b.example"):
        assert "href" in text.render(f"[out]({address})")


def test_isolates_are_dropped_as_overrides_are():
    assert text.render("a\u2066b\u2069\u202ec") == "<p>abc</p>\n"
