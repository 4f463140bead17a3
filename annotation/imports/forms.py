"""How a file is read: the mapping of its columns, the task, and what to do with faulty lines."""

from typing import Any, cast

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.core.schema import form_of
from annotation.imports import paths
from annotation.imports.bring import Known, Options
from annotation.imports.mapping import SEVERAL, TARGETS, Mapping, checked
from annotation.imports.models import DataImport, ImportRecipe
from annotation.judging.kinds.imported import WIDER
from annotation.studies.models import Study

PLACES_LIMIT = 80
# Values of the field ``task``: no items now, or items of the task that follows.
LATER, OPEN = "later", "open:"


class MappingForm(form_of(Options, "skip_faults", "allow")):  # type: ignore[misc]
    """One field a target, each with the places of the file's first rows; and the options."""

    task = forms.ChoiceField(
        label=gettext_lazy("What becomes of the rows"),
        required=False,
        help_text=gettext_lazy(
            "Judgments in a file need items: they go to the task chosen, or to a new one."
        ),
    )
    new_task = forms.SlugField(
        label=gettext_lazy("Name of a new task"),
        max_length=60,
        required=False,
        help_text=gettext_lazy("Left empty, a task that is needed is named after its kind."),
    )
    constants = forms.CharField(
        label=gettext_lazy("The same for all rows"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        max_length=20_000,
        help_text=gettext_lazy("One a line, such as: prompt=Which summary is better?"),
    )
    recipe_name = forms.CharField(
        label=gettext_lazy("Keep this mapping as a recipe called"), max_length=60, required=False
    )

    def __init__(
        self,
        data: QueryDict | None,
        sample: list[dict],
        mapping: Mapping | None,
        row: DataImport,
    ) -> None:
        columns = mapping.columns if mapping else {}
        # Whoever has tasks looks at a batch before it is opened.
        tasks = task_names(row.study)
        later = bool(tasks) and not (mapping and mapping.votes)
        initial = {"skip_faults": row.skip_faults, "allow": row.allow}
        initial |= _chosen(row, tasks) if row.mapping else {"task": LATER if later else ""}
        super().__init__(data, initial=initial)
        offered = [name for name in WIDER if name in {*row.wider, *row.allow}]
        if not offered:
            del self.fields["allow"]
        else:
            cast(forms.ChoiceField, self.fields["allow"]).choices = [
                (name, WIDER[name]) for name in offered
            ]
        cast(forms.ChoiceField, self.fields["task"]).choices = [
            (LATER, _("Stored; a batch opens items later")),
            *((f"{OPEN}{name}", _("Items of the task “%s”, opened now") % name) for name in tasks),
            ("", _("Items of a new task that fits, opened now")),
        ]
        places = places_of(sample, [name for names in columns.values() for name in names])
        choices = [(place, place or _("the whole record")) for place in places]
        self.words = mapping.values if mapping else {}
        for target, title in TARGETS.items():
            names = columns.get(target, ())
            if target in SEVERAL:
                field: forms.ChoiceField = forms.MultipleChoiceField(
                    choices=choices, initial=list(names)
                )
                field.widget.attrs["size"] = 4
            else:
                options = [("", "–"), *choices]
                field = forms.ChoiceField(choices=options, initial=next(iter(names), ""))
            field.required, field.label = False, title
            self.fields[f"map-{target}"] = field

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        columns = {}
        for target in TARGETS:
            value = data.get(f"map-{target}") or ()
            names = (value,) if isinstance(value, str) else tuple(value)
            if names:
                columns[target] = names
        try:
            mapping = Mapping(columns, self.words)
            texts = self._constants()
            data["mapping"] = mapping.with_constants(texts) if texts else checked(mapping)
        except DomainError as refusal:
            raise forms.ValidationError(refusal.sentence) from refusal
        choice, name = data.get("task") or "", data.get("new_task") or ""
        data.setdefault("allow", [])
        data["open_items"] = bool(name) or choice != LATER
        data["task"] = name or choice.removeprefix(OPEN).removeprefix(LATER)
        return data

    def _constants(self) -> dict[str, list[str]]:
        """{target: [text]} of the lines TARGET=TEXT."""
        texts = {}
        for line in (self.cleaned_data.get("constants") or "").splitlines():
            target, sign, text = line.partition("=")
            if line.strip() and not sign:
                raise DomainError(_("“%s” is no line such as prompt=Text.") % line[:60])
            if line.strip():
                texts[target.strip()] = [text.strip()]
        return texts

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


ProvenanceForm = form_of(Known)


def _chosen(row: DataImport, tasks: list[str]) -> dict[str, str]:
    """What an earlier attempt chose to make of the rows."""
    if row.task in tasks:
        return {"task": f"{OPEN}{row.task}"}
    return {"task": "" if row.open_items else LATER, "new_task": row.task}


def task_names(study: Study) -> list[str]:
    """The names of the study's tasks that anybody may judge."""
    rows = study.tasks.order_by("name", "-version").distinct("name")
    return [task.name for task in rows if not task.config.get("owner_only")]


def places_of(sample: list[dict], named: list[str]) -> list[str]:
    """Places of the first rows that a target can be taken from, and those that are ``named``."""
    places: dict[str, None] = {}
    for row in sample:
        places |= dict.fromkeys(paths.leaves(row, PLACES_LIMIT))
    return list(dict.fromkeys([*named, *list(places)[:PLACES_LIMIT]]))
