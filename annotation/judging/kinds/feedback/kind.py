"""Scores on a task's criteria, each with diagnostic feedback, for every answer."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, cast

from django.db.models import F, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.judging import models
from annotation.judging.kinds import base, body, common, planning
from annotation.judging.kinds.feedback.form import (
    CRITERIA,
    OPTIONS_LIMIT,
    POINTS,
    POINTS_LIMIT,
    FeedbackBody,
    FeedbackForm,
    ScoreBody,
)
from annotation.judging.kinds.imported import ImportedFile, ImportedJudgment, ReleasedAnswer
from annotation.judging.kinds.planning import EVERYTHING, Scope
from annotation.judging.kinds.slots import Config, Data, Held, Ordered, Shown
from annotation.judging.models import Item
from annotation.questions.base import Measure
from annotation.studies.models import Study, TaskDefinition

CRITERIA_LIMIT = 12


@dataclass(frozen=True)
class Part:
    """The score of one criterion of one answer, by the answer's number (0: unknown)."""

    number: int
    criterion: str
    score: int
    text: str = ""
    chips: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """A score for every option and criterion."""

    scores: tuple[Part, ...]
    detail = ""

    @property
    def label(self) -> dict[str, int]:
        """{"NUMBER/CRITERION": score}."""
        return {f"{part.number}/{part.criterion}": part.score for part in self.scores}


