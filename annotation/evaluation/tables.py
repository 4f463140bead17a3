"""Tables in the shape of the papers, as CSV, LaTeX and SVG. Pure."""

import csv
import io
import math
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from annotation.core import charts, pictures
from annotation.core.cells import disarmed
from annotation.evaluation.pairs import HALVES, RULES, TIERS, Pair
from annotation.evaluation.prompts import SETTINGS

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

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

    Counts and ranks are ``int``: they are shown without digits after the point.
    """

    group: str
    name: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Table:
    """``heads`` name the columns of values, ``first`` that of the rows' names; ``digits`` are
    those after the point. ``ranked`` are the heads of columns whose highest value is the best,
    None for all.
    """

    title: "StrOrPromise"
    heads: list[str]
    rows: list[Row]
    digits: int = 1
    first: "StrOrPromise" = MODEL
    ranked: Set[str] | None = None

    def best(self) -> list[float | None]:
        """The best value of each column, as it is shown; None where no value is better."""
        columns = zip(*(row.values for row in self.rows), strict=True)
        shown = ([round(v, self.digits) for v in column if v is not None] for column in columns)
        return [
            max(values, default=None) if self.ranked is None or head in self.ranked else None
            for head, values in zip(self.heads, shown, strict=False)
        ]


def accuracies(results: list[tuple[str, dict]]) -> Table:
    """Table 3 of PersonaFeedback: ``results`` are (group, result of a run), best first a group.

    Columns: easy, medium, hard and average of both halves, and the average of all.
    """
    heads = [f"{half.title()} {name.title()}" for half in HALVES for name in (*TIERS, "avg.")]
    rows = []
    for group, result in results:
        cells = [
            result["accuracy"][half][name]["value"]
            for half in HALVES
            for name in (*TIERS, "average")
        ]
        rows.append(Row(group, result["model"], [*cells, result["average"]["value"]]))
    return Table(_("Accuracy by half and tier"), [*heads, TOTAL], _sorted(rows))


def settings(results: list[tuple[str, dict]]) -> Table:
    """Table 7: a line a model, its average in each setting."""
    lines: dict[tuple[str, str], dict[str, float]] = {}
    for group, result in results:
        line = lines.setdefault((group, result["model"]), {})
        line[result["setting"]] = result["average"]["value"]
    rows = [Row(*key, [line.get(name) for name in SETTINGS]) for key, line in lines.items()]
    heads = [SETTING_NAMES[name] for name in SETTINGS]
    return Table(_("Accuracy by setting"), heads, _sorted(rows, column=0))


def aspects(pairs: list[Pair], scores: dict[str, dict[str, float]]) -> Table:
    """Table 4: how often the chosen answer has the higher score, by half, tier and aspect.

    ``scores`` is {aspect: {answer's id: score}}. The paper counts equal scores as wrong; so does
    this table. Only pairs whose both answers have a score count.
    """
    rows = []
    for half in HALVES:
        for name in (*TIERS, *RULES, "whole"):
            some = [p for p in pairs if p.half == half and name in (p.tier, "whole")]
            if name in RULES and not some:
                continue
            values = [_higher(some, of) for of in scores.values()]
            rows.append(Row(half, name, values))
    return Table(_("Accuracy on aspects"), list(scores), rows, digits=2, first=_("Tier"))


def _higher(pairs: list[Pair], scores: dict[str, float]) -> float | None:
    both = [p for p in pairs if p.chosen_id in scores and p.reject_id in scores]
    if not both:
        return None
    return sum(scores[p.chosen_id] > scores[p.reject_id] for p in both) / len(both)


CHOSEN = "chosen"


def correlations(pairs: list[Pair], scores: dict[str, dict[str, float]]) -> Table:
    """Figure 4: Pearson's correlation of the aspects and of being chosen, over all answers.

    Each answer of each pair is a row with its scores and 1 where it was chosen, else 0.
    """
    names = [*scores, CHOSEN]
    answers = [(p.chosen_id, 1.0) for p in pairs] + [(p.reject_id, 0.0) for p in pairs]
    columns = [[of.get(name, math.nan) for name, _mark in answers] for of in scores.values()]
    values = np.array([*columns, [chosen for _name, chosen in answers]])
    rows = [Row("", name, [_pearson(a, b) for b in values]) for name, a in
            zip(names, values, strict=True)]  # fmt: skip
    title = _("Pearson's correlation of aspects and choice")
    return Table(title, names, rows, digits=2, first=_("Aspect"), ranked=frozenset())


def _pearson(a: np.ndarray, b: np.ndarray) -> float | None:
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    if len(a) < 2 or not np.ptp(a) or not np.ptp(b):
        return None
    return float(np.corrcoef(a, b)[0, 1])


def judges(results: list[dict], criteria: tuple[str, ...]) -> Table:
    """BESPOKE's table: the criteria, recall and their mean, and the correlation with the person."""
    heads = [name.split()[-1] if name.startswith("Exp") else name.split()[0] for name in criteria]
    rows = [
        Row(
            f"shots: {result['setting']}",
            result["model"],
            [
                *(result["criteria"][name] for name in criteria),
                result["recall"],
                result["average"],
                *(result["agreement"][name]["value"] for name in ("pearson", "spearman")),
            ],
        )
        for result in results
    ]
    return Table(_("Judges"), [*heads, "Recall", "Avg", "Pearson", "Spearman"], rows, digits=2)


def _sorted(rows: list[Row], column: int = -1) -> list[Row]:
    """By group in the papers' order, then by a column, best first."""

    def key(row: Row) -> tuple:
        place = GROUPS.index(row.group) if row.group in GROUPS else len(GROUPS)
        value = row.values[column]
        return place, row.group, value is None, -(value or 0), row.name

    return sorted(rows, key=key)


def as_csv(table: Table) -> str:
    """The table with all digits, one line a row."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["group", "name", *table.heads])
    for row in table.rows:
        writer.writerow([disarmed(row.group), disarmed(row.name), *row.values])
    return stream.getvalue()


def as_latex(table: Table) -> str:
    """A `tabular` for booktabs, the best value of each column in bold, groups in italics."""
    best, lines, group = table.best(), [], None
    width = len(table.heads) + 1
    for row in table.rows:
        if row.group and row.group != group:
            group = row.group
            lines.append(f"\\multicolumn{{{width}}}{{l}}{{\\textit{{{_tex(group)}}}}} \\\\")
        cells = [
            _bold(_number(value, table.digits), value is not None
                  and round(value, table.digits) == top)
            for value, top in zip(row.values, best, strict=True)
        ]  # fmt: skip
        lines.append(" & ".join([_tex(row.name), *cells]) + " \\\\")
    heads = " & ".join([_tex(str(table.first)), *map(_tex, table.heads)])
    body = "\n".join(lines)
    return (
        f"% {_tex(str(table.title))}\n\\begin{{tabular}}{{l{'r' * len(table.heads)}}}\n\\toprule\n"
        f"{heads} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"
    )


def _tex(text: str) -> str:
    return str(text).translate(_LATEX)


def _number(value: float | None, digits: int) -> str:
    if value is None:
        return "--"
    return str(value) if isinstance(value, int) else f"{value:.{digits}f}"


def _bold(text: str, bold: bool) -> str:
    return f"\\textbf{{{text}}}" if bold else text


def as_svg(key: str, title: str, desc: str, rows: list[charts.Dot], chance: float) -> SafeString:
    """The standings as a picture of its own, for papers and pages elsewhere."""
    axes = (str(_("Accuracy (%)")), str(_("Model")))
    return pictures.svg(
        charts.dots(key, title, desc, rows, reference=chance, axes=axes), f"{title}. {desc}."
    )
