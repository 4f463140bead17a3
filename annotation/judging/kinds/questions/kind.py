"""Questions of the task's own, of any type, about the item or about each of its answers."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.judging import models
from annotation.judging.kinds import base, common, planning
from annotation.judging.kinds.imported import ImportedFile, ImportedJudgment, ReleasedAnswer
from annotation.judging.kinds.planning import EVERYTHING, Scope
from annotation.judging.kinds.questions.form import (
    FIRST,
    OPTIONS_LIMIT,
    SHOWS,
    QuestionsBody,
    QuestionsForm,
)
from annotation.judging.kinds.slots import Config, Data, Held, Ordered, Shown
from annotation.judging.models import Item
from annotation.questions import COMPARING, NUMBERED, questions_of, stored
from annotation.questions.base import NAME_LIMIT, Given, Measure, Options, Question
from annotation.questions.label.question import CLASSES_LIMIT
from annotation.studies.models import Study, TaskDefinition

# Classes of files that are in order where all three places occur.
_ORDERED = {"no": 0, "unsure": 1, "maybe": 1, "neutral": 1, "yes": 2}

# Points of a rating as a file has them.
_POINTS = frozenset("123456789")


@dataclass(frozen=True)
class Answer:
    """The rows of the answers to all questions."""

    given: tuple[Given, ...]
    detail = ""

    @property
    def label(self) -> dict[str, str | int]:
        """{"QUESTION" or "NUMBER/QUESTION": label or number}; free text has none."""
        return {row.part: row.said for row in self.given if row.said is not None}


class QuestionsKind(base.Kind[Answer, QuestionsBody, dict[str, str | int]]):
    CODE = "questions"
    NAME = gettext_lazy("ask questions of your own")
    QUESTION = ""
    Form = QuestionsForm
    Body = QuestionsBody
    ASKS = ("query", "options")
    DEFAULTS = {
        "shows": ["request", "need", "persona"],
        "options": 1,
        "pairs_per_query": 1,
        "questions": [FIRST],
    }
    LEVEL = "nominal"
    SHAPE = "questions"

    def check_config(self, config: Config) -> dict:
        """``shows`` what an item has (SHOWS), ``options`` how many answers (0 to 8),
        ``questions`` as in ``annotation.questions``, ``pairs_per_query`` as in a selection.
        """
        full = super().check_config(config)
        common.check_whole("options", full["options"], 0, OPTIONS_LIMIT)
        common.check_whole("pairs_per_query", full["pairs_per_query"], 1, 100)
        common.check_texts("shows", full["shows"], len(SHOWS), 20)
        if unknown := set(full["shows"]) - set(SHOWS):
            raise DomainError(
                f"shows has “{min(unknown)}”. Known: {', '.join(SHOWS)}.", code="config"
            )
        if not full["options"] and not {"request", "attribute"} & set(full["shows"]):
            raise DomainError(
                _("An item without answers needs a request or an attribute."), code="config"
            )
        if full["options"] and "request" not in full["shows"]:
            raise DomainError(_("Answers need the request that they answer."), code="config")
        full["questions"] = stored(questions_of(full["questions"], full["options"]))
        return full

    def asks(self, config: Config) -> tuple[str, ...]:
        asked = {"request": "query", "attribute": "attribute"}
        names = [name for shown, name in asked.items() if shown in config["shows"]]
        return (*names, "options") if config["options"] else tuple(names)

    def questions(self, config: Config) -> list[Question]:
        return questions_of(config["questions"], config["options"])

    def measures(self, config: Config) -> list[Measure]:
        questions = self.questions(config)
        return [each for q in questions for each in q.measures(config["options"])]

    def options_range(self, config: Config) -> tuple[int, int]:
        """The last answers of a query may be fewer, where no question compares them."""
        compared = any(question.type in COMPARING for question in self.questions(config))
        most = config["options"]
        return (most if compared else min(1, most)), most

    def plan(self, study: Study, task: TaskDefinition, scope: Scope = EVERYTHING) -> Iterator[dict]:
        least, most = self.options_range(task.config)
        if not most and "attribute" in task.config["shows"]:
            both = "request" in task.config["shows"]
            planned = planning.attributes_by_query if both else planning.attributes
            return planned(study, task, scope)
        if not most:
            return planning.requests(study, task, scope)
        if most == 2:
            return planning.compared(study, task, scope)
        rows = planning.grouped(study, task, scope)
        return (row for row in rows if len(row["candidates"]) >= least)

    def takes_control(self, config: Config) -> bool:
        return config["options"] == 2

    def labels(self, config: Config) -> list[str]:
        """Every label of every question, each once."""
        labels = (label for each in self.measures(config) for label in each.labels)
        return list(dict.fromkeys(labels)) or [_("text")]

    # Files

    def imported_config(self, file: ImportedFile) -> Config | None:
        """Questions of the file's own; words about single answers are classes of one question."""
        if file.said:
            asked = [_asked_in(name, file) for name in file.said]
            return {"options": min(file.size, OPTIONS_LIMIT), "questions": asked}
        if file.has("attribute") or file.has("score") or file.size != 1 or not file.labels:
            return None
        if all(label.isdecimal() for label in file.labels):
            return None
        place = {label: _ORDERED.get(label.lower()) for label in file.labels}
        ordinal = len(set(place.values())) == 3 and None not in place.values()
        question = {
            "type": "label",
            "name": file.label_name.replace("/", "-").strip()[:60],
            "classes": sorted(file.labels, key=lambda label: (place[label] or 0, label)),
            "ordinal": ordinal,
        }
        return {"options": 1, "questions": [question], "reason": "optional"}

    def wider(self, config: Config, file: ImportedFile) -> dict[str, Config]:
        """More classes, ties or criteria, each in the first question that can have them."""
        first = {question["type"]: question for question in reversed(config["questions"])}
        choice, label, rating = (first.get(name) for name in ("choice", "label", "rating"))
        found = {}
        for special, name in (("tie", "ties"), ("none", "none")):
            if choice and special in file.labels and not choice.get(special):
                found[name] = _changed(config, choice, {special: True})
        if label and not choice:
            new = sorted(file.labels - {each["name"] for each in label["classes"]})
            added = [{"name": name} for name in new]
            if new:
                found["classes"] = _changed(config, label, {"classes": label["classes"] + added})
        names = [question["name"] for question in config["questions"]]
        if rating and (new := [name for name in file.criteria if name not in names]):
            more = [rating | {"name": name, "text": ""} for name in new]
            found["criteria"] = {"questions": [*config["questions"], *more]}
        return found

    def imported_body(self, judgment: ImportedJudgment) -> dict[str, Any]:
        questions = self.questions(judgment.config)
        if judgment.scores:
            return {"answers": _imported_parts(judgment, questions)}
        labelled = [question for question in questions if question.type in ("label", "choice")]
        if not labelled:
            raise DomainError(_("the task asks for no class, and this line has one"))
        question = labelled[0]
        if question.type == "choice":
            return {"answers": {question.name: judgment.choice(judgment.label)}}
        value: Any = judgment.label
        if question.about == "option":
            value = {judgment.answer("1"): value}
        return {"answers": {question.name: value}}

    def released_body(self, released: ReleasedAnswer) -> dict[str, Any]:
        questions = {question.name: question for question in self.questions(released.config)}
        return {
            "answers": {
                name: _own(value, questions[name], released) if name in questions else value
                for name, value in released.parts.items()
            }
        }

    # Checks

    def expected(self, value: Any, row: dict, config: Config) -> dict:
        """{"QUESTION" or "NUMBER/QUESTION": label}, with the candidate's place in the row."""
        choices = self._parts(config, range(1, len(row["candidates"]) + 1))
        given = value if isinstance(value, dict) else {}
        fit = (name in choices and str(label) in choices[name] for name, label in given.items())
        if not given or not all(fit):
            raise DomainError(f"“expected” must have labels of {base.listed(choices)}")
        return given

    def _parts(self, config: Config, numbers: Collection[int]) -> dict[str, list[str]]:
        """{part of a label: its labels} of what can be expected of an answer."""
        parts: dict[str, list[str]] = {}
        for question in self.questions(config):
            labels = question.labels(config["options"])
            if question.about == "option" or question.level == "ranks":
                parts |= {f"{number}/{question.name}": labels for number in numbers if labels}
            elif labels:
                parts[question.name] = labels
        return parts

    def agrees(self, label: dict, expected: dict, config: Config) -> bool:
        """Each expected class the same, each expected point or place within 1."""
        return all(_near(label.get(part), value) for part, value in expected.items())

    # An answer

    def fields_sent(self, data: Data, held: Held) -> Data:
        if "answers" in data:
            return data
        options = _options(held)
        questions = self.questions(held.config)
        return {"answers": {q.name: q.sent_by_form(data, options) for q in questions}}

    def answer(self, sent: QuestionsBody, held: Held) -> Answer:
        questions = self.questions(held.config)
        if not isinstance(sent.answers, dict):
            raise DomainError(_("answers must be {question: its answer}."), code="answers")
        names = {question.name for question in questions}
        if unknown := sent.answers.keys() - names:
            words = _("There is no question “%(name)s”. Known: %(names)s.")
            named = {"name": min(unknown)[:60], "names": ", ".join(sorted(names))}
            raise DomainError(words % named, code="answers")
        options, given = _options(held), []
        for question in questions:
            asked = _asked(question, options, given)
            given += question.read(sent.answers.get(question.name), options, asked)
        return Answer(tuple(given))

    def rows(self, answer: Answer) -> list[models.Answer]:
        return [
            models.Answer(
                question=row.question,
                option=row.option,
                label=row.label,
                value=row.value,
                text=row.text,
                chips=list(row.chips),
            )
            for row in answer.given
        ]

    def of_rows(self, rows: Sequence[models.Answer]) -> Answer:
        return Answer(
            tuple(
                Given(row.question, row.option, row.label, row.value, row.text, tuple(row.chips))
                for row in rows
            )
        )

    def typed(self, answer: Answer, shown: Ordered) -> dict[str, list[str]]:
        options, fields = _shown_options(shown), {}
        for question, rows in self._by_question(answer, shown.config):
            fields |= question.typed(rows, options)
        return fields

    def context(self, shown: Shown, typed: Data) -> dict[str, Any]:
        """The questions about the item, and for each answer as shown those about it."""
        ids = [id for id, _text in shown.answers]
        questions = self.questions(shown.config)

        def field(question: Question, place: int | None = None) -> dict[str, Any]:
            name = question.field(place)
            context = question.context(typed, name, ids)
            return {"question": question, "field": name, **_when(question, place), **context}

        def _when(question: Question, place: int | None) -> dict[str, Any]:
            condition = question.asked_when
            if condition is None:
                return {}
            (asked,) = (other for other in questions if other.name == condition.question)
            of = asked.field(place if asked.about == "option" else None)
            return {"when": of, "labels": json.dumps(condition.labels)}

        forms = [
            {
                "place": place,
                "id": id,
                "text": text,
                "fields": [field(q, place) for q in questions if q.about == "option"],
            }
            for place, (id, text) in enumerate(shown.answers, start=1)
        ]
        return {
            "forms": forms,
            "fields": [field(q) for q in questions if q.about == "item"],
            "scored": any(form["fields"] for form in forms),
        }

    def sent(self, answer: Answer, shown: Ordered) -> dict[str, Any]:
        ids = dict(zip(shown.order, (id for id, _text in shown.answers), strict=True))
        return {"answers": self.answer_json(answer, ids, shown.config)}

    def of_label(self, label: dict[str, str | int]) -> Answer:
        return Answer(tuple(_given(part, value) for part, value in label.items()))

    def as_shown(self, answer: Answer, order: Sequence[int], config: Config) -> Answer:
        rows = [
            question.as_shown(row, order)
            for question, rows in self._by_question(answer, config)
            for row in rows
        ]
        return Answer(tuple(rows))

    def _by_question(
        self, answer: Answer, config: Config
    ) -> Iterator[tuple[Question, list[Given]]]:
        for question in self.questions(config):
            yield question, [row for row in answer.given if row.question == question.name]

    # In words

    def label_words(self, label: str, config: Config) -> str:
        return label

    def words(self, answer: Answer, config: Config) -> list[str]:
        lines = []
        for question, rows in self._by_question(answer, config):
            for row in sorted(rows, key=lambda row: row.option or 0):
                lines.append(f"{_named(question, row, config)}: {question.said(row) or row.text}")
        return lines

    def remarks(self, answer: Answer, config: Config) -> list[str]:
        lines = []
        for question, rows in self._by_question(answer, config):
            for row in rows:
                chips = row.chips if row.said is not None and row.value is not None else ()
                if written := "; ".join(filter(None, [row.text, *chips])):
                    lines.append(f"{_named(question, row, config)}: {written}")
        return lines

    def fields(self, item: Item, config: Config) -> list[base.Field]:
        numbers = [option.number for option in item.options.all()]
        fields = []
        for question in self.questions(config):
            choices = question.choices(config["options"])
            about = question.about == "option" or question.level == "ranks"
            for number in numbers if about else [None]:
                part = Given(question.name, number)
                if choices:
                    title = _named(question, part, config)
                    fields.append(base.Field(part.part, title, choices))
        return fields

    def label_of(self, parts: dict[str, str], config: Config) -> dict[str, str | int]:
        """Points and places are numbers, classes and choices words."""
        numbers = {q.name for q in self.questions(config) if q.type in NUMBERED}
        return {
            part: int(value) if _given(part, "").question in numbers else value
            for part, value in parts.items()
        }

    def label_json(self, label: dict[str, str | int], ids: dict[int, str], config: Config) -> dict:
        """As ``answer_json``, of what was asked for alone."""
        return self.answer_json(self.of_label(label), ids, config)

    def answer_json(self, answer: Answer, ids: dict[int, str], config: Config) -> dict:
        """{question: answer}, of questions about each answer {question: {id: answer}}.

        What a body of the API has under "answers": read again, it is the same answer.
        """
        return {
            question.name: question.exported(rows, ids)
            for question, rows in self._by_question(answer, config)
            if rows
        }


