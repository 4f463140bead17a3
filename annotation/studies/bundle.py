"""Reads a study bundle: a folder of study.json and optional files of JSON lines.

Everything is checked before anything is stored. A file is read line by line and only its ids are
kept, so a bundle may be larger than the memory; the rows are read a second time to be stored.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from annotation.core import records
from annotation.core.errors import DomainError
from annotation.core.records import LINE_LIMIT
from annotation.studies import bundle_rows
from annotation.studies.bundle_rows import Row, shown

T = TypeVar("T")
SHOWN_FAULTS = 20

_SLUG = re.compile(r"[-a-zA-Z0-9_]{1,60}")


class BundleError(DomainError):
    """What is wrong with a bundle: ``faults``, one sentence each, with file and line."""

    code = "bundle"

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class Report:
    """Faults and warnings as they are found; the twentieth fault ends the reading."""

    def __init__(self) -> None:
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
            words = f"{place}: the key {shown(key)} is not part of the format; it is left out"
            self.warnings.setdefault((name, key), words)

    def finish(self) -> None:
        if self.faults:
            raise BundleError(self.faults)


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
        file, row_type = _FILES[name]
        yield from _rows_of(self.folder, file, row_type, Report())


_FILES: dict[str, tuple[str, type[Row]]] = {
    "personas": ("personas.jsonl", bundle_rows.Persona),
    "memories": ("memories.jsonl", bundle_rows.Memory),
    "queries": ("queries.jsonl", bundle_rows.Query),
    "candidates": ("candidates.jsonl", bundle_rows.Candidate),
    "scores": ("scores.jsonl", bundle_rows.Score),
    "attributes": ("attributes.jsonl", bundle_rows.Attribute),
    "items": ("items.jsonl", bundle_rows.Item),
}


def read_bundle(
    folder: Path | str, *, check_slug: Callable, check_task: Callable, check_item: Callable
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
    _file, row_type = _FILES[name]
    rows = []
    for number, value in values.items():
        place = f"row {number}"
        if not isinstance(value, dict):
            report.fault(place, "must be a JSON object")
        elif record := _record(value, row_type, name, _at(place), report):
            rows.append((number, record))
    return rows


def read_rows(
    lines: records.Rows, name: str, row_type: type[Row], personas: Collection[str] | None = None
) -> list[tuple[int, dict]]:
    """Line and record of every row of the file ``name``, of which ``lines`` are the JSON.

    ``personas`` are the ids that rows may name, None any. Raises BundleError with the faults.
    """
    report, rows = Report(), []
    ids: dict[str, int] = {}
    for line, record in _records(lines, name, row_type, report):
        if "id" in record:
            _once(record["id"], line, ids, name, report)
        if personas is not None:
            place = f"{name}, line {line}"
            _check_reference(record["persona"], personas, "persona", place, report)
        rows.append((line, record))
    report.finish()
    return rows


# --- study.json ----------------------------------------------------------------------------------


def _read_study(
    folder: Path, report: Report, check_slug: Callable, check_task: Callable
) -> tuple[dict, list[Task]]:
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

    def place(word: str) -> str:
        """Where the word stands in the file: JSON itself does not keep it."""
        at = raw.find(json.dumps(word, ensure_ascii=False).encode(errors="replace"))
        before = raw[: max(at, 0)].count(b"\n")
        return f"study.json, line {before + 1}"

    study = _record(value, bundle_rows.Study, "study.json", place, report)
    if study is None:
        raise BundleError(report.faults)
    _asked(check_slug, study["slug"], place=place("slug"), report=report)
    guideline = study["guideline"]
    tasks: dict[str, Task] = {}
    study |= _study_texts(study, study["languages"], place, report)
    for definition in study.pop("tasks"):
        _read_task(definition, guideline, study["languages"], tasks, place, report, check_task)
    return study, list(tasks.values())


def _study_texts(study: dict, languages: list[str], place: Callable, report: Report) -> dict:
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


def _split(
    value: str | dict[str, str], name: str, languages: list[str], place: str, report: Report
) -> tuple[str, dict[str, str]]:
    """A text in the first of ``languages`` that it has, and its texts in the others."""
    if isinstance(value, str):
        return value, {}
    for code in value:
        if languages and code not in languages:
            words = f"{shown(name)} is in {shown(code)}, which “languages” does not name"
            report.fault(place, words)
    first = next((code for code in languages if code in value), next(iter(value)))
    return value[first], {code: other for code, other in value.items() if code != first and other}


def _by_language(others: dict[str, dict], *names: Any) -> dict[str, dict]:
    """{name: {language: text}} turned into {language: {name: text}}."""
    translations: dict[str, dict[str, str]] = {}
    for name in names:
        for code, value in others.get(name, {}).items():
            translations.setdefault(code, {})[name] = value
    return translations


def _read_task(
    definition: dict,
    guideline: str | dict[str, str],
    languages: list[str],
    tasks: dict[str, Task],
    place: Callable[[str], str],
    report: Report,
    check_task: Callable,
) -> None:
    definition = bundle_rows.with_kind(definition)
    named = definition.get("name")

    def here(key: str) -> str:
        return place(named if isinstance(named, str) else "tasks")

    fields = bundle_rows.Task.model_fields
    common = {key: value for key, value in definition.items() if key in fields}
    task = _record(common, bundle_rows.Task, "study.json", here, report)
    if task is None:
        return
    where = f"{here('name')}: task {shown(task['name'])}"
    if not _SLUG.fullmatch(task["name"]):
        report.fault(where, "the name may have letters, digits, hyphens and underscores")
    elif task["name"] in tasks:
        report.fault(where, "the name is used twice")
    config = {key: value for key, value in definition.items() if key not in fields}
    translations = _task_texts(task, config, guideline, languages, where, report)
    checked = _asked(check_task, task["kind"], config, place=where, report=report)
    tasks[task["name"]] = Task(**task, config=checked or {}, translations=translations)


def _task_texts(
    task: dict,
    config: dict,
    guideline: str | dict[str, str],
    languages: list[str],
    place: str,
    report: Report,
) -> dict:
    """Leave guideline and question in the study's own language; return those in the others."""
    others = {}
    # Faults of the study's guideline are reported already.
    faults = report if task["guideline"] else Report()
    task["guideline"], others["guideline"] = _split(
        task["guideline"] or guideline, "guideline", languages, place, faults
    )
    if isinstance(config.get("question"), dict):
        try:
            asked = bundle_rows.QUESTION.validate_python(config["question"])
        except ValidationError as error:
            report.fault(place, f"“question” {bundle_rows.words_of(error)['']}")
            return {}
        config["question"], others["question"] = _split(asked, "question", languages, place, report)
    return _by_language(others, "guideline", "question")


