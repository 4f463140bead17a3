"""From an item's votes to its verdict and, where there is one, a pair of the benchmark.

Tiers and pairs are of selections; verdicts on attributes and relevance have a plain majority, and
preferences a generic and a personalised answer. What passes by is counted for the manifest, in
constant memory: items, pairs, labels, agreement and bands.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np

from annotation.agreement.report import coefficients, counts_report
from annotation.agreement.statistics.kappas import Patterns
from annotation.agreement.statistics.numbers import numbers_report
from annotation.agreement.statistics.raters import dawid_skene
from annotation.agreement.statistics.tiers import (
    Judged,
    TierRule,
    fill_hard,
    group_kappa,
    is_topped_up,
    tier_of,
    tier_report,
)
from annotation.candidates.strategies import GENERIC, MISMATCH, QUESTION_ALONE
from annotation.core.errors import DomainError
from annotation.datasets.records import Answer, Item, Pair, Verdict
from annotation.judging.kinds import codes, kind_of
from annotation.queries import scenarios
from annotation.questions.base import Measure
from annotation.votes.counting import AUDIT_TASK

RULE = TierRule()


def verdict(item: Item, rule: TierRule = RULE) -> Verdict:
    """Count a selection's first ``rule.panel`` votes and judge them by the tier rule.

    A borderline item that was topped up is judged by its first ``rule.top_up`` votes. K is the
    number of labels the task offers. Of other kinds all votes count, there is no tier, and the
    winner is the label of more than half of the verdicts. Raises DomainError for a vote outside
    of the labels.
    """
    kind = kind_of(item.kind)
    if not kind.chooses:
        if kind.level != "nominal":
            return Verdict(counted(item), None, None, "")
        return replace(majority(item, 1, 1, half=True), tier="")
    if item.stop_below:
        rule = replace(rule, stop_below=item.stop_below)
    by_panel = _by_panel(item, rule.panel, rule)
    if item.topped and is_topped_up(by_panel.tier, len(item.votes), rule):
        return _by_panel(item, rule.top_up, rule)
    return by_panel


def _by_panel(item: Item, panel: int, rule: TierRule) -> Verdict:
    counts = _counted(item, panel)
    tier = tier_of(counts.values(), len(counts), rule, closed=item.closed)
    won = tier not in ("pending", "ambiguous_tie")
    return _decided(counts, tier, max(counts, key=lambda label: counts[label]) if won else None)


def _decided(counts: dict, tier: str, winner: str | None = None) -> Verdict:
    share = None if winner is None else counts[winner] / sum(counts.values())
    return Verdict(tuple(counts.values()), winner, share, tier)


def _counted(item: Item, panel: int | None = None) -> dict[str | None, int]:
    """{label: votes} of the first ``panel`` votes; none where answers have several parts."""
    counts: dict[str | None, int] = dict.fromkeys(item.labels, 0)
    for vote in item.votes[:panel] if item.labels else ():
        if vote.label not in counts:
            sentence = f"Item {item.id} holds a vote for “{vote.label}”, which its task does not"
            raise DomainError(f"{sentence} offer.")
        counts[vote.label] += 1
    return counts


def counted(item: Item) -> tuple[int, ...]:
    """How many votes each of ``item.labels`` has."""
    return tuple(_counted(item).values())


def majority(item: Item, min_votes: int, min_margin: int, *, half: bool = False) -> Verdict:
    """Count all votes of ``item``; its tier is "majority", or why there is no winner.

    The winner has ``min_margin`` votes more than the next label of ``min_votes`` or more; with
    ``half`` more than half of all votes. A preference counts for the answer on whose side of the
    scale's middle it is, the middle as a tie.
    """
    counts = _counted(item)
    if item.labels and kind_of(item.kind).level == "ordinal":
        counts = _sides(item, tuple(counts.values()))
    total = sum(counts.values())
    if not total or total < min_votes:
        return _decided(counts, "too_few_votes")
    (winner, most), (_, second), *_rest = sorted(counts.items(), key=lambda entry: -entry[1])
    if most - second < min_margin:
        return _decided(counts, "margin_too_small")
    if half and 2 * most <= total:
        return _decided(counts, "half_or_less")
    return _decided(counts, "majority", winner)


def _sides(item: Item, counts: tuple) -> dict[str | None, int]:
    half = len(counts) // 2
    first, second = (answer.id for answer in item.answers)
    middle = counts[half : len(counts) - half]
    return {first: sum(counts[:half]), second: sum(counts[-half:]), "tie": sum(middle)}


def majority_pair(item: Item, verdict: Verdict) -> tuple[Pair | None, str]:
    """The pair of the winner of ``majority`` and the answer with the fewest votes; see ``pair``."""
    if not _chooses(item):
        return None, ""
    if reason := _no_winner(item, verdict):
        return None, reason
    chosen, others = _chosen(item, verdict.winner)
    votes = dict(zip([answer.id for answer in item.answers], verdict.counts, strict=False))
    return Pair("majority", chosen, min(others, key=lambda answer: votes[answer.id])), ""


def _chosen(item: Item, winner: str | None) -> tuple[Answer, list[Answer]]:
    """The answer that won, and the others in their order."""
    chosen, *others = sorted(item.answers, key=lambda answer: answer.id != winner)
    return chosen, others


def _no_winner(item: Item, verdict: Verdict) -> str:
    """Why no answer of the item can be the chosen one of a pair, or ""."""
    if item.task == AUDIT_TASK:
        return "audit_of_the_easy_tier"
    if verdict.winner is None:
        return verdict.tier
    return "" if verdict.winner in [answer.id for answer in item.answers] else "no_answer_won"


def _chooses(item: Item) -> bool:
    """Whether a label is a choice between the item's answers."""
    return bool(item.labels) and "options" in kind_of(item.kind).shows


