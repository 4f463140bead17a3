"""How few votes tell what all of them tell: real votes, replayed under each rule of drawing.

`python -m benchmarks.fewer_votes FILE…`: CSV files `item,group,worker,value,reference`, a vote
a row. A group is what a conclusion is about (a system, a topic); its conclusion is on which side of
`reference` its mean lies, where the interval of all votes leaves that value out. `--sets DIR` reads
the published sets of that folder. Judges are simulated: a prediction of each item that correlates
with people's mean of it as strongly as is said.
"""

import argparse
import csv
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from annotation.agreement.statistics.prediction_powered import (
    Estimate,
    Votes,
    drawn_until,
    learned_spread,
    mean,
    probabilities,
)

SEEDS = 200
PARTS = (0.1, 0.2, 1 / 3, 0.5)
# Judge's correlation with people, and the least votes on an item that is drawn.
JUDGES = {"no judge": 0.0, "judge r=0.5": 0.5, "judge r=0.8": 0.8}
PANEL = 2


@dataclass(frozen=True)
class Group:
    """The votes on one system or topic: item and rater codes and values from 0 to 1."""

    item: np.ndarray
    rater: np.ndarray
    value: np.ndarray
    reference: float

    @property
    def means(self) -> np.ndarray:
        return np.bincount(self.item, weights=self.value) / np.bincount(self.item)


def drawn(group: Group, judge: float, votes: int, rule: str, rng: np.random.Generator) -> Estimate:
    """The estimate from about so many of the group's votes."""
    means = group.means
    predicted = np.full(len(means), np.nan)
    if judge:
        noise = means.std() * np.sqrt(1 / judge**2 - 1)
        predicted = np.clip(means + rng.normal(0, noise, len(means)), 0, 1)
    panel = max(PANEL, round(votes / len(means)))
    chosen, chance = _chosen(means, predicted, votes / panel, rule, rng)
    # A vote's place among those on its item, in a random order.
    shuffled = rng.permutation(len(group.item))
    order = shuffled[np.argsort(group.item[shuffled], kind="stable")]
    first = np.searchsorted(group.item[order], group.item[order])
    kept = order[chosen[group.item[order]] & (np.arange(len(order)) - first < panel)]
    cast = Votes(group.item[kept], group.rater[kept], group.value[kept], predicted, chance)
    return mean(cast, low=0, high=1)


def _chosen(
    means: np.ndarray, predicted: np.ndarray, items: float, rule: str, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Whether each item is drawn, and its probability; by doubt in two rounds of half each."""
    even = np.ones(len(means))
    if rule == "equal" or items >= len(means):
        chance = probabilities(even, items)
        return rng.random(len(means)) < chance, chance
    doubt = np.sqrt(predicted * (1 - predicted))
    nothing = np.zeros(0, int)
    before = probabilities(learned_spread(doubt, np.zeros(0), nothing), items / 2)
    chosen = rng.random(len(means)) < before
    judged = np.flatnonzero(chosen)
    spread = learned_spread(doubt, means[judged] - predicted[judged], judged)
    now = probabilities(spread, (items / 2) / max(1 - before.mean(), 1e-9))
    return chosen | (rng.random(len(means)) < now), drawn_until(before, now)


def replay(groups: dict[str, Group], seeds: int = SEEDS) -> Iterator[tuple[str, ...]]:
    """A row for each rule and part of the votes: width, coverage, conclusions that are right.

    Widths are multiples of that of all votes. A conclusion is right where the interval leaves the
    reference out on the side on which all votes do.
    """
    whole = {
        name: mean(Votes(g.item, g.rater, g.value, np.full(len(g.means), np.nan)), low=0, high=1)
        for name, g in groups.items()
    }
    for judge, strength in JUDGES.items():
        for rule in ("equal", "uncertain") if strength else ("equal",):
            for part in PARTS:
                rng = np.random.default_rng(7)
                results = [
                    _compared(drawn(g, strength, round(part * len(g.item)), rule, rng),
                              whole[name], g.reference)
                    for _ in range(seeds) for name, g in groups.items()
                ]  # fmt: skip
                width, held, right = np.nanmean(np.array(results, dtype=float), axis=0)
                yield judge, rule, f"{part:.0%}", f"{width:.2f}", f"{held:.3f}", f"{right:.2f}"


def _compared(estimate: Estimate, whole: Estimate, reference: float) -> tuple[float, float, float]:
    part, full = estimate.combined, whole.people
    if part.low is None or part.high is None:
        return np.nan, np.nan, 0.0
    decided = full.low > reference or full.high < reference
    above = full.value > reference
    right = part.low > reference if above else part.high < reference
    held = part.low <= full.value <= part.high
    return ((part.high - part.low) / (full.high - full.low), held, right if decided else np.nan)


def groups_of(rows: list[dict]) -> dict[str, Group]:
    by_group = defaultdict(list)
    for row in rows:
        by_group[row["group"]].append(row)
    return {
        name: Group(
            np.unique([row["item"] for row in each], return_inverse=True)[1],
            np.unique([row["worker"] for row in each], return_inverse=True)[1],
            np.array([float(row["value"]) for row in each]),
            float(each[0]["reference"]),
        )
        for name, each in by_group.items()
    }


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
    """SQuALITY: each system's overall score, against the mean of the two machines."""
    for vote in _lines(folder / "judgments.jsonl"):
        for system, rating in vote["ratings"].items():
            yield {"item": vote["item_id"], "group": system, "worker": vote["annotator"],
                   "value": rating["overall"] / 100, "reference": 0.2129}  # fmt: skip


def unsafe(folder: Path) -> Iterator[dict]:
    """DICES-990: the share of people who call a reply unsafe, against a fourth.

    The set names no raters: each vote counts as a person's of its own.
    """
    with (folder / "judgments.csv").open() as file:
        for n, row in enumerate(csv.DictReader(file)):
            yield {"item": row["item_id"], "group": "all", "worker": n,
                   "value": float(row["is_safe"] == "No"), "reference": 0.25}  # fmt: skip


SETS = {"ukp-convarg": longer_wins, "squality-eval": scored_systems, "dices-990": unsafe}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fewer_votes", description=__doc__)
    parser.add_argument("files", metavar="FILE", nargs="*", type=Path)
    parser.add_argument("--sets", metavar="DIR", type=Path)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    options = parser.parse_args()
    replayed = {str(path): list(csv.DictReader(path.open())) for path in options.files}
    if options.sets:
        replayed |= {name: list(rows(options.sets / name)) for name, rows in SETS.items()}
    for name, rows in replayed.items():
        sys.stdout.write(f"{name}: {len(rows)} votes\n")
        for row in (("judge", "rule", "votes", "width", "coverage", "conclusions"),
                    *replay(groups_of(rows), options.seeds)):  # fmt: skip
            sys.stdout.write("  {:12} {:10} {:>6} {:>6} {:>9} {:>12}\n".format(*row))


if __name__ == "__main__":
    main()
