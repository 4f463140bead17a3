"""Reads a study bundle: a folder of study.json and optional files of JSON lines.

Everything is checked before anything is stored. A file is read line by line and only its ids are
kept, so a bundle may be larger than the memory; the rows are read a second time to be stored.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.core import records
from annotation.core.errors import DomainError
from annotation.core.records import LINE_LIMIT

SHOWN_FAULTS = 20
OVERLAP_LIMIT = 1000
DEFAULT_OVERLAP = 9
NUMBER_LIMIT = 1e100

_SLUG = re.compile(r"[-a-zA-Z0-9_]{1,60}")
_LANGUAGE = re.compile(r"[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8}){0,3}")


class BundleError(DomainError):
    """What is wrong with a bundle: ``faults``, one sentence each, with file and line."""

    code = "bundle"

    def __init__(self, faults: list[str]):
        super().__init__("\n".join(faults))
        self.faults = faults


class Report:
    """Faults and warnings as they are found; the twentieth fault ends the reading."""

    def __init__(self):
        self.faults: list[str] = []
        self.warnings: dict[tuple, str] = {}

    def fault(self, place: str, words: str) -> None:
        """Note one fault; raises BundleError where there are enough to show."""
        self.faults.append(f"{place}: {words}")
        if len(self.faults) == SHOWN_FAULTS:
            raise BundleError([*self.faults, "There may be more: the reading ended here."])

    def unknown(self, name: str, place: str, key: str) -> None:
        """Note a key that the format does not have, once a file."""
        if len(self.warnings) < SHOWN_FAULTS:
            words = f"{place}: the key {_shown(key)} is not part of the format; it is left out"
            self.warnings.setdefault((name, key), words)

    def finish(self) -> None:
        """Raise BundleError where there was a fault."""
        if self.faults:
            raise BundleError(self.faults)


# --- What a field may hold: functions that return the value or raise ValueError with words -------


def text(limit: int = LINE_LIMIT, *, empty: bool = False) -> Callable:
    """Text of up to ``limit`` characters."""

    def read(value):
        if not isinstance(value, str):
            raise ValueError("must be text")
        if not empty and not value.strip():
            raise ValueError("is empty")
        if len(value) > limit:
            raise ValueError(f"is longer than {limit:,} characters")
        return value

    return read


def identifier(limit: int, *forbidden: str) -> Callable:
    """An id: printable text without blanks around it, and none of the ``forbidden`` words."""
    as_text = text(limit)

    def read(value):
        value = as_text(value)
        if not value.isprintable() or value != value.strip():
            raise ValueError("must be printable and without blanks around it")
        if value in forbidden:
            raise ValueError(f"cannot be {_shown(value)}: that word is an answer of its own")
        return value

    return read


def one_of(*words: str) -> Callable:
    """One of these words."""

    def read(value):
        if value not in words:
            raise ValueError(f"must be {' or '.join(words)}")
        return value

    return read


def whole(low: int, high: int) -> Callable:
    """A whole number of this range, both ends included."""

    def read(value):
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return value

    return read


def number(value) -> float:
    """A number; squares of larger ones would leave what floating point holds."""
    if type(value) not in (int, float):
        raise ValueError("must be a number")
    if not abs(value) <= NUMBER_LIMIT:
        raise ValueError("is no number of this size")
    return float(value)


def texts(limit: int) -> Callable:
    """A list of text."""
    read_entry = text(limit)

    def read(value):
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise ValueError("must be a list of text")
        return [read_entry(entry) for entry in value]

    return read


def by_language(read_text: Callable) -> Callable:
    """What ``read_text`` reads, or an object of it by language code: {"en": "…", "ko": "…"}."""

    def read(value):
        if not isinstance(value, dict):
            return read_text(value)
        if not value:
            raise ValueError("is empty")
        translations = {}
        for code, entry in value.items():
            if not _LANGUAGE.fullmatch(code):
                raise ValueError(f"names {_shown(code)}, which is no language code")
            try:
                translations[code] = read_text(entry)
            except ValueError as error:
                raise ValueError(f"in {_shown(code)} {error}") from None
        return translations

    return read


def profile(value) -> dict:
    """A persona's profile: a JSON object with at least one key."""
    if not isinstance(value, dict) or not value:
        raise ValueError("must be an object with at least one key")
    return value


def share(value) -> float:
    """A number from 0 to 1."""
    if not 0 <= number(value) <= 1:
        raise ValueError("must be a number from 0 to 1")
    return float(value)


