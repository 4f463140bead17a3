"""From what models extracted to attributes that people judge: filtered, clustered, made."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.dataclasses import dataclass as schema

from annotation.accounts.models import User
from annotation.candidates.models import JUDGED, Extraction, Proposal
from annotation.core import audit, foreign, learned
from annotation.core.embed import DIMENSIONS, unit
from annotation.core.errors import DomainError
from annotation.core.records import chunks
from annotation.core.schema import asked
from annotation.personas.models import Attribute, Conversation, Evidence
from annotation.studies.models import Study

# As published.
CONFIDENCE, SIMILARITY = 0.4, 0.7
# A preview looks at so many statements, of whole people.
PREVIEWED, EXAMPLES = 3_000, 8
# Conversations shown with an attribute.
SHOWN = 4
CHUNK = 2_000
READER = "annotation.core.learned:messages"


@schema(frozen=True)
class Thresholds:
    """What of the extracted statements becomes an attribute."""

    confidence: float = asked(gettext_lazy("Confidence, at least"), CONFIDENCE, ge=0, le=1)
    similarity: float = asked(
        gettext_lazy("One attribute from this similarity on (cosine)"), SIMILARITY, ge=0.3, le=1
    )


# Statements of one person that mean the same; the first represents them.
Cluster = list[Extraction]


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
    if not rows:
        return []
    vectors = unit(np.array([row.embedding for row in rows], dtype=np.float32))
    places = cluster(vectors, [row.confidence for row in rows], thresholds.similarity)
    return [[rows[place] for place in members] for members in places]


def _people(study: Study) -> Iterator[list[Extraction]]:
    """The statements of one person after the other: only theirs are in memory."""
    rows = statements(study)
    for persona in rows.order_by("persona").values_list("persona", flat=True).distinct():
        yield list(rows.filter(persona=persona).select_related("proposal"))


def preview_thresholds(study: Study, thresholds: Thresholds) -> dict:
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
    around = [
        *(Thresholds(thresholds.confidence, n / 100) for n in (60, 65, 70, 75, 80, 90)),
        *(Thresholds(n / 100, thresholds.similarity) for n in (0, 20, 40, 60, 80)),
    ]
    return {
        "statements": rows.count(),
        "people": rows.order_by().values("persona").distinct().count(),
        "sampled": size,
        "confident": sum(map(len, groups)),
        "attributes": len(groups),
        "table": [(at, sum(len(clustered(person, at)) for person in sample)) for at in around],
        "examples": sorted(groups, key=len, reverse=True)[:EXAMPLES],
    }


@transaction.atomic
def make(study: Study, thresholds: Thresholds, *, by: User | None = None) -> dict:
    """Make attributes of what was extracted; ``{"statements", "attributes", "people", "left"}``.

    Attributes that were made earlier are replaced, except where people judge one of a person's
    already: such people are ``left`` as they are. Raises DomainError where nothing is confident
    enough.
    """
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    counts = {"statements": 0, "attributes": 0, "people": 0, "left": 0}
    asked = statements(study).order_by().values_list("proposal__model", "proposal__endpoint")
    used = Counter(model for model, _endpoint in asked.distinct())
    shared = {model for model, endpoints in used.items() if endpoints > 1}
    for rows in _people(study):
        made = Attribute.objects.filter(extractions__persona=rows[0].persona_id).distinct()
        if made.filter(JUDGED).exists():
            counts["left"] += 1
            continue
        Attribute.objects.filter(pk__in=list(made.values_list("pk", flat=True))).delete()
        groups = clustered(rows, thresholds)
        _store(groups, shared)
        counts["statements"] += sum(map(len, groups))
        counts["attributes"] += len(groups)
        counts["people"] += bool(groups)
    if not counts["attributes"] and not counts["left"]:
        raise DomainError(
            _("No statement is confident enough, or none was extracted."), code="none"
        )
    audit.record(by, "attributes.make", study, **counts, **vars(thresholds))
    return counts


def _store(groups: list[Cluster], shared: set[str]) -> None:
    """Store an attribute a cluster; models that several extractors have are named with theirs."""
    made = Attribute.objects.bulk_create(
        Attribute(
            persona_id=first.persona_id,
            external_id=f"x-{first.proposal_id.hex[:12]}-{first.number}",
            text=first.wording,
            confidence=first.confidence,
            model=_extractor(first.proposal, shared),
        )
        for first, *_others in groups
    )
    for attribute, cluster in zip(made, groups, strict=True):
        keys = [row.pk for row in cluster]
        Extraction.objects.filter(pk__in=keys).update(attribute=attribute)
        Evidence.objects.bulk_create(_evidence(attribute, cluster))


def _extractor(proposal: Proposal, shared: set[str]) -> str:
    name = f"{proposal.model} ({proposal.endpoint})" if proposal.model in shared else proposal.model
    return name[:200]


def _evidence(attribute: Attribute, cluster: Cluster) -> list[Evidence]:
    """What the cluster rests on, with the passages; the representative's conversations first."""
    spans: dict[int, dict[int, list]] = {}
    for row in cluster:
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
            source=chats[pk].source,
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


