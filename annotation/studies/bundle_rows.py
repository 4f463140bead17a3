"""The rows of a study bundle's files, a model each: what its keys hold, and what is wrong in words.

A key that is null is absent.
"""

import re
from datetime import date
from typing import Annotated, Any, Literal, NotRequired

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from typing_extensions import TypedDict

from annotation.core.records import LINE_LIMIT

OVERLAP_LIMIT = 1000
DEFAULT_OVERLAP = 9
NUMBER_LIMIT = 1e100
LANGUAGE = re.compile(r"[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8}){0,3}")


def shown(word: object) -> str:
    """A word of a file in a sentence."""
    return f"“{str(word)[:80]}”"


# What a field's own sentence does not replace, by the name that pydantic has for the fault.
SENTENCES = {
    "missing": "is missing",
    "string_too_long": "is longer than {max_length:,} characters",
    "value_error": "{error}",
}


def words_of(error: ValidationError) -> dict[str, str]:
    """{key: its first fault in words}; the key is "" where a single value was read."""
    faults: dict[str, str] = {}
    for fault in error.errors(include_url=False):
        words = SENTENCES.get(fault["type"], "must be text").format(**fault.get("ctx", {}))
        faults.setdefault(str(fault["loc"][0]) if fault["loc"] else "", words)
    return faults


