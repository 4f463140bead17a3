"""Cohen's kappa, plain and weighted, for every two annotators who share items."""

from dataclasses import dataclass

import numpy as np

from .stats import linear_weights, quadratic_weights

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
    pairs would say nothing that the other coefficients do not, and would not fit in memory.
    """
    code = np.multiply(worker, categories, dtype=np.int64)
    code += category
    if np.any(item[1:] < item[:-1]):
        order = np.argsort(item, kind="stable")
        item, code = item[order], code[order]
    size = np.bincount(item)
    if (size * (size - 1) // 2).sum() > MAX_PAIRS:
        raise ValueError(f"more than {MAX_PAIRS:,} pairs of votes on the same items")
    keys, tally = _tally(_pair_keys(item, code, workers * categories), (workers * categories) ** 2)
    left, right = np.divmod(keys, workers * categories)
    a, row = np.divmod(left, categories)
    b, column = np.divmod(right, categories)
    if np.any(a == b):
        raise ValueError("an annotator voted twice on one item")
    names, pair = np.unique(a * workers + b, return_inverse=True)
    n = np.bincount(pair, weights=tally).astype(np.int64)
    return Confusions(names // workers, names % workers, n, pair, row, column, tally, categories)


def _pair_keys(item, code, base):
    """Keys low * base + high of every two votes on one item; ``item`` is sorted."""
    blocks = [np.empty(0, dtype=np.int64)]
    first = np.arange(len(item))
    distance = 1
    while True:
        first = first[: np.searchsorted(first, len(item) - distance)]
        first = first[item[first] == item[first + distance]]
        if not first.size:
            return np.concatenate(blocks)
        one, other = code[first], code[first + distance]
        blocks.append(np.minimum(one, other) * base + np.maximum(one, other))
        distance += 1


def _tally(keys, cells):
    if cells <= DENSE_CELLS:
        table = np.bincount(keys, minlength=1)
        found = np.flatnonzero(table)
        return found, table[found]
    return np.unique(keys, return_counts=True)


def cohen(tables, weights=None):
    """Cohen's kappa and its large-sample standard error for every pair of ``tables``.

    ``weights`` (K, K) are agreement weights, the identity where None. Formula of the error:
    Fleiss, Cohen and Everitt (1969). Returns (value, se), (pairs,) each; NaN where both annotators
    used one and the same category.
    """
    weights = np.eye(tables.categories) if weights is None else weights
    pairs, n = len(tables.n), tables.n
    share = tables.votes / n[tables.pair]
    rows, columns = (_marginals(tables, code) for code in (tables.row, tables.column))
    credit = weights[tables.row, tables.column]
    observed = np.bincount(tables.pair, weights=share * credit, minlength=pairs)
    by_row, by_column = columns @ weights.T, rows @ weights
    chance = (rows * by_row).sum(axis=1)
    varied = (rows.max(axis=1, initial=0) < 1) | (columns.max(axis=1, initial=0) < 1)
    varied |= rows.argmax(axis=1) != columns.argmax(axis=1)
    blank = np.full(pairs, np.nan)
    value = np.divide(observed - chance, 1 - chance, out=blank.copy(), where=varied)
    expected = by_row[tables.pair, tables.row] + by_column[tables.pair, tables.column]
    term = share * (credit - expected * (1 - value[tables.pair])) ** 2
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
