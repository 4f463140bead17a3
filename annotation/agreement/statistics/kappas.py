"""Kappas: chance-corrected agreement of many raters, and Cohen's of every two who share items.

Every coefficient of many raters depends on the items' vote counts alone, so items with equal counts
are one *pattern* with a weight. Nine votes on two options have ten patterns however many items
there are. Patterns come out in one order whatever the order of the votes, so every figure is the
same bit for bit in any order of arrival.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from .coefficient import Coefficient, undefined, with_t_interval

LEVELS = ("nominal", "ordinal", "interval", "ratio")
MAX_CELLS = 50_000_000
NO_PAIR = "no item has two votes"
ONE_CATEGORY = "only one category was voted for"
ONE_OPTION = "one category: agreement by chance is certain"
MAX_PAIRS = 100_000_000
TWICE = "an annotator voted twice on one item"


@dataclass(frozen=True)
class Patterns:
    """Distinct rows of vote counts and how many items have each.

    ``counts`` is (patterns, categories), ``weight`` is (patterns,), both whole numbers.
    """

    counts: np.ndarray
    weight: np.ndarray

    @cached_property
    def votes(self) -> np.ndarray:
        """Votes of one item of each pattern."""
        return self.counts.sum(axis=1)

    @cached_property
    def items(self) -> int:
        """Number of items with at least one vote."""
        return int(self.weight.sum())

    @cached_property
    def categories(self) -> int:
        """Number of declared categories K."""
        return self.counts.shape[1]

    @cached_property
    def paired(self) -> "Patterns":
        """The patterns with two votes or more: only they can agree or disagree."""
        keep = self.votes >= 2
        return Patterns(self.counts[keep], self.weight[keep])

    @cached_property
    def shares(self) -> np.ndarray:
        """Shares of each pattern's votes by category, (patterns, categories)."""
        return self.counts / self.votes[:, None]

    @cached_property
    def prevalence(self) -> np.ndarray:
        """Mean over items of the category shares (Gwet's convention for unequal numbers)."""
        return self.weight @ self.shares / self.items

    @cached_property
    def totals(self) -> np.ndarray:
        """Votes by category over all items."""
        return self.weight @ self.counts


def votes_per_item(n: np.ndarray) -> dict[str, float]:
    """The least, the median and the most of the items' numbers of votes ``n``."""
    return {"min": int(n.min()), "median": float(np.median(n)), "max": int(n.max())}


def count_votes(item: np.ndarray, category: np.ndarray, items: int, categories: int) -> np.ndarray:
    """Votes of each item for each category from one row a vote.

    ``item`` and ``category`` are whole-number codes from 0; the answer is (items, categories).
    Raises ValueError when the table would not fit in memory, which happens when the labels are
    names of answers and not categories the items share.
    """
    if items * categories > MAX_CELLS:
        raise ValueError(
            f"{categories} different labels over {items} tasks are too many: "
            "labels must be categories that the tasks share"
        )
    cell = np.multiply(item, categories, dtype=np.result_type(item, np.int32))
    cell += category
    return np.bincount(cell, minlength=items * categories).reshape(items, categories)


def patterns_of(counts: ArrayLike) -> Patterns:
    """Patterns of an (items, categories) table of counts; items without votes are left out."""
    counts = np.asarray(counts)
    radix = int(counts.max(initial=0)) + 1
    size = radix ** counts.shape[1]
    if size >= 2**62:
        rows, weight = np.unique(counts, axis=0, return_counts=True)
    else:
        powers = radix ** np.arange(counts.shape[1] - 1, -1, -1)
        keys, weight = _counted(counts @ powers, size)
        rows = keys[:, None] // powers % radix
    voted = rows.any(axis=1)
    return Patterns(rows[voted], weight[voted])


