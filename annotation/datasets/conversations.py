"""Preference pairs as lists of messages, the conversational form of training libraries. Pure."""

from collections.abc import Sequence

from annotation.core.errors import DomainError
from annotation.core.records import transcript
from annotation.datasets.records import Answer
from annotation.personas.schema import as_text

MESSAGES: list = [{"role": "text", "content": "text"}]
# Whose single message holds the text of a column.
_SPEAKERS = {"prompt": "user", "chosen": "assistant", "rejected": "assistant"}


def asked(question: str | Sequence[dict], profile: dict | None = None) -> list[dict]:
    """The question, a text or messages, after the card of who asks it where there is a profile."""
    about = [_message("system", f"The user's profile:\n{as_text(profile)}")] if profile else []
    turns = [_message("user", question)] if isinstance(question, str) else question
    return [*about, *turns]


def answer_messages(answer: Answer) -> list[dict]:
    """An answer; of a live comparison what was said after the query, both sides."""
    return list(answer.messages) or [_message("assistant", answer.text)]


def _message(role: str, content: str) -> dict:
    return {"role": role, "content": content}


def as_texts(row: dict) -> dict:
    """``row`` with question and answers as texts where they are messages.

    A prompt of several messages becomes their transcript, and stays in ``messages``. DomainError
    with a sentence where an answer is more than one message. What a system message before a single
    question says must stand in the row's ``persona``, too.
    """
    prompt = row.get("prompt")
    if prompt and isinstance(prompt, list) and all(map(_is_turn, prompt)):
        turns = prompt[1:] if row.get("persona") and prompt[0]["role"] == "system" else prompt
        if sum(turn["role"] != "system" for turn in turns) > 1:
            row = row | {"prompt": transcript(turns), "messages": turns}
    return row | {
        name: _text(name, row[name], speaker, bool(row.get("persona")))
        for name, speaker in _SPEAKERS.items()
        if isinstance(row.get(name), list)
    }


def _is_turn(message: object) -> bool:
    return isinstance(message, dict) and all(
        isinstance(message.get(name), str) for name in ("role", "content")
    )


def _text(name: str, messages: list, speaker: str, known: bool) -> str:
    if not all(isinstance(message, dict) for message in messages):
        raise DomainError(f"“{name}” is no list of messages")
    if name == "prompt" and messages and messages[0].get("role") == "system":
        if not known:
            raise DomainError("the system message in “prompt” stands in no “persona”")
        messages = messages[1:]
    turns = [message.get("role") for message in messages]
    alternate = ([speaker, "user"] * len(turns))[: len(turns) | 1]
    if turns[1:] and turns == alternate and all(map(_is_turn, messages)):
        return transcript(messages)
    texts = [message.get("content") for message in messages]
    if [message.get("role") for message in messages] != [speaker] or not isinstance(texts[0], str):
        raise DomainError(f"“{name}” is not one message of the {speaker}")
    return texts[0]
