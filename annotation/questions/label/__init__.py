"""One class or several of the task's own, about the item or each of its answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.questions import base


class LabelQuestion(base.Question):
    TITLE = gettext_lazy("classes of your own")

    type: Literal["label"] = "label"
    classes: base.Classes = base.setting(
        title=gettext_lazy("Classes"),
        description=gettext_lazy("One a line, in their order."),
        min_length=1,
        max_length=base.CLASSES_LIMIT,
    )
    ordinal: bool = base.setting(
        False, title=gettext_lazy("The classes are in order, from low to high")
    )
    several: bool = base.setting(False, title=gettext_lazy("Several classes may be chosen"))

    @property
    def level(self) -> base.Level:
        return "ordinal" if self.ordinal and not self.several else "nominal"

    def labels(self, options: int) -> list[str]:
        return [each.name for each in self.classes]

    def measures(self, options: int) -> list[base.Measure]:
        """Of several classes each: whether it was ticked."""
        if not self.several:
            return super().measures(options)
        return [
            base.Measure(
                f"{self.name}: {each.name}", "nominal", ("no", "yes"), self.name, each.name
            )
            for each in self.classes
        ]

    def rows(self, value: Any, options: base.Options) -> list[base.Row]:
        names = self.labels(0)
        if isinstance(value, bool):  # of JSON
            value = "yes" if value else "no"
        chosen = value if self.several and isinstance(value, list) else [value]
        for name in chosen:
            if name not in names:
                raise self.refused(_("“%s” is none of its classes") % str(name)[:60])
        if self.several:
            ticked = tuple(name for name in names if name in chosen)
            return [base.Row(self.name, chips=ticked)]
        return [base.Row(self.name, label=chosen[0])]

    def sent_bare(self, data: Mapping[str, Any]) -> Any:
        return self.value_of(data, self.name)

    def value_of(self, data: Mapping[str, Any], field: str) -> Any:
        return base.many(data, field) if self.several else data.get(field)

    def fields_of(self, row: base.Row, field: str, options: base.Options) -> dict[str, list[str]]:
        return {field: list(row.chips) if self.several else [row.label]}

    def value(self, row: base.Row, ids: Mapping[int, str]) -> Any:
        return list(row.chips) if self.several else row.label

    def released(self, row: base.Row, ids: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        """Of several classes, one row each."""
        yield from ({**base.EMPTY_ROW, "label": name} for name in row.chips or (row.label,))

    def value_of_rows(self, rows: Sequence[Mapping[str, Any]], ids: Mapping[str, str]) -> Any:
        return [row["label"] for row in rows] if self.several else super().value_of_rows(rows, ids)

    def label_words(self, label: str) -> str:
        titles = dict(base.class_words(self.classes))
        names = label.split(", ") if self.several and label not in titles else [label]
        return ", ".join(titles.get(name, name) for name in names)

    def context(self, data: Mapping[str, Any], field: str, options: Sequence[str]) -> dict:
        chosen = base.many(data, field)
        return {"classes": [(name, words, name in chosen) for name, words in self.choices(0)]}
