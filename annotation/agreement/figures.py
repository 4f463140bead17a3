"""The figures of a task's page: the origins of answers by their votes, and what people said."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.agreement import summary
from annotation.agreement.board import MOST_RATERS, Board
from annotation.agreement.scoring import POINTS
from annotation.agreement.statistics import kappas
from annotation.agreement.statistics.bootstrap import over_groups
from annotation.agreement.statistics.bradley_terry import REGULARISED, bradley_terry
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
from annotation.agreement.summary import Figure
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
# Of one question or criterion: its title, its labels, and how often each was given.
Answered = tuple[str, Sequence[str], list[int]]
Pairs = list[tuple[object, object]]


def wins(board: Board, figure: Figure) -> Figure:
    """Share of an item's votes that each strategy won, as the mean over the items offering it."""
    votes, (names, codes) = board.rows, board.origins["strategies"]
    counts = kappas.count_votes(votes.item, votes.category, len(votes.items), len(board.labels))
    rows = []
    for code, name in enumerate(names):
        offered = codes == code
        offering = offered.any(axis=1)
        all_votes = counts[offering].sum(axis=1)
        won = (counts[:, : codes.shape[1]] * offered)[offering].sum(axis=1)
        share = kappas.mean_share(kappas.patterns_of(np.stack([won, all_votes - won], axis=1)), 0)
        rows.append((name, int(offering.sum()), int(all_votes.sum()), *share.limits))
    rows.sort(key=lambda row: (-(row[3] or 0), row[0]))
    marks = [Dot(row[0], *row[3:]) for row in rows]
    even, axes = 1 / board.definition.config["options"], (_("Share of votes"), _("Strategy"))
    svg = figure.draw(charts.dots, marks, reference=even, axes=axes)
    header = (_("Strategy"), _("Items"), _("Votes"), _("Share of votes"), _("low"), _("high"))
    n, items = len(votes), len(votes.items)
    return replace(figure, header=header, rows=rows, svg=svg, votes=n, items=items)


def control(board: Board, figure: Figure) -> Figure:
    """How often annotators preferred a generic answer to the others of an item."""
    votes, (names, codes) = board.rows, board.origins["strategies"]
    generic: np.ndarray = np.isin(
        codes, [code for code, name in enumerate(names) if name in GENERIC]
    )
    offering: np.ndarray = generic.any(axis=1) & ((codes >= 0) & ~generic).any(axis=1)
    if not offering.any():
        return figure.without(_("No item has a generic answer among others."))
    among = offering[votes.item]
    item, number, workers = votes.item[among], votes.number[among], votes.worker[among]
    won = (number > 0) & generic[item, np.maximum(number - 1, 0)]
    by_item = np.zeros((len(votes.items), 2), dtype=int)
    np.add.at(by_item, (item, np.where(won, 0, 1)), 1)
    share = kappas.mean_share(kappas.patterns_of(by_item[offering]), 0)
    items = int(offering.sum())
    rows = [(_("All"), items, len(won), *share.limits)]
    more = 0
    for worker in np.unique(workers):
        of_worker = workers == worker
        chosen, n = int(won[of_worker].sum()), int(of_worker.sum())
        more += chosen * 2 > n
        exact, judged = clopper_pearson(chosen, n), len(np.unique(item[of_worker]))
        rows.append((votes.workers[worker], judged, n, *exact.limits))
    lead = _("%(n)d of %(all)d annotators preferred it in more than half of their votes.")
    lead = lead % {"n": more, "all": len(rows) - 1}
    marks = [Dot(row[0], *row[3:]) for row in rows[: MOST_RATERS + 1]]
    axes = (_("Share of votes"), _("Annotator"))
    svg = replace(figure, lead=lead).draw(charts.dots, marks, axes=axes)
    figure = replace(figure, lead=f"{lead} {figure.lead}", votes=len(won), items=items)
    header = (_("Annotator"), _("Items"), _("Votes"), _("Share of votes"), _("low"), _("high"))
    return replace(figure, header=header, rows=rows, svg=svg)


