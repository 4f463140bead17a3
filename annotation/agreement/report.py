"""The agreement report of a set of votes, in the contract's form."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import icc, pairwise, stats
from .arrow import constant, from_numpy, from_text
from .bootstrap import bootstrap_kappas
from .coefficient import undefined
from .krippendorff import alpha
from .votes import VotesError, categories

RESAMPLES = 1000


def agreement_report(votes, level="nominal", declared=None, resamples=RESAMPLES, seed=0):
    """Every coefficient of section 3 of the contract for ``votes``.

    ``level`` is the scale of the labels, ``declared`` all possible labels, ``resamples`` the
    bootstrap draws over items (0 for none). Raises VotesError for labels the level cannot take.
    """
    category, known = categories(votes, level, declared)
    try:
        counts = stats.count_votes(votes.task, category, len(votes.tasks), len(known))
    except ValueError as error:
        raise VotesError(f"{votes.where(0)}: {error}") from error
    patterns = stats.patterns_of(counts)
    values = None if level == "nominal" else known
    with ThreadPoolExecutor(1) as pool:
        resampled = pool.submit(coefficients, patterns, level, values, resamples, seed)
        cohen = cohen_report(votes, category, known, values)
    return {
        **counts_report(patterns, len(votes.workers), known),
        **resampled.result(),
        "cohen_kappa": cohen,
        "icc": icc_report(votes, category, patterns, values),
    }


def counts_report(patterns, workers, known):
    """How much there is: items, votes, workers, votes per item, categories."""
    n = np.repeat(patterns.votes, patterns.weight)
    return {
        "items": patterns.items,
        "votes": int(patterns.totals.sum()),
        "workers": workers,
        "votes_per_item": {
            "min": int(n.min()),
            "median": float(np.median(n)),
            "max": int(n.max()),
        },
        "categories": list(known),
    }


def coefficients(patterns, level="nominal", values=None, resamples=RESAMPLES, seed=0):
    """Percent agreement, the kappas and alpha from vote patterns alone.

    ``values`` are the categories' numbers from ordinal level on. With ``resamples`` the kappas
    carry their percentile interval over items as ``bootstrap`` beside the analytic one.
    """
    found = {
        "percent_agreement": stats.percent_agreement(patterns),
        "fleiss_kappa": stats.fleiss_kappa(patterns),
        "symmetric_kappa": stats.symmetric_kappa(patterns),
        "brennan_prediger": stats.brennan_prediger(patterns),
        "gwet_ac1": stats.gwet_ac1(patterns),
    }
    out = {name: coefficient.as_json() for name, coefficient in found.items()}
    if resamples and patterns.paired.items:
        for name, drawn in bootstrap_kappas(patterns, found, resamples, seed).items():
            out[name]["bootstrap"] = {"resamples": resamples, "low": drawn.low, "high": drawn.high}
    needs_numbers = undefined("quadratic weights need ordinal level or higher")
    ac2 = needs_numbers if values is None else stats.gwet_ac2(patterns, values)
    levels = stats.LEVELS[: stats.LEVELS.index(level) + 1]
    alphas = {x: alpha(patterns, x, values, resamples, seed).as_json() for x in levels}
    return {**out, "gwet_ac2": ac2.as_json(), "krippendorff_alpha": alphas}


def cohen_report(votes, category, known, values):
    """Cohen's kappa of all annotator pairs with shared items, as lists a column, and their mean."""
    try:
        tables = pairwise.confusions(
            votes.task, votes.worker, category, len(votes.workers), len(known)
        )
    except ValueError as error:
        return {"pairs": [], "mean": None, "reason": str(error)}
    columns = pairwise.cohen_table(tables, values)
    defined = columns["value"][np.isfinite(columns["value"])]
    out = {"pairs": PairRows(columns, votes.workers), "mean": None}
    if defined.size:
        return {**out, "mean": float(defined.mean())}
    reason = "no two annotators share an item"
    if len(tables.n):
        reason = "both annotators of every pair used one and the same category"
    return {**out, "reason": reason}


def icc_report(votes, category, patterns, values):
    """The six intraclass correlations, or why there are none."""
    if values is None:
        reason = undefined("scores are needed: ordinal level or higher").as_json()
        return dict.fromkeys(icc.FORMS, reason)
    raters = None
    if len(votes) == len(votes.tasks) * len(votes.workers) and len(votes.workers) > 1:
        raters = stats.count_votes(votes.worker, category, len(votes.workers), len(values))
    sums = icc.sums_of_patterns(patterns, values, raters)
    return {name: found.as_json() for name, found in icc.icc(sums).items()}


class PairRows:
    """Rows of the Cohen report, kept as columns: there can be tens of thousands."""

    FIELDS = ("a", "b", "n", "value", "se", "linear", "quadratic")

    def __init__(self, columns, workers):
        self.columns, self.workers = columns, workers

    def __len__(self):
        return len(self.columns["n"])

    def rows(self):
        """The rows as dictionaries; undefined numbers are None."""
        names = ((self.workers[i] for i in self.columns[side]) for side in "ab")
        numbers = (self._numbers(field) for field in self.FIELDS[3:])
        every = zip(*names, self.columns["n"].tolist(), *numbers, strict=True)
        return [dict(zip(self.FIELDS, row, strict=True)) for row in every]

    def _numbers(self, field):
        column = self.columns[field]
        if column is None:
            return [None] * len(self)
        return np.where(np.isfinite(column), column.astype(object), None).tolist()

    def json(self):
        """The rows as JSON text, written a column at a time in two parts at once."""
        middle = len(self) // 2
        with ThreadPoolExecutor(2) as pool:
            parts = pool.map(self._text, (slice(0, middle), slice(middle, None)))
            return "[" + ", ".join(filter(None, parts)) + "]"

    def _text(self, part):
        first = from_text(['{"a": ' + json.dumps(name) + ', "b": ' for name in self.workers])
        other = from_text([json.dumps(name) + ', "n": ' for name in self.workers])
        pieces = [first.take(from_numpy(self.columns["a"][part]))]
        pieces.append(other.take(from_numpy(self.columns["b"][part])))
        pieces.append(pc.cast(from_numpy(self.columns["n"][part]), pa.string()))
        lead = ""
        for field in self.FIELDS[3:]:
            lead += f', "{field}": '
            if self.columns[field] is None:
                lead += "null"
                continue
            text = pc.cast(from_numpy(self.columns[field][part]), pa.string())
            pieces += [constant(lead), pc.replace_substring(text, "nan", "null")]
            lead = ""
        rows = pc.binary_join_element_wise(*pieces, constant(lead + "}, "), constant(""))
        # An Arrow column of text is one run of bytes: the rows need not become Python objects.
        return str(rows.buffers()[2] or b"", "utf-8").rstrip(", \0")


def plain(report):
    """The report as plain dictionaries and lists."""
    cohen = report["cohen_kappa"]
    pairs = cohen["pairs"].rows() if isinstance(cohen["pairs"], PairRows) else cohen["pairs"]
    return {**report, "cohen_kappa": {**cohen, "pairs": pairs}}


def as_json(report):
    """The report as one JSON document; a number that is not finite raises ValueError."""
    cohen = report["cohen_kappa"]
    if not isinstance(cohen["pairs"], PairRows):
        return json.dumps(report, ensure_ascii=False, allow_nan=False)
    mark = "\0pairs"
    text = json.dumps(
        {**report, "cohen_kappa": {**cohen, "pairs": mark}}, ensure_ascii=False, allow_nan=False
    )
    return text.replace(json.dumps(mark), cohen["pairs"].json(), 1)