def _asked(check: Callable[..., T], *values: Any, place: str, report: Report) -> T | None:
    """What ``check`` returns; its refusal becomes a fault."""
    try:
        return check(*values)
    except DomainError as error:
        report.fault(place, error.sentence)
        return None


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
    # The line and the dates of each memory that has some.
    dated: dict[int, tuple] = {}
    tasks = _Ids((task.name, task) for task in bundle.tasks)
    tasks.complete = not report.faults
    for name, (file, row_type) in _FILES.items():
        before = len(report.faults)
        bundle.counts[name] = 0
        ids[name].missing = "" if (bundle.folder / file).exists() else file
        for line, row in _rows_of(bundle.folder, file, row_type, report):
            bundle.counts[name] += 1
            place = f"{file}, line {line}"
            if "id" in row:
                _once(row["id"], line, ids[name], file, report)
            _check_reference(row.get("persona"), ids["personas"], "persona", place, report)
            _check_reference(row.get("query"), ids["queries"], "query", place, report)
            if name == "memories":
                _check_dates(row, line, dated, report)
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


def _check_persona(row: dict, place: str, personas: dict, report: Report) -> None:
    asks = personas["queries"].get(row["query"])
    has = personas["attributes"].get(row["attribute"])
    if asks and has and asks != has:
        report.fault(place, f"the attribute is of {shown(has)}, and the query of {shown(asks)}")


def _check_dates(row: dict, line: int, dated: dict[int, tuple], report: Report) -> None:
    """A memory holds at one time: in two lines it has the same dates, or one has none."""
    days = row.get("since"), row.get("until")
    if any(days):
        first, others = dated.setdefault(hash((row["persona"], row["text"])), (line, days))
        if days != others:
            place = f"memories.jsonl, line {line}"
            report.fault(place, f"the same memory has other dates in line {first}")


def _check_candidates(
    row: dict, place: str, ids: dict[str, _Ids], answered: dict, report: Report
) -> None:
    query = ids["queries"].get(row["query"])
    for candidate in row["candidates"]:
        _check_reference(candidate, ids["candidates"], "candidate", place, report)
        if query and answered.get(candidate, query) != query:
            report.fault(place, f"the candidate {shown(candidate)} answers another query")
    if len(set(row["candidates"])) < len(row["candidates"]):
        report.fault(place, "a candidate is named twice")


def _rows_of(
    folder: Path, file: str, row_type: type[Row], report: Report
) -> Iterator[tuple[int, dict]]:
    path = folder / file
    if not path.exists():
        return
    if not path.is_file():
        report.fault(file, "this is no regular file")
        return
    with _readable(path, report), path.open("rb") as stream:
        yield from _records(records.json_lines(stream), file, row_type, report)


def _records(
    lines: records.Rows, name: str, row_type: type[Row], report: Report
) -> Iterator[tuple[int, dict]]:
    """Line number and record of each good line."""
    for number, value in lines:
        place = f"{name}, line {number}"
        if isinstance(value, str):
            report.fault(place, value)
            continue
        record = _record(value, row_type, name, _at(place), report)
        if record is not None:
            yield number, record


def _at(place: str) -> Callable[[str], str]:
    """Every field of a row is at the place of the row."""
    return lambda key: place


def _record(
    value: dict, row_type: type[Row], name: str, place: Callable[[str], str], report: Report
) -> dict | None:
    """``value`` as a row, defaults filled in; None after a fault."""
    record, faults = row_type.read(value)
    for key, words in faults.items():
        report.fault(place(key), f"{shown(key)} {words}")
    for key in sorted(value.keys() - row_type.model_fields.keys()):
        report.unknown(name, place(key), key)
    return record or None


def _once(key: str, line: int, seen: dict[str, int], file: str, report: Report) -> None:
    first = seen.setdefault(key, line)
    if first != line:
        words = f"the id {shown(key)} was used before, in line {first}"
        report.fault(f"{file}, line {line}", words)


def _check_reference(
    key: str | None, ids: Collection[str], what: str, place: str, report: Report
) -> None:
    if key is None or key in ids or not getattr(ids, "complete", True):
        return
    if isinstance(ids, _Ids) and ids.missing:
        # Reported once, not for every further reference.
        ids.complete = False
        article = "an" if what[0] in "aeiou" else "a"
        report.fault(ids.missing, f"there is no such file, and {place} names {article} {what}")
    else:
        report.fault(place, f"there is no {what} {shown(key)}")


@contextmanager
def _readable(path: Path, report: Report) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        report.fault(path.name, f"cannot be read ({(error.strerror or 'unknown cause').lower()})")