@dataclass(frozen=True)
class Comparisons:
    """Votes on pairs of different strategies, or models, a row each.

    ``left`` and ``right`` are codes of ``names`` (``left`` was shown first where ``order`` is
    true), ``score`` is that of ``left``: 1, 0, or 0.5 for a tie.
    """

    names: list[str]
    left: np.ndarray
    right: np.ndarray
    score: np.ndarray
    item: np.ndarray
    order: bool = False

    def sized(self, figure: Figure) -> Figure:
        return replace(figure, votes=len(self.item), items=len(np.unique(self.item)))


def comparisons(board: Board, names: str) -> Comparisons | None:
    """The votes on pairs of different ``names`` ("strategies" or "models"); None without any."""
    votes, (every, codes) = board.rows, board.origins[names]
    pair = codes[votes.item]
    tie = votes.category == board.labels.index("tie") if "tie" in board.labels else False
    used = (pair[:, 0] != pair[:, 1]) & ((votes.number > 0) | tie)
    if not used.any():
        return None
    first, number = votes.first[used], votes.number[used]
    turned = first == 2
    left = np.where(turned, pair[used, 1], pair[used, 0])
    right = np.where(turned, pair[used, 0], pair[used, 1])
    ahead = np.where(turned, number == 2, number == 1)
    present, coded = np.unique(np.concatenate([left, right]), return_inverse=True)
    score, shown = np.where(number == 0, 0.5, ahead), [every[n] for n in present]
    order = bool((first > 0).all())
    first_code, second_code = np.split(coded, 2)
    return Comparisons(shown, first_code, second_code, score, votes.item[used], order)


def ordered_pairs(board: Board) -> Comparisons | None:
    """Every two strategies that a ranking orders; None without any."""
    names, items = _strategies(board)
    code = {name: n for n, name in enumerate(sorted(set(chain.from_iterable(names))))}
    pairs = []
    for place, (strategies, item) in enumerate(zip(names, items, strict=True)):
        for a, b in combinations(range(len(strategies)), 2):
            if strategies[a] != strategies[b]:
                compared = code[strategies[a]], code[strategies[b]]
                scores = (np.sign(item[:, b] - item[:, a]) + 1) / 2
                pairs += [(*compared, score, place) for score in scores.tolist()]
    if not pairs:
        return None
    left, right, score, item = (np.array(column) for column in zip(*pairs, strict=True))
    return Comparisons(list(code), left, right, score, item)


def strengths(board: Board, figure: Figure) -> Figure:
    """Bradley-Terry strengths of strategies or of endpoints, from the votes on pairs."""
    if not board.ranked and board.definition.config["options"] != 2:
        sentence = _("Strengths are estimated from pairs; this task shows three answers.")
        return figure.without(sentence)
    votes = ordered_pairs(board) if board.ranked else comparisons(board, figure.key)
    if votes is None:
        return figure.without(_("No vote compares two of them."))
    columns = votes.left, votes.right, votes.score, len(votes.names)
    fit = bradley_terry(*columns, item=votes.item, order=votes.order)
    if fit.strength is None:
        return figure.without(translated(fit.reason))
    compared = np.bincount(np.concatenate([votes.left, votes.right]), minlength=len(votes.names))
    numbers = (np.asarray(each).tolist() for each in (compared, fit.strength, fit.low, fit.high))
    rows: list[tuple] = list(zip(votes.names, *numbers, strict=True))
    rows.sort(key=lambda row: (-row[2], row[0]))
    marks = [Dot(row[0], *row[2:]) for row in rows]
    svg = figure.draw(charts.dots, marks, reference=0, axes=(_("Strength (log odds)"), _("Name")))
    if fit.order.value is not None:
        rows.append((_("shown first"), len(votes.item), *fit.order.limits))
    lead = f"{figure.lead} {translated(REGULARISED)}" if fit.regularised else figure.lead
    header = (_("Name"), _("Votes"), _("Strength (log odds)"), _("low"), _("high"))
    return replace(votes.sized(figure), header=header, rows=rows, svg=svg, lead=lead)


