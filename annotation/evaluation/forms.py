from collections.abc import Collection, Iterable, Sequence
from io import BytesIO
from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.candidates.endpoints import Endpoint
from annotation.core import refusals
from annotation.core.errors import DomainError
from annotation.core.schema import form_of
from annotation.evaluation import draws, judges, prompts, rating, runs, systems
from annotation.evaluation.systems import NAME_LIMIT

# Of answers on a page: a form may hold two megabytes.
PAGE_BYTES = 1_500_000

# What a model is shown that chooses between pairs (``prompts.SETTINGS``).
OF_PERSON = {
    "persona": _("the profile"),
    "rag": _("the five nearest memories"),
    "rag-filter": _("memories that the model picks"),
    "none": _("nothing of the person"),
}


class ModelForm(forms.Form):
    """Which model is asked; ``confirmed`` once the cost was shown."""

    endpoint = forms.ChoiceField(label=_("Endpoint"))
    limit = forms.IntegerField(
        label=_("Items at most"), min_value=1, max_value=2**31 - 1, required=False,
        help_text=_("Empty: all of them."),
    )  # fmt: skip
    confirmed = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, servers: Collection[Endpoint], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast(forms.ChoiceField, self.fields["endpoint"]).choices = [
            (server.name, f"{server.name} ({server.model})") for server in servers
        ]
        if not servers:
            self.fields["endpoint"].help_text = _(
                "No endpoint is configured. The operator sets ATTUNE_ENDPOINTS."
            )


class EvaluationForm(ModelForm):
    """A model measured on a release, and what it sees."""

    setting = forms.ChoiceField(label=_("What it sees"))
    field_order: Sequence[str] = ("endpoint", "setting", "limit")

    def __init__(self, *args: Any, layout: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        judge = judges.of_layout(layout)
        words = judge.ARMS if judge else OF_PERSON
        # Any other layout is refused in words when the form is sent.
        names = runs.settings(layout) or prompts.SETTINGS
        setting = cast(forms.ChoiceField, self.fields["setting"])
        setting.choices = [(name, words[name]) for name in names]
        self.fields["limit"].label = _("Answers at most") if judge else _("Pairs at most")


class SystemForm(EvaluationForm):
    """A system whose answers a model judges; ``cleaned_data["wrote"]`` is the ``System``.

    They are brought, or an endpoint writes them from the release alone (``generate``). Once
    the cost was shown the answers come back as text: a browser sends no file twice.
    """

    system = forms.CharField(
        label=_("System"), max_length=NAME_LIMIT, required=False,
        help_text=_("Needed for answers in a file."),
    )  # fmt: skip
    generate = forms.ChoiceField(
        label=_("Have the answers written"), required=False,
        help_text=_("By the writer, from this release alone: what it is shown of the person."),
    )  # fmt: skip
    writer = forms.ChoiceField(label=_("Writer"), required=False)
    context = forms.CharField(
        label=_("What the system knew of the person"), max_length=NAME_LIMIT, required=False,
        help_text=_("Of answers in a file, in your own words."),
    )  # fmt: skip
    file = forms.FileField(
        label=_("Answers"), required=False,
        help_text=_("JSON lines or CSV with the columns user, query (its id or text) and text."),
    )  # fmt: skip
    answers = forms.CharField(required=False, widget=forms.HiddenInput, strip=False)
    field_order = (
        *("generate", "writer", "system", "context", "file"),
        *("endpoint", "setting", "limit"),
    )

    def __init__(self, *args: Any, layout: str, **kwargs: Any) -> None:
        super().__init__(*args, layout=layout, **kwargs)
        arms = cast(judges.Judge, judges.of_layout(layout)).WRITERS
        generate, writer = (cast(forms.ChoiceField, self.fields[name]) for name in
                            ("generate", "writer"))  # fmt: skip
        generate.choices = [("", _("no: they are in a file")), *arms.items()]
        writer.choices = cast(forms.ChoiceField, self.fields["endpoint"]).choices
        self.fields["endpoint"].label = _("Judge")
        self.fields["setting"].label = _("What the judge sees")

    def clean(self) -> dict[str, Any]:
        """The answers of the file, or those that were read before; none where they are written."""
        data = super().clean() or self.cleaned_data
        if data.get("generate"):
            with refusals.in_form(self):
                writer, arm = data.get("writer") or data.get("endpoint", ""), data["generate"]
                data["wrote"] = systems.written(writer, arm, data.get("system", ""))
            data["answers"] = ""
            return data
        if not data.get("system"):
            self.add_error("system", _("A system needs a name."))
        if not (sent := data.get("file") or data.get("answers")):
            self.add_error("file", _("Choose a file of answers."))
            return data
        try:
            stream = BytesIO(sent.encode()) if isinstance(sent, str) else sent
            answers = systems.of_stream(stream)
            data["wrote"] = systems.System(
                data.get("system", "?"), data.get("context", ""), answers
            )
        except DomainError as refusal:
            raise forms.ValidationError(refusal.sentence) from refusal
        data["answers"] = systems.as_text(answers)
        if len(data["answers"].encode()) > PAGE_BYTES:
            raise forms.ValidationError(
                _("The page takes up to 1.5 MB of answers; the command takes any number.")
            )
        return data


class RaterForm(ModelForm):
    """A model that judges the items of a task."""

    task = forms.ChoiceField(label=_("Task"))
    samples = forms.IntegerField(
        label=_("Times asked in each order"), min_value=1, max_value=rating.MOST_SAMPLES, initial=1,
        required=False, help_text=_("How often replies agree is the model's confidence."),
    )  # fmt: skip
    field_order = ("task", "endpoint", "limit", "samples")

    def __init__(self, *args: Any, tasks: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast(forms.ChoiceField, self.fields["task"]).choices = [(name, name) for name in tasks]


DrawForm = form_of(draws.Round, "votes", "rule", "panel", "half_width")