def conversations(value) -> list[list[dict]]:
    """Conversations, each a list of messages {"role": "user"|"assistant", "text", "spans"?}."""
    if not isinstance(value, list) or not all(isinstance(turns, list) for turns in value):
        raise ValueError("must be a list of conversations, each a list of messages")
    return [[_message(turn) for turn in turns] for turns in value]


def _message(turn) -> dict:
    if not isinstance(turn, dict) or not isinstance(turn.get("text"), str):
        raise ValueError("must have messages of a role and a text")
    if turn.get("role") not in ("user", "assistant"):
        raise ValueError("has a message whose role is neither user nor assistant")
    message = {"role": turn["role"], "text": turn["text"]}
    return message | ({"spans": _spans(turn["spans"], turn["text"])} if turn.get("spans") else {})


def _spans(value, words: str) -> list[list[int]]:
    """The passages of a message that an attribute rests on, in its characters."""
    fits = isinstance(value, list) and all(
        isinstance(span, list)
        and len(span) == 2
        and all(type(place) is int for place in span)
        and 0 <= span[0] < span[1] <= len(words)
        for span in value
    )
    if not fits:
        raise ValueError("has spans that are no list of [start, end] within the message's text")
    return sorted(value)


def label(value) -> str:
    """A label: text, or a whole number that stands for its digits."""
    return text(20)(str(value) if type(value) is int else value)


def anything(value):
    """Any JSON value."""
    return value


def objects(value) -> list[dict]:
    """A list of JSON objects."""
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise ValueError("must be a list of objects")
    return value


@dataclass(frozen=True)
class Field:
    """How one key is read; ``default`` stands where it is absent or null."""

    read: Callable
    default: object = None
    required: bool = False


def _required(read: Callable) -> Field:
    return Field(read, required=True)


STUDY = {
    "slug": _required(text(60)),
    "title": _required(by_language(text(200))),
    "description": Field(by_language(text(empty=True)), ""),
    "guideline": Field(by_language(text(empty=True)), ""),
    "consent": Field(by_language(text(empty=True)), ""),
    "languages": Field(texts(35), []),
    "tasks": Field(objects, []),
}
TASK = {
    "name": _required(text(60)),
    "kind": _required(text(20)),
    "overlap": Field(whole(1, OVERLAP_LIMIT), DEFAULT_OVERLAP),
    "guideline": Field(by_language(text(empty=True)), ""),
}
PERSONA = {"id": _required(identifier(100)), "profile": _required(profile)}
MEMORY = {"persona": _required(text(100)), "text": _required(text())}
QUERY = {
    "id": _required(identifier(100)),
    "persona": Field(text(100)),
    "text": _required(text()),
    "need": Field(text(empty=True), ""),
    "type": Field(one_of("specific", "general"), "specific"),
    "scenario": Field(text(100, empty=True), ""),
}
CANDIDATE = {
    # A vote's label is a candidate's id, or one of these two words.
    "id": _required(identifier(100, "tie", "none")),
    "query": _required(text(100)),
    "text": _required(text()),
    "model": Field(text(200, empty=True), ""),
    "strategy": Field(text(40, empty=True), ""),
    "urls": Field(texts(4000), []),
}
SCORE = {
    "candidate": _required(text(100)),
    "aspect": _required(identifier(60)),
    "score": _required(number),
    "source": Field(text(60, empty=True), ""),
}
ATTRIBUTE = {
    "id": _required(identifier(100)),
    "persona": _required(text(100)),
    "text": _required(text()),
    "confidence": Field(share),
    "model": Field(text(200, empty=True), ""),
    "conversations": Field(conversations, []),
}
# A model's verdict on an item: evaluation.verdicts.
VERDICT = {
    "task": _required(text(200)),
    "model": _required(identifier(200)),
    "label": _required(label),
}
# The task's kind checks the item's other fields: see ``check_item``.
ITEM = {
    "id": _required(identifier(200)),
    "task": _required(text(60)),
    "query": Field(text(100)),
    "attribute": Field(text(100)),
    "candidates": Field(texts(100), []),
    "overlap": Field(whole(1, OVERLAP_LIMIT)),
    "purpose": Field(one_of("work", "training", "gold"), "work"),
    "expected": Field(anything),
    "explanation": Field(text(empty=True), ""),
}


@dataclass(frozen=True)
class Task:
    """A task as the bundle describes it, its settings checked by its kind."""

    name: str
    kind: str
    overlap: int
    guideline: str
    config: dict
    # {language: {"guideline", "question"}}
    translations: dict = field(default_factory=dict)


