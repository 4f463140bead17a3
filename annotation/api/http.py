"""How every answer of the API is given: bodies are read, lists paged, errors as in RFC 9457."""

import json
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

from annotation.core import logs, unavailable, uploads
from annotation.core.errors import DomainError
from annotation.core.pages import behind, key_of

DEPTH = 50


class ProblemRenderer(JSONRenderer):
    media_type = "application/problem+json"
    format = "problem"


def handle(error: Exception, context: dict) -> Response | None:
    """Turn a refusal into a problem document; anything else is a fault of ours and goes on."""
    error = uploads.full_disk(error) or error
    headers, members = {}, {}
    if isinstance(error, DomainError):
        status, code, detail = error.status, error.code, error.sentence
        members = getattr(error, "members", {})
    elif isinstance(error, Http404):
        status, code, detail = 404, "not_found", "There is no such thing, or it is not yours."
    elif isinstance(error, PermissionDenied):
        status, code, detail = 403, "forbidden", "Your role in this study does not include this."
    elif isinstance(error, unavailable.ALL):
        unavailable.note(error)
        status, code, detail = 503, "unavailable", unavailable.explained(error)[1]
        headers |= unavailable.RETRY
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
        response._has_been_logged = True  # in one line already: unavailable.note
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
    size, since = (
        request.query_params.get("page_size", "100"),
        request.query_params.get("since", ""),
    )
    if not re.fullmatch(r"[0-9]{1,4}", size) or not 1 <= int(size) <= 1000:
        raise DomainError("page_size is a number from 1 to 1000.", code="page_size")
    page = list(behind(rows, order, since)[: int(size) + 1])
    more, page = len(page) > int(size), page[: int(size)]
    since = key_of(page[-1], order) if page else since
    return {"results": [shown(row) for row in page], "since": since, "more": more}


UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class StrictJSONParser(JSONParser):
    """JSON objects that PostgreSQL can store: no NaN, NUL, lone surrogate or bottomless nesting."""

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None
    ) -> dict:
        try:
            text = stream.read().decode("utf-8")
            data = json.loads(text or "{}", parse_constant=_refuse)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        except ValueError:
            raise ParseError("The body is not JSON in UTF-8.") from None
        if not isinstance(data, dict):
            raise ParseError("The body must be a JSON object.")
        _check(data)
        return data


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _check(value: object, depth: int = 0) -> None:
    if depth > DEPTH:
        raise ParseError("The JSON is nested too deeply.")
    if isinstance(value, str) and UNSTORABLE.search(value):
        raise ParseError("The body holds a character that cannot be stored.")
    inner = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    if isinstance(inner, list):
        for entry in inner:
            _check(entry, depth + 1)