def win_matrix(board: Board, figure: Figure) -> Figure:
    """How often each strategy, endpoint or model beat each other; a tie is half a win."""
    if board.definition.config["options"] != 2:
        return figure.without(_("Wins are counted over pairs; this task shows three answers."))
    votes = comparisons(board, WON_BY[figure.key])
    if votes is None:
        return figure.without(_("No vote compares two of them."))
    names, left, right = votes.names, votes.left, votes.right
    won, compared = np.zeros((2, len(names), len(names)))
    np.add.at(won, (left, right), votes.score)
    np.add.at(won, (right, left), 1 - votes.score)
    np.add.at(compared, (left, right), 1)
    compared += compared.T
    cells: dict[tuple[int, int], float | None] = {
        (a, b): float(won[a, b] / compared[a, b]) for a, b in np.argwhere(compared).tolist()
    }
    rows = [(names[a], names[b], int(compared[a, b]), share) for (a, b), share in cells.items()]
    numbered = [f"{n}  {name}" for n, name in enumerate(names, start=1)]
    heads = [str(n) for n in range(1, len(names) + 1)]
    axes = (_("Share won against, by number"), _("Name"))
    svg = figure.draw(charts.grid, numbered, heads, cells, axes=axes)
    header = (_("Name"), _("against"), _("Votes"), _("Share won"))
    return replace(votes.sized(figure), header=header, rows=rows, svg=svg)


def answers(board: Board, figure: Figure) -> Figure:
    """How often each label was given; of scores how those of each criterion spread."""
    if board.ranked:
        return mean_places(board, figure)
    counted = {
        each.name: _counts(board.answers[each.name], each.labels).tolist()
        for each in board.measures
    }
    if board.scored:
        answered = [
            (board.titles[each.name], each.labels, counted[each.name])
            for each in board.measures
            if any(counted[each.name])
        ]
        spread = numbers_figure if "interval" in board.levels else spread_figure
        return spread(figure, answered)
    if board.mixed:
        return _of_questions(board, figure, counted)
    total, ordinal = sum(counted[""]), board.level == "ordinal"
    counts = list(zip(board.declared, counted[""], strict=True))
    rows = [(board.named(label), n, n / total) for label, n in counts]
    axes = (_("Answer"), _("Judgments"))
    if ordinal:
        ends = {"first": rows[0][0], "last": rows[-1][0]}
        lead = _("%(first)s; %(last)s.") % ends
        figure = replace(figure, lead=f"{figure.lead} {lead}")
        svg = figure.draw(charts.columns, counts, axes=axes)
    else:
        svg = figure.draw(charts.bars, [row[:2] for row in rows], axes=axes[::-1])
    header = (_("Answer"), _("Judgments"), _("Share"))
    return replace(figure, header=header, rows=rows, svg=svg, votes=total)


def _counts(votes: QuestionVotes, labels: Sequence[str]) -> np.ndarray:
    code = votes.coded(labels)
    return np.bincount(code[code >= 0], minlength=len(labels))


def numbers_figure(figure: Figure, answered: Sequence[Answered]) -> Figure:
    """How the numbers of each question spread: quartiles, mean and ends; of one question a
    histogram in place of them.

    A quartile is a number that was given: the first at which so large a share of them is reached.
    """
    figure = replace(
        figure,
        title=_("How the numbers spread"),
        lead=_("The median, and the middle half of the numbers."),
        how=_("Of all numbers that people gave. SD is the standard deviation."),
    )
    rows, dots = [], []
    for title, labels, counts in answered:
        points, n = np.array(labels, dtype=float), np.array(counts)
        points, n = points[n > 0], n[n > 0]
        total, average = int(n.sum()), float(np.average(points, weights=n))
        ends = np.percentile(points, PERCENTS, weights=n, method="inverted_cdf").tolist()
        squares = float(n @ (points - average) ** 2)
        spread = (squares / (total - 1)) ** 0.5 if total > 1 else None
        rows.append((title, total, average, spread, *ends))
        dots.append(Dot(title, ends[2], ends[1], ends[3]))
    if len(answered) == 1:
        ranges = in_ranges(*answered[0][1:])
        svg = figure.draw(charts.columns, ranges, axes=(_("Number"), _("Judgments")))
    else:
        svg = figure.draw(charts.dots, dots, axes=(_("Number"), _("Question")))
    header = (
        _("Question"), _("Numbers"), _("Mean"), _("SD"), _("Lowest"), _("lower quartile"),
        _("median"), _("upper quartile"), _("Highest"),
    )  # fmt: skip
    votes = max((row[1] for row in rows), default=0)
    return replace(figure, header=header, rows=rows, svg=svg, votes=votes)


