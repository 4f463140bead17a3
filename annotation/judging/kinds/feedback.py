"""Scores from 1 to 5 on a task's criteria, each with diagnostic feedback, for every answer."""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.core.errors import DomainError
from annotation.judging.kinds import words
from annotation.judging.models import Feedback, Score

MODEL = Feedback
TEMPLATE = "judging/kinds/feedback.html"
NAME = gettext_lazy("score answers on criteria, with feedback")
ASKS = ("query", "options")
QUESTION = gettext_lazy("How well does this answer serve you?")
CRITERIA_LIMIT, OPTIONS_LIMIT = 12, 5
# BESPOKE's four criteria; the names are the paper's, the explanations ours. Stored as they are,
# shown in the reader's language.
CRITERIA = {
    gettext_noop("Need Alignment"): gettext_lazy("Does it answer the need behind the query?"),
    gettext_noop("Content Depth"): gettext_lazy(
        "Is the amount and the level of detail right for you?"
    ),
    gettext_noop("Tone"): gettext_lazy("Does its voice fit you?"),
    gettext_noop("Explanation Style"): gettext_lazy("Is it organised in the way you prefer?"),
}
DEFAULTS = {
    "criteria": list(CRITERIA),
    "options": 1,
    "feedback": "required",
    "least": 1,
    "feedback_chips": [],
}


@dataclass(frozen=True)
class One:
    """The score of one criterion of one answer."""

    option: int
    number: int
    criterion: str
    score: int
    text: str = ""
    chips: tuple = ()


@dataclass(frozen=True)
class Answer:
    """A score for every option and criterion."""

    scores: tuple[One, ...]
    counter = ""

    @property
    def label(self) -> dict:
        return {f"{one.number}/{one.criterion}": one.score for one in self.scores}


def check_config(config: dict) -> dict:
    """Return ``config`` with its defaults; DomainError names what is wrong with it.

    ``criteria`` names, ``options`` how many answers stand side by side (1 to 5; 1 is one at a
    time), ``least`` how many characters the feedback of a criterion has at least, ``feedback``
    whether it is required, optional or off, ``feedback_chips`` common reasons to tick.
    """
    full = words.check("feedback", config, DEFAULTS)
    words.check_texts("criteria", full["criteria"], CRITERIA_LIMIT, words.CHIP_LIMIT)
    words.check_texts("feedback_chips", full["feedback_chips"], words.CHIPS_LIMIT, words.CHIP_LIMIT)
    if not full["criteria"]:
        raise DomainError("criteria must name at least one criterion.", code="config")
    if full["feedback"] not in ("off", "optional", "required"):
        raise DomainError("feedback must be off, optional or required.", code="config")
    if type(full["options"]) is not int or not 1 <= full["options"] <= OPTIONS_LIMIT:
        raise DomainError(f"options must be a number from 1 to {OPTIONS_LIMIT}.", code="config")
    if type(full["least"]) is not int or not 1 <= full["least"] <= 1000:
        raise DomainError("least must be a number from 1 to 1000.", code="config")
    return full


def read(data, held) -> Answer:
    """Read the scores of a form, or ``answers`` of an API body.

    A form's fields are ``score-O-C``, ``text-O-C`` and ``chips-O-C`` with O the place of the answer
    as shown and C that of the criterion, both from 1. An API body has ``answers``: {candidate id:
    {criterion: {"score", "feedback", "chips"}}}. Raises DomainError naming what is missing.
    """
    by_number = {option.number: option for option in held.options}
    scores = []
    for place, number in enumerate(held.shown, start=1):
        option = by_number[number]
        for n, criterion in enumerate(held.config["criteria"], start=1):
            said = _said(data, option, criterion, f"{place}-{n}")
            scores.append(_one(said, option, criterion, place, held))
    return Answer(tuple(scores))


def store(answer: Answer, **common) -> Feedback:
    """Add the judgment and its scores; part of the caller's transaction."""
    feedback = MODEL.objects.create(**common)
    Score.objects.bulk_create(
        Score(
            feedback=feedback,
            option_id=one.option,
            criterion=one.criterion,
            score=one.score,
            text=one.text,
            chips=list(one.chips),
        )
        for one in answer.scores
    )
    return feedback


def answer_of(judgment: Feedback) -> Answer:
    """The answer that a stored judgment holds."""
    rows = judgment.scores.select_related("option").order_by("pk")
    return Answer(
        tuple(
            One(row.option_id, row.option.number, row.criterion, row.score, row.text, row.chips)
            for row in rows
        )
    )


def typed(answer: Answer, shown) -> dict:
    """The form's fields that would give this answer again."""
    place = {number: n for n, number in enumerate(shown.order, start=1)}
    criterion = {name: n for n, name in enumerate(shown.config["criteria"], start=1)}
    fields = {}
    for one in answer.scores:
        name = f"{place[one.number]}-{criterion[one.criterion]}"
        fields[f"score-{name}"] = [str(one.score)]
        fields[f"text-{name}"] = [one.text]
        fields[f"chips-{name}"] = list(one.chips)
    return fields


def context(shown, typed) -> dict:
    """For each answer as shown, its criteria with what has been typed."""
    forms = []
    for place, (id, text) in enumerate(shown.answers, start=1):
        rows = [
            _field(shown, typed, f"{place}-{n}", name)
            for n, name in enumerate(shown.config["criteria"], start=1)
        ]
        forms.append({"place": place, "id": id, "text": text, "criteria": rows})
    return {"forms": forms, "scale": range(1, 6)}


def _field(shown, typed, name: str, criterion: str) -> dict:
    ticked = typed.getlist(f"chips-{name}") if hasattr(typed, "getlist") else []
    return {
        "field": name,
        "name": _(criterion),
        "about": CRITERIA.get(criterion, ""),
        "score": typed.get(f"score-{name}", ""),
        "text": typed.get(f"text-{name}", ""),
        "chips": [(chip, chip in ticked) for chip in shown.config["feedback_chips"]],
    }


def _said(data, option, criterion: str, name: str) -> dict:
    """What was said of one criterion, in the words of an API body."""
    if "answers" not in data:
        return {
            "score": data.get(f"score-{name}"),
            "feedback": data.get(f"text-{name}"),
            "chips": words.several(data, f"chips-{name}"),
        }
    said = data["answers"]
    for key in (option.candidate, criterion):
        said = said.get(key) if isinstance(said, dict) else None
    return said if isinstance(said, dict) else {}


def _one(said: dict, option, criterion: str, place: int, held) -> One:
    config = held.config
    named = {"n": place, "criterion": _(criterion)}
    sentence = _("Score “%(criterion)s” of answer %(n)d.") % named
    score = words.whole_of(said.get("score"), 1, 5, sentence, "score")
    try:
        text = words.text_of(said, "feedback", config["feedback"], config["least"])
    except DomainError as error:
        if not said.get("feedback"):
            sentence = _("Write feedback on “%(criterion)s” of answer %(n)d.") % named
            raise DomainError(sentence, code="feedback") from error
        raise
    chips = words.subset(said.get("chips") or [], config["feedback_chips"], "chips")
    return One(option.pk, option.number, criterion, score, text, tuple(chips))
