"""What curators do with personas: write, drop and restore them, and collect what is known of them.

That is their memories and attributes: short statements with the conversations they come from.
"""

import json
from collections import Counter
from collections.abc import Iterable
from datetime import date

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from pydantic.dataclasses import dataclass as schema

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.core.records import chunks
from annotation.core.schema import asked
from annotation.personas.models import Attribute, Evidence, Memory, Persona, PersonaVersion
from annotation.studies.models import Study

# Round 1 of curation asks for authenticity and consistency, round 2 for diversity and balance.
ROUNDS = {
    _("Round 1: authentic and consistent"): {
        "disconnected": _("disconnected from modern life"),
        "over-idealised": _("over-idealised"),
        "self-contradictory": _("self-contradictory"),
        "dramatised": _("dramatised"),
        "stereotyped": _("stereotyped"),
    },
    _("Round 2: diverse and balanced"): {
        "crowded-profession": _("a profession that many others have"),
        "crowded-interest": _("interests that many others have"),
        "crowded-habit": _("habits that many others have"),
        "near-duplicate": _("too similar to another persona"),
    },
}
REASONS = {code: words for reasons in ROUNDS.values() for code, words in reasons.items()}


@transaction.atomic
def save_profile(
    study: Study, external_id: str, profile: dict, *, by: User | None = None
) -> PersonaVersion:
    """Return the persona's version that says ``profile``; make it where the newest differs.

    The persona is made where the study has none of this id. Versions are never rewritten.
    """
    persona, made = Persona.objects.get_or_create(study=study, external_id=external_id)
    # Two curators who save at once make two versions, one after the other.
    Persona.objects.select_for_update().get(pk=persona.pk)
    newest = None if made else persona.current
    if newest and _same(newest.profile, profile):
        return newest
    version = PersonaVersion.objects.create(
        persona=persona, version=newest.version + 1 if newest else 1, profile=profile
    )
    audit.record(by, "persona.save", persona, version=version.version)
    return version


def _same(one: dict, other: dict) -> bool:
    """Whether two profiles say the same in the same order, in which a card is read."""
    return json.dumps(one) == json.dumps(other)


def save_all(study: Study, records: list[dict], *, by: User | None = None) -> int:
    """Save ``{"id", "profile"}`` records, new ones in bulk; how many were new or changed.

    Part of the caller's transaction; call it with a few thousand at a time.
    """
    profiles = {record["id"]: record["profile"] for record in records}
    there = study.personas.filter(external_id__in=profiles)
    newest = {
        version.persona.external_id: version
        for version in PersonaVersion.objects.filter(persona__in=there)
        .select_related("persona")
        .order_by("version")
    }
    new = Persona.objects.bulk_create(
        Persona(study=study, external_id=key) for key in profiles if key not in newest
    )
    PersonaVersion.objects.bulk_create(
        PersonaVersion(persona=persona, profile=profiles[persona.external_id]) for persona in new
    )
    changed = [key for key in newest if not _same(newest[key].profile, profiles[key])]
    for key in changed:
        save_profile(study, key, profiles[key], by=by)
    if new:
        audit.record(by, "personas.add", study, personas=len(new))
    return len(new) + len(changed)


@transaction.atomic
def drop(persona: Persona, reason: str, *, by: User | None = None) -> None:
    """Take a persona out of the study for one of ``REASONS``; a second call changes nothing."""
    if reason not in REASONS:
        raise DomainError("Choose the reason why the persona is dropped.", code="reason")
    dropped = Persona.objects.filter(pk=persona.pk, dropped_at=None).update(
        dropped_at=timezone.now(), dropped_because=reason
    )
    if dropped:
        audit.record(by, "persona.drop", persona, reason=reason)


def dropped(study: Study) -> dict[str, int]:
    """How many personas of ``study`` were dropped for each of ``REASONS``."""
    rows = study.personas.exclude(dropped_at=None).values_list("dropped_because", flat=True)
    return dict.fromkeys(REASONS, 0) | Counter(rows)


@transaction.atomic
def restore(persona: Persona, *, by: User | None = None) -> None:
    """Undo a drop; a second call changes nothing."""
    back = Persona.objects.filter(pk=persona.pk, dropped_at__isnull=False).update(
        dropped_at=None, dropped_because=""
    )
    if back:
        audit.record(by, "persona.restore", persona)


@transaction.atomic
def split(
    study: Study, external_ids: Iterable[str], purpose: str, *, by: User | None = None
) -> int:
    """Put personas on the side of ``purpose`` ("benchmark" or "training"); how many.

    A side is chosen once: DomainError, and nothing is done, where one of them is on the other side
    already, is dropped or is not in the study, or where people judge something of a persona that
    is to train models.
    """
    if purpose not in Persona.Split.values:
        raise DomainError(gettext("Choose between benchmark and training."), code="split")
    wanted = set(external_ids)
    # Items are opened under this lock, too.
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    rows = study.personas.select_for_update().filter(external_id__in=wanted, dropped_at=None)
    people = {person.external_id: person for person in rows.order_by("pk")}
    crossed = {key for key, person in people.items() if person.split not in ("", purpose)}
    used = judged(study) & wanted if purpose == Persona.Split.TRAINING else set()
    for names, sentence, code in (
        (wanted - people.keys(), gettext("There is no persona {name} in the study."), "persona"),
        (
            crossed,
            gettext("{name} is on the other side already, and none ever crosses."),
            "crosses",
        ),
        (used, gettext("People judge items of {name} already: it is of the benchmark."), "judged"),
    ):
        if names:
            raise DomainError(sentence.format(name=min(names)), code=code)
    count = rows.filter(split="").update(split=purpose)
    audit.record(by, "persona.split", study, personas=count, purpose=purpose)
    return count


