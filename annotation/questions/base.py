"""What every type of question has: settings, and the way of an answer from a form to its rows.

A question is about an item, about each of an item's answers (its *options*), or about each part of
what the item shows (the claims of a gold response). Its settings are one pydantic model: forms, the
API, bundles, releases and imports read them from there. A type knows no table and no other type.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from django.utils.translation import get_language
from django.utils.translation import gettext as _
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from annotation.core.errors import DomainError
from annotation.core.words import StrOrPromise

NAME_LIMIT, TITLE_LIMIT, TEXT_LIMIT = 60, 300, 5_000
# The scale of the answers; "none" where answers are not compared.
Level = Literal["nominal", "ordinal", "interval", "ranks", "none"]
# Those on which a sum of labels that are numbers says something.
SCALES = ("ordinal", "interval")
# The beginning of the names of a form's fields.
FIELD = "answer-"
# What a row of a release says of an answer, empty: words that were ticked beside a score are its
# chips; a passage has a start and an end.
EMPTY_ROW: Mapping[str, Any] = {
    **dict.fromkeys(("label", "value", "text")),
    "chips": [],
    **dict.fromkeys(("start", "end")),
}
# PostgreSQL's text and JSON hold neither.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


# A text by language (BCP 47); "" is the study's own.
Texts = Annotated[
    dict[
        Annotated[str, Field(max_length=20)],
        Annotated[str, Field(max_length=TITLE_LIMIT)],
    ],
    BeforeValidator(lambda value: {"": value} if isinstance(value, str) else value),
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
CLASSES_LIMIT = 50


class Class(BaseModel):
    """A class: its name in exports, and its title by language."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Label
    title: Texts = {}


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _differ(classes: list[Class]) -> list[Class]:
    if len({each.name for each in classes}) < len(classes):
        raise ValueError("two classes have one name")
    return classes


Classes = Annotated[list[Annotated[Class, BeforeValidator(_named)]], AfterValidator(_differ)]


def class_words(classes: Sequence[Class]) -> list[tuple[str, str]]:
    """(name, words in the reader's language) of each class."""
    return [(each.name, text_in(each.title, each.name)) for each in classes]


def setting(default: Any = ..., *, title: StrOrPromise, **rules: Any) -> Any:
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
class Passage:
    """A part of an option's text, in characters (code points), with its class and a remark.

    ``words`` are those of the text there.
    """

    start: int
    end: int
    label: str = ""
    text: str = ""
    words: str = field(default="", compare=False)

    @property
    def stored(self) -> dict[str, Any]:
        """As answers and exports have it; what is empty is left out."""
        more = {"class": self.label, "text": self.text}
        place = {"start": self.start, "end": self.end}
        return place | {name: each for name, each in more.items() if each}


@dataclass(frozen=True)
class Row:
    """One answer to one question, as a row of ``judging.models.Answer`` holds it."""

    question: str
    option: int | None = None
    part: int | None = None
    label: str = ""
    value: int | None = None
    text: str = ""
    chips: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()

    @property
    def columns(self) -> dict[str, Any]:
        """What ``judging.models.Answer`` holds of it, apart from its judgment."""
        names = ("question", "option", "part", "label", "value", "text")
        marks = [each.stored for each in self.passages] or None
        plain = {name: getattr(self, name) for name in names}
        return plain | {"chips": list(self.chips), "marks": marks}

    @property
    def about(self) -> int | None:
        """The number of the option or the key of the part; None of an answer about the item."""
        return self.part if self.option is None else self.option

    @property
    def key(self) -> str:
        """Its name within the judgment: "QUESTION", or "ABOUT/QUESTION" of an option or a part."""
        return self.question if self.about is None else f"{self.about}/{self.question}"

    @property
    def stated(self) -> str | int | None:
        """What is compared with other people's: the label, the number or the ticked classes."""
        return self.label or (", ".join(self.chips) or None if self.value is None else self.value)


@dataclass(frozen=True)
class Options:
    """What questions can be about: the options {canonical number: id} and their numbers in the
    order shown, and the keys of the parts in their order; ``texts`` by number where a question
    marks them.
    """

    ids: Mapping[int, str]
    order: Sequence[int]
    parts: Sequence[int] = ()
    texts: Mapping[int, str] = field(default_factory=dict)

    @property
    def numbers(self) -> dict[str, int]:
        return {id: number for number, id in self.ids.items()}

    def named(self, about: str) -> dict[str, int]:
        """{id in an API body: option or part} in the order shown."""
        if about == "part":
            return {str(part): part for part in self.parts}
        return {self.ids[number]: number for number in self.order}


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
    # Whether labels are numbers of the item's options, beside a tie and none of them.
    chooses: bool = False

    @property
    def is_one_label(self) -> bool:
        """Whether an answer is one of several labels, and no number or place in an order."""
        compared = self.level not in ("interval", "ranks")
        return not self.of_class and compared and len(self.labels) > 1


