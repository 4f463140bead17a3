from collections.abc import Collection, Iterable
from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.candidates.endpoints import Endpoint
from annotation.evaluation import bespoke, pairs

# By layout of the release: what a model may be shown, and what a limit counts.
_OF_PERSON = {
    "persona": _("the profile"),
    "rag": _("the five nearest memories"),
    "rag-filter": _("memories that the model picks"),
    "none": _("nothing of the person"),
}
SHOWN = {
    pairs.LAYOUT: _OF_PERSON,
    pairs.ALONE: {name: _OF_PERSON[name] for name in ("persona", "none")},
    bespoke.LAYOUT: {
        "feedback": _("the rubric, and judged answers with scores and feedback"),
        "scores": _("the rubric, and judged answers with scores"),
        "rubric": _("the rubric alone"),
        "none": _("neither rubric nor judged answers"),
    },
}
LIMITS = {pairs.LAYOUT: _("Pairs at most"), bespoke.LAYOUT: _("Answers at most")}


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
        # Any other layout is refused in words when the form is sent.
        cast(forms.ChoiceField, self.fields["setting"]).choices = SHOWN.get(
            layout, SHOWN[pairs.LAYOUT]
        ).items()
        self.fields["limit"].label = LIMITS.get(layout, LIMITS[pairs.LAYOUT])


class RaterForm(ModelForm):
    """A model that judges the items of a task."""

    task = forms.ChoiceField(label=_("Task"))
    field_order = ("task", "endpoint", "limit")

    def __init__(self, *args: Any, tasks: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast(forms.ChoiceField, self.fields["task"]).choices = [(name, name) for name in tasks]
