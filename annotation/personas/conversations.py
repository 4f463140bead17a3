"""The pool of conversations that attributes are extracted from: filled, filtered, people taken.

Filters as published: people with enough conversations and enough to say, without scripts,
then a subset whose members differ as much as possible in what they write about.
"""

import hashlib
import re
from collections import Counter, defaultdict
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Count, Q, QuerySet, Sum
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.dataclasses import dataclass as schema

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.embed import DIMENSIONS, embed, unit
from annotation.core.errors import DomainError
from annotation.core.records import chunks
from annotation.core.schema import asked
from annotation.histories import browse, consent
from annotation.histories.formats.chats import CorpusRow
from annotation.histories.models import HistoryConsent
from annotation.personas import curate
from annotation.personas.models import Conversation, Persona
from annotation.studies.models import Study

# Characters of what a person writes that are embedded, and of an opening that is compared.
EMBEDDED, OPENING = 4_000, 160
CHUNK = 2_000
# So many conversations that begin alike come from a script.
ALIKE = 3
_NUMBERS = re.compile(r"[\d\W_]+")


@schema(frozen=True)
class Filters:
    """Which people of the pool are left."""

    language: str = asked(gettext_lazy("Language"), "", max_length=40)
    conversations: int = asked(gettext_lazy("Conversations a person, at least"), 3, ge=1, le=1_000)
    turns: int = asked(gettext_lazy("Messages of their own, at least"), 15, ge=1, le=100_000)
    scripted: bool = asked(gettext_lazy("With scripted conversations"), False)
    people: int | None = asked(
        gettext_lazy("People, at most"),
        50,
        gettext_lazy("Those whose texts differ most. Empty: all."),
        ge=1,
        le=100_000,
    )


FIRST = gettext_lazy("in the pool")


def add_conversations(study: Study, rows: list[CorpusRow]) -> int:
    """Add conversations that the study does not have; how many of ``rows`` it has then."""
    made = {}
    for row in rows:
        conversation = row.conversation
        turns = [
            {"role": message.role, "text": message.text}
            for message in conversation.messages
            if message.text.strip()
        ]
        key = conversation.id[:100]
        names = {"provider": conversation.provider, "external_id": key}
        about = {"speaker": row.speaker or key, "language": row.language, "source": row.source}
        made[conversation.provider, key] = _row(study, turns, **names, **about)
    _store(list(made.values()))
    return len(made)


def _row(study: Study, turns: list[dict], **fields: Any) -> Conversation:
    """A conversation of ``turns``, with what is derived of its person's messages."""
    messages = [turn["text"] for turn in turns if turn["role"] == "user"]
    return Conversation(
        study=study,
        messages=turns,
        turns=len(messages),
        opening=_digest(_beginning(messages[0])) if messages else "",
        repetitive=_repetitive(messages),
        **fields,
    )


def _store(rows: list[Conversation]) -> None:
    messages = (
        "\n".join(turn["text"] for turn in row.messages if turn["role"] == "user") for row in rows
    )
    vectors = embed([text[:EMBEDDED] for text in messages])
    for row, vector in zip(rows, vectors, strict=True):
        row.embedding = vector
    Conversation.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _beginning(text: str) -> str:
    """The first words of ``text`` in lower case, without numbers and signs."""
    return _NUMBERS.sub(" ", text[: 4 * OPENING].casefold()).strip()[:OPENING]


def _repetitive(messages: list[str]) -> bool:
    """Whether more than half of three or more messages begin with the same words."""
    counted = Counter(map(_beginning, messages))
    return len(messages) >= ALIKE and 2 * max(counted.values()) > len(messages)


def languages(study: Study) -> list[tuple[str, int]]:
    """(language, conversations) of the pool, the most frequent first."""
    rows = study.conversations.order_by().values_list("language").annotate(n=Count("pk"))
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def funnel(study: Study, filters: Filters) -> list[tuple[str, int, int]]:
    """(what is asked for, people, conversations) after each filter in turn."""
    counts = {"people": Count("speaker", distinct=True), "rows": Count("pk")}
    steps = ((words, rows.aggregate(**counts)) for words, rows in _steps(study, filters))
    return [(words, left["people"], left["rows"]) for words, left in steps]


def _steps(study: Study, filters: Filters) -> list[tuple[str, QuerySet[Conversation]]]:
    rows = study.conversations.all()
    steps = [(str(FIRST), rows)]
    if filters.language:
        rows = rows.filter(language=filters.language)
        steps.append((filters.language, rows))
    if not filters.scripted:
        openings = study.conversations.order_by().values("opening").annotate(n=Count("pk"))
        alike = openings.filter(n__gte=ALIKE).values("opening")
        rows = rows.exclude(Q(repetitive=True) | Q(opening__in=alike))
        steps.append((_("not scripted"), rows))
    people = rows.order_by().values("speaker").annotate(n=Count("pk"), messages_sent=Sum("turns"))
    enough = people.filter(n__gte=filters.conversations).values("speaker")
    rows = rows.filter(speaker__in=enough)
    steps.append((_("%(n)d conversations or more") % {"n": filters.conversations}, rows))
    enough = people.filter(n__gte=filters.conversations, messages_sent__gte=filters.turns)
    rows = rows.filter(speaker__in=enough.values("speaker"))
    steps.append((_("%(n)d messages of their own or more") % {"n": filters.turns}, rows))
    return steps


