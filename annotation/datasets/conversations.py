"""Preference pairs as lists of messages, the conversational form of training libraries. Pure."""

from annotation.core.errors import DomainError
from annotation.personas.schema import as_text

MESSAGES: list = [{"role": "text", "content": "text"}]
# Whose single message holds the text of a column.
_SPEAKERS = {"prompt": "user", "chosen": "assistant", "rejected": "assistant"}


def asked(question: str, profile: dict | None = None) -> list[dict]:
    """The question, after the card of the person who asks it where there is a ``profile``."""
    about = [_message("system", f"The user's profile:\n{as_text(profile)}")] if profile else []
    return [*about, _message("user", question)]


def answered(text: str) -> list[dict]:
    """An answer."""
    return [_message("assistant", text)]


def _message(role: str, content: str) -> dict:
    return {"role": role, "content": content}


def as_texts(row: dict) -> dict:
    """``row`` with question and answers as texts where they are messages.

    DomainError with a sentence where messages say more than one question and its answers do. What a
    system message says must stand in the row's ``persona``, too.
    """
    return row | {
        name: _text(name, row[name], speaker, bool(row.get("persona")))
        for name, speaker in _SPEAKERS.items()
        if isinstance(row.get(name), list)
    }


def _text(name: str, messages: list, speaker: str, known: bool) -> str:
    if not all(isinstance(message, dict) for message in messages):
        raise DomainError(f"“{name}” is no list of messages")
    if name == "prompt" and messages and messages[0].get("role") == "system":
        if not known:
            raise DomainError("the system message in “prompt” stands in no “persona”")
        messages = messages[1:]
    texts = [message.get("content") for message in messages]
    if [message.get("role") for message in messages] != [speaker] or not isinstance(texts[0], str):
        raise DomainError(f"“{name}” is not one message of the {speaker}")
    return texts[0]
