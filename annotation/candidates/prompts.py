"""Messages for every call of generation. Pure; the gold need is a parameter of ``searched_answer``
alone, for the experiment "oracle".

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
    about_and_inferred = (
        f"{about}\n\nLikely to matter for this question:\n{inferred}" if inferred else about
    )
    if small:
        system = (
            "Answer the question so that it suits this person. Do not list what you know of them. "
            f"{language(question)}\n\nThe person:\n{about_and_inferred}"
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
        f"{language(question)}\n\nThe person:\n{about_and_inferred}"
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


def searched_answer(
    question: str,
    sources: list[tuple[str, str]],
    about: str = "",
    need: str = "",
    *,
    small: bool = False,
) -> Prompt:
    """The question with what a search found: ``sources`` are (title, text).

    ``about`` is what is known of the person: their history or a profile made from it. ``need`` is
    given in the experiment "oracle" and in no other.
    """
    name = "searched" + ("-about" if about else "") + ("-oracle" if need else "")
    passages = "\n\n".join(f"[{n}] {title}\n{text}" for n, (title, text) in enumerate(sources, 1))
    system = (
        "Answer the question from the search results below. "
        if small
        else (
            "You answer a question with the help of search results. Rely on the results where they "
            "bear on the question and on what you know where they do not; say so where they "
            "contradict each other. Write for the person who asks: as much detail, the tone and "
            "the organisation that suit them, without listing what you know of them. Begin with "
            "the answer, use headings or lists only where they help, end without offers. "
        )
    )
    parts = [system + language(question)]
    if about:
        parts.append(f"What is known of the person who asks:\n{about}")
    if need:
        parts.append(f"What the person really wants to know:\n{need}")
    parts.append(f"Search results:\n{passages or '(nothing was passages)'}")
    return _prompt(f"{name}{'-small' if small else ''}/1", "\n\n".join(parts), question)


def static_profile(history: str, *, small: bool = False) -> Prompt:
    """Ask for a profile of the person behind ``history``, whatever they may ask."""
    aim = (
        "Describe the person who had these conversations in a few short lines: what they know, do "
        "and care about, and how they like to be answered. State only what the texts show."
    )
    return _prompt(f"static-profile{'-small' if small else ''}/1", aim, history or "(nothing)")


def aware_profile(question: str, history: str, *, small: bool = False) -> Prompt:
    """Ask what of ``history`` bears on ``question``."""
    aim = (
        "From the conversations of a person, write down in a few short lines what bears on their "
        "new question: what they know already, what they prefer, in which form they like answers. "
        "State only what the texts show, and do not answer the question."
    )
    user = f"The conversations:\n{history or '(nothing)'}\n\nThe new question:\n{question}"
    return _prompt(f"aware-profile{'-small' if small else ''}/1", aim, user)


def claims(question: str, response: str) -> Prompt:
    """Ask to split a response into atomic claims, one a line."""
    system = (
        "Split the response into atomic claims: short statements that can be checked one by one, "
        "each understandable by itself, none said twice, nothing added. Write one claim a line, "
        f"without numbers. {language(question)}"
    )
    return _prompt("claims/1", system, f"The question:\n{question}\n\nThe response:\n{response}")


def rubric(
    question: str, need: str, judged: list[tuple[str, list[tuple[str, int, str]]]]
) -> Prompt:
    """Ask for a rubric of what this person wants, from their own judgments.

    ``judged``: (answer, [(criterion, score from 1 to 5, feedback)]) of each answer they scored.
    What it says is kept for judges and never goes into an answer's prompt.
    """
    system = (
        "A person scored answers to their question and said why. Write a rubric by which somebody "
        "else could judge a new answer as this person would: for every criterion two or three "
        "short lines on what satisfies and what disappoints this person. Name nothing that their "
        f"words do not show. {language(question)}"
    )
    shown = "\n\n".join(
        f"Answer:\n{answer}\n"
        + "\n".join(f"{name}: {n} of 5. {reason}" for name, n, reason in scores)
        for answer, scores in judged
    )
    user = f"The question:\n{question}\n\nThe need behind it:\n{need}\n\n{shown}"
    return _prompt("rubric/1", system, user)


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