def judged(study: Study) -> set[str]:
    """The ids of personas of which items are open: they can only be of the benchmark."""
    rows = study.personas.filter(
        Q(queries__items__isnull=False) | Q(attributes__items__isnull=False)
    )
    return set(rows.values_list("external_id", flat=True).distinct())


@schema(frozen=True)
class Times:
    """From which day on something holds of a person, and from which day it does no longer."""

    since: date | None = asked(_("Holds since"), None)
    until: date | None = asked(_("Holds no longer from"), None)

    def __post_init__(self) -> None:
        if self.since and self.until and self.until <= self.since:
            raise ValueError(gettext("It must end after it begins."))


ALWAYS = Times()


@transaction.atomic
def set_times(attribute: Attribute, times: Times, *, by: User | None = None) -> None:
    """Say when an attribute holds; its text stays as people may have seen it."""
    Attribute.objects.filter(pk=attribute.pk).update(since=times.since, until=times.until)
    days = {name: day and day.isoformat() for name, day in vars(times).items()}
    audit.record(by, "attribute.times", attribute.persona, attribute=attribute.pk, **days)


@transaction.atomic
def remember(
    persona: Persona, text: str, times: Times = ALWAYS, *, by: User | None = None
) -> tuple[Memory, bool]:
    """Add a memory; it, and whether it is new: the persona may have had the text already."""
    memory, made = Memory.objects.get_or_create(
        persona=persona, text=text, defaults={"since": times.since, "until": times.until}
    )
    if made:
        audit.record(by, "memory.add", persona, memory=memory.pk)
    return memory, made


@transaction.atomic
def forget(persona: Persona, memory_id: int, *, by: User | None = None) -> None:
    """Remove one of the persona's memories; a second call changes nothing."""
    removed, _details = Memory.objects.filter(persona=persona, pk=memory_id).delete()
    if removed:
        audit.record(by, "memory.remove", persona, memory=memory_id)


ATTRIBUTES_AT_ONCE = 2_000
# When an attribute holds, and which turn states it.
TIMES = ("since", "until", "turn")


@transaction.atomic
def add_attributes(study: Study, records: list[dict], *, by: User | None = None) -> int:
    """Add an uploaded file's attributes, all or none; how many are new.

    Raises DomainError where the study has one of them with other words.
    """
    added = 0
    for chunk in chunks(records, ATTRIBUTES_AT_ONCE):
        new, clashes = save_attributes(study, chunk, by=by)
        added += new
        if clashes:
            raise DomainError(f"Nothing was imported: {clash(min(clashes))}.", code="attribute")
    return added


@transaction.atomic
def save_attributes(
    study: Study, records: list[dict], *, by: User | None = None
) -> tuple[int, set[str]]:
    """Add the attributes that the study does not have; how many, and the ids that clash.

    Records as of the bundle's attributes.jsonl, their personas there already. Of an attribute that
    is there only its times change: a record with other words is left out, and its id returned. Call
    it with a few thousand at a time.
    """
    personas = dict(study.personas.values_list("external_id", "pk"))
    stored = _stored_attributes(study, [record["id"] for record in records])
    new = [record for record in records if record["id"] not in stored]
    made = Attribute.objects.bulk_create(
        Attribute(
            persona_id=personas[record["persona"]],
            external_id=record["id"],
            text=record["text"],
            confidence=record["confidence"],
            model=record["model"],
            **{name: record.get(name) for name in TIMES},
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
    there = [(stored[record["id"]], record) for record in records if record["id"] in stored]
    for before, record in there:
        times = {name: record.get(name) for name in TIMES}
        if any(times.values()) and before | times != before:
            rows = Attribute.objects.filter(persona__study=study, external_id=record["id"])
            rows.update(**times)
    return len(made), {
        record["id"]
        for before, record in there
        if _words(before) != _words(record | {"source": _source(record)})
    }


def _words(record: dict) -> dict:
    """What of an attribute never changes."""
    return {name: value for name, value in record.items() if name not in TIMES}


def _source(record: dict) -> str:
    """Of whom the record's conversations are; "" without any."""
    return record.get("source", "") if record["conversations"] else ""


def clash(key: str) -> str:
    """The sentence about an attribute whose id the study has with other words."""
    return (
        f"the study has another attribute “{key}”, and people may have seen it: give the new one "
        "an id of its own"
    )


def _stored_attributes(study: Study, ids: Iterable[str]) -> dict[str, dict]:
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
            **{name: getattr(attribute, name) for name in TIMES},
        }
        for attribute in there.select_related("persona").prefetch_related("evidence")
    }