def _asked_in(name: str, file: ImportedFile) -> dict[str, Any]:
    """The settings of a question that takes all that a file says to it."""
    said = file.said[name]
    about = "option" if name in file.of_answers or file.size == 1 else "item"
    question: dict[str, Any] = {"name": name.replace("/", "-"), "about": about, "required": False}
    if all(each in _POINTS for each in said):
        return question | {"type": "rating", "points": max(2, *map(int, said))}
    if len(said) <= CLASSES_LIMIT and max(map(len, said)) <= NAME_LIMIT:
        return question | {"type": "label", "classes": sorted(said)}
    return question | {"type": "text"}


def _imported_parts(judgment: ImportedJudgment, questions: Sequence[Question]) -> dict[str, Any]:
    """{question: answer} of {"PLACE/QUESTION": answer}; place 0 is the item, or its only answer."""
    by_name = {question.name: question for question in questions}
    answers: dict[str, Any] = {}
    for part, said in judgment.scores.items():
        place, name = part.split("/", 1)
        question = by_name.get(name)
        if question is None:
            raise DomainError(_("the task has no question “%s”") % name[:60])
        value = int(said) if isinstance(said, float) and said.is_integer() else said
        if question.about == "option" or question.type == "ranking":
            alone = place == "0" and len(judgment.answers) == 1
            if place == "0" and not alone:
                raise DomainError(_("“%s” is about each answer: name which one") % name[:60])
            answers.setdefault(name, {})[judgment.answer("1" if alone else place)] = value
        else:
            answers[name] = judgment.choice(str(value)) if question.type == "choice" else value
    return answers


