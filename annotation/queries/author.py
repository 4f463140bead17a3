"""Writing queries, gold responses with their claims, and rubrics: in versions.

Once somebody or something has answered a query, a change is a new version; gold responses and
rubrics are never rewritten.
"""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import Conflict, DomainError
from annotation.core.records import transcript
from annotation.queries.models import Example, GoldClaim, GoldResponse, Query, Rubric
from annotation.studies.models import Study

FIELDS = (
    *("persona_id", "text", "messages", "need", "type", "scenario"),
    *("asked_on", "owner_id", "language", "guide", "ready"),
)
EXAMPLE = ("person", "text", "memories")
# Of queries that curators write: they have no owner.
PLAIN: dict[str, Any] = {
    "owner_id": None,
    "language": "",
    "guide": {},
    "ready": True,
    "messages": [],
    "asked_on": None,
}
TEXT_LIMIT = 50_000
CLAIMS_LIMIT, CLAIM_LIMIT = 200, 2_000


@transaction.atomic
def save_query(study: Study, external_id: str, *, by: User | None = None, **fields: Any) -> Query:
    """Return the current query of this id with these ``fields`` (FIELDS; PLAIN where left out).

    It is made where the study has none. Where its fields differ, it is rewritten as long as it has
    neither answers nor items, and replaced by a new version after that. A conversation whose text
    is left as it is stays one, and the language stays. Raises Conflict where the query has another
    owner.
    """
    # Two people who write the first version at once take turns.
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    rows = study.queries.select_for_update().filter(external_id=external_id, replaced_at=None)
    current = rows.first()
    fields = PLAIN | _kept(current, fields) | fields
    if current and current.owner_id != fields["owner_id"]:
        raise Conflict(_("This is its owner's query: nobody else can change it."), code="owned")
    if current and all(getattr(current, name) == fields[name] for name in FIELDS):
        return current
    if current is None:
        query = Query.objects.create(study=study, external_id=external_id, **fields)
    elif frozen(current):
        current.replaced_at = timezone.now()
        current.save(update_fields=["replaced_at"])
        query = Query.objects.create(
            study=study, external_id=external_id, version=current.version + 1, **fields
        )
    else:
        query = current
        for name in FIELDS:
            setattr(query, name, fields[name])
        query.save(update_fields=FIELDS)
    audit.record(by, "query.save", query, version=query.version)
    return query


def _kept(current: Query | None, fields: dict) -> dict:
    """Of the current version the language, and the messages where its text does not change."""
    if current is None:
        return {}
    same = {"messages": current.messages} if current.text == fields["text"] else {}
    return {"language": current.language} | same


def frozen(query: Query) -> bool:
    """Whether somebody or something has answered it, so that a change is a new version."""
    return query.items.exists() or query.candidates.exists()


def save_all(study: Study, records: list[dict], *, by: User | None = None) -> int:
    """Save records of a bundle's queries, new ones in bulk; how many were new or changed.

    ``persona`` is a persona's external id or None. Part of the caller's transaction; call it with
    a few thousand at a time.
    """
    named = {record["persona"] for record in records} - {None}
    people = study.personas.filter(external_id__in=named)
    personas = dict(people.values_list("external_id", "pk"))
    ids = [record["id"] for record in records]
    there = study.queries.filter(external_id__in=ids, replaced_at=None)
    stored = {query.external_id: query for query in there}
    new, changed = [], 0
    for record in records:
        fields = {name: record[name] for name in ("text", "need", "type", "scenario")}
        fields |= {"asked_on": record.get("asked_on")}
        fields |= {"persona_id": record["persona"] and personas[record["persona"]]}
        if record.get("language"):
            fields |= {"language": record["language"]}
        if record.get("messages"):
            fields |= {"messages": record["messages"], "text": transcript(record["messages"])}
        current = stored.get(record["id"])
        fields = PLAIN | _kept(current, fields) | fields
        if current is None:
            new.append(Query(study=study, external_id=record["id"], **fields))
        elif any(getattr(current, name) != fields[name] for name in FIELDS):
            save_query(study, record["id"], by=by, **fields)
            changed += 1
    Query.objects.bulk_create(new)
    if new:
        audit.record(by, "queries.add", study, queries=len(new))
    return len(new) + changed


@transaction.atomic
def set_examples(study: Study, records: list[dict], *, by: User | None = None) -> None:
    """Let ``records`` (rows of bundle_rows.Example) be the study's pool of example questions.

    Proposals keep the example that was drawn for them.
    """
    study.examples.all().delete()
    Example.objects.bulk_create(
        Example(study=study, external_id=record["id"], **{key: record[key] for key in EXAMPLE})
        for record in records
    )
    audit.record(by, "examples.set", study, examples=len(records))


def newest(query: Query) -> GoldResponse | None:
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
        return _next(current, query, author, text=text, source=source)


def refine_response(response: GoldResponse, author: User) -> GoldResponse:
    """The next version of a query's newest response, with the same text and no claims yet."""
    with transaction.atomic():
        Query.objects.select_for_update(no_key=True).get(pk=response.query_id)
        current = newest(response.query) or response
        texts = {"text": current.text, "source": current.source}
        return _next(current, response.query, author, **texts)


def _next(
    current: GoldResponse | None, query: Query, author: User | None, **fields: Any
) -> GoldResponse:
    version = current.version + 1 if current else 1
    response = query.gold_responses.create(version=version, author=author, **fields)
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
        return query.rubrics.create(
            version=version, text=text, author=author, model=model, shots=shots
        )


def _checked(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\x00", "").strip()
    if not text:
        raise DomainError(_("There is no text to save."), code="text")
    if len(text) > TEXT_LIMIT:
        raise DomainError(_("A text has at most %(n)d characters.") % {"n": TEXT_LIMIT})
    return text
