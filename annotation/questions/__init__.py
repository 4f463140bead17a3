"""The types of questions, one folder each; ``base.Question`` is what they share."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, get_args

from django.utils.translation import gettext as _
from pydantic import Field, TypeAdapter, ValidationError

from annotation.core.errors import DomainError
from annotation.questions.base import Question
from annotation.questions.choice import ChoiceQuestion
from annotation.questions.label import LabelQuestion
from annotation.questions.number import NumberQuestion
from annotation.questions.passages import PassagesQuestion
from annotation.questions.ranking import RankingQuestion
from annotation.questions.rating import RatingQuestion
from annotation.questions.scale import ScaleQuestion
from annotation.questions.text import TextQuestion

_ANY = (
    LabelQuestion
    | RatingQuestion
    | NumberQuestion
    | ChoiceQuestion
    | ScaleQuestion
    | RankingQuestion
    | TextQuestion
    | PassagesQuestion
)
TYPES: dict[str, type[Question]] = {
    each.model_fields["type"].default: each for each in get_args(_ANY)
}
# Those whose answer is about an item's options together, by the fewest that they need.
COMPARING = {name: each.COMPARES for name, each in TYPES.items() if each.COMPARES}
QUESTIONS_LIMIT = 30
_QUESTIONS: TypeAdapter[list] = TypeAdapter(
    Annotated[
        list[Annotated[_ANY, Field(discriminator="type")]],
        Field(min_length=1, max_length=QUESTIONS_LIMIT),
    ]
)


def questions_of(settings: Any, options: int) -> list[Question]:
    """The questions of a task whose items show so many ``options``; DomainError says what is wrong.

    ``settings`` is a list of each one's settings, with its ``type``.
    """
    try:
        questions = _QUESTIONS.validate_python(settings)
    except ValidationError as error:
        raise _invalid(error, settings) from None
    names = Counter(question.name for question in questions)
    if twice := [name for name, n in names.items() if n > 1]:
        raise _refused(twice[0], _("two questions have this name"))
    for place, question in enumerate(questions):
        _check_options(question, options)
        _check_condition(question, questions[:place])
    return questions


def stored(questions: Sequence[Question]) -> list[dict]:
    """The settings of ``questions`` as a task keeps them."""
    return [question.model_dump(mode="json", exclude_defaults=True) | {"type": question.type}
            for question in questions]  # fmt: skip


def _check_options(question: Question, options: int) -> None:
    least = question.COMPARES or int(question.about == "option")
    if options < least:
        words = _("it needs items with %(n)d answers or more") % {"n": least}
        raise _refused(question.name, words)
    if question.type == "scale" and options != 2:
        raise _refused(question.name, _("it compares two answers, no more"))


def _check_condition(question: Question, earlier: Sequence[Question]) -> None:
    condition = question.asked_when
    if condition is None:
        return
    asked = next((other for other in earlier if other.name == condition.question), None)
    if asked is None or not isinstance(asked, LabelQuestion) or asked.several:
        words = _("it depends on “%s”, which is no earlier question with one class")
        raise _refused(question.name, words % condition.question)
    if unknown := set(condition.labels) - set(asked.labels(0)):
        words = _("“%(label)s” is no class of “%(question)s”")
        named = {"label": min(unknown), "question": asked.name}
        raise _refused(question.name, words % named)
    if asked.about != "item" and question.about == "item":
        words = _("it is about the item, and “%s” about each answer")
        raise _refused(question.name, words % asked.name)


def _refused(name: str, why: str) -> DomainError:
    sentence = _("Question “%(name)s”: %(why)s.") % {"name": name, "why": why}
    return DomainError(sentence, code="config")


def _invalid(error: ValidationError, settings: Any) -> DomainError:
    """The first thing that is wrong, with the question and the setting that it is about."""
    first = error.errors()[0]
    place = first["loc"][0] if first["loc"] else None
    if not isinstance(place, int):
        words = _("questions must be a list of 1 to %(n)d questions.") % {"n": QUESTIONS_LIMIT}
        return DomainError(words, code="config")
    row = settings[place]
    named = isinstance(row, Mapping) and row.get("name")
    name = str(named or place + 1)[:60]
    about = ".".join(str(part) for part in first["loc"][2:])
    words = first["msg"].removeprefix("Value error, ")
    return _refused(name, f"{about}: {words}" if about else words)