class Condition(BaseModel):
    """A question is asked only where an earlier one got one of these labels."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: Name
    labels: list[Label] = Field(min_length=1, max_length=20)


class Question(BaseModel):
    """The settings that every type of question has."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # The type's name in the settings, and in a form.
    TITLE: ClassVar[StrOrPromise]
    LEVEL: ClassVar[Level] = "nominal"
    # Whether its answers are numbers, and the fewest options that one answer is about together
    # (0: it is about the item, or about each option or part).
    NUMBERS: ClassVar[bool] = False
    COMPARES: ClassVar[int] = 0
    # Whether a label is typed, for there are too many to choose from.
    TYPED: ClassVar[bool] = False
    # Whether it marks places in the options' texts, which are shown as they are stored.
    MARKS: ClassVar[bool] = False

    type: str
    name: Name
    title: Texts = {}
    # An explanation beside the title, and the sentence for whoever left it out or answered wrongly.
    help: Texts = {}
    reminder: Texts = {}
    about: Literal["item", "option", "part"] = "item"
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

    def label_of(self, value: Any, options: int = 0) -> str:
        """The label that ``value`` of a form, a file or a model says; "" where it says none."""
        return str(value) if str(value) in self.labels(options) else ""

    @property
    def bounds(self) -> str:
        """What can be typed, in words, where labels are ``TYPED``."""
        return ""

    def measures(self, options: int) -> list[Measure]:
        """What of its answers is compared between raters."""
        labels = tuple(self.labels(options))
        return [Measure(self.name, self.level, labels, self.name)] if labels else []

    # From what was sent to rows

    def read(self, sent: Any, options: Options, asked: Collection[int | None]) -> list[Row]:
        """The rows of the answers ``sent``: of the item one value, of options or parts {id: value}.

        ``asked`` are the options or parts (None: the item) that the question is asked about. Raises
        DomainError with a sentence for the annotator.
        """
        if self.about == "item":
            return self._one(sent, None, options) if None in asked else []
        values, named = sent if isinstance(sent, dict) else {}, options.named(self.about)
        if unknown := values.keys() - named.keys():
            words = _("there is no answer “%s”") % str(min(unknown, key=str))[:60]
            raise self.refused(words)
        rows = [
            row
            for id, about in named.items()
            if about in asked
            for row in self._one(values.get(id), about, options)
        ]
        return sorted(rows, key=lambda row: row.about or 0)

    def _one(self, value: Any, about: int | None, options: Options) -> list[Row]:
        try:
            if not self.is_empty(value):
                rows = self.rows(value, options)
                return [self._about(row, about) for row in rows] if about else rows
            if not self.required:
                return []
            place = self.place(about, options)
            raise DomainError(text_in(self.reminder) or self.missing(place), code=self.name)
        except DomainError as refusal:
            raise self._of_place(refusal, value, about, options) from None

    def _of_place(
        self, refusal: DomainError, value: Any, about: int | None, options: Options
    ) -> DomainError:
        """A refusal that says which of several options or parts it is about."""
        place, sentence = self.place(about, options), refusal.sentence
        if self.reminder:  # which may name the place itself
            sentence = sentence.replace("%(n)d", str(place))
        elif place and len(options.named(self.about)) > 1 and not self.is_empty(value):
            sentence = _("Answer %(n)d: %(sentence)s") % {"n": place, "sentence": sentence}
        return DomainError(sentence, code=self.name)

    def is_empty(self, value: Any) -> bool:
        """Whether ``value`` says nothing."""
        return value is None or value == "" or value == [] or value == {}

    def rows(self, value: Any, options: Options) -> list[Row]:
        """The rows that one value stands for; DomainError where it is no answer."""
        raise NotImplementedError

    def missing(self, place: int) -> str:
        """The sentence that asks for an answer; ``place`` of what it is about, 0 of the item."""
        words = {"question": self.words, "n": place}
        if place and self.about == "part":
            return _("Answer “%(question)s” for claim %(n)d.") % words
        if place:
            return _("Answer “%(question)s” for answer %(n)d.") % words
        return _("Answer “%(question)s” first.") % {"question": self.words}

    def refused(self, why: str) -> DomainError:
        sentence = _("“%(question)s”: %(why)s.") % {"question": self.words, "why": why}
        sentence = text_in(self.reminder) or sentence
        return DomainError(sentence, code=self.name)

    def place(self, about: int | None, options: Options) -> int:
        """The place from 1 of an option as shown or of a part; 0 of the item or where unknown."""
        order = list(options.parts if self.about == "part" else options.order)
        return order.index(about) + 1 if about in order else 0

    # From a form's fields to what an API body has, and back

    def field(self, place: int | None = None) -> str:
        """The name of the form's field, of the option at a place as shown or of a part."""
        return f"{FIELD}{self.name}" if place is None else f"{FIELD}{self.name}/{place}"

    def sent_by_form(self, data: Mapping[str, Any], options: Options) -> Any:
        """What an API body would have under this question for the fields of a form."""
        if self.about == "item":
            return self.value_of(data, self.field())
        return {
            id: self.value_of(data, self.field(place))
            for place, id in enumerate(options.named(self.about), start=1)
        }

    def sent_bare(self, data: Mapping[str, Any]) -> Any:
        """The answer in a body that names its questions without ``answers`` around them."""
        return data.get(self.name)

    def value_of(self, data: Mapping[str, Any], field: str) -> Any:
        return data.get(field)

    def typed(self, rows: Sequence[Row], options: Options) -> dict[str, list[str]]:
        """The form's fields that would give these rows again."""
        fields: dict[str, list[str]] = {}
        for row in rows:
            place = None if row.about is None else self.place(row.about, options)
            fields |= self.fields_of(row, self.field(place), options)
        return fields

    def fields_of(self, row: Row, field: str, options: Options) -> dict[str, list[str]]:
        return {field: [str(self.value(row, options.ids))]}

    # From rows to exports and words

    def exported(self, rows: Sequence[Row], ids: Mapping[int, str]) -> Any:
        """The answers as exports have them: what ``read`` takes, options under ``ids``."""
        if self.about == "item":
            return self.value(rows[0], ids) if rows else None
        if self.about == "part":
            return {str(row.part): self.value(row, ids) for row in rows}
        return {ids[row.option or 0]: self.value(row, ids) for row in rows}

    def sent(self, rows: Sequence[Row], options: Options) -> Any:
        """The answers as the API's body has them."""
        return self.exported(rows, options.ids)

    def value(self, row: Row, ids: Mapping[int, str]) -> Any:
        """One row as exports have it."""
        return row.label or row.value

    # From rows to those of a release, and back

    def released(self, row: Row, ids: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        """The rows of a release that stand for a stored one, with the columns of ``EMPTY_ROW``."""
        cells = {"label": row.label or None, "value": row.value, "text": row.text or None}
        yield {**EMPTY_ROW, **cells, "chips": list(row.chips)}

    def sent_by_release(self, rows: Sequence[Mapping[str, Any]], ids: Mapping[str, str]) -> Any:
        """What an API body has under this question for such ``rows``, the inverse of ``released``.

        Their ``option`` and ``part`` are the body's; ``ids`` is {option in the release: in the
        body}. DomainError where one answer stands twice.
        """
        if self.about == "item":
            return self.value_of_rows(rows, ids)
        by_about = defaultdict(list)
        for row in rows:
            by_about[row[self.about]].append(row)
        return {about: self.value_of_rows(group, ids) for about, group in by_about.items()}

    def value_of_rows(self, rows: Sequence[Mapping[str, Any]], ids: Mapping[str, str]) -> Any:
        """The value of one answer about the item, an option or a part."""
        return self.value_of_row(self.only(rows), ids)

    def value_of_row(self, row: Mapping[str, Any], ids: Mapping[str, str]) -> Any:
        return row["value"] if row["label"] is None else row["label"]

    def only(self, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        if len(rows) > 1:
            raise DomainError(f"“{self.name}” has two answers")
        return rows[0]

    def _about(self, row: Row, about: int | None) -> Row:
        """The row about a part or an option."""
        if self.about == "part":
            return replace(row, part=about)
        return replace(row, option=about)

    def row_of(self, label: str | int, about: int | None = None) -> Row:
        """The row of a bare label, of what checks expect and curators rule."""
        row = Row(self.name, value=int(label)) if self.NUMBERS else Row(self.name, label=str(label))
        return self._about(row, about)

    def expected(self, value: Any, candidates: Sequence[str], options: int) -> Any:
        """The label that a bundle's check stands for; ``candidates`` are ids in their order."""
        label = str(value) if type(value) is int else value
        if label not in (labels := self.labels(options)):
            raise DomainError(f"“expected” must be one of {listed(labels)}")
        return label

    def side(self, label: str) -> str:
        """The label without its degree: on a scale from one option to another, the side."""
        return label

    def sides(self, options: int) -> list[str]:
        """Every value of ``side``."""
        return self.labels(options)

    def agrees(self, label: Any, expected: Any) -> bool:
        """Whether a label counts as the expected one."""
        return label == expected

    def label_words(self, label: str) -> str:
        """One of ``labels`` in words."""
        return label

    def stated(self, row: Row) -> str:
        """One row in words, without its texts."""
        return "" if row.stated is None else self.label_words(str(row.stated))

    def written(self, row: Row) -> list[str]:
        """The texts of one row."""
        return [row.text, *(row.chips if row.value is not None else ())]

    def as_shown(self, row: Row, order: Sequence[int]) -> Row:
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


def listed(names: Collection[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


def answer_name(number: int) -> str:
    """An option in words, by its number or place; 0 where the place is unknown."""
    return _("Answer %(n)d") % {"n": number} if number else _("One of the answers")


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