def in_ranges(labels: Sequence[str], counts: Sequence[int]) -> list[tuple[str, float]]:
    """At most RANGES ranges of neighbouring labels, with how often one of each was given."""
    parts = np.array_split(np.arange(len(labels)), min(RANGES, len(labels)))
    named = (f"{labels[part[0]]}–{labels[part[-1]]}" if len(part) > 1 else labels[part[0]]
             for part in parts)  # fmt: skip
    return [(name, int(np.take(counts, part).sum()))
            for name, part in zip(named, parts, strict=True)]  # fmt: skip


def _of_questions(board: Board, figure: Figure, answers: dict[str, list[int]]) -> Figure:
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
    bars = [(f"{question}: {label}", n) for question, label, n, _share in rows]
    svg = figure.draw(charts.bars, bars, axes=(_("Judgments"), _("Answer"))) if bars else ""
    return replace(figure, header=header, rows=rows, svg=svg)


def _labelled(question: Question, each: Measure, counts: list[int]) -> list[tuple[str, float]]:
    if question.TYPED:
        return in_ranges(each.labels, counts)
    return [(label, n) for label, n in zip(each.labels, counts, strict=True)]


def passages(board: Board, figure: Figure) -> Figure:
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
    bars = [(": ".join(filter(None, row[:2])), row[4]) for row in rows]
    svg = figure.draw(charts.bars, bars, axes=(_("Passages"), _("Question")))
    votes = max(row[2] for row in rows)
    return replace(figure, header=header, rows=rows, svg=svg, votes=votes)


def mean_places(board: Board, figure: Figure) -> Figure:
    """The mean place of each strategy's answers, over items, with its interval."""
    names, items = _strategies(board)
    means_of: dict[str, list[float]] = defaultdict(list)
    firsts: Counter[str] = Counter()
    for strategies, places in zip(names, items, strict=True):
        means = mean_ranks(places).mean(axis=0).tolist()
        for name, mean, column in zip(strategies, means, places.T, strict=True):
            means_of[name].append(mean)
            firsts[name] += int((column == 1).sum())
    # Versions of the task may differ in their number of answers.
    options = max(len(strategies) for strategies in names)
    rows: list[tuple] = []
    for name, means in means_of.items():
        # with_t_interval cuts at a coefficient's limits; places go up to the number of options.
        over_items = mean_over_items([mean / options for mean in means], floor=0.0)
        limits = [None if x is None else x * options for x in over_items.limits]
        rows.append((name, len(means), firsts[name], *limits))
    rows.sort(key=lambda row: (row[3], row[0]))
    figure = replace(figure, lead=_("The mean place of each strategy's answers; 1 is best."))
    marks, middle = [Dot(row[0], *row[3:]) for row in rows], (options + 1) / 2
    axes = (_("Mean place"), _("Strategy"))
    svg = figure.draw(charts.dots, marks, reference=middle, axes=axes)
    header = (_("Strategy"), _("Items"), _("Times best"), _("Mean place"), _("low"), _("high"))
    return replace(figure, header=header, rows=rows, svg=svg, votes=sum(map(len, items)))


def _strategies(board: Board) -> tuple[list[list[str]], list[np.ndarray]]:
    """Each item's strategies in order of its options' numbers, and its rankings."""
    items, places = zip(*board.rankings, strict=True)
    shown = candidates_of(board.study, np.array(items), "strategy")
    names: dict[int, list[str]] = {item: [] for item in items}
    for (item, _number), (strategy,) in shown.items():
        names[item].append(strategy or _("not named"))
    return list(names.values()), list(places)


