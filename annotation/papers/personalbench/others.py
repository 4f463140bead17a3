"""People and machines against the same target: what the others say of the same item.

Each vote is scored once, and never against itself: its target comes from the other people's votes
on that item. A machine is scored on every one of these votes' items, against the same target, so
one that says what a person says scores as that person does. A score is computed for each rater
alone, since raters use a scale differently, and a row is the mean over raters by their votes.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from annotation.agreement.statistics.bootstrap import over_groups
from annotation.core import learned
from annotation.core.learned import ModelError, Texts
from annotation.evaluation import training

RESAMPLES = 500
PEOPLE = "people"
VERDICTS = {"accepted": 0, "uncertain": 1, "rejected": 1}
VOTES = {"no": 0, "yes": 1}
# Of what somebody says and the slots: a function from weights (slots,) to scores (raters,), NaN
# where a rater's slots have none.
Metric = Callable[[np.ndarray, "Slots"], Callable[[np.ndarray], np.ndarray]]


@dataclass(frozen=True)
class Slots:
    """Votes with a target: places of items, codes of raters, what the rater says (``own``) and what
    the others say.

    ``raters`` are the names by code; ``left_out`` is the number of votes that cannot be scored.
    """

    item: np.ndarray
    rater: np.ndarray
    own: np.ndarray
    target: np.ndarray
    raters: list[str]
    left_out: int = 0

    def only(self, kept: np.ndarray) -> "Slots":
        """The slots where ``kept`` (slots,); the rest is left out."""
        left_out = self.left_out + int((~kept).sum())
        return Slots(self.item[kept], self.rater[kept], self.own[kept], self.target[kept],
                     self.raters, left_out)  # fmt: skip


def votes(
    rows: list[dict], key: str, name: str, codes: dict[str, int] | None = None
) -> Iterator[tuple[int, str, float]]:
    """(place of the row, rater, value) of the votes under ``key``; ``codes`` turn labels to values.

    Votes without the name of their rater are all of one. Raises ModelError.
    """
    for place, row in enumerate(rows):
        for vote in row.get(key) or []:
            said: Any = vote.get(name) if isinstance(vote, dict) else None
            value = said if codes is None else codes.get(str(said))
            if not isinstance(value, int | float):
                wanted = "a number" if codes is None else f"one of {', '.join(codes)}"
                raise ModelError(f"Each of “{key}” needs a “{name}” that is {wanted}.")
            yield place, str(vote.get("worker") or ""), float(value)


def majority(votes: Iterable[tuple[int, str, float]]) -> Slots:
    """The target is what more than half of the others say, of votes (item, rater, 0 or 1).

    Where the others are divided evenly, or there are none, there is no target: such a vote is left
    out for people and machines alike. Whether it is does not depend on the vote itself.
    """
    every, others, n = _others(votes)
    return Slots(every.item, every.rater, every.own, (2 * others > n).astype(float),
                 every.raters).only(2 * others != n)  # fmt: skip


def mean(votes: Iterable[tuple[int, str, float]]) -> Slots:
    """The target is the mean of the others' ratings; a rating without others is left out."""
    every, others, n = _others(votes)
    # Thirds and the like are equal only up to rounding.
    target = np.round(others / np.maximum(n, 1), 9)
    return Slots(every.item, every.rater, every.own, target, every.raters).only(n > 0)


def _others(votes: Iterable[tuple[int, str, float]]) -> tuple[Slots, np.ndarray, np.ndarray]:
    """All votes without targets, and of each the sum and the number of the others' votes."""
    rows = list(votes)
    names, rater = np.unique([name for _, name, _ in rows], return_inverse=True)
    item = np.array([place for place, _, _ in rows], int)
    own = np.array([value for _, _, value in rows], float)
    every = Slots(item, rater, own, np.zeros(len(rows)), names.tolist())
    return every, np.bincount(item, own)[item] - own, np.bincount(item)[item] - 1


