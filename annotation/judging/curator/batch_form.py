"""The form of a batch's scope."""

import re
from collections.abc import Callable
from typing import Any, cast

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.languages import endonym
from annotation.judging.batches.open import NO_CONTROL, ORDERS, tasks_of
from annotation.judging.kinds import kind_of
from annotation.judging.kinds.planning import Scope
from annotation.studies.bundle_rows import OVERLAP_LIMIT
from annotation.studies.models import Study, TaskDefinition

IDS_LIMIT = 20_000
NAMED = 5


class Ids(forms.CharField):
    """Ids, separated by spaces, commas or lines."""

    widget = forms.Textarea(attrs={"rows": 2})

    def to_python(self, value: object) -> list[str]:  # type: ignore[override]
        words = re.split(r"[\s,;]+", super().to_python(value) or "")
        return list(dict.fromkeys(word for word in words if word))

    def prepare_value(self, value: object) -> object:
        return " ".join(value) if isinstance(value, list) else value


class BatchForm(forms.Form):
    """Left empty, nothing is left out."""

    queries = Ids(
        label=gettext_lazy("Only these queries (ids)"), required=False, max_length=IDS_LIMIT
    )
    personas = Ids(
        label=gettext_lazy("Only these personas (ids)"), required=False, max_length=IDS_LIMIT
    )
    strategies = forms.MultipleChoiceField(
        label=gettext_lazy("Only answers of these strategies"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    languages = forms.MultipleChoiceField(
        label=gettext_lazy("Only queries in these languages"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    number = forms.IntegerField(
        label=gettext_lazy("At most so many items"), min_value=1, max_value=10**7, required=False
    )
    mixed = forms.BooleanField(
        label=gettext_lazy("In a random order, instead of query by query"), required=False
    )
    again = forms.BooleanField(
        label=gettext_lazy("Also queries that have items: further pairs and new answers"),
        required=False,
    )
    control = forms.BooleanField(
        label=gettext_lazy("One answer of each item is a generic one: a hidden control"),
        required=False,
    )
    also = forms.MultipleChoiceField(
        label=gettext_lazy("Also items of these tasks"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    order = forms.ChoiceField(
        label=gettext_lazy("Order between the tasks"), choices=ORDERS.items(), required=False
    )
    overlap = forms.IntegerField(
        label=gettext_lazy("Judgments an item"),
        min_value=0,
        max_value=OVERLAP_LIMIT,
        required=False,
        help_text=gettext_lazy("0: models judge first, then you draw the items that people get."),
    )

    def __init__(self, data: QueryDict | None, *, study: Study, task: TaskDefinition) -> None:
        super().__init__(data)
        self.study = study
        self._offer("strategies", study.candidates.values_list("strategy", flat=True))
        languages = study.queries.values_list("language", flat=True)
        self._offer("languages", languages, words=endonym)
        others = study.tasks.exclude(name=task.name).values_list("name", flat=True)
        self._offer("also", others, fewest=1)
        if "also" not in self.fields:
            del self.fields["order"]
        if not kind_of(task.kind).takes_control(task.config):
            del self.fields["control"]
        self.fields["overlap"].widget.attrs["placeholder"] = task.overlap
        if task.config.get("owner_only"):
            del self.fields["overlap"]

    def _offer(
        self, name: str, values: QuerySet, fewest: int = 2, words: Callable[[str], str] = str
    ) -> None:
        """Offer the values that there are, in ``words``; nothing is asked without a choice."""
        there = [value for value in values.order_by().distinct() if value]
        field = cast(forms.MultipleChoiceField, self.fields[name])
        field.choices = [(value, words(value)) for value in sorted(there)]
        if len(there) < fewest:
            del self.fields[name]

    def clean_queries(self) -> list[str]:
        return self._existing("queries", self.study.queries.filter(replaced_at=None))

    def clean_personas(self) -> list[str]:
        return self._existing("personas", self.study.personas.filter(dropped_at=None))

    def clean(self) -> dict:
        data = super().clean() or {}
        if data.get("control"):
            for task in tasks_of(self.study, data.get("also", ())):
                if not kind_of(task.kind).takes_control(task.config):
                    self.add_error("also", NO_CONTROL)
        return data

    def _existing(self, name: str, rows: QuerySet) -> list[str]:
        ids = self.cleaned_data[name]
        there = set(rows.filter(external_id__in=ids).values_list("external_id", flat=True))
        if missing := [value for value in ids if value not in there]:
            words = _("The study has no %(ids)s.") % {"ids": ", ".join(missing[:NAMED])}
            raise forms.ValidationError(words)
        return ids

    @property
    def scope(self) -> Scope:
        data = self.cleaned_data
        lists = ("queries", "personas", "strategies", "languages")
        plain: dict[str, Any] = {name: data[name] for name in ("number", "mixed", "again")}
        plain["control"] = data.get("control", False)
        return Scope(**plain | {name: tuple(data.get(name) or ()) for name in lists})

    @property
    def together(self) -> dict[str, Any]:
        """Names of further tasks, and the order between the tasks."""
        data = self.cleaned_data
        return {"also": data.get("also") or [], "order": data.get("order") or "task"}

    @property
    def narrowed(self) -> bool:
        """Whether anything was asked for: the fields are shown open then."""
        asked = {name: value for name, value in self.cleaned_data.items() if name != "order"}
        return any(asked.values()) if self.is_valid() else True
