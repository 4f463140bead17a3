"""Finding personal data in a text, and putting marks in its place. Nothing here keeps a value.

``suggest`` finds what has a form of its own, and what the words around it introduce
(``recognizers``): it never finds everything, so the owner sees each text and strikes out the rest.
Numbers are suggested where their checksum is right.
"""

import bisect
import functools
import ipaddress
import itertools
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import phonenumbers
from django.utils.translation import gettext_lazy as _
from stdnum import iban, luhn
from stdnum.br import cpf
from stdnum.cn import ric
from stdnum.es import dni
from stdnum.fr import nir
from stdnum.in_ import aadhaar
from stdnum.it import codicefiscale
from stdnum.kr import rrn
from stdnum.us import ssn

from annotation.histories.recognizers import FIRST, RECOGNIZERS, Recognizer, recognized

# What they are called.
KINDS = {
    "name": _("names"),
    "secret": _("passwords and keys"),
    "email": _("e-mail addresses"),
    "url": _("web addresses with a query"),
    "iban": _("bank accounts"),
    "id": _("identity numbers"),
    "card": _("card numbers"),
    "phone": _("phone numbers"),
    "ip": _("network addresses"),
    "address": _("street addresses"),
    "postcode": _("postcodes"),
    "birthday": _("birth dates"),
    "handle": _("account names"),
    "profile": _("profile addresses"),
    "private": _("what you struck out"),
}
# To be raised whenever the rules find other passages: what was looked through by a lower version is
# looked through again (``ingest.look_again``).
RULES = 1
# National numbers are tried as numbers of these countries; with a plus sign, of any.
REGIONS = ("US", "CN", "KR", "GB", "DE", "FR", "JP", "IN")
# The end of a number that tells two of them apart, with or without the country before it.
PHONE_DIGITS = 9


@dataclass(frozen=True, order=True)
class Span:
    """``text[start:end]`` is personal data of ``kind``, found by ``rule``."""

    start: int
    end: int
    kind: str
    rule: str


# Start, end, kind and rule, as the fields of a Span.
Passage = tuple[int, int, str, str]

# What other systems or we ourselves put in the place of a value: NAME_1, [EMAIL_12].
_MARKS = re.compile(r"\[[A-Z]{2,12}_\d{1,6}\]|(?<![A-Za-z0-9_])[A-Z]{2,12}_\d{1,6}(?![A-Za-z0-9_])")

# Letters of the scripts that write without spaces may touch what is looked for: only these end it.
_BEFORE, _AFTER = r"(?<![A-Za-z0-9_-])", r"(?![A-Za-z0-9_-])"
_LOCAL = r"A-Za-z0-9\u00c0-\u024f.+_-"
_EMAIL = re.compile(
    rf"(?:(?<![{_LOCAL}])[{_LOCAL}]{{1,64}}|[^\x00-\u024f\W]{{1,20}})"
    rf"@[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}}){{1,8}}"
)
_LINK = "[^\\s<>\"'`\\])}\u2018-\u201f\u3000-\u303f\uff01-\uff5e]"
_URL = re.compile(rf"https?://{_LINK}{{1,2000}}?\?{_LINK}{{1,4000}}", re.IGNORECASE)
_IPV4 = re.compile(rf"{_BEFORE}(?<!\.)\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?!\.\d){_AFTER}")
_IPV6 = re.compile(r"(?<![A-Za-z0-9:])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![A-Za-z0-9:])")
_CARD = re.compile(r"(?<![\d-])(?<!\d )(?:3[47]|[2456]\d)(?:[ -]?\d){11,17}(?![ -]?\d)")
_IBAN = re.compile(
    rf"{_BEFORE}[A-Z]{{2}}\d\d(?: ?[A-Z0-9]{{4}}){{2,7}}(?: ?[A-Z0-9]{{1,3}})?{_AFTER}"
)
# Seven digits or more with what people put between them: only there a phone number is looked for.
_DIGITS = re.compile(r"\+?\(?\d(?:[ \t./()\u00a0\u2010-\u2015-]{0,3}\d){6,16}")

_DATE = re.compile(r"(?:19|20)\d\d([-./])\d\d?\1\d\d?(?!\d)|\d\d?([-./])\d\d?\2(?:19|20)\d\d(?!\d)")

# What stands before the decimal places of a number.
_DECIMALS = re.compile(r"(?<![\d.])\d{1,3}\.\Z")

