"""People and models against the keys of imported items: experts' labels, which nobody is shown."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from annotation.agreement.statistics.coefficient import Coefficient, wilson
from annotation.judging.models import Item
from annotation.studies.models import Study
from annotation.votes import counting, stored

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
        votes = stored.read(newest, primary, only=keys)
        ids = dict(study.items.filter(pk__in=keys).values_list("position", "pk"))
        # Of what is about single answers an item has no one label.
        for item, option, label in zip(votes.item, votes.option, votes.label, strict=True):
            if not option:
                labels[ids[item]].append(votes.labels[label])
    said = {VOTES: dict(labels), MAJORITY: {item: _leading(row) for item, row in labels.items()}}
    named = rows.exclude(verdicts=None).values_list("pk", "verdicts__model", "verdicts__label")
    for item, model, label in named.order_by("verdicts__model"):
        said.setdefault(model, {})[item] = [label]
    names = dict.fromkeys(name for row in keys.values() for name in row)
    return [
        made for name in names for who in said if (made := _share(name, who, keys, said[who])).n
    ]


def _leading(labels: list[str]) -> list[str]:
    """The label with the most votes; none where several have as many."""
    first, *others = Counter(labels).most_common(2)
    return [] if others and others[0][1] == first[1] else [first[0]]


def _share(key: str, who: str, keys: dict, said: dict) -> Compared:
    pairs: Iterable = (
        (label, keys[item][key])
        for item, labels in said.items()
        if key in keys[item]
        for label in labels
    )
    right = [str(label) == str(truth) for label, truth in pairs]
    return Compared(key, who, wilson(sum(right), len(right)), len(right))
