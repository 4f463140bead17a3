"""The rule that turns votes into tiers of difficulty, in whole numbers.

An item's own kappa is X/Y with X = K·S - n(n-1), Y = (K-1)·n(n-1), S = Σ v(v-1): the tier is a
function of the item's counts alone. Thresholds and bands are compared as exact fractions: one item
at 9/9 and nine at 8/9 are exactly 3/5, which floating point would miss.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from . import kappas
from .coefficient import undefined
from .krippendorff import alpha

TIERS = ("medium", "hard", "borderline", "ambiguous", "ambiguous_tie", "pending")
STOPS = {"hard": "hard_above", "borderline": "borderline_above"}
TOO_FEW = 30
NO_CATEGORIES = "the labels are not categories that the tasks share"
# The last three depend on which label is stored first.
COEFFICIENTS = (
    *("percent_agreement", "symmetric_kappa"),
    *("fleiss_kappa", "gwet_ac1", "krippendorff_alpha"),
)
FILL_CAP = Fraction(2, 5)
FILL_FLOOR = Fraction(21, 50)


@dataclass(frozen=True)
class TierRule:
    """Parameters of the rule; the defaults are the published ones.

    ``panel`` votes are used, the first by submission; from ``minimum`` on an item is judged once
    collection has closed. An item's kappa above ``medium_above``, ``hard_above`` or
    ``borderline_above`` names its tier. Borderline items are a reserve: one that was topped up is
    judged by its first ``top_up`` votes, and ``hard_fill`` is the largest share of the others in
    the released hard tier. ``stop_below`` ("hard" or "borderline") lets collection end early for
    items that can no longer rise above that threshold.
    """

    panel: int = 9
    minimum: int = 7
    medium_above: Fraction = Fraction(3, 5)
    hard_above: Fraction = Fraction(2, 5)
    borderline_above: Fraction = Fraction(1, 5)
    top_up: int = 13
    hard_fill: Fraction = Fraction(0)
    stop_below: str | None = None
    name: str = "kappa-bands"
    version: str = "1"

    def __post_init__(self) -> None:
        if not 2 <= self.minimum <= self.panel:
            raise ValueError("the rule needs 2 ≤ minimum ≤ panel votes")
        if not 0 <= self.borderline_above <= self.hard_above <= self.medium_above < 1:
            raise ValueError("the rule's thresholds must rise: borderline, hard, medium")
        if not 0 <= self.hard_fill <= FILL_CAP:
            raise ValueError(f"hard_fill must lie between 0 and {float(FILL_CAP)}")
        if self.stop_below not in {None, *STOPS}:
            raise ValueError("stop_below must be hard or borderline")

    def __hash__(self) -> int:
        # Without the fractions, whose hashes cost more than a cached tier saves.
        return hash((self.name, self.version, self.panel, self.minimum, self.stop_below))

    def as_json(self) -> dict[str, Any]:
        """Name, version and parameters, fractions as "2/5"."""
        parameters = {
            key: str(value) if isinstance(value, Fraction) else value
            for key, value in asdict(self).items()
            if key not in {"name", "version"}
        }
        return {"name": self.name, "version": self.version, "parameters": parameters}


DEFAULT = TierRule()


@dataclass(frozen=True)
class Judged:
    """An item's used votes {label: n}, its winner (None where shared or pending) and its tier.

    It stands for so many ``items`` of the same votes: those of groups have no ``task``.
    """

    task: str
    votes: Mapping[str, int]
    n: int
    winner: str | None
    share: Fraction
    tier: str
    items: int = 1

    def as_json(self) -> dict[str, Any]:
        """The contract's form; ``share`` as a number."""
        return {
            "task": self.task,
            "votes": dict(self.votes),
            "n": self.n,
            "winner": self.winner,
            "share": float(self.share),
            "tier": self.tier,
        }


def item_kappa(counts: Collection[int], options: int) -> Fraction:
    """An item's own symmetric kappa as an exact fraction, from two votes on."""
    n = sum(counts)
    pairs = n * (n - 1)
    agreeing = sum(v * (v - 1) for v in counts)
    return Fraction(options * agreeing - pairs, (options - 1) * pairs)