def f1(said: np.ndarray, slots: Slots) -> Callable[[np.ndarray], np.ndarray]:
    """F1 of saying 1; none for a rater for whom the others never say 1."""

    def scores(weight: np.ndarray) -> np.ndarray:
        right, positive, predicted = (
            _sums(slots, weight * part) for part in (said * slots.target, slots.target, said)
        )
        return _ratio(2 * right, (positive + predicted) * (positive > 0))

    return scores


def share_of_0(said: np.ndarray, slots: Slots) -> Callable[[np.ndarray], np.ndarray]:
    """Of what is said to be 0, the per cent of which the others say so, too."""

    def scores(weight: np.ndarray) -> np.ndarray:
        passed = weight * (1 - said)
        return 100 * _ratio(_sums(slots, passed * (1 - slots.target)), _sums(slots, passed))

    return scores


def spearman(said: np.ndarray, slots: Slots) -> Callable[[np.ndarray], np.ndarray]:
    """Spearman's correlation; equal values share their mean rank. None where one does not vary."""
    cells = [_cells(values, slots.rater) for values in (said, slots.target)]

    def scores(weight: np.ndarray) -> np.ndarray:
        a, b = (_centred_ranks(cell, slots, weight) for cell in cells)
        spread = _sums(slots, weight * a * a) * _sums(slots, weight * b * b)
        return _ratio(_sums(slots, weight * a * b), np.sqrt(spread))

    return scores


def _cells(values: np.ndarray, rater: np.ndarray) -> np.ndarray:
    """Codes (slots,) of rater and value, ordered by both."""
    code = np.unique(values, return_inverse=True)[1]
    return np.unique(rater * (int(code.max(initial=0)) + 1) + code, return_inverse=True)[1]


def _centred_ranks(cell: np.ndarray, slots: Slots, weight: np.ndarray) -> np.ndarray:
    """Ranks (slots,) within the rater's slots, less their mean."""
    times = np.bincount(cell, weight)
    rank = (np.cumsum(times) - times / 2)[cell]
    return rank - _ratio(_sums(slots, weight * rank), _sums(slots, weight))[slots.rater]


def _sums(slots: Slots, values: np.ndarray) -> np.ndarray:
    return np.bincount(slots.rater, values, minlength=len(slots.raters))


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    return np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 1e-9)


def rows(
    head: dict, metric: Metric, slots: Slots, machines: dict[str, np.ndarray], group: np.ndarray
) -> list[dict]:
    """A row a machine, and one of people, each ``head`` with value, interval, n and ``raters``.

    ``machines`` say something of each item (items,); ``group`` (items,) are codes of what intervals
    resample. A rater whom the metric gives no score is left out for machines, too. Raises
    ModelError where no vote is left.
    """
    alone = metric(slots.own, slots)(np.ones(len(slots.own)))
    slots = slots.only(np.isfinite(alone)[slots.rater])
    if not len(slots.item):
        raise ModelError(
            f"{head['stage']}: there is nothing to compare with, since no item has votes of others "
            "that agree on more than one answer."
        )
    said = {name: values[slots.item].astype(float) for name, values in machines.items()}
    return [
        head | {"row": name} | _scored(metric(values, slots), slots, group)
        for name, values in (said | {PEOPLE: slots.own}).items()
    ]


def _scored(scores: Callable[[np.ndarray], np.ndarray], slots: Slots, group: np.ndarray) -> dict:
    def average(weight: np.ndarray) -> float:
        values, size = scores(weight), _sums(slots, weight)
        there = np.isfinite(values) & (size > 0)
        return float(np.average(values[there], weights=size[there])) if there.any() else np.nan

    _, code = np.unique(group[slots.item], return_inverse=True)
    value, low, high = over_groups(average, code, RESAMPLES)
    each = zip(slots.raters, scores(np.ones(len(code))), np.bincount(slots.rater), strict=False)
    raters = {name: {"n": int(n), "value": float(score)} for name, score, n in each
              if np.isfinite(score)}  # fmt: skip
    n = sum(rater["n"] for rater in raters.values())
    return {"n": n, "left_out": slots.left_out + len(slots.item) - n, "value": value, "low": low,
            "high": high, "raters": raters}  # fmt: skip


