"""A kind of judgment: a preset of typed questions about what an item shows, and its answers.

What presets differ in is data of a ``Kind`` (``presets`` has all of them); everything else comes
from the types of its questions. An *answer* is the content of one judgment, with options under
their canonical numbers. Its *label* is what people agree on or not: of a preset with a ``primary``
question the label of that question, else {"QUESTION" or "ABOUT/QUESTION": label or number}.
"""

import functools
import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from django.http import QueryDict
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.candidates.models import Candidate
from annotation.core import sql
from annotation.core.errors import DomainError
from annotation.core.words import StrOrPromise
from annotation.judging import models
from annotation.judging.kinds import files, planning, settings
from annotation.judging.kinds.files import ImportedJudgment, ReleasedAnswer
from annotation.judging.kinds.planning import EVERYTHING, Lacking, Scope
from annotation.judging.models import Item, Judgment
from annotation.queries.models import GoldClaim
from annotation.questions import questions_of, stored
from annotation.questions.base import (
    FIELD,
    Measure,
    Options,
    Passage,
    Question,
    Row,
    answer_name,
    listed,
    text_in,
)
from annotation.questions.choice import STRENGTHS
from annotation.studies.models import Study, TaskDefinition

# A slot whose answer is read or shown: ``config`` of its task, ``options``, their numbers in the
# order shown (``shown``, ``order``), their ids with their texts (``answers``).
Held = Any
# A form (a QueryDict, whose fields may have several values) or a body of the API.
Data = Mapping[str, Any]
Config = dict[str, Any]
Label = str | dict[str, Any]
Planner = Callable[[Study, TaskDefinition, Scope], Iterator[dict]]
NOTHING: Mapping[int, GoldClaim] = {}
_KEY = re.compile(r"(?s)(\d+)/(.*)")


@dataclass(frozen=True)
class Field:
    """One choice of a form that asks for a label: the part it gives ("" for all of it).

    ``typed`` is the question where its labels are too many to choose from.
    """

    part: str
    title: str
    choices: list[tuple[str, str]]
    typed: Question | None = None

    def label_of(self, value: str | None) -> str:
        """The label that the form's ``value`` says; "" where it says none."""
        if self.typed:
            return self.typed.label_of(value)
        return value if value in dict(self.choices) else ""


@dataclass(frozen=True)
class Answer:
    """The content of one judgment: the rows of the answers to all questions.

    ``primary`` is the question whose label stands for all of it, ``detail_question`` one that says
    more about it; ``claims`` are those that parts are, by their keys.
    """

    rows: tuple[Row, ...]
    primary: str = ""
    detail_question: str = ""
    claims: Mapping[int, GoldClaim] = field(default_factory=dict, compare=False)

    @property
    def label(self) -> Label:
        """The label of the primary question, else by keys all that is not free text."""
        if self.primary:
            return str(self.of(self.primary).stated)
        return {row.key: row.stated for row in self.rows if row.stated is not None}

    @property
    def detail(self) -> str:
        """What adds to the label: how much better, or why not."""
        if self.detail_question:
            return self.of(self.detail_question).label
        row = self.of(self.primary)
        return list(STRENGTHS)[row.value - 1] if self.primary and row.label and row.value else ""

    def of(self, question: str) -> Row:
        """The row of a question about the item; an empty one where it was not answered."""
        return next((row for row in self.rows if row.question == question), Row(question))