_STREET = (
    r"Street|St\.|Avenue|Ave\.?|Road|Rd\.?|Boulevard|Blvd\.?|Lane|Ln\.?|Drive|Dr\.?|Court|Place|"
    r"Square|Terrace|Way"
)
_ADDRESSES = [
    re.compile(
        rf"\b\d{{1,5}}[A-Za-z]? (?:[A-Z][\w'’.-]{{0,30}} ){{1,4}}(?:{_STREET})(?!\w)"
        r"(?:,? (?:Apt|Apartment|Suite|Unit|#)\.? ?\w{1,6})?"
    ),
    re.compile(
        r"\b[A-ZÄÖÜ][\wäöüß-]{1,30}(?:straße|strasse|str\.|weg|gasse|platz|allee) \d{1,4}[a-z]?\b"
    ),
    # The county is greedy on purpose: an address names ever smaller places, then a number.
    re.compile(
        r"(?:[\u4e00-\u9fff]{2,8}[省市区县州]){0,3}[\u4e00-\u9fff]{1,8}[路街道巷弄]"
        r"\s?\d{1,5}\s?[号弄](?:[\d\u4e00-\u9fff-]{0,12}[室楼层])?"
    ),
    re.compile(
        r"(?:[가-힣]{1,8}(?:시|도|구|군)\s){1,3}(?:[가-힣0-9]{1,12}(?:읍|면|동|로|길)\s?){1,2}"
        r"\d{1,5}(?:-\d{1,5})?(?:번지)?"
    ),
]

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff]")


def _is_card(value: str) -> bool:
    digits = re.sub(r"\D", "", value)
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and luhn.is_valid(digits)


def _is_address(value: str) -> bool:
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


_NATIONAL = (
    ("cn_ric", r"\d{17}[\dXx]", ric),
    ("kr_rrn", r"\d{6}-\d{7}", rrn),
    ("us_ssn", r"\d{3}-\d{2}-\d{4}", ssn),
    ("br_cpf", r"\d{3}\.\d{3}\.\d{3}-\d{2}", cpf),
    ("es_dni", r"\d{8}-?[A-Z]", dni),
    ("fr_nir", r"[12] ?\d\d ?\d\d ?\d[\dAB] ?\d{3} ?\d{3} ?\d\d", nir),
    ("in_aadhaar", r"\d{4} \d{4} \d{4}", aadhaar),
    ("it_codicefiscale", r"[A-Z]{6}\d\d[A-Z]\d\d[A-Z]\d{3}[A-Z]", codicefiscale),
)
# What has a form of its own, most of it with a checksum; phone numbers come after these.
_FORMS = (
    *FIRST,
    Recognizer("email", "email", _EMAIL, ("@",)),
    Recognizer("url", "url with a query", _URL, ("://",)),
    *(
        Recognizer("id", rule, re.compile(f"{_BEFORE}{pattern}{_AFTER}"), (), number.is_valid)
        for rule, pattern, number in _NATIONAL
    ),
    Recognizer("iban", "iban", _IBAN, (), iban.is_valid),
    Recognizer("card", "card", _CARD, (), _is_card),
    Recognizer("ip", "ip", _IPV4, (), _is_address),
    Recognizer("ip", "ip", _IPV6, (":",), _is_address),
)
_OTHERS = (*(Recognizer("address", "address", pattern) for pattern in _ADDRESSES), *RECOGNIZERS)


def suggest(text: str, names: Iterable[str] = ()) -> list[Span]:
    """Return the passages of ``text`` that look like personal data, in order, without overlaps.

    ``names`` are the owner's own words. What is a mark already (``NAME_1``, ``[EMAIL_1]``) is left
    alone. Where two rules find the same, the one with a checksum or a clearer form counts.
    """
    taken = [match.span() for match in _MARKS.finditer(text)]
    spans = []
    for start, end, kind, rule in _all(text, tuple(sorted(set(names)))):
        for piece in _free(start, end, taken):
            # What is left of a passage after another rule took its middle may be blank.
            if text[piece[0] : piece[1]].strip():
                spans.append(Span(*piece, kind, rule))
                bisect.insort(taken, piece)
    return sorted(spans)


def uncovered(text: str, spans: Iterable[Span], taken: Iterable[tuple[int, int]]) -> list[Span]:
    """What of the ``spans`` of a text none of the passages ``taken`` (start, end) covers."""
    covered = [(start, end) for start, end, _label in merged((*place, "") for place in taken)]
    pieces = [
        Span(start, end, span.kind, span.rule)
        for span in spans
        for start, end in _free(span.start, span.end, covered)
    ]
    # Signs alone between two marks tell nothing.
    return [span for span in pieces if any(map(str.isalnum, text[span.start : span.end]))]


def apply(text: str, marks: Iterable[tuple[int, int, str]]) -> str:
    """Return ``text`` with each passage ``(start, end, label)`` replaced by its label.

    Where passages overlap, all of what they cover is replaced; the label is the first one's.
    """
    return "".join(label or piece for piece, label in pieces(text, marks))


