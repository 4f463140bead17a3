"""What is found in a text, and what is left of it."""

import itertools
import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.histories import redact
from tests.histories import redaction

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
    "secret": ["sk-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9v", "AKIAIOSFODNN7EXAMPLE",
               "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
               "eyJhbGciOiJIUzI1NiJ9.eyJ1aWQiOjEwMDg2fQ.kq1Z7xw0R2bYpA3cLtN8",
               "-----BEGIN PRIVATE KEY-----\nMIIEow\n-----END PRIVATE KEY-----"],
    "postcode": ["SW1A 1AA", "OR 97205", "K1A 0B1"],
    "profile": ["https://www.linkedin.com/in/mina-park", "github.com/tlindqvist",
                "https://www.zhihu.com/people/li-ming", "https://velog.io/@mina"],
    "handle": ["@mina_draws"],
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
    "@dataclass and @property, and @angular/core",
    "github.com/django/django is a repository",
    "The password is wrong, your password is required, password: str",
    "I'm Chinese, I'm not sure, my name is too long, call me when you can",
    "我是学生,我是程序员,这道菜叫什么?我叫了外卖。密码是什么?",
    "저는 대학생입니다. 저는 한국인입니다. 비밀번호를 잊어버렸어요.",
    "The flight is on 4 May 2024, pi is 3.1415926535",
]
INTRODUCED = [
    ("Hi, I'm Mina Park and I work", "name", "Mina Park"),
    ("my name is arun", "name", "arun"),
    ("My wife Clara is ill", "name", "Clara"),
    ("Thanks,\nJoanna Reyes", "name", "Joanna Reyes"),
    ("我叫李明浩,今年", "name", "李明浩"),
    ("我是周伟,昨天", "name", "周伟"),
    ("제 이름은 김민수입니다", "name", "김민수"),
    ("저는 최유진이라고 합니다", "name", "최유진"),
    ("I was born on March 12, 1987 in", "birthday", "March 12, 1987"),
    ("我生日是1990年5月4日,", "birthday", "1990年5月4日"),
    ("1990년 5월 4일에 태어났어요", "birthday", "1990년 5월 4일"),
    ("password: correct-horse now", "secret", "correct-horse"),
    ("密码是Wf880412,", "secret", "Wf880412"),
    ("비밀번호는 Winter2024인데", "secret", "Winter2024"),
    ("My ZIP code is 60614.", "postcode", "60614"),
    ("邮编是310012,", "postcode", "310012"),
    ("우편번호는 06236입니다", "postcode", "06236"),
    ("微信号:lmh_1998", "handle", "lmh_1998"),
    ("카톡: seoyeon07", "handle", "seoyeon07"),
]
FILLERS = ["See {} please.", "“{}”", "({})", "a\n{}\nb", "是{}。"]


def found(text, names=()):
    return [(span.kind, text[span.start : span.end]) for span in redact.suggest(text, names)]


@pytest.mark.parametrize("kind", FOUND)
def test_every_kind_is_found_whole_between_other_words(kind):
    for value in FOUND[kind]:
        for filler in FILLERS[: 2 if kind in ("address", "email") else None]:
            assert found(filler.format(value)) == [(kind, value)]


@pytest.mark.parametrize(("text", "kind", "value"), INTRODUCED)
def test_what_the_words_around_it_introduce_is_found_alone(text, kind, value):
    assert found(text) == [(kind, value)]


def test_the_figures_on_the_page_are_those_of_the_labelled_set():
    stored = json.loads(redaction.FIGURES.read_text())
    assert stored["sentences"] >= 400
    assert redaction.document() == stored
    assert stored["all"]["recall"] >= 0.9
    assert stored["all"]["precision"] >= 0.95


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_only_looks_like_it_is_left_alone(text):
    assert found(text) == []


def test_names_are_found_as_words_in_any_case_and_in_any_script():
    names = ["Ann Lee", "李明", "민수", "Müller"]
    text = "ANN  LEE, Annabel and Ann; 李明说 민수가 MÜLLER's mu\u0308ller"
    places = ["ANN  LEE", "李明", "민수", "MÜLLER", "mu\u0308ller"]
    assert found(text, names) == [("name", place) for place in places]


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
    kept = redact.apply(text, [(span.start, span.end, "\ue000") for span in spans])
    pattern = r"\[[A-Z]{2,12}_\d{1,6}\]"
    assert re.findall(pattern, kept) == re.findall(pattern, text)


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
    "keys without end": "-----BEGIN PRIVATE KEY-----" * 2_000,
    "tokens": "eyJaaaaaaaa." * 4_000,
    "introductions": "我叫李李李" * 10_000,
    "names": "I'm Aa Aa Aa Aa " * 3_000,
    "passwords": "password: " * 5_000,
    "births": "born born " * 5_000,
    "relatives": "친구 친구 " * 8_000,
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_a_text_made_to_be_slow_takes_no_longer_than_a_second(what):
    begin = time.thread_time()  # of this thread alone: other work on the machine does not count
    redact.suggest(HOSTILE[what], ["Ann"])
    assert time.thread_time() - begin < 1
