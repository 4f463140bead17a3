"""One schema an act: a pydantic dataclass says what it takes, and the page's form, the API's body
(``annotation.api.bodies``) and a command's arguments are derived of it.
"""

import argparse
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from pydantic import Field
from pydantic import ValidationError as PydanticError
from pydantic.fields import FieldInfo

from annotation.core.errors import DomainError
from annotation.core.words import StrOrPromise

# Characters of a form's list of ids.
WORDS_LIMIT = 20_000
# Characters of a form's texts, one a line.
LINES_LIMIT = 5_000_000
# What a Decimal can be.
AMOUNT: Any = {"max_digits": 12, "decimal_places": 4}
FRACTION = re.compile(r"\d{1,6}(\.\d{1,6}|/\d{1,6})?")
Choices = Mapping[str, StrOrPromise] | Callable[[], Mapping[str, StrOrPromise]]


def asked(
    title: StrOrPromise,
    default: Any = ...,
    help: StrOrPromise = "",
    *,
    choices: Choices | None = None,
    flag: str = "",
    unit: str = "",
    **bounds: Any,
) -> Any:
    """A field of a schema, required without ``default``.

    ``title`` is the label of the form; ``help`` (else the title) explains it in API and command.
    ``choices`` are {value: words}, or what returns them when they are asked for. ``flag`` names the
    argument of commands; ``unit`` "percent" lets a form ask for a share in percent, "text" for
    several lines, "lines" for a list with one entry a line, "comma" lets a command take a list as
    one word. ``bounds`` are pydantic's: ge, le, max_length.
    """
    extra = {"choices": choices, "flag": flag, "unit": unit}
    described: Any = {"title": title, "description": help, "json_schema_extra": extra}
    if isinstance(default, list):
        return Field(default_factory=default.copy, **described, **bounds)
    return Field(default, **described, **bounds)


@dataclass(frozen=True)
class Asked:
    """A field as forms, bodies and arguments read it; bounds are None where there are none.

    ``low`` and ``high`` bound a number, ``longest`` a text or a list of ``many``.
    """

    name: str
    type: type
    many: bool
    optional: bool
    required: bool
    default: Any
    title: StrOrPromise
    help: StrOrPromise
    flag: str
    unit: str
    offered: Choices | None
    low: Any = None
    high: Any = None
    longest: int | None = None

    @property
    def choices(self) -> list[tuple[str, StrOrPromise]]:
        """The values that there are, with their words."""
        offered = self.offered() if callable(self.offered) else self.offered
        return list((offered or {}).items())

    @property
    def words(self) -> str:
        """What it is, for whoever reads no form."""
        return str(self.help or self.title)


@cache
def fields_of(model: Any) -> dict[str, Asked]:
    """The fields of a pydantic dataclass, in order."""
    return {name: _field_of(name, info) for name, info in model.__pydantic_fields__.items()}


def _field_of(name: str, info: FieldInfo) -> Asked:
    types: list[Any] = [info.annotation]
    if get_origin(info.annotation) in (Union, UnionType):
        types = [kind for kind in get_args(info.annotation) if kind is not NoneType]
        types = [kind for kind in types if kind is not dict] or types
    many = get_origin(types[0]) is list
    bounds = {
        key: getattr(rule, key)
        for rule in info.metadata
        for key in ("ge", "le", "max_length")
        if hasattr(rule, key)
    }
    extra: Any = info.json_schema_extra
    return Asked(
        name=name,
        type=get_args(types[0])[0] if many else types[0],
        many=many,
        optional=NoneType in get_args(info.annotation),
        required=info.is_required(),
        default=None if info.is_required() else info.get_default(call_default_factory=True),
        title=info.title or "",
        help=info.description or "",
        flag=extra["flag"],
        unit=extra["unit"],
        offered=extra["choices"],
        low=bounds.get("ge"),
        high=bounds.get("le"),
        longest=bounds.get("max_length"),
    )


