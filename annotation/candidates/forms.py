"""Forms of generation: what a step needs, budgets, rules, prompts, reviews, sources."""

import json
from collections.abc import Iterable
from typing import Any, cast

from django import forms
from django.core.validators import MinValueValidator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.candidates import attributes, endpoints, generate, retrieve
from annotation.candidates.models import Budget, GenerationRules, Retrieval
from annotation.candidates.steps.personas import MOST_PERSONAS
from annotation.candidates.strategies import Strategy, by_name, without_persona
from annotation.core.errors import DomainError
from annotation.core.schema import form_of
from annotation.studies.models import Study

TEXTS_LIMIT = 5_000_000
# The fields of each step; others are left out of its form.
FIELDS = {
    "persona": ("count", "languages", "hints", "constraints"),
    "memory": ("texts", "file", "per_persona"),
    "feature": ("size", "per_persona", "language"),
    "question": ("per_persona", "language", "examples"),
    "general": ("texts", "file", "least", "most"),
    "match": ("per_persona",),
    "attribute": ("chats", "language"),
    "verify": ("language",),
}
LISTS = ("languages", "hints", "examples", "texts")


def lines_of(text: str) -> list[str]:
    """Texts, one a line; a line of JSON gives its "text" or "prompt"."""
    texts = []
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("{"):
            try:
                value = json.loads(line)
                line = value.get("text") or value.get("prompt") or ""
            except (ValueError, RecursionError) as error:
                raise forms.ValidationError(_("A line is no JSON object.")) from error
            if not isinstance(line, str):
                raise forms.ValidationError(_("A line has no text."))
        if line.strip():
            texts.append(line.strip())
    return texts


NO_OPTIONS = ("endpoint", "file", "newest")