def is_closed(votes: int, overlap: int, batch_closed: bool) -> bool:
    """Whether an item waits for no more votes; from then on 7 or 8 of them are judged too.

    That is so once it has all its ``overlap`` votes, those of people who left included, or its
    batch is closed, as all are in a closed study.
    """
    return batch_closed or votes >= overlap


def tier_of(
    counts: Iterable[int], options: int, rule: TierRule = DEFAULT, *, closed: bool = True
) -> str:
    """Tier of an item from its vote counts; ``options`` K is the declared number of options.

    While collection is open (``closed`` false) there is no tier before the panel is complete.
    """
    return _tier(tuple(sorted(counts, reverse=True)), options, rule, closed)


@lru_cache(maxsize=1 << 16)
def _tier(counts: tuple[int, ...], options: int, rule: TierRule, closed: bool) -> str:
    n = sum(counts)
    if n < rule.panel and rule.stop_below and n >= 2 and may_stop(counts, options, rule):
        return "ambiguous"
    if n < (rule.minimum if closed else rule.panel):
        return "pending"
    if len(counts) > 1 and counts[0] == counts[1]:
        return "ambiguous_tie"
    kappa = item_kappa(counts, options)
    for tier in ("medium", "hard", "borderline"):
        if kappa > getattr(rule, f"{tier}_above"):
            return tier
    return "ambiguous"


def may_stop(counts: Collection[int], options: int, rule: TierRule) -> bool:
    """True when all missing votes for the leader would still not lift the item above the threshold.

    The threshold is ``rule.stop_below``: collection only ever stops on failure, never on success,
    because stopping unanimous items early would flatter the tiers.
    """
    best = sorted(counts, reverse=True)
    best[0] += max(rule.panel - sum(counts), 0)
    threshold: Fraction = getattr(rule, STOPS[str(rule.stop_below)])
    return item_kappa(best, options) <= threshold


