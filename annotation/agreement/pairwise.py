"""Cohen's kappa, plain and weighted, for every two annotators who share items."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from .stats import MAX_CELLS, linear_weights, quadratic_weights

MAX_PAIRS = 100_000_000
DENSE_CELLS = 1 << 23


@dataclass(frozen=True)
class Confusions:
    """Non-empty cells of all annotator pairs' confusion tables.

    Cell c of pair ``pair[c]`` holds ``votes[c]`` items that annotator ``a`` put in category
    ``row[c]`` and ``b`` in ``column[c]``. ``a`` and ``b`` (pairs,) are codes with a < b, ``n``
    (pairs,) the items both voted on.
    """

    a: np.ndarray
    b: np.ndarray
    n: np.ndarray
    pair: np.ndarray
    row: np.ndarray
    column: np.ndarray
    votes: np.ndarray
    categories: int


def confusions(item, worker, category, workers, categories):
    """Confusion tables of all annotator pairs from one row a vote (whole-number codes from 0).

    Raises ValueError where the votes make more than MAX_PAIRS pairs within items: there the
    pairs would not fit in memory; and for an annotator twice on one item.
    """
    code = np.multiply(worker, categories, dtype=np.int64)
    code += category
    if np.any(item[1:] < item[:-1]):
        order = np.argsort(item, kind="stable")
        item, code = item[order], code[order]
    size = np.bincount(item)
    if (size * (size - 1) // 2).sum() > MAX_PAIRS:
        raise ValueError(f"more than {MAX_PAIRS:,} pairs of votes on the same items")
    base = workers * categories
    keys, tally = _tally(code, size, base)
    left, right = _split(keys, base)
    a, row = _split(left, categories)
    b, column = _split(right, categories)
    if np.any(a == b):
        raise ValueError("an annotator voted twice on one item")
    names, pair = _distinct(a * workers + b, workers**2)
    if len(names) * categories > MAX_CELLS:
        raise ValueError(
            f"{len(names):,} annotator pairs of {categories:,} categories are too many"
        )
    n = np.bincount(pair, weights=tally).astype(np.int64)
    return Confusions(names // workers, names % workers, n, pair, row, column, tally, categories)


def confusion_of_two(first, second, categories):
    """The confusion table of two columns of categories of the same items."""
    cell = np.multiply(first, categories, dtype=np.intp)
    cell += second
    tally = np.bincount(cell, minlength=categories**2)
    cells = np.flatnonzero(tally)
    row, column = np.divmod(cells, categories)
    pair = np.zeros(len(cells), dtype=np.intp)
    n = np.array([len(cell)])
    return Confusions(np.array([0]), np.array([1]), n, pair, row, column, tally[cells], categories)


def _tally(code, size, base):
    """Distinct keys low * base + high of every two votes on one item, rising, and how many.

    ``code`` is grouped by item, ``size`` says how many votes each item has.
    """
    if base**2 > DENSE_CELLS:
        none = np.zeros(0, dtype=np.int64)
        keys = np.concatenate([none, *(_pair_keys(one, base) for one in _tables(code, size))])
        low, high = _split(keys, base)
        keys = np.minimum(low, high) * base + np.maximum(low, high)
        return np.unique(keys, return_counts=True)

    def count(votes):
        return np.bincount(_pair_keys(votes, base), minlength=base**2)

    table = np.zeros(base**2, dtype=np.int64)
    with ThreadPoolExecutor(2) as pool:
        halves = (half for votes in _tables(code, size) for half in np.array_split(votes, 2, 1))
        for part in pool.map(count, halves):
            table += part
    table = table.reshape(base, base)
    # A pair of votes was counted in the order that they stand in: both orders are one key.
    table = np.triu(table + table.T)
    np.fill_diagonal(table, np.diagonal(table) // 2)
    table = table.ravel()
    found = np.flatnonzero(table)
    return found, table[found]


def _tables(code, size):
    """The codes of items with equally many votes as tables (votes, items), from two votes on."""
    begin = np.cumsum(size) - size
    for n in np.unique(size[size > 1]):
        yield code[begin[size == n] + np.arange(n)[:, None]]


def _pair_keys(votes, base):
    """Keys one * base + other of every two of the ``votes`` (n, items) on one item."""
    n, items = votes.shape
    scaled = votes * base
    keys = np.empty((n * (n - 1) // 2, items), dtype=np.int64)
    done = 0
    for distance in range(1, n):
        np.add(scaled[:-distance], votes[distance:], out=keys[done : done + n - distance])
        done += n - distance
    return keys.ravel()


def _split(keys, base):
    """Quotient and remainder; NumPy divides by one number much faster than its divmod."""
    high = keys // base
    return high, keys - high * base


def _distinct(keys, cells):
    """Distinct keys, rising, and each key's place among them."""
    if cells > DENSE_CELLS:
        return np.unique(keys, return_inverse=True)
    seen = np.zeros(cells, dtype=bool)
    seen[keys] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[keys]


def cohen(tables, weights=None):
    """Cohen's kappa and its large-sample standard error for every pair of ``tables``.

    ``weights`` (K, K) are symmetric agreement weights; None: equal or not. Formula of the error:
    Fleiss, Cohen and Everitt (1969). Returns (value, se), (pairs,) each; NaN where both annotators
    used one and the same category.
    """
    pairs, n = len(tables.n), tables.n
    share = tables.votes / n[tables.pair]
    rows, columns = (_marginals(tables, code) for code in (tables.row, tables.column))
    if weights is None:
        credit, by_row, by_column = tables.row == tables.column, columns, rows
    else:
        credit, by_row, by_column = (
            weights[tables.row, tables.column],
            columns @ weights,
            rows @ weights,
        )
    observed = np.bincount(tables.pair, weights=share * credit, minlength=pairs)
    chance = (rows * by_row).sum(axis=1)
    varied = (rows.max(axis=1, initial=0) < 1) | (columns.max(axis=1, initial=0) < 1)
    varied |= rows.argmax(axis=1) != columns.argmax(axis=1)
    blank = np.full(pairs, np.nan)
    value = np.divide(observed - chance, 1 - chance, out=blank.copy(), where=varied)
    at = tables.pair * tables.categories
    expected = by_row.ravel()[at + tables.row] + by_column.ravel()[at + tables.column]
    term = share * (credit - expected * (1 - value)[tables.pair]) ** 2
    spread = np.bincount(tables.pair, weights=term, minlength=pairs)
    spread = spread - (value - chance * (1 - value)) ** 2
    se = np.sqrt(np.maximum(spread, 0) / n)
    return value, np.divide(se, 1 - chance, out=blank, where=varied)


def _marginals(tables, code):
    """Shares (pairs, K) of each category among one annotator's votes of every pair."""
    pairs, k = len(tables.n), tables.categories
    sums = np.bincount(tables.pair * k + code, weights=tables.votes, minlength=pairs * k)
    return sums.reshape(pairs, k) / tables.n[:, None]


def cohen_table(tables, values=None):
    """Columns of the report: a, b, n, value, se, linear, quadratic.

    Weighted kappas need the categories' numeric ``values`` and are None without them.
    """
    value, se = cohen(tables)
    weighted = (None, None)
    if values is not None:
        weighted = tuple(
            cohen(tables, weigh(values))[0] for weigh in (linear_weights, quadratic_weights)
        )
    return {
        "a": tables.a,
        "b": tables.b,
        "n": tables.n,
        "value": value,
        "se": se,
        "linear": weighted[0],
        "quadratic": weighted[1],
    }