def imported_pair(item: Item) -> tuple[Pair | None, str]:
    """The pair that the item came with in a release, whatever its votes; see ``pair``."""
    if item.imported is None:
        return None, "not_imported_as_a_pair"
    winner, tier = item.imported
    chosen, others = _chosen(item, winner)
    return Pair(tier or "imported", chosen, others[0]), ""


def orient(item: Item) -> tuple[Answer, Answer, bool] | None:
    """Generic answer, personalised answer, and whether the generic one is the first; or None.

    None where not exactly one of two answers is the generic one, by its strategy.
    """
    is_generic = [answer.strategy in GENERIC for answer in item.answers]
    if sorted(is_generic) != [False, True]:
        return None
    first, second = item.answers
    return (first, second, True) if is_generic[0] else (second, first, False)


def pair(
    item: Item,
    verdict: Verdict,
    dropped: frozenset[str] = frozenset(),
    easy_share: Fraction = Fraction(0),
) -> tuple[Pair | None, str]:
    """The pair an item gives the benchmark, or None and why it gives none ("": nobody expects one).

    Two answers: the tier rule's medium and hard items. Three: the easy pair, ground truth against
    the answer to the question alone or, where there is none, the one written for another persona.
    The ground truth needs the share ``easy_share`` of the votes, and the audit of the easy tier
    must not have ``dropped`` the item.
    """
    if not kind_of(item.kind).chooses:
        unknown = _chooses(item) and orient(item) is None
        return None, "generic_answer_not_known" if unknown else ""
    if reason := _no_winner(item, verdict):
        return None, reason
    chosen, others = _chosen(item, verdict.winner)
    if len(item.answers) == 3:
        if item.id in dropped:
            return None, "dropped_by_the_audit"
        if Fraction(max(verdict.counts), verdict.n) < easy_share:
            return None, "ground_truth_below_its_share"
        return _easy(chosen, others)
    if verdict.tier not in ("medium", "hard"):
        return None, verdict.tier
    (reject,) = others
    return Pair(verdict.tier, chosen, reject), ""


# What an easy pair's ground truth is set against, the first that there is, and why an item whose
# ground truth it is has no easy pair.
_EASY_REJECTS = {QUESTION_ALONE: "question_alone_won", MISMATCH: "mismatching_answer_won"}


