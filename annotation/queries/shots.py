"""Which judged answers to an owner's query are examples for a judge model, and which test it. Pure.

A rubric is written from the shots alone, and a release splits the same answers once more: both ask
``draw``.
"""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

# Of a query's judged answers: examples for a judge, and at least one to test it on.
SHOTS = 5
FEWEST = SHOTS + 1
Id = TypeVar("Id", bound=Hashable)


def draw(
    question: str, texts: Mapping[Id, str], number: int = SHOTS, held: Collection[Id] = ()
) -> set[Id]:
    """The shots among the answers ``texts`` to ``question``: ``held``, and up to ``number`` in all.

    ``held`` were shots before, and stay so whatever was judged since. Equal texts are on one side.
    The order is by chance, but the same whenever and wherever it is asked for; texts of several
    answers come first, so that those of one fill the rest.
    """
    alike = defaultdict(list)
    for answer, text in texts.items():
        alike[text].append(answer)
    kept = {texts[answer] for answer in held if answer in texts}
    order = sorted(
        alike, key=lambda text: (text not in kept, -len(alike[text]), _chance(question, text))
    )
    drawn: set[Id] = set()
    for text in order:
        if text in kept or not drawn or len(drawn) + len(alike[text]) <= number:
            drawn.update(alike[text])
    return drawn


def _chance(question: str, text: str) -> bytes:
    return hashlib.sha256(f"{question}\0{text}".encode()).digest()
