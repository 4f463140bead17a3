"""Asks a model server many questions at once, as many as its endpoint allows. Knows no database.

A call that fails for a passing reason is tried again. What is left of a question then is either an
answer of its own (``code`` says which), or the end of the asking: nothing is made up.
"""

import random
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from itertools import islice

from annotation.candidates.endpoints import CallFailed, Endpoint, call
from annotation.datasets import verdict

TRIES = 3
PAUSE_SECONDS = 0.5
# A server that wants more patience than this is asked again by a person.
LONGEST_WAIT = 60
# Of one question, not of the server: too long for the model, refused by a filter, no completion.
OF_A_QUESTION = {"refused", "unparsable", "too_large", "echo", "empty", "length"}
# So many of those in a row, from the first on, mean that the server answers nobody.
NOBODY = 20


@dataclass(frozen=True)
class Question:
    """``messages`` makes the chat, when it is sent; ``read`` gets the text and returns a JSON
    value, or None where it says nothing that can be used: then it is asked again, ``tries`` in all.
    """

    unit: str
    messages: Callable[[], list[dict]]
    read: Callable[[str], object]
    tries: int = 1


@dataclass(frozen=True)
class Outcome:
    """What became of a question: ``value`` None with text is unread, with ``code`` unanswered."""

    unit: str
    value: object
    text: str = ""
    code: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    # The probability of the text, where the server tells it.
    sure: float | None = None


class Stopped(Exception):  # noqa: N818 - the server's state, not an error of ours
    """The server does not answer; ``code`` is the class of the cause."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def chat(system: str, user: str) -> list[dict]:
    """The messages of a question."""
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


_YES_NO = re.compile(r"\b(yes|no)\b", re.I)


def read_yes_no(text: str) -> bool | None:
    """Whether the last word of yes and no is yes; None where there is neither."""
    words = _YES_NO.findall(verdict.answered(text))
    return words[-1].lower() == "yes" if words else None


def ask_all(endpoint: Endpoint, questions: Iterable[Question]) -> Iterator[Outcome]:
    """Outcomes in the order in which they come; ``endpoint.concurrency`` calls run at once.

    Raises Stopped after all outcomes that came before it, where the server takes no more calls.
    """
    waiting, stop = iter(questions), threading.Event()
    pending: set[Future] = set()
    failed_first: int | None = 0
    ask = partial(call, endpoint)
    with ThreadPoolExecutor(endpoint.concurrency) as pool:
        try:
            while True:
                # Twice as many as run: nobody waits for this thread while it stores.
                for question in islice(waiting, 2 * endpoint.concurrency - len(pending)):
                    pending.add(pool.submit(_answer, ask, question, stop))
                if not pending:
                    return
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for outcome in _results(done):
                    if failed_first is not None:
                        failed_first = failed_first + 1 if outcome.code else None
                    yield outcome
                    if failed_first == NOBODY:
                        raise Stopped(outcome.code)
        finally:
            stop.set()
            for future in pending:
                future.cancel()


def _results(done: set[Future]) -> Iterator[Outcome]:
    """The outcomes of finished calls; the first failure that ends the asking comes last."""
    failures = []
    for future in done:
        if failure := future.exception():
            failures.append(failure)
        else:
            yield future.result()
    if failures:
        raise failures[0]


def _answer(ask: Callable, question: Question, stop: threading.Event) -> Outcome:
    read = written = 0
    messages = question.messages()
    for _ in range(question.tries):
        try:
            answer = _patiently(ask, messages, stop)
        except CallFailed as failure:
            if failure.code in OF_A_QUESTION:
                return Outcome(question.unit, None, "", failure.code, read, written)
            raise Stopped(failure.code) from failure
        read, written = read + answer.tokens_in, written + answer.tokens_out
        value = question.read(answer.text)
        if value is not None:
            break
    return Outcome(question.unit, value, answer.text, "", read, written, answer.sure)


def _patiently(ask: Callable, messages: list[dict], stop: threading.Event) -> Outcome:
    """One answer, of several tries where the failure is a passing one."""
    for attempt in range(1, TRIES + 1):
        try:
            return ask(messages)
        except CallFailed as failure:
            if not failure.retry or attempt == TRIES or failure.wait > LONGEST_WAIT:
                raise
            jitter = random.uniform(0.5, 1)  # noqa: S311 - no secret
            if stop.wait(failure.wait + PAUSE_SECONDS * 2**attempt * jitter):
                raise
    raise AssertionError("unreachable")