@dataclass
class Bundle:
    """A checked bundle. ``rows(name)`` reads a file again, one record a line.

    ``study`` is study.json without its tasks, its texts in the study's own language; besides,
    "translations" {language: {"title", "description"}} and "consent_translations" {language: text}.
    """

    folder: Path
    study: dict
    tasks: list[Task]
    counts: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def rows(self, name: str) -> Iterator[tuple[int, dict]]:
        """Line and record of every row of ``name`` ("personas", "memories", …), in order."""
        file, fields = _FILES[name]
        yield from _rows_of(self.folder, file, fields, Report())


_FILES = {
    "personas": ("personas.jsonl", PERSONA),
    "memories": ("memories.jsonl", MEMORY),
    "queries": ("queries.jsonl", QUERY),
    "candidates": ("candidates.jsonl", CANDIDATE),
    "scores": ("scores.jsonl", SCORE),
    "attributes": ("attributes.jsonl", ATTRIBUTE),
    "items": ("items.jsonl", ITEM),
}


def read_bundle(
    folder, *, check_slug: Callable, check_task: Callable, check_item: Callable
) -> Bundle:
    """Read and check the bundle in ``folder``.

    ``check_slug(slug)``, ``check_task(kind, config) -> config`` and ``check_item(task, row)`` know
    what the platform allows and raise DomainError otherwise. Raises BundleError with up to 20
    faults.
    """
    folder, report = Path(folder), Report()
    if not folder.is_dir():
        raise BundleError([f"{folder}: there is no such folder"])
    study, tasks = _read_study(folder, report, check_slug, check_task)
    bundle = Bundle(folder, study, tasks)
    _check_rows(bundle, report, check_item)
    report.finish()
    bundle.warnings = list(report.warnings.values())
    return bundle


def check_rows(name: str, values: dict[int, object], report: Report) -> list[tuple[int, dict]]:
    """The records of numbered rows of the file ``name``, read by its fields.

    What is wrong goes to ``report``, at the place "row N"; references are not looked at.
    """
    _file, fields = _FILES[name]
    rows = []
    for number, value in values.items():
        place = f"row {number}"
        if not isinstance(value, dict):
            report.fault(place, "must be a JSON object")
        elif record := _record(value, fields, name, lambda key, place=place: place, report):
            rows.append((number, record))
    return rows


def read_personas(stream, name: str) -> list[dict]:
    """Records of an uploaded personas file (binary ``stream``); BundleError with its faults."""
    report = Report()
    rows = _read_list(stream, name, PERSONA, report)
    report.finish()
    return [record for _, record in rows]


def read_attributes(stream, name: str, personas) -> list[dict]:
    """Records of an uploaded attributes file; ``personas`` are the ids that it may name."""
    report = Report()
    rows = _read_list(stream, name, ATTRIBUTE, report)
    for line, record in rows:
        _check_reference(record["persona"], personas, "persona", f"{name}, line {line}", report)
    report.finish()
    return [record for _, record in rows]


def read_verdicts(stream, name: str) -> list[tuple[int, dict]]:
    """Line and record of every verdict of a file (binary ``stream``); BundleError with faults."""
    report = Report()
    rows = list(_records(stream, name, VERDICT, report))
    report.finish()
    return rows


def read_queries(stream, name: str, personas) -> list[dict]:
    """Records of an uploaded queries file; ``personas`` are the ids that it may name."""
    report = Report()
    rows = _read_list(stream, name, QUERY, report)
    for line, record in rows:
        _check_reference(record["persona"], personas, "persona", f"{name}, line {line}", report)
    report.finish()
    return [record for _, record in rows]


# --- study.json ----------------------------------------------------------------------------------


def _read_study(folder, report, check_slug, check_task) -> tuple[dict, list[Task]]:
    path, raw = folder / "study.json", b""
    if not path.is_file():
        raise BundleError([f"study.json: there is no such file in {folder}"])
    with _readable(path, report), path.open("rb") as stream:
        raw = stream.read(LINE_LIMIT + 1)
    report.finish()
    try:
        value = records.parse(raw.removeprefix(records.BOM))
    except records.BrokenRecordError as error:
        raise BundleError([f"study.json, line {1 + error.later}: {error}"]) from error

    def place(word) -> str:
        """Where the word stands in the file: JSON itself does not keep it."""
        at = raw.find(json.dumps(word, ensure_ascii=False).encode(errors="replace"))
        before = raw[: max(at, 0)].count(b"\n")
        return f"study.json, line {before + 1}"

    study = _record(value, STUDY, "study.json", place, report)
    if study is None:
        raise BundleError(report.faults)
    _asked(check_slug, study["slug"], place=place("slug"), report=report)
    guideline = study["guideline"]
    tasks: dict[str, Task] = {}
    study |= _own_texts(study, study["languages"], place, report)
    for definition in study.pop("tasks"):
        _read_task(definition, guideline, study["languages"], tasks, place, report, check_task)
    return study, list(tasks.values())


