from django import forms
from django.utils.translation import gettext_lazy as _


class SearchForm(forms.Form):
    q = forms.CharField(label=_("Address, name or worker"), required=False, max_length=100)


class AuditForm(forms.Form):
    """What the trail is narrowed down to."""

    action = forms.CharField(label=_("Act"), required=False, max_length=60)
    actor = forms.IntegerField(
        label=_("By account number"), required=False, min_value=1, max_value=2**62
    )
    target = forms.CharField(label=_("Thing"), required=False, max_length=60)
    target_id = forms.CharField(label=_("Its number"), required=False, max_length=60)

    def filters(self) -> dict:
        """The fields that were filled in, as they narrow rows down."""
        return {name: value for name, value in self.cleaned_data.items() if value}