@dataclass(frozen=True, eq=False)
class Kind:
    """One preset of questions; see the module."""

    # Name in the database, in bundles and in the API; the page's template is named like it.
    code: str
    # What annotators do, in words, and what the page asks them.
    name: StrOrPromise
    question: StrOrPromise
    settings: type[settings.Settings]
    # What its items must have: of "query", "options", "attribute", "gold".
    shows: tuple[str, ...]
    # Settings of the questions, as in ``annotation.questions``.
    asks_for: Callable[[Config], list[dict]]
    # What plans the items of a task of these settings.
    planner: Callable[[Config], Planner]
    files: files.Files
    # What it asks; a change of it is another version, which releases name.
    version: str = "1"
    primary: str = ""
    # The question whose label says more about the primary one.
    detail_question: str = ""
    shape: str = "label"
    # Whether a task's items get tiers by the votes on their counted question.
    tiers: bool = False
    # Whether answers of several people are compared.
    compared: bool = True
    context: Callable[[Any, Data], dict[str, Any]] = lambda shown, typed: {}
    fill: Callable[[Any, QueryDict], QueryDict] = lambda shown, typed: typed

    # The task

    @property
    def template(self) -> str:
        return f"judging/kinds/{self.code}.html"

    @property
    def tour(self) -> str:
        return f"judging/tours/{self.code}.html"

    @functools.cached_property
    def defaults(self) -> Config:
        return self.settings().model_dump()

    def check_config(self, config: Config) -> Config:
        """Return ``config`` with its defaults; DomainError names what is wrong with it."""
        full = settings.check_settings(self.code, self.settings, config)
        questions = questions_of(self.asks_for(full), full.get("options", 0))
        return full | ({"questions": stored(questions)} if "questions" in full else {})

    def questions(self, config: Config) -> list[Question]:
        """The questions of a task, with texts in the reader's language."""
        return _questions(self, json.dumps(config), get_language())

    def primary_question(self, config: Config) -> Question | None:
        return next((q for q in self.questions(config) if q.name == self.primary), None)

    def counted_question(self, config: Config) -> Question | None:
        """The question whose labels are counted on each item, by which items get tiers.

        That is the first about the item that everybody answers, with one label.
        """
        options = config.get("options", 0)
        for question in self.questions(config):
            if question.about == "item" and question.required and not question.asked_when:
                measures = question.measures(options)
                if measures and measures[0].is_one_label:
                    return question
        return None

    def counted(self, answer: "Answer", config: Config) -> str:
        """The label under which an answer is counted on its item; "" where none is."""
        question = self.counted_question(config)
        stated = answer.of(question.name).stated if question else None
        return "" if stated is None else str(stated)

    def label_of_votes(self, label: str, config: Config) -> Label:
        """The label of an answer of which only what is counted is known."""
        question = self.counted_question(config)
        if question is None or self.primary:
            return label
        return self.answer([question.row_of(label)]).label

    def has_tiers(self, config: Config) -> bool:
        return self.tiers and self.counted_question(config) is not None

    @functools.cached_property
    def chooses(self) -> bool:
        """Whether a label is one of the item's answers, so that pairs are made of votes."""
        return any(measure.chooses for measure in self.measures(self.defaults))

    @functools.cached_property
    def level(self) -> str:
        """The scale of its labels; "none" of answers that are one person's own."""
        measures = self.measures(self.defaults)
        return measures[0].level if measures else "none"

    def asks(self, config: Config) -> tuple[str, ...]:
        """What the items of a task with this ``config`` must have, as ``shows``."""
        if "shows" not in config:
            return self.shows
        asked = {"request": "query", "attribute": "attribute"}
        names = [name for shown, name in asked.items() if shown in config["shows"]]
        return (*names, "options") if config["options"] else tuple(names)

    def options_range(self, config: Config) -> tuple[int, int]:
        """The least and the greatest number of answers that an item shows.

        The last answers of a query may be fewer, where no question compares them.
        """
        most = config.get("options", 0)
        compared = any(question.COMPARES > 1 for question in self.questions(config))
        return (most if compared else min(1, most)), most

    def plan(self, study: Study, task: TaskDefinition, scope: Scope = EVERYTHING) -> Iterator[dict]:
        """Rows (for ``batches.open.add_items``) of the items in ``scope`` that ``task`` lacks."""
        least, _most = self.options_range(task.config)
        rows = self.planner(task.config)(study, task, scope)
        return (row for row in rows if len(row.get("candidates", ())) >= least)

    def lacking(
        self, study: Study, task: TaskDefinition, scope: Scope = EVERYTHING
    ) -> Lacking | None:
        """What keeps further items from being planned; None where nothing does."""
        by_attribute = self.planner(task.config) is planning.by_attribute
        return planning.lacking(study, task, scope) if by_attribute else None

    def takes_control(self, config: Config) -> bool:
        """Whether a generic answer can be hidden among the answers of its items."""
        return self.planner(config) is planning.compared

    def _all_measures(self, config: Config) -> list[Measure]:
        primary = self.primary_question(config)
        questions = [primary] if primary else self.questions(config)
        options = config.get("options", 0)
        return [each for question in questions for each in question.measures(options)]

    def measures(self, config: Config) -> list[Measure]:
        """What raters are compared on: "" is the one label of an answer.

        None of answers that are one person's own.
        """
        measures = self._all_measures(config) if self.compared else []
        one = measures and self.shape in ("label", "ranks")
        return [replace(measures[0], name="")] if one else measures

    def labels(self, config: Config) -> list[str]:
        """Every label of an answer; of one with several parts, every value of a part, each once."""
        every = (label for each in self._all_measures(config) for label in each.labels)
        return list(dict.fromkeys(every)) or [_("text")]

    def expected(self, value: Any, row: dict, config: Config) -> Label:
        """The label that ``expected`` of a bundle's check stands for; DomainError for no label.

        Of several parts {"QUESTION" or "NUMBER/QUESTION": label}, with the candidate's place.
        """
        candidates, options = row.get("candidates", ()), config.get("options", 0)
        questions = self.questions(config)
        if any(question.about == "part" for question in questions):
            raise DomainError("a check of claims cannot come with a bundle")
        primary = self.primary_question(config)
        if primary or (len(questions) == 1 and questions[0].level == "ranks"):
            return (primary or questions[0]).expected(value, candidates, options)
        numbers = range(1, len(candidates) + 1)
        asked = {key: question for key, _about, question in self._keys(config, numbers)}
        sent = value if isinstance(value, dict) else {}
        fit = (key in asked and asked[key].label_of(label, options) for key, label in sent.items())
        if not sent or not all(fit):
            raise DomainError(f"“expected” must have labels of {listed(asked)}")
        return sent

    # An answer, from the page to the database

    def read(self, data: Data, held: Held) -> Answer:
        """The answer of a form or an API body to the slot ``held`` (work.submit.Held).

        Raises DomainError with a sentence for the annotator.
        """
        questions = self.questions(held.config)
        options = _options(held, questions)
        sent = _sent(data, questions, options)
        if not isinstance(sent, dict):
            raise DomainError(_("answers must be {question: its answer}."), code="answers")
        names = {question.name for question in questions}
        if unknown := sent.keys() - names:
            words = _("There is no question “%(name)s”. Known: %(names)s.")
            named = {"name": min(unknown)[:60], "names": ", ".join(sorted(names))}
            raise DomainError(words % named, code="answers")
        rows: list[Row] = []
        for question in questions:
            rows += question.read(sent.get(question.name), options, _asked(question, options, rows))
        return self.answer(rows)

    def answer(self, rows: Iterable[Row], claims: Mapping[int, GoldClaim] = NOTHING) -> Answer:
        return Answer(tuple(rows), self.primary, self.detail_question, claims)

    def answer_of(self, judgment: Judgment) -> Answer:
        return answers_of({judgment.pk: self})[judgment.pk]

    def typed(self, answer: Answer, shown: Held) -> dict[str, list[str]]:
        """The form's fields that would give this answer again."""
        options, fields = _shown_options(shown, answer), {}
        for question, rows in self._by_question(answer, shown.config):
            fields |= question.typed(rows, options)
        return fields

    def sent(self, answer: Answer, shown: Held) -> dict[str, Any]:
        """The answer as the API's body has it, for whoever sent it."""
        options = _shown_options(shown, answer)
        by_question = self._by_question(answer, shown.config)
        return {"answers": {q.name: q.sent(rows, options) for q, rows in by_question if rows}}

    def page(self, shown: Any, typed: Data) -> dict[str, Any]:
        """The template's variables apart from the shown item: the questions about the item, and
        for each answer as shown and each part those about it.
        """
        ids = [id for id, _text in shown.answers]
        questions = self.questions(shown.config)

        def fields(about: str, place: int | None = None) -> list[dict[str, Any]]:
            return [
                {"question": asked, "field": asked.field(place), "help": text_in(asked.help)}
                | _when(asked, questions, place)
                | asked.context(typed, asked.field(place), ids)
                for asked in questions
                if asked.about == about
            ]

        answers = enumerate(shown.answers, start=1)
        forms = [{"place": place, "id": id, "text": text, "fields": fields("option", place)}
                 for place, (id, text) in answers]  # fmt: skip
        parts = [fields("part", place) for place, _claim in enumerate(shown.claims, start=1)]
        return {
            "forms": forms,
            "fields": fields("item"),
            "claims": [(claim, *asked) for claim, asked in zip(shown.claims, parts, strict=True)],
            "scored": any(form["fields"] for form in forms),
            # Marked places are those of texts as they are stored.
            "as_stored": any(question.MARKS for question in questions),
            **self.context(shown, typed),
        }

    # What answers mean

    def of_label(self, label: Label, config: Config) -> Answer:
        """The answer that a bare label stands for (a ruling, what a check expects)."""
        questions = {question.name: question for question in self.questions(config)}
        labels = label if isinstance(label, dict) else {self.primary: label}
        rows = []
        for key, value in labels.items():
            match = _KEY.fullmatch(key)
            about, name = (int(match[1]), match[2]) if match else (None, key)
            if name in questions:
                rows.append(questions[name].row_of(value, about))
        return self.answer(rows)

    def as_shown(self, answer: Answer, order: Sequence[int], config: Config) -> Answer:
        """The answer with places as shown (``order``: canonical numbers) instead of numbers."""
        rows = [
            question.as_shown(row, order)
            for question, rows in self._by_question(answer, config)
            for row in rows
        ]
        return self.answer(rows, answer.claims)

    def choice(self, label: Label, config: Config) -> Label:
        """The label without its degree: on a scale from one option to another, the side."""
        primary = self.primary_question(config)
        return primary.side(str(label)) if primary else label

    def choices(self, config: Config) -> list[str]:
        """Every value of ``choice``."""
        primary = self.primary_question(config)
        return primary.sides(config.get("options", 0)) if primary else self.labels(config)

    def agrees(self, label: Label, expected: Label, config: Config) -> bool:
        """Whether an answer counts as the expected one, part by part."""
        given, wanted = self.of_label(label, config), self.of_label(expected, config)
        stated = {row.key: row.stated for row in given.rows}
        questions = {question.name: question for question in self.questions(config)}
        return all(
            questions[row.question].agrees(stated.get(row.key), row.stated) for row in wanted.rows
        )

    # In words

    def label_words(self, label: str, config: Config) -> str:
        """One label in words; options are called "Answer 1", "Answer 2", ..."""
        primary = self.primary_question(config)
        return primary.label_words(label) if primary else label

    def words(self, answer: Answer, config: Config) -> list[str]:
        """An answer in words, a line or more; what was written stands in ``remarks``."""
        lines: dict[str, list[str]] = defaultdict(list)
        for question, rows in self._by_question(answer, config):
            if question.level == "ranks" and rows:
                lines[self._named(question, "")].append(question.in_order(rows))  # type: ignore[attr-defined]
                continue
            for row in rows:
                if words := question.stated(row):
                    about = _about(row, answer, config)
                    words = f"{question.words} {words}" if self.shape == "scores" else words
                    lines[self._named(question, about)].append(words)
        joint = ": " if self.primary else ", "
        return [f"{name}: {joint.join(each)}" if name else joint.join(each)
                for name, each in lines.items()]  # fmt: skip

    def _named(self, question: Question, about: str) -> str:
        """The beginning of a line: what it is about, and of own questions which one it answers."""
        if "questions" not in self.settings.model_fields:
            return about
        return f"{about}, {question.words}" if about else question.words

    def remarks(self, answer: Answer, config: Config) -> list[str]:
        """What was written about parts of the answer, a line each."""
        lines = []
        for question, rows in self._by_question(answer, config):
            for row in rows:
                about = _about(row, answer, config)
                named = ", ".join(filter(None, [about, "" if row.part else question.words]))
                if written := "; ".join(filter(None, question.written(row))):
                    lines.append(f"{named}: {written}")
        return lines

    # A form that asks for a label (rulings and checks)

    def fields(self, item: Item, config: Config) -> list[Field]:
        """What a form must ask to get a label of ``item``."""
        options = config.get("options", 0)
        primary = self.primary_question(config)
        if primary:
            return [Field("", _("Label"), primary.choices(options))]
        numbers = [option.number for option in item.options.all()]
        claims = item.gold.claims.order_by("number") if item.gold else ()
        parts = list(claims.values_list("pk", flat=True)) if claims else []
        fields = []
        for key, about, question in self._keys(config, numbers, parts):
            named = ""
            if about is not None and question.about == "part":
                named = _("Claim %(n)d") % {"n": parts.index(about) + 1}
            elif about is not None:
                named = answer_name(about)
            words = "" if named and (parts or len(self.questions(config)) == 1) else question.words
            title = ", ".join(filter(None, [named, words]))
            choices = [] if question.TYPED else question.choices(options)
            fields.append(Field(key, title, choices, question if question.TYPED else None))
        return fields

    def _keys(
        self, config: Config, numbers: Collection[int], parts: Collection[int] = ()
    ) -> Iterator[tuple[str, int | None, Question]]:
        """The key of each label that an answer can have, what it is about, and its question."""
        for question in self.questions(config):
            about: Iterable[int | None] = [None]
            if question.about == "part":
                about = parts
            elif question.about == "option" or question.level == "ranks":
                about = numbers
            if question.labels(config.get("options", 0)):
                for each in about:
                    key = question.name if each is None else f"{each}/{question.name}"
                    yield key, each, question

    def label_of(self, parts: dict[str, str], config: Config) -> Label:
        """The label that a form's values by part give; DomainError where they give none."""
        if "" in parts:
            return parts[""]
        answer, label = self.of_label(dict(parts), config), {}
        for question, rows in self._by_question(answer, config):
            places = sorted({row.stated for row in rows})  # type: ignore[type-var]
            ranked = question.level == "ranks"  # without gaps
            label |= {r.key: places.index(r.stated) + 1 if ranked else r.stated for r in rows}
        return label

    # Exports: releases, the API, a person's own data

    def label_json(self, label: Label, ids: dict[int, str], config: Config) -> Label:
        """A label with options under ``ids`` ({canonical number: id})."""
        answer = self.of_label(label, config)
        if self.files.label:
            return self.files.label(answer, ids)
        return self.answer_json(answer, ids, config)

    def answer_json(self, answer: Answer, ids: dict[int, str], config: Config) -> Any:
        """An answer with options under ``ids``: its label, or {question: answer}, of questions
        about each answer {question: {id: answer}}.
        """
        if self.files.answer:
            return self.files.answer(answer, ids)
        primary = self.primary_question(config)
        if primary:
            value = primary.value(answer.of(self.primary), ids)
            value = value["choice"] if isinstance(value, dict) else value
            return str(value) if primary.NUMBERS else value
        by_question = self._by_question(answer, config)
        return {q.name: q.exported(rows, ids) for q, rows in by_question if rows}

    def released(self, answer: Answer, ids: dict[int, str], config: Config) -> list[dict[str, Any]]:
        """The rows of a release that stand for an answer: the cells of each question's answer,
        with its ``question``, the id of its ``option`` and the number of its ``part``.
        """
        numbers = {part: claim.number for part, claim in answer.claims.items()}
        return [
            {
                "question": question.name,
                "option": ids[row.option] if row.option else None,
                "part": numbers.get(row.part) if row.part else None,
                **cells,
            }
            for question, rows in self._by_question(answer, config)
            for row in rows
            for cells in question.released(row, ids)
        ]

    def body_of_rows(
        self, rows: Iterable[dict[str, Any]], ids: dict[str, str], gold: int | None, config: Config
    ) -> dict[str, Any]:
        """The API's body that stands for rows of a release; DomainError where there is none.

        The inverse of ``released``: a judgment that is released and imported again is the same.
        ``ids`` is {id of an answer in the release: id of the item's candidate}, ``gold`` the gold
        response whose claims are judged.
        """
        questions = {question.name: question for question in self.questions(config)}
        parts = files.claims_by_number(gold) if gold else {}
        by_question: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            if row["option"] is not None and row["option"] not in ids:
                raise DomainError(_("the item has no answer “%s”") % row["option"][:80])
            if row["part"] is not None and str(row["part"]) not in parts:
                raise DomainError(_("there is no claim %s") % row["part"])
            about = {"option": ids.get(row["option"]), "part": parts.get(str(row["part"]))}
            by_question[row["question"]].append(row | about)
        return {
            "answers": {
                name: questions[name].sent_by_release(group, ids) if name in questions else None
                for name, group in by_question.items()
            }
        }

    def released_body(self, released: ReleasedAnswer) -> dict[str, Any]:
        """The API's body that stands for an answer of a release that has it in one cell;
        DomainError where there is none.
        """
        return {"answers": self.files.released(released, self.questions(released.config))}

    def imported_body(self, judgment: ImportedJudgment) -> dict[str, Any]:
        """The API's body that stands for ``judgment``; DomainError where it has none."""
        return {"answers": self.files.imported(judgment, self.questions(judgment.config))}

    def _by_question(self, answer: Answer, config: Config) -> Iterator[tuple[Question, list[Row]]]:
        for question in self.questions(config):
            rows = [row for row in answer.rows if row.question == question.name]
            yield question, sorted(rows, key=lambda row: row.about or 0)


