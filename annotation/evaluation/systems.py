"""Systems that answer a release's queries: their answers, as they are brought."""

import hashlib
import json
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.dataclasses import dataclass as schema

from annotation.core import foreign, records
from annotation.core.errors import DomainError
from annotation.core.schema import asked

COLUMNS = ("user", "query", "text")


class AnswersError(DomainError):
    """The answers cannot be used; the sentence names the line."""

    code = "answers"


@schema(frozen=True)
class System:
    """``context`` is what the system knew of the person, in one's own words; ``answers`` are
    [user, query, text], where ``query`` is the query's id in the release or its text.
    """

    name: str
    context: str
    answers: list[list[str]]


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


def of_measurement(wanted: Measurement, answers: list[list[str]]) -> System | None:
    """The system whose ``answers`` are to be judged, if any. Raises AnswersError."""
    if wanted.system and not answers:
        raise AnswersError("A system needs both: system and answers.")
    if answers and not wanted.system.strip():
        raise AnswersError(_("A system needs a name."))
    return System(wanted.system, wanted.context, answers) if answers else None


def of_file(path: Path) -> list[list[str]]:
    """The answers in a file of JSON lines or CSV. Raises AnswersError."""
    return _answers(foreign.rows_at(path, AnswersError, _header))


def uploaded(file: UploadedFile) -> list[list[str]]:
    """The answers in a file that a form sent. Raises AnswersError and ForeignFileError."""
    return _answers(foreign.rows(file, _header))


def of_text(text: str) -> list[list[str]]:
    """The answers that ``as_text`` wrote. Raises AnswersError."""
    return _answers(records.json_lines(BytesIO(text.encode())))


def as_text(answers: list[list[str]]) -> str:
    """JSON lines that ``of_text`` reads as ``answers``."""
    rows = (dict(zip(COLUMNS, answer, strict=True)) for answer in answers)
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def of_rows(rows: list[dict]) -> list[list[str]]:
    """The answers of ``rows``, numbered from 1. Raises AnswersError."""
    return _answers(enumerate(rows, start=1))


_header = records.columns(COLUMNS, COLUMNS)


def _answers(rows: Iterable[tuple[int, dict | str]]) -> list[list[str]]:
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


Key = tuple[str, str]


def matched(
    answers: list[list[str]], queries: dict[Key, str]
) -> tuple[dict[Key, str], dict[str, int]]:
    """The answers by (user, query's id), and what is left out: answers to no such query
    (``answers``), queries without an answer (``queries``).

    Raises AnswersError where a query has two answers, or none has one.
    """
    if not queries:
        raise AnswersError(_("The release has no query that a system may answer."))
    keys = {(user, _plain(text)): (user, name) for (user, name), text in queries.items()}
    texts: dict[Key, str] = {}
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


def digest(keys: Iterable[Key]) -> str:
    """Names the queries that were answered: systems with the same are compared."""
    return hashlib.sha256(json.dumps(sorted(keys)).encode()).hexdigest()
