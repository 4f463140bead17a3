"""Pages of long lists, and parts of pages that htmx asks for."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.forms import BaseForm, BoundField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


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