class FeedbackKind(base.Kind[Answer, FeedbackBody, dict[str, int]]):
    CODE = "feedback"
    NAME = gettext_lazy("score answers on criteria, with feedback")
    QUESTION = gettext_lazy("How well does this answer serve you?")
    Form = FeedbackForm
    Body = FeedbackBody
    ASKS = ("query", "options")
    DEFAULTS = {
        "criteria": list(CRITERIA),
        "points": 5,
        "options": 1,
        "feedback": "required",
        "least": 1,
        "feedback_chips": [],
    }
    LEVEL = "ordinal"
    SHAPE = "scores"

    def imported_config(self, file: ImportedFile) -> Config | None:
        if file.has("attribute") or not (file.has("score") or file.size == 1):
            return None
        if not file.has("score") and not file.has("label"):
            return {"feedback": "optional"}
        if not file.has("score") and not all(label.isdecimal() for label in file.labels):
            return None
        # A label alone is the score on a criterion of its column's name.
        criteria = file.criteria or (file.label_name,)
        return {
            "criteria": list(criteria[:CRITERIA_LIMIT]),
            "points": _points(file),
            "options": min(file.size, OPTIONS_LIMIT),
            "feedback": "optional",
        }

    def imported_body(self, judgment: ImportedJudgment) -> dict[str, Any]:
        criteria, scores = judgment.config["criteria"], judgment.scores
        points = judgment.config["points"]
        if not scores:
            if len(criteria) > 1:
                raise DomainError(_("a label stands for no score: the task has several criteria"))
            scores = {f"1/{criteria[0]}": judgment.label}
        answers: dict[str, dict] = defaultdict(dict)
        for name, value in scores.items():
            place, criterion = name.split("/", 1)
            if criterion not in criteria:
                raise DomainError(_("the task has no criterion “%s”") % criterion[:60])
            answer, number = judgment.answer(place), str(value)
            if number not in self.labels(judgment.config):
                words = {"score": number[:60], "criterion": criterion, "n": points}
                raise DomainError(_outside(value) % words)
            answers[answer][criterion] = {"score": int(number), "feedback": ""}
        return {"answers": answers}

    def check_config(self, config: Config) -> dict:
        """``criteria`` names, scored from 1 to ``points`` (2 to 9); ``options`` how many answers
        stand side by side (1 to 5; 1 is one at a time); ``least`` how many characters the feedback
        of a criterion has at least; ``feedback`` whether it is required, optional or off;
        ``feedback_chips`` common reasons.
        """
        full = super().check_config(config)
        common.check_texts("criteria", full["criteria"], CRITERIA_LIMIT, common.CHIP_LIMIT)
        chips = full["feedback_chips"]
        common.check_texts("feedback_chips", chips, common.CHIPS_LIMIT, common.CHIP_LIMIT)
        if not full["criteria"]:
            raise DomainError("criteria must name at least one criterion.", code="config")
        if full["feedback"] not in ("off", "optional", "required"):
            raise DomainError("feedback must be off, optional or required.", code="config")
        common.check_whole("options", full["options"], 1, OPTIONS_LIMIT)
        common.check_whole("points", full["points"], 2, POINTS_LIMIT)
        common.check_whole("least", full["least"], 1, 1000)
        return full

    def published_config(self, texts: Callable[[str], list[str]], attribute: bool) -> Config:
        shown = {"criteria": texts("criteria"), "options": len(texts("candidates"))}
        return shown | {"feedback": "off"}

    def answered_config(self, released: ReleasedAnswer) -> dict[str, Any]:
        scores = [score for score in _released_scores(released) if isinstance(score, dict)]
        points = [n for score in scores if type(n := score.get("score")) is int]
        chips = {chip for score in scores for chip in score.get("chips") or () if chip}
        shown: dict[str, Any] = {"feedback_chips": sorted(chips)} if chips else {}
        if any(score.get("feedback") for score in scores):
            shown["feedback"] = "optional"
        return shown | ({"points": max(points)} if points else {})

    def released_body(self, released: ReleasedAnswer) -> dict[str, Any]:
        parts = released.parts.items()
        return {"answers": {released.candidate(name): scores for name, scores in parts}}

    def options_range(self, config: Config) -> tuple[int, int]:
        """The last answers of a query may be fewer than stand side by side."""
        return 1, config["options"]

    def plan(self, study: Study, task: TaskDefinition, scope: Scope = EVERYTHING) -> Iterator[dict]:
        return planning.grouped(study, task, scope)

    def measures(self, config: Config) -> list[Measure]:
        points = tuple(self.labels(config))
        return [Measure(name, self.LEVEL, points, name) for name in config["criteria"]]

    def labels(self, config: Config) -> list[str]:
        return [str(n) for n in _scale(config)]

    def expected(self, value: Any, row: dict, config: Config) -> dict:
        """{"NUMBER/CRITERION": score} with the candidate's place in the row, from 1."""
        places = range(1, len(row["candidates"]) + 1)
        names = [f"{place}/{name}" for place in places for name in config["criteria"]]
        scores = value if isinstance(value, dict) else {}
        scale = _scale(config)
        fit = (name in names and type(n) is int and n in scale for name, n in scores.items())
        if not scores or not all(fit):
            words = f"scores from 1 to {config['points']} of {base.listed(names)}"
            raise DomainError(f"“expected” must have {words}")
        return value

    def fields_sent(self, data: Data, held: Held) -> Data:
        """A form has ``score-O-C``, ``text-O-C`` and ``chips-O-C``: O is the place of the answer
        as shown, C that of the criterion, both from 1.
        """
        if "answers" in data:
            return data
        answers: dict[str, dict] = defaultdict(dict)
        for place, _number, candidate in _shown(held):
            for n, criterion in enumerate(held.config["criteria"], start=1):
                answers[candidate][criterion] = {
                    "score": data.get(f"score-{place}-{n}"),
                    "feedback": data.get(f"text-{place}-{n}"),
                    "chips": common.values_of(data, f"chips-{place}-{n}"),
                }
        return {"answers": answers}

    def answer(self, sent: FeedbackBody, held: Held) -> Answer:
        parts = []
        for place, number, candidate in _shown(held):
            for criterion in held.config["criteria"]:
                fields = body.entry(sent.answers, candidate, criterion)
                score = ScoreBody.read(fields, held, n=place, criterion=_(criterion))
                chips = tuple(score.chips)
                parts.append(Part(number, criterion, score.score, score.feedback, chips))
        return Answer(tuple(parts))

    def rows(self, answer: Answer) -> list[models.Answer]:
        return [
            models.Answer(
                question=part.criterion,
                option=part.number,
                value=part.score,
                text=part.text,
                chips=list(part.chips),
            )
            for part in answer.scores
        ]

    def typed(self, answer: Answer, shown: Ordered) -> dict[str, list[str]]:
        criterion = {name: n for n, name in enumerate(shown.config["criteria"], start=1)}
        fields = {}
        for part in self.as_shown(answer, shown.order, shown.config).scores:
            name = f"{part.number}-{criterion[part.criterion]}"
            fields[f"score-{name}"] = [str(part.score)]
            fields[f"text-{name}"] = [part.text]
            fields[f"chips-{name}"] = list(part.chips)
        return fields

    def context(self, shown: Shown, typed: Data) -> dict[str, Any]:
        """For each answer as shown, its criteria with what has been typed."""
        forms = []
        for place, (id, text) in enumerate(shown.answers, start=1):
            rows = [
                _row(shown, typed, f"{place}-{n}", name)
                for n, name in enumerate(shown.config["criteria"], start=1)
            ]
            forms.append({"place": place, "id": id, "text": text, "criteria": rows})
        return {"forms": forms, "scale": _scale(shown.config)}

    def scale(self, config: Config) -> list[str]:
        return self.labels(config)

    def of_rows(self, rows: Sequence[models.Answer]) -> Answer:
        return Answer(
            tuple(
                Part(
                    cast(int, row.option),
                    row.question,
                    cast(int, row.value),
                    row.text,
                    tuple(row.chips),
                )
                for row in rows
            )
        )

    def scores(self, judgments: QuerySet) -> QuerySet:
        # By joins: PostgreSQL can walk all scores for each judgment of a subquery it takes for
        # empty.
        about = {
            "slot__item__batch__task__kind": self.CODE,
            "answers__option__isnull": False,
            "slot__item__options__number": F("answers__option"),
        }
        return judgments.filter(**about).annotate(
            criterion=F("answers__question"),
            score=F("answers__value"),
            feedback_text=F("answers__text"),
            number=F("answers__option"),
            candidate=F("slot__item__options__candidate"),
            part=F("answers__pk"),
        )

    def of_label(self, label: dict[str, int]) -> Answer:
        return Answer(tuple(Part(*_split(name), score) for name, score in label.items()))

    def as_shown(self, answer: Answer, order: Sequence[int], config: Config) -> Answer:
        places = {number: place for place, number in enumerate(order, start=1)}
        shown = [replace(part, number=places.get(part.number, 0)) for part in answer.scores]
        return Answer(tuple(sorted(shown, key=lambda part: part.number)))

    def agrees(self, label: dict[str, int], expected: dict[str, int], config: Config) -> bool:
        """Each expected score within 1."""
        return all(name in label and abs(label[name] - n) <= 1 for name, n in expected.items())

    def label_words(self, label: str, config: Config) -> str:
        return label

    def words(self, answer: Answer, config: Config) -> list[str]:
        """A line an answer, in order of their numbers; a single one is not named."""
        ordered = sorted(answer.scores, key=lambda part: part.number)
        lines = {
            number: ", ".join(f"{_(part.criterion)} {part.score}" for part in parts)
            for number, parts in groupby(ordered, key=lambda part: part.number)
        }
        if config["options"] == 1:
            return list(lines.values())
        return [f"{base.answer_name(number)}: {line}" for number, line in lines.items()]

    def remarks(self, answer: Answer, config: Config) -> list[str]:
        lines = []
        for part in sorted(answer.scores, key=lambda part: part.number):
            name = base.answer_name(part.number)
            about = _(part.criterion)
            about = about if config["options"] == 1 else f"{name}, {about}"
            if written := "; ".join(filter(None, [part.text, *part.chips])):
                lines.append(f"{about}: {written}")
        return lines

    def fields(self, item: Item, config: Config) -> list[base.Field]:
        numbers = [option.number for option in item.options.all()]
        choices = self.label_choices(config)
        return [
            base.Field(f"{number}/{name}", f"{base.answer_name(number)}, {_(name)}", choices)
            for number in numbers
            for name in config["criteria"]
        ]

    def label_of(self, parts: dict[str, str], config: Config) -> dict[str, int]:
        return {part: int(score) for part, score in parts.items()}

    def label_json(self, label: dict[str, int], ids: dict[int, str], config: Config) -> dict:
        """{"ID/CRITERION": score}."""
        parts = self.of_label(label).scores
        return {f"{ids[part.number]}/{part.criterion}": part.score for part in parts}

    def answer_json(self, answer: Answer, ids: dict[int, str], config: Config) -> dict:
        """{id: {criterion: {"score", "feedback", "chips"}}}."""
        scores = defaultdict(dict)
        for part in answer.scores:
            entry = {"score": part.score, "feedback": part.text, "chips": list(part.chips)}
            scores[ids[part.number]][part.criterion] = entry
        return dict(scores)