def pieces(text: str, marks: Iterable[tuple[int, int, str]]) -> list[tuple[str, str]]:
    """Cut ``text`` at its marks: ``(passage, label)`` in order, with label "" for what is free."""
    parts, place = [], 0
    for start, end, label in merged(marks):
        parts += [(text[place:start], ""), (text[start:end], label)]
        place = end
    return [piece for piece in [*parts, (text[place:], "")] if piece[0]]


def merged(marks: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """The passages in order, overlapping ones joined under the label of the first."""
    joined: list[tuple[int, int, str]] = []
    for start, end, label in sorted(marks, key=lambda mark: (mark[0], -mark[1])):
        if joined and start < joined[-1][1]:
            first = joined.pop()
            joined.append((first[0], max(first[1], end), first[2]))
        else:
            joined.append((start, end, label))
    return joined


def canonical(kind: str, value: str) -> str:
    """The one spelling of a value, so that it gets the same mark however it is written."""
    value = unicodedata.normalize("NFKC", value).casefold()
    if kind == "phone":
        return re.sub(r"\D", "", value).lstrip("0")[-PHONE_DIGITS:]
    if kind in ("card", "iban", "id"):
        return re.sub(r"[\W_]", "", value)
    return " ".join(value.split())


def occurrences(text: str, words: Iterable[str]) -> list[tuple[int, int]]:
    """Where the ``words`` stand in ``text``, in any case; whole words only, where words have ends.

    Chinese, Japanese and Korean write endings and other words right behind a name.
    """
    words = tuple(sorted({word.strip() for word in words} - {""}))
    return [match.span() for match in _words(words).finditer(text)] if words else []


def _all(text: str, names: tuple[str, ...]) -> Iterator[Passage]:
    yield from recognized(text, _FORMS)
    yield from _phones(text)
    yield from recognized(text, _OTHERS)
    for start, end in occurrences(text, names):
        yield start, end, "name", "names list"


def _phones(text: str) -> Iterator[Passage]:
    for match in _DIGITS.finditer(text):
        if _part_of_a_word(text, *match.span()):
            continue
        passage, place = match.group(), match.start()
        if passage.startswith("(") and ")" not in passage:
            passage, place = passage[1:], place + 1
        for start, end in _numbers(passage):
            if not (_DATE.match(text, place + start) or _DECIMALS.search(text, 0, place + start)):
                yield place + start, place + end, "phone", "phone"


def _part_of_a_word(text: str, start: int, end: int) -> bool:
    """Whether letters, or the digits of a longer number, touch the passage: an id, not a number."""
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    return any(re.match("[A-Za-z0-9_=/#]", sign) for sign in (before, after))


@functools.lru_cache(maxsize=4096)
def _numbers(passage: str) -> list[tuple[int, int]]:
    """Where valid phone numbers lie in a run of digits: of any country, then of REGIONS."""
    regions = [None] if passage.startswith("+") else [*REGIONS]
    for region in regions:
        matches = list(phonenumbers.PhoneNumberMatcher(passage, region))
        if matches:
            return [(match.start, match.end) for match in matches]
    return []


@functools.lru_cache(maxsize=64)
def _words(words: tuple[str, ...]) -> re.Pattern:
    forms = {unicodedata.normalize(form, word) for word in words for form in ("NFC", "NFD")}
    # The longest first: "Ann Lee" before "Ann".
    return re.compile("|".join(map(_bounded, sorted(forms, key=len, reverse=True))), re.IGNORECASE)


def _bounded(word: str) -> str:
    spelled = r"\s+".join(map(re.escape, word.split()))
    before = r"(?<!\w)" if _has_ends(word[0]) else ""
    after = r"(?!\w)" if _has_ends(word[-1]) else ""
    return f"{before}{spelled}{after}"


def _has_ends(sign: str) -> bool:
    return (sign.isalnum() or sign == "_") and not _CJK.match(sign)


def _free(start: int, end: int, taken: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """What of ``start:end`` no passage of ``taken`` covers; those are in order and apart."""
    left, place = [], max(0, bisect.bisect_right(taken, (start, end)) - 1)
    for low, high in itertools.islice(taken, place, None):
        if low >= end:
            break
        if start < low:
            left.append((start, low))
        start = max(start, high)
    return [*left, (start, end)] if start < end else left


_FILE = Path(__file__).with_name("redaction.json")


@functools.cache
def measured_figures() -> dict:
    """The stored figures, with shares in percent: ``sentences``, ``recall``, ``precision``, and
    ``languages`` {code: recall}.
    """
    document = json.loads(_FILE.read_text(encoding="utf-8"))
    return {
        "sentences": document["sentences"],
        "recall": round(100 * document["all"]["recall"]),
        "precision": round(100 * document["all"]["precision"]),
        "languages": {
            code: round(100 * entry["recall"]) for code, entry in document["languages"].items()
        },
    }
