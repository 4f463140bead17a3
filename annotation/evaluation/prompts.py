"""What a model is asked about a pair of answers, and how its verdict is read. Pure.

Wordings are ours: the paper's prompt for the choice is not published. Any change of one makes a new
version, which a run stores.
"""

import re

from annotation.datasets import verdict

VERSION = "choice/1"
SETTINGS = ("persona", "rag", "rag-filter", "none")
# Memories that are retrieved for a question; the paper gives no number.
NEAREST = 5
_NUMBER = re.compile(r"\d+")
_YES_NO = re.compile(r"\b(yes|no)\b", re.I)

_SYSTEM = (
    "You compare two answers to a user's question. Choose the answer that serves this user better: "
    "it must be helpful, that is precise and to the point, and fit this user, that is take up what "
    "matters for the question without forcing in facts about the user. Length alone is no merit."
)
_END = "Which answer is better for this user? End with one line: Verdict: 1 or Verdict: 2."


def choice(question: str, first: str, second: str, about: str) -> list[dict]:
    """Messages that ask which of two answers is better; ``about`` is what is shown of the user."""
    shown = f"{about}\n\n" if about else ""
    return [
        {"role": "system", "content": _SYSTEM},
        {
            "role": "user",
            "content": f"{shown}Question:\n{question}\n\nAnswer 1:\n{first}\n\n"
            f"Answer 2:\n{second}\n\n{_END}",
        },
    ]


def about_profile(profile: str) -> str:
    """The user by their profile."""
    return f"The user's profile:\n{profile}"


def about_memories(memories: list[str]) -> str:
    """The user by texts they read or wrote; "" where there are none."""
    listed = "\n".join(f"- {text}" for text in memories)
    return f"Texts from the user's past, which may tell about them:\n{listed}" if listed else ""


def memory_filter(question: str, profile: str, memories: list[str]) -> list[dict]:
    """Messages that ask which memories bear on the question."""
    listed = "\n".join(f"{n}. {text}" for n, text in enumerate(memories, 1))
    return [
        {
            "role": "system",
            "content": "You choose which notes about a user help to answer their question well.",
        },
        {
            "role": "user",
            "content": f"{about_profile(profile)}\n\nQuestion:\n{question}\n\nNotes:\n{listed}\n\n"
            "End with one line that names the notes that bear on the question by their numbers, "
            "separated by commas: Notes: 1, 3. Where none does: Notes: none.",
        },
    ]


def read_choice(text: str) -> int | None:
    """1 or 2, the answer that the text ends up choosing; None where it names none clearly."""
    named = verdict.read(text, verdict.NUMBERS)
    return int(named) if named else None


def read_yes_no(text: str) -> bool | None:
    """Whether the last word of yes and no is yes; None where there is neither."""
    words = _YES_NO.findall(verdict.answered(text))
    return words[-1].lower() == "yes" if words else None


def read_filter(text: str, count: int) -> list[int] | None:
    """Places from 0 of the notes that were named, of ``count``; None where no line names them."""
    for line in reversed(verdict.answered(text).splitlines()):
        name, colon, rest = line.strip(" *").partition(":")
        if colon and name.strip(" *").lower() == "notes":
            places = [int(number) - 1 for number in _NUMBER.findall(rest)[:count]]
            return [place for place in dict.fromkeys(places) if 0 <= place < count]
    return None
