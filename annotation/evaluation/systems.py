"""Systems that answer a release's queries; the answers are brought, or an endpoint writes them."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.dataclasses import dataclass as schema

from annotation.candidates import clean, endpoints
from annotation.candidates.strategies import Brief, Prompt, Strategy
from annotation.core import foreign, records
from annotation.core.errors import DomainError
from annotation.core.schema import asked
from annotation.evaluation.asking import Question

COLUMNS = ("user", "query", "text")


class AnswersError(DomainError):
    """The answers cannot be used; the sentence names the line."""

    code = "answers"


@schema(frozen=True)
class System:
    """``context`` is what the system knew of the person, in one's own words; ``answers`` are
    [user, query, text], where ``query`` is the query's id in the release or its text.

    With ``writer``, the name of an endpoint, the answers are written; ``context`` says how.
    """

    name: str
    context: str
    answers: list[list[str]]
    writer: str = ""


@schema(frozen=True)
class Measurement:
    """A model that is measured on a release, or judges there what a system answers."""

    endpoint: str = asked(gettext_lazy("Endpoint"), max_length=60)
    setting: str = asked(gettext_lazy("What it sees"), max_length=20)
    limit: int | None = asked(
        gettext_lazy("Pairs at most"), None, ge=1, le=2**31 - 1,
        help=gettext_lazy("Empty: all of them."),
    )  # fmt: skip
    system: str = asked(
        gettext_lazy("System"), "", max_length=200,
        help=gettext_lazy("Needed for answers in a file."),
    )  # fmt: skip
    context: str = asked(
        gettext_lazy("What the system knew of the person"), "", max_length=200,
        help=gettext_lazy("Of answers in a file, in your own words."),
    )  # fmt: skip
    generate: str = asked(
        gettext_lazy("Have the answers written"), "", max_length=40,
        help=gettext_lazy(
            "By the writer, from this release alone: what it is shown of the person."
        ),
    )  # fmt: skip
    writer: str = asked(gettext_lazy("Writer"), "", max_length=60)


def of_measurement(wanted: Measurement, answers: list[list[str]]) -> System | None:
    """The system that is to be judged, if any: its ``answers`` are there or will be written.

    A system whose answers are written has its model's name where it has no other.
    Raises AnswersError.
    """
    if wanted.generate:
        if answers:
            raise AnswersError("Answers are brought or written, not both.")
        server = endpoints.get(wanted.writer or wanted.endpoint)
        return System(wanted.system or server.model[:200], wanted.generate, [], server.name)
    if wanted.system and not answers:
        raise AnswersError("A system needs both: system and answers.")
    if answers and not wanted.system.strip():
        raise AnswersError(_("A system needs a name."))
    return System(wanted.system, wanted.context, answers) if answers else None


def of_file(file: Path | UploadedFile | BytesIO) -> list[list[str]]:
    """The answers in a file of JSON lines or CSV, or in those lines that ``as_text`` wrote.

    Raises AnswersError; ForeignFileError of a file that a form sent.
    """
    header = records.columns(COLUMNS, COLUMNS)
    if isinstance(file, Path):
        return of_rows(foreign.rows_at(file, AnswersError, header))
    return of_rows(records.json_lines(file) if isinstance(file, BytesIO)
                   else foreign.rows(file, header))  # fmt: skip


def as_text(answers: list[list[str]]) -> str:
    """JSON lines of ``answers``."""
    rows = (dict(zip(COLUMNS, answer, strict=True)) for answer in answers)
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def of_rows(rows: Iterable[tuple[int, dict | str]]) -> list[list[str]]:
    """The answers of numbered rows, of which a text is a fault. Raises AnswersError."""
    answers = []
    for line, row in rows:
        if isinstance(row, str):
            raise AnswersError(f"line {line}: {row}.")
        answers.append([_value(line, name, row.get(name)) for name in COLUMNS])
    return answers


def _value(line: int, name: str, value: object) -> str:
    # Ids are numbers in some files.
    text = value if isinstance(value, str) else str(value) if type(value) is int else ""
    if not text.strip():
        raise AnswersError(f"line {line}: “{name}” is no text or empty.")
    if "\x00" in text:
        raise AnswersError(f"line {line}: “{name}” holds a null character.")
    return text


def matched(
    answers: list[list[str]], queries: dict[tuple[str, str], str]
) -> tuple[dict[tuple[str, str], str], dict[str, int]]:
    """The answers by (user, query's id), and what is left out: answers to no such query
    (``answers``), queries without an answer (``queries``).

    Raises AnswersError where a query has two answers, or none has one.
    """
    if not queries:
        raise AnswersError(_("The release has no query that a system may answer."))
    keys = {(user, _plain(text)): (user, name) for (user, name), text in queries.items()}
    texts: dict[tuple[str, str], str] = {}
    strangers = 0
    for user, query, text in answers:
        key = (user, query) if (user, query) in queries else keys.get((user, _plain(query)))
        if key is None:
            strangers += 1
        elif key in texts:
            raise AnswersError(
                _("The system answers query %(query)s of %(user)s twice.")
                % {"query": key[1], "user": key[0]}
            )
        else:
            texts[key] = text
    if not texts:
        user, name = next(iter(queries))
        raise AnswersError(
            _("No answer is to a query of the release, such as user %(user)s, query %(query)s.")
            % {"user": user, "query": name}
        )
    return texts, {"answers": strangers, "queries": len(queries) - len(texts)}


def _plain(text: str) -> str:
    return " ".join(text.split())


def digest(keys: Iterable[tuple[str, str]]) -> str:
    """Names the queries that were answered: systems with the same are compared."""
    return hashlib.sha256(json.dumps(sorted(keys)).encode()).hexdigest()


# --- Answers that an endpoint writes from a release's folder alone --------------------------------

# Of a reply: for the estimate of the cost alone.
TOKENS = 400
# Units of questions to the writer begin so; all others are the judge's.
UNIT = "w:"
Key = tuple[str, str]
ANSWER = "answer"


class _Next(Exception):  # noqa: N818 - a call that a draft is waiting for
    """A draft needs the reply to ``prompt`` first."""

    def __init__(self, unit: str, prompt: Prompt) -> None:
        super().__init__(unit)
        self.unit, self.prompt = unit, prompt


@dataclass(frozen=True)
class Writing:
    """An answer to each query, written by ``strategy`` from its brief.

    A question's unit is "w:", the query's place and the name of the call. ``first`` is what the
    writer is asked besides.
    """

    strategy: Strategy
    briefs: Mapping[Key, Brief]
    first: Sequence[Question] = ()

    def phases(self, values: Callable[[], dict]) -> Iterator[list[Question]]:
        """The calls that a draft begins with, such as a profile's, then the answers."""
        replies: dict = {}
        if self.first:
            yield list(self.first)
        while questions := self._open(replies):
            yield questions
            replies = values()

    def texts(self, values: dict) -> dict[Key, str]:
        """The answers by query; queries whose answer did not come are left out."""
        units = {key: f"{UNIT}{place}:{ANSWER}" for place, key in enumerate(self.briefs)}
        return {key: text for key, unit in units.items() if (text := values.get(unit))}

    def drafts(self) -> tuple[list[Question], dict[Key, str]]:
        """What is asked as far as that is known before it begins, and an answer to each query."""
        replies = {question.unit: "?" for question in self._open({})}
        later = self._open(replies)
        return [*self.first, *self._open({}), *later], dict.fromkeys(self.briefs, "?")

    def _open(self, replies: dict) -> list[Question]:
        steps = [self._step(place, brief, replies) for place, brief in
                 enumerate(self.briefs.values())]  # fmt: skip
        return [question for question in steps if question]

    def _step(self, place: int, brief: Brief, replies: dict) -> Question | None:
        """The next call for an answer; None where it came, or one before it failed."""

        def ask(name: str, prompt: Prompt) -> str:
            unit = f"{UNIT}{place}:{name}"
            if replies.get(unit) is None:
                raise _Next(unit, prompt)
            return replies[unit]

        try:
            unit, prompt = f"{UNIT}{place}:{ANSWER}", self.strategy.draft(brief, ask).prompt
        except _Next as call:
            unit, prompt = call.unit, call.prompt
        return None if unit in replies else question(unit, prompt)


def question(unit: str, prompt: Prompt) -> Question:
    """Ask for a text, without thoughts and links."""
    return Question(unit, partial(list, prompt.messages), read_answer)


def read_answer(text: str) -> str | None:
    """The text that people may see; None where nothing is left."""
    return clean.clean(text).text or None
