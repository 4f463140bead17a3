"""Scores of answers in a CSV file, as a reward model gives them. Pure."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from annotation.core import records
from annotation.core.errors import DomainError
from annotation.evaluation.pairs import Pair

COLUMNS = ("candidate", "score")
ASPECT_COLUMNS = ("candidate", "aspect", "score")
SHOWN = 5


class ScoresError(DomainError):
    """The file holds no such scores; the sentence names file and line."""

    code = "scores"


def read_scores(path: Path) -> dict[str, float]:
    """{candidate: score} of the columns ``candidate,score``. Raises ScoresError."""
    return {key[0]: score for key, score in _scores(path, COLUMNS)}


def read_aspects(path: Path) -> dict[str, dict[str, float]]:
    """{aspect: {candidate: score}} of the columns ``candidate,aspect,score``, in the file's order.

    Raises ScoresError.
    """
    aspects: dict[str, dict[str, float]] = {}
    for (candidate, aspect), score in _scores(path, ASPECT_COLUMNS):
        aspects.setdefault(aspect, {})[candidate] = score
    return aspects


def of_pairs(pairs: list[Pair], scores: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Scores (pairs,) of the chosen and of the other answer; NaN where there is none.

    Raises ScoresError where no pair has both.
    """
    chosen = np.array([scores.get(pair.chosen_id, math.nan) for pair in pairs])
    reject = np.array([scores.get(pair.reject_id, math.nan) for pair in pairs])
    if not (np.isfinite(chosen) & np.isfinite(reject)).any():
        raise ScoresError(
            "No pair has a score for both of its answers: “candidate” must be the “chosen_id” or "
            f"“reject_id” of the release, such as {pairs[0].chosen_id[:80]}."
        )
    return chosen, reject


def _scores(path: Path, columns: Sequence[str]) -> Iterator[tuple[tuple, float]]:
    faults: list[str] = []
    seen: dict[tuple, float] = {}
    for line, row in records.of_file(path, ScoresError, records.columns(columns, columns)):
        try:
            key, score = _row(row, columns)
            if seen.setdefault(key, score) != score:
                raise ValueError(f"“{key[0][:80]}” has another score above")
        except ValueError as fault:
            faults.append(f"{Path(path).name}, line {line}: {fault}")
    if faults:
        more = f"\nand {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
        raise ScoresError("\n".join(faults[:SHOWN]) + more)
    yield from seen.items()


def _row(row: dict | str, columns: Sequence[str]) -> tuple[tuple[str, ...], float]:
    """A row's key and its score; ValueError says what is wrong with it."""
    if isinstance(row, str):
        raise ValueError(row)
    key = tuple(row.get(name) for name in columns[:-1])
    if not all(isinstance(part, str) and part for part in key):
        raise ValueError(f"“{columns[0]}” is missing")
    try:
        score = float(row.get("score"))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        score = math.nan
    if not math.isfinite(score):
        raise ValueError("“score” is no number")
    return cast(tuple[str, ...], key), score
