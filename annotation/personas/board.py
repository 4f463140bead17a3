"""Round 2 of curation: of whom the personas consist, which are much alike, and the split of them.

A persona counts once for each value it has in a dimension; a value that nobody states counts
nowhere. The split into benchmark and training personas is proposed from a seed, then made once.
"""

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.dataclasses import dataclass as schema

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.embed import embed
from annotation.core.errors import Conflict, DomainError
from annotation.core.schema import asked
from annotation.core.words import StrOrPromise
from annotation.personas import curate
from annotation.personas import schema as profiles
from annotation.personas.models import PairDecision, Persona, PersonaVersion
from annotation.studies.models import Study

# A value is over-represented where it occurs so often, so many times as often as an even spread
# over the values would have it, and in such a share of the personas.
LEAST, TIMES, SHARE = 3, 1.5, 0.02
# Signs that end the name of an occupation: what follows says where or for how long.
_CLAUSE = re.compile(r"[,;:.()\n/，；：。（）、]| (?:at|in|with|for|from) ", re.I)
_DIGITS = re.compile(r"\d{1,3}")
_TRAITS = (
    *("Extraversion_or_Introversion", "Sensing_or_Intuition"),
    *("Thinking_or_Feeling", "Judging_or_Perceiving"),
)
VALUE_LIMIT = 80
# Rows of the matrix of cosines that are in memory at once.
BLOCK = 512
THRESHOLDS = tuple(n / 100 for n in range(70, 100, 5))
ALIKE = "near-duplicate"
# What may be decided of a pair.
BOTH, FIRST, SECOND = "both", "first", "second"
BENCHMARK, TRAINING = Persona.Split.BENCHMARK, Persona.Split.TRAINING


@dataclass(frozen=True)
class Dimension:
    """One way to look at personas: ``values(profile)`` are what one has in it."""

    name: str
    label: StrOrPromise
    values: Callable[[dict], list[str]]


@dataclass(frozen=True)
class Tally:
    """How often each value of a dimension occurs: ``rows`` of (value, personas), most first."""

    dimension: Dimension
    rows: list[tuple[str, int]]
    personas: int
    over: frozenset[str]

    @property
    def marked(self) -> list[tuple[str, int]]:
        """The over-represented values with their counts, most frequent first."""
        marked = [(value, count) for value, count in self.rows if value in self.over]
        return sorted(marked, key=lambda row: (-row[1], row[0]))


def _at(profile: dict, *path: str) -> list[str]:
    """The texts at a place of ``profile``: one, those of a list, or those below it."""
    leaves = profiles.leaves(profiles.at(profile, path))
    return [str(leaf).strip() for _path, leaf in leaves]


def _occupations(profile: dict) -> list[str]:
    """The first words of the first text: "Nurse, 12 years in Oslo" is a nurse."""
    texts = _at(profile, "Demographics", "Career_Information")
    first = _CLAUSE.split(texts[0].strip(" .,"), maxsplit=1)[0] if texts else ""
    return [first.strip().casefold()]


def _ages(profile: dict) -> list[str]:
    """The decade: "30–39"."""
    text = " ".join(_at(profile, "Demographics", "Age"))
    if not (digits := _DIGITS.search(text)):
        return [text]
    decade = int(digits[0]) // 10 * 10
    return [f"{decade}–{decade + 9}"]


def _types(profile: dict) -> list[str]:
    """The type of Myers and Briggs, such as "INTJ"; nothing where a letter is missing."""
    letters = ["".join(_at(profile, "Personality", trait))[:1].upper() for trait in _TRAITS]
    return ["".join(letters)] if all(letters) else []


def _casefolded(*paths: tuple[str, str]) -> Callable[[dict], list[str]]:
    """The texts at all of these places, in small letters."""
    return lambda profile: [text.casefold() for path in paths for text in _at(profile, *path)]


DIMENSIONS = {
    dimension.name: dimension
    for dimension in (
        Dimension("occupation", gettext_lazy("Occupation"), _occupations),
        Dimension("age", gettext_lazy("Age"), _ages),
        Dimension("gender", gettext_lazy("Gender"), _casefolded(("Demographics", "Gender"))),
        Dimension(
            "nationality", gettext_lazy("Nationality"), _casefolded(("Demographics", "Nationality"))
        ),
        Dimension("mbti", gettext_lazy("Personality type (MBTI)"), _types),
        Dimension(
            "interests",
            gettext_lazy("Values and interests"),
            _casefolded(
                ("Personality", "Values_and_Interests"), ("Preference", "Content_Interests")
            ),
        ),
    )
}


def values(profile: dict, dimension: Dimension) -> set[str]:
    """What a persona has in a dimension, each value once."""
    return {value[:VALUE_LIMIT] for value in dimension.values(profile) if value}


def tally(dimension: Dimension, people: list[dict]) -> Tally:
    """The values of ``people`` (profiles) in one dimension; ages in their order."""
    counted = Counter(value for profile in people for value in values(profile, dimension))
    rows = sorted(counted.items(), key=lambda row: (-row[1], row[0]))
    if dimension.name == "age":
        rows.sort(key=lambda row: (len(row[0]), row[0]))
    return Tally(dimension, rows, len(people), over_represented(counted, len(people)))


