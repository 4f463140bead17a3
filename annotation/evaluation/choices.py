"""What a model is asked about each pair of a benchmark, in both orders, and what that amounts to.

A question's unit is the pair's place and "1" (the chosen answer stands first),
"2" (second) or "notes" (which memories to show).
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import cast

import numpy as np

from annotation.core.embed import embed
from annotation.datasets import verdict
from annotation.evaluation.asking import Question, chat
from annotation.evaluation.metrics import Accuracy, accuracy, consistency, controlled, of_scores
from annotation.evaluation.models import Benchmark as BenchmarkRow
from annotation.evaluation.models import Run
from annotation.evaluation.pairs import (
    CELLS,
    HALVES,
    MEMORIES,
    TIERS,
    Benchmark,
    BenchmarkError,
    Pair,
    of_pairs,
    sample,
)
from annotation.personas.schema import as_text

# Wordings are ours: the paper's prompt for the choice is not published. Any change of one makes a
# new version, which a run stores.
VERSION = "choice/1"
# Memories that are retrieved for a question; the paper gives no number.
NEAREST = 5
_NUMBER = re.compile(r"\d+")

_SYSTEM = (
    "You compare two answers to a user's question. Choose the answer that serves this user better: "
    "it must be helpful, that is precise and to the point, and fit this user, that is take up what "
    "matters for the question without forcing in facts about the user. Length alone is no merit."
)
_END = "Which answer is better for this user? End with one line: Verdict: 1 or Verdict: 2."
ORDERS = ("1", "2")
NOTES = "notes"
BY_CHANCE = 50
# Signs a token, and tokens a verdict: for the estimate of the cost alone.
SIGNS, VERDICT_TOKENS = 4, 60


class Choices:
    """A run that asks which answer of each pair is better, and shows the user in one ``setting``.

    Raises BenchmarkError where the release lacks what the setting needs.
    """

    kind, prompt, TOKENS = Run.Kind.CHOICE, VERSION, VERDICT_TOKENS

    def __init__(self, benchmark: Benchmark, setting: str, limit: int | None) -> None:
        self.fields: dict = {}
        self.asked = sample(benchmark.pairs, limit)
        self.setting = setting
        self.profiles = {user: as_text(profile) for user, profile in benchmark.personas.items()}
        self.nearest: dict[int, list[str]] = {}
        if setting in ("persona", "rag-filter"):
            for pair in self.asked:
                if pair.user_id not in self.profiles:
                    raise BenchmarkError(
                        f"There is no persona {pair.user_id[:40]} in the release."
                        if pair.user_id
                        else "Pairs of the release have no persona: use the setting none."
                    )
        if setting.startswith("rag"):
            if not benchmark.memories:
                raise BenchmarkError(
                    f"The setting {setting} needs {MEMORIES}, and the release has none."
                )
            self.nearest = retrieved(self.asked, benchmark.memories)

    def phases(self, values: Callable[[], dict]) -> Iterator[tuple[str, list[Question]]]:
        """The filter of memories where there is one, then the pairs."""
        if filters := list(self._filters()):
            yield "notes", filters
            replies = values()
            for place, memories in self.nearest.items():
                # Without a reply that can be read all of them are shown.
                numbers = replies.get(f"{place}:{NOTES}")
                if numbers is not None:
                    self.nearest[place] = [memories[number] for number in numbers]
        yield "verdicts", list(self._verdicts())

    def drawn(self) -> list[Question]:
        """All that is asked, as far as that is known before it begins."""
        return [*self._filters(), *self._verdicts()]

    def result(self, run: Run) -> tuple[dict, dict | None]:
        values = dict(run.replies.values_list("unit", "value"))
        first, second = verdicts([pair.place for pair in self.asked], values)
        more = {
            "unparsed": int((first < 0).sum() + (second < 0).sum()),
            "position_consistency": consistency(first, second),
        }
        return figures(run, self.asked, of_verdicts(first, second), more)

    def _about(self, pair: Pair) -> str:
        """What stands before the question."""
        if self.setting == "persona":
            return about_profile(self.profiles[pair.user_id])
        if self.setting == "none":
            return ""
        return about_memories(self.nearest.get(pair.place, []))

    def _filters(self) -> Iterator[Question]:
        """The questions that must be answered before the pairs: which memories to show."""
        for pair in self.asked if self.setting == "rag-filter" else ():
            if memories := self.nearest[pair.place]:
                profile = self.profiles[pair.user_id]
                yield Question(
                    f"{pair.place}:{NOTES}",
                    partial(filter_prompt, pair.question, profile, memories),
                    partial(read_filter, count=len(memories)),
                )

    def _verdicts(self) -> Iterator[Question]:
        """Two questions a pair: the chosen answer first, and second."""
        for pair in self.asked:
            for order in ORDERS:
                messages = partial(self._messages, pair, order)
                yield Question(f"{pair.place}:{order}", messages, partial(_right, int(order)))

    def _messages(self, pair: Pair, order: str) -> list[dict]:
        answers = (pair.chosen, pair.reject) if order == "1" else (pair.reject, pair.chosen)
        return choice_prompt(pair.question, *answers, self._about(pair))


@dataclass(frozen=True)
class Scored:
    """A run of answers' scores that are there already: of the chosen and of the other answer of
    each pair (pairs,), NaN for none. ``more`` goes into the result.
    """

    kind: str
    asked: list[Pair]
    chosen: np.ndarray
    reject: np.ndarray
    more: dict = field(default_factory=dict)
    fields: dict = field(default_factory=dict)
    prompt: str = ""

    def phases(self, values: Callable[[], dict]) -> Iterator[tuple[str, list[Question]]]:
        return iter(())

    def result(self, run: Run) -> tuple[dict, dict | None]:
        missing = int((np.isnan(self.chosen) | np.isnan(self.reject)).sum())
        more = {"unparsed": missing, "position_consistency": None} | self.more
        return figures(run, self.asked, of_scores(self.chosen, self.reject), more)


def by_scores(benchmark: Benchmark, scores: dict[str, float], limit: int | None) -> Scored:
    """A run of ``scores`` by the answer's id. Raises ScoresError where no pair has both."""
    asked = sample(benchmark.pairs, limit)
    return Scored(Run.Kind.SCORES, asked, *of_pairs(asked, scores))


