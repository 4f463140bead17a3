import json
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.core import foreign
from annotation.core.records import parse
from annotation.core.schema import form_of
from annotation.personas import conversations, models, schema
from annotation.personas.board import BOTH, FIRST, SECOND
from annotation.personas.curate import ROUNDS, Times
from annotation.studies.bundle import BundleError, read_rows
from annotation.studies.bundle_rows import Attribute, Persona, Row, check_id
from annotation.studies.models import Study

UPLOAD_LIMIT = 20 * 1024 * 1024
TEXT_LIMIT = 20_000


class IdField(forms.CharField):
    def __init__(self) -> None:
        words = _("Your own id; it comes back in every export and never changes.")
        super().__init__(label=_("Id"), max_length=100, help_text=words)

    def clean(self, value: Any) -> str:
        try:
            return check_id(super().clean(value))
        except ValueError as error:
            raise forms.ValidationError(_("The id %(words)s.") % {"words": error}) from error


class PersonaForm(forms.Form):
    """A profile: guided fields for the schema, JSON for what it holds besides."""

    external_id = IdField()
    rest = forms.CharField(
        label=_("Other fields (JSON)"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text=_("An object with whatever else is known; people see it too."),
    )

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, persona: models.Persona | None = None
    ) -> None:
        self.persona = persona
        self.original = persona.current.profile if persona else {}
        values, rest = schema.split(self.original)
        if rest:
            values["rest"] = json.dumps(rest, ensure_ascii=False, indent=2)
        super().__init__(data, initial=values)
        for guided in schema.FIELDS:
            self.fields[guided.name] = _field(guided)
        if persona:
            del self.fields["external_id"]

    @property
    def groups(self) -> Iterator[tuple]:
        """Legend and fields of each group, in the schema's order."""
        for legend, fields in schema.GROUPS:
            yield legend, [self[guided.name] for guided in fields]

    def clean_rest(self) -> dict:
        try:
            return parse((self.cleaned_data["rest"] or "{}").encode())
        except ValueError as error:
            words = _("This is no JSON object: %(words)s")
            raise forms.ValidationError(words % {"words": error}) from error

    def clean(self) -> dict:
        super().clean()
        data = self.cleaned_data
        if not self.errors:
            try:
                data["profile"] = schema.merged(self.original, data, data["rest"])
            except ValueError as error:
                self.add_error("rest", str(error))
            else:
                if not data["profile"]:
                    self.add_error(None, _("Say at least one thing about the person."))
        return data


class DropForm(forms.Form):
    reason = forms.ChoiceField(
        label=_("Why it is dropped"),
        choices=[("", "…"), *((title, list(some.items())) for title, some in ROUNDS.items())],
    )


class MemoryForm(form_of(Times)):  # type: ignore[misc]
    text = forms.CharField(
        label=_("A public text that this person would be interested in"),
        max_length=TEXT_LIMIT,
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    field_order = ("text",)

    def clean_text(self) -> str:
        return schema.tidy(self.cleaned_data["text"])


class DayForm(forms.Form):
    on = forms.DateField(label=_("As of"), required=False, widget=forms.DateInput({"type": "date"}))


class UploadForm(forms.Form):
    """A JSON-lines file; ``faults`` are the reader's sentences where it was refused."""

    file = forms.FileField(label=_("JSON-lines file"))
    faults: list[str] = []
    row_type: type[Row] = Persona

    def __init__(self, *args: Any, study: Study | None = None) -> None:
        super().__init__(*args)
        # The study whose personas the rows name.
        self.study = study

    def clean_file(self) -> list:
        file = self.cleaned_data["file"]
        if file.size > UPLOAD_LIMIT:
            raise forms.ValidationError(
                _("The file is larger than 20 MB: import it as a study bundle on the server.")
            )
        personas = (
            set(self.study.personas.values_list("external_id", flat=True)) if self.study else None
        )
        try:
            rows = read_rows(foreign.rows(file), file.name, self.row_type, personas)
        except BundleError as refusal:
            self.faults = refusal.faults
            raise forms.ValidationError(_("Nothing was imported.")) from refusal
        except foreign.ForeignFileError as refusal:
            raise forms.ValidationError(refusal.sentence) from refusal
        return [row for _line, row in rows]


class AttributesForm(UploadForm):
    """A JSON-lines file of attributes, of personas that the study has."""

    row_type = Attribute
    prefix = "attributes"  # the page has another upload


class FiltersForm(form_of(conversations.Filters)):  # type: ignore[misc]
    def __init__(self, data: Mapping[str, Any] | None = None, *, study: Study) -> None:
        super().__init__(data)
        shares = [(name, f"{name} ({n})") for name, n in conversations.languages(study) if name]
        self.fields["language"].widget = forms.Select(choices=[("", _("all")), *shares])

    @property
    def filters(self) -> conversations.Filters:
        """The filters of a valid form; no number of people is all of them."""
        return conversations.Filters(**{"people": None} | self.values)


class PairForm(forms.Form):
    first = forms.IntegerField(min_value=1, max_value=2**63 - 1)
    second = forms.IntegerField(min_value=1, max_value=2**63 - 1)
    choice = forms.ChoiceField(choices=[(name, name) for name in (BOTH, FIRST, SECOND)])


def _field(guided: schema.Guided) -> forms.Field:
    if guided.kind == schema.CHOICE:
        return forms.ChoiceField(label=guided.label, choices=guided.choices, required=False)
    rows = {"rows": 3 if guided.kind == schema.LINES else 2}
    short = guided.name in ("name", "age", "gender", "nationality")
    return forms.CharField(
        label=guided.label,
        required=False,
        max_length=200 if short else TEXT_LIMIT,
        widget=forms.TextInput() if short else forms.Textarea(attrs=rows),
    )
