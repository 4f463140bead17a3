"""Tables in the shape of the papers, as CSV, LaTeX and SVG. Pure."""

import json
import math
from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np
from django.utils.translation import gettext_lazy as _

from annotation.core import downloads
from annotation.core.words import StrOrPromise
from annotation.evaluation.metrics import of_scores
from annotation.evaluation.pairs import HALVES, RULES, SETTINGS, TIERS, Pair

MODEL = _("Model")
TOTAL = "Total Avg."
SETTING_NAMES = {
    "persona": "Persona", "rag": "RAG", "rag-filter": "RAG, filtered", "none": "No Persona",
}  # fmt: skip
GROUPS = ("reasoning", "chat", "open-source", "reward", "trained")
_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": "\\textbackslash{}",
        "~": "\\textasciitilde{}",
        "^": "\\textasciicircum{}",
    }
)


@dataclass(frozen=True)
class Row:
    """A line of a table: its heading in the table, its name, and a value or None a column.

    Counts and ranks are ``int``: they are shown without digits after the point. ``measured_on``
    names what the values are of, such as "43 of 174" pairs: rows are compared among like alone.
    ``intervals`` are (low, high) by the head of their column.
    """

    group: str
    name: str
    values: Sequence[float | None]
    measured_on: str = ""
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """``heads`` name the columns of values, ``first`` that of the rows' names; ``digits`` are
    those after the point. ``ranked`` are the heads of columns whose highest value is the best,
    None for all. Rows that are measured on the same stand together; ``of`` is what is counted.
    """

    title: StrOrPromise
    heads: list[str]
    rows: list[Row]
    digits: int = 1
    first: StrOrPromise = MODEL
    ranked: Set[str] | None = None
    of: str = "pairs"

    def best(self, measured_on: str) -> list[float | None]:
        """The best value of each column among like rows, as it is shown; None where none is."""
        like = [row.values for row in self.rows if row.measured_on == measured_on]
        columns = zip(*(like if len(like) > 1 else ()), strict=True)
        shown = ([round(v, self.digits) for v in column if v is not None] for column in columns)
        best = [max(values, default=None) for values in shown] or [None] * len(self.heads)
        return [
            value if self.ranked is None or head in self.ranked else None
            for head, value in zip(self.heads, best, strict=True)
        ]

    def others(self, row: Row) -> bool:
        """Whether the row is measured on others than the table's first."""
        return row.measured_on != self.rows[0].measured_on

    @property
    def lines(self) -> list[tuple]:
        """(row, whether it is measured on others, (value, digits, interval or None) a column)."""
        return [
            (row, self.others(row), [(v, 0 if isinstance(v, int) else self.digits,
                                      row.intervals.get(head))
                                     for head, v in zip(self.heads, row.values, strict=True)])
            for row in self.rows
        ]  # fmt: skip

    @property
    def bounded(self) -> list[str]:
        """The heads of columns in which a row has an interval."""
        return [head for head in self.heads if any(head in row.intervals for row in self.rows)]


@dataclass(frozen=True)
class Measured:
    """The result of a run, the heading of its model, and what it was measured on."""

    group: str
    result: dict
    measured_on: str


N = "n"


def accuracies(runs: list[Measured]) -> Table:
    """Accuracy by half and tier, best first a group.

    Columns: n, easy, medium, hard and average of both halves, and the average of all.
    """
    heads = [f"{half.title()} {name.title()}" for half in HALVES for name in (*TIERS, "avg.")]
    rows = []
    for run in runs:
        cells = [
            run.result["accuracy"][half][name]["value"]
            for half in HALVES
            for name in (*TIERS, "average")
        ]
        values = [run.result["n"], *cells, run.result["average"]["value"]]
        rows.append(Row(run.group, run.result["model"], values, run.measured_on))
    heads = [*heads, TOTAL]
    title = _("Accuracy by half and tier")
    return Table(title, [N, *heads], _sorted(rows), ranked=frozenset(heads))


def settings(runs: list[Measured]) -> Table:
    """Table 7: a line a model and what it was measured on, its average in each setting."""
    lines: dict[tuple, dict[str, float]] = {}
    for run in runs:
        key = (run.group, run.result["model"], run.measured_on, run.result["n"])
        lines.setdefault(key, {})[run.result["setting"]] = run.result["average"]["value"]
    rows = [
        Row(group, model, [n, *(line.get(name) for name in SETTINGS)], measured_on)
        for (group, model, measured_on, n), line in lines.items()
    ]
    heads = [SETTING_NAMES[name] for name in SETTINGS]
    title = _("Accuracy by setting")
    return Table(title, [N, *heads], _sorted(rows, column=1), ranked=frozenset(heads))


def aspects(pairs: list[Pair], scores: dict[str, dict[str, float]]) -> Table:
    """Table 4: how often the chosen answer has the higher score, by half, tier and aspect.

    ``scores`` is {aspect: {answer's id: score}}. Equal scores count a half, as everywhere; only
    pairs whose both answers have a score count, and each aspect has their number beside it.
    """
    rows = []
    for half in HALVES:
        for name in (*TIERS, *RULES, "whole"):
            some = [p for p in pairs if p.half == half and name in (p.tier, "whole")]
            if name in RULES and not some:
                continue
            rows.append(Row(half, name, [v for of in scores.values() for v in _higher(some, of)]))
    heads = [head for aspect in scores for head in (f"n {aspect}", aspect)]
    title = _("Accuracy on aspects")
    # Rows are of other pairs each: none is better than another.
    return Table(title, heads, rows, digits=2, first=_("Tier"), ranked=frozenset())