def agreement_weights(values: ArrayLike, power: int) -> np.ndarray:
    """Weights 1 - (distance / range)^power of the categories' values, (K, K): linear of 1,
    quadratic of 2.
    """
    values = np.asarray(values, dtype=float)
    spread = np.ptp(values) or 1.0
    return 1 - np.abs((values[:, None] - values[None, :]) / spread) ** power


def item_agreement(patterns: Patterns, weights: np.ndarray | None = None) -> np.ndarray:
    """Share of agreeing pairs of votes P_i of each *paired* pattern (Fleiss 1971; Gwet 2014).

    ``weights`` (K, K) gives partial credit to unequal votes; without it, equal or not.
    """
    v, n = patterns.paired.counts, patterns.paired.votes
    partial = v if weights is None else v @ weights
    return (v * (partial - 1)).sum(axis=1) / (n * (n - 1))


def percent_agreement(patterns: Patterns) -> Coefficient:
    """Mean item agreement P̄ over items with two votes, with the t-interval over items."""
    pairs = patterns.paired
    if not pairs.items:
        return undefined(NO_PAIR)
    return _mean_over_items(item_agreement(patterns), pairs, floor=0.0)


def symmetric_kappa(patterns: Patterns, options: int | None = None) -> Coefficient:
    """Fleiss' kappa with every item entered in all K! orders: (K·P̄ - 1)/(K - 1).

    ``options`` K is the number of columns where None. The order in which an item's options are
    stored does not matter. A group's value is the mean of its items' own values.
    """
    k, pairs = options or patterns.categories, patterns.paired
    fault = _fault(patterns, k)
    if fault:
        return fault
    return _mean_over_items((k * item_agreement(patterns) - 1) / (k - 1), pairs, floor=-1 / (k - 1))


def mean_share(patterns: Patterns, category: int) -> Coefficient:
    """Mean over items of the share of votes for a category, with the t-interval over items.

    Votes on one item are not independent; items are. This is the win rate of a category.
    """
    return _mean_over_items(patterns.shares[:, category], patterns, floor=0.0)


def _fault(patterns: Patterns, options: int) -> Coefficient | None:
    if not patterns.paired.items:
        return undefined(NO_PAIR)
    return undefined(ONE_OPTION) if options < 2 else None


def _mean_over_items(values: np.ndarray, pairs: Patterns, *, floor: float) -> Coefficient:
    count = pairs.items
    mean = pairs.weight @ values / count
    variance = pairs.weight @ (values - mean) ** 2 / (count * max(count - 1, 1))
    return with_t_interval(mean, np.sqrt(variance), count, floor=floor)


def fleiss_kappa(patterns: Patterns) -> Coefficient:
    """Fleiss' kappa (1971), unequal numbers of votes and its standard error after Gwet (2021)."""
    if not patterns.paired.items:
        return undefined(NO_PAIR)
    if np.count_nonzero(patterns.totals) < 2:
        return undefined(ONE_CATEGORY)
    share = patterns.prevalence
    return _chance_corrected(patterns, share @ share, patterns.shares @ share)


def brennan_prediger(patterns: Patterns) -> Coefficient:
    """Brennan and Prediger's kappa, Randolph's free-marginal kappa: chance is 1/K."""
    fault = _fault(patterns, patterns.categories)
    if fault:
        return fault
    chance = 1 / patterns.categories
    return _chance_corrected(patterns, chance, chance)


def gwet_ac1(patterns: Patterns) -> Coefficient:
    """Gwet's AC1 (2008): chance is Σ π(1-π)/(K-1)."""
    return _gwet(patterns, None)


def gwet_ac2(patterns: Patterns, values: ArrayLike) -> Coefficient:
    """Gwet's AC2 (2014) with quadratic weights on the categories' numeric ``values``."""
    return _gwet(patterns, agreement_weights(values, 2))


def _gwet(patterns: Patterns, weights: np.ndarray | None) -> Coefficient:
    k = patterns.categories
    fault = _fault(patterns, k)
    if fault:
        return fault
    total = k if weights is None else weights.sum()
    scale = total / (k * (k - 1))
    away = 1 - patterns.prevalence
    chance = scale * (patterns.prevalence @ away)
    return _chance_corrected(patterns, chance, scale * (patterns.shares @ away), weights)