# --- What trained judges add at each stage, beside people ----------------------------------------


def interventions(folder: Path) -> tuple[list[dict], list[str]]:
    """The rows of what the release holds (``rows``), and why a stage has none.

    Three stages, a row an intervention: *extraction*, the per cent of attributes that hold, as
    extracted and of those that the verifier, or a person, lets pass; *relevance*, F1 of BM25,
    cosine, the matcher, and of a person; *response*, Spearman's correlation of length, of a reward
    model (Bradley-Terry on what people preferred), and of a person. All rows of a stage have the
    same target on the same items; all that is trained is out of fold by person.

    A row is {"stage", "metric", "row", "n", "left_out", "value", "low", "high", "raters"}. Raises
    ModelError where no stage has any.
    """
    table: list[dict] = []
    reasons = []
    for stage in (_extraction, _relevance, _response):
        try:
            table += stage(Path(folder))
        except learned.ModelError as refusal:
            reasons.append(refusal.sentence)
    if not table:
        raise learned.ModelError(" ".join(reasons))
    return table, reasons


def _extraction(folder: Path) -> list[dict]:
    table = training.verifier_rows(folder)
    flagged, _, _ = training.predictions(table)
    slots = majority(votes(table.raw, "verdicts", "verdict", VERDICTS))
    machines = {"as extracted": np.zeros(len(flagged)), "verifier": flagged}
    head = {"stage": "extraction", "metric": "accepted"}
    return rows(head, share_of_0, slots, machines, training.codes_of(table.person))


def _relevance(folder: Path) -> list[dict]:
    table = training.matcher_rows(folder)
    matched, by_baseline, _ = training.predictions(table)
    slots = majority(votes(table.raw, "votes", "vote", VOTES))
    head = {"stage": "relevance", "metric": "f1"}
    machines = by_baseline | {"matcher": matched}
    return rows(head, f1, slots, machines, training.codes_of(table.person))


def _response(folder: Path) -> list[dict]:
    raw, _ = training.labelled_rows(folder, "responses", ("generic", "personalised", "user"))
    raw = [row for row in raw if isinstance(row.get("mean"), int | float)]
    if len(raw) < training.LEAST:
        raise learned.ModelError(f"{training.LEAST} rated responses or more are needed.")
    person = training.codes_of([row["user"] for row in raw])
    means = np.array([float(row["mean"]) for row in raw])
    longer = np.array([len(row["personalised"]) - len(row["generic"]) for row in raw], float)
    machines = {"verbosity": longer, "reward model": _rewards(raw, person, means)}
    slots = mean(votes(raw, "ratings", "rating"))
    head = {"stage": "response", "metric": "spearman"}
    return rows(head, spearman, slots, machines, person)


def _rewards(raw: list[dict], person: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """The reward of the personalised answer less that of the generic one, out of fold."""
    texts = Texts()
    about = [str(row.get("attribute") or "") for row in raw]
    prompt = [str(row.get("prompt") or "") for row in raw]
    apart = np.subtract(
        *(learned.reward_features(texts, about, prompt, [row[side] for row in raw])
          for side in ("personalised", "generic"))
    )  # fmt: skip
    points = np.array([row.get("points") or 5 for row in raw])
    side = np.sign(mean - (points + 1) / 2)

    def predict(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        decided = train & (side != 0)
        if not decided.any():
            return np.zeros(test.sum())
        turned = apart[decided] * side[decided, None]
        return learned.fit_reward(turned, np.zeros_like(turned)).score(apart[test])

    return learned.out_of_fold(learned.folds_of(person), predict)
