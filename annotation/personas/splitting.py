"""The split into benchmark and training personas: proposed from a seed, then made once."""

import random
from collections import Counter
from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.dataclasses import dataclass as schema

from annotation.accounts.models import User
from annotation.core.errors import DomainError
from annotation.core.schema import asked
from annotation.personas import balance, board, curate
from annotation.personas.models import Persona, PersonaVersion
from annotation.studies.models import Study

BENCHMARK, TRAINING = Persona.Split.BENCHMARK, Persona.Split.TRAINING


@schema(frozen=True)
class Split:
    """How many personas are of the benchmark, and the seed of the draw."""

    benchmark: int = asked(gettext_lazy("Personas of the benchmark"), ge=1, le=1_000_000)
    seed: int = asked(gettext_lazy("Seed of the draw"), 1, ge=0, le=2**31 - 1)


@dataclass(frozen=True)
class Proposal:
    """Who would be on which side; whoever has a side already keeps it."""

    benchmark: list[PersonaVersion]
    training: list[PersonaVersion]

    def by_dimension(self) -> list[tuple[balance.Dimension, list[tuple[str, int, int]]]]:
        """(dimension, [(value, benchmark, training)]), in the order of all of them together."""
        sides = [self.benchmark, self.training]
        together = board.tallies(self.benchmark + self.training)
        counts = [[dict(tally.rows) for tally in board.tallies(side)] for side in sides]
        return [
            (
                tally.dimension,
                [(value, a.get(value, 0), b.get(value, 0)) for value, _n in tally.rows],
            )
            for tally, a, b in zip(together, *counts, strict=True)
        ]

    @property
    def new(self) -> int:
        """How many of them have no side yet."""
        return sum(not version.persona.split for version in self.benchmark + self.training)

    def apart(self, similarity: float) -> list[board.Pair]:
        """Pairs that are much alike and would be on different sides."""
        people = sorted(self.benchmark + self.training, key=lambda version: version.persona_id)
        inside = {version.pk for version in self.benchmark}
        pairs = (
            board.Pair(people[a], people[b], cosine)
            for a, b, cosine in board.alike(people, similarity)
        )
        return [pair for pair in pairs if (pair.first.pk in inside) != (pair.second.pk in inside)]


def propose(study: Study, benchmark: int, seed: int) -> Proposal:
    """``benchmark`` personas for the benchmark, all others for training; nothing is stored.

    In an order drawn with ``seed``, the next is each time a persona whose values are the rarest
    among those chosen so far, so that no value crowds the benchmark. Personas of which items are
    open are in it. Raises DomainError where too few or too many are wanted.
    """
    people, judged = board.versions(study), curate.judged(study)
    free = [
        version
        for version in people
        if not version.persona.split and version.persona.external_id not in judged
    ]
    outside = {version.pk for version in free}
    outside |= {version.pk for version in people if version.persona.split == TRAINING}
    inside = [version for version in people if version.pk not in outside]
    missing = benchmark - len(inside)
    if not 0 <= missing <= len(free):
        sentence = _(
            "{wanted} personas are wanted for the benchmark: {inside} are in it already, and "
            "{free} have no side yet."
        )
        words = {"wanted": benchmark, "inside": len(inside), "free": len(free)}
        raise DomainError(sentence.format(**words), code="too_few")
    random.Random(seed).shuffle(free)  # noqa: S311 - no secret
    drawn = _drawn(inside, free, missing)
    chosen = {version.pk for version in [*inside, *drawn]}
    return Proposal(
        [version for version in people if version.pk in chosen],
        [version for version in people if version.pk not in chosen],
    )


def _drawn(inside: list, free: list, count: int) -> list:
    """``count`` of ``free``, one after the other, each with the rarest values so far."""
    having = {version.pk: _values(version.profile) for version in [*inside, *free]}
    counted = Counter(value for version in inside for value in having[version.pk])
    drawn, left = [], list(free)
    for _n in range(count):
        best = min(left, key=lambda version: _crowding(having[version.pk], counted))
        left.remove(best)
        drawn.append(best)
        counted.update(having[best.pk])
    return drawn


def _values(profile: dict) -> list[tuple[str, str]]:
    return [
        (dimension.name, value)
        for dimension in balance.DIMENSIONS.values()
        for value in sorted(balance.values(profile, dimension))
    ]


def _crowding(having: list[tuple[str, str]], counted: Counter) -> float:
    """How often what a persona has was drawn, on average over its values."""
    return sum(counted[value] for value in having) / (len(having) or 1)


@transaction.atomic
def make(study: Study, benchmark: int, seed: int, *, by: User | None = None) -> dict[str, int]:
    """Divide the personas as ``propose`` says; how many each side has then. Sides are for good."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    proposal = propose(study, benchmark, seed)
    sides = {BENCHMARK: proposal.benchmark, TRAINING: proposal.training}
    for side, people in sides.items():
        new = {v.persona.external_id for v in people if not v.persona.split}
        curate.split(study, new, side, by=by)
    return {str(side): len(people) for side, people in sides.items()}
