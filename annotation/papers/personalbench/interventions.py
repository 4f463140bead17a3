"""What trained judges add at each stage of PersonalBench, beside people. Pure.

Three stages of one `personalbench` release, a row an intervention:

- *extraction*: the per cent of attributes that hold, as extracted and of those that the verifier,
  or a person, lets pass;
- *relevance*: F1 of BM25, cosine, the matcher, and of a person;
- *response*: Spearman's correlation of length, of a reward model (Bradley-Terry on what people
  preferred), and of a person.

Whether an attribute holds or matters, and how good a response is, the others say (`others`): all
rows of a stage have the same target on the same items. All that is trained is out of fold by
person, with 95 % intervals over persons.
"""

from pathlib import Path

import numpy as np

from annotation.core import learned
from annotation.core.learned import Texts
from annotation.evaluation import training
from annotation.papers.personalbench import others


def rows(folder: Path) -> tuple[list[dict], list[str]]:
    """The rows of what the release holds (`others.rows`), and why a stage has none.

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
    rows = training.verifier_rows(folder)
    flagged, _, _ = training.predictions(rows)
    slots = others.majority(others.votes(rows.raw, "verdicts", "verdict", others.VERDICTS))
    machines = {"as extracted": np.zeros(len(flagged)), "verifier": flagged}
    head = {"stage": "extraction", "metric": "accepted"}
    return others.rows(head, others.share_of_0, slots, machines, training.codes_of(rows.person))


def _relevance(folder: Path) -> list[dict]:
    rows = training.matcher_rows(folder)
    matched, by_baseline, _ = training.predictions(rows)
    slots = others.majority(others.votes(rows.raw, "votes", "vote", others.VOTES))
    head = {"stage": "relevance", "metric": "f1"}
    machines = by_baseline | {"matcher": matched}
    return others.rows(head, others.f1, slots, machines, training.codes_of(rows.person))


def _response(folder: Path) -> list[dict]:
    raw, _ = training.labelled_rows(folder, "responses", ("generic", "personalised", "user"))
    raw = [row for row in raw if isinstance(row.get("mean"), int | float)]
    if len(raw) < training.LEAST:
        raise learned.ModelError(f"{training.LEAST} rated responses or more are needed.")
    person = training.codes_of([row["user"] for row in raw])
    mean = np.array([float(row["mean"]) for row in raw])
    longer = np.array([len(row["personalised"]) - len(row["generic"]) for row in raw], float)
    machines = {"verbosity": longer, "reward model": _rewards(raw, person, mean)}
    slots = others.mean(others.votes(raw, "ratings", "rating"))
    head = {"stage": "response", "metric": "spearman"}
    return others.rows(head, others.spearman, slots, machines, person)


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
