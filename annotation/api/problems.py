"""Every error of the API as ``application/problem+json`` (RFC 9457)."""

from http import HTTPStatus

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import set_rollback

from annotation.core import logs, unavailable, uploads
from annotation.core.errors import DomainError


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
        status, code, detail = 503, "unavailable", unavailable.words(error)[1]
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