def answers_of(kinds: Mapping[int, Kind]) -> dict[int, Answer]:
    """{judgment's id: its answer} of ``kinds``, {judgment's id: kind}."""
    rows = models.Answer.objects.filter(sql.among("judgment", kinds)).order_by("judgment", "pk")
    texts = _marked_texts([row.judgment_id for row in rows if row.marks])
    by_judgment = {pk: [_row(row, texts) for row in group]
                   for pk, group in groupby(rows, key=lambda row: row.judgment_id)}  # fmt: skip
    parts = {row.part for group in by_judgment.values() for row in group if row.part}
    claims = GoldClaim.objects.in_bulk(parts) if parts else NOTHING
    return {pk: kinds[pk].answer(group, claims) for pk, group in by_judgment.items()}


@functools.lru_cache(maxsize=500)
def _questions(kind: Kind, config: str, _language: str | None) -> list[Question]:
    full = kind.defaults | json.loads(config)
    return questions_of(kind.asks_for(full), full.get("options", 0))


def _options(held: Held, questions: Sequence[Question]) -> Options:
    parts: list[int] = []
    if any(question.about == "part" for question in questions):
        claims = GoldClaim.objects.filter(response=held.gold).order_by("number")
        parts = list(claims.values_list("pk", flat=True))
    ids, texts = {option.number: option.candidate for option in held.options}, {}
    if any(question.MARKS for question in questions):
        stored = Candidate.every.filter(pk__in=ids.values()).values_list("pk", "text")
        by_id = {str(pk): text for pk, text in stored}
        texts = {number: by_id[id] for number, id in ids.items()}
    return Options(ids, held.shown, parts, texts)


