"""The figures of a task's page: the origins of answers by their votes, and what people said."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.agreement import summary
from annotation.agreement.board import MOST_RATERS, Board, Rows
from annotation.agreement.scoring import POINTS
from annotation.agreement.statistics import kappas
from annotation.agreement.statistics.bootstrap import over_groups
from annotation.agreement.statistics.bradley_terry import REGULARISED, BradleyTerry, bradley_terry
from annotation.agreement.statistics.coefficient import (
    Coefficient,
    clopper_pearson,
    undefined,
    with_normal_interval,
)
from annotation.agreement.statistics.correlation import (
    icc,
    mean_over_items,
    mean_ranks,
    sums_of_table,
)
from annotation.agreement.statistics.kappas import cohen, confusion_of_two
from annotation.agreement.summary import About, Figure
from annotation.agreement.wording import translated
from annotation.candidates.strategies import GENERIC
from annotation.core import charts
from annotation.core.charts import Dot
from annotation.judging.models import Batch, Slot
from annotation.judging.work import hidden_checks
from annotation.questions.base import Measure, Question
from annotation.votes.stored import QuestionVotes, candidates_of, passages_of

# The win matrices, and whose wins they count.
WON_BY = {"strategy_wins": "strategies", "model_wins": "models"}
STRENGTHS = gettext_lazy(
    "Bradley and Terry's model by maximum likelihood, sum of strengths 0; a tie is half a "
    "win. The standard error is clustered by item, since votes on one item are not "
    "independent. Where every order is known, being shown first has a term of its own."
)
RESAMPLES = 1000
# Into how many bars a histogram of numbers is cut, at most.
RANGES = 10
PERCENTS = (0, 25, 50, 75, 100)
MEANS = gettext_lazy(
    "The mean of all scores, or of preferences from 0 (the other answer is much better) to 1 "
    "(this one is). Intervals are percentiles over 1,000 resamples of people."
)
WINS = gettext_lazy("A count of the votes on pairs of the two; a tie is half a win for each.")
WORDS = {
    "wins": (
        gettext_lazy("Share of votes by strategy"),
        gettext_lazy("How often an answer of each strategy was chosen where it was offered."),
        gettext_lazy(
            "The mean over items of the share of their votes, with the t-interval over items."
        ),
    ),
    "control": (
        gettext_lazy("Generic answers preferred"),
        gettext_lazy(
            "Share of votes for the generic answer where it stood among others, unmarked."
        ),
        gettext_lazy(
            "All: the mean over items of the share of their votes, with the t-interval over "
            "items. Each annotator: the exact binomial interval. Generic are the answers to "
            "the question alone."
        ),
    ),
    "strategies": (
        gettext_lazy("Strategies ranked"),
        gettext_lazy("Strength of each strategy, in log odds, with its 95 % interval."),
        STRENGTHS,
    ),
    "models": (
        gettext_lazy("Endpoints and models ranked"),
        gettext_lazy("Strength of each endpoint or model, in log odds, with its 95 % interval."),
        STRENGTHS,
    ),
    "strategy_wins": (
        gettext_lazy("Strategies against one another"),
        gettext_lazy("Share of votes that the strategy of the row won against that of the column."),
        WINS,
    ),
    "model_wins": (
        gettext_lazy("Endpoints and models against one another"),
        gettext_lazy("Share of votes that the model of the row won against that of the column."),
        WINS,
    ),
    "strategy_means": (
        gettext_lazy("Means by strategy"),
        gettext_lazy("What people gave the answers of each strategy."),
        MEANS,
    ),
    "model_means": (
        gettext_lazy("Means by model"),
        gettext_lazy("What people gave the answers of each endpoint or model."),
        MEANS,
    ),
    "answers": (
        gettext_lazy("What was said"),
        gettext_lazy("How often each answer was given."),
        gettext_lazy("A count of all judgments, with no more than one a person and item."),
    ),
    "passages": (
        gettext_lazy("Marked passages"),
        gettext_lazy("How many judgments mark something, and how many passages they mark."),
        gettext_lazy("A count of all judgments in which the question was asked."),
    ),
    "retest": (
        gettext_lazy("Test and retest"),
        gettext_lazy("How far owners judge their own items alike, some days apart."),
        gettext_lazy(
            "Of scores ICC(2,1): two-way, absolute agreement, with its F-interval. Of other "
            "answers Cohen's kappa of the first and the second answer, with its large-sample "
            "interval. Second judgments count in no other figure."
        ),
    ),
}
Pairs = list[tuple[object, object]]


def wins(board: Board, about: About) -> dict:
    """Share of an item's votes that each strategy won, as the mean over the items offering it."""
    rows, (names, codes) = board.rows, board.origins["strategies"]
    counts = kappas.count_votes(rows.item, rows.category, len(rows.items), len(board.labels))
    table = []
    for code, name in enumerate(names):
        offered = codes == code
        offering = offered.any(axis=1)
        all_votes = counts[offering].sum(axis=1)
        won = (counts[:, : codes.shape[1]] * offered)[offering].sum(axis=1)
        share = kappas.mean_share(kappas.patterns_of(np.stack([won, all_votes - won], axis=1)), 0)
        votes, items = int(all_votes.sum()), int(offering.sum())
        table.append((name, items, votes, share.value, share.low, share.high))
    table.sort(key=lambda row: (-(row[3] or 0), row[0]))
    marks = [Dot(row[0], *row[3:6]) for row in table]
    even = 1 / board.definition.config["options"]
    svg = about.draw(charts.dots, marks, reference=even, axes=(_("Share of votes"), _("Strategy")))
    header = (_("Strategy"), _("Items"), _("Votes"), _("Share of votes"), _("low"), _("high"))
    return board.of_rows(header=header, rows=table, svg=svg)