def _options(held: Held) -> Options:
    return Options({option.number: option.candidate for option in held.options}, held.shown)


def _shown_options(shown: Ordered) -> Options:
    ids = dict(zip(shown.order, (id for id, _text in shown.answers), strict=True))
    return Options(ids, shown.order)


def _asked(question: Question, options: Options, given: list[Given]) -> list[int | None]:
    """What the question is asked about (None: the item), after the answers to earlier ones."""
    about: list[int | None] = [None] if question.about == "item" else list(options.order)
    condition = question.asked_when
    if condition is None:
        return about
    met = {
        row.option
        for row in given
        if row.question == condition.question and row.label in condition.labels
    }
    return about if None in met else [number for number in about if number in met]


def _given(part: str, value: str | int) -> Given:
    """The row of a bare label: what is a number is a point or a place."""
    head, slash, name = part.partition("/")
    option, question = (int(head), name) if slash else (None, part)
    if isinstance(value, int):
        return Given(question, option, value=value)
    return Given(question, option, label=value)


def _near(value: Any, expected: Any) -> bool:
    if type(value) is int and type(expected) is int:
        return abs(value - expected) <= 1
    return value == expected


def _named(question: Question, row: Given, config: Config) -> str:
    if row.option is None or config["options"] == 1:
        return question.words
    return f"{base.answer_name(row.option)}, {question.words}"


def _own(value: Any, question: Question, released: ReleasedAnswer) -> Any:
    """A released answer with this study's ids of the options; words are never taken for an id."""
    if question.type == "choice":
        chosen = value.get("choice") if isinstance(value, dict) else value
        own = released.ids.get(str(chosen), chosen)
        return value | {"choice": own} if isinstance(value, dict) else own
    if isinstance(value, dict) and (question.about == "option" or question.type == "ranking"):
        return {released.ids.get(name, name): each for name, each in value.items()}
    return value


def _changed(config: Config, question: dict, settings: dict) -> Config:
    """The questions with other ``settings`` of one of them."""
    asked = [one | settings if one is question else one for one in config["questions"]]
    return {"questions": asked}
