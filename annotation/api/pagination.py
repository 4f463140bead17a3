import base64
import json
import re
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from rest_framework import pagination
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from annotation.core.errors import DomainError

_NUMBER = re.compile(r"[0-9]{1,18}")


class Cursor(pagination.CursorPagination):
    """Pages by cursor: no count, and no page grows dearer towards the end."""

    ordering = "pk"
    page_size = 100
    page_size_query_param = "page_size"
    max_page_size = 1000

    def get_page_size(self, request: Request) -> int | None:
        """The rows of a page: a number is capped, anything else is refused."""
        text = request.query_params.get("page_size", "100")
        if not _NUMBER.fullmatch(text) or int(text) < 1:
            raise DomainError("page_size is a number from 1 to 1000.", code="page_size")
        return super().get_page_size(request)

    def decode_cursor(self, request: Request) -> pagination.Cursor | None:
        cursor = super().decode_cursor(request)
        # Positions are our own row numbers; a made-up one must not reach the database.
        if cursor and cursor.position is not None and not _NUMBER.fullmatch(cursor.position):
            raise NotFound(self.invalid_cursor_message)
        return cursor


class Since:
    """Pages of a list in the order of ``fields``, each going on where a ``since`` stopped.

    The last page has a ``since`` too: asked with it later, the list holds what came after. It
    names the last row's values, so rows that come meanwhile are neither skipped nor repeated.
    """

    PARAMETERS = ("since", "page_size")

    def __init__(self, fields: tuple[str, ...] = ("pk",)) -> None:
        self.fields = fields

    def page(self, request: Request, rows: QuerySet) -> tuple[list, dict]:
        """The rows of this page, and ``since`` and ``more`` for its answer."""
        size, since = self._size(request), request.query_params.get("since", "")
        if since:
            rows = rows.filter(self._after(rows.model, since))
        page = list(rows.order_by(*self.fields)[: size + 1])
        more, page = len(page) > size, page[:size]
        return page, {"since": self._name(page[-1]) if page else since, "more": more}

    def _size(self, request: Request) -> int:
        text = request.query_params.get("page_size", "100")
        if not re.fullmatch(r"[0-9]{1,4}", text) or not 1 <= int(text) <= 1000:
            raise DomainError("page_size is a number from 1 to 1000.", code="page_size")
        return int(text)

    def _name(self, row: Model) -> str:
        values = [str(getattr(row, field)) for field in self.fields]
        return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")

    def _after(self, model: type[Model], since: str) -> Q:
        try:
            padded = since + "=" * (-len(since) % 4)
            values = json.loads(base64.b64decode(padded.encode("ascii"), b"-_", validate=True))
            fields: list[Any] = [
                model._meta.pk if f == "pk" else model._meta.get_field(f) for f in self.fields
            ]
            read = [field.to_python(value) for field, value in zip(fields, values, strict=True)]
            if None in read or any(isinstance(n, int) and not 0 <= n < 2**63 for n in read):
                raise ValueError(since)
        except (ValueError, TypeError, RecursionError, ValidationError) as error:
            raise DomainError("This since was not given by this list.", code="since") from error
        after = Q()
        for n, value in enumerate(read):
            same = dict(zip(self.fields[:n], read[:n], strict=True))
            after |= Q(**same, **{f"{self.fields[n]}__gt": value})
        return after
