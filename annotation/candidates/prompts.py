"""Messages for every call of generation. Pure; the gold need is a parameter of nothing here.

Each builder returns a Prompt whose ``template`` names the wording and its version: any change of a
wording gets a new version, because stored candidates name the one that made them. A small model
gets a shorter wording, which is a template of its own.
"""

import hashlib
import json
from dataclasses import dataclass

IMPROVED = "improved"
DEGRADED = "degraded"

# Asked for in the language itself where the script tells it: small models follow that best.
_SCRIPTS = (
    ("\uac00", "\ud7a3", "질문과 같은 한국어로 답하세요."),
    ("\u3041", "\u30ff", "質問と同じ日本語で答えてください。"),
    ("\u4e00", "\u9fff", "请用与问题相同的语言(中文)作答。"),
)
_ELSE = "Write in the language of the question."


@dataclass(frozen=True)
class Prompt:
    """Chat messages and the name/version of the wording that made them."""

    template: str
    messages: list[dict]

    @property
    def digest(self) -> str:
        """SHA-256 of the messages as canonical JSON, hexadecimal."""
        canonical = json.dumps(
            self.messages, ensure_ascii=False, separators=(",", ":"), sort_keys=True
        )
        return hashlib.sha256(canonical.encode()).hexdigest()


def plain_answer(question: str, *, small: bool = False) -> Prompt:
    """The question alone (A3)."""
    if small:
        return _prompt("plain-small/1", f"Answer the question. {language(question)}", question)
    system = (
        "You are a helpful assistant. Answer the question precisely and naturally, so that the "
        f"answer can be used as it stands. {language(question)}"
    )
    return _prompt("plain/1", system, question)


def personal_answer(
    question: str, about: str, inferred: str = "", *, small: bool = False
) -> Prompt:
    """The question with what is known of the person (A1, A2).

    ``about`` is text of the profile or of a part of it; ``inferred`` the profiler's findings.
    """
    known = f"{about}\n\nLikely to matter for this question:\n{inferred}" if inferred else about
    if small:
        system = (
            "Answer the question so that it suits this person. Do not list what you know of them. "
            f"{language(question)}\n\nThe person:\n{known}"
        )
        return _prompt("personal-small/1", system, question)
    system = (
        "You are the assistant of the person described below and answer their question.\n"
        "- Solve exactly what was asked; that comes first.\n"
        "- Let what you know of the person decide what you choose, stress and leave out. Use only "
        "what bears on the question.\n"
        "- Never recite the description and never force a detail of it into the answer: the person "
        "should feel understood, not watched.\n"
        "- Friendly, competent, natural. No preamble about how you reached the answer.\n"
        f"{language(question)}\n\nThe person:\n{known}"
    )
    return _prompt("personal/1", system, question)


def profiler(question: str, about: str, memories: list[str] = (), *, small: bool = False) -> Prompt:
    """Ask which preferences of the person bear on the question (first call of A1).

    ``about`` is text of the whole profile, ``memories`` texts that the person found of interest.
    """
    read = "\n\nTexts this person liked to read:\n" + "\n".join(f"- {text}" for text in memories)
    user = f"The person:\n{about}{read if memories else ''}\n\nTheir question:\n{question}"
    if small:
        system = (
            "List at most three likes of this person that help with the question. "
            f"{language(question)}"
        )
        return _prompt("profiler-small/1", system, user)
    system = (
        "From what is known of a person, infer which of their preferences bear on their question. "
        "Write at most five short lines, each one preference and what follows from it for a good "
        "answer. Leave out whatever has nothing to do with the question; write 'none' where "
        f"nothing has. Do not answer the question. {language(question)}"
    )
    return _prompt("profiler/1", system, user)


def improve(question: str, answer: str, length: int, *, small: bool = False) -> Prompt:
    """Ask for a better wording of ``answer`` of the same length (``length`` in words)."""
    aim = (
        "Rewrite the answer so that it meets the question more precisely and reads more naturally; "
        "smooth out details about the person that were forced in."
    )
    return _rewrite("improve", IMPROVED, aim, question, answer, length, small)


def degrade(question: str, answer: str, length: int, *, small: bool = False) -> Prompt:
    """Ask for a worse version of ``answer`` of the same length (``length`` in words)."""
    aim = (
        "Rewrite the answer so that it serves the person a little less well, in one of two ways: "
        "turn something personal into what would do for anybody, or make a piece of advice vaguer. "
        "It must stay coherent and keep its structure."
    )
    return _rewrite("degrade", DEGRADED, aim, question, answer, length, small)


def language(question: str) -> str:
    """The sentence that asks for the question's own language."""
    letters = sum(sign.isalpha() for sign in question)
    for first, last, sentence in _SCRIPTS:
        signs = sum(first <= sign <= last for sign in question)
        # One sign stands for about four Latin letters; a quoted word decides nothing.
        if signs and signs * 4 >= letters:
            return sentence
    return _ELSE


def _rewrite(name, tag, aim, question, answer, length, small) -> Prompt:
    size = f"Keep the length: the answer has {length} words, and so must yours."
    form = f"Put nothing but the rewritten answer between <{tag}> and </{tag}>."
    system = f"{aim} {size} {form} {language(question)}"
    user = f"The question:\n{question}\n\nThe answer:\n{answer}"
    if small:  # long instructions cost a small model more than they tell it
        return _prompt(f"{name}-small/1", f"{aim.split('; ')[0]} {form}", user)
    return _prompt(f"{name}/1", system, user)


def _prompt(template: str, system: str, user: str) -> Prompt:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return Prompt(template, messages)