def _shown_options(shown: Held, answer: Answer) -> Options:
    answers = dict(zip(shown.order, shown.answers, strict=True))
    ids, texts = ({number: each[n] for number, each in answers.items()} for n in (0, 1))
    return Options(ids, shown.order, _parts(answer), texts)


def _parts(answer: Answer) -> list[int]:
    """The parts that an answer is about, in their order."""
    parts = dict.fromkeys(row.part for row in answer.rows if row.part)
    claims = answer.claims
    return sorted(parts, key=lambda part: (claims[part].number if part in claims else 0, part))


def _sent(data: Data, questions: Sequence[Question], options: Options) -> Any:
    """{question: its answer} of a form, of a body of the API, or of one that names its questions
    without ``answers`` around them.
    """
    if "answers" in data:
        return data["answers"]
    if any(name.startswith(FIELD) for name in data):
        return {question.name: question.sent_by_form(data, options) for question in questions}
    return {question.name: question.sent_bare(data) for question in questions}


def _asked(question: Question, options: Options, rows: Sequence[Row]) -> list[int | None]:
    """What the question is asked about (None: the item), after the answers to earlier ones."""
    about: list[int | None] = [None]
    if question.about != "item":
        about = list(options.named(question.about).values())
    condition = question.asked_when
    if condition is None:
        return about
    met = {
        row.about
        for row in rows
        if row.question == condition.question and row.label in condition.labels
    }
    return about if None in met else [number for number in about if number in met]


