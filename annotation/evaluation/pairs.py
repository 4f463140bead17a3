"""The pairs of a release, in a file for each half and tier, or in the layout `dpo`, and scores of
their answers. Pure.

A pair is one test case: a person, a question, the answer that people chose and the other one.
"""

import hashlib
import json
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import numpy as np
from django.utils.translation import gettext_lazy as _

from annotation.core import foreign, records
from annotation.core.errors import DomainError
from annotation.datasets import papers
from annotation.datasets.records import as_texts
from annotation.datasets.release_files import HALVES, WITH_STRUCTURE, parts, whole_rows

TIERS = ("easy", "medium", "hard")
# Of releases by another rule than tiers.
RULES = ("majority", "imported")
# What is appended later comes last: stored facts hold places in this.
CELLS = tuple((half, name) for names in (TIERS, RULES) for half in HALVES for name in names)
LAYOUT = "pairs"  # of benchmarks
ALONE = "dpo"  # one file of pairs, each with its persona
ALONE_TABLE = "pairs"
ALONE_SETTINGS = ("persona", "none")
# What a model may be shown of a person who has memories, too.
SETTINGS = {
    "persona": _("the profile"),
    "rag": _("the five nearest memories"),
    "rag-filter": _("memories that the model picks"),
    "none": _("nothing of the person"),
}
PERSONAS = "persona/all_personas.jsonl"
MEMORIES = "persona/memories.jsonl"
TEXTS = ("user_id", "question", "chosen", "reject")
SEED = 20250


class BenchmarkError(DomainError):
    """The folder holds no pairs that can be read; the sentence names file and line."""

    code = "benchmark"


@dataclass(frozen=True, slots=True)
class Pair:
    """One test case. ``place`` is its number in the release, from 0; the ids are unique in it.

    ``user_id`` is "" where the pair is nobody's.
    """

    place: int
    half: str
    tier: str
    user_id: str
    question: str
    chosen: str
    reject: str
    item: str
    chosen_id: str
    reject_id: str


@dataclass(frozen=True)
class Benchmark:
    """A release's pairs, its personas by user id, and the texts that stand for their history.

    ``digest`` is the SHA-256 of all that a model may be asked about.
    """

    pairs: list[Pair]
    personas: dict[str, dict]
    memories: dict[str, list[str]]
    digest: str
    release: str
    layout: str = LAYOUT


def settings(layout: str) -> tuple[str, ...]:
    """What a model may be shown that chooses between a release's pairs; () where it has none."""
    if layout == ALONE:
        return ALONE_SETTINGS
    paper = papers.named(layout)
    return paper.settings if paper else ()


def read_pairs(folder: Path) -> Benchmark:
    """Read a release's folder. Raises BenchmarkError with file and line of the first fault."""
    folder = Path(folder)
    files = _files(folder)
    if not files:
        return _read_alone(folder)
    pairs: list[Pair] = []
    for (half, tier), path in files:
        for line, row in _rows(path, folder):
            pairs.append(_pair(row, half, tier, len(pairs), f"{path.relative_to(folder)}", line))
    if not pairs:
        raise BenchmarkError(f"{folder} holds no pair.")
    personas = {str(n): row for n, (_, row) in enumerate(_rows(folder / PERSONAS, folder), 1)}
    memories = defaultdict(list)
    if (folder / MEMORIES).is_file():
        for line, row in _rows(folder / MEMORIES, folder):
            user = row.get("user_id", row.get("persona"))
            if not isinstance(row.get("text"), str) or not isinstance(user, str | int):
                raise BenchmarkError(f"{MEMORIES}, line {line}: “user_id” and “text” are needed.")
            memories[str(user)].append(row["text"])
    read_files = [*(path for _, path in files), folder / PERSONAS, folder / MEMORIES]
    return Benchmark(pairs, personas, dict(memories), digest_of(read_files), release_of(folder))


def _read_alone(folder: Path) -> Benchmark:
    paths = parts(folder, ALONE_TABLE, WITH_STRUCTURE)
    if not paths:
        raise BenchmarkError(
            f"{folder} has no data/specific, data/general or {ALONE_TABLE} as JSON lines or "
            "Parquet: no pairs to ask."
        )
    pairs: list[Pair] = []
    personas: dict[str, dict] = {}
    for name, line, row in ((path.name, *entry) for path in paths for entry in _said(path, folder)):
        persona = _profile(row.get("persona"))
        names = {"question": row.get("prompt"), "reject": row.get("rejected")}
        if not row.get("user_id"):
            row["user_id"] = _user(persona)
        tier = str(row.get("tier")) if row.get("tier") in (*TIERS, *RULES) else "imported"
        pair = _pair(names | row, "specific", tier, len(pairs), name, line)
        pairs.append(pair)
        if isinstance(persona, dict):
            personas[pair.user_id] = persona
    if not pairs:
        raise BenchmarkError(f"{folder} holds no pair.")
    return Benchmark(pairs, personas, {}, digest_of(paths), release_of(folder))