def _easy(chosen: Answer, others: Iterable[Answer]) -> tuple[Pair | None, str]:
    if chosen.strategy in _EASY_REJECTS:
        return None, _EASY_REJECTS[chosen.strategy]
    by_strategy = {answer.strategy: answer for answer in others}
    reject = next((by_strategy[name] for name in _EASY_REJECTS if name in by_strategy), None)
    if reject is None:
        return None, "no_answer_to_the_question_alone"
    return Pair("easy", chosen, reject), ""


def filled(items: Iterable[Item], rule: TierRule) -> frozenset[str]:
    """Ids of the borderline items that a release by ``rule`` takes for hard (``tiers.fill_hard``).

    Each version of a task has a hard tier of its own; the order among equal items is by the
    posterior of their winners after Dawid and Skene.
    """
    if not rule.hard_fill:
        return frozenset()
    tasks = {}
    for item in items:
        pair = kind_of(item.kind).chooses and len(item.answers) == 2
        if pair and item.task != AUDIT_TASK:
            key = item.task, item.task_version, item.labels[2:]
            tasks.setdefault(key, _Task(len(item.labels))).add(item, verdict(item, rule))
    return frozenset(name for task in tasks.values() for name in task.filled(rule))


@dataclass
class _Task:
    """The items of one version of a task, and all their used votes as codes."""

    options: int
    judged: list[Judged] = field(default_factory=list)
    votes: list[tuple[int, str, int]] = field(default_factory=list)

    def add(self, item: Item, verdict: Verdict) -> None:
        if not verdict.n:
            return
        place = {label: code for code, label in enumerate(item.labels)}
        self.votes += [
            (len(self.judged), vote.worker, place[cast(str, vote.label)])
            for vote in item.votes[: verdict.n]
        ]
        counts = {str(code): count for code, count in enumerate(verdict.counts) if count}
        winner = None if verdict.winner is None else str(place[verdict.winner])
        share = Fraction(max(verdict.counts), verdict.n)
        self.judged.append(Judged(item.id, counts, verdict.n, winner, share, verdict.tier))

    def filled(self, rule: TierRule) -> Iterator[str]:
        if not any(judged_item.tier == "borderline" for judged_item in self.judged):
            return
        item, worker, category = zip(*self.votes, strict=True)
        names, code = np.unique(np.array(worker), return_inverse=True)
        shape = (len(self.judged), len(names), self.options)
        posterior = dawid_skene(np.array(item), code, np.array(category), shape).posterior
        sure = {
            judged_item.task: float(posterior[row, int(cast(str, judged_item.winner))])
            for row, judged_item in enumerate(self.judged)
            if judged_item.tier == "borderline"
        }
        joined, _reserve = fill_hard(self.judged, self.options, rule, sure)
        yield from (judged_item.task for judged_item in joined)


# --- Figures --------------------------------------------------------------------------------------


# Pairs by other rules than tiers.
UNTIERED = ("majority", "imported")
CHECKED = ("medium", "hard")
GROUPS = {"two_answers": 2, "three_answers": 3}
# Kinds whose label is a place on a scale between two answers.
SCALES = {
    f"{code}s": code
    for code in codes(shape="label", chooses=False)
    if "options" in kind_of(code).shows
}


