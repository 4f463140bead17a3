"""What is known of personas: short statements with the conversations that they come from."""

from collections.abc import Iterable

from django.db import transaction

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.core.rows import chunks
from annotation.personas.models import Attribute, Evidence
from annotation.studies.models import Study

CHUNK = 2_000


@transaction.atomic
def add(study: Study, records: list[dict], *, by: User | None = None) -> int:
    """Add an uploaded file's attributes, all or none; how many are new.

    Raises DomainError where the study has one of them with other words.
    """
    added = 0
    for chunk in chunks(records, CHUNK):
        new, clashes = save_all(study, chunk, by=by)
        added += new
        if clashes:
            raise DomainError(f"Nothing was imported: {clash(min(clashes))}.", code="attribute")
    return added


@transaction.atomic
def save_all(study: Study, records: list[dict], *, by: User | None = None) -> tuple[int, set[str]]:
    """Add the attributes that the study does not have; how many, and the ids that clash.

    Records as of the bundle's attributes.jsonl, their personas there already. An attribute is never
    edited: a record whose id the study has with other words is left out, and its id returned. Call
    it with a few thousand at a time.
    """
    personas = dict(study.personas.values_list("external_id", "pk"))
    stored = _stored(study, [record["id"] for record in records])
    new = [record for record in records if record["id"] not in stored]
    made = Attribute.objects.bulk_create(
        Attribute(
            persona_id=personas[record["persona"]],
            external_id=record["id"],
            text=record["text"],
            confidence=record["confidence"],
            model=record["model"],
        )
        for record in new
    )
    Evidence.objects.bulk_create(
        Evidence(attribute=attribute, number=number, messages=messages, source=_source(record))
        for attribute, record in zip(made, new, strict=True)
        for number, messages in enumerate(record["conversations"], start=1)
    )
    if made:
        audit.record(by, "attributes.add", study, attributes=len(made))
    return len(made), {
        record["id"]
        for record in records
        if record["id"] in stored and stored[record["id"]] != record | {"source": _source(record)}
    }


def _source(record: dict) -> str:
    """Of whom the record's conversations are; "" without any."""
    return record.get("source", "") if record["conversations"] else ""


def clash(key: str) -> str:
    """The sentence about an attribute whose id the study has with other words."""
    return (
        f"the study has another attribute “{key}”, and people may have seen it: give the new one "
        "an id of its own"
    )


def _stored(study: Study, ids: Iterable[str]) -> dict[str, dict]:
    """{id: the attribute as a record} of those that the study has."""
    there = Attribute.objects.filter(persona__study=study, external_id__in=ids)
    return {
        attribute.external_id: {
            "id": attribute.external_id,
            "persona": attribute.persona.external_id,
            "text": attribute.text,
            "confidence": attribute.confidence,
            "model": attribute.model,
            "conversations": [evidence.messages for evidence in attribute.evidence.all()],
            "source": next((evidence.source for evidence in attribute.evidence.all()), ""),
        }
        for attribute in there.select_related("persona").prefetch_related("evidence")
    }