def _chance_corrected(
    patterns: Patterns,
    chance: float,
    chance_of_item: np.ndarray | float,
    weights: np.ndarray | None = None,
) -> Coefficient:
    """(P̄ - P_e)/(1 - P_e) with Gwet's linearised standard error over items.

    Items with one vote count in the shares, and with the factor N/N₂ in the error.
    """
    pairs = patterns.paired
    agreement = item_agreement(patterns, weights)
    value = (pairs.weight @ agreement / pairs.items - chance) / (1 - chance)
    terms = np.zeros(len(patterns.weight))
    factor = patterns.items / pairs.items
    terms[patterns.votes >= 2] = factor * (agreement - chance) / (1 - chance)
    terms -= 2 * (1 - value) * (chance_of_item - chance) / (1 - chance)
    count = patterns.items
    variance = patterns.weight @ (terms - value) ** 2 / (count * max(count - 1, 1))
    return with_t_interval(value, np.sqrt(variance), count)


@dataclass(frozen=True)
class Confusions:
    """Confusion tables of annotator pairs, of which only cells that are not empty are there.

    Codes ``a`` < ``b`` of the annotators and the items ``n`` both voted on, (pairs,) each. Cell c
    has ``votes[c]`` and belongs to pair ``pair[c]``; its ``row`` is a's category.
    """

    a: np.ndarray
    b: np.ndarray
    n: np.ndarray
    votes: np.ndarray
    pair: np.ndarray
    row: np.ndarray
    column: np.ndarray
    categories: int

    def sums(self, cells: np.ndarray) -> np.ndarray:
        """Sum of each pair's cells."""
        return np.bincount(self.pair, weights=cells, minlength=len(self.n))

    def marginals(self) -> tuple[np.ndarray, np.ndarray]:
        """Votes (pairs, K) of annotators ``a`` and ``b`` for each category."""
        pairs, k = len(self.n), self.categories
        by_row, by_column = (
            np.bincount(self.pair * k + code, weights=self.votes, minlength=pairs * k)
            for code in (self.row, self.column)
        )
        return by_row.reshape(pairs, k), by_column.reshape(pairs, k)


def confusions(
    item: np.ndarray, worker: np.ndarray, category: np.ndarray, workers: int, categories: int
) -> Confusions:
    """Confusion tables of all annotator pairs from one row a vote (whole-number codes from 0).

    Raises ValueError where the votes make more than MAX_PAIRS pairs within items: there the
    pairs would not fit in memory; and for an annotator twice on one item.
    """
    size = np.bincount(item)
    if (size * (size - 1) // 2).sum() > MAX_PAIRS:
        raise ValueError(f"more than {MAX_PAIRS:,} pairs of votes on the same items")
    code = np.multiply(worker, categories, dtype=np.int64) + category
    keys, votes = _counted_pairs(item, code, workers * categories)
    (a, row), (b, column) = (
        np.divmod(code, categories) for code in np.divmod(keys, workers * categories)
    )
    if np.any(a == b):
        raise ValueError(TWICE)
    names, pair = np.unique(a * workers + b, return_inverse=True)
    if len(names) * categories > MAX_CELLS:
        raise ValueError(
            f"{len(names):,} annotator pairs of {categories:,} categories are too many"
        )
    n = np.bincount(pair, weights=votes).astype(np.int64)
    return Confusions(names // workers, names % workers, n, votes, pair, row, column, categories)


def _counted_pairs(item: np.ndarray, code: np.ndarray, base: int) -> tuple[np.ndarray, np.ndarray]:
    """Keys lower * base + higher of two codes on one item, rising, and how many items have them."""
    if np.any(item[1:] < item[:-1]):
        order = np.argsort(item, kind="stable")
        item, code = item[order], code[order]
    # Each vote with the next one, then with the one after it, while they are on the same item.
    vote, distance = np.arange(len(item)), 1
    parts = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))]
    while len(vote):
        vote = vote[: np.searchsorted(vote, len(item) - distance)]
        vote = vote[item[vote] == item[vote + distance]]
        first, second = code[vote], code[vote + distance]
        pair_keys = np.minimum(first, second) * base + np.maximum(first, second)
        parts.append(_counted(pair_keys, base**2))
        distance += 1
    seen, counts = map(np.concatenate, zip(*parts, strict=True))
    keys, place = np.unique(seen, return_inverse=True)
    return keys, np.bincount(place, weights=counts, minlength=len(keys)).astype(np.int64)


