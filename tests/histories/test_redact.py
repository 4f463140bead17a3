"""What is found in a text, and what is left of it."""

import itertools
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.histories import redact

FOUND = {
    "email": ["ann.lee@mail.example.org", "ann+tea@example.co.kr", "李明@example.cn"],
    "phone": ["+82 10-1234-5678", "010-1234-5678", "(212) 555-0198",
              "13812345678", "+44 20 7946 0958"],
    "card": ["4111 1111 1111 1111", "5500-0000-0000-0004", "378282246310005"],
    "iban": ["DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819"],
    "id": ["11010519491231002X", "971013-9019902", "536-90-4399", "RSSMRA85T10A562S",
           "390.533.447-05"],
    "ip": ["8.8.8.8", "192.168.7.20", "2001:db8::8a2e:370:7334"],
    "url": ["https://shop.example/find?q=my+name&token=9", "http://a.example/?x=1"],
    "address": ["221B Baker Street", "北京市海淀区中关村大街27号", "서울시 강남구 테헤란로 152",
                "Hauptstraße 12"],
}  # fmt: skip
LEFT_ALONE = [
    "On 2024-05-17 at 10:30 and on 17.05.2024",
    "version 1.2.3, 12345678 units, ISBN 978-3-16-148410-0",
    "4111 1111 1111 1112 is no card, and 0000 0000 0000 0000 neither",
    "DE89 3704 0044 0532 0130 01 is no account",
    "https://example.org/plain/page has no query",
    "127.0.0.1 is this machine, 999.1.1.1 none at all",
    "NAME_1 wrote to [EMAIL_2] about PHONE_3",
    "110105194912310021 fails its checksum",
]
FILLERS = ["See {} please.", "“{}”", "({})", "a\n{}\nb", "是{}。"]


def found(text, names=()):
    return [(span.kind, text[span.start : span.end]) for span in redact.suggest(text, names)]


@pytest.mark.parametrize("kind", FOUND)
def test_every_kind_is_found_whole_between_other_words(kind):
    for value in FOUND[kind]:
        for filler in FILLERS[: 2 if kind in ("address", "email") else None]:
            assert found(filler.format(value)) == [(kind, value)]


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_only_looks_like_it_is_left_alone(text):
    assert found(text) == []


def test_names_are_found_as_words_in_any_case_and_in_any_script():
    names = ["Ann Lee", "李明", "민수", "Müller"]
    text = "ANN  LEE, Annabel and Ann; 李明说 민수가 MÜLLER's mu\u0308ller"
    assert found(text, names) == [
        ("name", "ANN  LEE"),
        ("name", "李明"),
        ("name", "민수"),
        ("name", "MÜLLER"),
        ("name", "mu\u0308ller"),
    ]


def test_a_name_inside_an_address_leaves_nothing_of_it():
    text = "ann@example.org, Ann"
    marks = [(span.start, span.end, f"[{span.kind}]") for span in redact.suggest(text, ["ann"])]
    assert redact.apply(text, marks) == "[email], [name]"


def test_the_same_value_has_one_spelling():
    same = redact.canonical
    assert same("email", "Ann@Example.org") == same("email", "ann@example.ORG")
    assert same("phone", "+82 10-1234-5678") == same("phone", "010 1234 5678")
    assert same("card", "4111 1111 1111 1111") == same("card", "4111-1111-1111-1111")
    assert same("name", "Ann  Lee") == same("name", "ann lee")
    assert same("phone", "010 1234 5678") != same("phone", "010 1234 5679")


WORDS = st.one_of(
    st.sampled_from([value for values in FOUND.values() for value in values]),
    st.sampled_from(["NAME_1", "[EMAIL_2]", "Ann", "李明", "tea", "\n", "。", "(", "?q="]),
    st.text(max_size=12),
)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_passages_are_in_order_apart_and_never_touch_a_mark(text):
    spans = redact.suggest(text, ["Ann", "李明"])
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(a.end <= b.start for a, b in itertools.pairwise(spans))
    kept = "".join(
        text[a:b]
        for a, b in zip(
            [0, *(span.end for span in spans)],
            [*(span.start for span in spans), len(text)],
            strict=True,
        )
    )
    pattern = r"\[[A-Z]{2,12}_\d{1,6}\]"
    assert re.findall(pattern, kept) == re.findall(pattern, text)


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_what_was_replaced_is_not_found_again(text):
    spans = redact.suggest(text, ["Ann"])
    marks = [(s.start, s.end, f" [{s.kind.upper()}_{n}] ") for n, s in enumerate(spans, 1)]
    again = redact.apply(text, marks)
    labels = {label.strip() for _start, _end, label in marks}
    assert not [value for _kind, value in found(again, ["Ann"]) if any(x in value for x in labels)]


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=8))
def test_whatever_a_mark_covers_is_gone_and_the_rest_is_as_it_was(text, places):
    marks = [(a, min(a + n, len(text)), "\ue000") for a, n in places if a < len(text)]
    covered = {place for start, end, _label in marks for place in range(start, end)}
    left = "".join(sign for place, sign in enumerate(text) if place not in covered)
    assert redact.apply(text, marks).replace("\ue000", "") == left.replace("\ue000", "")
    assert "".join(piece for piece, _label in redact.pieces(text, marks)) == text


HOSTILE = {
    "digits": "1" * 50_000,
    "spaced digits": "1 " * 25_000,
    "dashes": "1-" * 25_000,
    "at signs": "a@" * 25_000,
    "dots": "x." * 25_000 + "@",
    "an address without end": "https://" + "a" * 50_000 + "?",
    "colons": ":" * 50_000,
    "places": "北京市" * 16_000 + "号",
    "cities": "서울시 " * 12_000,
    "streets": "12 A A A A " * 4_500,
    "accounts": "DE89" + "ABCD" * 12_000,
    "brackets": "[A_" * 16_000,
    "network": "1.1." * 12_000,
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_a_text_made_to_be_slow_takes_no_longer_than_a_second(what):
    begin = time.perf_counter()
    redact.suggest(HOSTILE[what], ["Ann"])
    assert time.perf_counter() - begin < 1
