"""Values of tables that have types, as Parquet, or only text, as CSV."""

import math
from typing import Any

from annotation.core.errors import DomainError
from annotation.datasets.release_files import json_of


def whole_of(value: Any) -> Any:
    """A whole number that a table of text has as digits; anything else as it is."""
    digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19
    return int(value) if digits else value


def revision_of(value: Any) -> int:
    """How often the judgment was changed, from 1; 1 where that is no such number."""
    number = whole_of(value)
    return number if type(number) is int and 1 <= number < 1 << 15 else 1


def decimal_of(value: Any) -> float | None:
    """A number, also of a table of text; None for anything else."""
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except ValueError:
        number = math.nan
    return number if math.isfinite(number) else None


def list_of(row: dict, column: str) -> Any:
    """The JSON list of a column that may lack."""
    return json_of(row, column) if row.get(column) else []


def texts_of(row: dict, column: str) -> list[str]:
    value = row.get(column)
    value = json_of(row, column) if isinstance(value, str) else value or []
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise DomainError(f"“{column}” is no list of text")
    return value
