"""Long lists: searched, filtered, sorted, exported as listed, in pages by key.

Each page goes on where the one before ended, so that none reads what lies before it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from pydantic.dataclasses import dataclass as schema

from annotation.core import downloads
from annotation.core.errors import DomainError
from annotation.core.pages import KeyPage, page_after
from annotation.core.schema import asked, form_of

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
    """A list of a study's rows on a page.

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
        """The ``rows`` that are ``wanted``."""
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
        status: int = 200,
    ) -> HttpResponseBase:
        """The page of ``template`` with the list that the address asks for, or its CSV file."""
        form = self.form(request.GET, study)
        for asked_for in form.fields.values():
            asked_for.required = False
        wanted = form.schema if form.is_valid() else self.model()
        if request.GET.get("format") == "csv" and form.is_valid():
            body = downloads.csv_lines(self.exported(study, rows, wanted))
            response = StreamingHttpResponse(body, content_type=downloads.CHART_TYPES["csv"])
            name = f"{study.slug}-{self.name}.csv"
            response["Content-Disposition"] = f'attachment; filename="{name}"'
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
        status = 400 if form.errors else status
        return render(request, template, context | listed, status=status)
