"""The settings of every task, one schema: forms, bounds and sentences come from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from annotated_types import Ge, Le, MaxLen
from django.utils.translation import gettext_lazy
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from annotation.core.errors import DomainError
from annotation.questions.base import Asking, setting

CHIPS_LIMIT, CHIP_LIMIT = 20, 60
TAGS = {
    "uncomfortable": gettext_lazy("Uncomfortable to read"),
    "over-personalised": gettext_lazy("Over-personalised"),
    "wrong-fact": gettext_lazy("Wrong fact about the person"),
    "ignores-need": gettext_lazy("Ignores the need"),
    "unsafe": gettext_lazy("Unsafe"),
    "broken-text": gettext_lazy("Broken text"),
}


@dataclass(frozen=True)
class Different:
    """Up to ``most`` different texts of up to ``limit`` characters, ``least`` of them at least."""

    most: int
    limit: int
    least: int = 0

    def __call__(self, texts: list[str]) -> list[str]:
        fit = (text.strip() and len(text) <= self.limit and text.isprintable() for text in texts)
        if not all(fit) or not self.least <= len(texts) <= self.most:
            raise ValueError
        if len(set(texts)) < len(texts):
            raise ValueError
        return texts

    def __str__(self) -> str:
        least = f"{self.least}" if self.least else "up"
        return f"a list of {least} to {self.most} different texts of up to {self.limit} characters"


# What a form begins with: nothing, a model's verdict, or the newest answer of somebody else.
Proposal = Literal["off", "model", "earlier"]
Chips = Annotated[list[str], AfterValidator(Different(CHIPS_LIMIT, CHIP_LIMIT))]


class Settings(BaseModel):
    """What every task has; those with a title have a field in the form."""

    model_config = ConfigDict(strict=True, extra="forbid")

    question: str = setting(
        "",
        title=gettext_lazy("The question under the answers"),
        description=gettext_lazy("Left empty, the one that belongs to this kind of task."),
        max_length=300,
    )
    reason: Asking = setting("off", title=gettext_lazy("Written reason"))
    chips: Chips = setting(
        [], title=gettext_lazy("Common reasons to tick"), description=gettext_lazy("One a line.")
    )
    tags: bool = setting(True, title=gettext_lazy("Offer tags for what is wrong"))
    marks: bool = setting(False, title=gettext_lazy("Let people mark passages"))
    proposal: Proposal = setting(
        "off",
        title=gettext_lazy("Pre-filled answers"),
        description=gettext_lazy("People look at a proposal and change it: it draws them along."),
    )
    owner_only: bool = setting(
        False,
        title=gettext_lazy("Only the owner of a query judges"),
        description=gettext_lazy("One judgment an item, by the person whose query it is."),
    )
    hidden: Annotated[list[str], AfterValidator(Different(50, 200))] = setting(
        [],
        title=gettext_lazy("Fields of the persona that are not shown"),
        description=gettext_lazy("One a line, such as Demographics.Age or Preference."),
    )


def check_settings(code: str, schema: type[Settings], config: Mapping[str, Any]) -> dict[str, Any]:
    """``config`` with its defaults; DomainError names what is wrong with it."""
    try:
        return schema.model_validate(config).model_dump()
    except ValidationError as error:
        raise DomainError(_sentence(code, schema, error), code="config") from None


def _sentence(code: str, schema: type[Settings], error: ValidationError) -> str:
    """What is wrong with the first wrong setting."""
    first = error.errors()[0]
    if not first["loc"]:  # of several settings together
        return str(first["ctx"]["error"])
    name = str(first["loc"][0])[:60]
    if first["type"] == "extra_forbidden":
        return f"A {code} task has no setting “{name}”."
    return f"{name} must be {_wanted(schema.model_fields[name])}."


def _wanted(field: FieldInfo) -> str:
    if field.annotation is bool:
        return "true or false"
    for rule in field.metadata:
        if isinstance(rule, AfterValidator):
            return str(rule.func)
    # Literal[2, 3] and Literal[3, 2] are one cached object: its order is that of the first import.
    if choices := sorted(str(choice) for choice in get_args(field.annotation)):
        return f"{', '.join(choices[:-1])} or {choices[-1]}"
    bounds = {type(rule): rule for rule in field.metadata}
    if field.annotation is int:
        return f"a number from {bounds[Ge].ge} to {bounds[Le].le}"  # type: ignore[attr-defined]
    return f"a text of up to {bounds[MaxLen].max_length} characters"  # type: ignore[attr-defined]