def _profile(value: object) -> object:
    """The profile in a cell, which Parquet holds as JSON text; other texts as they are."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _user(persona: object) -> str:
    """A name for the person of a row that has no “user_id”: all rows of one profile are one's."""
    if not persona:
        return ""
    return persona if isinstance(persona, str) else json.dumps(persona, sort_keys=True)


def sample(pairs: list[Pair], limit: int | None) -> list[Pair]:
    """``limit`` of the pairs, always the same at random, in the release's order; None: all."""
    if limit is None or limit >= len(pairs):
        return pairs
    places = random.Random(SEED).sample(range(len(pairs)), limit)  # noqa: S311 - no secret
    return [pairs[place] for place in sorted(places)]


def _files(folder: Path) -> list[tuple[tuple[str, str], Path]]:
    """(half, tier) of every file of pairs, a table's shards in their order."""
    files = []
    for half, tier in CELLS:
        names = (f"data/{name}/{tier}" for name in reversed(HALVES[half]))
        by_name = (parts(folder, name, WITH_STRUCTURE) for name in names)
        files += [((half, tier), path) for path in next(filter(None, by_name), ())]
    return files


def _rows(path: Path, folder: Path) -> Iterator[tuple[int, dict]]:
    return whole_rows(path, str(path.relative_to(folder)), BenchmarkError)


def _said(path: Path, folder: Path) -> Iterator[tuple[int, dict]]:
    """Rows whose question and answers are texts, or were messages."""
    for line, row in _rows(path, folder):
        try:
            yield line, as_texts(row)
        except DomainError as refusal:
            raise BenchmarkError(f"{path.name}, line {line}: {refusal.sentence}.") from refusal


def _pair(row: dict, half: str, tier: str, place: int, name: str, line: int) -> Pair:
    if isinstance(row.get("user_id"), int):  # some copies hold numbers
        row = row | {"user_id": str(row["user_id"])}
    for key in TEXTS:
        if not isinstance(row.get(key), str):
            raise BenchmarkError(f"{name}, line {line}: “{key}” is missing or no text.")
    number = f"{half}/{tier}/{line}"
    return Pair(
        place,
        half,
        tier,
        row["user_id"],
        row["question"],
        row["chosen"],
        row["reject"],
        str(row.get("item_id") or number),
        str(row.get("chosen_id") or f"{number}/chosen"),
        str(row.get("reject_id") or f"{number}/reject"),
    )


def digest_of(paths: list[Path]) -> str:
    """SHA-256 of the digests of those of the files that exist, hexadecimal."""
    total = hashlib.sha256()
    for path in paths:
        if path.is_file():
            with path.open("rb") as stream:
                total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()


def release_of(folder: Path) -> str:
    """The release's id by its manifest; "" where it has none."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return ""
    identity = manifest.get("release") if isinstance(manifest, dict) else ""
    return identity if isinstance(identity, str) else ""


# --- Pairs of another corpus ----------------------------------------------------------------------

# Whether a row's columns are these, the first also that which names the form.
FORMS = (
    ("response", "helpfulness"),
    ("response_1", "response_2", "preference_strength"),
    ("chosen", "rejected", "gap"),
)


def read_corpus(path: Path, min_gap: float) -> Benchmark:
    """The pairs of a file of JSON lines or Parquet whose gap is at least ``min_gap``, nobody's.

    A row has ``prompt`` and either ``response`` and ``helpfulness`` (each two responses to a prompt
    are a pair), or ``response_1``, ``response_2`` and ``preference_strength`` (below 0: the first
    is better), or ``chosen``, ``rejected`` and ``gap``.
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


# --- Scores of answers in a CSV file, as a reward model gives them --------------------------------

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
    for line, row in foreign.rows_at(path, ScoresError, records.columns(columns, columns)):
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
    score = records.number_of(row.get("score"))
    if score is None:
        raise ValueError("“score” is no number")
    return cast(tuple[str, ...], key), score
