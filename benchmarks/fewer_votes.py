"""How few votes tell what all of them tell: real votes, replayed under each rule of drawing.

`python -m benchmarks.fewer_votes FOLDER…` reads `long` releases, `--sets DIR` the published sets of
that folder. A row is a vote; a group is what a conclusion is about (a system, a topic): on which
side of `reference` its mean lies, where the interval of all votes leaves that value out, or else
the order of the systems `first` and `second`, whose `value` is 1 where the first won, ½ for a tie.
Judges are a set's `predicted`, and simulated ones: a prediction of each item that correlates with
people's mean of it as strongly as is said.
"""

import argparse
import csv
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import scipy

from annotation.agreement.statistics.bradley_terry import bradley_terry, powered
from annotation.agreement.statistics.coefficient import Coefficient
from annotation.agreement.statistics.prediction_powered import (
    Votes,
    drawn_until,
    filled,
    learned_spread,
    mean,
    probabilities,
)

SEEDS = 200
PARTS = (0.1, 0.2, 1 / 3, 0.5, 0.75, 1.0)
# Judge's correlation with people, and the least votes on an item that is drawn.
GIVEN = "given judge"
JUDGES = {"no judge": 0.0, "judge r=0.5": 0.5, "judge r=0.8": 0.8}
PANEL = 2
HEAD = ("judge", "rule", "votes", "width", "coverage", "conclusions")


@dataclass(frozen=True)
class Group:
    """The votes on one system or topic: item and rater codes and values from 0 to 1.

    ``reference`` is what the mean is compared with; in a comparison of systems there is none, and
    ``first`` and ``second`` are the codes of the systems that each item shows. ``predicted`` are
    a judge's predictions of the items, NaN where there is none.
    """

    item: np.ndarray
    rater: np.ndarray
    value: np.ndarray
    predicted: np.ndarray
    reference: float = np.nan
    first: np.ndarray | None = None
    second: np.ndarray | None = None

    @property
    def means(self) -> np.ndarray:
        return np.bincount(self.item, weights=self.value) / np.bincount(self.item)

    @property
    def systems(self) -> int:
        sides = [side for side in (self.first, self.second) if side is not None]
        return int(np.max(sides)) + 1

    @property
    def rules(self) -> tuple[str, ...]:
        return ("equal", "uncertain") if self.first is None else ("equal", "uncertain", "close")

    def estimated(self, votes: Votes) -> tuple[list[Coefficient], list[Coefficient]]:
        """The mean, or each system's strength: of people, and of people and judge."""
        if self.first is None or self.second is None:
            estimate = mean(votes, low=0, high=1)
            return [estimate.people], [estimate.combined]
        fit = powered(self.first, self.second, votes, self.systems)
        return fit.people, fit.combined

    def concluded(self, whole: list[Coefficient], part: list[Coefficient]) -> float:
        """The share of conclusions of all votes that a part gives; NaN if there are none."""
        values = [(each.value, other.value) for each, other in zip(whole, part, strict=True)]
        if self.first is not None:
            same = [(a[0] - b[0]) * (a[1] - b[1]) > 0 for a, b in combinations(values, 2)]
            return float(np.mean(same))
        (full,), (replayed,) = whole, part
        if full.low > self.reference:
            return float(replayed.low > self.reference)
        return float(replayed.high < self.reference) if full.high < self.reference else np.nan


def drawn(
    group: Group, judge: str, votes: int, rule: str, rng: np.random.Generator
) -> list[Coefficient]:
    """The estimates from about so many of the group's votes."""
    means, predicted = group.means, group.predicted
    if judge != GIVEN:
        predicted, strength = np.full(len(means), np.nan), JUDGES[judge]
        if strength:
            noise = means.std() * np.sqrt(1 / strength**2 - 1)
            predicted = np.clip(means + rng.normal(0, noise, len(means)), 0, 1)
    panel = max(PANEL, round(votes / len(means)))
    each = np.minimum(np.bincount(group.item), panel).mean()
    chosen, chance = _chosen(group, predicted, votes / each, rule, rng)
    # A vote's place among those on its item, in a random order.
    shuffled = rng.permutation(len(group.item))
    order = shuffled[np.argsort(group.item[shuffled], kind="stable")]
    first = np.searchsorted(group.item[order], group.item[order])
    rows = order[chosen[group.item[order]] & (np.arange(len(order)) - first < panel)]
    votes_cast = Votes(group.item[rows], group.rater[rows], group.value[rows], predicted, chance)
    return group.estimated(votes_cast)[1]


