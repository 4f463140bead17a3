"""Personal data that is recognized by the words around it, and secrets by their form.

Each recognizer is a pattern whose group ``value`` (else the whole match) is the passage, a cheap
test of whether a text can hold it at all, and a check of the value. A wrong passage is hidden until
its owner shows it, a missed one is seen by others: where in doubt, these find more.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from annotation.histories.introductions import INTRODUCTIONS


@dataclass(frozen=True)
class Recognizer:
    """One pattern of ``kind``; ``hints`` are casefolded parts of which a text must hold one."""

    kind: str
    rule: str
    pattern: re.Pattern
    hints: tuple[str, ...] = ()
    is_valid: Callable[[str], bool] = lambda value: True


def recognize(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield (start, end, kind, rule) of all that the recognizers find; passages may overlap."""
    yield from _recognized(text, RECOGNIZERS)


def recognize_first(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield, as ``recognize``, secrets and profiles: no other rule may take a part of these."""
    yield from _recognized(text, FIRST)


def _recognized(
    text: str, recognizers: tuple[Recognizer, ...]
) -> Iterator[tuple[int, int, str, str]]:
    folded = text.casefold()
    for recognizer in recognizers:
        if recognizer.hints and not any(hint in folded for hint in recognizer.hints):
            continue
        group = "value" if "value" in recognizer.pattern.groupindex else 0
        for match in recognizer.pattern.finditer(text):
            if recognizer.is_valid(match.group(group)):
                yield *match.span(group), recognizer.kind, recognizer.rule


# --- Secrets -------------------------------------------------------------------------------------

# By the prefixes that the services document for their keys.
_KEYS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-[A-Za-z0-9_-]{16,200}|[rs]k_(?:live|test)_[A-Za-z0-9]{16,200}|"
    r"A(?:KI|SI)A[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{22,255}|"
    r"glpat-[A-Za-z0-9_-]{20,60}|xox[abeprs]-[A-Za-z0-9-]{10,200}|AIza[0-9A-Za-z_-]{35}|"
    r"hf_[A-Za-z0-9]{20,60}|npm_[A-Za-z0-9]{30,60}|SG\.[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{30,60}"
    r")(?![A-Za-z0-9])"
)
_JWT = re.compile(r"(?<![A-Za-z0-9_-])eyJ[\w-]{6,2000}\.eyJ[\w-]{6,4000}\.[\w-]{6,2000}")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?P<name>[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?)-----"
    r"[^-]{0,20000}(?:-----END (?P=name)-----)?"
)
_BEARER = re.compile(r"(?i:\bbearer)\s+(?P<value>[A-Za-z0-9._~+/-]{20,2000}=*)")
_SPOKEN_OF = (
    r"(?i:\bpass(?:word|wort|wd|code|phrase)\b|\bpwd\b|\bkennwort\b)|密码|口令|비밀번호|비번|암호"
)
_PASSWORD = re.compile(
    rf"(?:{_SPOKEN_OF})[\"'”]?\s{{0,3}}(?:[:=:]|(?i:\bis\b)|是|为|는|은)\s{{0,3}}"
    r"[\"'“”‘’`]?(?P<value>[!-&(-+\--;=?-~]{4,80})"
)
_TOKEN = re.compile(
    r"(?i:\b(?:api[ _-]?key|access[ _-]?key|secret(?:[ _-]?key)?|(?:access|auth)[ _-]?token|token))"
    r"[\"']?\s{0,3}(?:[:=:]|(?i:\bis\b))\s{0,3}[\"'“`]?(?P<value>[A-Za-z0-9._~+/-]{12,400}=*)"
)
_PIN = re.compile(r"\bPIN\b(?: (?:code|number))?\s{0,2}(?:[:=:]|is)\s{0,2}(?P<value>\d{4,8})(?!\d)")
_NO_PASSWORD = re.compile(
    r"(?i)(?:required|optional|string|str\W*|none|null|true|false|wrong|correct|incorrect|missing|"
    r"invalid|forgotten|protected|safe|strong|weak|reset|hidden|stored|hashed|encrypted|changed|"
    r"not|too|never|always|sent|the|field|input|(?:your|my|the|new|old)[_-]?\w*|x{4,}|\*{4,}|\.{3,}|"
    r"<.*|\{.*|\$\{?.*|\w+\(.*|(?:os|process|self|request|settings|config)\..*)[.,;!?]*"
)


def _is_password(value: str) -> bool:
    return not _NO_PASSWORD.fullmatch(value)


def _is_token(value: str) -> bool:
    return any(sign.isdigit() for sign in value) and any(sign.isalpha() for sign in value)


_PASSWORD_BESIDE = re.compile(
    r"(?:密码|口令)(?P<value>(?=[A-Za-z_!@#]*\d)[A-Za-z0-9_!@#$%&*.-]{6,40})"
)


# --- Postcodes -----------------------------------------------------------------------------------

_STATES = (
    "A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|"
    "T[NX]|UT|V[AT]|W[AIVY]"
)
_POSTCODES = re.compile(
    rf"(?<![A-Za-z0-9])(?:(?:{_STATES}),? \d{{5}}(?:-\d{{4}})?|"
    r"[A-PR-UWYZ][A-HK-Y]?\d[\dA-Z]? \d[ABD-HJLNP-UW-Z]{2}|"
    r"[ABCEGHJ-NPRSTVXY]\d[ABCEGHJ-NPRSTV-Z] \d[ABCEGHJ-NPRSTV-Z]\d|D-\d{5}|〒\s?\d{3}-\d{4})"
    r"(?![A-Za-z0-9])"
)
_POSTCODE_WORDS = re.compile(
    r"(?:(?i:\b(?:zip(?: ?code)?|post ?code|postal code|PLZ|postleitzahl))\b(?: is| of mine is)?|"
    r"邮政编码|邮编|우편번호|\(우\))(?:[:은는是为]|\s){0,3}"
    r"(?P<value>\d{5,6}(?:-\d{4})?(?!\d)|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2})"
)

# --- Birth dates ---------------------------------------------------------------------------------

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DATE = (
    rf"(?:(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? (?:19|20)\d\d)?|"
    rf"{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? (?:19|20)\d\d)?|"
    r"(?:19|20)\d\d[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./](?:(?:19|20)\d\d|\d\d)(?!\d)|"
    r"(?:(?:19|20)?\d\d\s?[年년]\s?)?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日号일])"
)
_BORN = re.compile(
    r"(?:(?i:\b(?:born|birthday|birth ?date|date of birth|d\.?o\.?b\.?|geboren)\b)"
    r"|生日|出生日期|出生于|出生在|生于|생년월일|생일)"
    rf"[^\n.!?。0-9]{{0,24}}?(?P<value>{_DATE})"
)
_BORN_AFTER = re.compile(
    rf"(?P<value>{_DATE})\s?"
    r"(?:出生|生的|生人|(?:is|was) my birthday|에?\s?태어|생(?=[\s,.은이인]|$))"
)

# --- Handles and profiles ------------------------------------------------------------------------

# What begins with this sign and is no person: decorators, style sheets, documentation.
_AT_WORDS = (
    "media|import|keyframes|font-face|supports|charset|layer|container|page|param|return|returns|"
    "throws|type|see|since|deprecated|override|test|property|staticmethod|classmethod|dataclass|"
    "everyone|here|channel|all|app|pytest|autowired|component|bean|entity|click|change|submit|latest"
)
_HANDLE = re.compile(
    rf"(?<![A-Za-z0-9_./@+-])@(?!(?i:{_AT_WORDS})\b)"
    r"[A-Za-z_][A-Za-z0-9_.]{1,28}[A-Za-z0-9_](?![/@\w(])"
)
_ACCOUNT = re.compile(
    r"(?:(?i:\b(?:instagram|insta|telegram|discord|snapchat|twitter|wechat|skype|kakao(?:talk)?|"
    r"line|qq|steam|reddit|github|user ?name|handle)\b)|微信号?|微博|扣扣|抖音号|小红书号|"
    r"카카오톡|카톡|인스타(?:그램)?|텔레그램|디스코드|트위터)"
    r"\s?(?i:id|handle|name|account|user ?name|号|号码|账号|아이디|계정)?(?:은|는)?"
    r"\s{0,2}(?:[:=:]|(?i:\bis\b)|是|为|叫|(?<=[은는디])\s)\s{0,2}"
    r"(?P<value>[A-Za-z0-9_][A-Za-z0-9_.#-]{2,38}[A-Za-z0-9])"
)
_PROFILE = re.compile(
    r"(?<![A-Za-z0-9_@.])(?:https?://)?(?:www\.|m\.)?(?:"
    r"(?:[a-z]{2,3}\.)?linkedin\.com/in/[\w%.-]{2,100}|"
    r"(?:instagram|facebook|twitter|x|snapchat)\.com/(?!(?:p|reel|watch|share|search|hashtag|home|"
    r"explore|login|groups|events|i|intent|legal|help)(?:[/?\s]|$))(?:add/)?[\w.-]{2,50}"
    r"(?:/status/\d+)?|"
    r"t\.me/(?!s/)[\w]{3,40}|(?:weibo|douyin)\.com/(?:u/|user/|n/)?[\w-]{3,80}|"
    r"zhihu\.com/people/[\w-]{2,60}|space\.bilibili\.com/\d{3,20}|"
    r"xiaohongshu\.com/user/profile/\w+|"
    r"blog\.naver\.com/[\w-]{2,40}|velog\.io/@[\w.-]{2,40}|brunch\.co\.kr/@[\w.-]{2,40}|"
    r"(?:tiktok|youtube|medium|threads)\.(?:com|net)/@[\w.-]{2,60}|"
    r"reddit\.com/(?:u|user)/[\w-]{2,40}|"
    r"github\.com/(?!(?:features|about|pricing|login|topics|explore|orgs|search|marketplace)\b)"
    r"[A-Za-z0-9-]{2,39}(?![A-Za-z0-9-]*/[\w.-])|"
    r"gitee\.com/[A-Za-z0-9_-]{2,39}(?![A-Za-z0-9_-]*/[\w.-]))/?",
    re.IGNORECASE,
)

FIRST = (
    Recognizer("secret", "private key", _PRIVATE_KEY, ("private key",)),
    Recognizer("secret", "key by its prefix", _KEYS),
    Recognizer("secret", "json web token", _JWT, ("eyj",)),
    Recognizer("secret", "bearer token", _BEARER, ("bearer",)),
    Recognizer(
        "secret",
        "password",
        _PASSWORD,
        ("pass", "pwd", "kennwort", "密码", "口令", "비밀번호", "비번", "암호"),
        _is_password,
    ),
    Recognizer("secret", "password", _PASSWORD_BESIDE, ("密码", "口令")),
    Recognizer("secret", "token", _TOKEN, ("key", "token", "secret"), _is_token),
    Recognizer("secret", "pin", _PIN, ("pin",)),
    Recognizer("profile", "profile address", _PROFILE, ("/",)),
)
RECOGNIZERS = (
    Recognizer(
        "birthday",
        "birth date",
        _BORN,
        ("born", "birth", "d.o.b", "dob", "geboren", "生", "생"),
    ),
    Recognizer("birthday", "birth date", _BORN_AFTER, ("birthday", "生", "생", "태어")),
    Recognizer("postcode", "postcode by its form", _POSTCODES),
    Recognizer(
        "postcode", "postcode by its word", _POSTCODE_WORDS, ("zip", "post", "plz", "邮", "우")
    ),
    Recognizer("handle", "handle", _HANDLE, ("@",)),
    Recognizer("handle", "account name", _ACCOUNT),
    *(Recognizer("name", *entry) for entry in INTRODUCTIONS),
)
