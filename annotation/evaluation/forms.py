from collections.abc import Collection, Iterable
from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.candidates.endpoints import Endpoint
from annotation.evaluation import judges, prompts, runs

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
    field_order = ("endpoint", "setting", "limit")

    def __init__(self, *args: Any, layout: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        judge = judges.of_layout(layout)
        words = judge.ARMS if judge else OF_PERSON
        # Any other layout is refused in words when the form is sent.
        names = runs.settings(layout) or prompts.SETTINGS
        setting = cast(forms.ChoiceField, self.fields["setting"])
        setting.choices = [(name, words[name]) for name in names]
        self.fields["limit"].label = _("Answers at most") if judge else _("Pairs at most")


class RaterForm(ModelForm):
    """A model that judges the items of a task."""

    task = forms.ChoiceField(label=_("Task"))
    field_order = ("task", "endpoint", "limit")

    def __init__(self, *args: Any, tasks: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast(forms.ChoiceField, self.fields["task"]).choices = [(name, name) for name in tasks]
