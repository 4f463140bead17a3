"""Words of one's own, about the item or each of its answers."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from django.utils.translation import gettext_lazy
from pydantic import model_validator

from annotation.questions import base


class TextQuestion(base.Question):
    TITLE = gettext_lazy("words of their own")
    LEVEL = "none"

    type: Literal["text"] = "text"
    shortest: int = base.setting(1, title=gettext_lazy("Characters, at least"), ge=1, le=1000)
    longest: int = base.setting(
        base.TEXT_LIMIT, title=gettext_lazy("Characters, at most"), ge=1, le=base.TEXT_LIMIT
    )

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        if self.shortest > self.longest:
            raise ValueError("the shortest text is longer than the longest")
        return self

    def is_empty(self, value: Any) -> bool:
        return value is None or (isinstance(value, str) and not value.strip())

    def rows(self, value: Any, options: base.Options) -> list[base.Row]:
        text = base.checked_text(self, value, self.shortest, self.longest)
        return [base.Row(self.name, text=text)]

    def value(self, row: base.Row, ids: Mapping[int, str]) -> Any:
        return row.text

    def value_of_row(self, row: Mapping[str, Any], ids: Mapping[str, str]) -> Any:
        return row["text"]
