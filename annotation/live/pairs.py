"""Which systems meet in a conversation."""

from itertools import combinations
from random import SystemRandom

import numpy as np
import scipy
from django.db.models import F

from annotation.agreement.statistics import allocation, bradley_terry
from annotation.judging.models import Item, ItemOption
from annotation.studies.models import Study

System = tuple[str, str, str]


def draw(study: Study, systems: list[System], number: int, rule: str) -> tuple[list[System], float]:
    """``number`` of ``systems`` in a random order, and the probability with which they were drawn.

    "equal" draws all sets alike; "close" in proportion to √(p(1 − p)), p the probability by
    Bradley and Terry that one of a pair wins, mixed with equal parts (allocation.probabilities).
    """
    sets = list(combinations(range(len(systems)), number))
    spread = np.ones(len(sets))
    if rule == "close":
        closeness = _closeness(_strengths(study, systems))
        spread = np.array([np.mean([closeness[pair] for pair in combinations(each, 2)])
                           for each in sets])  # fmt: skip
    chances = allocation.probabilities(spread, 1.0) if len(sets) > 1 else np.ones(1)
    random = SystemRandom()
    drawn = random.choices(range(len(sets)), weights=chances.tolist())[0]
    order = list(sets[drawn])
    random.shuffle(order)
    return [systems[place] for place in order], float(chances[drawn])


def _closeness(strength: np.ndarray) -> np.ndarray:
    p = scipy.special.expit(strength[:, None] - strength[None, :])
    return np.sqrt(p * (1 - p))


def _strengths(study: Study, systems: list[System]) -> np.ndarray:
    """Bradley-Terry strengths by the choices so far; all 0 before there are any."""
    code = {name: place for place, (_endpoint, _strategy, name) in enumerate(systems)}
    items = Item.objects.filter(study=study, done__gt=0)
    counts = dict(items.values_list("pk", "counts"))
    shown: dict = {}
    options = ItemOption.objects.filter(item__in=counts).annotate(name=F("candidate__strategy"))
    for item, number, name in options.values_list("item", "number", "name"):
        if name in code:
            shown.setdefault(item, []).append((code[name], str(number)))
    rows = []
    for item, sides in shown.items():
        votes = counts[item]
        for (first, a), (second, b) in combinations(sides, 2):
            won, lost, tied = votes.get(a, 0), votes.get(b, 0), votes.get("tie", 0)
            if total := won + lost + tied:
                rows.append((first, second, (won + tied / 2) / total))
    if not rows:
        return np.zeros(len(systems))
    first, second, score = np.array(rows, dtype=float).T
    fit = bradley_terry.bradley_terry(first.astype(int), second.astype(int), score, len(systems))
    return np.zeros(len(systems)) if fit.strength is None else fit.strength
