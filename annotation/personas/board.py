"""Round 2 of curation: of whom the personas consist, and which of them are much alike."""

from dataclasses import dataclass

import numpy as np
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.embed import embed
from annotation.core.errors import Conflict, DomainError
from annotation.personas import balance, curate
from annotation.personas.models import PairDecision, Persona, PersonaVersion
from annotation.studies.models import Study

# Rows of the matrix of cosines that are in memory at once.
BLOCK = 512
THRESHOLDS = tuple(n / 100 for n in range(70, 100, 5))
ALIKE = "near-duplicate"
# What may be decided of a pair.
BOTH, FIRST, SECOND = "both", "first", "second"


@dataclass(frozen=True)
class Pair:
    """Two personas and the cosine of what their profiles say."""

    first: PersonaVersion
    second: PersonaVersion
    similarity: float

    @property
    def sides(self) -> tuple[PersonaVersion, PersonaVersion]:
        """The two, as they stand beside each other."""
        return self.first, self.second


def versions(study: Study) -> list[PersonaVersion]:
    """The newest version of every persona that was not dropped, with the persona, in order."""
    rows = PersonaVersion.objects.filter(persona__study=study, persona__dropped_at=None)
    return list(rows.order_by("persona", "-version").distinct("persona").select_related("persona"))


def tallies(people: list[PersonaVersion]) -> list[balance.Tally]:
    """How often each value occurs among ``people``, by dimension."""
    return balance.tallies([version.profile for version in people])


def alike(people: list[PersonaVersion], least: float) -> list[tuple[int, int, float]]:
    """(place, place, cosine) of all pairs that are at least so similar, the most similar first."""
    vectors = embed([balance.values_as_text(version.profile) for version in people])
    pairs = []
    for start in range(0, len(vectors), BLOCK):
        near = vectors[start : start + BLOCK] @ vectors.T
        rows, columns = np.nonzero(near >= np.float32(least))
        pairs += [
            (int(row) + start, int(column), float(near[row, column]))
            for row, column in zip(rows, columns, strict=True)
            if row + start < column
        ]
    return sorted(pairs, key=lambda pair: (-pair[2], pair[:2]))


def undecided(
    study: Study, people: list[PersonaVersion], least: float = THRESHOLDS[0]
) -> list[Pair]:
    """Pairs of ``people`` that are at least so similar and that nobody decided on."""
    rows = study.pair_decisions.values_list("first", "second")
    decided = set(rows)
    pairs = (Pair(people[a], people[b], cosine) for a, b, cosine in alike(people, least))
    return [
        pair for pair in pairs if (pair.first.persona_id, pair.second.persona_id) not in decided
    ]


def preview(pairs: list[Pair]) -> list[tuple[float, int]]:
    """How many of ``pairs`` each threshold shows."""
    return [(at, sum(pair.similarity >= at for pair in pairs)) for at in THRESHOLDS]


@transaction.atomic
def decide(
    study: Study, first: int, second: int, choice: str, *, by: User | None = None
) -> PairDecision:
    """Keep both personas of a pair (ids), or drop one of them.

    Raises DomainError for another choice or persona, Conflict where it is decided already.
    """
    if choice not in (BOTH, FIRST, SECOND):
        raise DomainError(_("Choose between both, the first and the second."), code="choice")
    first, second = sorted((first, second))
    rows = study.personas.select_for_update().filter(pk__in=(first, second)).order_by("pk")
    people = list(rows)
    if len(people) < 2:
        raise DomainError(_("A pair is two personas of the study."), code="pair")
    if any(person.dropped_at for person in people):
        raise Conflict(_("One of the two is dropped already."), code="dropped")
    dropped = {FIRST: people[0], SECOND: people[1]}.get(choice)
    decision, made = PairDecision.objects.get_or_create(
        first=people[0],
        second=people[1],
        defaults={"study": study, "dropped": dropped, "decided_by": by},
    )
    if not made:
        raise Conflict(_("This pair is decided already."), code="decided")
    if dropped:
        curate.drop(dropped, ALIKE, by=by)
    audit.record(by, "personas.pair", study, first=first, second=second, choice=choice)
    return decision


@transaction.atomic
def undo(study: Study, *, by: User) -> PairDecision:
    """Take back the last decision of ``by``, and a drop with it. DomainError where none is left."""
    rows = study.pair_decisions.select_for_update().filter(decided_by=by)
    last = rows.order_by("-decided_at", "-pk").first()
    if last is None:
        raise DomainError(_("There is nothing to take back."), code="nothing")
    if last.dropped_id:
        person = Persona.objects.get(pk=last.dropped_id)
        if person.dropped_because == ALIKE:
            curate.restore(person, by=by)
    PairDecision.objects.filter(pk=last.pk).delete()
    audit.record(by, "personas.pair_undo", study, first=last.first_id, second=last.second_id)
    return last