def chosen(model: Any, names: Iterable[str]) -> list[Asked]:
    """The fields ``names`` of a model, without any all of them."""
    fields = fields_of(model)
    return [fields[name] for name in (names or fields)]


# --- Forms ---------------------------------------------------------------------------------------


class FractionField(forms.Field):
    """An exact number, written 3/5 or 0.6."""

    default_error_messages = {"fraction": _("Write a number such as 3/5 or 0.6.")}

    def to_python(self, value: str | None) -> Fraction | None:
        value = (value or "").strip()
        if not value:
            return None
        if not FRACTION.fullmatch(value) or not Fraction(value.partition("/")[2] or 1):
            raise forms.ValidationError(self.error_messages["fraction"], code="fraction")
        return Fraction(value)


class PercentField(forms.IntegerField):
    """A share, asked for in percent."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options | {"min_value": 0, "max_value": 100})

    def prepare_value(self, value: Any) -> Any:
        return round(value * 100) if isinstance(value, float) else value

    def clean(self, value: Any) -> float | None:  # type: ignore[override]
        percent = super().clean(value)
        return None if percent is None else percent / 100

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)


class WordsField(forms.CharField):
    """Ids or names, separated by blanks, commas or lines."""

    widget = forms.Textarea(attrs={"rows": 2})

    def to_python(self, value: object) -> list[str]:  # type: ignore[override]
        words = re.split(r"[\s,;]+", super().to_python(value) or "")
        return list(dict.fromkeys(word for word in words if word))

    def prepare_value(self, value: object) -> object:
        return ", ".join(value) if isinstance(value, list | tuple) else value


class LinesField(forms.CharField):
    """Texts, one a line."""

    widget = forms.Textarea(attrs={"rows": 4})

    def to_python(self, value: object) -> list[str]:  # type: ignore[override]
        text = super().to_python(value) or ""
        return [line.strip() for line in text.splitlines() if line.strip()]

    def prepare_value(self, value: object) -> object:
        return "\n".join(value) if isinstance(value, list | tuple) else value


class SchemaForm(forms.Form):
    """A form whose fields are those of ``model``."""

    model: Any

    @property
    def values(self) -> dict[str, Any]:
        """What was entered of the model's fields, without what was left empty."""
        fields = fields_of(self.model)
        return {
            name: value
            for name, value in self.cleaned_data.items()
            if name in fields and value not in (None, "")
        }

    def clean(self) -> dict[str, Any]:
        """Let the model check what its fields hold together."""
        data: dict[str, Any] = super().clean() or {}
        if not self.errors and fields_of(self.model).keys() <= self.fields.keys():
            try:
                built(self.model, self.values)
            except DomainError as refusal:
                self.add_error(None, refusal.sentence)
        return data

    @property
    def schema(self) -> Any:
        """The model of a valid form."""
        return self.model(**self.values)

    def offer(self, name: str, choices: Iterable[tuple[str, StrOrPromise]]) -> None:
        """Let a field be one of ``choices``, a list some of them."""
        old, many = self.fields[name], fields_of(self.model)[name].many
        kind = forms.MultipleChoiceField if many else forms.ChoiceField
        widget = forms.CheckboxSelectMultiple if many else forms.Select
        self.fields[name] = kind(
            choices=list(choices), widget=widget, required=old.required, initial=old.initial,
            label=old.label, help_text=old.help_text,
        )  # fmt: skip


def form_of(model: Any, *names: str) -> type[SchemaForm]:
    """A form of the fields ``names`` of ``model``, without any of all."""
    fields = {field.name: _form_field(field) for field in chosen(model, names)}
    return type(model.__name__, (SchemaForm,), {**fields, "model": model})


