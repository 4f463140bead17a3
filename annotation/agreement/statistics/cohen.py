"""Cohen's kappa, plain and weighted, for every two annotators who share items."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .kappas import MAX_CELLS, linear_weights, quadratic_weights

MAX_PAIRS = 100_000_000
FULL_CELLS = 1 << 23
KEYS_AT_ONCE = 1 << 19
TWICE = "an annotator voted twice on one item"


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
    code = np.multiply(worker, categories, dtype=np.int64)
    code += category
    size = np.bincount(item)
    if np.any(item[1:] < item[:-1]):
        code = _grouped(item, code)
    if (size * (size - 1) // 2).sum() > MAX_PAIRS:
        raise ValueError(f"more than {MAX_PAIRS:,} pairs of votes on the same items")
    keys, votes = _counted_pairs(code, size, workers * categories)
    left, right = _split(keys, workers * categories)
    a, row = _split(left, categories)
    b, column = _split(right, categories)
    if np.any(a == b):
        raise ValueError(TWICE)
    names, pair = np.unique(a * workers + b, return_inverse=True)
    if len(names) * categories > MAX_CELLS:
        raise ValueError(
            f"{len(names):,} annotator pairs of {categories:,} categories are too many"
        )
    n = np.bincount(pair, weights=votes).astype(np.int64)
    return Confusions(names // workers, names % workers, n, votes, pair, row, column, categories)


def _grouped(item: np.ndarray, code: np.ndarray) -> np.ndarray:
    """The codes in order of their items: SciPy counts them there, ten times as fast as sorting."""
    from scipy.sparse import coo_array

    return coo_array((code, (item, np.arange(len(item), dtype=item.dtype)))).tocsr().data


def confusion_of_two(first: ArrayLike, second: ArrayLike, categories: int) -> Confusions:
    """The confusion table of two columns of categories of the same items."""
    cell = np.multiply(first, categories, dtype=np.intp)
    cell += second
    votes = np.bincount(cell, minlength=categories**2)
    row, column = np.divmod(np.flatnonzero(votes), categories)
    a, b, n = (np.array([number]) for number in (0, 1, len(cell)))
    pair = np.zeros(len(row), dtype=np.int64)
    return Confusions(a, b, n, votes[votes > 0], pair, row, column, categories)


def _counted_pairs(code: np.ndarray, size: np.ndarray, base: int) -> tuple[np.ndarray, np.ndarray]:
    """Keys lower * base + higher of two codes on one item, and how many items have them."""
    counts = np.zeros(base**2 if base**2 <= FULL_CELLS else 0, dtype=np.int64)
    keys = [np.zeros(0, dtype=np.int64)]
    for begin, n in _begins(size):
        # In parts: the keys of all pairs at once would take most of the memory, and more time.
        for part in np.array_split(begin, math.ceil(len(begin) * n**2 / KEYS_AT_ONCE)):
            of_part = _pair_keys(_table(code, part, n), base)
            if len(counts):
                np.add.at(counts, of_part, 1)
            else:
                keys.append(of_part)
    seen, votes = np.unique(np.concatenate(keys), return_counts=True)
    if len(counts):
        seen = np.flatnonzero(counts)
        votes = counts[seen]
    # A pair of votes was counted in the order that they stand in.
    low, high = _split(seen, base)
    keys_of, place = np.unique(
        np.minimum(low, high) * base + np.maximum(low, high), return_inverse=True
    )
    return keys_of, np.bincount(place, weights=votes, minlength=len(keys_of)).astype(np.int64)


def _begins(size: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """Where the rows of the items with n votes begin, and n, for every n from two on."""
    begin = np.cumsum(size) - size
    sizes = np.flatnonzero(np.bincount(size)).tolist()
    return [(begin[size == n], n) for n in sizes if n > 1]


def _table(code: np.ndarray, begin: np.ndarray, n: int) -> np.ndarray:
    """The codes of items with n votes each, (n, items)."""
    return code[begin + np.arange(n)[:, None]]


def _pair_keys(votes: np.ndarray, base: int) -> np.ndarray:
    """Keys one * base + other of every two of the ``votes`` (n, items) on one item."""
    n, items = votes.shape
    scaled = votes * base
    keys = np.empty((n * (n - 1) // 2, items), dtype=np.int64)
    done = 0
    for distance in range(1, n):
        np.add(scaled[:-distance], votes[distance:], out=keys[done : done + n - distance])
        done += n - distance
    return keys.ravel()


def _split(keys: np.ndarray, base: int) -> tuple[np.ndarray, np.ndarray]:
    """Quotient and remainder; NumPy divides by one number much faster than its divmod."""
    high = keys // base
    return high, keys - high * base


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
        linear = cohen(tables, linear_weights(values))[0]
        quadratic = cohen(tables, quadratic_weights(values))[0]
    return {
        "a": tables.a,
        "b": tables.b,
        "n": tables.n,
        "value": value,
        "se": se,
        "linear": linear,
        "quadratic": quadratic,
    }