def _higher(pairs: list[Pair], scores: dict[str, float]) -> tuple[int, float | None]:
    """How many pairs have a score for both answers, and how often the chosen one has more."""
    both = [p for p in pairs if p.chosen_id in scores and p.reject_id in scores]
    if not both:
        return 0, None
    chosen, reject = ([scores[getattr(p, side)] for p in both] for side in
                      ("chosen_id", "reject_id"))  # fmt: skip
    return len(both), float(of_scores(np.array(chosen), np.array(reject)).mean())


CHOSEN = "chosen"


def correlations(pairs: list[Pair], scores: dict[str, dict[str, float]]) -> Table:
    """Figure 4: Pearson's correlation of the aspects and of being chosen, over all answers.

    Each answer of each pair is a row with its scores and 1 where it was chosen, else 0. n is the
    number of answers that have the line's score.
    """
    names = [*scores, CHOSEN]
    answers = [(p.chosen_id, 1.0) for p in pairs] + [(p.reject_id, 0.0) for p in pairs]
    columns = [[of.get(name, math.nan) for name, _mark in answers] for of in scores.values()]
    values = np.array([*columns, [chosen for _name, chosen in answers]])
    rows = [Row("", name, [int(np.isfinite(a).sum()), *(_pearson(a, b) for b in values)])
            for name, a in zip(names, values, strict=True)]  # fmt: skip
    title = _("Pearson's correlation of aspects and choice")
    return Table(title, [N, *names], rows, digits=2, first=_("Aspect"), ranked=frozenset())


def _pearson(a: np.ndarray, b: np.ndarray) -> float | None:
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    if len(a) < 2 or not np.ptp(a) or not np.ptp(b):
        return None
    return float(np.corrcoef(a, b)[0, 1])


def _sorted(rows: list[Row], column: int = -1) -> list[Row]:
    """Like rows together, by group in the papers' order, then by a column, best first."""
    parts = list(dict.fromkeys(row.measured_on for row in rows))

    def key(row: Row) -> tuple:
        place = GROUPS.index(row.group) if row.group in GROUPS else len(GROUPS)
        value, part = row.values[column], parts.index(row.measured_on)
        return part, place, row.group, value is None, -(value or 0), row.name

    return sorted(rows, key=key)


def names_of(measured: Sequence[tuple[Hashable, str]]) -> list[str]:
    """Of each (what was measured, its name) a name that nothing else has: "43 of 174 (2)"."""
    names: dict[Hashable, str] = {}
    for what, name in measured:
        again = sum(other == name or other.startswith(f"{name} (") for other in names.values())
        names.setdefault(what, f"{name} ({again + 1})" if again else name)
    return [names[what] for what, _name in measured]


def as_lines(table: Table) -> list[list]:
    """The heads and each row's values with all digits, then bounds of intervals; and what it was
    measured on, if it says.
    """
    named = any(row.measured_on for row in table.rows)
    bounds = [f"{head} {end}" for head in table.bounded for end in ("low", "high")]
    return [
        ["group", "name", *([table.of] if named else []), *table.heads, *bounds],
        *(
            [
                *(row.group, row.name, *([row.measured_on] if named else []), *row.values),
                *(end for head in table.bounded for end in row.intervals.get(head, (None, None))),
            ]
            for row in table.rows
        ),
    ]


def export(table: Table, ending: str) -> str:
    """The table as "csv", "json" or "tex"."""
    if ending == "json":
        heads, *lines = as_lines(table)
        return json.dumps([dict(zip(heads, line, strict=True)) for line in lines],
                          ensure_ascii=False)  # fmt: skip
    return as_csv(table) if ending == "csv" else as_latex(table)


def as_csv(table: Table) -> str:
    """``as_lines``, safe for spreadsheets."""
    return "".join(downloads.csv_lines(as_lines(table))).replace("\r\n", "\n")


def as_latex(table: Table) -> str:
    """A `tabular` for booktabs, the best value of each column in bold, groups in italics."""
    lines: list[str] = []
    group, part = None, table.rows[0].measured_on if table.rows else ""
    for row in table.rows:
        if row.measured_on != part:
            group, part = None, row.measured_on
            lines += ["\\midrule", _across(table, f"On other {table.of}: {part}")]
        if row.group and row.group != group:
            group = row.group
            lines.append(_across(table, f"\\textit{{{_tex(group)}}}"))
        cells = [_tex(row.name)]
        for head, value, top in zip(table.heads, row.values, table.best(part), strict=True):
            number = _number(value, table.digits)
            if value is not None and round(value, table.digits) == top:
                number = f"\\textbf{{{number}}}"
            cells.append(number + _interval(row.intervals.get(head), table.digits))
        lines.append(" & ".join(cells) + " \\\\")
    heads = " & ".join([_tex(str(table.first)), *map(_tex, table.heads)])
    body = "\n".join(lines)
    return (
        f"% {_tex(str(table.title))}\n\\begin{{tabular}}{{l{'r' * len(table.heads)}}}\n\\toprule\n"
        f"{heads} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"
    )


def _across(table: Table, text: str) -> str:
    return f"\\multicolumn{{{len(table.heads) + 1}}}{{l}}{{{text}}} \\\\"


def _tex(text: str) -> str:
    return str(text).translate(_LATEX)


def _number(value: float | None, digits: int) -> str:
    if value is None:
        return "--"
    return str(value) if isinstance(value, int) else f"{value:.{digits}f}"


def _interval(bounds: tuple[float, float] | None, digits: int) -> str:
    if bounds is None:
        return ""
    low, high = (_number(bound, digits) for bound in bounds)
    return f" {{\\scriptsize [{low}, {high}]}}"
