"""Pages of long lists."""

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet


def page_of(rows: QuerySet, size: int, number: str | None) -> Page:
    """A page of ``size`` of the ``rows``, of which the database sorts the keys alone.

    Rows are wide: sorting a hundred thousand of them takes twice as long. ``number`` is the page
    that a visitor asks for; the nearest stands in for a wrong one.
    """
    page: Page = Paginator(rows.values_list("pk", flat=True), size).get_page(number)
    by_key = rows.order_by().in_bulk(list(page))
    page.object_list = [by_key[pk] for pk in page if pk in by_key]
    return page
