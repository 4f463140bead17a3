"""Scenarios of questions: categories, their published share, 44 in all."""

import hashlib
import random
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

TAXONOMY = {
    "recommendation": (
        23.47,
        (
            *("Shopping Advice", "Hotel Recommendations", "Restaurant Recommendations"),
            *("Social Activity Suggestions", "Outfit Matching", "Investment Advice"),
            *("Hairstyle Suggestions", "Personalized Playlists", "Interior Design Advice"),
            *("Furniture Arrangement", "Sustainable Shopping"),
        ),
    ),
    "leisure": (20.79, ("Music", "Travel Tips", "Trip Planning", "Trending Rankings")),
    "learning": (
        19.02,
        (
            *("Knowledge Expansion", "Grammar Practice", "Exam Review", "Speaking Practice"),
            "Interview Preparation",
        ),
    ),
    "office": (
        18.79,
        (
            *("Schedule Management", "Document Editing", "Meeting Scheduling"),
            *("Project Management", "Email Writing", "Resume Optimization", "Material Selection"),
        ),
    ),
    "health": (
        10.53,
        (
            *("Nutrition Information Query", "Diet Planning", "Symptom Checker"),
            *("Medication Information", "Fitness Tracking", "Skincare", "Pet Health"),
        ),
    ),
    "growth": (
        4.24,
        ("Interpersonal Relationships", "Career Advice", "Listening", "Support", "Self Reflection"),
    ),
    "technical": (2.02, ("Code Debugging", "Code Optimization")),
    "finance": (1.10, ("Financial Analysis", "Budget Management", "Carbon Footprint Calculator")),
}
SCENARIOS = tuple(TAXONOMY)
# Of a query's judged answers: examples for a judge, and at least one to test it on.
SHOTS = 5


def category(name: str) -> str:
    """The category of a scenario, or "other"; the name of a category is its own."""
    known = (group for group, (_share, names) in TAXONOMY.items() if name in (group, *names))
    return next(known, "other")


def sample(draw: random.Random, size: int) -> list[str]:
    """``size`` different sub-scenarios, each category as often as its share in the paper.

    ``draw`` is a random.Random.
    """
    groups = draw.choices(SCENARIOS, [share for share, _names in TAXONOMY.values()], k=20 * size)
    drawn = (draw.choice(TAXONOMY[group][1]) for group in groups)
    return list(dict.fromkeys(drawn))[:size]


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


_RUN = re.compile("[\u3040-\u30ff\u3400-\u9fff]+|[^\\W_]+")
_WITHOUT_SPACES = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_HANGUL = re.compile("[\uac00-\ud7af]")
_FUNCTION_WORDS = """
    the a an and or of to in on at by for with from as is are was were be been being it its this
    that these those there their they them his her he she you your our we not no can could should
    would will may might must do does did has have had which who whom whose when where what how
    than then also into about between after before while because if so such each
"""
_FUNCTION = frozenset(_FUNCTION_WORDS.split())
# Signs of a stem: of a longer word the last three may differ, of Korean all behind the second.
_STEM, _ENDING, _KOREAN_STEM = 4, 3, 2


def missing_words(claim: str, response: str) -> list[str]:
    """The words of ``claim`` that ``response`` does not hold, in order, each once."""
    held = _normal(response)
    stems = {_stem(word) for word in _RUN.findall(held)}
    missing = [word for word in _RUN.findall(_normal(claim)) if not _is_held(word, held, stems)]
    return list(dict.fromkeys(missing))


def _is_held(word: str, held: str, stems: set[str]) -> bool:
    if word in _FUNCTION:
        return True
    if _WITHOUT_SPACES.match(word):
        pairs = [word[place : place + 2] for place in range(len(word) - 1)] or [word]
        # Particles between two words make new pairs: most of them must be there.
        return 2 * sum(pair in held for pair in pairs) >= len(pairs)
    # "bookable" begins with the stem of "booked"; "bed" and "beds" are too short for a stem.
    begins = (word[:length] for length in range(_STEM, len(word)))
    return not stems.isdisjoint((_stem(word), f"{word}s", word.removesuffix("s"), *begins))


def _stem(word: str) -> str:
    if word.isdecimal():
        return word
    if _HANGUL.match(word):
        return word[:_KOREAN_STEM]
    return word[: max(_STEM, len(word) - _ENDING)]


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
