"""The API's bodies, derived from the schemas of acts (``annotation.core.schema``)."""

from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import isnan
from typing import Any

from django.core.exceptions import ValidationError
from rest_framework import serializers

from annotation.core.schema import AMOUNT, Asked, FractionField, chosen


class Number(serializers.FloatField):
    """A finite number: NaN would pass every bound."""

    def to_internal_value(self, data: Any) -> float:
        value = super().to_internal_value(data)
        if isnan(value):
            self.fail("invalid")
        return value


class ExactNumber(serializers.CharField):
    """An exact number, written 2/3 or 0.5."""

    def to_internal_value(self, data: Any) -> Fraction | None:
        try:
            return FractionField(required=False).clean(super().to_internal_value(data))
        except ValidationError as error:
            raise serializers.ValidationError("write a number such as 2/3 or 0.5") from error


class Choice(serializers.ChoiceField):
    """One of the values that are known when the request comes."""

    def __init__(self, field: Asked, **options: Any) -> None:
        super().__init__(choices=[value for value, _words in field.choices], **options)

    def __deepcopy__(self, memo: dict) -> "Choice":
        # A copy asks for the values again.
        return type(self)(*self._args, **self._kwargs)


def serializer_of(model: Any, *names: str, title: str = "") -> type[serializers.Serializer]:
    """The body of the fields ``names`` of ``model`` (all of them without any)."""
    fields: dict[str, Any] = {field.name: _body(field) for field in chosen(model, names)}
    doc = model.__doc__ if not (model.__doc__ or "").startswith(f"{model.__name__}(") else ""
    return type(title or model.__name__, (serializers.Serializer,), fields | {"__doc__": doc})


def _body(field: Asked) -> serializers.Field:
    options: Any = {"help_text": field.words}
    if not field.required and field.default is not None:
        options["default"] = list if field.many else field.default
    elif not field.required:
        options |= {"required": False, "allow_null": True}
    if not field.many:
        return _single(field, options)
    return serializers.ListField(
        child=_single(field, {}, several=True), max_length=field.longest, **options
    )


def _single(field: Asked, options: dict, several: bool = False) -> serializers.Field:
    if field.offered is not None:
        return Choice(field, **options | ({"allow_blank": True} if field.default == "" else {}))
    if field.type is bool:
        return serializers.BooleanField(**options)
    if field.type is Fraction:
        if "default" in options:
            options["default"] = Fraction(options["default"])
        return ExactNumber(**options)
    if field.type is Decimal:
        return serializers.DecimalField(min_value=field.low, **AMOUNT, **options)
    if field.type in (int, float):
        kind = serializers.IntegerField if field.type is int else Number
        return kind(min_value=field.low, max_value=field.high, **options)
    if field.type in (dict, date):
        kind = serializers.DictField if field.type is dict else serializers.DateField
        return kind(**options)
    options["max_length"] = 200 if several else field.longest
    return serializers.CharField(**options, allow_blank=not (field.required or several))
