from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.evaluation.prompts import SETTINGS

SHOWN = {
    "persona": _("the profile"),
    "rag": _("the five nearest memories"),
    "rag-filter": _("memories that the model picks"),
    "none": _("nothing of the person"),
}


class EvaluationForm(forms.Form):
    """Which model is asked, and what it sees; ``confirmed`` once the cost was shown."""

    endpoint = forms.ChoiceField(label=_("Endpoint"))
    setting = forms.ChoiceField(
        label=_("What it sees"), choices=[(name, SHOWN[name]) for name in SETTINGS]
    )
    limit = forms.IntegerField(
        label=_("Pairs at most"), min_value=1, max_value=2**31 - 1, required=False,
        help_text=_("Empty: all of them."),
    )  # fmt: skip
    confirmed = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args, servers, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["endpoint"].choices = [
            (server.name, f"{server.name} ({server.model})") for server in servers
        ]


class RaterForm(forms.Form):
    """Which model judges the items of which task; ``confirmed`` once the cost was shown."""

    task = forms.ChoiceField(label=_("Task"))
    endpoint = forms.ChoiceField(label=_("Endpoint"))
    limit = forms.IntegerField(
        label=_("Items at most"), min_value=1, max_value=2**31 - 1, required=False,
        help_text=_("Empty: all of them."),
    )  # fmt: skip
    confirmed = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args, servers, tasks, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["task"].choices = [(name, name) for name in tasks]
        self.fields["endpoint"].choices = [
            (server.name, f"{server.name} ({server.model})") for server in servers
        ]
