from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotation.core.schema import form_of
from annotation.overview.items import Filter
from annotation.studies.models import Study


class FilterForm(form_of(Filter)):  # type: ignore[misc]
    """Which items are listed."""

    def __init__(self, data: QueryDict, *, study: Study) -> None:
        super().__init__(data)
        names = study.tasks.order_by("name").values_list("name", flat=True).distinct()
        self.fields["task"].widget = forms.Select(choices=[("", "–"), *((n, n) for n in names)])
        for field in self.fields.values():
            field.required = False

    @property
    def first(self) -> list[forms.BoundField]:
        """What is asked for most, beside the search."""
        return [self[name] for name in ("task", "votes", "agreement", "sort")]

    @property
    def others(self) -> list[forms.BoundField]:
        shown = {"q", "task", "votes", "agreement", "sort"}
        return [self[name] for name in self.fields if name not in shown]


class ActForm(forms.Form):
    """What is done to chosen items."""

    act = forms.ChoiceField(
        label=_("With the chosen items"),
        choices=[
            ("close", _("hold back")),
            ("open", _("open again")),
            ("more", _("ask for more judgments")),
            ("assign", _("assign to annotators")),
        ],
    )
    number = forms.IntegerField(
        label=_("Judgments more"), min_value=1, max_value=100, required=False
    )
    people = forms.CharField(
        label=_("Annotators (names or e-mails, with commas)"), max_length=5_000, required=False
    )

    @property
    def options(self) -> dict[str, Any]:
        """What the act takes beside the items."""
        name = {"more": "number", "assign": "people"}.get(self.cleaned_data["act"])
        return {name: self.cleaned_data[name]} if name else {}
