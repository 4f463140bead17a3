"""How a file is read: the mapping of its columns, the task, and what to do with faulty lines."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, cast

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.core.schema import form_of
from annotation.imports.bring import Classes, Known, Options
from annotation.imports.mapping import (
    OWN,
    QUESTION_LIMIT,
    TARGETS,
    Mapping,
    checked,
    leaves,
    value_at,
)
from annotation.imports.models import DataImport, ImportRecipe
from annotation.imports.tables import HubTable
from annotation.judging.kinds.files import WIDER
from annotation.studies.models import Study

PLACES_LIMIT = 80
# Values of the field ``task``: no items now, or items of the task that follows.
LATER, OPEN = "later", "open:"
CHOICES = [("", "–"), *TARGETS.items(), (OWN, gettext_lazy("answer to a question of your own"))]
VALUES, VALUE_LENGTH = 3, 80


class MappingForm(
    form_of(Options, "skip_faults", "repeats", "allow"),  # type: ignore[misc]
    form_of(Classes, "level", "depth"),  # type: ignore[misc]
):
    """What each place of the file's first rows becomes; and the options."""

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
    classes = forms.CharField(
        label=gettext_lazy("Classes of labels, in their order"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        max_length=20_000,
        help_text=gettext_lazy("“No, Unsure, Yes”; of a question of your own “QUESTION: No, Yes”."),
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
        # Whoever has tasks looks at a batch before it is opened.
        tasks = task_names(row.study)
        later = bool(tasks) and not (mapping and mapping.votes)
        initial = {"skip_faults": row.skip_faults, "repeats": row.repeats, "allow": row.allow}
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
        self.columns = mapping.columns if mapping else {}
        self.words = mapping.values if mapping else {}
        self.fields["classes"].initial = _written(mapping)
        self.fields["level"].initial = mapping.level if mapping else ""
        if any("depth" in record for record in sample):
            self.fields["depth"].initial = mapping.depth if mapping else 0
        else:
            del self.fields["depth"]
        if seen := _labels_in(sample, mapping):
            self.fields["classes"].help_text = _("As they occur: %s") % ", ".join(seen)
        self.places = places_of(sample, [name for names in self.columns.values() for name in names])
        self.shown = {place: _values_at(sample, place) for place in self.places}
        for place in self.places:
            targets, name = _uses(self.columns, place)
            self.fields[f"becomes-{place}"] = forms.MultipleChoiceField(
                choices=CHOICES, initial=targets, required=False
            )
            self.fields[f"question-{place}"] = forms.CharField(
                max_length=QUESTION_LIMIT, initial=name, required=False
            )
        named = [("", "–"), *((place, place) for place in self.places)]
        self.fields["also"] = forms.ChoiceField(
            choices=named, required=False, label=_("A column that is also")
        )
        self.fields["also_becomes"] = forms.ChoiceField(
            choices=CHOICES, required=False, label=_("what it becomes")
        )

    choices = CHOICES

    def rows(self) -> list[dict[str, Any]]:
        """A row of the page for each place: its first values, and what it becomes."""
        rows = []
        for place in self.places:
            field, question = self[f"becomes-{place}"], self[f"question-{place}"]
            targets = [target for target in field.value() or () if target] or [""]
            rows.append(
                {
                    "place": place or _("the whole record"),
                    "values": self.shown[place],
                    "name": field.html_name,
                    "targets": targets,
                    "question": question if OWN in targets else None,
                    "inside": targets == [""] and bool(set(".[") & set(place)),
                }
            )
        return rows

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        try:
            mapping = Mapping(self._columns(data), self.words, depth=data.get("depth") or 0)
            texts = self._constants()
            mapping = mapping.with_constants(texts) if texts else checked(mapping)
            classes = [line for line in (data.get("classes") or "").splitlines() if line.strip()]
            data["mapping"] = mapping.with_classes(classes, data.get("level") or "")
        except DomainError as refusal:
            raise forms.ValidationError(refusal.sentence) from refusal
        choice, name = data.get("task") or "", data.get("new_task") or ""
        data.setdefault("allow", [])
        data["open_items"] = bool(name) or choice != LATER
        data["task"] = name or choice.removeprefix(OPEN).removeprefix(LATER)
        return data

    def _columns(self, data: dict[str, Any]) -> dict[str, tuple[str, ...]]:
        """{target: columns}; columns of one target keep the order that they had."""
        columns: dict[str, list[str]] = {}
        for place in self.places:
            for target in data.get(f"becomes-{place}") or ():
                name = data.get(f"question-{place}") or question_in(place)
                columns.setdefault(f"{OWN}{name}" if target == OWN else target, []).append(place)
        if data.get("also"):
            columns.setdefault(data.get("also_becomes") or "", []).append(data["also"])
        columns.pop("", None)
        for target, names in columns.items():
            before = self.columns.get(target, ())
            names.sort(key=lambda name: before.index(name) if name in before else len(before))
        return {target: tuple(names) for target, names in columns.items()}

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

    def keep(self, row: DataImport) -> None:
        """Store the mapping under its name where one was given."""
        name = " ".join(self.cleaned_data["recipe_name"].split())
        if name:
            mapping = self.cleaned_data["mapping"].as_json()
            ImportRecipe.objects.update_or_create(
                study=row.study, name=name, defaults={"mapping": mapping}
            )


ProvenanceForm, HubForm = form_of(Known), form_of(HubTable)


class JoinForm(forms.Form):
    """A second file, and by which columns its rows stand beside those of this one."""

    upload = forms.ChoiceField(label=gettext_lazy("A file that waits here"))
    column = forms.ChoiceField(label=gettext_lazy("Column that names its rows"))
    key = forms.CharField(label=gettext_lazy("Their column of these names"), max_length=200)

    def __init__(self, data: QueryDict | None, others: Iterable[DataImport], places: list[str]):
        super().__init__(data)
        cast(forms.ChoiceField, self.fields["upload"]).choices = [
            (str(other.pk), other.name) for other in others
        ]
        cast(forms.ChoiceField, self.fields["column"]).choices = [(name, name) for name in places]


def question_in(place: str) -> str:
    """The question that a column is named after."""
    return place.rsplit(".", 1)[-1].strip()[:QUESTION_LIMIT]


def _uses(columns: dict[str, tuple[str, ...]], place: str) -> tuple[list[str], str]:
    """The targets that ``place`` is mapped to, and the question of its own among them."""
    targets = [target for target, names in columns.items() if place in names]
    own = [target.removeprefix(OWN) for target in targets if target.startswith(OWN)]
    listed = [OWN if target.startswith(OWN) else target for target in targets]
    return listed, own[0] if own else question_in(place)


def _values_at(sample: list[dict], place: str) -> list[str]:
    """The first values of a place that differ, cut to a length for the page."""
    values = (value_at(record, place) if place else record for record in sample)
    texts = (str(value)[:VALUE_LENGTH] for value in values if value not in (None, "", [], {}))
    return list(islice(dict.fromkeys(texts), VALUES))


def _written(mapping: Mapping | None) -> str:
    """Declared classes as the form takes them, one question a line."""
    classes = mapping.classes.items() if mapping else ()
    return "\n".join(
        ": ".join(filter(None, (question, ", ".join(names))))
        for question, names in classes
        if names
    )


def _labels_in(sample: list[dict], mapping: Mapping | None) -> list[str]:
    """The labels of the first rows that are classes, in their order."""
    if not mapping or not mapping.has("label") or (mapping.wide and "" not in mapping.classes):
        return []
    places = mapping.columns["label"]
    values = (value_at(record, place) for record in sample for place in places)
    return list(dict.fromkeys(str(value) for value in values if value not in (None, "")))[:20]


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
        places |= dict.fromkeys(leaves(row, PLACES_LIMIT))
    return list(dict.fromkeys([*named, *list(places)[:PLACES_LIMIT]]))
