"""Pairs of another corpus, filtered by their gap, to train reward models with. Pure.

A row has ``prompt`` and either ``response`` and ``helpfulness`` (each two responses to a prompt are
a pair), or ``response_1``, ``response_2`` and ``preference_strength`` (below 0: the first is
better), or ``chosen``, ``rejected`` and ``gap``.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from annotation.datasets.release_files import whole_rows
from annotation.evaluation.pairs import Benchmark, BenchmarkError, Pair, digest_of

# Whether a row's columns are these, the first also that which names the form.
FORMS = (
    ("response", "helpfulness"),
    ("response_1", "response_2", "preference_strength"),
    ("chosen", "rejected", "gap"),
)


def read(path: Path, min_gap: float) -> Benchmark:
    """The pairs of a file of JSON lines or Parquet whose gap is at least ``min_gap``, nobody's.

    Answers that are equally good are no pair. Raises BenchmarkError with the first fault.
    """
    path = Path(path)
    if not path.is_file():
        raise BenchmarkError(f"{path} is no file.")
    pairs = [
        Pair(n, "general", "imported", "", prompt, chosen, reject, str(n), f"{n}/chosen",
             f"{n}/reject")
        for n, (prompt, chosen, reject) in enumerate(_wide(path, min_gap))
    ]  # fmt: skip
    if not pairs:
        raise BenchmarkError(f"{path} holds no pair with a gap of {min_gap:g} or more.")
    return Benchmark(pairs, {}, {}, digest_of([path]), "")


def joined(other: Benchmark, release: Benchmark) -> Benchmark:
    """The pairs of a corpus, which are nobody's, and then those of a release with its personas."""
    pairs = [replace(pair, place=n) for n, pair in enumerate([*other.pairs, *release.pairs])]
    digest = hashlib.sha256(f"{other.digest} {release.digest}".encode()).hexdigest()
    return replace(release, pairs=pairs, digest=digest)


def _wide(path: Path, min_gap: float) -> Iterator[tuple[str, str, str]]:
    """(prompt, better answer, the other) of every pair with the gap."""
    rated: dict[str, list[tuple[str, float]]] = {}
    for line, row in whole_rows(path, path.name, BenchmarkError):
        form = next((form for form in FORMS if form[0] in row), None)
        if form is None:
            names = " or ".join(form[0] for form in FORMS)
            raise BenchmarkError(f"{path.name}, line {line}: there is no {names}.")
        values: list[Any] = [row.get(name) for name in form]
        *texts, number = values
        whole = isinstance(number, int | float) and not isinstance(number, bool)
        if not whole or not all(isinstance(text, str) for text in [row.get("prompt"), *texts]):
            names = ", ".join(("prompt", *form))
            raise BenchmarkError(f"{path.name}, line {line}: {names} are texts and a number.")
        if form == FORMS[0]:
            rated.setdefault(row["prompt"], []).append((texts[0], number))
            continue
        first, second = texts[::-1] if form == FORMS[1] and number > 0 else texts
        if abs(number) >= min_gap and number:
            yield row["prompt"], first, second
    for prompt, answers in rated.items():
        for (one, high), (other, low) in combinations(answers, 2):
            if abs(high - low) >= min_gap and high != low:
                yield prompt, *((one, other) if high > low else (other, one))