def control(board: Board, about: About) -> dict:
    """How often annotators preferred a generic answer to the others of an item."""
    rows, (names, codes) = board.rows, board.origins["strategies"]
    generic: np.ndarray = np.isin(
        codes, [code for code, name in enumerate(names) if name in GENERIC]
    )
    offering: np.ndarray = generic.any(axis=1) & ((codes >= 0) & ~generic).any(axis=1)
    if not offering.any():
        return {"reason": _("No item has a generic answer among others.")}
    won, workers = _controls_of(rows, generic, offering)
    item = rows.item[offering[rows.item]]
    by_item = np.zeros((len(rows.items), 2), dtype=int)
    np.add.at(by_item, (item, np.where(won, 0, 1)), 1)
    share = kappas.mean_share(kappas.patterns_of(by_item[offering]), 0)
    table = [(_("All"), int(offering.sum()), len(won), share.value, share.low, share.high)]
    more = 0
    for worker in np.unique(workers):
        of_worker = workers == worker
        chosen, votes = int(won[of_worker].sum()), int(of_worker.sum())
        more += chosen * 2 > votes
        exact = clopper_pearson(chosen, votes)
        items = len(np.unique(item[of_worker]))
        table.append((rows.workers[worker], items, votes, exact.value, exact.low, exact.high))
    annotators = len(table) - 1
    lead = _("%(n)d of %(all)d annotators preferred it in more than half of their votes.")
    lead = lead % {"n": more, "all": annotators}
    marks = [Dot(row[0], *row[3:6]) for row in table[: MOST_RATERS + 1]]
    axes = (_("Share of votes"), _("Annotator"))
    svg = about._replace(lead=lead).draw(charts.dots, marks, axes=axes)
    header = (_("Annotator"), _("Items"), _("Votes"), _("Share of votes"), _("low"), _("high"))
    return {
        "header": header,
        "rows": table,
        "votes": len(won),
        "items": table[0][1],
        "svg": svg,
        "lead": f"{lead} {about.lead}",
    }


