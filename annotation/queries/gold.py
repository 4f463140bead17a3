"""Gold responses, their claims, and rubrics: in versions, never rewritten."""

from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.queries.models import GoldClaim, GoldResponse, Query, Rubric

TEXT_LIMIT = 50_000
CLAIMS_LIMIT, CLAIM_LIMIT = 200, 2_000


def newest(query: Query) -> GoldResponse | None:
    """The newest version of the query's gold response."""
    return query.gold_responses.order_by("-version").first()


def save_response(
    query: Query, author: User | None, text: str, *, source: UUID | None = None
) -> GoldResponse:
    """The gold response with the text ``text``: the newest one, or a new version where it differs.

    ``source`` is the id of the candidate that it started from. DomainError where there is no text.
    """
    text = _checked(text)
    with transaction.atomic():
        Query.objects.select_for_update(no_key=True).get(pk=query.pk)
        current = newest(query)
        if current and current.text == text:
            return current
        return _next(query, current, author, text, source)


def refine_response(response: GoldResponse, author: User) -> GoldResponse:
    """The next version of a query's newest response, with the same text and no claims yet."""
    with transaction.atomic():
        Query.objects.select_for_update(no_key=True).get(pk=response.query_id)
        current = newest(response.query) or response
        return _next(response.query, current, author, current.text, current.source)


def _next(
    query: Query,
    previous: GoldResponse | None,
    author: User | None,
    text: str,
    source: UUID | None,
) -> GoldResponse:
    version = previous.version + 1 if previous else 1
    response = GoldResponse.objects.create(
        query=query, version=version, text=text, author=author, source=source
    )
    audit.record(author, "gold.save", response, version=version)
    return response


def set_claims(response: GoldResponse, texts: list[str], *, model: str = "") -> int:
    """Store the claims of a response that has none yet; how many there are now."""
    with transaction.atomic():
        GoldResponse.objects.select_for_update().get(pk=response.pk)
        if not response.claims.exists():
            different = list(dict.fromkeys(text[:CLAIM_LIMIT] for text in texts))[:CLAIMS_LIMIT]
            GoldClaim.objects.bulk_create(
                GoldClaim(response=response, number=number, text=text, model=model)
                for number, text in enumerate(different, start=1)
            )
    return response.claims.count()


def newest_rubric(query: Query) -> Rubric | None:
    """The newest version of the query's rubric."""
    return query.rubrics.order_by("-version").first()


def save_rubric(
    query: Query,
    text: str,
    *,
    author: User | None = None,
    model: str = "",
    shots: list[str] | None = None,
) -> Rubric:
    """The rubric with the text ``text``: the newest one, or a new version where it differs.

    ``shots`` are the ids of the judged answers that it was written from; those of an ``author``'s
    edit are those of the version before it.
    """
    text = _checked(text)
    with transaction.atomic():
        Query.objects.select_for_update(no_key=True).get(pk=query.pk)
        current = newest_rubric(query)
        if shots is None and not model:
            shots = current.shots if current else []
        if current and (current.text, current.shots) == (text, shots):
            return current
        version = current.version + 1 if current else 1
        return Rubric.objects.create(
            query=query, version=version, text=text, author=author, model=model, shots=shots
        )


def _checked(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\x00", "").strip()
    if not text:
        raise DomainError(_("There is no text to save."), code="text")
    if len(text) > TEXT_LIMIT:
        raise DomainError(_("A text has at most %(n)d characters.") % {"n": TEXT_LIMIT})
    return text
