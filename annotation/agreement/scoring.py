"""People's choices against scores of the answers, and against keys that nobody is shown.

Scores are whoever's: how they go with the choices, how they spread. Keys of imported items are
experts' labels.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from django.core.cache import cache
from django.db.models import Count, Max
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.agreement import ratings
from annotation.agreement.models import ItemTier
from annotation.agreement.statistics.coefficient import Coefficient, wilson
from annotation.agreement.tiers.rules import TIERS
from annotation.candidates.models import AspectScore
from annotation.judging.models import Item, ItemOption
from annotation.questions.base import Measure
from annotation.studies.models import Study, TaskDefinition
from annotation.votes import counting
from annotation.votes.stored import candidates_of, read

# Points of a scale that names none.
POINTS = 5
ALL = "all"
CHOICE = "choice"
CACHED_SECONDS = 3600


def scores(study: Study) -> dict[tuple[str, str], dict]:
    """{(source, aspect): {candidate's id: score}} of every score an answer of the study has.

    Imported scores have the source they were imported with; people's are the mean of those who
    judged the answer, and each of their tasks is a source.
    """
    scores = defaultdict(dict)
    fields = ("source", "aspect", "candidate_id", "score")
    imported = AspectScore.objects.filter(candidate__study=study).order_by(*fields[:2])
    for source, aspect, candidate, score in imported.values_list(*fields).iterator(20_000):
        scores[source or _("imported"), aspect][candidate] = score
    for task in counting.scored_tasks(study):
        source = _("people (%(task)s)") % {"task": task.name}
        for measure in counting.measures_of(task):
            if means := _means(task, measure):
                scores[source, measure.name] = means
    return dict(sorted(scores.items()))


def _means(task: TaskDefinition, measure: Measure) -> dict:
    """{candidate's id: the mean of people's scores of it}, of each time that it was shown."""
    votes = read(task, measure)
    value = np.array([int(label) for label in votes.labels], dtype=np.int64)[votes.label]
    shown = candidates_of(task.study, votes.item, "pk")
    values = defaultdict(list)
    for item, option, score in zip(votes.item, votes.option, value.tolist(), strict=True):
        if (item, option) in shown:
            values[shown[item, option][0]].append(score)
    return {candidate: sum(scores) / len(scores) for candidate, scores in values.items()}


@dataclass(frozen=True)
class Pairs:
    """Pairs of answers of one task: the one that won its item, and one that it won against.

    Codes of the ``item`` from 0 and names of its ``tier`` (pairs,); ids of the candidates.
    """

    item: np.ndarray
    tier: np.ndarray
    chosen: list
    other: list

    def differences(self, scores: dict) -> tuple[np.ndarray, np.ndarray]:
        """Places of the pairs whose two answers have a score in ``given``; chosen minus other."""
        rows = [
            (n, scores[first] - scores[second])
            for n, (first, second) in enumerate(zip(self.chosen, self.other, strict=True))
            if first in scores and second in scores
        ]
        places, difference = np.array(rows, dtype=float).reshape(-1, 2).T
        return places.astype(int), difference


def decided_pairs(study: Study, task: str) -> Pairs:
    """Pairs of every item with a winner, as last recomputed: the winner with each other answer."""
    won = ItemTier.objects.filter(item__in=counting.items(study, task)).exclude(winner=None)
    tiers = {
        item: (tier, winner) for item, tier, winner in won.values_list("item", "tier", "winner")
    }
    options = ItemOption.objects.filter(item__in=won.values("item"))
    answers = defaultdict(dict)
    rows = options.values_list("item_id", "number", "candidate_id")
    for item, number, candidate in rows.order_by("item__position", "number").iterator(20_000):
        answers[item][number] = candidate
    rows_of_pairs = [
        (n, tiers[item][0], shown[tiers[item][1]], candidate)
        for n, (item, shown) in enumerate(answers.items())
        for number, candidate in shown.items()
        if number != tiers[item][1]
    ]
    columns = list(zip(*rows_of_pairs, strict=True)) or [(), (), (), ()]
    items, names = np.array(columns[0], dtype=int), np.array(columns[1], dtype=str)
    return Pairs(items, names, list(columns[2]), list(columns[3]))


@dataclass(frozen=True)
class Rated:
    """``table`` {(source, aspect, tier): Rating}, ``matrix`` {(source, one, other): Coefficient}.

    In the matrix "choice" stands beside the aspects.
    """

    table: dict
    matrix: dict

    @property
    def sources(self) -> dict[str, list[str]]:
        """Aspects of every source, in order."""
        aspects = {}
        for source, aspect, tier in self.table:
            if tier == ALL:
                aspects.setdefault(source, []).append(aspect)
        return aspects

    def as_json(self) -> dict:
        """The contract's style: numbers and coefficients, undefined ones null with the reason."""
        return {
            "ratings": [
                {"source": source, "aspect": name, "tier": tier, **rating.as_json()}
                for (source, name, tier), rating in self.table.items()
            ],
            "correlations": [
                {"source": source, "a": aspect, "b": other, **correlation.as_json()}
                for (source, aspect, other), correlation in self.matrix.items()
            ],
        }


def rated(study: Study, task: str) -> Rated:
    """How the scores of the study's answers go with the choices of a task.

    Computed once for each recomputation and each change of the scores.
    """
    aspect_scores = AspectScore.objects.filter(candidate__study=study)
    people = (counting.changes(study), counting.withdrawn_from(study))
    result = study.agreement_results.filter(task=task).values_list("digest", flat=True).first()
    imported = aspect_scores.aggregate(n=Count("pk"), last=Max("pk"))
    state = (result, imported, people, get_language())
    key = f"ratings/{study.pk}/{task}"
    cached = cache.get(key)
    if cached is None or cached[0] != state:
        cached = (state, _rated(decided_pairs(study, task), scores(study)))
        cache.set(key, cached, CACHED_SECONDS)
    return cached[1]


def _rated(pairs: Pairs, scores: dict) -> Rated:
    table, differences = {}, {}
    for (source, aspect), of_answers in scores.items():
        places, difference = differences[source, aspect] = pairs.differences(of_answers)
        if not len(places):
            continue
        item, tier = pairs.item[places], pairs.tier[places]
        for name in (ALL, *TIERS):
            in_tier = np.ones(len(tier), dtype=bool) if name == ALL else tier == name
            if in_tier.any():
                rating = ratings.rate(item[in_tier], difference[in_tier])
                table[source, aspect, name] = rating
    return Rated(table, _matrix(table, differences))


def _matrix(table: dict, differences: dict) -> dict:
    matrix = {}
    for source, aspect, tier in table:
        if tier != ALL:
            continue
        matrix[source, CHOICE, aspect] = table[source, aspect, ALL].pearson
        places, difference = differences[source, aspect]
        for (whose, other), (others, other_difference) in differences.items():
            if whose == source and other < aspect and len(others):
                _both, ours, same = np.intersect1d(places, others, return_indices=True)
                together = ratings.correlation(other_difference[same], difference[ours])
                matrix[source, other, aspect] = together
    return matrix


def any_scores(study: Study) -> bool:
    """Whether an answer of the study has a score of some source."""
    imported = AspectScore.objects.filter(candidate__study=study)
    names = [task.name for task in counting.scored_tasks(study)]
    scored = study.batches.filter(task__name__in=names)
    judged = Item.objects.work().filter(batch__in=list(scored), done__gt=0)
    return imported.exists() or judged.exists()


# How the rows of people are called; models have their names.
VOTES, MAJORITY = "votes", "majority"


@dataclass(frozen=True)
class Compared:
    """How often ``who`` (VOTES, MAJORITY or a model) gave the label of ``key``, of ``n``."""

    key: str
    who: str
    right: Coefficient
    n: int


def compared(study: Study, task: str) -> list[Compared]:
    """Each key of the task's items with the votes, their majority and every model.

    A majority is one label with more votes than any other; items without one are not counted.
    """
    rows = Item.objects.work().filter(study=study, batch__task__name=task).exclude(keys={})
    keys = dict(rows.values_list("pk", "keys"))
    if not keys:
        return []
    labels: dict[UUID, list[str]] = defaultdict(list)
    newest = study.tasks.filter(name=task).order_by("-version").first()
    primary = next(iter(counting.measures_of(newest)), None) if newest else None
    if newest and primary and primary.level != "ranks":
        votes = read(newest, primary, only=keys)
        ids = dict(study.items.filter(pk__in=keys).values_list("position", "pk"))
        # Of what is about single answers an item has no one label.
        for item, option, label in zip(votes.item, votes.option, votes.label, strict=True):
            if not option:
                labels[ids[item]].append(votes.labels[label])
    by_source = {
        VOTES: dict(labels),
        MAJORITY: {item: _leading(row) for item, row in labels.items()},
    }
    named = rows.exclude(verdicts=None).values_list("pk", "verdicts__model", "verdicts__label")
    for item, model, label in named.order_by("verdicts__model"):
        by_source.setdefault(model, {})[item] = [label]
    names = dict.fromkeys(name for row in keys.values() for name in row)
    return [
        made
        for name in names
        for who in by_source
        if (made := _share(name, who, keys, by_source[who])).n
    ]


def _leading(labels: list[str]) -> list[str]:
    """The label with the most votes; none where several have as many."""
    first, *others = Counter(labels).most_common(2)
    return [] if others and others[0][1] == first[1] else [first[0]]


def _share(key: str, who: str, keys: dict, by_source: dict) -> Compared:
    pairs: Iterable = (
        (label, keys[item][key])
        for item, labels in by_source.items()
        if key in keys[item]
        for label in labels
    )
    right = [str(label) == str(truth) for label, truth in pairs]
    return Compared(key, who, wilson(sum(right), len(right)), len(right))
