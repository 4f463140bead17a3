from collections.abc import Iterable
from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.core.words import titled


class PlanForm(forms.Form):
    """The wanted precision, with pilot votes or assumptions."""

    GOALS = [("kappa", _("symmetric kappa")), ("rate", _("a win rate"))]

    goal = forms.ChoiceField(label=_("Interval on"), choices=GOALS)
    half_width = forms.FloatField(
        label=_("Wanted half width (±)"), initial=0.05, min_value=0.001, max_value=0.5
    )
    pilot = forms.ChoiceField(
        label=_("Votes to learn from"),
        required=False,
        help_text=_(
            "Their kappa, spread and time take the place of the assumptions below; the spread is "
            "that of their number of judgments an item."
        ),
    )
    kappa = forms.FloatField(
        label=_("Assumed kappa"), required=False, initial=0.5, min_value=0.01, max_value=0.99
    )
    options = forms.IntegerField(
        label=_("Answers to choose from"), required=False, initial=2, min_value=2, max_value=5
    )
    rate = forms.FloatField(
        label=_("Assumed win rate"), required=False, initial=0.5, min_value=0.01, max_value=0.99
    )
    votes = forms.IntegerField(label=_("Judgments an item"), initial=9, min_value=1, max_value=30)
    seconds = forms.FloatField(
        label=_("Seconds a judgment"), required=False, initial=60, min_value=0.1, max_value=86_400
    )
    raters = forms.IntegerField(
        label=_("Annotators"), required=False, min_value=1, max_value=100_000
    )

    def __init__(self, *args: Any, tasks: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        none = [("", _("none: use the assumptions"))]
        cast(forms.ChoiceField, self.fields["pilot"]).choices = none + [
            (name, titled(name)) for name in tasks
        ]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if self.errors or data["pilot"]:
            return data
        for name in ("kappa", "options", "seconds"):
            if data[name] is None:
                self.add_error(name, _("Needed where no votes are used."))
        if data["goal"] == "kappa" and data["votes"] < 2:
            self.add_error("votes", _("Kappa needs two judgments an item."))
        return data