def _counted(keys: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Those of ``keys`` from 0 to below ``size``, rising, and how often each occurs."""
    if size > max(4 * len(keys), 1 << 16):
        return np.unique(keys, return_counts=True)
    tally = np.bincount(keys, minlength=size)
    seen = np.flatnonzero(tally)
    return seen, tally[seen]


def confusion_of_two(first: ArrayLike, second: ArrayLike, categories: int) -> Confusions:
    """The confusion table of two columns of categories of the same items."""
    cell = np.multiply(first, categories, dtype=np.intp)
    cell += second
    votes = np.bincount(cell, minlength=categories**2)
    row, column = np.divmod(np.flatnonzero(votes), categories)
    a, b, n = (np.array([number]) for number in (0, 1, len(cell)))
    pair = np.zeros(len(row), dtype=np.int64)
    return Confusions(a, b, n, votes[votes > 0], pair, row, column, categories)


def cohen(tables: Confusions, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Cohen's kappa and its large-sample standard error for every pair of ``tables``.

    ``weights`` (K, K) are symmetric agreement weights; None: equal or not. Formula of the error:
    Fleiss, Cohen and Everitt (1969). Returns (value, se), (pairs,) each; NaN where both annotators
    used one and the same category.
    """
    n = tables.n
    share = tables.votes / n[tables.pair]
    rows, columns = (votes / n[:, None] for votes in tables.marginals())
    by_row, by_column = columns, rows
    if weights is not None:
        by_row, by_column = columns @ weights, rows @ weights
    credit = tables.row == tables.column
    if weights is not None:
        credit = weights[tables.row, tables.column]
    observed = tables.sums(share * credit)
    chance = (rows * by_row).sum(axis=1)
    varied = (rows.max(axis=1, initial=0) < 1) | (columns.max(axis=1, initial=0) < 1)
    varied |= rows.argmax(axis=1) != columns.argmax(axis=1)
    # Weights of numbers that are all but equal make agreement by chance certain.
    varied &= chance < 1
    blank = np.full(len(n), np.nan)
    value = np.divide(observed - chance, 1 - chance, out=blank.copy(), where=varied)
    expected = by_row[tables.pair, tables.row] + by_column[tables.pair, tables.column]
    term = share * (credit - expected * (1 - value)[tables.pair]) ** 2
    spread = tables.sums(term) - (value - chance * (1 - value)) ** 2
    se = np.sqrt(np.maximum(spread, 0) / n)
    return value, np.divide(se, 1 - chance, out=blank, where=varied)


def cohen_table(
    tables: Confusions, values: ArrayLike | None = None
) -> dict[str, np.ndarray | None]:
    """Columns of the report: a, b, n, value, se, linear, quadratic.

    Weighted kappas need the categories' numeric ``values`` and are None without them.
    """
    value, se = cohen(tables)
    linear, quadratic = None, None
    if values is not None:
        linear, quadratic = (cohen(tables, agreement_weights(values, k))[0] for k in (1, 2))
    columns = {"a": tables.a, "b": tables.b, "n": tables.n, "value": value, "se": se}
    return columns | {"linear": linear, "quadratic": quadratic}