class Tally:
    """Counts items as they pass by. Items with equal counts are one pattern with a weight."""

    def __init__(self) -> None:
        self.items = Counter()
        self.pairs = Counter()
        self.left_out = defaultdict(Counter)
        self.labels = defaultdict(Counter)
        # Pairs by the scenario of their question.
        self.scenarios = Counter()
        self.judgments = 0
        self._tasks: dict[str, Any] = {}

    def add(self, item: Item, verdict: Verdict, pair: Pair | None, reason: str) -> None:
        """Count an item; ``reason`` is why it gives no pair."""
        # Selections by their number of answers: each has pairs of its own sort.
        group = len(item.answers) if kind_of(item.kind).chooses else item.kind
        self.items[group] += 1
        self.judgments += len(item.votes)
        if pair:
            self.pairs[pair.tier] += 1
            self.scenarios[item.scenario] += 1
        elif reason:
            self.left_out[group][reason] += 1
        strategies = {answer.id: answer.strategy or "unnamed" for answer in item.answers}
        for vote in item.votes:
            if vote.label is not None:
                self.labels[item.task][strategies.get(vote.label, vote.label)] += 1
        self._agree(item, verdict)

    def _agree(self, item: Item, verdict: Verdict) -> None:
        name, voters = f"{item.task} v{item.task_version}", [vote.worker for vote in item.votes]
        if item.labels:
            if (task := self._tasks.get(name)) is None:
                task = self._tasks[name] = _Measured.of(item)
            # A majority may have folded a scale into its sides: agreement is on the scale itself.
            counts = verdict.counts if len(verdict.counts) == len(item.labels) else counted(item)
            task.add(verdict.tier, counts, voters)
            return
        for measure in item.measures:
            key = f"{name}: {measure.name}"
            if measure.level == "interval":
                self._tasks.setdefault(key, _Numbers()).add(_votes_by_unit(item, measure))
            elif measure.level in ("nominal", "ordinal"):
                task = self._tasks.setdefault(key, _Measured(measure.labels, measure.level))
                for votes in _votes_by_unit(item, measure):
                    labels = [label for _worker, label in votes]
                    task.add("", tuple(map(labels.count, measure.labels)), voters)

    def counts(self) -> dict:
        """Items, judgments, pairs a tier, and what was left out of the pairs with its reason."""
        groups = GROUPS | {name: code for name, code in SCALES.items() if self.items[code]}
        return {
            "items": self.items.total(),
            "judgments": self.judgments,
            "pairs": {tier: self.pairs[tier] for tier in ("easy", *CHECKED)}
            | {tier: n for tier, n in self.pairs.items() if tier in UNTIERED},
            "left_out": {
                name: dict(sorted(self.left_out[group].items())) for name, group in groups.items()
            },
            "labels": {
                task: dict(sorted(counts.items())) for task, counts in sorted(self.labels.items())
            },
        } | self._by_scenario()

    def _by_scenario(self) -> dict:
        """{"scenarios": {category: {scenario: pairs}}}, where a question has one."""
        if not any(self.scenarios):
            return {}
        grouped = defaultdict(dict)
        for name, number in sorted(self.scenarios.items()):
            grouped[scenarios.category(name) if name else "not stated"][name] = number
        return {"scenarios": dict(grouped)}

    def agreement(self) -> dict:
        """{task: {"level", "all": report, "tiers": {tier: report}}} of the used votes; see docs."""
        return {name: task.agreement() for name, task in sorted(self._tasks.items())}

    def easy_note(self) -> str:
        """Why there is no easy pair, or ""."""
        if self.pairs["easy"]:
            return ""
        if not self.items[3]:
            return "No item has three answers, so there are no easy pairs."
        reasons = self.left_out[3]
        if set(reasons) == {"no_answer_to_the_question_alone"}:
            return "No item has an answer to the question alone (A3), so there are no easy pairs."
        return "In no item of three did another answer win against the one to the question alone."


def outside_bands(agreement: dict) -> str:
    """The sentence that blocks a release, or "": a tier of 30 items or more is outside its band.

    By the votes themselves, or by what a new panel is expected to show.
    """
    failed = [
        f"{tier} of {task}: {report['note']}"
        for task, entry in agreement.items()
        for tier, report in entry["tiers"].items()
        if report["in_band"] is False or report["new_panel_in_band"] is False
    ]
    return f"The tiers are not in their bands: {'; '.join(failed)}." if failed else ""


