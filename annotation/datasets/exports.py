"""Studies of other tools, with questions, items and answers: Label Studio and Argilla.

Label Studio: a folder with the labelling configuration (``*.xml``) and an export in its form
"JSON" (``*.json``). Argilla: what ``Dataset.to_disk`` writes. Everything becomes one task with
questions of its own; what it cannot hold is counted by name.
"""

import json
import re
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from annotation.core.errors import DomainError
from annotation.core.records import clean
from annotation.datasets.release_files import Faults, text_of
from annotation.datasets.released import Layout, Place, Rows
from annotation.judging.kinds import kind_of
from annotation.questions.base import NAME_LIMIT, TITLE_LIMIT

TASK = "imported"
CONFIG_LIMIT, EXPORT_LIMIT = 1_000_000, 200_000_000
OPTIONS_LIMIT = 8
ANSWER = re.compile(
    r"(answer|response|completion|output|generation|candidate|reply)", re.IGNORECASE
)


class Said(NamedTuple):
    """All that one person says of one record: {question: answer}, options by their texts' names."""

    worker: str
    answers: dict[str, Any]
    seconds: float | None = None
    submitted_at: str | None = None


class Record(NamedTuple):
    """One thing that was judged: {name: text}, and the judgments."""

    place: Place
    id: str
    texts: dict[str, str]
    said: list[Said]


class Export(Layout):
    """The export of a tool: names of the texts that are asked about and judged, and questions."""

    # Settings of the questions, as in ``annotation.questions``.
    questions: list[dict[str, Any]]
    # Names of the texts of a record: those that make the request, and those that are its options.
    requests: list[str]
    options: list[str]

    def __init__(self, folder: Path, faults: Faults) -> None:
        super().__init__(folder, faults)
        self.define()

    @classmethod
    @abstractmethod
    def there(cls, folder: Path) -> bool:
        """Whether ``folder`` looks like such an export."""

    @abstractmethod
    def define(self) -> None:
        """Set ``questions``, ``requests`` and ``options``; DomainError where nothing is asked."""

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """Every record; what cannot be read is a fault."""

    def tasks(self) -> dict[str, tuple[str, dict]]:
        config = {
            "shows": ["request"],
            "options": len(self.options),
            "questions": self.questions,
            "reason": "off",
        }
        return {TASK: ("questions", kind_of("questions").check_config(config))}

    def queries(self) -> Rows:
        for record in self.records():
            parts = [record.texts.get(name, "").strip() for name in self.requests]
            yield record.place, {"id": record.id, "text": "\n\n".join(filter(None, parts)) or "–"}

    def candidates(self) -> Rows:
        for record in self.records():
            for name in self.options:
                row = {"id": f"{record.id}/{name}", "query": record.id, "model": name}
                yield record.place, row | {"strategy": "", "text": record.texts.get(name, "")}

    def items(self) -> Rows:
        for record in self.records():
            shown = [f"{record.id}/{name}" for name in self.options]
            row = {"id": record.id, "task": TASK, "query": record.id, "candidates": shown}
            yield record.place, row | {"overlap": max(1, len(record.said))}

    def judgments(self) -> Rows:
        for record in self.records():
            for judgment in record.said:
                row = {"item_id": record.id, "worker": judgment.worker, "seconds": judgment.seconds}
                answers = {
                    name: self._of(record, value) for name, value in judgment.answers.items()
                }
                yield record.place, row | {"submitted_at": judgment.submitted_at, "answer": answers}

    def _of(self, record: Record, value: Any) -> Any:
        """An answer with the ids of the record's options instead of their names."""
        if isinstance(value, Chosen):
            return f"{record.id}/{value}"
        if isinstance(value, dict):
            return {f"{record.id}/{name}": place for name, place in value.items()}
        return value

    def json(self, path: Path) -> Any:
        """The content of a file of the export; DomainError where it is none."""
        if path.stat().st_size > EXPORT_LIMIT:
            raise DomainError(f"{path.name} has more than {EXPORT_LIMIT // 10**6} MB.")
        try:
            return json.loads(path.read_bytes())
        except (ValueError, RecursionError, OSError) as error:
            raise DomainError(f"{path.name} is no JSON that can be read.") from error


class Chosen(str):
    """The name of the option that a person chose."""


def _question(type_: str, name: str, title: str = "", **settings: Any) -> dict[str, Any]:
    """The settings of a question about the item, answered where the tool had an answer."""
    clean = name.replace("/", "-").strip()[:NAME_LIMIT] or "question"
    words = {"title": title.strip()[:TITLE_LIMIT]} if title.strip() else {}
    return {"type": type_, "name": clean, "required": False, **words, **settings}