def _own_texts(study: dict, languages: list[str], place: Callable, report: Report) -> dict:
    """The study's texts in its own language, and all others as the models keep them."""
    texts_of_study: dict[str, Any] = {}
    others: dict[str, dict[str, str]] = {}
    names = ("title", "description", "guideline", "consent")
    for name in names:
        texts_of_study[name], others[name] = _split(
            study[name], name, languages, place(name), report
        )
    texts_of_study["consent_translations"] = others["consent"]
    texts_of_study["translations"] = _by_language(others, "title", "description")
    # A study that names no languages has those that its texts are in.
    in_use = [code for name in names if isinstance(study[name], dict) for code in study[name]]
    texts_of_study["languages"] = languages or list(dict.fromkeys(in_use))
    return texts_of_study


def _split(value, name, languages, place, report) -> tuple[str, dict[str, str]]:
    """A text in the first of ``languages`` that it has, and its texts in the others."""
    if isinstance(value, str):
        return value, {}
    for code in value:
        if languages and code not in languages:
            words = f"{_shown(name)} is in {_shown(code)}, which “languages” does not name"
            report.fault(place, words)
    first = next((code for code in languages if code in value), next(iter(value)))
    return value[first], {code: other for code, other in value.items() if code != first and other}


def _by_language(others: dict[str, dict], *names) -> dict[str, dict]:
    """{name: {language: text}} turned into {language: {name: text}}."""
    translations: dict[str, dict[str, str]] = {}
    for name in names:
        for code, value in others.get(name, {}).items():
            translations.setdefault(code, {})[name] = value
    return translations


def _read_task(definition, guideline, languages, tasks, place, report, check_task) -> None:
    named = definition.get("name")

    def here(key):
        return place(named if isinstance(named, str) else "tasks")

    common = {key: value for key, value in definition.items() if key in TASK}
    task = _record(common, TASK, "study.json", here, report)
    if task is None:
        return
    where = f"{here('name')}: task {_shown(task['name'])}"
    if not _SLUG.fullmatch(task["name"]):
        report.fault(where, "the name may have letters, digits, hyphens and underscores")
    elif task["name"] in tasks:
        report.fault(where, "the name is used twice")
    config = {key: value for key, value in definition.items() if key not in TASK}
    translations = _task_texts(task, config, guideline, languages, where, report)
    config = _asked(check_task, task["kind"], config, place=where, report=report)
    tasks[task["name"]] = Task(**task, config=config or {}, translations=translations)


def _task_texts(task, config, guideline, languages, place, report) -> dict:
    """Leave guideline and question in the study's own language; return those in the others."""
    others = {}
    # Faults of the study's guideline are reported already.
    faults = report if task["guideline"] else Report()
    task["guideline"], others["guideline"] = _split(
        task["guideline"] or guideline, "guideline", languages, place, faults
    )
    if isinstance(config.get("question"), dict):
        try:
            asked = by_language(text(5_000))(config["question"])
        except ValueError as error:
            report.fault(place, f"“question” {error}")
            return {}
        config["question"], others["question"] = _split(asked, "question", languages, place, report)
    return _by_language(others, "guideline", "question")


def _asked(check, *values, place, report):
    """What ``check`` returns; its refusal becomes a fault."""
    try:
        return check(*values)
    except DomainError as error:
        report.fault(place, error.sentence)


# --- The rows ------------------------------------------------------------------------------------


class _Ids(dict):
    """Ids of a file and the line of each. After a fault it does not know all of them."""

    complete = True
    missing = ""