def figures(run: Run, asked: list[Pair], score: np.ndarray, more: dict) -> tuple[dict, dict]:
    """Result and outcomes of a run: ``score`` (pairs,) of the pairs ``asked``."""
    places = [pair.place for pair in asked]
    facts = cast(BenchmarkRow, run.benchmark).facts
    result = {"n": len(places), **more, **summary(np.array(places, dtype=int), score, facts)}
    return result, {"place": places, "score": score.tolist()}


def retrieved(pairs: list[Pair], memories: dict[str, list[str]]) -> dict[int, list[str]]:
    """By place of the pair, the user's memories that come nearest to the question, best first."""
    by_user = defaultdict(list)
    for pair in pairs:
        by_user[pair.user_id].append(pair)
    nearest = {}
    for user, asked in by_user.items():
        texts = memories.get(user, [])
        near = embed([pair.question for pair in asked]) @ embed(texts).T
        order = np.argsort(-near, axis=1, kind="stable")[:, :NEAREST]
        for pair, row in zip(asked, order, strict=True):
            nearest[pair.place] = [texts[place] for place in row]
    return nearest


def _right(place: int, text: str) -> int | None:
    """1 where the text chooses the answer that stands at ``place``, 0 the other, None neither."""
    choice = read_choice(text)
    return None if choice is None else int(choice == place)


