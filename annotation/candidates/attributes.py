"""From what models extracted to attributes that people judge: filtered, clustered, made."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.candidates import clusters
from annotation.candidates.models import JUDGED, Extraction
from annotation.core import audit
from annotation.core.embed import DIMENSIONS, unit
from annotation.core.errors import DomainError
from annotation.personas.models import Attribute, Conversation, Evidence
from annotation.studies.models import Study

# As published.
CONFIDENCE, SIMILARITY = 0.4, 0.7
# A preview looks at so many statements, of whole people.
PREVIEWED, EXAMPLES = 3_000, 8
# Conversations shown with an attribute.
SHOWN = 4


@dataclass(frozen=True)
class Thresholds:
    """The least confidence of a statement, and the cosine from which two are one."""

    confidence: float = CONFIDENCE
    similarity: float = SIMILARITY


@dataclass(frozen=True)
class Cluster:
    """Statements of one person that mean the same; the first represents them."""

    members: list[Extraction]

    @property
    def first(self) -> Extraction:
        return self.members[0]


def statements(study: Study) -> QuerySet[Extraction]:
    """What was extracted in ``study`` and may become an attribute, person by person.

    Left out is what a second look found unsupported, a curator rejected or has yet to see.
    """
    rows = Extraction.objects.filter(proposal__study=study, persona__dropped_at=None)
    rows = rows.filter(proposal__review__in=("", "accepted"))
    rows = rows.exclude(verdict=Extraction.Verdict.UNSUPPORTED)
    return rows.order_by("persona", "pk")


def clustered(rows: list[Extraction], thresholds: Thresholds) -> list[Cluster]:
    """One person's clusters, of statements that are confident enough."""
    rows = [row for row in rows if row.confidence >= thresholds.confidence]
    vectors = np.array([row.embedding for row in rows], dtype=np.float32)
    return _clustered(rows, vectors.reshape(len(rows), DIMENSIONS), thresholds.similarity)


def _clustered(rows: list, vectors: np.ndarray, similarity: float) -> list[Cluster]:
    vectors = unit(vectors)
    confidence = np.array([row.confidence for row in rows], dtype=float)
    labels = clusters.cluster(vectors, confidence, similarity)
    leading = clusters.representatives(vectors, confidence, labels)
    groups = []
    for number, place in enumerate(leading):
        others = [rows[at] for at in np.flatnonzero(labels == number) if at != place]
        groups.append(Cluster([rows[place], *others]))
    return groups


def _people(study: Study) -> Iterator[list[Extraction]]:
    """The statements of one person after the other: only theirs are in memory."""
    for persona in (
        statements(study).order_by("persona").values_list("persona", flat=True).distinct()
    ):
        yield list(statements(study).filter(persona=persona).select_related("proposal"))


def preview(study: Study, thresholds: Thresholds) -> dict:
    """What ``thresholds`` would make; nothing is stored.

    ``{"statements", "people", "sampled", "confident", "attributes", "table", "examples"}``: how
    many there are, and of the ``sampled`` statements of the first people how many are confident
    and how many attributes they make; ``table`` says the same of other thresholds, and
    ``examples`` are the largest clusters.
    """
    rows = statements(study)
    sample, size = [], 0
    for person in _people(study):
        sample.append(person)
        size += len(person)
        if size >= PREVIEWED:
            break
    groups = [cluster for person in sample for cluster in clustered(person, thresholds)]
    return {
        "statements": rows.count(),
        "people": rows.order_by().values("persona").distinct().count(),
        "sampled": size,
        "confident": sum(len(cluster.members) for cluster in groups),
        "attributes": len(groups),
        "table": [(at, _count(sample, at)) for at in _around(thresholds)],
        "examples": sorted(groups, key=lambda cluster: -len(cluster.members))[:EXAMPLES],
    }


def _around(thresholds: Thresholds) -> list[Thresholds]:
    """The thresholds of a preview's table: other cosines, then other confidences."""
    return [
        *(Thresholds(thresholds.confidence, n / 100) for n in (60, 65, 70, 75, 80, 90)),
        *(Thresholds(n / 100, thresholds.similarity) for n in (0, 20, 40, 60, 80)),
    ]


def _count(sample: list[list[Extraction]], thresholds: Thresholds) -> int:
    return sum(len(clustered(person, thresholds)) for person in sample)


@transaction.atomic
def make(study: Study, thresholds: Thresholds, *, by: User | None = None) -> dict:
    """Make attributes of what was extracted; ``{"statements", "attributes", "people", "left"}``.

    Attributes that were made earlier are replaced, except where people judge one of a person's
    already: such people are ``left`` as they are. Raises DomainError where nothing is confident
    enough.
    """
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    counts = {"statements": 0, "attributes": 0, "people": 0, "left": 0}
    for rows in _people(study):
        made = Attribute.objects.filter(extractions__persona=rows[0].persona_id).distinct()
        if made.filter(JUDGED).exists():
            counts["left"] += 1
            continue
        Attribute.objects.filter(pk__in=list(made.values_list("pk", flat=True))).delete()
        groups = clustered(rows, thresholds)
        _store(groups)
        counts["statements"] += sum(len(cluster.members) for cluster in groups)
        counts["attributes"] += len(groups)
        counts["people"] += bool(groups)
    if not counts["attributes"] and not counts["left"]:
        raise DomainError(
            _("No statement is confident enough, or none was extracted."), code="none"
        )
    audit.record(by, "attributes.make", study, **counts, **_settings(thresholds))
    return counts


def _settings(thresholds: Thresholds) -> dict:
    return {"confidence": thresholds.confidence, "similarity": thresholds.similarity}


def _store(groups: list[Cluster]) -> None:
    made = Attribute.objects.bulk_create(
        Attribute(
            persona_id=cluster.first.persona_id,
            external_id=f"x-{cluster.first.proposal_id.hex[:12]}-{cluster.first.number}",
            text=cluster.first.wording,
            confidence=cluster.first.confidence,
            model=cluster.first.proposal.model,
        )
        for cluster in groups
    )
    for attribute, cluster in zip(made, groups, strict=True):
        Extraction.objects.filter(pk__in=[row.pk for row in cluster.members]).update(
            attribute=attribute
        )
        Evidence.objects.bulk_create(_evidence(attribute, cluster))


def _evidence(attribute: Attribute, cluster: Cluster) -> list[Evidence]:
    """What the cluster rests on, with the passages; the representative's conversations first."""
    spans: dict[int, dict[int, list]] = {}
    for row in cluster.members:
        for span in row.evidence:
            turn = spans.setdefault(span["conversation"], {}).setdefault(span["turn"], [])
            turn.append([span["start"], span["end"]])
    chats = Conversation.objects.in_bulk(spans)
    numbers = [pk for pk in spans if pk in chats][:SHOWN]
    return [
        Evidence(
            attribute=attribute,
            number=number,
            conversation=chats[pk],
            messages=[
                turn | ({"spans": _joined(spans[pk][place])} if place in spans[pk] else {})
                for place, turn in enumerate(chats[pk].messages)
            ],
        )
        for number, pk in enumerate(numbers, start=1)
    ]


def _joined(spans: list[list[int]]) -> list[list[int]]:
    """Spans in order, overlapping ones as one."""
    joined: list[list[int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(end, joined[-1][1])
        else:
            joined.append([start, end])
    return joined
