"""Shared code of the API's views of a study: allowed parameters, rows in bulk, lists by key."""

from collections.abc import Callable
from typing import Any

from django.db import IntegrityError, transaction
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.accounts.models import User
from annotation.api.models import IdempotentCall
from annotation.core.errors import Conflict, DomainError

KEY_LIMIT = 200
KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="Names this call. Sent again with the same body, it is answered, not repeated.",
)


class StudyView(APIView):
    """A view whose query parameters are those of ``parameters``: any other one is a 400.

    A filter with a typing error in it would otherwise answer everything.
    """

    permission_classes = [IsAuthenticated]
    parameters: tuple[str, ...] = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse unknown query parameters, after the caller is authenticated."""
        super().initial(request, *args, **kwargs)
        unknown = sorted(set(request.query_params) - set(self.parameters))
        if unknown:
            names = ", ".join(self.parameters) or "none"
            sentence = f"There is no parameter “{unknown[0][:80]}” here. Known: {names}."
            raise DomainError(sentence, code="unknown_parameter")


def validated(
    body: type[serializers.BaseSerializer], data: Any, *, partial: bool = False
) -> dict[str, Any]:
    """``data`` as ``body`` reads it, ``partial`` without defaults. Raises ValidationError."""
    reading = body(data=data, partial=partial)
    reading.is_valid(raise_exception=True)
    return dict(reading.validated_data)


def once(request: Request, act: Callable[[], tuple[int, dict]]) -> Response:
    """Carry out ``act`` (status and answer, in one transaction) once for the caller's key.

    Without the header it is simply carried out. The same key with the same body gets the first
    call's answer with status 200; Conflict where its body or path was another.
    """
    key = request.headers.get("Idempotency-Key", "")
    if len(key) > KEY_LIMIT or "\x00" in key:
        raise DomainError(f"An Idempotency-Key has up to {KEY_LIMIT} characters.", code="key")
    if not key:
        status, answer = act()
        return Response(answer, status=status)
    digest = IdempotentCall.digest_of(request.path, request.data)
    try:
        with transaction.atomic():
            if earlier := _earlier(request.user, key, digest):
                return earlier
            status, answer = act()
            fields = {"digest": digest, "status": status, "answer": answer}
            IdempotentCall.objects.create(user=request.user, key=key, **fields)
    except IntegrityError:
        # The same call came twice at once, and the other one was first.
        if earlier := _earlier(request.user, key, digest):
            return earlier
        raise
    return Response(answer, status=status)


def _earlier(user: User, key: str, digest: str) -> Response | None:
    call = IdempotentCall.objects.filter(user=user, key=key).first()
    if call is None:
        return None
    if call.digest != digest:
        raise Conflict("This Idempotency-Key was used for another call.", code="key_used")
    return Response(call.answer, status=200)