def _form_field(field: Asked) -> forms.Field:
    options: Any = {"label": field.title, "help_text": field.help, "required": field.required}
    if not field.many and field.default:
        options["initial"] = str(field.default) if field.type is Fraction else field.default
    if field.offered is not None:
        options["choices"] = lambda: field.choices
        if field.many:
            return forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple, **options)
        return forms.ChoiceField(**options)
    if field.type is date:
        return forms.DateField(widget=forms.DateInput({"type": "date"}), **options)
    if field.unit == "lines":
        return LinesField(initial=field.default, max_length=LINES_LIMIT, **options)
    if field.many:
        if field.unit == "comma":
            options["widget"] = forms.TextInput
        return WordsField(max_length=WORDS_LIMIT, **options)
    if field.type is bool:
        return forms.BooleanField(**options | {"required": False})
    if field.type is Fraction:
        return FractionField(**options)
    if field.unit == "percent":
        return PercentField(**options)
    if field.type is Decimal:
        return forms.DecimalField(min_value=field.low, **AMOUNT, **options)
    if field.type in (int, float):
        kind = forms.IntegerField if field.type is int else forms.FloatField
        return kind(min_value=field.low, max_value=field.high, **options)
    if field.unit:
        options["widget"] = forms.Textarea(attrs={"rows": 3})
    return forms.CharField(max_length=field.longest, **options)


# --- Commands ------------------------------------------------------------------------------------


def add_arguments(parser: Any, model: Any, *names: str, optional: Collection[str] = ()) -> None:
    """Add the arguments of the fields ``names`` of ``model`` (all of them without any)."""
    for field in chosen(model, names):
        words = field.words
        options: dict[str, Any] = {"dest": field.name, "help": (words[:1].lower() + words[1:])}
        options["help"] = options["help"].replace("%", "%%").rstrip(".")
        if field.type is bool:
            options["action"] = "store_false" if field.default else "store_true"
        else:
            options |= {"default": field.default}
            options["required"] = field.required and field.name not in optional
            options |= _argument(field)
        flag = (field.flag or field.name).replace("_", "-")
        parser.add_argument(f"--{flag}", **options)


def _argument(field: Asked) -> dict[str, Any]:
    options: dict[str, Any] = {"metavar": "N" if field.type is int else field.name.upper()}
    if field.unit == "comma":
        options["type"] = lambda text: [part.strip() for part in text.split(",") if part.strip()]
    elif field.many:
        options |= {"action": "append", "default": []}
    if field.offered is not None:
        del options["metavar"]
        options["choices"] = [value for value, _words in field.choices if value]
    elif field.type in (int, float, Fraction, date):
        options["type"] = _typed(field)
    return options


def _typed(field: Asked) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return _form_field(field).clean(text)
        except ValidationError as error:
            raise argparse.ArgumentTypeError(" ".join(error.messages)) from error

    return read


def taken(model: Any, options: Mapping[str, Any], names: Collection[str] = ()) -> dict[str, Any]:
    """What ``options`` have of the model's fields (of ``names``), without what is None."""
    wanted = [field.name for field in chosen(model, names)]
    return {name: options[name] for name in wanted if options.get(name) is not None}


def built(model: Any, values: Mapping[str, Any]) -> Any:
    """The ``model`` of ``values``, of which None and "" are left out; DomainError in words."""
    values = {name: value for name, value in values.items() if value not in (None, "")}
    for name, field in fields_of(model).items():
        named = dict(field.choices)
        if named and name in values and not {*_listed(values[name])} <= named.keys():
            sentence = f"“{field.title}” is one of: {', '.join(filter(None, named))}."
            raise DomainError(sentence, code=name)
    try:
        return model(**values)
    except PydanticError as error:
        fault = error.errors(include_url=False)[0]
        if fault["type"] == "value_error":
            raise DomainError(str(fault["ctx"]["error"])) from error
        name = str(fault["loc"][0])
        raise DomainError(_refusal(fields_of(model)[name], fault["msg"])) from error


def _listed(value: Any) -> list:
    return value if isinstance(value, list) else [value]


def _refusal(field: Asked, message: str) -> str:
    if field.low is not None and field.high is not None:
        return f"“{field.title}” is a number from {field.low:,} to {field.high:,}."
    return f"“{field.title}”: {message}."