def _row(row: models.Answer, texts: Mapping[tuple[int, int | None], str]) -> Row:
    made = Row(row.question, row.option, row.part, row.label, row.value, row.text, tuple(row.chips))
    if not row.marks:
        return made
    text = texts.get((row.judgment_id, row.option), "")
    passages = (
        Passage(mark["start"], mark["end"], mark.get("class", ""), mark.get("text", ""),
                text[mark["start"] : mark["end"]])
        for mark in row.marks
    )  # fmt: skip
    return replace(made, passages=tuple(passages))


def _marked_texts(judgments: Collection[int]) -> dict[tuple[int, int | None], str]:
    """{(judgment's id, option's number): its text} of the items of these judgments."""
    option = "slot__item__options"
    rows = Judgment.objects.filter(pk__in=judgments)
    named = rows.values_list("pk", f"{option}__number", f"{option}__candidate__text")
    return {(pk, number): text for pk, number, text in named}


def _when(question: Question, questions: Sequence[Question], place: int | None) -> dict[str, Any]:
    """The field and the labels that a conditional question waits for."""
    condition = question.asked_when
    if condition is None:
        return {}
    (asked,) = (other for other in questions if other.name == condition.question)
    of = asked.field(place if asked.about != "item" else None)
    return {"when": of, "labels": json.dumps(condition.labels)}


def _about(row: Row, answer: Answer, config: Config) -> str:
    """What a row is about in words; "" of the item, and of its only answer."""
    if row.part:
        return _("Claim %(n)d") % {"n": _parts(answer).index(row.part) + 1}
    return "" if row.option is None or config["options"] == 1 else answer_name(row.option)