def _controls_of(
    rows: Rows, generic: np.ndarray, offering: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of each vote on an item that offers a control: whether it won, and whose vote it is."""
    among = offering[rows.item]
    item, number = rows.item[among], rows.number[among]
    won = (number > 0) & generic[item, np.maximum(number - 1, 0)]
    return won, rows.worker[among]


def comparisons(board: Board, names: str) -> dict | None:
    """Votes on pairs of different ``names`` ("strategies" or "models"); None without any.

    Arrays by vote: ``left`` and ``right`` (codes of ``names``; ``left`` was shown first where
    ``order`` is true), ``score`` of ``left`` (1, 0, or 0.5 for a tie) and ``item``.
    """
    rows, (every, codes) = board.rows, board.origins[names]
    pair = codes[rows.item]
    tie = rows.category == board.labels.index("tie") if "tie" in board.labels else False
    used = (pair[:, 0] != pair[:, 1]) & ((rows.number > 0) | tie)
    if not used.any():
        return None
    first, number = rows.first[used], rows.number[used]
    turned = first == 2
    left = np.where(turned, pair[used, 1], pair[used, 0])
    right = np.where(turned, pair[used, 0], pair[used, 1])
    ahead = np.where(turned, number == 2, number == 1)
    present, coded = np.unique(np.concatenate([left, right]), return_inverse=True)
    return {
        "names": [every[n] for n in present],
        "left": coded[: len(left)],
        "right": coded[len(left) :],
        "score": np.where(number == 0, 0.5, ahead),
        "item": rows.item[used],
        "order": bool((first > 0).all()),
    }


def ranking(board: Board, about: About) -> dict:
    """Bradley-Terry strengths of strategies or of endpoints, from the votes on pairs."""
    if board.definition.config["options"] != 2:
        return {"reason": _("Strengths are estimated from pairs; this task shows three answers.")}
    votes = comparisons(board, about.key)
    if votes is None:
        return {"reason": _("No vote compares two of them.")}
    names, left, right = votes["names"], votes["left"], votes["right"]
    fit = bradley_terry(
        left, right, votes["score"], len(names), item=votes["item"], order=votes["order"]
    )
    if fit.strength is None:
        return {"reason": translated(fit.reason)}
    compared = np.bincount(left, minlength=len(names)) + np.bincount(right, minlength=len(names))
    return ranked(about, fit, names, compared, votes["item"])


def win_matrix(board: Board, about: About) -> dict:
    """How often each strategy, endpoint or model beat each other; a tie is half a win."""
    if board.definition.config["options"] != 2:
        return {"reason": _("Wins are counted over pairs; this task shows three answers.")}
    votes = comparisons(board, WON_BY[about.key])
    if votes is None:
        return {"reason": _("No vote compares two of them.")}
    names, left, right, score = (votes[key] for key in ("names", "left", "right", "score"))
    won, compared = np.zeros((2, len(names), len(names)))
    np.add.at(won, (left, right), score)
    np.add.at(won, (right, left), 1 - score)
    np.add.at(compared, (left, right), 1)
    compared += compared.T
    table = [
        (names[a], names[b], int(compared[a, b]), float(won[a, b] / compared[a, b]))
        for a, b in zip(*np.nonzero(compared), strict=True)
    ]
    place = {name: n for n, name in enumerate(names)}
    cells: dict[tuple[int, int], float | None] = {
        (place[a], place[b]): share for a, b, _n, share in table
    }
    rows = [f"{n}  {name}" for n, name in enumerate(names, start=1)]
    heads = [str(n) for n in range(1, len(names) + 1)]
    axes = (_("Share won against, by number"), _("Name"))
    svg = about.draw(charts.grid, rows, heads, cells, axes=axes)
    header: tuple[str, ...] = (_("Name"), _("against"), _("Votes"), _("Share won"))
    size = {"votes": len(left), "items": len(np.unique(votes["item"]))}
    return {"header": header, "rows": table, "svg": svg, **size}


def ranked(
    about: About, fit: BradleyTerry, names: list[str], votes: np.ndarray, item: np.ndarray
) -> dict:
    columns: tuple = (names, votes, fit.strength, fit.low, fit.high)
    table: list[tuple] = [
        (name, int(n), *map(float, rest)) for name, n, *rest in zip(*columns, strict=True)
    ]
    table.sort(key=lambda row: (-row[2], row[0]))
    marks = [Dot(row[0], *row[2:5]) for row in table]
    svg = about.draw(charts.dots, marks, reference=0, axes=(_("Strength (log odds)"), _("Name")))
    first = fit.order
    if first.value is not None:
        table.append((_("shown first"), len(item), first.value, first.low, first.high))
    lead = about.lead
    if fit.regularised:
        lead += " " + translated(REGULARISED)
    header: tuple[str, ...] = (_("Name"), _("Votes"), _("Strength (log odds)"), _("low"), _("high"))
    size = {"votes": len(item), "items": len(np.unique(item))}
    return {"header": header, "rows": table, "svg": svg, "lead": lead, **size}


def answers(board: Board, about: About) -> dict:
    """How often each label was given; of scores how those of each criterion spread."""
    if board.ranked:
        return mean_places(board, about)
    given = {
        each.name: _counts(board.answers[each.name], each.labels).tolist()
        for each in board.measures
    }
    if board.scored:
        titles = board.titles
        answered = {titles[name]: counts for name, counts in given.items() if any(counts)}
        if "interval" in board.levels:
            measures = [replace(each, name=titles[each.name]) for each in board.measures]
            numbered = [each for each in measures if each.name in answered]
            return numbers_figure(numbered, answered)
        return spread_figure(answered)
    if board.mixed:
        return _of_questions(board, about, given)
    total = sum(given[""])
    counts = list(zip(board.declared, given[""], strict=True))
    rows = [(board.named(label), n, n / total) for label, n in counts]
    header = (_("Answer"), _("Judgments"), _("Share"))
    lead = about.lead
    if board.level == "ordinal":
        ends = {"first": board.named(board.declared[0]), "last": board.named(board.declared[-1])}
        named = _("%(first)s; %(last)s.") % ends
        lead = f"{lead} {named}"
    axes = (_("Answer"), _("Judgments"))
    axes = axes if board.level == "ordinal" else axes[::-1]
    chart = charts.columns if board.level == "ordinal" else charts.bars
    drawn = counts if board.level == "ordinal" else [row[:2] for row in rows]
    svg = about._replace(lead=lead).draw(chart, drawn, axes=axes)
    return {"header": header, "rows": rows, "svg": svg, "lead": lead, "votes": total}


def _counts(votes: QuestionVotes, labels: Sequence[str]) -> np.ndarray:
    code = votes.coded(labels)
    return np.bincount(code[code >= 0], minlength=len(labels))


def numbers_figure(measures: Sequence[Measure], counts: dict[str, list[int]]) -> dict:
    """How the numbers of each question spread: quartiles, mean and ends; of one question a
    histogram in place of them.

    ``counts`` are how often each label was given. A quartile is a number that was given: the first
    at which so large a share of them is reached.
    """
    title, lead = _("How the numbers spread"), _("The median, and the middle half of the numbers.")
    how = _("Of all numbers that people gave. SD is the standard deviation.")
    rows, dots = [], []
    for each in measures:
        points, n = np.array(each.labels, dtype=float), np.array(counts[each.name])
        points, n = points[n > 0], n[n > 0]
        total, average = int(n.sum()), float(np.average(points, weights=n))
        ends = np.percentile(points, PERCENTS, weights=n, method="inverted_cdf").tolist()
        squares = float(n @ (points - average) ** 2)
        spread = (squares / (total - 1)) ** 0.5 if total > 1 else None
        rows.append((each.name, total, average, spread, *ends))
        dots.append(Dot(each.name, ends[2], ends[1], ends[3]))
    head, axes = ("answers", title, lead), (_("Number"), _("Question"))
    if len(measures) == 1:
        ranges = in_ranges(measures[0].labels, counts[measures[0].name])
        svg = charts.columns(head, ranges, axes=(_("Number"), _("Judgments")))
    else:
        svg = charts.dots(head, dots, axes=axes)
    header: tuple[str, ...] = (
        _("Question"), _("Numbers"), _("Mean"), _("SD"), _("Lowest"), _("lower quartile"),
        _("median"), _("upper quartile"), _("Highest"),
    )  # fmt: skip
    figure = {"title": title, "lead": lead, "how": how, "header": header, "rows": rows, "svg": svg}
    return figure | {"votes": max((row[1] for row in rows), default=0)}


def in_ranges(labels: Sequence[str], counts: Sequence[int]) -> list[tuple[str, float]]:
    """At most RANGES ranges of neighbouring labels, with how often one of each was given."""
    parts = np.array_split(np.arange(len(labels)), min(RANGES, len(labels)))
    named = (f"{labels[part[0]]}–{labels[part[-1]]}" if len(part) > 1 else labels[part[0]]
             for part in parts)  # fmt: skip
    return [(name, int(np.take(counts, part).sum()))
            for name, part in zip(named, parts, strict=True)]  # fmt: skip


def _of_questions(board: Board, about: About, answers: dict[str, list[int]]) -> dict:
    """How often each answer was given to each question; of several classes each is counted, and
    its share is of those who chose any.
    """
    rows: list[tuple] = []
    for question in board.questions.values():
        measures = [each for each in board.measures if each.question == question.name]
        counts = [
            (each.of_class or (label if question.TYPED else question.label_words(label)), n,
             sum(answers[each.name]))
            for each in measures
            for label, n in _labelled(question, each, answers[each.name])
            if not each.of_class or label == "yes"
        ]  # fmt: skip
        if question.MARKS:  # a figure of its own
            continue
        if not measures:
            written = board.judgments.filter(answers__question=question.name).count()
            counts = [(_("texts"), written, written)]
        rows += [(question.words, label, n, n / total) for label, n, total in counts if total]
    header = (_("Question"), _("Answer"), _("Judgments"), _("Share"))
    drawn = [(f"{question}: {label}", n) for question, label, n, _share in rows]
    svg = about.draw(charts.bars, drawn, axes=(_("Judgments"), _("Answer"))) if drawn else ""
    return {"header": header, "rows": rows, "svg": svg}


def _labelled(question: Question, each: Measure, counts: list[int]) -> list[tuple[str, float]]:
    if question.TYPED:
        return in_ranges(each.labels, counts)
    return [(label, n) for label, n in zip(each.labels, counts, strict=True)]


def passages(board: Board, about: About) -> dict:
    """Of each question and class how many judgments mark something, and how many passages."""
    rows: list[tuple] = []
    for question in board.marking:
        judgments, marks = passages_of(board.definition, question, board.last, board.withdrawn)
        classes = question.choices(0)
        for name, words in [("", _("all")), *classes] if classes else [("", "")]:
            who = [judgment for judgment, of_class in marks if name in ("", of_class)]
            share = len(set(who)) / judgments if judgments else None
            rows.append((question.words, words, judgments, share, len(who)))
    header = (_("Question"), _("Class"), _("Judgments"), _("Share that marks"), _("Passages"))
    drawn = [(": ".join(filter(None, row[:2])), row[4]) for row in rows]
    svg = about.draw(charts.bars, drawn, axes=(_("Passages"), _("Question")))
    return {"header": header, "rows": rows, "svg": svg, "votes": max(row[2] for row in rows)}


def mean_places(board: Board, about: About) -> dict:
    """The mean place of each strategy's answers, over items, with its interval."""
    names, items = _strategies(board)
    by_name = {name: [] for name in sorted(set(chain.from_iterable(names)))}
    firsts = dict.fromkeys(by_name, 0)
    for strategies, item in zip(names, items, strict=True):
        means = mean_ranks(item).mean(axis=0)
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
    items, places = zip(*board.rankings, strict=True)
    shown = candidates_of(board.study, np.array(items), "strategy")
    names: dict[int, list[str]] = {item: [] for item in items}
    for (item, _number), (strategy,) in shown.items():
        names[item].append(strategy or _("not named"))
    return list(names.values()), list(places)


def spread_figure(counts: dict[str, list[int]]) -> dict:
    """How often each criterion got 1, 2, … up to the last point of the scale."""
    title, lead = _("How the scores spread"), _("Shares of the scores, and their mean.")
    how = _("A count of all scores that people gave.")
    scale = range(1, len(next(iter(counts.values()))) + 1)
    papers = len(scale) == POINTS
    if papers:
        how = _("A count of all scores that people gave. Mean × 20 puts the scale on 20 to 100.")
    rows, bars = [], []
    for criterion, numbers in counts.items():
        n = sum(numbers)
        mean = sum(score * count for score, count in zip(scale, numbers, strict=True)) / n
        rows.append((criterion, n, mean, *([20 * mean] if papers else []), *numbers))
        bars.append((criterion, numbers, f"{mean:.2f}"))
    axes = (_("Share of scores"), _("Criterion"))
    svg = charts.stacked(("answers", title, lead), bars, [*map(str, scale)], axes=axes)
    means = (_("Mean"), _("Mean × 20")) if papers else (_("Mean"),)
    header: tuple[str, ...] = (_("Criterion"), _("Scores"), *means, *map(str, scale))
    figure = {"title": title, "lead": lead, "how": how, "header": header}
    return figure | {"rows": rows, "svg": svg, "votes": sum(map(sum, counts.values()))}


def origin_means(board: Board, about: About) -> dict:
    """What people gave the answers of each strategy or model: mean, n and interval over people."""
    scored = board.scored
    sums = _sums(board, about.key)
    rows, marks = [], []
    for (name, criterion), given in sorted(sums.items()):
        n, total = np.array(given, dtype=float).T
        several = len(n) > 1

        def average(weight: np.ndarray, n: np.ndarray = n, total: np.ndarray = total) -> float:
            return float((weight @ total) / (weight @ n))

        value, low, high = over_groups(average, np.arange(len(n)), RESAMPLES if several else 1)
        bounds = (low, high) if several else (None, None)
        row = (name or _("not named"), *([board.titles[criterion]] if scored else []))
        rows.append((*row, len(n), int(n.sum()), value, *bounds))
        marks.append(Dot(", ".join(row), value, *bounds))
    if not rows:
        return {"reason": _("There are no votes yet.")}
    first = _("Strategy") if about.key == "strategy_means" else _("Model")
    mean = _("Mean score") if scored else _("Mean preference")
    votes = _("Scores") if scored else _("Votes")
    header = (first, *([_("Criterion")] if scored else []), _("People"), votes)
    svg = about.draw(charts.dots, marks, reference=None if scored else 0.5, axes=(mean, first))
    return {"header": (*header, mean, _("low"), _("high")), "rows": rows, "svg": svg}


def _sums(board: Board, key: str) -> dict[tuple[str, str], list]:
    """{(strategy or model, criterion or ""): (how many values, their sum) of each person}.

    A preference's value is 1 where an answer is fully preferred, 0 where the other one is.
    """
    sums: dict[tuple[str, str], dict] = defaultdict(lambda: defaultdict(lambda: [0, 0.0]))
    for name, votes in board.answers.items():
        origins = candidates_of(board.study, votes.item, "strategy", "endpoint", "model")
        values = [float(label) for label in votes.labels]
        points = len(board.declared)
        for item, option, rater, label in zip(
            votes.item.tolist(), votes.option.tolist(), votes.rater.tolist(), votes.label.tolist(),
            strict=True,
        ):  # fmt: skip
            value = values[label]
            ahead = (points - value) / (points - 1)
            given = {option: value} if board.scored else {1: ahead, 2: 1 - ahead}
            for number, points_given in given.items():
                if (item, number) not in origins:
                    continue
                strategy, endpoint, model = origins[item, number]
                origin = strategy if key == "strategy_means" else endpoint or model
                cell = sums[origin or "", name][rater]
                cell[0] += 1
                cell[1] += points_given
    return {origin: list(people.values()) for origin, people in sums.items()}


def retest(board: Board, about: About) -> dict:
    """Reliability of each criterion of scores, else of the answer, with interval and pairs."""
    second = {"slot__item__batch__task__name": board.task, "slot__status": Slot.Status.DONE}
    every = hidden_checks.outcomes(board.study, Batch.Purpose.REPEAT, **second)
    outcomes = [
        each
        for each in every
        if each.annotator not in board.withdrawn
        and not each.item.external_id.startswith(hidden_checks.HIDDEN_REPEAT)
    ]
    if not outcomes:
        return {"reason": _("Nobody has judged an own item twice yet.")}
    rows = [
        (name, measure, result.value, result.low, result.high, len(pairs), result.reason or "")
        for name, measure, result, pairs in _measured(board, outcomes)
    ]
    dots = [charts.Dot(row[0], *row[2:5]) for row in rows if row[2] is not None]
    axes = (rows[0][1], _("What was judged"))
    return {
        "header": (
            _("What was judged"), _("Measure"), _("Value"), _("Low"), _("High"), _("Pairs"),
            _("Note"),
        ),
        "rows": rows,
        "svg": about.draw(charts.dots, dots, reference=0, axes=axes) if dots else "",
        "votes": len(outcomes),
    }  # fmt: skip


def _measured(board: Board, outcomes: list) -> list[tuple[str, str, Coefficient, Pairs]]:
    if not isinstance(outcomes[0].label, dict):
        pairs: Pairs = [(row.expected, row.label) for row in outcomes]
        return [(_("Answer"), _("Cohen's kappa"), kappa_of(pairs), pairs)]
    by_criterion: dict[str, Pairs] = defaultdict(list)
    for row in outcomes:
        for place in row.expected.keys() & row.label.keys():
            criterion = place.rpartition("/")[2]
            by_criterion[criterion].append((row.expected[place], row.label[place]))
    levels = {each.question: each.level for each in board.measures}
    return [_of_question(board.titles[name], level, by_criterion[name])
            for name, level in levels.items() if name in by_criterion]  # fmt: skip


def _of_question(name: str, level: str, pairs: Pairs) -> tuple[str, str, Coefficient, Pairs]:
    """Of scores the ICC, of words Cohen's kappa."""
    if level == "interval" or all(type(value) is int for pair in pairs for value in pair):
        return name, "ICC(2,1)", icc_of(pairs), pairs
    return name, _("Cohen's kappa"), kappa_of(pairs), pairs


def icc_of(pairs: Pairs) -> Coefficient:
    """ICC(2,1) of (first, second) scores: absolute agreement of two occasions."""
    if len(pairs) < 2:
        return undefined("two pairs or more are needed")
    return icc(sums_of_table(np.array(pairs, dtype=float)))["icc2"]


def kappa_of(pairs: Pairs) -> Coefficient:
    """Cohen's kappa of (first, second) labels."""
    names = {label: code for code, label in enumerate(sorted({str(v) for p in pairs for v in p}))}
    first, second = ([names[str(pair[side])] for pair in pairs] for side in (0, 1))
    if len(names) < 2:
        return undefined("only one answer was given")
    value, se = (numbers[0] for numbers in cohen(confusion_of_two(first, second, len(names))))
    if not np.isfinite(value):
        return undefined("only one answer was given")
    return with_normal_interval(float(value), float(se))


FIGURES = {
    "agreement": summary.agreement,
    "tiers": summary.tiers,
    "patterns": summary.vote_patterns,
    "days": summary.by_day,
    "seconds": summary.seconds,
    "matrix": summary.matrix,
    "sides": summary.sides,
    "wins": wins,
    "control": control,
    "strategies": ranking,
    "models": ranking,
    "strategy_wins": win_matrix,
    "model_wins": win_matrix,
}
OF_OTHERS = FIGURES | {
    "answers": answers,
    "passages": passages,
    "strategies": strengths,
    "retest": retest,
    "strategy_means": origin_means,
    "model_means": origin_means,
}


def figure_names(board: Board) -> tuple[str, ...]:
    """The figures of a task. Answers that are one person's own are only counted by day."""
    if board.kind.chooses:
        named = any(board.origin_codes["strategies"][0])
        left = {"tiers": not board.tells_tiers, "wins": not named}
        return tuple(key for key in FIGURES if not left.get(key))
    marked = ("passages",) if board.marking else ()
    if not board.measures:
        return (*marked, "days")
    if board.ranked:
        return ("agreement", "answers", "strategies", "days")
    sides = ("sides",) if board.two_sided else ()
    means = ("strategy_means", "model_means") if board.two_sided or board.scored else ()
    retest = ("retest",) if board.config["owner_only"] else ()
    by_item = ("patterns",) if board.has_tiers else ()
    by_item = ("tiers", *by_item) if board.tells_tiers else by_item
    return ("agreement", *by_item, "answers", *marked, *means, *sides, *retest, "days")


def figure_of(board: Board, key: str) -> Figure:
    """Compute one figure; KeyError where there is none of this name."""
    make = (FIGURES if board.kind.chooses else OF_OTHERS)[key]
    about = About(key, *map(str, (summary.WORDS | WORDS)[key]))
    if not board.totals["votes"]:
        return Figure(*about, reason=_("There are no votes yet."))
    return Figure(**about._asdict() | make(board, about))
