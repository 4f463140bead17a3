"""What every type of question has: settings, and the way of an answer from a form to its rows.

A question is about an item, or about each of an item's answers (its *options*). Its settings are
one pydantic model: forms, the API, bundles, releases and imports read them from there. A type knows
no table and no other type.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from django.utils.translation import get_language
from django.utils.translation import gettext as _
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from annotation.core.errors import DomainError

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

NAME_LIMIT, TITLE_LIMIT, TEXT_LIMIT = 60, 300, 5_000
# The scale of the answers; "none" where answers are not compared.
Level = Literal["nominal", "ordinal", "ranks", "none"]
# PostgreSQL's text and JSON hold neither.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def _in_languages(value: Any) -> Any:
    return {"": value} if isinstance(value, str) else value


# A text by language (BCP 47); "" is the study's own.
Texts = Annotated[
    dict[
        Annotated[str, Field(max_length=20)],
        Annotated[str, Field(max_length=TITLE_LIMIT)],
    ],
    BeforeValidator(_in_languages),
]


def _printable(name: str) -> str:
    if not name.strip() or not name.isprintable() or name != name.strip():
        raise ValueError("must be printable, without blanks around it")
    return name


def _storable_name(name: str) -> str:
    if "/" in name:
        raise ValueError("must be printable, without a slash and without blanks around it")
    return _printable(name)


# Of a class, and of a question: a slash stands between an option's number and its question.
Label = Annotated[str, Field(min_length=1, max_length=NAME_LIMIT), AfterValidator(_printable)]
Name = Annotated[str, Field(min_length=1, max_length=NAME_LIMIT), AfterValidator(_storable_name)]
Asking = Literal["off", "optional", "required"]


def setting(default: Any = ..., *, title: "StrOrPromise", **rules: Any) -> Any:
    """A pydantic field whose ``title`` and ``description`` a form shows in words."""
    return Field(default, title=title, **rules)  # type: ignore[arg-type]


def text_in(texts: Mapping[str, str], default: str = "") -> str:
    """The text in the reader's language, else the study's own, else ``default``."""
    language = (get_language() or "").lower()
    primary = language.partition("-")[0]
    by_code = {code.lower(): text for code, text in texts.items() if text}
    of_the_language = (text for code, text in by_code.items() if code.split("-")[0] == primary)
    return by_code.get(language) or next(of_the_language, "") or by_code.get("") or default


@dataclass(frozen=True)
class Given:
    """One answer to one question, as a row of ``judging.models.Answer`` holds it."""

    question: str
    option: int | None = None
    label: str = ""
    value: int | None = None
    text: str = ""
    chips: tuple[str, ...] = ()

    @property
    def part(self) -> str:
        """What it is about within the judgment: "QUESTION", or "NUMBER/QUESTION" of an option."""
        return self.question if self.option is None else f"{self.option}/{self.question}"

    @property
    def said(self) -> str | int | None:
        """What is compared with other people's: the label, the number or the ticked classes."""
        return self.label or (", ".join(self.chips) or None if self.value is None else self.value)


@dataclass(frozen=True)
class Options:
    """An item's options: {canonical number: id}, and their numbers in the order shown."""

    ids: Mapping[int, str]
    order: Sequence[int]

    @property
    def numbers(self) -> dict[str, int]:
        return {id: number for number, id in self.ids.items()}


@dataclass(frozen=True)
class Measure:
    """What is compared between raters: one question, or one class of a question with several.

    ``labels`` are all values in their order; on an ordinal scale a vote is its place among them.
    """

    name: str
    level: Level
    labels: tuple[str, ...]
    question: str
    # The class that was ticked or not, of a question that takes several.
    of_class: str = ""


