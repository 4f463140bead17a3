"""The manifest's figures of the votes: counts, labels, agreement, bands; in constant memory."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from annotation.agreement.report import coefficients, counts_report
from annotation.agreement.statistics.kappas import Patterns
from annotation.agreement.tiers import rules
from annotation.datasets.records import Item, Pair, Verdict
from annotation.datasets.truth import counted
from annotation.judging.kinds import codes, kind_of
from annotation.queries import scenarios
from annotation.questions.base import Measure
from annotation.votes.counting import AUDIT_TASK

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
        # Pairs by the scenario of their question, where a layout has a row an item.
        self.scenarios = Counter()
        self.judgments = 0
        self._tasks = {}

    def add(self, item: Item, verdict: Verdict, pair: Pair | None, reason: str) -> None:
        """Count an item; ``reason`` is why it gives no pair."""
        # Selections by their number of answers: each has pairs of its own sort.
        group = len(item.answers) if kind_of(item.kind).chooses else item.kind
        self.items[group] += 1
        self.judgments += len(item.votes)
        if pair:
            self.pairs[pair.tier] += 1
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
                task = self._tasks[name] = _Task.of(item)
            # A majority may have folded a scale into its sides: agreement is on the scale itself.
            counts = verdict.counts if len(verdict.counts) == len(item.labels) else counted(item)
            task.add(verdict.tier, counts, voters)
            return
        for measure in item.measures:
            if measure.level in ("nominal", "ordinal"):
                task = self._tasks.setdefault(f"{name}: {measure.name}", _Task.of_measure(measure))
                for counts in _units(item, measure):
                    task.add("", counts, voters)

    def counts(self) -> dict:
        """Items, judgments, pairs a tier, and what was left out of the pairs with its reason."""
        return {
            "items": self.items.total(),
            "judgments": self.judgments,
            "pairs": {tier: self.pairs[tier] for tier in ("easy", *CHECKED)}
            | {tier: n for tier, n in self.pairs.items() if tier in UNTIERED},
            "left_out": {
                name: dict(sorted(self.left_out[group].items()))
                for name, group in self._groups().items()
            },
            "labels": {task: dict(sorted(counts.items())) for task, counts in self._by_task()},
        } | self._by_scenario()

    def _by_scenario(self) -> dict:
        """{"scenarios": {category: {scenario: pairs}}}, where a question has one."""
        if not any(self.scenarios):
            return {}
        grouped = defaultdict(dict)
        for name, number in sorted(self.scenarios.items()):
            grouped[scenarios.category(name) if name else "not stated"][name] = number
        return {"scenarios": dict(grouped)}

    def _groups(self) -> dict:
        return GROUPS | {name: code for name, code in SCALES.items() if self.items[code]}

    def _by_task(self) -> list[tuple[str, Counter]]:
        return sorted(self.labels.items())

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


def _units(item: Item, measure: Measure) -> Iterator[tuple[int, ...]]:
    """How often each label of a measure was given to the item, or to each of its answers."""
    said = defaultdict(list)
    for vote in item.votes:
        for part, label in vote.parts.items():
            about, _, question = part.partition("/") if part != measure.question else ("", "", part)
            if question == measure.question:
                ticked = measure.of_class in str(label).split(", ")
                said[about].append(("no", "yes")[ticked] if measure.of_class else str(label))
    for about in sorted(said):
        yield tuple(map(said[about].count, measure.labels))


class _Task:
    """Patterns of the used votes of one measure of a version of a task, for all items and a tier.

    On an ordinal ``level`` labels that are no numbers count by their place.
    """

    def __init__(self, categories: Iterable[str], level: str, *, tiered: bool = False) -> None:
        self.categories, self.level, self.tiered = list(categories), level, tiered
        self.patterns = defaultdict(Counter)
        self.workers = set()

    @classmethod
    def of_measure(cls, measure: Measure) -> "_Task":
        return cls(measure.labels, measure.level)

    @classmethod
    def of(cls, item: Item) -> "_Task":
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
            pool = rules.group_kappa(_judged(every, "")[0], len(self.categories))
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
        return rules.tier_report(tier, items, len(self.categories), pool, table)


def _judged(patterns: Counter, tier: str) -> tuple[list[rules.Judged], np.ndarray]:
    """The items of ``patterns`` as the rule wants them, equal ones as one, and as a table."""
    items, table = [], []
    for counts, weight in sorted(patterns.items()):
        votes = {str(place): count for place, count in enumerate(counts) if count}
        items.append(rules.Judged("", votes, sum(counts), None, Fraction(0), tier, weight))
        table.append(counts)
    return items, np.array(table, dtype=np.int64)
