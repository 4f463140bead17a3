import datetime
from collections.abc import Mapping
from datetime import date
from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from annotation.accounts.models import User
from annotation.histories import redact
from annotation.histories.browse import LATE
from annotation.histories.marks import WORD_LIMIT, WORDS_LIMIT
from annotation.histories.models import HistoryConsent, Mark, Session
from annotation.histories.records import NAMES

QUERY_LIMIT = 500
DECISIONS = [(Mark.State.ACCEPTED, _("hide")), (Mark.State.REJECTED, _("show"))]


class ManyFiles(forms.ClearableFileInput):
    allow_multiple_selected = True


class FilterForm(forms.Form):
    """What of the history is listed. A value that is none is left out, never an error page."""

    q = forms.CharField(label=_("Search"), required=False, max_length=QUERY_LIMIT)
    state = forms.ChoiceField(
        label=_("Decision"),
        required=False,
        choices=[("", _("all")), *Session.State.choices, (LATE, _("found later"))],
    )
    kind = forms.ChoiceField(
        label=_("Kind"), required=False, choices=[("", _("all")), *Session.Kind.choices]
    )
    provider = forms.CharField(
        label=pgettext_lazy("the service", "From"), required=False, max_length=40
    )
    month = forms.CharField(required=False, max_length=7, widget=forms.HiddenInput)

    def __init__(self, data: Mapping[str, Any] | None, providers: list[str]) -> None:
        super().__init__(data)
        self.fields["q"].widget.input_type = "search"
        choices = [("", _("all")), *((name, NAMES.get(name, name)) for name in providers)]
        self.fields["provider"].widget = forms.Select(choices=choices)

    def clean_month(self) -> date | None:
        text = self.cleaned_data["month"]
        try:
            return datetime.date.fromisoformat(f"{text}-01") if text else None
        except ValueError:
            return None

    def values(self) -> dict:
        """The filters of ``browse.which`` and the words to search for."""
        self.is_valid()
        return dict.fromkeys(self.fields, "") | {"month": None} | self.cleaned_data


class DecisionForm(forms.Form):
    """What to do with the ticked sessions, or with ``all`` that a filter finds."""

    action = forms.ChoiceField(choices=[("keep", ""), ("drop", ""), ("erase", "")])
    session = forms.ModelMultipleChoiceField(queryset=Session.objects.none(), required=False)
    all = forms.BooleanField(required=False)
    sure = forms.BooleanField(required=False)

    def __init__(self, data: Mapping[str, Any] | None, owner: User) -> None:
        super().__init__(data)
        cast(forms.ModelChoiceField, self.fields["session"]).queryset = Session.objects.filter(
            owner=owner
        )


class UploadForm(forms.Form):
    file = forms.FileField(
        label=_("Your export"),
        widget=ManyFiles,
        help_text=_("The archive as you received it, or a file out of it."),
    )


class MarkForm(forms.Form):
    mark = forms.IntegerField()
    state = forms.ChoiceField(choices=DECISIONS)
    everywhere = forms.BooleanField(required=False)


class KindForm(forms.Form):
    kind = forms.ChoiceField(choices=[*redact.KINDS.items()])
    state = forms.ChoiceField(choices=DECISIONS)


class StrikeForm(forms.Form):
    text = forms.CharField(
        label=_("Text to hide, exactly as it is written"), max_length=WORD_LIMIT, strip=True
    )
    everywhere = forms.BooleanField(label=_("In all my sessions"), label_suffix="", required=False)


class WordForm(forms.Form):
    """The owner's names and words, one a line."""

    word = forms.CharField(
        label=_("Names and words to hide, one a line"),
        max_length=WORD_LIMIT * WORDS_LIMIT,
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    def clean_word(self) -> list[str]:
        return [line for line in self.cleaned_data["word"].splitlines() if line.strip()]


class ConsentForm(forms.Form):
    study = forms.IntegerField()
    purpose = forms.ChoiceField(choices=HistoryConsent.Purpose.choices)
    endpoint = forms.CharField(required=False, max_length=60)
    allow = forms.BooleanField(required=False)


class ForgetForm(forms.Form):
    sure = forms.BooleanField(
        label=_("Yes, erase my whole history and withdraw every consent"), label_suffix=""
    )