def _check_rows(bundle: Bundle, report: Report, check_item: Callable) -> None:
    """Check every row and reference, keeping ids only."""
    ids = {name: _Ids() for name in _FILES}
    # The persona of each query and attribute.
    personas: dict[str, dict] = {"queries": {}, "attributes": {}}
    # The query's line of each candidate.
    answered = {}
    tasks = _Ids((task.name, task) for task in bundle.tasks)
    tasks.complete = not report.faults
    for name, (file, fields) in _FILES.items():
        before = len(report.faults)
        bundle.counts[name] = 0
        ids[name].missing = "" if (bundle.folder / file).exists() else file
        for line, row in _rows_of(bundle.folder, file, fields, report):
            bundle.counts[name] += 1
            place = f"{file}, line {line}"
            if "id" in row:
                _once(row["id"], line, ids[name], file, report)
            _check_reference(row.get("persona"), ids["personas"], "persona", place, report)
            _check_reference(row.get("query"), ids["queries"], "query", place, report)
            _check_reference(row.get("candidate"), ids["candidates"], "candidate", place, report)
            if name == "candidates" and row["query"] in ids["queries"]:
                answered[row["id"]] = ids["queries"][row["query"]]
            elif name == "items":
                _check_reference(row["task"], tasks, "task", place, report)
                task = tasks.get(row["task"])
                _check_reference(row["attribute"], ids["attributes"], "attribute", place, report)
                _check_persona(row, place, personas, report)
                _check_candidates(row, place, ids, answered, report)
                # One with a fault has no settings to check by.
                if task and task.config:
                    _asked(check_item, task, row, place=place, report=report)
            if name in personas and row["persona"] in ids["personas"]:
                personas[name][row["id"]] = row["persona"]
        # What is missing after a fault here would only be named a second time.
        ids[name].complete = len(report.faults) == before


def _check_persona(row, place, personas, report) -> None:
    asks = personas["queries"].get(row["query"])
    has = personas["attributes"].get(row["attribute"])
    if asks and has and asks != has:
        words = f"the attribute is of {_shown(has)}, and the query of {_shown(asks)}"
        report.fault(place, words)


def _check_candidates(row, place, ids, answered, report) -> None:
    query = ids["queries"].get(row["query"])
    for candidate in row["candidates"]:
        _check_reference(candidate, ids["candidates"], "candidate", place, report)
        if query and answered.get(candidate, query) != query:
            report.fault(place, f"the candidate {_shown(candidate)} answers another query")
    if len(set(row["candidates"])) < len(row["candidates"]):
        report.fault(place, "a candidate is named twice")


def _rows_of(folder, file, fields, report) -> Iterator[tuple[int, dict]]:
    path = folder / file
    if not path.exists():
        return
    if not path.is_file():
        report.fault(file, "this is no regular file")
        return
    with _readable(path, report), path.open("rb") as stream:
        yield from _records(stream, file, fields, report)


def _read_list(stream, name, fields, report) -> list[tuple[int, dict]]:
    rows: list[tuple[int, dict]] = []
    ids: dict[str, int] = {}
    for line, record in _records(stream, name, fields, report):
        _once(record["id"], line, ids, name, report)
        rows.append((line, record))
    return rows


def _records(stream, name, fields, report) -> Iterator[tuple[int, dict]]:
    """Line number and record of each good line."""
    for number, value in records.json_lines(stream):
        place = f"{name}, line {number}"
        if isinstance(value, str):
            report.fault(place, value)
            continue
        record = _record(value, fields, name, lambda key, place=place: place, report)
        if record is not None:
            yield number, record


def _record(value, fields, name, place, report) -> dict | None:
    """``value`` read by ``fields``, defaults filled in; None after a fault."""
    record = {}
    for key, wanted in fields.items():
        entry = value.get(key)
        if entry is not None:
            try:
                record[key] = wanted.read(entry)
            except ValueError as error:
                report.fault(place(key), f"{_shown(key)} {error}")
        elif wanted.required:
            report.fault(place(key), f"{_shown(key)} is missing")
        else:
            record[key] = wanted.default
    for key in sorted(value.keys() - fields.keys()):
        report.unknown(name, place(key), key)
    return record if len(record) == len(fields) else None


def _once(key, line, seen, file, report) -> None:
    first = seen.setdefault(key, line)
    if first != line:
        words = f"the id {_shown(key)} was used before, in line {first}"
        report.fault(f"{file}, line {line}", words)


def _check_reference(key, ids, what, place, report) -> bool:
    if key is None or key in ids or not getattr(ids, "complete", True):
        return True
    if missing := getattr(ids, "missing", ""):
        # Reported once, not for every further reference.
        ids.complete = False
        article = "an" if what[0] in "aeiou" else "a"
        report.fault(missing, f"there is no such file, and {place} names {article} {what}")
        return False
    report.fault(place, f"there is no {what} {_shown(key)}")
    return False


@contextmanager
def _readable(path, report):
    try:
        yield
    except OSError as error:
        report.fault(path.name, f"cannot be read ({(error.strerror or 'unknown cause').lower()})")


def _shown(word) -> str:
    return f"“{str(word)[:80]}”"
