from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.personas.forms import TEXT_LIMIT, IdField, UploadForm
from annotation.queries.models import Query
from annotation.queries.scenarios import SCENARIOS
from annotation.studies import bundle_rows
from annotation.studies.models import Study


class QueryForm(forms.Form):
    """A query; ``author.save`` decides whether a change is a new version."""

    external_id = IdField()
    persona = forms.ModelChoiceField(
        label=_("Who asks"), queryset=None, required=False, empty_label=_("nobody in particular")
    )
    text = forms.CharField(
        label=_("The question, as this person would put it"),
        max_length=TEXT_LIMIT,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    need = forms.CharField(
        label=_("The need behind it"),
        help_text=_("What a good answer must bring. Annotators see it; models never do."),
        max_length=TEXT_LIMIT,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    type = forms.ChoiceField(label=_("Type"), choices=Query.Type.choices)
    scenario = forms.CharField(
        label=_("Scenario"),
        max_length=100,
        required=False,
        help_text=_("For example: %(names)s") % {"names": ", ".join(SCENARIOS)},
    )

    asked_on = forms.DateField(
        label=_("Asked on"),
        required=False,
        help_text=_("The persona is shown as of that day."),
        widget=forms.DateInput({"type": "date"}),
    )

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, study: Study, query: Query | None = None
    ) -> None:
        names = ("persona", "text", "need", "type", "scenario", "asked_on")
        initial = {name: getattr(query, name) for name in names} if query else {}
        super().__init__(data, initial=initial)
        people = study.personas.order_by("external_id")
        cast(forms.ModelChoiceField, self.fields["persona"]).queryset = people
        if query:
            del self.fields["external_id"]

    def fields_for_save(self) -> dict:
        """The fields as ``author.save`` takes them."""
        data = self.cleaned_data
        texts = {name: data[name].replace("\r\n", "\n") for name in ("text", "need")}
        others = {name: data[name] for name in ("type", "scenario", "asked_on")}
        return {"persona_id": data["persona"] and data["persona"].pk, **texts, **others}


class ExamplesForm(UploadForm):
    """An examples.jsonl."""

    row_type = bundle_rows.Example
    prefix = "examples"  # the page has another upload


class QueriesUpload(UploadForm):
    """A queries.jsonl whose personas are the study's."""

    row_type = bundle_rows.Query
