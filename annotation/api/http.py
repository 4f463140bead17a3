"""How every answer of the API is given: bodies are read, lists paged, errors as in RFC 9457."""

import re
from collections.abc import Callable
from http import HTTPStatus
from typing import IO, Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404
from rest_framework import exceptions, pagination
from rest_framework.exceptions import NotFound, ParseError
from rest_framework.parsers import JSONParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import set_rollback

from annotation.core import logs, records, views
from annotation.core.errors import DomainError
from annotation.core.pages import behind, key_of


class ProblemRenderer(JSONRenderer):
    media_type = "application/problem+json"
    format = "problem"


def handle(error: Exception, context: dict) -> Response | None:
    """Turn a refusal into a problem document; anything else is a fault of ours and goes on."""
    error = views.refusal_of(error) or error
    headers, members = {}, {}
    if isinstance(error, DomainError):
        status, code, detail = error.status, error.code, error.sentence
        members = getattr(error, "members", {})
    elif isinstance(error, Http404):
        status, code, detail = 404, "not_found", "There is no such thing, or it is not yours."
    elif isinstance(error, PermissionDenied):
        status, code, detail = 403, "forbidden", "Your role in this study does not include this."
    elif views.is_outage(error):
        views.note_outage(error)
        status, code, detail = 503, "unavailable", views.explained(error)[1]
        headers |= views.RETRY
    elif isinstance(error, exceptions.APIException):
        status, code, detail = error.status_code, error.default_code, _sentence(error.detail)
        headers = _headers(error)
    else:
        return None
    set_rollback()
    return problem(context["request"], status, code, detail, headers, members)


def problem(
    request: Request,
    status: int,
    code: str,
    detail: str,
    headers: dict | None = None,
    members: dict | None = None,
) -> Response:
    """A problem document; ``code`` is the machine's name for what happened.

    ``members`` are further ones of the document (RFC 9457, section 3.2).
    """
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    body |= {"code": code, "detail": detail, "request": logs.request_id.get(), **(members or {})}
    response = Response(body, status=status, headers=headers)
    if status == 503:
        response._has_been_logged = True  # in one line already: note_outage
    response.content_type = ProblemRenderer.media_type
    # The view may have failed before it chose a renderer.
    request.accepted_renderer = ProblemRenderer()
    request.accepted_media_type = ProblemRenderer.media_type
    return response


def _sentence(detail: object) -> str:
    if isinstance(detail, dict):
        return " ".join(f"{field}: {_sentence(inner)}" for field, inner in detail.items())
    if isinstance(detail, list):
        return " ".join(_sentence(inner) for inner in detail)
    return str(detail)


def _headers(error: exceptions.APIException) -> dict:
    headers = {}
    if getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = error.auth_header
    if getattr(error, "wait", None):
        headers["Retry-After"] = str(int(error.wait) + 1)
    return headers


_NUMBER = re.compile(r"[0-9]{1,18}")
MOST_ROWS = 1000


def _page_size(request: Request, *, capped: bool = False) -> int:
    """How many rows a page is to have; DomainError where that is no number, or more than may be."""
    text = request.query_params.get("page_size", "100")
    number = int(text) if _NUMBER.fullmatch(text) else 0
    if number < 1 or (number > MOST_ROWS and not capped):
        sentence = f"page_size is a number from 1 to {MOST_ROWS}."
        raise DomainError(sentence, code="page_size")
    return min(number, MOST_ROWS)


class Cursor(pagination.CursorPagination):
    """Pages by cursor: no count, and no page grows dearer towards the end."""

    ordering = "pk"
    page_size = 100
    page_size_query_param = "page_size"
    max_page_size = MOST_ROWS

    def get_page_size(self, request: Request) -> int:
        """The rows of a page: a number is capped, anything else is refused."""
        return _page_size(request, capped=True)

    def decode_cursor(self, request: Request) -> pagination.Cursor | None:
        cursor = super().decode_cursor(request)
        # Positions are our own row numbers; a made-up one must not reach the database.
        if cursor and cursor.position is not None and not _NUMBER.fullmatch(cursor.position):
            raise NotFound(self.invalid_cursor_message)
        return cursor


def page_since(
    request: Request,
    rows: QuerySet,
    shown: Callable[[Any], dict],
    order: tuple[str, ...] = ("pk",),
) -> dict:
    """A page of a list in ``order``, going on where the request's ``since`` stopped.

    The last page has a ``since`` too: asked with it later, the list holds what came after. It
    names the last row's values, so rows that come meanwhile are neither skipped nor repeated.
    """
    size, since = _page_size(request), request.query_params.get("since", "")
    page = list(behind(rows, order, since)[: size + 1])
    more, page = len(page) > size, page[:size]
    since = key_of(page[-1], order) if page else since
    return {"results": [shown(row) for row in page], "since": since, "more": more}


class StrictJSONParser(JSONParser):
    """JSON objects that PostgreSQL can store: no NaN, NUL, lone surrogate or bottomless nesting."""

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None
    ) -> dict:
        try:
            return records.parse(stream.read() or b"{}")
        except records.BrokenRecordError as error:
            reason = str(error).replace("the line", "it")
            raise ParseError(f"The body cannot be read: {reason}.") from None
