"""What stands beside the answers of a judgment, in a form as in a body of the API.

Rules ask the task's settings and the item's options through the validation's context.
"""

import re
from typing import Annotated, Any, Literal, Self

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SkipValidation,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import from_json

from annotation.core.errors import DomainError
from annotation.judging.kinds import settings
from annotation.judging.kinds.kind import Data, Held

REASON_LIMIT = 5_000
MARKS_LIMIT = 50
WEEK = 7 * 24 * 3600
# PostgreSQL's text and JSON hold neither.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def asked(sentence: Any) -> WrapValidator:
    """Whatever is wrong with the field, ``sentence`` says what to do, with words of the context."""

    def check(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        try:
            return handler(value)
        except ValueError:
            words = str(sentence) % context_of(info)
            raise DomainError(words, code=info.field_name or "") from None

    return WrapValidator(check)


def context_of(info: ValidationInfo) -> dict[str, Any]:
    """``config`` of the task and ``options`` of the item, with the words of sentences."""
    return info.context or {}


def _written(value: Any, info: ValidationInfo) -> str:
    """The reason as text, as the task's setting asks for one."""
    rule = context_of(info)["config"]["reason"]
    if value is not None and not isinstance(value, str):
        raise DomainError(_("The reason must be text."), code="reason")
    text = (value or "").strip()
    if UNSTORABLE.search(text):
        raise DomainError(_("The reason holds a character that cannot be stored."), code="reason")
    if rule == "required" and not text:
        raise DomainError(_("Say in a few words why you chose this answer."), code="reason")
    if len(text) > REASON_LIMIT:
        raise DomainError(
            _("The reason may have %(n)d characters.") % {"n": REASON_LIMIT}, code="reason"
        )
    return "" if rule == "off" else text


def names(field: str, setting: str = "") -> BeforeValidator:
    """A list of names that the task's ``setting`` lists, without a setting the tags; each once."""

    def check(values: Any, info: ValidationInfo) -> list[str]:
        allowed = context_of(info)["config"][setting] if setting else settings.TAGS
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise DomainError(f"{field} must be a list of names.".capitalize(), code=field)
        for value in sorted(set(values) - set(allowed)):
            names = ", ".join(sorted(allowed))
            raise DomainError(
                f"There is no “{value[:40]}” among the {field}. Known: {names}.", code=field
            )
        return sorted(set(values))

    return BeforeValidator(check)


class Body(BaseModel):
    """Fields of an answer; what else was sent is left alone."""

    model_config = ConfigDict(strict=True)

    @classmethod
    def read(cls, data: Data, held: Held) -> Self:
        """The fields of ``data``, a form or an API body, to the slot ``held`` (work.submit.Held).

        Raises DomainError with a sentence for the annotator.
        """
        values = {}
        for name, field in cls.model_fields.items():
            value = data.get(name)
            if isinstance(data, QueryDict) and field.annotation == list[str]:
                value = data.getlist(name)
            # Where nothing is needed, null is nothing.
            if value is not None or field.is_required():
                values[name] = value
        context = {"config": held.config, "options": held.options}
        return cls.model_validate(values, context=context)


def _storable(text: str) -> str:
    if UNSTORABLE.search(text):
        raise ValueError
    return text


class Mark(Body):
    option: str = Field(description="An option's id.")
    start: int = Field(ge=0, description="In characters of the option's text.")
    end: int = Field(le=1_000_000)
    text: Annotated[str, Field(max_length=2_000), AfterValidator(_storable)]
    sign: Literal["+", "-"]
    comment: Annotated[str, Field(max_length=1_000), AfterValidator(_storable)] = ""


def _from_json(nothing: type[list] | type[dict]) -> BeforeValidator:
    """What a form sends as JSON text; an empty text is ``nothing()``."""

    def parse(value: Any) -> Any:
        if value == "":
            return nothing()
        return from_json(value) if isinstance(value, str) else value

    return BeforeValidator(parse)


def _placed(marks: list[Mark], info: ValidationInfo) -> list[Mark]:
    """The marks, if the task asks for them and each is a passage of one of the item's answers."""
    ids = {option.candidate for option in context_of(info)["options"]}
    fit = all(mark.option in ids and mark.start < mark.end for mark in marks)
    if not fit or (marks and not context_of(info)["config"]["marks"]):
        raise ValueError
    return marks


# A tab may stay open for long: nobody is kept from judging by that.
Seconds = Annotated[
    float, Field(ge=0, allow_inf_nan=False), AfterValidator(lambda n: round(min(n, WEEK), 1))
]


class Circumstances(BaseModel):
    """How it was judged, as the page reports it."""

    model_config = ConfigDict(strict=True, extra="forbid")

    idle: Annotated[Seconds, Field(description="Seconds in which nothing was touched.")] = 0
    panes: Annotated[
        list[Seconds], Field(max_length=100, description="Seconds of each answer in view.")
    ] = []
    diff: Annotated[bool, Field(description="Whether differences were shown.")] = False
    raw: Annotated[bool, Field(description="Whether texts were shown as written.")] = False
    traits: Annotated[bool, Field(description="Whether the person's traits were shown.")] = False
    card: Annotated[bool, Field(description="Whether the person's card was in view.")] = False
    ends: Annotated[bool, Field(description="Whether each answer's end was in view.")] = False
    reminded: Annotated[bool, Field(description="Whether reading was asked for once more.")] = False
    device: Literal["phone", "desktop", ""] = ""


def _places(places: list[str], info: ValidationInfo) -> list[str]:
    """The places, each of one of the item's answers."""
    if set(places) - {str(place) for place, _ in enumerate(context_of(info)["options"], start=1)}:
        raise ValueError
    return places


class JudgmentBody(Body):
    """A judgment: its answers, and what may stand beside them.

    Instead of under ``answers`` questions may stand by their names; ``choice`` is the only choice.
    """

    # Each question reads its own answer.
    answers: SkipValidation[dict[str, Any]] = Field(
        {},
        description="{question: its answer}; of questions about each option or claim {question: "
        "{its id: answer}}. A choice is an option's id, `tie` or `none` (where the task asks how "
        "much better, {`choice`, `strength`}); a scale counts from the option shown first; a "
        "ranking is {option's id: place}; a label a class or a list of them; a rating a number or "
        "{`score`, `text`, `chips`}; a text a string; passages are a list of {`option`, `start`, "
        "`end`, `class`, `text`}.",
    )
    choice: SkipValidation[str] = Field("", description="An option's id, `tie` or `none`.")
    reason: Annotated[str, BeforeValidator(_written)] = Field("", validate_default=True)
    flags: Annotated[list[str], names("flags")] = []
    chips: Annotated[list[str], names("chips", "chips")] = []
    marks: Annotated[
        list[Mark],
        Field(max_length=MARKS_LIMIT),
        AfterValidator(_placed),
        _from_json(list),
        asked(gettext_lazy("The marked passages cannot be read.")),
    ] = []
    flagged: Annotated[
        list[str],
        AfterValidator(_places),
        Field(description="Of the answers that the flags are about, the places as shown, from 1."),
        asked(gettext_lazy("Name the answers that the flags are about by their places.")),
    ] = []
    circumstances: Annotated[
        Circumstances,
        _from_json(dict),
        asked(gettext_lazy("What is reported of how it was judged cannot be read.")),
    ] = Circumstances()
    # Read by the submit: it is no part of what is judged.
    seconds: SkipValidation[float | None] = Field(None, description="Active time.")


def common_columns(data: Data, held: Held) -> dict[str, Any]:
    """What every judgment stores of a form or an API body."""
    body = JudgmentBody.read(data, held)
    numbers = {option.candidate: option.number for option in held.options}
    marks = [
        mark.model_dump() | {"option": numbers[mark.option], "comment": mark.comment.strip()}
        for mark in body.marks
    ]
    circumstances = body.circumstances.model_dump(exclude_unset=True)
    if body.flagged:
        circumstances["flagged"] = sorted({held.shown[int(place) - 1] for place in body.flagged})
    columns = {"reason": body.reason, "flags": body.flags, "chips": body.chips, "marks": marks}
    return columns | {"circumstances": circumstances}