def _object(value: Any) -> dict:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _texts(value: Any) -> str:
    """A text, or a conversation as lines "who: words"."""
    if isinstance(value, list):
        return "\n\n".join(filter(None, (_texts(entry) for entry in value)))
    if isinstance(value, dict):
        who = next((value[key] for key in ("role", "author", "name") if value.get(key)), "")
        words = next((value[key] for key in ("content", "text") if value.get(key)), "")
        return f"{who}: {_texts(words)}" if who else _texts(words)
    return "" if value is None else clean(str(value))


# --- Label Studio -----------------------------------------------------------------------------

_OBJECTS = ("Text", "HyperText", "Paragraphs", "Chat", "Markdown")
_CONTROLS = {"Choices", "Rating", "TextArea", "Pairwise", "Number"}


class LabelStudio(Export):
    """Controls are questions about the item; a ``Pairwise`` chooses between the texts it names."""

    name = "label-studio"

    @classmethod
    def there(cls, folder: Path) -> bool:
        return any(folder.glob("*.xml")) and any(folder.glob("*.json"))

    @cached_property
    def _view(self) -> ElementTree.Element:
        path = min(self.folder.glob("*.xml"))
        content = path.read_bytes()[: CONFIG_LIMIT + 1]
        # Entities are no part of a configuration, and could be made to grow.
        if len(content) > CONFIG_LIMIT or b"<!" in re.sub(rb"<!--.*?-->", b"", content, flags=re.S):
            raise DomainError(f"{path.name} is no labelling configuration: too large, or a DTD.")
        try:
            return ElementTree.fromstring(content)  # noqa: S314 - no DTD, hence no entities
        except ElementTree.ParseError as error:
            raise DomainError(f"{path.name} is no XML: {error}.") from error

    def define(self) -> None:
        objects = {
            node.get("name", ""): node.get("value", "").removeprefix("$")
            for node in self._view.iter()
            if node.tag in _OBJECTS
        }
        headers = [node.get("value", "") for node in self._view.iter("Header")]
        self.columns_of = objects
        self.questions = []
        pair = next(self._view.iter("Pairwise"), None)
        compared = [] if pair is None else pair.get("toName", "").split(",")
        judged = {node.get("toName", "") for node in self._view.iter() if node.tag in _CONTROLS}
        alone = [name for name in objects if name in judged]
        if len(alone) == 1 and len(objects) > 1 and not compared and ANSWER.search(alone[0]):
            compared = alone
        self.options = [name.strip() for name in compared if name.strip() in objects]
        self.requests = [name for name in objects if name not in self.options]
        for node in self._view.iter():
            self._add_control(node, headers)
        if not self.questions:
            raise DomainError("The configuration has no control that becomes a question.")

    def _add_control(self, node: ElementTree.Element, headers: list[str]) -> None:
        name, tag = node.get("name", ""), node.tag
        if not name or not node.get("toName"):
            return
        if tag == "Choices":
            classes = [
                {"name": alias.strip()[:NAME_LIMIT], "title": choice.get("value", "")}
                for choice in node.iter("Choice")
                if (alias := choice.get("alias") or choice.get("value") or "").strip()
            ]
            several = node.get("choice") == "multiple"
            self.questions.append(_question("label", name, classes=classes, several=several))
        elif tag == "Rating" and (points := node.get("maxRating", "5")) in tuple("23456789"):
            self.questions.append(_question("rating", name, points=int(points)))
        elif tag == "Pairwise" and len(self.options) == 2:
            self.questions.append(_question("choice", name, next(iter(headers), "")))
        elif tag in ("TextArea", "Number", "Rating"):
            self.questions.append(_question("text", name))
        else:
            self.lost[f"control “{name}” ({tag}): no question asks it"] += 1

    def records(self) -> Iterator[Record]:
        for path in sorted(self.folder.glob("*.json")):
            rows = self.json(path)
            if not isinstance(rows, list):
                raise DomainError(f"{path.name} is no list of tasks: export in the form “JSON”.")
            for number, row in enumerate(rows, start=1):
                place = Place(path.name, number)
                if isinstance(row, dict) and isinstance(row.get("data"), dict):
                    yield self._record(place, row)
                else:
                    self.fault(place, "there is no task with “data”")

    def _record(self, place: Place, row: dict) -> Record:
        texts = {name: _texts(row["data"].get(key)) for name, key in self.columns_of.items()}
        judgments = [self._said(each) for each in _objects(row.get("annotations"))]
        name = text_of(row, "id") if row.get("id") is not None else str(place.line)
        return Record(place, name, texts, [each for each in judgments if each.answers])

    def _said(self, annotation: dict) -> Said:
        who = annotation.get("completed_by")
        worker = who.get("id") if isinstance(who, dict) else who
        answers: dict[str, Any] = {}
        questions = {question["name"]: question for question in self.questions}
        results = [] if annotation.get("was_cancelled") else _objects(annotation.get("result"))
        for result in results:
            name, value = str(result.get("from_name")), result.get("value")
            if name in questions and isinstance(value, dict):
                answers[name] = self._answer(questions[name], value)
        seconds = annotation.get("lead_time")
        at = annotation.get("created_at")
        return Said(f"annotator-{worker}", answers, seconds, at if isinstance(at, str) else None)

    def _answer(self, question: dict, value: dict) -> Any:
        if question["type"] == "choice":
            sides = dict(zip(("left", "right"), self.options, strict=True))
            return Chosen(sides.get(str(value.get("selected")), ""))
        if question["type"] == "label":
            chosen = value.get("choices") or []
            return chosen if question["several"] else next(iter(chosen), None)
        if question["type"] == "rating":
            return value.get("rating")
        text = value.get("text", value.get("number", value.get("rating")))
        return "\n".join(map(str, text)) if isinstance(text, list) else str(text)