class Condition(BaseModel):
    """A question is asked only where an earlier one got one of these labels."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: Name
    labels: list[Label] = Field(min_length=1, max_length=20)


class Question(BaseModel):
    """The settings that every type of question has."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # The type's name in the settings, and in a form.
    TITLE: ClassVar["StrOrPromise"]
    LEVEL: ClassVar[Level] = "nominal"

    type: str
    name: Name
    title: Texts = {}
    about: Literal["item", "option"] = "item"
    required: bool = True
    asked_when: Condition | None = None

    @property
    def level(self) -> Level:
        return self.LEVEL

    @property
    def template(self) -> str:
        return f"questions/{self.type}/answer.html"

    @property
    def words(self) -> str:
        """What is asked, in the reader's language."""
        return text_in(self.title, self.name)

    def labels(self, options: int) -> list[str]:
        """Every label of an answer about an item with so many ``options``; [] of free text."""
        return []

    def measures(self, options: int) -> list[Measure]:
        """What of its answers is compared between raters."""
        labels = tuple(self.labels(options))
        return [Measure(self.name, self.level, labels, self.name)] if labels else []

    # From what was sent to rows

    def read(self, sent: Any, options: Options, asked: Collection[int | None]) -> list[Given]:
        """The rows of the answers ``sent``: of the item one value, of options {id: value}.

        ``asked`` are the options (None: the item) that the question is asked about. Raises
        DomainError with a sentence for the annotator.
        """
        if self.about == "item":
            return self._one(sent, None, options) if None in asked else []
        values = sent if isinstance(sent, dict) else {}
        if unknown := values.keys() - options.numbers.keys():
            raise self.refused(_("there is no answer “%s”") % str(min(unknown))[:60])
        rows = [
            row
            for number in options.order
            if number in asked
            for row in self._one(values.get(options.ids[number]), number, options)
        ]
        return sorted(rows, key=lambda row: row.option or 0)

    def _one(self, value: Any, option: int | None, options: Options) -> list[Given]:
        if self.is_empty(value):
            if self.required:
                raise DomainError(self.missing(self.place(option, options)), code=self.name)
            return []
        return [replace(given, option=option) for given in self.given(value, options)]

    def is_empty(self, value: Any) -> bool:
        """Whether ``value`` says nothing."""
        return value is None or value == "" or value == [] or value == {}

    def given(self, value: Any, options: Options) -> list[Given]:
        """The rows that one value stands for; DomainError where it is no answer."""
        raise NotImplementedError

    def missing(self, place: int) -> str:
        """The sentence that asks for an answer; ``place`` of the option as shown, 0 of the item."""
        if place:
            words = {"question": self.words, "n": place}
            return _("Answer “%(question)s” for answer %(n)d.") % words
        return _("Answer “%(question)s” first.") % {"question": self.words}

    def refused(self, why: str) -> DomainError:
        sentence = _("“%(question)s”: %(why)s.") % {"question": self.words, "why": why}
        return DomainError(sentence, code=self.name)

    @staticmethod
    def place(option: int | None, options: Options) -> int:
        """The place of an option as shown, from 1; 0 of the item or of an unknown order."""
        return options.order.index(option) + 1 if option in options.order else 0

    # From a form's fields to what an API body has, and back

    def field(self, place: int | None = None) -> str:
        """The name of the form's field, of the option at a place as shown."""
        return f"answer-{self.name}" if place is None else f"answer-{self.name}/{place}"

    def sent_by_form(self, data: Mapping[str, Any], options: Options) -> Any:
        """What an API body would have under this question for the fields of a form."""
        if self.about == "item":
            return self.value_of(data, self.field())
        return {
            options.ids[number]: self.value_of(data, self.field(place))
            for place, number in enumerate(options.order, start=1)
        }

    def value_of(self, data: Mapping[str, Any], field: str) -> Any:
        return data.get(field)

    def typed(self, rows: Sequence[Given], options: Options) -> dict[str, list[str]]:
        """The form's fields that would give these rows again."""
        fields: dict[str, list[str]] = {}
        for row in rows:
            place = None if row.option is None else self.place(row.option, options)
            fields |= self.fields_of(row, self.field(place), options)
        return fields

    def fields_of(self, row: Given, field: str, options: Options) -> dict[str, list[str]]:
        return {field: [str(self.value(row, options.ids))]}

    # From rows to exports and words

    def exported(self, rows: Sequence[Given], ids: Mapping[int, str]) -> Any:
        """The answers as exports have them: what ``read`` takes, options under ``ids``."""
        if self.about == "item":
            return self.value(rows[0], ids) if rows else None
        return {ids[row.option or 0]: self.value(row, ids) for row in rows}

    def value(self, row: Given, ids: Mapping[int, str]) -> Any:
        """One row as exports have it."""
        return row.label or row.value

    def label_words(self, label: str) -> str:
        """One of ``labels`` in words."""
        return label

    def said(self, row: Given) -> str:
        """One row in words, without its texts."""
        return self.label_words(str(row.said))

    def as_shown(self, row: Given, order: Sequence[int]) -> Given:
        """The row with places as shown (``order``: canonical numbers) instead of numbers."""
        if row.option is None:
            return row
        return replace(row, option=order.index(row.option) + 1 if row.option in order else 0)

    def choices(self, options: int) -> list[tuple[str, str]]:
        """(label, its words) of each label, for a form."""
        return [(label, self.label_words(label)) for label in self.labels(options)]

    def context(self, data: Mapping[str, Any], field: str, options: Sequence[str]) -> dict:
        """What the type's template shows of one field; ``options`` are ids in the order shown."""
        return {"typed": self.value_of(data, field)}


def many(data: Mapping[str, Any], name: str) -> list:
    """The values of a form's field that may have several, or a list of an API body."""
    return data.getlist(name) if hasattr(data, "getlist") else data.get(name) or []


def checked_text(question: Question, text: Any, least: int = 0, most: int = TEXT_LIMIT) -> str:
    """``text`` without blanks around it; DomainError where it cannot be stored or has no length."""
    if not isinstance(text, str):
        raise question.refused(_("this must be text"))
    text = text.strip()
    if _UNSTORABLE.search(text):
        raise question.refused(_("a character cannot be stored"))
    if len(text) < least:
        raise question.refused(_("write at least %(n)d characters") % {"n": least})
    if len(text) > most:
        raise question.refused(_("at most %(n)d characters") % {"n": most})
    return text


def whole_number(value: Any, low: int, high: int) -> int | None:
    """A number from ``low`` to ``high``, in a form as digits; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 4:
        value = int(value)
    return value if type(value) is int and low <= value <= high else None