def spread_figure(figure: Figure, answered: Sequence[Answered]) -> Figure:
    """How often each criterion got 1, 2, … up to the last point of the scale."""
    scale = range(1, len(answered[0][1]) + 1)
    papers = len(scale) == POINTS
    how = _("A count of all scores that people gave.")
    if papers:
        how = _("A count of all scores that people gave. Mean × 20 puts the scale on 20 to 100.")
    title, lead = _("How the scores spread"), _("Shares of the scores, and their mean.")
    figure = replace(figure, title=title, lead=lead, how=how)
    rows: list[tuple] = []
    bars = []
    for criterion, _labels, numbers in answered:
        n = sum(numbers)
        mean = sum(score * count for score, count in zip(scale, numbers, strict=True)) / n
        rows.append((criterion, n, mean, *([20 * mean] if papers else []), *numbers))
        bars.append((criterion, numbers, f"{mean:.2f}"))
    points, axes = [*map(str, scale)], (_("Share of scores"), _("Criterion"))
    svg = figure.draw(charts.stacked, bars, points, axes=axes)
    means = (_("Mean"), _("Mean × 20")) if papers else (_("Mean"),)
    header = (_("Criterion"), _("Scores"), *means, *points)
    return replace(figure, header=header, rows=rows, svg=svg, votes=sum(row[1] for row in rows))


def origin_means(board: Board, figure: Figure) -> Figure:
    """What people gave the answers of each strategy or model: mean, n and interval over people."""
    scored = board.scored
    rows, marks = [], []
    for (name, criterion), sums in sorted(_sums(board, figure.key).items()):
        n, total = np.array(sums, dtype=float).T
        several = len(n) > 1

        def average(weight: np.ndarray, n: np.ndarray = n, total: np.ndarray = total) -> float:
            return float((weight @ total) / (weight @ n))

        value, low, high = over_groups(average, np.arange(len(n)), RESAMPLES if several else 1)
        bounds = (low, high) if several else (None, None)
        row = (name or _("not named"), *([board.titles[criterion]] if scored else []))
        rows.append((*row, len(n), int(n.sum()), value, *bounds))
        marks.append(Dot(", ".join(row), value, *bounds))
    if not rows:
        return figure.without(_("There are no votes yet."))
    origin = _("Strategy") if figure.key == "strategy_means" else _("Model")
    mean, reference = (_("Mean score"), None) if scored else (_("Mean preference"), 0.5)
    svg = figure.draw(charts.dots, marks, reference=reference, axes=(mean, origin))
    head = (origin, _("Criterion")) if scored else (origin,)
    votes = _("Scores") if scored else _("Votes")
    header = (*head, _("People"), votes, mean, _("low"), _("high"))
    return replace(figure, header=header, rows=rows, svg=svg)


def _sums(board: Board, key: str) -> dict[tuple[str, str], list]:
    """{(strategy or model, criterion or ""): (how many values, their sum) of each person}.

    A preference's value is 1 where an answer is fully preferred, 0 where the other one is.
    """
    sums: dict[tuple[str, str], dict] = defaultdict(lambda: defaultdict(lambda: [0, 0.0]))
    points = len(board.declared)
    for name, votes in board.answers.items():
        origins = candidates_of(board.study, votes.item, "strategy", "endpoint", "model")
        values = np.array([float(label) for label in votes.labels])[votes.label]
        columns = (each.tolist() for each in (votes.item, votes.option, votes.rater, values))
        for item, option, rater, value in zip(*columns, strict=True):
            ahead = (points - value) / (points - 1)
            by_option = {option: value} if board.scored else {1: ahead, 2: 1 - ahead}
            for number, points_given in by_option.items():
                if (item, number) not in origins:
                    continue
                strategy, endpoint, model = origins[item, number]
                origin = strategy if key == "strategy_means" else endpoint or model
                cell = sums[origin or "", name][rater]
                cell[0] += 1
                cell[1] += points_given
    return {origin: list(people.values()) for origin, people in sums.items()}


