"""The figures of a task of rankings: strategies by their places, and by their strengths."""

from itertools import chain, combinations

import numpy as np
from django.utils.translation import gettext as _

from annotation.agreement.figures.board import About, Board
from annotation.agreement.figures.strategies import ranked
from annotation.agreement.figures.wording import translated
from annotation.agreement.statistics.bradley_terry import bradley_terry
from annotation.agreement.statistics.kendall import mean_over_items
from annotation.core import charts
from annotation.core.charts import Dot
from annotation.votes.stored import candidates_of, rankings_of


def mean_places(board: Board, about: About) -> dict:
    """The mean place of each strategy's answers, over items, with its interval."""
    from scipy.stats import rankdata  # a second and 40 MB, needed for rankings alone

    names, items = _strategies(board)
    by_name = {name: [] for name in sorted(set(chain.from_iterable(names)))}
    firsts = dict.fromkeys(by_name, 0)
    for strategies, item in zip(names, items, strict=True):
        means = rankdata(item, axis=1).mean(axis=0)
        for column, name in enumerate(strategies):
            by_name[name].append(float(means[column]))
            firsts[name] += int((item[:, column] == 1).sum())
    # Versions of the task may differ in their number of answers.
    options = max(len(strategies) for strategies in names)
    table: list[tuple] = []
    for name, values in by_name.items():
        # with_t_interval cuts at a coefficient's limits; places go up to the number of options.
        mean = mean_over_items([value / options for value in values], floor=0.0)
        limits = [None if x is None else x * options for x in (mean.value, mean.low, mean.high)]
        table.append((name, len(values), firsts[name], *limits))
    table.sort(key=lambda row: (row[3], row[0]))
    lead = _("The mean place of each strategy's answers; 1 is best.")
    marks = [Dot(row[0], *row[3:6]) for row in table]
    svg = about._replace(lead=lead).draw(
        charts.dots, marks, reference=(options + 1) / 2, axes=(_("Mean place"), _("Strategy"))
    )
    header = (_("Strategy"), _("Items"), _("Times best"), _("Mean place"), _("low"), _("high"))
    votes = sum(map(len, items))
    return {"header": header, "rows": table, "svg": svg, "lead": lead, "votes": votes}


def strengths(board: Board, about: About) -> dict:
    """Bradley-Terry strengths of strategies, from every two answers that a ranking orders."""
    names, items = _strategies(board)
    code = {name: n for n, name in enumerate(sorted(set(chain.from_iterable(names))))}
    pairs = []
    for place, (strategies, item) in enumerate(zip(names, items, strict=True)):
        for a, b in combinations(range(len(strategies)), 2):
            if strategies[a] != strategies[b]:
                left, right = code[strategies[a]], code[strategies[b]]
                scores = (np.sign(item[:, b] - item[:, a]) + 1) / 2
                pairs += [(left, right, score, place) for score in scores.tolist()]
    if not pairs:
        return {"reason": _("No vote compares two of them.")}
    columns = [np.array(column) for column in zip(*pairs, strict=True)]
    first, second, of_item = (columns[n].astype(int) for n in (0, 1, 3))
    fit = bradley_terry(first, second, columns[2], len(code), item=of_item)
    if fit.strength is None:
        return {"reason": translated(fit.reason)}
    compared = np.bincount(first, minlength=len(code)) + np.bincount(second, minlength=len(code))
    return ranked(about, fit, list(code), compared, of_item)


def _strategies(board: Board) -> tuple[list[list[str]], list[np.ndarray]]:
    """Each item's strategies in order of its options' numbers, and its rankings."""
    items, places = zip(*rankings_of(board.votes), strict=True)
    shown = candidates_of(board.study, np.array(items), "strategy")
    names: dict[int, list[str]] = {item: [] for item in items}
    for (item, _number), (strategy,) in shown.items():
        names[item].append(strategy or _("not named"))
    return list(names.values()), list(places)