def tallies(people: list[PersonaVersion]) -> list[Tally]:
    profiles_of = [version.profile for version in people]
    return [tally(dimension, profiles_of) for dimension in DIMENSIONS.values()]


def over_represented(counted: Counter[str], personas: int) -> frozenset[str]:
    """The values that occur too often: see LEAST, TIMES and SHARE."""
    even = sum(counted.values()) / (len(counted) or 1)
    least = max(LEAST, TIMES * even, SHARE * personas)
    return frozenset(value for value, count in counted.items() if count >= least)


def values_as_text(profile: dict) -> str:
    """What a profile says without its keys, which all profiles share."""
    texts = (str(leaf) for path, leaf in profiles.leaves(profile) if path != "/Name")
    return " ".join(text for text in texts if len(text) > 1)


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


def alike(people: list[PersonaVersion], least: float) -> list[Pair]:
    """All pairs of ``people`` that are at least so similar, the most similar first."""
    vectors = embed([values_as_text(version.profile) for version in people])
    pairs = []
    for start in range(0, len(vectors), BLOCK):
        near = vectors[start : start + BLOCK] @ vectors.T
        rows, columns = np.nonzero(near >= np.float32(least))
        pairs += [
            (int(row) + start, int(column), float(near[row, column]))
            for row, column in zip(rows, columns, strict=True)
            if row + start < column
        ]
    pairs.sort(key=lambda pair: (-pair[2], pair[:2]))
    return [Pair(people[first], people[second], cosine) for first, second, cosine in pairs]


def undecided(
    study: Study, people: list[PersonaVersion], least: float = THRESHOLDS[0]
) -> list[Pair]:
    """Pairs of ``people`` that are at least so similar and that nobody decided on."""
    decided = set(study.pair_decisions.values_list("first", "second"))
    return [
        pair
        for pair in alike(people, least)
        if (pair.first.persona_id, pair.second.persona_id) not in decided
    ]


def preview_threshold(pairs: list[Pair]) -> list[tuple[float, int]]:
    """How many of ``pairs`` each threshold shows."""
    return [(at, sum(pair.similarity >= at for pair in pairs)) for at in THRESHOLDS]


@transaction.atomic
def decide_pair(
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

    def by_dimension(self) -> list[tuple[Dimension, list[tuple[str, int, int]]]]:
        """(dimension, [(value, benchmark, training)]), in the order of all of them together."""
        groups = []
        sides = (self.benchmark, self.training, self.benchmark + self.training)
        for benchmark, training, both in zip(*map(tallies, sides), strict=True):
            a, b = dict(benchmark.rows), dict(training.rows)
            rows = [(value, a.get(value, 0), b.get(value, 0)) for value, _n in both.rows]
            groups.append((both.dimension, rows))
        return groups

    @property
    def new(self) -> int:
        """How many of them have no side yet."""
        return sum(not version.persona.split for version in self.benchmark + self.training)

    def apart(self, similarity: float) -> list[Pair]:
        """Pairs that are much alike and would be on different sides."""
        people = sorted(self.benchmark + self.training, key=lambda version: version.persona_id)
        inside = {version.pk for version in self.benchmark}
        pairs = alike(people, similarity)
        return [pair for pair in pairs if (pair.first.pk in inside) != (pair.second.pk in inside)]


def propose(study: Study, benchmark: int, seed: int) -> Proposal:
    """``benchmark`` personas for the benchmark, all others for training; nothing is stored.

    In an order drawn with ``seed``, the next is each time a persona whose values are the rarest
    among those chosen so far, so that no value crowds the benchmark. Personas of which items are
    open are in it. Raises DomainError where too few or too many are wanted.
    """
    people, judged = versions(study), curate.judged(study)
    free, inside = [], []
    for version in people:
        side = version.persona.split
        if side == BENCHMARK or (not side and version.persona.external_id in judged):
            inside.append(version)
        elif not side:
            free.append(version)
    missing = benchmark - len(inside)
    if not 0 <= missing <= len(free):
        sentence = _(
            "{wanted} personas are wanted for the benchmark: {inside} are in it already, and "
            "{free} have no side yet."
        )
        words = {"wanted": benchmark, "inside": len(inside), "free": len(free)}
        raise DomainError(sentence.format(**words), code="too_few")
    random.Random(seed).shuffle(free)  # noqa: S311 - no secret
    chosen = {version.pk for version in [*inside, *_drawn(inside, free, missing)]}
    return Proposal(
        [version for version in people if version.pk in chosen],
        [version for version in people if version.pk not in chosen],
    )


def _drawn(inside: list, free: list, count: int) -> list:
    """``count`` of ``free``, one after the other, each with the rarest values so far."""
    having = {
        version.pk: {
            (name, value)
            for name, dimension in DIMENSIONS.items()
            for value in values(version.profile, dimension)
        }
        for version in [*inside, *free]
    }
    counted = Counter(value for version in inside for value in having[version.pk])

    def crowding(version: PersonaVersion) -> float:
        """How often what a persona has was drawn, on average over its values."""
        present = having[version.pk]
        return sum(counted[value] for value in present) / (len(present) or 1)

    drawn, left = [], list(free)
    for _n in range(count):
        best = min(left, key=crowding)
        left.remove(best)
        drawn.append(best)
        counted.update(having[best.pk])
    return drawn


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