class StepForm(forms.Form):
    """What one step is asked for. ``cleaned_data["options"]`` is what ``proposals`` takes."""

    endpoint = forms.ChoiceField(label=gettext_lazy("Endpoint"))
    count = forms.IntegerField(
        label=gettext_lazy("How many"), min_value=1, max_value=MOST_PERSONAS, initial=20
    )
    languages = forms.CharField(
        label=gettext_lazy("Languages, one a line"),
        widget=forms.Textarea(attrs={"rows": 2}),
        initial="English",
    )
    language = forms.CharField(
        label=gettext_lazy("Language"), max_length=40, initial=gettext_lazy("English")
    )
    hints = forms.CharField(
        label=gettext_lazy("Hints, one a line; two are drawn for each persona"),
        widget=forms.Textarea(attrs={"rows": 4}),
        required=False,
    )
    constraints = forms.CharField(
        label=gettext_lazy("What holds for all of them"),
        widget=forms.Textarea(attrs={"rows": 2}),
        max_length=2_000,
        required=False,
    )
    texts = forms.CharField(
        label=gettext_lazy("Texts, one a line (or JSON lines with text)"),
        widget=forms.Textarea(attrs={"rows": 6}),
        max_length=TEXTS_LIMIT,
        required=False,
    )
    file = forms.FileField(label=gettext_lazy("or a file of them"), required=False)
    examples = forms.CharField(
        label=gettext_lazy("Good questions of real people, one a line; one is drawn for each call"),
        widget=forms.Textarea(attrs={"rows": 4}),
        required=False,
    )
    per_persona = forms.IntegerField(
        label=gettext_lazy("Calls a persona"), min_value=1, max_value=200, initial=1
    )
    size = forms.IntegerField(
        label=gettext_lazy("Memories a call"), min_value=1, max_value=30, initial=6
    )
    chats = forms.IntegerField(
        label=gettext_lazy("Conversations a call"), min_value=1, max_value=20, initial=1
    )
    least = forms.IntegerField(
        label=gettext_lazy("Fewest words"), min_value=1, max_value=1_000, initial=4
    )
    most = forms.IntegerField(
        label=gettext_lazy("Most words"), min_value=1, max_value=1_000, initial=60
    )

    newest = forms.IntegerField(min_value=0, required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, step: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in list(self.fields):
            if name not in {"endpoint", "newest", *FIELDS[step]}:
                del self.fields[name]
        cast(forms.ChoiceField, self.fields["endpoint"]).choices = [
            (server.name, f"{server.name} ({server.model})") for server in endpoints.usable()
        ]

    def clean_file(self) -> str:
        """The file's text; it joins what was typed."""
        file = self.cleaned_data["file"]
        if not file:
            return ""
        if file.size > TEXTS_LIMIT:
            raise forms.ValidationError(_("The file is too large: 5 MB at most."))
        try:
            return file.read().decode("utf-8-sig").replace("\x00", "")
        except UnicodeDecodeError as error:
            raise forms.ValidationError(_("The file is not UTF-8 text.")) from error

    def clean(self) -> dict:
        """Put lists and numbers together as the step's options."""
        super().clean()
        data = self.cleaned_data
        if "texts" in data:
            data["texts"] = f"{data['texts']}\n{data.get('file', '')}".strip()
        options = {name: value for name, value in data.items() if name not in NO_OPTIONS}
        for name in LISTS:
            if name in options:
                options[name] = lines_of(options[name])
        return {**data, "options": options}


class BudgetForm(forms.ModelForm):
    class Meta:
        model = Budget
        fields = ("cost", "daily_cost", "tokens", "daily_tokens")
        labels = {
            "cost": gettext_lazy("Cost, altogether"),
            "daily_cost": gettext_lazy("Cost, a day"),
            "tokens": gettext_lazy("Tokens, altogether"),
            "daily_tokens": gettext_lazy("Tokens, a day"),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        from_zero = MinValueValidator(0, _("A limit is a number from 0 on."))
        for field in self.fields.values():
            if isinstance(field, forms.DecimalField):  # those of whole numbers have one
                field.validators.append(from_zero)
            field.widget.attrs["min"] = 0


class RulesForm(forms.ModelForm):
    reviewers = forms.TypedChoiceField(
        label=gettext_lazy("Reviewers of each proposal"), choices=((1, "1"), (2, "2")), coerce=int
    )
    similarity = forms.FloatField(
        label=gettext_lazy("Near-duplicates from this similarity on"), min_value=0.3, max_value=1
    )
    length_tolerance = forms.FloatField(
        label=gettext_lazy("Largest change of a rewrite's word count (0.1 = 10 %)"),
        min_value=0,
        max_value=1,
    )

    class Meta:
        model = GenerationRules
        fields = ("reviewers", "review_answers", "similarity", "length_tolerance")
        labels = {
            "review_answers": gettext_lazy("Answers wait for a reviewer before raters see them")
        }


ThresholdsForm = form_of(attributes.Thresholds)


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


def _declarable() -> list[tuple]:
    return [(name, by_name()[name].words) for name in without_persona()]


class RetrievalForm(forms.ModelForm):
    sources = forms.MultipleChoiceField(
        label=gettext_lazy("Sources"),
        choices=Retrieval.Source.choices,
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )
    strategies = forms.MultipleChoiceField(
        label=gettext_lazy("What the model is shown of the person"),
        choices=_declarable,
        widget=forms.CheckboxSelectMultiple,
    )

    class Meta:
        model = Retrieval
        fields = ["sources", "strategies", "results", "oracle"]
        labels = {
            "results": gettext_lazy("Sources shown for one answer"),
            "oracle": gettext_lazy("This study is an experiment that may show the need to models"),
        }

    def clean_results(self) -> int:
        results = self.cleaned_data["results"]
        if not 1 <= results <= 20:
            raise forms.ValidationError(_("Choose a number from 1 to 20."))
        return results

    def clean(self) -> dict:
        super().clean()
        data = self.cleaned_data
        faults = retrieve.faults(
            data.get("sources", []), data.get("strategies", []), oracle=data.get("oracle", False)
        )
        for field, sentence in faults.items():
            self.add_error(field, sentence)
        return data


class DocumentsForm(forms.Form):
    file = forms.FileField(label=gettext_lazy("JSON lines, HTML, PDF, Markdown or plain text"))


class GenerateForm(forms.Form):
    endpoint = forms.ChoiceField(label=gettext_lazy("Endpoint"))
    strategies = forms.MultipleChoiceField(
        label=gettext_lazy("Strategies"), widget=forms.CheckboxSelectMultiple
    )

    def __init__(
        self, *args: Any, study: Study, servers: Iterable[endpoints.Endpoint], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        cast(forms.ChoiceField, self.fields["endpoint"]).choices = [
            (server.name, f"{server.name} ({server.model})") for server in servers
        ]
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
        return has_persona and has_attributes and not strategy.looks_up

    return {
        name: strategy.words
        for name, strategy in by_name().items()
        if name in declared or possible(strategy)
    }
