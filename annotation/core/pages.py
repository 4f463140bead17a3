"""How a view ends, pages of long lists by number or by key, and parts that htmx asks for."""

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Page, Paginator
from django.db.models import Model, Q, QuerySet
from django.forms import BaseForm, BoundField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers

from annotation.core.errors import DomainError

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def done(request: HttpRequest, sentence: str, to: str, *args: Any) -> HttpResponse:
    """Say in a message that an act succeeded, on the page named ``to`` with ``args``."""
    messages.success(request, sentence)
    return redirect(to, *args)


def show(request: HttpRequest, template: str, context: dict) -> HttpResponse:
    """The page of ``template``, with status 400 where a form of the ``context`` has errors."""
    forms = [value for value in context.values() if isinstance(value, BaseForm)]
    status = 400 if any(form.errors for form in forms) else 200
    return render(request, template, context, status=status)


def page_of(rows: QuerySet, size: int, number: str | None) -> Page:
    """A page of ``size`` of the ``rows``, of which the database sorts the keys alone.

    Rows are wide: sorting a hundred thousand of them takes twice as long. ``number`` is the page
    that a visitor asks for; the nearest stands in for a wrong one.
    """
    page: Page = Paginator(rows.values_list("pk", flat=True), size).get_page(number)
    by_key = rows.order_by().in_bulk(list(page))
    page.object_list = [by_key[pk] for pk in page if pk in by_key]
    return page


def is_seen(request: HttpRequest) -> bool:
    """Whether somebody gets to see the answer: no HEAD, and no page that a browser fetches ahead.

    Read marks are the one thing that a GET of a person's own pages may note.
    """
    return request.method != "HEAD" and "prefetch" not in request.headers.get("Sec-Purpose", "")


def whole_or_part(
    request: HttpRequest, template: str, part: str, context: dict, status: int = 200
) -> HttpResponse:
    """The page of ``template``; its partial ``part`` alone where htmx asks and one is named."""
    if part and request.headers.get("HX-Request") == "true":
        template = f"{template}#{part}"
    response = render(request, template, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def in_groups(
    form: BaseForm, groups: Iterable[tuple["StrOrPromise", tuple[str, ...]]]
) -> Iterator[tuple["StrOrPromise", list[BoundField]]]:
    """Legend and fields of each group; the first also takes what none names."""
    groups = list(groups)
    named = {name for _legend, names in groups for name in names}
    others = [name for name in form.fields if name not in named]
    for legend, names in groups:
        yield legend, [form[name] for name in (*names, *others) if name in form.fields]
        others = []


@dataclass
class KeyPage:
    """The rows of a page, the key after which the next one begins ("" where this is the last)."""

    rows: list
    after: str
    first: bool

    def __iter__(self) -> Iterator:
        return iter(self.rows)


def page_after(rows: QuerySet, order: tuple[str, ...], after: str, size: int) -> KeyPage:
    """``size`` of the ``rows`` in ``order``, whose fields together are unique and never null.

    ``after`` is the key of the page before; DomainError where it is none.
    """
    page = list(behind(rows, order, after)[: size + 1])
    more, page = len(page) > size, page[:size]
    return KeyPage(page, key_of(page[-1], order) if more else "", not after)


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