def retest(board: Board, figure: Figure) -> Figure:
    """Reliability of each criterion of scores, else of the answer, with interval and pairs."""
    second = {"slot__item__batch__task__name": board.task, "slot__status": Slot.Status.DONE}
    outcomes = [
        each
        for each in hidden_checks.outcomes(board.study, Batch.Purpose.REPEAT, **second)
        if each.annotator not in board.withdrawn
        and not each.item.external_id.startswith(hidden_checks.HIDDEN_REPEAT)
    ]
    if not outcomes:
        return figure.without(_("Nobody has judged an own item twice yet."))
    rows = [
        (name, measure, *result.limits, len(pairs), result.reason or "")
        for name, measure, result, pairs in _measured(board, outcomes)
    ]
    dots = [Dot(row[0], *row[2:5]) for row in rows if row[2] is not None]
    axes = (rows[0][1], _("What was judged"))
    svg = figure.draw(charts.dots, dots, reference=0, axes=axes) if dots else ""
    header = (
        _("What was judged"), _("Measure"), _("Value"), _("Low"), _("High"), _("Pairs"), _("Note"),
    )  # fmt: skip
    return replace(figure, header=header, rows=rows, svg=svg, votes=len(outcomes))


def _measured(board: Board, outcomes: list) -> list[tuple[str, str, Coefficient, Pairs]]:
    """(what was judged, the measure's name, its value, the pairs); of scores the ICC, of words
    Cohen's kappa.
    """
    if not isinstance(outcomes[0].label, dict):
        pairs: Pairs = [(row.expected, row.label) for row in outcomes]
        return [(_("Answer"), _("Cohen's kappa"), kappa_of(pairs), pairs)]
    pairs_of: dict[str, Pairs] = defaultdict(list)
    for row in outcomes:
        for place in row.expected.keys() & row.label.keys():
            criterion = place.rpartition("/")[2]
            pairs_of[criterion].append((row.expected[place], row.label[place]))
    measured = []
    for name, level in {each.question: each.level for each in board.measures}.items():
        if pairs := pairs_of[name]:
            if level == "interval" or {type(value) for value in chain(*pairs)} == {int}:
                result = "ICC(2,1)", icc_of(pairs)
            else:
                result = _("Cohen's kappa"), kappa_of(pairs)
            measured.append((board.titles[name], *result, pairs))
    return measured


def icc_of(pairs: Pairs) -> Coefficient:
    """ICC(2,1) of (first, second) scores: absolute agreement of two occasions."""
    if len(pairs) < 2:
        return undefined("two pairs or more are needed")
    return icc(sums_of_table(np.array(pairs, dtype=float)))["icc2"]


def kappa_of(pairs: Pairs) -> Coefficient:
    """Cohen's kappa of (first, second) labels."""
    names, codes = np.unique([list(map(str, pair)) for pair in pairs], return_inverse=True)
    first, second = codes.reshape(-1, 2).T
    (value,), (se,) = cohen(confusion_of_two(first, second, len(names)))
    if not np.isfinite(value):
        return undefined("only one answer was given")
    return with_normal_interval(float(value), float(se))


FIGURES: dict[str, Callable[[Board, Figure], Figure]] = {
    "agreement": summary.agreement,
    "tiers": summary.tiers,
    "patterns": summary.vote_patterns,
    "answers": answers,
    "passages": passages,
    "strategy_means": origin_means,
    "model_means": origin_means,
    "retest": retest,
    "days": summary.by_day,
    "seconds": summary.seconds,
    "matrix": summary.matrix,
    "sides": summary.sides,
    "wins": wins,
    "control": control,
    "strategies": strengths,
    "models": strengths,
    "strategy_wins": win_matrix,
    "model_wins": win_matrix,
}
OF_CHOICES = (
    *("agreement", "tiers", "patterns", "days", "seconds", "matrix", "sides", "wins", "control"),
    *("strategies", "models", "strategy_wins", "model_wins"),
)


def figure_names(board: Board) -> tuple[str, ...]:
    """The figures of a task. Answers that are one person's own are only counted by day."""
    if board.kind.chooses:
        named = any(board.origin_codes["strategies"][0])
        left = {"tiers": not board.tells_tiers, "wins": not named}
        return tuple(key for key in OF_CHOICES if not left.get(key))
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
    title, lead, how = map(str, (summary.WORDS | WORDS)[key])
    figure = Figure(key, title, lead, how)
    if not board.totals["votes"]:
        return figure.without(_("There are no votes yet."))
    return FIGURES[key](board, figure)
