"""How a call of the API is declared: guard, what it takes, what it answers, and its key."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from operator import attrgetter
from typing import Any

from django.db import IntegrityError, transaction
from django.http.response import HttpResponseBase
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.accounts.models import User
from annotation.api.bodies import serializer_of
from annotation.api.models import IdempotentCall
from annotation.core.errors import Conflict, DomainError
from annotation.core.schema import built
from annotation.policies import Policy
from annotation.studies.access import study_for

KEY_LIMIT = 200
KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="Names this call. Sent again with the same body, it is answered, not repeated.",
)


class StudyView(APIView):
    """A view for whoever is logged in or has a token; its methods are declared by ``call``."""

    permission_classes = [IsAuthenticated]


def shown(row: Any, *names: str, **paths: str) -> dict:
    """The attributes ``names`` of ``row``, and what stands at the dotted ``paths``.

    null where the last step of a path but one is None.
    """
    values = {name: getattr(row, name) for name in names}
    for name, path in paths.items():
        above, _dot, last = path.rpartition(".")
        holder = attrgetter(above)(row) if above else row
        values[name] = None if holder is None else getattr(holder, last)
    return values


class AddressField(serializers.CharField):
    """The address ``name`` of a row, with what stands at its dotted ``paths`` as parts."""

    def __init__(self, name: str, *paths: str) -> None:
        super().__init__(read_only=True, source="*")
        self.address, self.paths = name, paths

    def to_representation(self, row: Any) -> str:
        parts = [attrgetter(path)(row) for path in self.paths]
        return self.context["request"].build_absolute_uri(reverse(self.address, args=parts))


def _refuse_unknown(request: Request, names: list[str]) -> None:
    """A filter with a typing error in it would answer everything: DomainError."""
    if unknown := sorted(set(request.query_params) - set(names)):
        listed = ", ".join(names) or "none"
        sentence = f"There is no parameter “{unknown[0][:80]}” here. Known: {listed}."
        raise DomainError(sentence, code="unknown_parameter")


def validated(
    body: type[serializers.BaseSerializer], data: Any, *, partial: bool = False
) -> dict[str, Any]:
    """``data`` as ``body`` reads it, ``partial`` without defaults. Raises ValidationError."""
    reading = body(data=data, partial=partial)
    reading.is_valid(raise_exception=True)
    return dict(reading.validated_data)


def _names(part: OpenApiParameter | type[serializers.Serializer]) -> list[str]:
    """The query parameters that a part of the documentation stands for."""
    if isinstance(part, OpenApiParameter):
        return [part.name] if part.location == OpenApiParameter.QUERY else []
    return list(part().fields)


@functools.cache
def _serializer(kind: Any) -> Any:
    """The serializer of a pydantic class, the same each time; anything else as it is."""
    if not hasattr(kind, "__pydantic_fields__"):
        return kind
    return serializer_of(kind, title=f"{kind.__name__}Body")


@dataclass
class Call:
    """What a call has in common with all others: guard, body, answer and its place in the schema.

    The method gets the study of the address, where ``guard`` is a policy, or what another guard
    finds for (user, **address); and what was sent as the serializer or pydantic class ``takes``
    reads it: the query's parameters of a GET, else the body (``form``: multipart; ``partial``: a
    mapping of what is named). What it returns is given as ``answer``, a serializer or pydantic
    class (``many`` of it), with ``status``. ``key``: an Idempotency-Key makes it happen once,
    unless it is a ``dry_run``. ``location`` names the answer's field with the address of what was
    made. Query parameters that are neither documented nor among ``also`` are a 400.

    ``request`` and ``responses`` stand in the schema where ``takes`` and ``answer`` do not say it.
    """

    guard: Policy | Callable[..., Any] | None = None
    _: KW_ONLY
    name: str | None = None
    takes: Any = None
    partial: bool = False
    form: bool = False
    answer: Any = OpenApiTypes.OBJECT
    many: bool = False
    status: int = 200
    key: bool = False
    location: str = ""
    parameters: Sequence[OpenApiParameter | type[serializers.Serializer]] = ()
    also: Sequence[str] = ()
    request: Any = None
    responses: Any = None

    def __call__(self, method: Callable) -> Callable:
        """The method of a view, which gets a request and the parts of its address."""
        reads = method.__name__ == "get"
        body = _serializer(self.takes)
        described = [*self.parameters, *([body] if body and reads else [])]
        described += [KEY] if self.key else []
        names = [*(name for part in described for name in _names(part)), *self.also]

        @functools.wraps(method)
        def answered(view: APIView, request: Request, **address: Any) -> Response:
            _refuse_unknown(request, names)
            arguments, address = self._guarded(request.user, address)
            if body:
                arguments.append(self._taken(request.query_params if reads else request.data))
            act = functools.partial(method, view, request, *arguments, **address)
            if self.key and not _is_dry(arguments):
                response = once(request, lambda: (self.status, self._shown(act(), view)))
            elif not isinstance(response := act(), HttpResponseBase):
                response = Response(self._shown(response, view), status=self.status)
            if self.location:
                response.headers["Location"] = response.data[self.location]
            return response

        sent = self.request if reads else self.request or body
        return extend_schema(
            operation_id=self.name,
            parameters=described,
            request={"multipart/form-data": sent} if self.form else sent,
            responses=self.responses or {self.status: self._schema()},
        )(answered)

    def _guarded(self, user: User, address: dict) -> tuple[list, dict]:
        """The method's first arguments, and what is left of the address."""
        if isinstance(self.guard, Policy):
            return [study_for(user, address.pop("slug"), self.guard)], address
        return ([self.guard(user, **address)], {}) if self.guard else ([], address)

    def _taken(self, data: Any) -> Any:
        body = _serializer(self.takes)
        values = validated(body, data, partial=self.partial)
        return values if self.partial or body is self.takes else built(self.takes, values)

    def _schema(self) -> Any:
        answer = _serializer(self.answer)
        return answer(many=True) if self.many else answer

    def _shown(self, result: Any, view: APIView) -> Any:
        """The answer's JSON; a mapping is given as it is."""
        kind = _serializer(self.answer)
        written = isinstance(kind, type) and issubclass(kind, serializers.BaseSerializer)
        if not written or isinstance(result, dict):
            return result
        context = {"request": view.request, "view": view}
        return kind(result, many=self.many, context=context).data


call = Call


def _is_dry(arguments: list) -> bool:
    """Whether what was taken, the last of the arguments, asks to make nothing."""
    taken = arguments[-1] if arguments else None
    values = taken if isinstance(taken, dict) else getattr(taken, "__dict__", {})
    return bool(values.get("dry_run"))


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
