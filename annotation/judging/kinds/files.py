"""What presets have of their own in files: settings that a file shows, answers as published.

Where a ``Files`` says nothing, an answer in a file is what the API's body has.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.queries.models import GoldClaim
from annotation.questions.base import CLASSES_LIMIT, NAME_LIMIT, Question
from annotation.questions.number import STEPS_LIMIT
from annotation.questions.rating import POINTS as RATING_POINTS

Config = dict[str, Any]
Answers = dict[str, Any]
POINTS_LIMIT, CRITERIA_LIMIT, OPTIONS_LIMIT = RATING_POINTS[1], 12, 8
POINTS = 5
# More answers than a plain choice shows are chosen from by a question of the task's own.
MOST_CHOSEN = 3
# Points of a rating as a file has them.
_POINTS = frozenset("123456789")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")

# Labels of files that stand for none of an item's answers.
NO_ANSWER = ("tie", "none")
# What a task can be given so that it takes a file that does not fit it.
WIDER = {
    "ties": gettext_lazy("allow ties"),
    "none": gettext_lazy("allow “none of them”"),
    "classes": gettext_lazy("add the file's classes"),
    "criteria": gettext_lazy("add the file's criteria"),
    "questions": gettext_lazy("add the file's questions"),
}


@dataclass(frozen=True)
class Range:
    """The lowest and highest of some numbers, and how many digits follow their points at most."""

    low: float = math.inf
    high: float = -math.inf
    decimals: int = 0

    def with_number(self, value: Any) -> "Range | None":
        """The range that holds ``value``, too; None where that is no number as people write it."""
        text = str(value)
        if isinstance(value, list) or not _NUMBER.fullmatch(text):
            return None
        number, decimals = float(text), len(text.partition(".")[2].rstrip("0"))
        return Range(min(self.low, number), max(self.high, number), max(self.decimals, decimals))

    @property
    def is_of_points(self) -> bool:
        """Whether a rating has a point for each of the numbers."""
        return not self.decimals and self.low >= 1 and self.high <= POINTS_LIMIT

    def question(self) -> Config | None:
        """Settings of a question for these numbers: from 0 to 100 where they lie there and above
        10, else from the whole number below them to the one above. None where that has too many
        steps.
        """
        low, high = math.floor(self.low), math.ceil(self.high)
        if low >= 0 and 10 < high <= 100:
            low, high = 0, 100
        high = max(high, low + 1)
        if (high - low) * 10**self.decimals > STEPS_LIMIT:
            return None
        step = round(10**-self.decimals, self.decimals)
        return {"type": "number", "minimum": low, "maximum": high, "step": step}


@dataclass(frozen=True)
class ImportedFile:
    """What a file shows of the task behind it.

    ``columns`` are what its columns stand for ("prompt", "attribute", "label", "score"), ``size``
    is how many answers an item shows, ``labels`` and ``criteria`` those that occur, ``rated`` how
    many of an item's answers have scores, ``low`` and ``high`` the range of the scores,
    ``label_name`` the name of the column of labels; ``values`` the answers to each question of its
    own, in the order of the lines, ``of_answers`` those of them that are about each answer;
    ``classes`` those declared of a question ("": of the labels), ``level`` what they are;
    ``ranges`` those of questions and criteria whose values are numbers ("": of the labels).
    """

    columns: frozenset[str]
    size: int
    labels: tuple[str, ...]
    criteria: tuple[str, ...]
    rated: int
    low: float
    high: float
    label_name: str
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    of_answers: frozenset[str] = frozenset()
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    level: str = ""
    ranges: Mapping[str, Range | None] = field(default_factory=dict)

    def has(self, *columns: str) -> bool:
        return self.columns.issuperset(columns)

    @property
    def orders(self) -> set[str]:
        """The labels that put answers in order, such as "A>C=B"."""
        return set() if self.classed else {label for label in self.labels if ">" in label}

    @property
    def classed(self) -> bool:
        """Whether labels are declared to be classes, also those that look like numbers."""
        return "" in self.classes or (self.level == "nominal" and self.size == 1)


@dataclass(frozen=True)
class ImportedJudgment:
    """What one person says of one item.

    ``scores`` are by "PLACE/CRITERION" or "NAME/CRITERION", ``answers`` the ids of the answers by
    their place (from 1).
    ``choice(label)`` is the id of the answer that a label names, or "tie" or "none"; it raises
    DomainError. ``signed``: scores of pairs are below zero for one side and above it for the other.
    """

    label: str
    config: dict
    answers: list[str]
    choice: Callable[[str], str]
    scores: dict = field(default_factory=dict)
    signed: bool = False
    # The gold response whose claims are judged.
    gold: int | None = None

    def answer(self, place: str) -> str:
        """The id of the answer at a place, or of the one that is called so (percent-encoded).

        DomainError where the item has no such answer.
        """
        if not place.isdigit():
            return self.choice(unquote(place))
        if int(place) > len(self.answers):
            raise DomainError(_("the item has no answer “%s”") % place)
        return self.answers[int(place) - 1]


@dataclass(frozen=True)
class ReleasedAnswer:
    """An answer that a release has in one cell: a label, or JSON as ``Kind.answer_json``, and
    ``detail``. So have it tables of other layouts, and ``long`` up to version 1.

    ``ids`` is {id of an answer in the release: id of the item's candidate}.
    """

    answer: Any
    detail: str = ""
    ids: dict[str, str] = field(default_factory=dict)
    gold: int | None = None
    # The settings of the item's task.
    config: dict = field(default_factory=dict)

    @property
    def text(self) -> str:
        """An answer that is one label; DomainError."""
        if not isinstance(self.answer, str):
            raise DomainError(_("the answer is not one label"))
        return self.answer

    @property
    def parts(self) -> dict[str, Any]:
        """An answer of several parts; DomainError."""
        if not isinstance(self.answer, dict):
            raise DomainError(_("the answer has no parts"))
        return self.answer

    def candidate(self, name: str) -> str:
        """The id of the candidate that an id of the release stands for; DomainError."""
        if name not in self.ids:
            raise DomainError(_("the item has no answer “%s”") % name[:80])
        return self.ids[name]


def answers_of_release(released: ReleasedAnswer, questions: Sequence[Question]) -> Answers:
    """{question: answer} as a release has it, with this study's ids of the options."""
    by_name = {question.name: question for question in questions}
    return {
        name: _with_own_ids(value, by_name[name], released) if name in by_name else value
        for name, value in released.parts.items()
    }


@dataclass(frozen=True)
class Files:
    """How one preset appears in files; answers are {question: answer}.

    ``config(file)`` are the settings of a task for a file's items, None where it is of another
    kind: of several that fit, the first of ``KINDS`` is taken. ``published_config(texts,
    attribute)`` are those that an item of a release shows: ``texts(column)`` is a list of its row
    ("labels", "candidates" or "criteria"). ``released`` reads an answer of a release that has it
    in one cell; ``claims(released)`` are the claims of the item's gold response that it shows, by
    number.
    """

    config: Callable[[ImportedFile], Config | None]
    imported: Callable[[ImportedJudgment, Sequence[Question]], Answers]
    released: Callable[[ReleasedAnswer, Sequence[Question]], Answers] = answers_of_release
    published_config: Callable[[Callable[[str], list[str]], bool], Config] = lambda texts, by: {}
    claims: Callable[[ReleasedAnswer], dict[int, str]] = lambda released: {}
    # An answer and its label as published, with {canonical number: id} of its options.
    answer: Callable[[Any, dict[int, str]], Any] | None = None
    label: Callable[[Any, dict[int, str]], Any] | None = None


def wider(files: Files, config: Config, file: ImportedFile) -> dict[str, Config]:
    """{name in WIDER: settings} by which a task of ``config`` would take all of ``file``."""
    if "questions" in config:
        return _wider_questions(config, file)
    made = files.config(file) or {}
    settings: dict[str, Config] = {}
    for setting, name in (("tie", "ties"), ("ties", "ties"), ("none", "none")):
        if made.get(setting) and config.get(setting) is False:
            settings[name] = {setting: True}
    criteria = config.get("criteria")
    if criteria and (new := [name for name in made.get("criteria", ()) if name not in criteria]):
        settings["criteria"] = {"criteria": [*criteria, *new]}
    return settings


# A choice


def choice_config(file: ImportedFile) -> Config | None:
    if file.has("attribute") or file.has("score") or file.size not in (2, 3):
        return None
    if file.orders or file.classed:
        return None
    special = {name: name in file.labels for name in NO_ANSWER}
    return {"reason": "optional", "options": file.size} | special


def choice_imported(judgment: ImportedJudgment, questions: Sequence[Question]) -> Answers:
    if judgment.scores:
        raise DomainError(_("the item's task asks for a choice, and this line has scores"))
    return {questions[0].name: judgment.choice(judgment.label)}


def choice_published(texts: Callable[[str], list[str]], attribute: bool) -> Config:
    options, labels = len(texts("candidates")), texts("labels")
    return {"options": options} | {name: name in labels for name in NO_ANSWER}


def choice_released(released: ReleasedAnswer, questions: Sequence[Question]) -> Answers:
    label = released.text
    choice = label if label in NO_ANSWER else released.candidate(label)
    return {questions[0].name: {"choice": choice, "strength": released.detail}}


# A scale


def scale_config(file: ImportedFile) -> Config | None:
    compares = file.size == 2 and file.rated == 1 and len(file.criteria) == 1
    if file.has("attribute") or not file.has("score") or not compares:
        return None
    points = 7 if max(-file.low, file.high - 4) > 2 else 5
    return {"reason": "optional", "points": points}


def scale_imported(judgment: ImportedJudgment, questions: Sequence[Question]) -> Answers:
    stated = next(iter(judgment.scores.values()), judgment.label)
    points = judgment.config["points"]
    try:
        value = int(stated)
    except ValueError:
        raise _no_place(stated) from None
    if judgment.signed:  # 0 is the middle of the scale
        value += points // 2 + 1
    if not 1 <= value <= points:
        raise _no_place(stated)
    return {questions[0].name: value}


def scale_published(texts: Callable[[str], list[str]], attribute: bool) -> Config:
    return {"points": len(texts("labels")), "attribute": attribute}


def scale_released(released: ReleasedAnswer, questions: Sequence[Question]) -> Answers:
    if not released.text.isdecimal():
        raise _no_place(released.text)
    return {questions[0].name: int(released.text)}


def _no_place(stated: object) -> DomainError:
    return DomainError(_("“%s” is no place on the scale") % str(stated)[:60])


# A ranking


def ranking_config(file: ImportedFile) -> Config | None:
    if file.has("attribute") or file.has("score") or not file.orders or file.size == 1:
        return None
    ties = any("=" in label for label in file.orders)
    return {"reason": "optional", "options": file.size, "ties": ties}


def ranking_imported(judgment: ImportedJudgment, questions: Sequence[Question]) -> Answers:
    """Of an order such as "A>C=B"."""
    groups = [
        [judgment.choice(name.strip()) for name in group.split("=")]
        for group in judgment.label.split(">")
    ]
    return {questions[0].name: groups}


def ranking_released(released: ReleasedAnswer, questions: Sequence[Question]) -> Answers:
    places = {released.candidate(name): place for name, place in released.parts.items()}
    for place in places.values():
        if type(place) is not int:
            raise _no_place(place)
    return {questions[0].name: places}


def ranking_answer(answer: Any, ids: Mapping[int, str]) -> dict[str, int]:
    """{option's id: place}."""
    return {ids[row.option]: row.value for row in answer.rows}


# Classes


def classes_imported(words: Mapping[str, str], causes: Sequence[str] = (), cause: str = "") -> Any:
    """Reads a class in the ``words`` of other tools; any but the first needs a ``cause``."""

    def imported(judgment: ImportedJudgment, questions: Sequence[Question]) -> Answers:
        label = judgment.label.lower()
        label = words.get(label, label)
        more = {questions[1].name: cause} if label in causes else {}
        return {questions[0].name: label} | more

    return imported


def classes_released(released: ReleasedAnswer, questions: Sequence[Question]) -> Answers:
    more = {question.name: released.detail for question in questions[1:] if released.detail}
    return {questions[0].name: released.text} | more


# Criteria


def criteria_config(file: ImportedFile) -> Config | None:
    if file.has("attribute") or file.classed or not (file.has("score") or file.size == 1):
        return None
    if not file.has("score") and not file.has("label"):
        return {"feedback": "optional"}
    if not file.has("score") and not all(label.isdecimal() for label in file.labels):
        return None
    # A label alone is the score on a criterion of its column's name.
    criteria = file.criteria or (file.label_name,)
    if numbers_of(file):
        return None
    # At least the points that are usual; of yes and no 3 would do.
    numbers = [float(label) for label in file.labels if label.isdecimal()]
    points = min(max(POINTS, int(max([file.high, *numbers]))), POINTS_LIMIT)
    shown = {"options": min(file.size, 5), "feedback": "optional", "points": points}
    return shown | {"criteria": list(criteria[:CRITERIA_LIMIT])}


def numbers_of(file: ImportedFile) -> list[Config]:
    """Questions for a file's scores, or labels, that no scale of points has; else none."""
    names = file.criteria or (("",) if file.size == 1 and not file.has("score") else ())
    ranges = [file.ranges.get(name) for name in names]
    if not all(ranges) or all(each.is_of_points for each in ranges if each):
        return []
    bounds = [(each.low, each.high, each.decimals) for each in ranges if each]
    lows, highs, decimals = zip(*bounds, strict=True)
    shown = Range(min(lows), max(highs), max(decimals)).question()
    called = [(name or file.label_name).replace("/", "-").strip()[:60] for name in names]
    questions = [shown | {"name": name, "about": "option"} for name in called if shown]
    return questions[:CRITERIA_LIMIT]


def criteria_imported(judgment: ImportedJudgment, questions: Sequence[Question]) -> Answers:
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
        candidate, number = judgment.answer(place), str(value)
        if not number.isdecimal() or not 1 <= int(number) <= points:
            words = {"score": number[:60], "criterion": criterion, "n": points}
            raise DomainError(_outside(value) % words)
        answers[criterion][candidate] = {"score": int(number)}
    return answers


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


def criteria_published(texts: Callable[[str], list[str]], attribute: bool) -> Config:
    shown = {"criteria": texts("criteria"), "options": len(texts("candidates"))}
    return shown | {"feedback": "off"}


def criteria_released(released: ReleasedAnswer, questions: Sequence[Question]) -> Answers:
    answers: dict[str, dict] = defaultdict(dict)
    for name, scores in released.parts.items():
        candidate = released.candidate(name)
        if not isinstance(scores, dict) or not all(isinstance(s, dict) for s in scores.values()):
            raise DomainError(_("the answer has no parts"))
        for criterion, score in scores.items():
            answers[criterion][candidate] = score | {"text": score.get("feedback")}
    return answers


def criteria_answer(answer: Any, ids: Mapping[int, str]) -> dict[str, dict]:
    """{id: {criterion: {"score", "feedback", "chips"}}}."""
    scores: dict[str, dict] = defaultdict(dict)
    for row in answer.rows:
        score = {"score": row.value, "feedback": row.text, "chips": list(row.chips)}
        scores[ids[row.option]][row.question] = score
    return dict(scores)


def criteria_label(answer: Any, ids: Mapping[int, str]) -> dict[str, int]:
    """{"ID/CRITERION": score}."""
    return {f"{ids[row.option]}/{row.question}": row.value for row in answer.rows}


# Claims


def claims_imported(judgment: ImportedJudgment, questions: Sequence[Question]) -> Answers:
    """A label has the verdicts in the claims' order ("keep, drop") or is JSON, {number: verdict
    or {"verdict", "text"}}.
    """
    label = judgment.label
    verdicts = _json_of(label) if label.lstrip().startswith("{") else label.split(",")
    if isinstance(verdicts, list):
        verdicts = {str(n): verdict.strip() for n, verdict in enumerate(verdicts, start=1)}
    return _verdicts(verdicts, judgment.gold, questions)


def claims_released(released: ReleasedAnswer, questions: Sequence[Question]) -> Answers:
    return _verdicts(released.parts, released.gold, questions)


def released_claims(released: ReleasedAnswer) -> dict[int, str]:
    """The claims that an answer of a release shows, by number."""
    parts = released.answer.items() if isinstance(released.answer, dict) else ()
    return {
        int(number): str(part["claim"])
        for number, part in parts
        if number.isdecimal() and isinstance(part, dict) and part.get("claim")
    }


def _json_of(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise DomainError(_("“%s” is no JSON") % text[:60]) from None


def claims_by_number(gold: int | None) -> dict[str, str]:
    """{number of a claim of the gold response: its key}."""
    claims = GoldClaim.objects.filter(response=gold).values_list("number", "pk")
    return {str(number): str(pk) for number, pk in claims}


def _verdicts(verdicts: dict, gold: int | None, questions: Sequence[Question]) -> Answers:
    """The answers of verdicts by their claims' numbers; DomainError for one of no claim."""
    ids = claims_by_number(gold)
    if unknown := sorted(verdicts.keys() - ids.keys()):
        raise DomainError(_("there is no claim %s") % unknown[0][:60])
    answers: Answers = {question.name: {} for question in questions}
    decided, edited = (answers[question.name] for question in questions)
    for number, verdict in verdicts.items():
        part = verdict if isinstance(verdict, dict) else {"verdict": verdict}
        decided[ids[number]] = part.get("verdict")
        if part.get("verdict") == "edit":
            edited[ids[number]] = part.get("text")
    return answers


def claims_answer(answer: Any, ids: Mapping[int, str]) -> dict[str, dict]:
    """{the claim's number: {"claim", "verdict", "text"}}."""
    claims = answer.claims or GoldClaim.objects.in_bulk({row.part for row in answer.rows})
    parts = {pk: {"claim": claim.text, "verdict": "", "text": ""} for pk, claim in claims.items()}
    rows = [row for row in answer.rows if row.part in parts]
    for row in rows:
        parts[row.part] |= {"verdict": row.label} if row.label else {"text": row.text}
    judged = {row.part: claims[row.part].number for row in rows}
    return {str(n): parts[pk] for pk, n in sorted(judged.items(), key=lambda pair: pair[1])}


def claims_label(answer: Any, ids: Mapping[int, str]) -> dict[str, str]:
    """{the claim's number: verdict}."""
    return {n: part["verdict"] for n, part in claims_answer(answer, ids).items()}


# Questions of the task's own


def questions_config(file: ImportedFile) -> Config | None:
    """Questions of the file's own; words about single answers are classes of one question."""
    if file.values:
        asked = [_asked_in(name, file) for name in file.values]
        return {"options": min(file.size, OPTIONS_LIMIT), "questions": asked}
    if file.has("attribute"):
        return None
    if not file.classed and (numbers := numbers_of(file)):
        shown = {"options": min(file.size, OPTIONS_LIMIT), "reason": "optional"}
        return shown | {"questions": numbers}
    if file.has("score") or not file.labels:
        return None
    if file.size > MOST_CHOSEN and not file.classed and not file.orders:
        special = {name: name in file.labels for name in NO_ANSWER}
        return {"options": file.size, "questions": [{"type": "choice", "name": "choice"} | special]}
    if not file.classed and (file.size != 1 or all(label.isdecimal() for label in file.labels)):
        return None
    if file.level == "interval":
        raise DomainError(_("The labels are words: their level is nominal or ordinal."))
    question = {
        "type": "label",
        "name": file.label_name.replace("/", "-").strip()[:60],
        "classes": list(file.classes.get("") or file.labels),
        "ordinal": file.level == "ordinal",
    }
    return {"options": file.size, "questions": [question], "reason": "optional"}


def _asked_in(name: str, file: ImportedFile) -> dict[str, Any]:
    """The settings of a question that takes all that a file says to it."""
    values = file.values[name]
    about = "option" if name in file.of_answers or file.size == 1 else "item"
    question: dict[str, Any] = {"name": name.replace("/", "-"), "about": about, "required": False}
    classes = file.classes.get(name)
    if not classes and file.level != "nominal" and all(each in _POINTS for each in values):
        return question | {"type": "rating", "points": max(2, *map(int, values))}
    if classes or (len(values) <= CLASSES_LIMIT and max(map(len, values)) <= NAME_LIMIT):
        ordinal = file.level == "ordinal"
        if not classes and ordinal and all(map(_NUMBER.fullmatch, values)):
            classes = tuple(sorted(values, key=float))
        return question | {"type": "label", "classes": list(classes or values), "ordinal": ordinal}
    if number := file.ranges.get(name):
        if settings := number.question():
            return question | settings
        sentence = _(
            "“%(name)s” has more steps than the %(n)s of a question for numbers: import such "
            "scores of answers as scores."
        )
        raise DomainError(sentence % {"name": name[:60], "n": f"{STEPS_LIMIT:,}"})
    return question | {"type": "text"}


def _wider_questions(config: Config, file: ImportedFile) -> dict[str, Config]:
    """More classes, ties or criteria, each in the first question that can have them."""
    first = {question["type"]: question for question in reversed(config["questions"])}
    choice, label, rating = (first.get(name) for name in ("choice", "label", "rating"))
    settings = {}
    for special, name in (("tie", "ties"), ("none", "none")):
        if choice and special in file.labels and not choice.get(special):
            settings[name] = _changed(config, choice, {special: True})
    if label and not choice:
        there = {each["name"] for each in label["classes"]}
        new = [name for name in file.labels if name not in there]
        added = [{"name": name} for name in new]
        if new:
            settings["classes"] = _changed(config, label, {"classes": label["classes"] + added})
    names = [question["name"] for question in config["questions"]]
    if rating and (new := [name for name in file.criteria if name not in names]):
        # Its words are about the criterion that the task has.
        scale = {key: value for key, value in rating.items() if key not in ("title", "help")}
        more = [scale | {"name": name} for name in new]
        settings["criteria"] = {"questions": [*config["questions"], *more]}
    if asked := [_asked_in(name, file) for name in file.values if name not in names]:
        settings["questions"] = {"questions": [*config["questions"], *asked]}
    return settings


def _changed(config: Config, question: dict, settings: dict) -> Config:
    """The questions with other ``settings`` of one of them."""
    asked = [each | settings if each is question else each for each in config["questions"]]
    return {"questions": asked}


def questions_imported(judgment: ImportedJudgment, questions: Sequence[Question]) -> Answers:
    if judgment.scores:
        return _imported_parts(judgment, questions)
    labelled = [question for question in questions if question.type in ("label", "choice")]
    if not labelled and questions[0].type == "number":
        return {questions[0].name: {judgment.answer("1"): judgment.label}}
    if not labelled:
        raise DomainError(_("the task asks for no class, and this line has one"))
    question = labelled[0]
    if question.type == "choice":
        return {question.name: judgment.choice(judgment.label)}
    if question.about == "option":
        return {question.name: {judgment.answer("1"): judgment.label}}
    return {question.name: judgment.label}


def _imported_parts(judgment: ImportedJudgment, questions: Sequence[Question]) -> Answers:
    """{question: answer} of {"PLACE/QUESTION": answer}; place 0 is the item, or its only answer."""
    by_name = {question.name: question for question in questions}
    answers: Answers = {}
    for part, score in judgment.scores.items():
        place, name = part.split("/", 1)
        question = by_name.get(name)
        if question is None:
            raise DomainError(_("the task has no question “%s”") % name[:60])
        value = int(score) if isinstance(score, float) and score.is_integer() else score
        if question.type == "label" and not isinstance(value, list):
            value = str(value)
        if question.MARKS:
            answers[name] = _placed(value, judgment.answer)
        elif question.about == "option" or question.level == "ranks":
            alone = place == "0" and len(judgment.answers) == 1
            if place == "0" and not alone:
                raise DomainError(_("“%s” is about each answer: name which one") % name[:60])
            answers.setdefault(name, {})[judgment.answer("1" if alone else place)] = value
        else:
            answers[name] = judgment.choice(str(value)) if question.type == "choice" else value
    return answers


def _with_own_ids(value: Any, question: Question, released: ReleasedAnswer) -> Any:
    """A released answer with this study's ids of the options; words are never taken for an id."""
    if question.type == "choice":
        chosen = value.get("choice") if isinstance(value, dict) else value
        own = released.ids.get(str(chosen), chosen)
        return value | {"choice": own} if isinstance(value, dict) else own
    if isinstance(value, dict) and (question.about == "option" or question.level == "ranks"):
        return {released.ids.get(name, name): each for name, each in value.items()}
    if question.MARKS:
        return _placed(value, lambda name: released.ids.get(name, name))
    return value


def _placed(passages: Any, own: Callable[[str], str]) -> Any:
    """Passages with ``own(name)`` of the options that they name."""
    if isinstance(passages, str):  # of a table
        passages = _json_of(passages)
    if not isinstance(passages, list) or not all(isinstance(each, dict) for each in passages):
        raise DomainError(_("give a list of passages"))
    return [each | {"option": own(str(each.get("option")))} for each in passages]