def estimate(drawn: list[Question], reply_tokens: int) -> dict:
    """Calls and tokens of a run that asks ``drawn``: {"calls", "tokens_in", "tokens_out"}."""
    step = max(1, len(drawn) // 200)  # texts differ little: some are measured for all
    measured = drawn[::step]
    signs = sum(
        len(message["content"].encode()) for question in measured for message in question.messages()
    )
    tokens = round(signs / SIGNS / max(len(measured), 1) * len(drawn))
    return {"calls": len(drawn), "tokens_in": tokens, "tokens_out": reply_tokens * len(drawn)}


def facts(pairs: list[Pair]) -> dict:
    """What figures need of each pair: see models.Benchmark."""
    numbers: dict[tuple, int] = {}
    return {
        "cell": [CELLS.index((pair.half, pair.tier)) for pair in pairs],
        "item": [
            numbers.setdefault((pair.half, pair.tier, pair.item), len(numbers)) for pair in pairs
        ],
        "length": [
            float(np.log1p(len(pair.chosen)) - np.log1p(len(pair.reject))) for pair in pairs
        ],
    }


def verdicts(places: list[int], values: dict[str, int | None]) -> tuple[np.ndarray, np.ndarray]:
    """Verdicts (pairs,) in the first and the second order: 1 right, 0 wrong, -1 none."""
    columns = [
        [-1 if (value := values.get(f"{place}:{order}")) is None else value for place in places]
        for order in ORDERS
    ]
    first, second = np.array(columns, dtype=int).reshape(2, -1)
    return first, second


def of_verdicts(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Scores (pairs,) of verdicts in both orders: an order without a verdict is not right."""
    return (np.maximum(first, 0) + np.maximum(second, 0)) / 2


def summary(places: np.ndarray, score: np.ndarray, about_pairs: dict) -> dict:
    """Accuracies by half and tier, of each half and of all, plain and length-controlled.

    ``about_pairs`` are the facts of all pairs; ``places`` says which ``score`` is about.
    """
    places = np.asarray(places, int)
    cell, item, length = (
        np.asarray(about_pairs[key])[places] for key in ("cell", "item", "length")
    )

    def of(cells: Sequence[int]) -> Accuracy:
        at = np.isin(cell, cells)
        return accuracy(score[at], item[at], cell[at])

    table = {}
    for half in HALVES:
        places_of = {name: place for place, (of_half, name) in enumerate(CELLS) if of_half == half}
        shown = {
            name: of([at]).as_json()
            for name, at in places_of.items()
            if name in TIERS or (cell == at).any()
        }
        table[half] = shown | {"average": of(list(places_of.values())).as_json()}
    return {
        "accuracy": table,
        "average": of(range(len(CELLS))).as_json(),
        "length_controlled": controlled(score, length, item).as_json(),
        "by_chance": BY_CHANCE,
    }


# --- Prompts, and how replies are read ------------------------------------------------------------


def choice_prompt(question: str, first: str, second: str, about: str) -> list[dict]:
    """Messages that ask which of two answers is better; ``about`` is what is shown of the user."""
    shown = f"{about}\n\n" if about else ""
    answers = f"Answer 1:\n{first}\n\nAnswer 2:\n{second}"
    return chat(_SYSTEM, f"{shown}Question:\n{question}\n\n{answers}\n\n{_END}")


def about_profile(profile: str) -> str:
    return f"The user's profile:\n{profile}"


def about_memories(memories: list[str]) -> str:
    """The user by texts they read or wrote; "" where there are none."""
    listed = "\n".join(f"- {text}" for text in memories)
    return f"Texts from the user's past, which may tell about them:\n{listed}" if listed else ""


def filter_prompt(question: str, profile: str, memories: list[str]) -> list[dict]:
    """Messages that ask which memories bear on the question."""
    listed = "\n".join(f"{n}. {text}" for n, text in enumerate(memories, 1))
    return chat(
        "You choose which notes about a user help to answer their question well.",
        f"{about_profile(profile)}\n\nQuestion:\n{question}\n\nNotes:\n{listed}\n\n"
        "End with one line that names the notes that bear on the question by their numbers, "
        "separated by commas: Notes: 1, 3. Where none does: Notes: none.",
    )


def read_choice(text: str) -> int | None:
    """1 or 2, the answer that the text ends up choosing; None where it names none clearly."""
    named = verdict.read(text, verdict.NUMBERS)
    return int(named) if named else None


def read_filter(text: str, count: int) -> list[int] | None:
    """Places from 0 of the notes that were named, of ``count``; None where no line names them."""
    for line in reversed(verdict.answered(text).splitlines()):
        name, colon, rest = line.strip(" *").partition(":")
        if colon and name.strip(" *").lower() == "notes":
            places = [int(number) - 1 for number in _NUMBER.findall(rest)[:count]]
            return [place for place in dict.fromkeys(places) if 0 <= place < count]
    return None
