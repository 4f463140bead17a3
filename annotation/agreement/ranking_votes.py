"""Stored rankings as arrays of places, item by item."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from django.db.models import QuerySet

from annotation.agreement.statistics import kendall


@dataclass(frozen=True)
class ItemRankings:
    """The rankings of one item: ``places`` (raters, options), options in order of their numbers."""

    item: object
    name: str
    position: int
    places: np.ndarray

    @cached_property
    def w(self) -> float:
        return kendall.concordance(self.places)


@dataclass(frozen=True)
class Rankings:
    """The rankings of one task, items in their order."""

    items: list[ItemRankings]

    @property
    def paired(self) -> list[ItemRankings]:
        return [item for item in self.items if len(item.places) > 1]

    @property
    def report(self) -> dict:
        """Kendall's W and the mean rank correlation over items, for storing."""
        w = [item.w for item in self.paired]
        raters = [len(item.places) for item in self.paired]
        r = [(m * value - 1) / (m - 1) for m, value in zip(raters, w, strict=True)]
        return {
            "paired_items": len(self.paired),
            "kendall_w": kendall.mean_over_items(w, floor=0.0).as_json(),
            "rank_correlation": kendall.mean_over_items(r, floor=-1.0).as_json(),
        }

    @property
    def disputed(self) -> list[dict]:
        """Items with two rankings or more, the lowest W first."""
        rows = [
            {
                "item": item.item,
                "name": item.name,
                "judged": len(item.places),
                "measure": item.w if np.isfinite(item.w) else None,
                "orders": ", ".join("-".join(map(str, row)) for row in item.places.tolist()),
                "position": item.position,
            }
            for item in self.paired
        ]
        return sorted(
            rows, key=lambda row: (row["measure"] is None, row["measure"] or 0, row["position"])
        )


def read(judgments: QuerySet, question: str) -> Rankings:
    """The answers to the ranking ``question`` among ``judgments`` (rows of Judgment that count)."""
    of_item = ("slot__item__position", "slot__item__external_id", "slot__item")
    rows = judgments.filter(answers__question=question).values_list(
        *of_item, "pk", "answers__value"
    )
    places: dict[tuple, dict[int, list]] = defaultdict(lambda: defaultdict(list))
    for *item, judgment, place in rows.order_by(*of_item[:1], "pk", "answers__option"):
        places[tuple(item)][judgment].append(place)
    return Rankings(
        [
            ItemRankings(item, name, position, np.array(list(rankings.values())))
            for (position, name, item), rankings in places.items()
        ]
    )