def _chosen(
    group: Group, predicted: np.ndarray, items: float, rule: str, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Whether each item is drawn, and its probability; by doubt or closeness in two rounds."""
    means = group.means
    even = np.ones(len(means))
    if rule == "equal" or items >= len(means):
        chance = probabilities(even, items)
        return rng.random(len(means)) < chance, chance
    spread = _closeness if rule == "close" else _doubt
    before = probabilities(spread(group, predicted, np.zeros(0, int)), items / 2)
    chosen = rng.random(len(means)) < before
    second = spread(group, predicted, np.flatnonzero(chosen))
    now = probabilities(second, (items / 2) / max(1 - before.mean(), 1e-9))
    return chosen | (rng.random(len(means)) < now), drawn_until(before, now)


def _doubt(group: Group, predicted: np.ndarray, judged: np.ndarray) -> np.ndarray:
    forecast = filled(predicted)
    residual = group.means[judged] - forecast[judged]
    return learned_spread(np.sqrt(forecast * (1 - forecast)), residual, judged)


def _closeness(group: Group, _predicted: np.ndarray, judged: np.ndarray) -> np.ndarray:
    """√(p(1 − p)) of each pair of systems, by the strengths that votes on ``judged`` give."""
    if not len(judged) or group.first is None or group.second is None:
        return np.full(len(group.means), 0.5)
    first, second = group.first, group.second
    fit = bradley_terry(first[judged], second[judged], group.means[judged], group.systems)
    if fit.strength is None:
        return np.full(len(first), 0.5)
    p = scipy.special.expit(fit.strength[first] - fit.strength[second])
    return np.sqrt(p * (1 - p))


def replay(groups: dict[str, Group], seeds: int = SEEDS) -> Iterator[tuple[str, ...]]:
    """A row for each judge, rule and part of the votes: width as a multiple of that of all votes,
    coverage of what all votes give, conclusions that are theirs; last ("until") the part of the
    votes at which intervals are as narrow as with all.
    """
    whole = {
        name: g.estimated(Votes(g.item, g.rater, g.value, np.full(len(g.means), np.nan)))[0]
        for name, g in groups.items()
    }
    judged = any((~np.isnan(g.predicted)).any() for g in groups.values())
    rules = next(iter(groups.values())).rules
    for judge in (*([GIVEN] if judged else []), *JUDGES):
        for rule in rules:
            if rule == "uncertain" and judge == "no judge":
                continue
            widths = []
            for part in PARTS:
                rng = np.random.default_rng(7)
                results = [
                    _compared(g, whole[name], drawn(g, judge, round(part * len(g.item)), rule, rng))
                    for _ in range(seeds) for name, g in groups.items()
                ]  # fmt: skip
                columns = np.array(results, dtype=float).T
                width, coverage, conclusions = (
                    np.nan if np.isnan(each).all() else np.nanmean(each) for each in columns
                )
                widths.append(width)
                figures = f"{width:.2f}", f"{coverage:.3f}", f"{conclusions:.2f}"
                yield judge, rule, f"{part:.0%}", *figures
            yield judge, rule, "until", _until(widths), "", ""


def _until(widths: list[float]) -> str:
    """The part of the votes at which the width falls to that of all, between those replayed."""
    below = [n for n, width in enumerate(widths) if width <= 1.005]
    if not below:
        return "never"
    n = below[0]
    if not n:
        return f"{PARTS[0]:.0%}"
    share = (widths[n - 1] - 1) / max(widths[n - 1] - widths[n], 1e-9)
    return f"{PARTS[n - 1] + min(share, 1) * (PARTS[n] - PARTS[n - 1]):.0%}"


def _compared(
    group: Group, whole: list[Coefficient], part: list[Coefficient]
) -> tuple[float, float, float]:
    pairs = list(zip(whole, part, strict=True))
    if any(each.low is None or each.high is None for pair in pairs for each in pair):
        return np.nan, np.nan, 0.0
    if any(each.reason for pair in pairs for each in pair):
        return np.nan, np.nan, group.concluded(whole, part)
    widths = [(each.high - each.low) / (full.high - full.low) for full, each in pairs]
    covered = [each.low <= full.value <= each.high for full, each in pairs]
    return float(np.mean(widths)), float(np.mean(covered)), group.concluded(whole, part)


def groups_of(rows: list[dict]) -> dict[str, Group]:
    by_group = defaultdict(list)
    for row in rows:
        by_group[row.get("group", "order")].append(row)
    return {name: _group(each) for name, each in by_group.items()}


def _group(rows: list[dict]) -> Group:
    names, at, item = np.unique(
        [row["item"] for row in rows], return_index=True, return_inverse=True
    )
    shown = [rows[place] for place in at]
    common = {
        "item": item,
        "rater": np.unique([row["worker"] for row in rows], return_inverse=True)[1],
        "value": np.array([float(row["value"]) for row in rows]),
        "predicted": np.array([float(row.get("predicted") or np.nan) for row in shown]),
    }
    if "first" not in rows[0]:
        return Group(**common, reference=float(rows[0]["reference"]))
    sides = [row[side] for side in ("first", "second") for row in shown]
    first, second = np.unique(sides, return_inverse=True)[1].reshape(2, len(names))
    return Group(**common, first=first, second=second)


def _lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def longer_wins(folder: Path) -> Iterator[dict]:
    """UKPConvArg: does the longer of two arguments convince, by side of a debate?"""
    length = {row["argument_id"]: len(row["text"]) for row in _lines(folder / "arguments.jsonl")}
    pairs = {row["item_id"]: row for row in _lines(folder / "items.jsonl")}
    for vote in _lines(folder / "judgments.jsonl"):
        pair = pairs[vote["item_id"]]
        first, second = (length[each["argument_id"]] for each in pair["candidates"])
        longer = "a1" if first > second else "a2"
        value = 0.5 if vote["choice"] == "equal" else float(vote["choice"] == longer)
        yield {"item": vote["item_id"], "group": pair["side"], "worker": vote["annotator"],
               "value": value, "reference": 0.5}  # fmt: skip


def scored_systems(folder: Path) -> Iterator[dict]:
    """SQuALITY: each system's overall score, against the mean of the two machines.

    The judge is a real one: the share of a text's words that stand in the two others.
    """
    words = {row["item_id"]: _overlaps(row["candidates"]) for row in _lines(folder / "items.jsonl")}
    for vote in _lines(folder / "judgments.jsonl"):
        for system, rating in vote["ratings"].items():
            yield {"item": vote["item_id"], "group": system, "worker": vote["annotator"],
                   "value": rating["overall"] / 100, "reference": 0.2129,
                   "predicted": words[vote["item_id"]][system]}  # fmt: skip


def _overlaps(candidates: list[dict]) -> dict[str, float]:
    words = {each["id"]: set(each["text"].lower().split()) for each in candidates}
    others = {name: set().union(*(words[each] for each in words if each != name)) for name in words}
    return {name: len(words[name] & others[name]) / max(len(words[name]), 1) for name in words}


def sound_fields(folder: Path) -> Iterator[dict]:
    """Eight sound fields, pair by pair. No raters are named: each vote is an item and a person."""
    with (folder / "pair_counts.csv").open() as file:
        for row in csv.DictReader(file):
            for column, value in (("wins1", 1.0), ("ties", 0.5), ("wins2", 0.0)):
                for n in range(int(row[column])):
                    vote = f"{row['instrument']} {row['option1']} {row['option2']} {column} {n}"
                    yield {"item": vote, "worker": vote, "first": row["option1"],
                           "second": row["option2"], "value": value}  # fmt: skip


def of_release(folder: Path) -> Iterator[dict]:
    """A `long` release's choices between two answers, by what wrote them."""
    items = {row["item_id"]: row for row in _lines(folder / "items.jsonl")}
    names = {row["candidate_id"]: row["strategy"] or row["model"]
             for row in _lines(folder / "candidates.jsonl")}  # fmt: skip
    votes = {row["judgment"]: row for row in _lines(folder / "judgments.jsonl")}
    for row in _lines(folder / "answers.jsonl"):
        vote = votes[row["judgment"]]
        shown = items[vote["item_id"]]["candidates"]
        # Questions of a task's own are called as it likes, and a class may be “tie”.
        chosen = row["label"] if row["question"] == "choice" else None
        if len(shown) == 2 and chosen in (*shown, "tie"):
            value = 0.5 if chosen == "tie" else float(chosen == shown[0])
            yield {"item": vote["item_id"], "group": vote["task"], "worker": vote["worker"],
                   "first": names[shown[0]], "second": names[shown[1]], "value": value}  # fmt: skip


def unsafe(folder: Path) -> Iterator[dict]:
    """DICES-990: the share of people who call a reply unsafe, against a fourth.

    The set names no raters: each vote counts as a person's of its own.
    """
    with (folder / "judgments.csv").open() as file:
        for n, row in enumerate(csv.DictReader(file)):
            yield {"item": row["item_id"], "group": "all", "worker": n,
                   "value": float(row["is_safe"] == "No"), "reference": 0.25}  # fmt: skip


SETS: dict[str, Callable[[Path], Iterator[dict]]] = {
    "ukp-convarg": longer_wins,
    "squality-eval": scored_systems,
    "sound-fields": sound_fields,
    "dices-990": unsafe,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fewer_votes", description=__doc__)
    parser.add_argument("releases", metavar="FOLDER", nargs="*", type=Path)
    parser.add_argument("--sets", metavar="DIR", type=Path)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    options = parser.parse_args()
    replayed = {str(folder): list(of_release(folder)) for folder in options.releases}
    if options.sets:
        replayed |= {name: list(rows_of(options.sets / name)) for name, rows_of in SETS.items()}
    for name, rows in replayed.items():
        sys.stdout.write(f"{name}: {len(rows)} votes\n")
        for row in (HEAD, *replay(groups_of(rows), options.seeds)):
            sys.stdout.write("  {:12} {:10} {:>6} {:>6} {:>9} {:>12}\n".format(*row))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
