"""The form of a batch's scope."""

from collections.abc import Callable

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.translation import gettext as _

from annotation.core.languages import endonym
from annotation.core.schema import form_of
from annotation.judging.batches.open import NO_CONTROL, Opening, tasks_of
from annotation.judging.kinds import kind_of
from annotation.studies.models import Study, TaskDefinition

ASKED = (
    *("queries", "personas", "strategies", "languages", "number", "mixed", "again", "control"),
    *("also", "order", "overlap"),
)
NAMED = 5


class BatchForm(form_of(Opening, *ASKED)):  # type: ignore[misc]
    """Left empty, nothing is left out."""

    def __init__(self, data: QueryDict | None, *, study: Study, task: TaskDefinition) -> None:
        super().__init__(data)
        self.study, self.task = study, task
        self._offer("strategies", study.candidates.values_list("strategy", flat=True))
        languages = study.queries.values_list("language", flat=True)
        self._offer("languages", languages, words=endonym)
        others = study.tasks.exclude(name=task.name).values_list("name", flat=True)
        self._offer("also", others, fewest=1)
        self.fields["order"].required = False
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
        self.fields[name] = forms.MultipleChoiceField(
            label=self.fields[name].label,
            choices=[(value, words(value)) for value in sorted(there)],
            required=False,
            widget=forms.CheckboxSelectMultiple,
        )
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
    def opening(self) -> Opening:
        """The batch that is asked for."""
        return Opening(task=self.task.name, **self.values)

    @property
    def narrowed(self) -> bool:
        """Whether anything was asked for: the fields are shown open then."""
        asked = {name: value for name, value in self.cleaned_data.items() if name != "order"}
        return any(asked.values()) if self.is_valid() else True
