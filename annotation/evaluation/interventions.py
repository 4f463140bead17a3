"""What trained judges add at each stage of PersonalBench, beside people. Pure.

Three stages of one `personalbench` release, a row an intervention:

- *extraction*: the share of attributes that people accept, as extracted and of those that the
  verifier lets pass;
- *relevance*: F1 against the people's majority of BM25, cosine, the matcher, and of single people
  against the majority of the others;
- *response*: Spearman's correlation with the people's mean rating of length, of a reward model
  (Bradley-Terry on what people preferred), and of single people with the mean of the others.

All that is trained is out of fold by person, with 95 % intervals over persons.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from annotation.agreement.statistics.bootstrap import over_groups
from annotation.core import learned
from annotation.core.learned import Texts
from annotation.evaluation import training

RESAMPLES = 500
PEOPLE = "people"


def rows(folder: Path) -> list[dict]:
    """[{"stage", "row", "metric", "n", "value", "low", "high"}] of what the release holds.

    Raises ModelError where it is no `personalbench` release, or too small for all stages.
    """
    table: list[dict] = []
    reasons = []
    for stage in (_extraction, _relevance, _response):
        try:
            table += stage(Path(folder))
        except learned.ModelError as refusal:
            reasons.append(refusal)
    if not table:
        raise reasons[0]
    return table


def _extraction(folder: Path) -> list[dict]:
    rows = training.verifier_rows(folder)
    flagged, _, _ = training.predictions(rows)
    accepted = rows.label == 0

    def share(weight: np.ndarray, passed: np.ndarray) -> float:
        return 100 * (weight * accepted * passed).sum() / (weight * passed).sum()

    every = np.ones(len(accepted), bool)
    return [
        _row("extraction", name, "accepted", rows.person, lambda w, p=passed: share(w, p),
             int(passed.sum()))
        for name, passed in (("as extracted", every), ("verifier", ~flagged))
        if passed.any()
    ]  # fmt: skip


def _relevance(folder: Path) -> list[dict]:
    rows = training.matcher_rows(folder)
    matched, by_baseline, _ = training.predictions(rows)
    by_row = {**by_baseline, "matcher": matched}
    table = [
        _row("relevance", name, "f1", rows.person,
             lambda w, p=predicted: learned.f1(p, rows.label, w), len(rows.label))
        for name, predicted in by_row.items()
    ]  # fmt: skip
    raw, _ = training.labelled_rows(folder, "relevance", ("user",))
    votes = [(row["user"], [vote.get("vote") == "yes" for vote in row.get("votes") or []])
             for row in raw]  # fmt: skip
    alone = [
        (user, vote, 2 * (sum(cast) - vote) > len(cast) - 1)
        for user, cast in votes
        if len(cast) >= 3 and len(cast) % 2
        for vote in cast
    ]
    if alone:
        person = training.codes_of([user for user, _, _ in alone])
        vote, others = (np.array([row[k] for row in alone]).astype(int) for k in (1, 2))
        table.append(
            _row("relevance", PEOPLE, "f1", person,
                 lambda w: learned.f1(vote == 1, others, w), len(vote))
        )  # fmt: skip
    return table


def _response(folder: Path) -> list[dict]:
    raw, _ = training.labelled_rows(folder, "responses", ("generic", "personalised", "user"))
    raw = [row for row in raw if isinstance(row.get("mean"), int | float)]
    if len(raw) < training.LEAST:
        raise learned.ModelError(f"{training.LEAST} rated responses or more are needed.")
    person = training.codes_of([row["user"] for row in raw])
    mean = np.array([float(row["mean"]) for row in raw])
    longer = np.array([len(row["personalised"]) - len(row["generic"]) for row in raw], float)
    reward = _rewards(raw, person, mean)
    table = [
        _row("response", name, "spearman", person, lambda w, v=values: _spearman(v, mean, w),
             len(raw))
        for name, values in (("verbosity", longer), ("reward model", reward))
    ]  # fmt: skip
    alone = [
        (row["user"], ratings[k], (sum(ratings) - ratings[k]) / (len(ratings) - 1))
        for row in raw
        if len(ratings := [r["rating"] for r in row.get("ratings") or []]) > 1
        for k in range(len(ratings))
    ]
    if alone:
        who = training.codes_of([user for user, _, _ in alone])
        rating, others = (np.array([row[k] for row in alone], float) for k in (1, 2))
        table.append(_row("response", PEOPLE, "spearman", who,
                          lambda w: _spearman(rating, others, w), len(rating)))  # fmt: skip
    return table


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


def _spearman(a: np.ndarray, b: np.ndarray, weight: np.ndarray) -> float:
    """Spearman's correlation with a whole-number weight a row; NaN where one does not vary."""
    times = weight.astype(int)
    ranks = [_ranks(np.repeat(values, times)) for values in (a, b)]
    if any(not np.ptp(values) for values in ranks if len(values)) or len(ranks[0]) < 2:
        return float("nan")
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    _, code, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[code]


def _row(stage: str, name: str, metric: str, person: np.ndarray, compute: Callable, n: int) -> dict:
    """A row with its percentile interval over persons; null where it has no value."""
    value, low, high = over_groups(compute, person, RESAMPLES)
    head = {"stage": stage, "row": name, "metric": metric, "n": n}
    return head | {"value": value, "low": low, "high": high}
