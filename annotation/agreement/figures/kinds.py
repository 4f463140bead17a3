"""The figures of tasks other than choices: what people say to each question."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, combinations

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.agreement.board import Board
from annotation.agreement.figures.base import About
from annotation.agreement.figures.scores import spread_figure
from annotation.agreement.figures.strategies import ranked
from annotation.agreement.statistics import overlap
from annotation.agreement.statistics.bradley_terry import bradley_terry
from annotation.agreement.statistics.coefficient import (
    Coefficient,
    undefined,
    with_normal_interval,
)
from annotation.agreement.statistics.cohen import cohen, confusion_of_two
from annotation.agreement.statistics.icc import icc, sums_of_table
from annotation.agreement.statistics.kendall import mean_over_items
from annotation.agreement.wording import translated
from annotation.core import charts
from annotation.core.charts import Dot
from annotation.judging.models import Batch
from annotation.judging.work import hidden_checks
from annotation.votes.stored import QuestionVotes, candidates_of, passages_of

MEANS = gettext_lazy(
    "The mean of all scores, or of preferences from 0 (the other answer is much better) to 1 "
    "(this one is). Intervals are percentiles over 1,000 resamples of people."
)
WORDS = {
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
        gettext_lazy("How many judgments mark something, and how far two people mark the same."),
        gettext_lazy(
            "F₁ is 2·|A ∩ B| / (|A| + |B|) of the characters that two people mark in an answer, "
            "with their class: the mean over pairs of whom one marks something (Hripcsak and "
            "Rothschild 2005), then over items, with the t-interval over items. Chance is not "
            "taken off."
        ),
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


def answers(board: Board, about: About) -> dict:
    """How often each label was given; of scores how those of each criterion spread."""
    if board.ranked:
        return mean_places(board, about)
    given = {
        each.name: _counts(board.answers[each.name], each.labels).tolist()
        for each in board.measures
    }
    if board.scored:
        return spread_figure({name: counts for name, counts in given.items() if any(counts)})
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


def _of_questions(board: Board, about: About, answers: dict[str, list[int]]) -> dict:
    """How often each answer was given to each question; of several classes each is counted."""
    rows: list[tuple] = []
    for question in board.questions.values():
        measures = [each for each in board.measures if each.question == question.name]
        counts = [
            (each.of_class or question.label_words(label), n)
            for each in measures
            for label, n in zip(each.labels, answers[each.name], strict=True)
            if not each.of_class or label == "yes"
        ]
        if question.MARKS:  # a figure of its own
            continue
        if not measures:
            written = board.judgments.filter(answers__question=question.name)
            counts = [(_("texts"), written.count())]
        total = sum(n for _label, n in counts)
        rows += [(question.words, label, n, n / total) for label, n in counts if total]
    header = (_("Question"), _("Answer"), _("Judgments"), _("Share"))
    drawn = [(f"{question}: {label}", n) for question, label, n, _share in rows]
    svg = about.draw(charts.bars, drawn, axes=(_("Judgments"), _("Answer"))) if drawn else ""
    return {"header": header, "rows": rows, "svg": svg}


def passages(board: Board, about: About) -> dict:
    """Of each question and class how many mark something, and how far people mark the same."""
    rows: list[tuple] = []
    for question in board.marking:
        people, texts = passages_of(board.definition, question, board.last, board.withdrawn)
        judgments = sum(people.values())
        classes = question.choices(0)
        for name, words in [("", _("all")), *classes] if classes else [("", "")]:
            items: dict[int, list[overlap.Unit]] = defaultdict(list)
            who, count = set(), 0
            for (item, _option), by_judgment in texts.items():
                of_class = {judgment: [mark for mark in marks if name in ("", mark[0])]
                            for judgment, marks in by_judgment.items()}  # fmt: skip
                marked = {judgment: marks for judgment, marks in of_class.items() if marks}
                items[item].append((list(marked.values()), people[item]))
                who |= marked.keys()
                count += sum(map(len, marked.values()))
            result, pairs = overlap.mean_f1(items.values())
            share = len(who) / judgments if judgments else None
            rows.append((question.words, words, judgments, share, count, pairs, result.value,
                         result.low, result.high, translated(result.reason or "")))  # fmt: skip
    header = (
        _("Question"), _("Class"), _("Judgments"), _("Share that marks"), _("Passages"),
        _("Pairs"), "F₁", _("Low"), _("High"), _("Note"),
    )  # fmt: skip
    dots = [Dot(": ".join(filter(None, row[:2])), *row[6:9]) for row in rows if row[6] is not None]
    svg = about.draw(charts.dots, dots, axes=("F₁", _("Question"))) if dots else ""
    votes = max((row[2] for row in rows), default=0)
    return {"header": header, "rows": rows, "svg": svg, "votes": votes}


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
    items, places = zip(*board.rankings, strict=True)
    shown = candidates_of(board.study, np.array(items), "strategy")
    names: dict[int, list[str]] = {item: [] for item in items}
    for (item, _number), (strategy,) in shown.items():
        names[item].append(strategy or _("not named"))
    return list(names.values()), list(places)


Pairs = list[tuple[object, object]]


def retest(board: Board, about: About) -> dict:
    """Reliability of each criterion of scores, else of the answer, with interval and pairs."""
    second = {"slot__item__batch__task__name": board.task}
    outcomes = hidden_checks.outcomes(board.study, Batch.Purpose.REPEAT, **second)
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
    names = dict.fromkeys(each.question for each in board.measures)
    return [_of_question(name, by_criterion[name]) for name in names if name in by_criterion]


def _of_question(name: str, pairs: Pairs) -> tuple[str, str, Coefficient, Pairs]:
    """Of scores the ICC, of words Cohen's kappa."""
    if all(type(value) is int for pair in pairs for value in pair):
        return _(name), "ICC(2,1)", icc_of(pairs), pairs
    return _(name), _("Cohen's kappa"), kappa_of(pairs), pairs


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
