"""Pages of long lists by key: each goes on where the one before ended, and none counts rows."""

import base64
import json
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet

from annotation.core.errors import DomainError


@dataclass
class Page:
    """The rows of a page, the key after which the next one begins ("" where this is the last)."""

    rows: list
    after: str
    first: bool


def page_after(rows: QuerySet, order: tuple[str, ...], after: str, size: int) -> Page:
    """``size`` of the ``rows`` in ``order``, whose fields together are unique and never null.

    ``after`` is the key of the page before; DomainError where it is none.
    """
    page = list(behind(rows, order, after)[: size + 1])
    more, page = len(page) > size, page[:size]
    return Page(page, key_of(page[-1], order) if more else "", not after)


def key_of(row: Model, order: tuple[str, ...]) -> str:
    """The place of ``row`` in a list in ``order``."""
    values = [getattr(row, name.removeprefix("-")) for name in order]
    text = json.dumps(values, default=str)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def behind(rows: QuerySet, order: tuple[str, ...], after: str) -> QuerySet:
    """The ``rows`` in ``order`` that come after the key ``after``, all without one."""
    rows = rows.order_by(*order)
    if not after:
        return rows
    try:
        padded = (after + "=" * (-len(after) % 4)).encode("ascii")
        values = json.loads(base64.b64decode(padded, b"-_", validate=True))
        left, same = Q(), {}
        for name, value in zip(order, values, strict=True):
            field = name.removeprefix("-")
            if not _comparable(value):
                raise ValueError(after)
            left |= Q(**same, **{f"{field}__{'lt' if name[0] == '-' else 'gt'}": value})
            same[field] = value
        return rows.filter(left)
    except (ValueError, TypeError, RecursionError, ValidationError) as error:
        raise DomainError("This place was not given by this list.", code="since") from error


def _comparable(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    return "\x00" not in value if isinstance(value, str) else abs(value) < 2**63
