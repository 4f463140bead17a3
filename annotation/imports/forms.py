"""How a file is read: the mapping of its columns, the task, and what to do with faulty lines."""

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.imports import paths
from annotation.imports.mapping import SEVERAL, TARGETS, Mapping, checked
from annotation.imports.models import DataImport, ImportRecipe

PLACES_LIMIT = 80


class MappingForm(forms.Form):
    """One field a target, each with the places of the file's first rows; and the options."""

    task = forms.SlugField(
        label=gettext_lazy("Task of the items"),
        max_length=60,
        required=False,
        help_text=gettext_lazy(
            "The name of a task of this study, or of a new one. Left empty, items are made where "
            "the file has pairs or judgments."
        ),
    )
    skip_faults = forms.BooleanField(
        label=gettext_lazy("Leave faulty lines out"),
        required=False,
        help_text=gettext_lazy("Otherwise one faulty line is enough for nothing to be stored."),
    )
    recipe_name = forms.CharField(
        label=gettext_lazy("Keep this mapping as a recipe called"), max_length=60, required=False
    )

    def __init__(self, data, sample: list[dict], mapping: Mapping | None):
        columns = mapping.columns if mapping else {}
        super().__init__(data, initial={"skip_faults": False})
        places = places_of(sample, [name for names in columns.values() for name in names])
        choices = [(place, place or _("the whole record")) for place in places]
        self.values = mapping.values if mapping else {}
        for target, title in TARGETS.items():
            names = columns.get(target, ())
            if target in SEVERAL:
                field = forms.MultipleChoiceField(choices=choices, initial=list(names))
                field.widget.attrs["size"] = 4
            else:
                options = [("", "–"), *choices]
                field = forms.ChoiceField(choices=options, initial=next(iter(names), ""))
            field.required, field.label = False, title
            self.fields[f"map-{target}"] = field

    def clean(self):
        data = super().clean()
        columns = {}
        for target in TARGETS:
            value = data.get(f"map-{target}") or ()
            names = (value,) if isinstance(value, str) else tuple(value)
            if names:
                columns[target] = names
        try:
            data["mapping"] = checked(Mapping(columns, self.values))
        except DomainError as refusal:
            raise forms.ValidationError(refusal.sentence) from refusal
        return data

    def targets(self, mapped: bool) -> list:
        """The fields of targets that have a column, or of those that have none."""
        fields = [self[f"map-{target}"] for target in TARGETS]
        return [field for field in fields if bool(field.value()) == mapped]

    def mapped(self) -> list:
        return self.targets(True)

    def others(self) -> list:
        return self.targets(False)

    def keep(self, row: DataImport) -> None:
        """Store the mapping under its name where one was given."""
        name = " ".join(self.cleaned_data["recipe_name"].split())
        if name:
            mapping = self.cleaned_data["mapping"].as_json()
            ImportRecipe.objects.update_or_create(
                study=row.study, name=name, defaults={"mapping": mapping}
            )


def places_of(sample: list[dict], named: list[str]) -> list[str]:
    """Places of the first rows that a target can be taken from, and those that are ``named``."""
    places: dict[str, None] = {}
    for row in sample:
        places |= dict.fromkeys(paths.leaves(row, PLACES_LIMIT))
    return list(dict.fromkeys([*named, *list(places)[:PLACES_LIMIT]]))