def cluster(vectors: np.ndarray, confidence: Sequence[float], similarity: float) -> list[list[int]]:
    """The rows of each cluster of ``vectors`` (n, dimensions), which have length 1.

    In order of ``confidence`` (n,), then of place, a row leads a cluster where no leader so far has
    a cosine of ``similarity`` or more to it. Then each row joins its most similar leader: members
    are at least that similar to their leader, and no two leaders are.

    First of a cluster stands its representative: the nearest by cosine to the mean of the members
    weighted by their confidence; of equally near ones the most confident, then the first.
    """
    leaders: list[int] = []
    for row in sorted(range(len(vectors)), key=lambda row: -confidence[row]):
        if not leaders or (vectors[leaders] @ vectors[row]).max() < np.float32(similarity):
            leaders.append(row)
    members: list[list[int]] = [[] for _leader in leaders]
    for row, near in enumerate(vectors @ vectors[leaders].T):
        members[near.argmax()].append(row)
    return [_representative_first(rows, vectors, confidence) for rows in members]


def _representative_first(
    rows: list[int], vectors: np.ndarray, confidence: Sequence[float]
) -> list[int]:
    weights = np.array([max(confidence[row], 1e-6) for row in rows], dtype=np.float32)
    # The centroid's length is the same for all of them.
    near = (vectors[rows] @ (weights @ vectors[rows])).round(5)
    order = sorted(zip(rows, near, strict=True), key=lambda pair: (-pair[1], -confidence[pair[0]]))
    first = order[0][0]
    return [first, *(row for row in rows if row != first)]


Verdict = Extraction.Verdict
# What becomes of statements that the verifier finds problematic.
DROP, REFINE = FLAGGED = ("drop", "refine")


def uploaded(file: UploadedFile) -> tuple[learned.Linear, dict]:
    """The verifier in ``file`` and its card. DomainError where it is too large or holds none."""
    if (file.size or 0) > learned.FILE_LIMIT:
        raise DomainError(_("The file is too large for a model."), code="size")
    (held,) = foreign.read(READER, file)
    weights, middle, scale = (np.array(held[name]) for name in ("weights", "middle", "scale"))
    return learned.Linear(weights, middle, scale, held["intercept"]), held["card"]


def unverified(study: Study) -> QuerySet[Extraction]:
    """The statements of ``study`` on which nothing decided yet."""
    rows = Extraction.objects.filter(proposal__study=study, persona__dropped_at=None, verdict="")
    return rows.exclude(proposal__review="rejected")


@transaction.atomic
def verify(
    study: Study, model: learned.Linear, card: dict, *, refine: bool = False, by: User | None = None
) -> dict:
    """Decide on the statements of ``study`` that nothing verified yet.

    A statement from the card's threshold on counts as problematic: it is unsupported, or with
    ``refine`` left for the step that asks a model. Returns ``{"statements", "supported",
    "flagged"}``. Raises DomainError where there is none, or the model takes other features.
    """
    threshold = card.get("threshold")
    if model.weights.shape != (DIMENSIONS + 2,) or not isinstance(threshold, int | float):
        raise DomainError(_("This verifier takes other features than statements have."))
    rows = unverified(study).select_for_update(of=("self",)).order_by("pk")
    passed, flagged = [], []
    rows = rows.only("text", "confidence", "embedding")
    for some in chunks(rows.iterator(chunk_size=CHUNK), CHUNK):
        for row, score in zip(some, _scores(model, some), strict=True):
            (flagged if score >= threshold else passed).append(row.pk)
    if not passed and not flagged:
        raise DomainError(_("There is no statement that nothing verified yet."), code="nothing")
    Extraction.objects.filter(pk__in=passed).update(verdict=Verdict.SUPPORTED)
    if not refine:
        Extraction.objects.filter(pk__in=flagged).update(verdict=Verdict.UNSUPPORTED)
    sizes = {"supported": len(passed), "flagged": len(flagged)}
    counts = {"statements": sum(sizes.values()), **sizes}
    audit.record(by, "attributes.verify", study, **counts, refine=refine)
    return counts


def _scores(model: learned.Linear, rows: list[Extraction]) -> np.ndarray:
    """Log odds (rows,) that a statement is problematic."""
    vectors = unit(np.array([row.embedding for row in rows], dtype=np.float32))
    texts, confidence = [row.text for row in rows], [row.confidence for row in rows]
    return model.score(learned.attribute_features(vectors, texts, confidence))
