"""Draw the items that people vote on, of those that models have judged.

A batch that is opened with no votes an item hands out nothing. Each round draws some of its items
with a probability that is stored (``Item.chance``), so that estimates stay unbiased. An annotator
cannot tell why an item came: a drawn item's slots are slots like all others.
"""

import hashlib
import logging
from dataclasses import asdict, fields

import numpy as np
import scipy
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.dataclasses import dataclass

from annotation.accounts.models import User
from annotation.agreement.statistics import bradley_terry
from annotation.agreement.statistics import prediction_powered as powered
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.core.schema import asked
from annotation.evaluation import estimates, raters
from annotation.evaluation.models import Draw
from annotation.judging.batches.open import ask_for_more
from annotation.judging.models import Batch, Item, Slot
from annotation.studies.bundle_rows import OVERLAP_LIMIT
from annotation.studies.models import Study

log = logging.getLogger(__name__)

# Stored with each round: a change of how a rule computes probabilities is a new version.
VERSION = 2
RULES = {
    "equal": gettext_lazy("all items equally"),
    "uncertain": gettext_lazy("first where the models are least sure"),
    "close": gettext_lazy("first pairs of answers that are close in strength"),
}


@dataclass(frozen=True)
class Round:
    """A round of drawing: its rule, its size, and when further ones end."""

    task: str = asked(gettext_lazy("Task"), max_length=60)
    votes: int = asked(gettext_lazy("Votes to ask for"), 200, ge=1, le=1_000_000)
    rule: str = asked(
        gettext_lazy("Which items"), "uncertain", choices=RULES,
        help=gettext_lazy("Least sure: where models disagree or say so, and where people lay far "
                          "from them. Each item keeps a fifth of an equal chance."),
    )  # fmt: skip
    panel: int = asked(gettext_lazy("Votes on a drawn item"), 2, ge=1, le=OVERLAP_LIMIT)
    half_width: float | None = asked(
        gettext_lazy("Go on until all intervals are at most ±"), None, ge=0.001, le=100,
        help=gettext_lazy("Of the question's shares (0.03: three points) or mean scores (points of "
                          "its scale), with each model. Further rounds follow by themselves; left "
                          "empty, none does."),
    )  # fmt: skip
    question: str = asked(
        gettext_lazy("Question"), "", max_length=200,
        help=gettext_lazy("Whose answers are read; left empty, the task's first."),
    )  # fmt: skip


@transaction.atomic
def draw(study: Study, wanted: Round, by: User | None = None) -> Draw:
    """Ask people for about ``wanted.votes`` votes, ``panel`` on each item that the rule draws.

    With ``half_width`` further rounds of the same size follow by themselves until every interval of
    the question's shares or means is at most ± that (``carry_on``). Raises DomainError where the
    task holds no items for a draw, none is left, it has no such question, or no model judged them
    and the rule or the half-width asks for that.
    """
    task, rule = wanted.task, wanted.rule
    # Two rounds at once would draw the same items; openings take the same lock.
    Study.objects.select_for_update().get(pk=study.pk)
    pool = list(_pool(study, task).select_for_update(of=("self",)).order_by("position"))
    waiting = np.array([item.overlap == 0 for item in pool], dtype=bool)
    if not waiting.any():
        raise DomainError(
            _("No item of this task waits to be drawn: open a batch with 0 judgments an item."),
            code="pool",
        )
    if wanted.half_width:
        estimates.estimates(study, task, wanted.question, most=0)
    spread = np.ones(len(pool)) if rule == "equal" else _spread(study, wanted, pool)
    # About so many items of those that wait.
    now = powered.probabilities(spread, wanted.votes / wanted.panel / waiting.mean())
    number = study.draws.filter(task=task).count()
    seed = hashlib.sha256(f"{study.slug}/{task}/{number}".encode()).digest()
    drawn = waiting & (np.random.default_rng(list(seed)).random(len(pool)) < now)
    before = np.array([item.chance for item in pool], dtype=float)
    chosen = [item for item, each in zip(pool, drawn, strict=True) if each]
    slots = ask_for_more(chosen, wanted.panel)
    for item, chance in zip(pool, powered.drawn_until(before, now), strict=True):
        item.chance = float(chance)
    Item.objects.bulk_update(pool, ["chance"], batch_size=2000)
    study.draws.filter(task=task, ended_at=None).update(ended_at=Now())
    audit.record(by, "items.draw", study, task=task, rule=rule, items=len(chosen))
    return Draw.objects.create(
        study=study, version=VERSION, items=len(chosen), slots=slots, by=by,
        ended_at=None if wanted.half_width else timezone.now(), **asdict(wanted),
    )  # fmt: skip


def state(study: Study, task: str) -> dict:
    """``waiting``: how many items may still be drawn; ``rounds``: those that were, newest first."""
    rounds = study.draws.filter(task=task).order_by("-pk")
    return {
        "waiting": _pool(study, task).filter(overlap=0).count(),
        "rounds": [(each, RULES[each.rule]) for each in rounds],
    }


