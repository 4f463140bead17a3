"""The interface of a kind of judgment, with what most kinds share.

A kind is one folder: ``form`` (the form that defines a task, the body of the API) and ``kind`` (a
subclass of Kind). Its answers are rows of ``models.Answer``. Generic code asks the kind of a task
and never spells a kind's name. tests/judging/test_base.py checks every kind of ``KINDS``.

An *answer* is the content of one judgment, with options under their canonical numbers. Its *label*
is what people agree on or not: a text where SHAPE is "label", else a dictionary of parts.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar, cast

from django.db.models import Expression, F, QuerySet, TextField, Value
from django.http import QueryDict
from django.utils.translation import gettext as _

from annotation.core import sql
from annotation.core.errors import DomainError
from annotation.judging import models
from annotation.judging.kinds import common
from annotation.judging.kinds.body import Body
from annotation.judging.kinds.form import TaskForm
from annotation.judging.kinds.imported import ImportedFile, ImportedJudgment, ReleasedAnswer
from annotation.judging.kinds.planning import EVERYTHING, Lacking, Scope
from annotation.judging.kinds.slots import Config, Data, Held, Ordered, Shown
from annotation.judging.models import Item, Judgment
from annotation.questions.base import Measure
from annotation.studies.models import Study, TaskDefinition

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Label = str | dict[str, Any]
# The answer of a kind, its body in the API, and its label.
A = TypeVar("A", bound="Answer")
B = TypeVar("B", bound=Body)
L = TypeVar("L", bound=Label)


@dataclass(frozen=True)
class Field:
    """One choice of a form that asks for a label: the part it gives ("" for all of it)."""

    part: str
    title: str
    choices: list[tuple[str, str]]


class Answer(Protocol):
    """The content of one judgment; ``detail`` adds to the label: how much better, or why not."""

    @property
    def label(self) -> Label: ...

    @property
    def detail(self) -> str: ...


class Kind(Protocol[A, B, L]):
    """One kind of judgment; see the module."""

    # Name in the database, in bundles and in the API; the templates are named like it.
    CODE: ClassVar[str]
    # What annotators do, in words, and what the page asks them.
    NAME: ClassVar["StrOrPromise"]
    QUESTION: ClassVar["StrOrPromise"]
    # The question that its label answers ("" where the criteria are the questions), and the column
    # of an Answer that has the label.
    PRIMARY: ClassVar[str] = ""
    COLUMN: ClassVar[Literal["label", "value"]] = "label"
    Form: ClassVar[type[TaskForm]]
    Body: type[B]
    # What its items must have: of "query", "options", "attribute", "gold".
    ASKS: ClassVar[tuple[str, ...]]
    DEFAULTS: ClassVar[dict[str, Any]] = {}
    # The scale of its labels; "none" where answers are one person's and are not compared. Kinds of
    # several questions have one each (``measures``).
    LEVEL: ClassVar[Literal["nominal", "ordinal", "ranks", "none"]] = "nominal"
    # One label an answer, a score for every option and criterion, a place for every option, a
    # verdict on every part, or answers to several questions.
    SHAPE: ClassVar[Literal["label", "scores", "ranks", "parts", "questions"]] = "label"
    # Whether items count its labels (Item.COUNTERS); such items get tiers.
    COUNTED: ClassVar[bool] = False

    # The task

    @property
    def template(self) -> str:
        return f"judging/kinds/{self.CODE}.html"

    @property
    def tour(self) -> str:
        return f"judging/tours/{self.CODE}.html"

    def check_config(self, config: Config) -> dict:
        """Return ``config`` with its defaults; DomainError names what is wrong with it."""
        return common.check_config(self.CODE, config, self.DEFAULTS)

    def form(
        self, data: Data | None = None, *, study: Study, task: TaskDefinition | None = None
    ) -> TaskForm:
        """The form that defines a task of this kind, or the next version of ``task``."""
        return self.Form(data, kind=self, study=study, task=task)

    def published_config(
        self, texts: Callable[[str], list[str]], attribute: bool
    ) -> dict[str, Any]:
        """The settings that an item of a published release shows.

        ``texts(column)`` is a list of its row: "labels", "candidates" or "criteria";
        ``attribute`` is whether it has one.
        """
        return {}

    def answered_config(self, released: ReleasedAnswer) -> dict[str, Any]:
        """The settings that an answer of a published release shows; a wrong answer shows none.

        False: the setting was off when this answer was given.
        """
        return {}

    def released_claims(self, released: ReleasedAnswer) -> dict[int, str]:
        """The claims of the item's gold response that an answer of a release shows, by number.

        Only of kinds that ask for "gold".
        """
        return {}

    def released_body(self, released: ReleasedAnswer) -> dict[str, Any]:
        """The API's body that stands for an answer of a release; DomainError where there is none.

        The inverse of ``answer_json``: a judgment that is released and imported again is the same.
        """
        ...

    def imported_config(self, file: ImportedFile) -> dict[str, Any] | None:
        """The settings of a task for the items of ``file``; None where it is of another kind.

        Of several kinds that fit, the first of ``KINDS`` is taken.
        """
        return None

    def wider(self, config: Config, file: ImportedFile) -> dict[str, Config]:
        """{name in WIDER: settings} by which a task of ``config`` would take all of ``file``."""
        made = self.imported_config(file) or {}
        found: dict[str, Config] = {}
        for setting, name in (("tie", "ties"), ("ties", "ties"), ("none", "none")):
            if made.get(setting) and config.get(setting) is False:
                found[name] = {setting: True}
        criteria = config.get("criteria")
        if criteria and (
            new := [name for name in made.get("criteria", ()) if name not in criteria]
        ):
            found["criteria"] = {"criteria": [*criteria, *new]}
        return found

    def imported_body(self, judgment: ImportedJudgment) -> dict[str, Any]:
        """The API's body that stands for ``judgment``; DomainError where it has none."""
        ...

    def asks(self, config: Config) -> tuple[str, ...]:
        """What the items of a task with this ``config`` must have, as ``ASKS``."""
        return self.ASKS

    def options_range(self, config: Config) -> tuple[int, int]:
        """The least and the greatest number of answers that an item shows."""
        return (0, 0) if "options" not in self.ASKS else (config["options"], config["options"])

    def together(self, config: Config) -> bool:
        """Whether all items of one query are judged on one screen, an answer each.

        The fields of such an answer are named after it: ``NAME-SLOT``.
        """
        return False

    def plan(self, study: Study, task: TaskDefinition, scope: Scope = EVERYTHING) -> Iterator[dict]:
        """Rows (for ``batches.open.add_items``) of the items in ``scope`` that ``task`` lacks."""
        ...

    def lacking(
        self, study: Study, task: TaskDefinition, scope: Scope = EVERYTHING
    ) -> Lacking | None:
        """What keeps further items from being planned; None where nothing does."""
        return None

    def measures(self, config: Config) -> list[Measure]:
        """What raters are compared on: "" is the one label of an answer.

        None of answers that are one person's own.
        """
        if self.LEVEL == "none":
            return []
        return [Measure("", self.LEVEL, tuple(self.labels(config)), self.PRIMARY)]

    def labels(self, config: Config) -> list[str]:
        """Every label of an answer; of scores or parts, every value of one part."""
        ...

    def expected(self, value: Any, row: dict, config: Config) -> L:
        """The label that ``expected`` of a bundle's check stands for; DomainError for no label."""
        return cast(L, expect(value, {label: label for label in self.labels(config)}))

    # An answer, from the page to the database

    def read(self, data: Data, held: Held) -> A:
        """The answer of a form or an API body to the slot ``held`` (work.submit.Held).

        Raises DomainError with a sentence for the annotator.
        """
        return self.answer(self.Body.read(self.fields_sent(data, held), held), held)

    def fields_sent(self, data: Data, held: Held) -> Data:
        """``data`` under the names of Body, where a form's fields are named otherwise."""
        return data

    def answer(self, body: B, held: Held) -> A:
        """The answer that a Body holds; DomainError has a sentence for the annotator."""
        ...

    def rows(self, answer: A) -> list[models.Answer]:
        """The rows of an answer, which lack their judgment and are not stored yet."""
        ...

    def typed(self, answer: A, shown: Ordered) -> dict[str, list[str]]:
        """The form's fields that would give this answer again."""
        ...

    def sent(self, answer: A, shown: Ordered) -> dict[str, Any]:
        """The answer as the API's body has it, for whoever sent it."""
        return {
            name: values if name.startswith("chips") else values[0]
            for name, values in self.typed(answer, shown).items()
        }

    def filled(self, shown: Shown, typed: QueryDict) -> QueryDict:
        """The fields as a button named ``fill`` on the page leaves them, where no script does."""
        return typed

    def context(self, shown: Shown, typed: Data) -> dict[str, Any]:
        """The template's variables apart from the shown item."""
        return {}

    def scale(self, config: Config) -> list[str]:
        """The names of the points of a scale, from 1; [] where there is none."""
        return []

    # Stored answers

    def takes_control(self, config: Config) -> bool:
        """Whether a generic answer can be hidden among the answers of its items."""
        return False

    def of_rows(self, rows: Sequence[models.Answer]) -> A:
        """The answer that the stored rows of one judgment hold, in the order of storing."""
        ...

    def answers(self, judgments: Collection[int]) -> dict[int, A]:
        """{judgment's id: its answer}."""
        rows = models.Answer.objects.filter(sql.among("judgment", judgments))
        by_judgment = groupby(rows.order_by("judgment", "pk"), key=lambda row: row.judgment_id)
        return {judgment: self.of_rows(list(rows)) for judgment, rows in by_judgment}

    def answer_of(self, judgment: Judgment) -> A:
        """The answer that one stored judgment holds."""
        return self.answers([judgment.pk])[judgment.pk]

    def scores(self, judgments: QuerySet) -> QuerySet:
        """``judgments``, a row for each score: what it is about, ``criterion`` and the answer's
        ``number`` and ``candidate``; ``score``, ``feedback_text``, and ``part``, its own id.

        Only of kinds whose SHAPE is "scores".
        """
        raise TypeError(f"a {self.CODE} judgment has no scores")

    def detail_column(self) -> Expression | F:
        """``detail`` of an answer as text in SQL, of judgments that are ``kinds.labelled``."""
        return Value("", output_field=TextField())

    def choice_column(self, config: Config) -> Expression | F:
        """``choice`` of the label in SQL, of judgments that are ``kinds.labelled``."""
        return F("label")

    # What answers mean

    def of_label(self, label: L) -> A:
        """The answer that a bare label stands for (a ruling, what a check expects)."""
        ...

    def as_shown(self, answer: A, order: Sequence[int], config: Config) -> A:
        """The answer with places as shown (``order``: canonical numbers) instead of numbers."""
        return answer

    def choice(self, label: L, config: Config) -> L:
        """The label without its degree: on a scale from one option to another, the side."""
        return label

    def choices(self, config: Config) -> list[str]:
        """Every value of ``choice``."""
        return self.labels(config)

    def agrees(self, label: L, expected: L, config: Config) -> bool:
        """Whether an answer counts as the expected one: by default, the same choice."""
        return self.choice(label, config) == self.choice(expected, config)

    def label_words(self, label: str, config: Config) -> str:
        """One label in words; options are called "Answer 1", "Answer 2", ..."""
        ...

    def words(self, answer: A, config: Config) -> list[str]:
        """An answer in words, a line or more."""
        return [self.label_words(str(answer.label), config)]

    def remarks(self, answer: A, config: Config) -> list[str]:
        """What was written about parts of the answer, a line each."""
        return []

    # A form that asks for a label (rulings and checks)

    def fields(self, item: Item, config: Config) -> list[Field]:
        """What a form must ask to get a label of ``item``."""
        return [Field("", _("Label"), self.label_choices(config))]

    def label_choices(self, config: Config) -> list[tuple[str, str]]:
        return [(label, self.label_words(label, config)) for label in self.labels(config)]

    def label_of(self, parts: dict[str, str], config: Config) -> L:
        """The label that a form's values by part give; DomainError where they give none."""
        return cast(L, parts.get("", parts))

    # Exports: releases, the API, a person's own data

    def label_json(self, label: L, ids: dict[int, str], config: Config) -> Label:
        """A label with options under ``ids`` ({canonical number: id})."""
        return label

    def answer_json(self, answer: A, ids: dict[int, str], config: Config) -> Label:
        """An answer with options under ``ids``: its label, or of several parts all of them."""
        return self.label_json(cast(L, answer.label), ids, config)


def expect(value: Any, labels: dict[str, str]) -> str:
    """The label of ``value``, one of ``labels``; DomainError lists those that there are."""
    name = str(value) if type(value) is int else value
    if not isinstance(name, str) or name not in labels:
        raise DomainError(f"“expected” must be one of {listed(labels)}")
    return labels[name]


def listed(names: Collection[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


def answer_name(number: int) -> str:
    """An option in words, by its number or place; 0 where the place is unknown."""
    return _("Answer %(n)d") % {"n": number} if number else _("One of the answers")
