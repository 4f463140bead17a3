"""Scores of answers, whoever gave them: how they go with the choices, how they spread."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from django.core.cache import cache
from django.db.models import Avg, Count, Max, QuerySet
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.agreement import ratings, reading
from annotation.agreement.models import ItemTier
from annotation.agreement.tiers.rules import TIERS
from annotation.candidates.models import AspectScore
from annotation.judging.kinds import codes, kind_of, score_rows
from annotation.judging.models import Item, ItemOption
from annotation.studies.models import Study

# Points of a scale that names none.
POINTS = 5
ALL = "all"
CHOICE = "choice"
CACHED_SECONDS = 3600


def people_scores(study: Study) -> list[QuerySet]:
    """The scores by people that count (``kinds.score_rows``)."""
    return score_rows(reading.judgments(study))


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
    for rows in people_scores(study):
        by = rows.values_list("slot__item__batch__task__name", "criterion", "candidate")
        for task, criterion, candidate, score in by.annotate(mean=Avg("score")).order_by():
            scores[_("people (%(task)s)") % {"task": task}, criterion][candidate] = score
    return dict(sorted(scores.items()))


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
    won = ItemTier.objects.filter(item__in=reading.items(study, task)).exclude(winner=None)
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
    people = [rows.aggregate(n=Count("part"), last=Max("part")) for rows in people_scores(study)]
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


def spread(study: Study, task: str) -> dict[str, list[int]]:
    """{criterion: how often it got 1, 2, … up to the last point}, in the task's order."""
    definitions = study.tasks.filter(name=task, kind__in=codes(SHAPE="scores"))
    newest = definitions.order_by("-version").first()
    if newest is None:
        return {}
    judgments = reading.judgments(study).filter(slot__item__batch__task__name=task)
    scores = kind_of(newest.kind).scores(judgments).values_list("criterion", "score")
    rows = list(scores.annotate(n=Count("part")).order_by("criterion"))
    # An earlier version of the task may have had a longer scale.
    points = max([newest.config.get("points", POINTS), *(score for _criterion, score, _n in rows)])
    counts = defaultdict(lambda: [0] * points)
    for criterion, score, n in rows:
        counts[criterion][score - 1] = n
    order = [name for name in newest.config.get("criteria", []) if name in counts]
    return {name: counts[name] for name in (*order, *sorted(counts.keys() - set(order)))}


def any_scores(study: Study) -> bool:
    """Whether an answer of the study has a score of some source."""
    imported = AspectScore.objects.filter(candidate__study=study)
    scored = study.batches.filter(task__kind__in=codes(SHAPE="scores"))
    judged = Item.objects.work().filter(batch__in=list(scored), done__gt=0)
    return imported.exists() or judged.exists()
