"""How a view ends, pages of long lists by number or by key, and parts that htmx asks for."""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Page, Paginator
from django.db.models import Model, Q, QuerySet
from django.forms import BaseForm, BoundField
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext_lazy as _
from pydantic.dataclasses import dataclass as schema

from annotation.core import downloads
from annotation.core.errors import DomainError
from annotation.core.schema import asked, form_of
from annotation.core.words import StrOrPromise


def done(request: HttpRequest, sentence: str, to: str, *args: Any) -> HttpResponse:
    """Say in a message that an act succeeded, on the page named ``to`` with ``args``."""
    messages.success(request, sentence)
    return redirect(to, *args)


def status_of(context: dict) -> int:
    """That of the ``refusal`` in a page's context, if there is one; 400 where a form has errors."""
    if isinstance(context.get("refusal"), DomainError):
        return context["refusal"].status
    forms = (value for value in context.values() if isinstance(value, BaseForm))
    return 400 if any(form.errors for form in forms) else 200


def show(request: HttpRequest, template: str, context: dict) -> HttpResponse:
    """The page of ``template``, with ``status_of`` the context."""
    return render(request, template, context, status=status_of(context))


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
    request: HttpRequest, template: str, part: str, context: dict, status: int = 0
) -> HttpResponse:
    """The page of ``template``; its partial ``part`` alone where htmx asks and one is named."""
    if part and request.headers.get("HX-Request") == "true":
        template = f"{template}#{part}"
    response = render(request, template, context, status=status or status_of(context))
    patch_vary_headers(response, ["HX-Request"])
    return response


def in_groups(
    form: BaseForm, groups: Iterable[tuple[StrOrPromise, tuple[str, ...]]]
) -> Iterator[tuple[StrOrPromise, list[BoundField]]]:
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
            column = name.removeprefix("-")
            if not _comparable(value):
                raise ValueError(after)
            left |= Q(**same, **{f"{column}__{'lt' if name[0] == '-' else 'gt'}": value})
            same[column] = value
        return rows.filter(left)
    except (ValueError, TypeError, RecursionError, ValidationError) as error:
        raise DomainError("This place was not given by this list.", code="since") from error


def _comparable(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    return "\x00" not in value if isinstance(value, str) else abs(value) < 2**63


# --- Long lists: searched, filtered, sorted, exported as listed, in pages by key ------------------

EXPORTED = 2_000
# What a value of a filter leaves of the rows of a study.
Rule = Callable[[QuerySet, Any, Any], QuerySet]


@schema(frozen=True)
class Wanted:
    """What a list without filters of its own asks for."""

    q: str = asked(_("Search"), "", max_length=200)
    sort: str = asked(_("Order"), "", choices={"": _("oldest first"), "newest": _("newest first")})


def words_in(*names: str) -> Rule:
    """The rule that leaves rows in one of whose fields the words occur."""

    def rule(rows: QuerySet, study: Any, words: str) -> QuerySet:
        return rows.filter(reduce(or_, (Q(**{f"{name}__icontains": words}) for name in names)))

    return rule


@dataclass(frozen=True)
class Listing:
    """A list of a study's rows on a page, or of studies (its study is None).

    ``columns`` {head: value of a row} are what is exported, ``rules`` {field of ``model``: its
    rule}, ``orders`` {value of ``sort``: fields that together are unique and never null}. ``form``
    makes the form of a request and a study, ``first`` of its fields stand beside the search, and
    ``shown`` gives the rows of a page what it says of them.
    """

    name: str
    columns: Mapping[str, Callable[[Any], Any]]
    rules: Mapping[str, Rule]
    orders: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: {"": ("pk",), "newest": ("-pk",)}
    )
    model: Any = Wanted
    form: Callable[[Any, Any], Any] = lambda data, study: form_of(Wanted)(data)
    first: tuple[str, ...] = ("sort",)
    shown: Callable[[list], list] = list
    size: int = 50

    def listed(self, study: Any, rows: QuerySet, wanted: Any) -> QuerySet:
        for name, rule in self.rules.items():
            if value := getattr(wanted, name):
                rows = rule(rows, study, value)
        return rows

    def page(
        self, study: Any, rows: QuerySet, wanted: Any, after: str = "", size: int = 0
    ) -> KeyPage:
        """A page of them, after the key that the page before ended with."""
        rows = self.listed(study, rows, wanted)
        page = page_after(rows, self.orders[wanted.sort], after, size or self.size)
        page.rows = self.shown(page.rows)
        return page

    def exported(self, study: Any, rows: QuerySet, wanted: Any) -> Iterator[Iterable]:
        """All of them for a CSV file, the names of its columns first."""
        yield tuple(self.columns)
        after = ""
        while page := self.page(study, rows, wanted, after, EXPORTED):
            for row in page.rows:
                yield [value(row) for value in self.columns.values()]
            if not page.after:
                return
            after = page.after

    def answer(
        self,
        request: HttpRequest,
        study: Any,
        rows: QuerySet,
        template: str,
        context: dict,
    ) -> HttpResponseBase:
        """The page of ``template`` with the list that the address asks for, or its CSV file."""
        form = self.form(request.GET, study)
        for asked_for in form.fields.values():
            asked_for.required = False
        wanted = form.schema if form.is_valid() else self.model()
        if request.GET.get("format") == "csv" and form.is_valid():
            body = downloads.csv_lines(self.exported(study, rows, wanted))
            response = StreamingHttpResponse(body, content_type=downloads.CHART_TYPES["csv"])
            name = f"{study.slug}-{self.name}" if study else self.name
            response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
            return response
        try:
            page = self.page(study, rows, wanted, request.GET.get("after", ""))
        except DomainError as refusal:
            messages.error(request, refusal.sentence)
            return redirect(request.path)
        listed = {
            "study": study,
            "page": page,
            "list_form": form,
            "list_first": [form[name] for name in ("q", *self.first)],
            "list_others": [form[name] for name in form.fields if name not in ("q", *self.first)],
            "filtered": form.is_valid() and any(form.values.values()),
        }
        return show(request, template, context | listed)