def _votes_by_unit(item: Item, measure: Measure) -> Iterator[list[tuple[str, str]]]:
    """(worker, label) of each vote on a measure of the item, or of each of its answers."""
    by_unit = defaultdict(list)
    for vote in item.votes:
        if measure.of_class:
            chosen = defaultdict(set)
            for row in vote.answers:
                if row["question"] == measure.question:
                    chosen[row["option"] or ""].add(row["label"])
            for about, names in chosen.items():
                label = "yes" if measure.of_class in names else "no"
                by_unit[about].append((vote.worker, label))
            continue
        for part, label in vote.parts.items():
            about, _, question = part.partition("/") if part != measure.question else ("", "", part)
            if question == measure.question:
                by_unit[about].append((vote.worker, str(label)))
    for about in sorted(by_unit):
        yield by_unit[about]


class _Numbers:
    """The used votes of one measure of a version of a task whose labels are numbers."""

    def __init__(self) -> None:
        self.votes: list[tuple[int, str, float]] = []
        self.units = 0

    def add(self, units: Iterable[list[tuple[str, str]]]) -> None:
        for votes in units:
            self.votes += [(self.units, worker, float(label)) for worker, label in votes]
            self.units += 1

    def agreement(self) -> dict:
        report: dict = {"items": 0, "votes": 0, "reason": "there are no votes"}
        if self.votes:
            unit, worker, value = map(np.array, zip(*self.votes, strict=True))
            report = numbers_report(unit, worker, value)
        return {"level": "interval", "all": report, "tiers": {}}


class _Measured:
    """Patterns of the used votes of one measure of a version of a task, for all items and a tier.

    On an ordinal ``level`` labels that are no numbers count by their place.
    """

    def __init__(self, categories: Iterable[str], level: str, *, tiered: bool = False) -> None:
        self.categories, self.level, self.tiered = list(categories), level, tiered
        self.patterns = defaultdict(Counter)
        self.workers = set()

    @classmethod
    def of(cls, item: Item) -> "_Measured":
        kind = kind_of(item.kind)
        if not kind.chooses:
            return cls(item.labels, kind.level)
        answers = [f"answer {n}" for n in range(1, len(item.answers) + 1)]
        tiered = len(item.answers) == 2 and item.task != AUDIT_TASK
        return cls([*answers, *item.labels[len(answers) :]], "nominal", tiered=tiered)

    def add(self, tier: str, counts: tuple, voters: list[str]) -> None:
        self.patterns[tier][counts] += 1
        self.workers.update(voters)

    def agreement(self) -> dict:
        every = sum(self.patterns.values(), Counter())
        every = Counter({counts: n for counts, n in every.items() if any(counts)})
        out = {"level": self.level, "all": self._report(every), "tiers": {}}
        if self.tiered:
            pool = group_kappa(_judged(every, "")[0], len(self.categories))
            out["tiers"] = {tier: self._tier(tier, pool) for tier in CHECKED}
        return out

    def _report(self, patterns: Counter) -> dict:
        if not patterns:
            return {"items": 0, "votes": 0, "reason": "there are no votes"}
        rows = sorted(patterns)
        table = Patterns(np.array(rows), np.array([patterns[row] for row in rows]))
        counts = counts_report(table, len(self.workers), self.categories)
        if self.level == "ordinal":
            numbered = all(name.isdecimal() for name in self.categories)
            values = map(int, self.categories) if numbered else range(1, len(self.categories) + 1)
            return counts | coefficients(table, "ordinal", list(values))
        return counts | coefficients(table)

    def _tier(self, tier: str, pool: Fraction | None) -> dict:
        items, table = _judged(self.patterns[tier], tier)
        return tier_report(tier, items, len(self.categories), pool, table)


def _judged(patterns: Counter, tier: str) -> tuple[list[Judged], np.ndarray]:
    """The items of ``patterns`` as the rule wants them, equal ones as one, and as a table."""
    items, table = [], []
    for counts, weight in sorted(patterns.items()):
        votes = {str(place): count for place, count in enumerate(counts) if count}
        items.append(Judged("", votes, sum(counts), None, Fraction(0), tier, weight))
        table.append(counts)
    return items, np.array(table, dtype=np.int64)