def unbiased_votes(options: int, rule: TierRule) -> int:
    """First votes t₀ of every item that the pool's kappa may use: none stops before it has them."""
    if rule.stop_below is None:
        return rule.panel
    stoppable = (
        t
        for t in range(2, rule.panel)
        if any(may_stop((top, t - top), options, rule) for top in range((t + 1) // 2, t + 1))
    )
    return next(stoppable, rule.panel)


def is_topped_up(tier: str, votes: int, rule: TierRule = DEFAULT) -> bool:
    """Whether an item that was topped up, of this tier by its panel, has the votes it was given."""
    return tier == "borderline" and votes >= rule.top_up > rule.panel


def judged(
    task: str, tally: dict[str, int], options: int, rule: TierRule, closed: bool, items: int = 1
) -> Judged:
    """The tier and winner of an item's used votes {label: n}; arguments as of ``tier_of``."""
    tier = tier_of(tally.values(), options, rule, closed=closed)
    n, top = sum(tally.values()), max(tally.values())
    leaders = [label for label, count in tally.items() if count == top]
    winner = leaders[0] if len(leaders) == 1 and tier != "pending" else None
    return Judged(task, tally, n, winner, Fraction(top, n), tier, items)


def size_of(items: Iterable[Judged]) -> int:
    """How many items ``items`` stand for."""
    return sum(item.items for item in items)


def _shapes(items: Iterable[Judged]) -> Counter[tuple[int, ...]]:
    """{an item's votes in rising order: how many items have them}."""
    shapes: Counter[tuple[int, ...]] = Counter()
    for item in items:
        shapes[tuple(sorted(item.votes.values()))] += item.items
    return shapes


def group_kappa(items: Iterable[Judged], options: int) -> Fraction | None:
    """Exact symmetric kappa of a group: the mean of its items' kappas; None without items."""
    return mean_kappa(_shapes(item for item in items if item.n >= 2), options)


def mean_kappa(shapes: Counter[tuple[int, ...]], options: int) -> Fraction | None:
    if not shapes:
        return None
    kappas_of = (item_kappa(counts, options) * times for counts, times in shapes.items())
    return sum(kappas_of, Fraction(0)) / shapes.total()


def new_panel_kappa(items: Collection[Judged], options: int, pool: Fraction | None) -> float | None:
    """Kappa that new annotators would show on these items.

    Tiers picked from votes flatter themselves. With item preferences Dirichlet(a, …, a) and
    a = (1/κ - 1)/K from the ``pool``'s kappa (0 < κ ≤ 1), an item's posterior expectation is
    (K·Σ(a+v)(a+v+1)/((Ka+n)(Ka+n+1)) - 1)/(K-1). None where the pool's kappa gives no prior.
    """
    if not items or pool is None or not 0 < pool <= 1:
        return None
    a = float((1 / Fraction(pool) - 1) / options)
    shapes, total = _shapes(items), 0.0
    for counts, times in sorted(shapes.items()):
        size = options * a + sum(counts)
        unchosen = (options - len(counts)) * a * (a + 1)
        again = (sum((a + v) * (a + v + 1) for v in counts) + unchosen) / (size * (size + 1))
        total += times * (options * again - 1) / (options - 1)
    return total / shapes.total()


def fill_hard(
    items: Iterable[Judged],
    options: int,
    rule: TierRule,
    posterior: Mapping[str, float] | None = None,
) -> tuple[list[Judged], list[Judged]]:
    """Release step: which borderline items join the hard tier, as (joined, reserve).

    They join in order of kappa, then of ``posterior`` {task: probability of the winner} after
    Dawid and Skene, then of a hash of the id, as long as their share stays within
    ``rule.hard_fill`` and the tier's exact kappa above 0.42. The reserve may be topped up with
    votes; it is not deleted.
    """
    hard = [item for item in items if item.tier == "hard"]
    posterior = posterior or {}
    waiting = sorted(
        (item for item in items if item.tier == "borderline"),
        key=lambda item: (
            -item_kappa(item.votes.values(), options),
            -posterior.get(item.task, 0.0),
            hashlib.sha256(item.task.encode()).digest(),
        ),
    )
    total = sum((item_kappa(item.votes.values(), options) for item in hard), Fraction(0))
    joined = 0
    for item in waiting:
        total += item_kappa(item.votes.values(), options)
        size = len(hard) + joined + 1
        if joined + 1 > rule.hard_fill * size or total <= FILL_FLOOR * size:
            break
        joined += 1
    return waiting[:joined], waiting[joined:]


# Band of each checked tier: kappa above the first and up to the second, whatever the rule is.
BANDS = {"medium": (Fraction(3, 5), Fraction(1)), "hard": (Fraction(2, 5), Fraction(3, 5))}


def report_of(
    items: list[Judged], labels: Sequence[str], options: int, rule: TierRule, pool: Fraction | None
) -> dict[str, Any]:
    """``tiers_report`` of judged items, without "items"; ``labels`` are those seen, in order."""
    table = _count_table(items, labels, options)
    groups: dict[str, list[int]] = {name: [] for name in TIERS}
    for row, item in enumerate(items):
        groups[item.tier].append(row)
    return {
        "rule": {**rule.as_json(), "options": options},
        "all": {"items": size_of(items), **group_report(items, options, table)},
        "tiers": {
            name: tier_report(
                name, [items[row] for row in rows], options, pool,
                table if table is None else table[rows],
            )
            for name, rows in groups.items()
        },
    }  # fmt: skip


def tier_report(
    name: str,
    items: list[Judged],
    options: int,
    pool: Fraction | None = None,
    table: np.ndarray | None = None,
) -> dict[str, Any]:
    """One tier's entry: items, their agreement, band, whether it holds, and a note.

    ``in_band`` is exact and speaks of the votes themselves; ``new_panel_in_band`` of the kappa that
    new annotators would show, given the ``pool``'s; None where not decided. A release needs both
    not to be False. ``table`` (items, options) holds the counts by stored label for raw Fleiss, AC1
    and alpha; None where the labels are not categories the tasks share.
    """
    band, notes, n = BANDS.get(name), [], size_of(items)
    fresh, in_band, fresh_in_band = None, None, None
    if band:
        above, most = band
        kappa, fresh = group_kappa(items, options), new_panel_kappa(items, options, pool)
        if n < TOO_FEW or kappa is None:
            note = "1 item is too few to check" if n == 1 else f"{n} items are too few to check"
            notes.append(note)
        else:
            in_band = above < kappa <= most
            if not in_band:
                notes.append(f"kappa {float(kappa):.3f} is outside the band")
            fresh_in_band = None if fresh is None else bool(above < fresh <= most)
            if fresh_in_band is False:
                notes.append(f"a new panel's kappa of {fresh:.3f} would be outside the band")
    if len(_shapes(items)) == 1:
        notes.append("all items have one pattern of votes: the interval has no width")
    return {
        "items": n,
        **group_report(items, options, table),
        "new_panel_kappa": fresh,
        "band": None if band is None else [float(edge) for edge in band],
        "in_band": in_band,
        "new_panel_in_band": fresh_in_band,
        "note": "; ".join(notes),
    }


def group_report(
    items: list[Judged], options: int, table: np.ndarray | None = None
) -> dict[str, Any]:
    """Figures of a group of items: votes an item, and agreement by several coefficients.

    ``table`` as in ``tier_report``. The interval of alpha is of resamples, the others' of t.
    """
    if not items:
        empty = undefined("no items").as_json()
        per_item = dict.fromkeys(("min", "median", "max"))
        return {"votes_per_item": per_item, **dict.fromkeys(COEFFICIENTS, empty)}
    shapes = _shapes(items)
    rows = np.zeros((len(shapes), max(map(len, shapes))), dtype=np.int64)
    for row, shape in zip(rows, shapes, strict=True):
        row[: len(shape)] = shape[::-1]
    patterns = kappas.patterns_of(np.repeat(rows, list(shapes.values()), axis=0))
    of_labels = dict.fromkeys(COEFFICIENTS[2:], undefined(NO_CATEGORIES))
    if table is not None:
        weight = [item.items for item in items]
        labelled = kappas.patterns_of(np.repeat(table, weight, axis=0))
        stored = kappas.fleiss_kappa(labelled), kappas.gwet_ac1(labelled), alpha(labelled)
        of_labels = dict(zip(COEFFICIENTS[2:], stored, strict=True))
    coefficients = {
        "percent_agreement": kappas.percent_agreement(patterns),
        "symmetric_kappa": kappas.symmetric_kappa(patterns, options),
        **of_labels,
    }
    n = np.repeat([sum(shape) for shape in shapes], list(shapes.values()))
    return {
        "votes_per_item": kappas.votes_per_item(n),
        **{name: coefficient.as_json() for name, coefficient in coefficients.items()},
    }


def _count_table(items: list[Judged], labels: Sequence[str], options: int) -> np.ndarray | None:
    """Counts (items, options) by label; None where labels are names that each task has its own."""
    if len(labels) > options or size_of(items) * options > kappas.MAX_CELLS:
        return None
    place = {label: column for column, label in enumerate(labels)}
    table = np.zeros((len(items), options), dtype=np.int64)
    for row, item in enumerate(items):
        for label, count in item.votes.items():
            table[row, place[label]] = count
    return table


def audit_size(tier_items: int) -> int:
    """Pairs of an easy tier to audit: 100 or a tenth, whichever is more; all of a smaller tier."""
    return min(tier_items, max(100, math.ceil(tier_items / 10)))


def audit_easy(audited: Mapping[str, Sequence[int]], tier_items: int) -> dict[str, Any]:
    """Audit of the easy tier, which is not voted into being.

    ``audited`` is {task: (votes for the ground truth, votes for the other answer)}. A pair is
    dropped when the ground truth has not won or has less than 8/9 of the votes. The tier is
    accepted when the lower 95 % bound over items of "chose the ground truth" is 0.90 or more and
    the symmetric kappa above 0.8; None where too few pairs were audited.
    """
    drop = sorted(t for t, counts in audited.items() if 9 * counts[0] < 8 * sum(counts))
    wanted = audit_size(tier_items)
    if len(audited) < max(wanted, 2):
        note = f"{len(audited)} of the {wanted} pairs to audit"
        return {"accepted": None, "drop": drop, "chose_truth": None, "kappa": None, "note": note}
    truth = kappas.patterns_of([[c[0], sum(c) - c[0]] for c in audited.values()])
    chosen = kappas.mean_share(truth, 0)
    item_kappas = [item_kappa(counts, 2) for counts in audited.values()]
    kappa = sum(item_kappas, Fraction(0)) / len(item_kappas)
    accepted = chosen.low is not None and chosen.low >= 0.9 and kappa > Fraction(4, 5)
    return {
        "accepted": accepted,
        "drop": drop,
        "chose_truth": chosen.as_json(),
        "kappa": float(kappa),
        "note": "" if accepted else "the ground truth is not chosen clearly enough",
    }