def _split(name: str) -> tuple[int, str]:
    """A part of a label as the answer's number and the criterion."""
    number, criterion = name.split("/", 1)
    return int(number), criterion


def _released_scores(released: ReleasedAnswer) -> list:
    """What a release has of every answer and criterion."""
    answers = released.answer.values() if isinstance(released.answer, dict) else ()
    return [part for parts in answers if isinstance(parts, dict) for part in parts.values()]


def _points(file: ImportedFile) -> int:
    """Points of a scale that a file's scores fit on, at least the usual; 3 for yes and no."""
    numbers = [float(label) for label in file.labels if label.isdecimal()]
    return min(max(POINTS, int(max([file.high, *numbers]))), POINTS_LIMIT)


def _outside(score: int | float | str) -> str:
    """The sentence about a score that is no point of the task's scale."""
    if isinstance(score, float):
        return _(
            "the score %(score)s of “%(criterion)s” is no whole number from 1 to %(n)d, and people "
            "choose a point of a scale: import other scores of answers as scores"
        )
    if isinstance(score, int) and score > POINTS_LIMIT:
        return _(
            "the score %(score)s of “%(criterion)s” is not 1 to %(n)d, and no scale has more than "
            "9 points: import other scores of answers as scores"
        )
    return _("the score %(score)s of “%(criterion)s” is not 1 to %(n)d")


def _scale(config: Config) -> range:
    return range(1, config["points"] + 1)


def _row(shown: Shown, typed: Data, name: str, criterion: str) -> dict:
    ticked = typed.getlist(f"chips-{name}") if hasattr(typed, "getlist") else []
    return {
        "field": name,
        "name": _(criterion),
        "about": CRITERIA.get(criterion, ""),
        "score": typed.get(f"score-{name}", ""),
        "text": typed.get(f"text-{name}", ""),
        "chips": [(chip, chip in ticked) for chip in shown.config["feedback_chips"]],
    }


def _shown(held: Held) -> list[tuple[int, int, str]]:
    """(place, number, candidate) of each answer as shown."""
    candidates = {option.number: option.candidate for option in held.options}
    return [(place, n, candidates[n]) for place, n in enumerate(held.shown, start=1)]
