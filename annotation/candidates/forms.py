"""Forms of generation: what a step needs, budgets, rules, prompts, reviews, sources."""

from typing import Any, cast

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.candidates import attributes, endpoints, generate, retrieve
from annotation.candidates.steps import STEPS
from annotation.candidates.steps.base import Options, texts_of
from annotation.candidates.strategies import Strategy, by_name
from annotation.core import foreign
from annotation.core.errors import DomainError
from annotation.core.schema import form_of
from annotation.studies.models import Study

TEXTS_LIMIT = 5_000_000


class StepForm(form_of(Options)):  # type: ignore[misc]
    """What one step is asked for. ``cleaned_data["options"]`` is what ``proposals`` takes."""

    endpoint = forms.ChoiceField(label=gettext_lazy("Endpoint"), choices=endpoints.choices)
    file = forms.FileField(label=gettext_lazy("or a file of them"), required=False)
    newest = forms.IntegerField(min_value=0, required=False, widget=forms.HiddenInput)
    field_order = ("endpoint", "texts", "file")

    def __init__(self, *args: Any, step: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        shown = {"endpoint", "newest", *STEPS[step].options}
        shown |= {"file"} if "texts" in shown else set()
        for name in self.fields.keys() - shown:
            del self.fields[name]

    def clean_file(self) -> list[str]:
        file = self.cleaned_data["file"]
        if not file:
            return []
        if file.size > TEXTS_LIMIT:
            raise forms.ValidationError(_("The file is too large: 5 MB at most."))
        try:
            (lines,) = foreign.read("annotation.core.records:texts", file)
            return lines
        except foreign.ForeignFileError as refusal:
            raise forms.ValidationError(refusal.sentence) from refusal

    def clean(self) -> dict:
        data = super().clean()
        options = self.values
        if "texts" in data:
            data["texts"] += data.get("file", [])
            try:
                options["texts"] = texts_of(data["texts"])
            except DomainError as refusal:
                raise forms.ValidationError(refusal.sentence) from refusal
        return {**data, "options": options}


class PromptForm(forms.Form):
    system = forms.CharField(
        label=gettext_lazy("Instruction"), widget=forms.Textarea(attrs={"rows": 8}), required=False
    )
    user = forms.CharField(
        label=gettext_lazy("Message"), widget=forms.Textarea(attrs={"rows": 8}), required=False
    )


class VerifierForm(forms.Form):
    """A trained verifier; ``cleaned_data["model"]`` is its model and card."""

    model = forms.FileField(label=gettext_lazy("Verifier (the .npz file that train wrote)"))
    flagged = forms.ChoiceField(
        label=gettext_lazy("What it finds problematic"),
        choices=[
            (attributes.DROP, gettext_lazy("is left out")),
            (attributes.REFINE, gettext_lazy("is left for a model to verify and refine")),
        ],
    )

    def clean_model(self) -> tuple:
        try:
            return attributes.uploaded(self.cleaned_data["model"])
        except DomainError as refusal:
            raise forms.ValidationError(refusal.sentence) from refusal


class DocumentsForm(forms.Form):
    file = forms.FileField(label=gettext_lazy("JSON lines, HTML, PDF, Markdown or plain text"))


class GenerateForm(forms.Form):
    endpoint = forms.ChoiceField(label=gettext_lazy("Endpoint"), choices=endpoints.choices)
    strategies = forms.MultipleChoiceField(
        label=gettext_lazy("Strategies"), widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *args: Any, study: Study) -> None:
        super().__init__(*args)
        cast(forms.ChoiceField, self.fields["strategies"]).choices = offered(study).items()
        self.fields["strategies"].initial = generate.default_strategies(study)


def offered(study: Study) -> dict:
    """{strategy: its words}: those that ``study`` declares, and those that it has something for."""
    declared = retrieve.settings_of(study).strategies
    personas = study.personas.exists()
    described = study.personas.filter(attributes__isnull=False).exists()
    rewritable = study.candidates.filter(strategy="A1", status="done").exists()

    def possible(strategy: Strategy) -> bool:
        if strategy.rewrites:
            return rewritable
        has_persona = personas or not strategy.needs_persona
        has_attributes = described or not strategy.needs_attributes
        looks_up = strategy.searches or strategy.endpoint_searches
        return has_persona and has_attributes and not looks_up

    return {
        name: strategy.words
        for name, strategy in by_name().items()
        if name in declared or possible(strategy)
    }