def chosen(study: Study, filters: Filters) -> list[str]:
    """The speakers that are left, at most ``filters.people``: those that differ most."""
    rows = _steps(study, filters)[-1][1]
    sums: dict[str, np.ndarray] = {}
    pairs = rows.order_by("pk").values_list("speaker", "embedding")
    for speaker, vector in pairs.iterator(chunk_size=2_000):
        sums[speaker] = sums.get(speaker, 0) + np.asarray(vector, dtype=np.float32)
    names = sorted(sums)
    if not names:
        return []
    vectors = np.array([sums[name] for name in names]).reshape(len(names), DIMENSIONS)
    wanted = len(names) if filters.people is None else filters.people
    return [names[place] for place in diverse(vectors, wanted)]


def diverse(vectors: np.ndarray, count: int) -> list[int]:
    """Places of ``count`` rows far from each other, by cosine; all of them where there are fewer.

    Farthest-first traversal (Gonzalez 1985) from the row nearest to the mean: each further row is
    the one whose nearest chosen row is farthest. ``vectors`` is (rows, dimensions).
    """
    vectors = unit(vectors)
    if count >= len(vectors):
        return list(range(len(vectors)))
    places = [int(np.argmax(vectors @ vectors.mean(axis=0)))]
    nearest = vectors @ vectors[places[0]]
    nearest[places[0]] = np.inf
    while len(places) < count:
        places.append(int(np.argmin(nearest)))
        nearest = np.maximum(nearest, vectors @ vectors[places[-1]])
        nearest[places[-1]] = np.inf
    return places


@transaction.atomic
def take(study: Study, filters: Filters, *, by: User | None = None) -> dict:
    """Make a persona of each person that ``chosen`` leaves; ``{"personas", "conversations"}``.

    Whoever was taken before keeps their persona, and conversations that came in later join it.
    Raises DomainError where nobody is left.
    """
    speakers = chosen(study, filters)
    if not speakers:
        raise DomainError(_("Nobody is left: ask for less."), code="nobody")
    # Nothing is known of these people but what is extracted from their conversations.
    for some in chunks([{"id": _key(name), "profile": {}} for name in speakers], CHUNK):
        curate.save_all(study, some, by=by)
    numbers = dict(Persona.objects.filter(study=study).values_list("external_id", "pk"))
    of_speaker = defaultdict(list)
    rows = _steps(study, filters)[-1][1].filter(speaker__in=speakers)
    for pk, speaker in rows.values_list("pk", "speaker"):
        of_speaker[speaker].append(pk)
    count = sum(
        Conversation.objects.filter(pk__in=pks).update(persona=numbers[_key(speaker)])
        for speaker, pks in of_speaker.items()
    )
    audit.record(by, "conversations.take", study, personas=len(speakers), conversations=count)
    return {"personas": len(speakers), "conversations": count}


def _key(speaker: str) -> str:
    """The id of the persona that a speaker becomes."""
    return f"c-{speaker}"[:100]


@transaction.atomic
def add_histories(study: Study, *, by: User | None = None) -> int:
    """Add the chats of members who allow that people of ``study`` read them; how many are new.

    Texts are redacted. Chats whose owner allows it no longer are taken out by ``forget_withdrawn``.
    """
    before = study.conversations.count()
    purpose = HistoryConsent.Purpose.SHOW
    for member in study.memberships.filter(left_at=None).select_related("user").order_by("pk"):
        if not consent.allows(member.user, study, purpose):
            continue
        speaker = _digest(f"{study.slug}/{member.user_id}")[:16]
        rows = []
        for chat in browse.context(member.user, study, purpose):
            turns = [{"role": role, "text": text} for role, text in chat.turns]
            if any(turn["role"] == "user" for turn in turns):
                key = str(chat.session)
                names = {"provider": chat.provider, "external_id": key, "session_id": key}
                rows.append(_row(study, turns, speaker=speaker, **names))
        _store(rows)
    added = study.conversations.count() - before
    audit.record(by, "conversations.add", study, conversations=added)
    return added


def forget_withdrawn() -> int:
    """Delete conversations of members who no longer allow it, with the evidence; how many."""
    rows = Conversation.objects.filter(session__isnull=False).select_related("study")
    gone = 0
    pairs = set(rows.values_list("study", "session__owner"))
    people = User.objects.in_bulk({owner for _study, owner in pairs})
    studies = Study.objects.in_bulk({study for study, _owner in pairs})
    for study, owner in sorted(pairs):
        allowed = consent.allows(people[owner], studies[study], HistoryConsent.Purpose.SHOW)
        sessions = browse.sessions(people[owner], studies[study]).values("pk")
        withdrawn = rows.filter(study=study, session__owner=owner)
        withdrawn = withdrawn.exclude(session__in=sessions) if allowed else withdrawn
        gone += withdrawn.count()
        withdrawn.delete()
    return gone