def says(sentence: str) -> WrapValidator:
    """``sentence`` tells what the field must be."""

    def check(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            if error.errors(include_url=False)[0]["type"] in SENTENCES:
                raise
            raise ValueError(sentence) from None

    return WrapValidator(check)


def _filled(value: str) -> str:
    if not value.strip():
        raise ValueError("is empty")
    return value


def _printable(value: str) -> str:
    if not value.isprintable() or value != value.strip():
        raise ValueError("must be printable and without blanks around it")
    return value


def _no_answer(value: str) -> str:
    """A vote's label is a candidate's id, or one of these two words."""
    if value in ("tie", "none"):
        raise ValueError(f"cannot be {shown(value)}: that word is an answer of its own")
    return value


def _by_language(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """A text, or an object of it by language code: {"en": "…", "ko": "…"}."""
    if not isinstance(value, dict):
        return handler(value)
    if not value:
        raise ValueError("is empty")
    for code, entry in value.items():
        if not LANGUAGE.fullmatch(code):
            raise ValueError(f"names {shown(code)}, which is no language code")
        try:
            handler(entry)
        except ValidationError as error:
            raise ValueError(f"in {shown(code)} {words_of(error)['']}") from None
    return value


def _small(value: float) -> float:
    """Squares of larger numbers would leave what floating point holds."""
    if abs(value) > NUMBER_LIMIT:
        raise ValueError("is no number of this size")
    return value


def _within(message: "Message") -> "Message":
    """The spans in order, of which each is a passage of the message's text."""
    spans = message.pop("spans", None) or []
    length = len(message["text"])
    if not all(len(span) == 2 and 0 <= span[0] < span[1] <= length for span in spans):
        raise ValueError(SPANS)
    return {**message, "spans": sorted(spans)} if spans else message


def _day(value: Any) -> date:
    """A date, or one in ISO 8601."""
    try:
        return value if isinstance(value, date) else date.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError("must be a date such as 2026-05-01") from None


def _later(value: date | None, info: ValidationInfo) -> date | None:
    since = info.data.get("since")
    if value and since and value <= since:
        raise ValueError("must be a later date than “since”")
    return value


FILLED, PRINTABLE = AfterValidator(_filled), AfterValidator(_printable)
BY_LANGUAGE = WrapValidator(_by_language)
SPANS = "has spans that are no list of [start, end] within the message's text"
CONVERSATIONS = "must be a list of conversations, each a list of messages"
PROFILE = "must be an object with at least one key"
ROLE = "has a message whose role is neither user nor assistant"
OVERLAP = f"must be a whole number from 1 to {OVERLAP_LIMIT}"
TURNS = "must be a list of messages with role and content"
TEXTS = says("must be a list of text")

Long = Annotated[str, Field(max_length=LINE_LIMIT)]
Text = Annotated[Long, FILLED]
Translated = Annotated[Long, BY_LANGUAGE]
Up200 = Annotated[str, Field(max_length=200)]
Up100 = Annotated[str, Field(max_length=100)]
Up60 = Annotated[str, Field(max_length=60)]
Name = Annotated[Up60, FILLED]
Reference = Annotated[Up100, FILLED]
Id = Annotated[Reference, PRINTABLE]
Day = Annotated[date, PlainValidator(_day)]
Until = Annotated[Day | None, AfterValidator(_later)]
Turn = Annotated[int, Field(ge=1, le=2**31 - 1), says("must be a whole number from 1")]
Url = Annotated[str, Field(max_length=4000), FILLED]
Code = Annotated[str, Field(max_length=35), FILLED]
Overlap = Annotated[int, Field(ge=1, le=OVERLAP_LIMIT), says(OVERLAP)]
Share = Annotated[float, Field(ge=0, le=1), says("must be a number from 0 to 1")]
Digits = BeforeValidator(lambda value: str(value) if type(value) is int else value)
Purpose = Literal["work", "training", "gold"]
QueryType = Literal["specific", "general"]

ID: TypeAdapter[str] = TypeAdapter(Id)
QUESTION: TypeAdapter[Any] = TypeAdapter(
    Annotated[str, Field(max_length=5_000), FILLED, BY_LANGUAGE]
)


def check_id(value: str) -> str:
    """``value`` as the id of a row; ValueError with words where it cannot be one."""
    try:
        return ID.validate_python(value)
    except ValidationError as error:
        raise ValueError(words_of(error)[""]) from None


class Message(TypedDict):
    """A message of a conversation; ``spans`` are what an attribute rests on, in its characters."""

    role: Annotated[Literal["user", "assistant"], says(ROLE)]
    text: str
    spans: NotRequired[Annotated[list[list[int]] | None, says(SPANS)]]


MessageWithin = Annotated[
    Message, AfterValidator(_within), says("must have messages of a role and a text")
]


class Row(BaseModel):
    """A row of a file; defaults stand for keys that are absent."""

    model_config = ConfigDict(strict=True)

    @classmethod
    def read(cls, value: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """The row that ``value`` holds, and {key: what is wrong}: one of both is empty."""
        try:
            row = cls.model_validate({k: v for k, v in value.items() if v is not None})
        except ValidationError as error:
            return {}, words_of(error)
        return vars(row), {}


class Study(Row):
    slug: Name
    title: Annotated[Up200, FILLED, BY_LANGUAGE]
    description: Translated = ""
    guideline: Translated = ""
    consent: Translated = ""
    languages: Annotated[list[Code], TEXTS] = []
    tasks: Annotated[list[dict], says("must be a list of objects")] = []
    # Columns of the study, fields of hidden_checks.Rates, and columns of candidates.Retrieval.
    settings: Annotated[dict, says("must be an object")] = {}
    checks: Annotated[dict, says("must be an object")] = {}
    retrieval: Annotated[dict, says("must be an object")] = {}
    # How people talk with hidden models: live.settings.Live.
    live: Annotated[dict, says("must be an object")] = {}


class Task(Row):
    name: Name
    kind: Annotated[str, Field(max_length=20), FILLED]
    overlap: Overlap = DEFAULT_OVERLAP
    guideline: Translated = ""


def with_kind(task: dict[str, Any]) -> dict[str, Any]:
    """A task of a file or a body with its ``kind``.

    It may be called ``preset``, or be left out where there are questions of its own.
    """
    if task.get("kind"):
        return task
    kind = task.get("preset", "questions" if "questions" in task else None)
    rest = {key: value for key, value in task.items() if key != "preset"}
    return rest if kind is None else rest | {"kind": kind}


class Persona(Row):
    id: Id
    profile: Annotated[dict, Field(min_length=1), says(PROFILE)]


class Memory(Row):
    persona: Reference
    text: Text
    since: Day | None = None
    until: Until = None


class QueryMessage(TypedDict):
    """A message of the conversation that a query is."""

    role: Annotated[str, Field(max_length=40), FILLED]
    content: str


class Query(Row):
    id: Id
    persona: Reference | None = None
    text: Text
    # A conversation: its transcript is stored as the text.
    messages: Annotated[list[QueryMessage], says(TURNS)] = []
    need: Long = ""
    type: Annotated[QueryType, says("must be specific or general")] = "specific"
    scenario: Up100 = ""
    asked_on: Day | None = None
    language: Annotated[str, Field(max_length=20)] = ""


class Example(Row):
    """A hand-made question of a real person, and what was known of them."""

    id: Id
    text: Text
    person: Up100 = ""
    memories: Annotated[list[Text], TEXTS] = []


class Candidate(Row):
    id: Annotated[Id, AfterValidator(_no_answer)]
    query: Reference
    text: Text
    model: Up200 = ""
    strategy: Annotated[str, Field(max_length=40)] = ""
    urls: Annotated[list[Url], TEXTS] = []


class Score(Row):
    candidate: Reference
    aspect: Annotated[Name, PRINTABLE]
    score: Annotated[float, AfterValidator(_small), says("must be a number")]
    source: Up60 = ""


class Attribute(Row):
    id: Id
    persona: Reference
    text: Text
    confidence: Share | None = None
    model: Up200 = ""
    conversations: Annotated[list[list[MessageWithin]], says(CONVERSATIONS)] = []
    # Who wrote the person's side of the conversations; "" where that is not known.
    source: Annotated[Literal["", "human", "synthetic"], says("must be human or synthetic")] = ""
    since: Day | None = None
    until: Until = None
    turn: Turn | None = None


class Verdict(Row):
    """A model's verdict on an item: evaluation.raters."""

    task: Annotated[Up200, FILLED]
    model: Annotated[Up200, FILLED, PRINTABLE]
    # A whole number stands for its digits; a number is a value as well as a label.
    label: Annotated[Up100, FILLED, Digits] | None = None
    value: Annotated[int | float | None, says("must be a number")] = None
    question: Name | None = None
    option: Reference | None = None
    confidence: Annotated[
        Annotated[float, Field(ge=0, le=1)] | None, says("must be a number from 0 to 1")
    ] = None
    # The classes of a question that takes several.
    labels: Annotated[list[Name] | None, TEXTS] = None


class Item(Row):
    """The task's kind checks the other fields: see ``check_item``."""

    id: Annotated[Up200, FILLED, PRINTABLE]
    task: Name
    query: Reference | None = None
    attribute: Reference | None = None
    candidates: Annotated[list[Reference], TEXTS] = []
    overlap: Overlap | None = None
    purpose: Annotated[Purpose, says("must be work or training or gold")] = "work"
    expected: Any = None
    explanation: Long = ""