def carry_on() -> int:
    """Draw the next round of each task whose votes are in and whose intervals are too wide.

    Called by beat; returns how many rounds were drawn.
    """
    drawn = 0
    for last in Draw.objects.filter(ended_at=None).select_related("study"):
        if _is_collecting(last):
            continue
        try:
            ended = _reached(last) or not state(last.study, last.task)["waiting"]
        except DomainError as refusal:
            log.warning("Rounds of draw %d end: %s", last.pk, refusal)
            ended = True
        if ended:
            Draw.objects.filter(pk=last.pk).update(ended_at=Now())
            continue
        wanted = Round(**{field.name: getattr(last, field.name) for field in fields(Round)})
        draw(last.study, wanted, last.by)
        drawn += 1
    return drawn


def _pool(study: Study, task: str) -> QuerySet[Item]:
    """The task's items that are there to be drawn, those that were drawn included."""
    work = {"batch__purpose": Batch.Purpose.WORK, "batch__closed_at": None}
    return Item.objects.filter(study=study, batch__task__name=task, **work).exclude(chance=None)


def _is_collecting(last: Draw) -> bool:
    wanted = Slot.objects.filter(
        item__in=_pool(last.study, last.task), status__in=[Slot.Status.OPEN, Slot.Status.HELD]
    )
    return wanted.exists()


def _reached(last: Draw) -> bool:
    """Whether every share or mean of the question has an interval that is narrow enough: stopping
    at a width keeps their coverage (Chow and Robbins 1965).
    """
    found = estimates.estimates(last.study, last.task, last.question)["quantities"]
    waited = [each.combined for each in found if each.name.startswith(("share:", "mean:"))]
    return bool(waited) and all(
        each.low is not None
        and each.high is not None
        and each.high - each.low <= 2 * (last.half_width or 0)
        for each in waited
    )


def _spread(study: Study, wanted: Round, pool: list[Item]) -> np.ndarray:
    """What each item's probability of being drawn grows with, by "uncertain" or "close".

    "uncertain": how far people are likely to lie from what models say of an item, by how unsure
    these are of it, as learned from the items that people voted on.
    """
    definition = raters.newest_task(study, wanted.task)
    question = estimates.measures_of(definition, wanted.question)[0]
    material = estimates.material_of(study, definition, question)
    place = {item.external_id: n for n, item in enumerate(pool)}
    said = [(unit, label) for unit, _who, label in material.votes]
    if wanted.rule == "close":
        return _closeness(material, place, said)
    if not material.verdicts:
        raise DomainError(_("No model has judged items of this task."), code="verdicts")
    predicted = _predicted(material, place)
    labels = {label: n for n, label in enumerate(material.asked.measure.labels)}
    counts = np.zeros_like(predicted)
    for (item, _option), label in said:
        if item in place and label in labels:
            counts[place[item], labels[label]] += 1
    judged = np.flatnonzero(counts.any(axis=1))
    shares = counts[judged] / counts[judged].sum(axis=1, keepdims=True)
    residual = np.abs(shares - predicted[judged]).max(axis=1, initial=0.0)
    return powered.learned_spread(powered.uncertainty(predicted), residual, judged)


def _predicted(material: estimates.Material, place: dict[str, int]) -> np.ndarray:
    """How likely each label of each item is to the models (items, labels), one with another.

    A model that is sure to a degree of c gives the rest to the other labels alike; of an item that
    no model judged all labels are alike.
    """
    code = {label: n for n, label in enumerate(material.asked.measure.labels)}
    shares = np.zeros((len(place), len(code)))
    for model, verdicts in material.verdicts.items():
        for unit, label in verdicts.items():
            if unit[0] not in place or label not in code:
                continue
            sure = material.confidences.get((model, unit), 1.0)
            row = np.full(len(code), (1 - sure) / max(len(code) - 1, 1))
            row[code[label]] = sure
            shares[place[unit[0]]] += row
    total = shares.sum(axis=1, keepdims=True)
    return np.divide(shares, total, out=np.full_like(shares, 1 / len(code)), where=total > 0)


def _closeness(
    material: estimates.Material, place: dict[str, int], votes: list[tuple[estimates.Unit, str]]
) -> np.ndarray:
    """√(p(1 − p)) of each item's pair of strategies, p by the strengths that votes and models'
    verdicts give; before there are any all pairs are as close.

    Raises DomainError where items do not show two answers of different strategies.
    """
    pairs = {
        item: (shown[1][0], shown[2][0])
        for item, shown in material.origins.items()
        if item in place and len(shown) == 2 and shown[1][0] != shown[2][0]
    }
    if not pairs or not (material.asked.chooses or material.asked.scale):
        raise DomainError(
            _("Close pairs are drawn where two answers of different origin are compared."),
            code="rule",
        )
    names = sorted({name for pair in pairs.values() for name in pair})
    code = {name: n for n, name in enumerate(names)}
    points = {1: 1.0, 2: 0.0}
    answers = [*votes, *(answer for each in material.verdicts.values() for answer in each.items())]
    rows = [
        (*(code[name] for name in pairs[item]),
         points.get(estimates.side_of(material.asked, label), 0.5))
        for (item, _option), label in answers
        if item in pairs
    ]  # fmt: skip
    strength = np.zeros(len(names))
    if rows:
        first, second, score = np.array(rows, dtype=float).T
        fitted = bradley_terry.bradley_terry(
            first.astype(int), second.astype(int), score, len(names)
        )
        strength = strength if fitted.strength is None else fitted.strength
    spread = np.full(len(place), 0.5)
    for item, (one, other) in pairs.items():
        p = scipy.special.expit(strength[code[one]] - strength[code[other]])
        spread[place[item]] = np.sqrt(p * (1 - p))
    return spread
