"""Scores of answers in a CSV file, as a reward model gives them. Pure."""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

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


def read(path: Path) -> dict[str, float]:
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
    faults, seen = [], {}
    path = Path(path)
    try:
        with path.open("rb") as stream:
            for line, row in records.read(stream, _header(columns)):
                fault, key, score = _row(row, columns, seen)
                if fault:
                    faults.append(f"{path.name}, line {line}: {fault}")
                else:
                    seen[key] = score
    except OSError as error:
        raise ScoresError(f"{path}: {(error.strerror or 'it cannot be read').lower()}.") from error
    except records.RecordsError as error:
        raise ScoresError(f"{path.name}, {error.sentence}.") from error
    if faults:
        more = f"\nand {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
        raise ScoresError("\n".join(faults[:SHOWN]) + more)
    yield from seen.items()


def _header(columns: Sequence[str]) -> Callable[[list[str]], None]:
    def check(names: list[str]) -> None:
        if missing := [name for name in columns if names.count(name) != 1]:
            raise ValueError(f"there must be a column {missing[0]}")

    return check


def _row(row: dict | str, columns: Sequence[str], seen: dict) -> tuple[str, tuple, float]:
    """What is wrong with a row, its key, and its score."""
    if isinstance(row, str):
        return row, (), 0.0
    key = tuple(row.get(name) for name in columns[:-1])
    if not all(isinstance(part, str) and part for part in key):
        return f"“{columns[0]}” is missing", (), 0.0
    try:
        score = float(cast(Any, row.get("score")))
    except (TypeError, ValueError):
        score = math.nan
    if not math.isfinite(score):
        return "“score” is no number", (), 0.0
    if seen.get(key, score) != score:
        return f"“{str(key[0])[:80]}” has another score above", (), 0.0
    return "", key, score