# --- Argilla ----------------------------------------------------------------------------------


class Argilla(Export):
    """Fields whose names say so are answers, the others the request."""

    name = "argilla"

    @classmethod
    def _settings(cls, folder: Path) -> Path:
        return folder / ".argilla" / "settings.json"

    @classmethod
    def there(cls, folder: Path) -> bool:
        return cls._settings(folder).is_file() and (folder / "records.json").is_file()

    def define(self) -> None:
        settings = _object(self.json(self._settings(self.folder)))
        fields, asked = (
            [row for row in _objects(settings.get(key)) if row.get("name")]
            for key in ("fields", "questions")
        )
        names = [str(row["name"]) for row in fields]
        answers = [name for name in names if ANSWER.search(name)][:OPTIONS_LIMIT]
        self.options = answers if len(answers) < len(names) else []
        self.requests = [name for name in names if name not in self.options]
        self.questions = [made for row in asked if (made := self._asked(row))]
        if not self.questions:
            raise DomainError("The settings have no question that can be asked here.")

    def _asked(self, row: dict) -> dict | None:
        settings = _object(row.get("settings"))
        kind, name = settings.get("type"), str(row["name"])
        options = _objects(settings.get("options"))
        values = [each.get("value") for each in options]
        title = str(row.get("title") or "")
        if kind in ("label_selection", "multi_label_selection"):
            classes = [
                {"name": str(each.get("value")), "title": str(each.get("text") or "")}
                for each in options
            ]
            several = kind.startswith("multi")
            return _question("label", name, title, classes=classes, several=several)
        points = range(1, len(values) + 1)
        if kind == "rating" and values == list(points) and len(points) in range(2, 10):
            return _question("rating", name, title, points=len(values))
        if kind == "rating":
            classes = [{"name": str(value)} for value in values]
            return _question("label", name, title, classes=classes, ordinal=True)
        if kind == "ranking" and set(values) == set(self.options) and len(values) > 2:
            return _question("ranking", name, title, ties=True)
        if kind == "text":
            return _question("text", name, title)
        self.lost[f"question “{name}” ({kind}): no type of question asks it"] += 1
        return None

    def records(self) -> Iterator[Record]:
        rows = self.json(self.folder / "records.json")
        for number, row in enumerate(rows if isinstance(rows, list) else [], start=1):
            place = Place("records.json", number)
            if isinstance(row, dict) and isinstance(row.get("fields"), dict):
                name = str(row.get("id") or number)
                texts = {key: _texts(value) for key, value in row["fields"].items()}
                yield Record(place, name, texts, self._said(row))
            else:
                self.fault(place, "there is no record with “fields”")

    def _said(self, row: dict) -> list[Said]:
        people: dict[str, dict[str, Any]] = {}
        questions = {question["name"]: question for question in self.questions}
        for name, responses in _object(row.get("responses")).items():
            for each in _objects(responses) if name in questions else ():
                if each.get("value") is not None:
                    answers = people.setdefault(str(each.get("user_id")), {})
                    answers[name] = _answered(questions[name], each["value"])
        return [Said(f"annotator-{who}"[:80], answers) for who, answers in people.items()]


def _answered(question: dict, value: Any) -> Any:
    if question["type"] == "ranking":
        return {str(row["value"]): row.get("rank") for row in _objects(value)}
    if question["type"] == "label" and not isinstance(value, list):
        return str(value)
    return value
