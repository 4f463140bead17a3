from collections.abc import Iterable
from typing import Annotated

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import AfterValidator, Field, TypeAdapter, ValidationInfo

from annotation.core.errors import DomainError
from annotation.judging.kinds import body
from annotation.judging.kinds.form import TaskForm

OPTIONS = (3, 8)


class RankingForm(TaskForm):
    options = forms.IntegerField(
        label=gettext_lazy("Answers to order"),
        min_value=OPTIONS[0],
        max_value=OPTIONS[1],
        initial=4,
    )
    ties = forms.BooleanField(label=gettext_lazy("Allow equal places"), required=False)


PLACES: TypeAdapter[list[str | list[str]]] = TypeAdapter(list[str | list[str]])


def complete(ranking: list[str | list[str]], ids: Iterable[str]) -> list[list[str]]:
    """The ids at each place of ``ranking``; ValueError unless each of ``ids`` is there once."""
    groups = [place if isinstance(place, list) else [place] for place in ranking]
    if sorted(id for group in groups for id in group) != sorted(ids):
        raise ValueError
    return groups


def allowed(groups: list[list[str]], config: dict) -> bool:
    """Whether the task with ``config`` takes these places."""
    return config["ties"] or all(len(group) < 2 for group in groups)


def _complete(ranking: list[str | list[str]], info: ValidationInfo) -> list[list[str]]:
    return complete(ranking, (option.candidate for option in body.context_of(info)["options"]))


def _allowed(groups: list[list[str]], info: ValidationInfo) -> list[list[str]]:
    if not allowed(groups, body.context_of(info)["config"]):
        raise DomainError(_("Give every answer a place of its own."), code="ranking")
    return groups


class RankingBody(body.Body):
    ranking: Annotated[
        list[str | list[str]],
        AfterValidator(_complete),
        body.asked(gettext_lazy("List every answer once, the best first.")),
        AfterValidator(_allowed),
    ] = Field(description="Options' ids, the best first; a list of ids stands for equal places.")
