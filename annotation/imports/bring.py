"""Imports a file into a study: opens it, finds the mapping, stores what it says.

Or shows the judging page of its first row: it is imported and handed out, and all is rolled back.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any, cast

from django.db import OperationalError, connection, transaction
from django.http import HttpResponse
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import model_validator
from pydantic.dataclasses import dataclass as schema

from annotation.accounts.models import User
from annotation.core.errors import DomainError
from annotation.core.foreign import ForeignFileError
from annotation.core.records import Rows, silent
from annotation.core.schema import asked, built, fields_of
from annotation.imports import mapping as mappings
from annotation.imports import recipes, shape, store, tables
from annotation.imports.mapping import LEVELS, Mapping, MappingError, columns_of
from annotation.imports.shape import RowError
from annotation.imports.store import Result
from annotation.imports.tables import Beginning, Table
from annotation.imports.votes import Faults, FaultsError
from annotation.judging.curator import preview
from annotation.judging.imports import bundles
from annotation.judging.kinds.files import WIDER
from annotation.judging.models import Item
from annotation.studies.models import Study

# The columns of a votes file, the first three required.
VOTES = ("task", "worker", "label", "submitted_at", "seconds", "reason")
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
COUNTS = (
    *("personas", "queries", "candidates", "items", "votes", "scores", "workers"),
    "conversations",
)


@schema(frozen=True)
class Known:
    """Where a file comes from. What is left out is not known, and is called so."""

    source: str = asked(gettext_lazy("Where it comes from: name and address"), "", max_length=300)
    citation: str = asked(gettext_lazy("How it is cited"), "", max_length=2_000)
    licence: str = asked(gettext_lazy("Licence"), "", max_length=200)
    collected_from: date | None = asked(gettext_lazy("Collected from"), None)
    collected_to: date | None = asked(gettext_lazy("Collected to"), None)
    consent: str = asked(gettext_lazy("What those who judged agreed to"), "", max_length=2_000)
    languages: list[str] = asked(
        gettext_lazy("Languages, by their codes"),
        [],
        gettext_lazy("For example: en, ko, zh-Hans"),
        unit="comma",
    )

    @model_validator(mode="after")
    def _possible(self) -> "Known":
        for code in self.languages:
            if not LANGUAGE.fullmatch(code):
                raise ValueError(_("“%s” is no code of a language.") % code[:40])
        begin, end = self.collected_from, self.collected_to
        if max(filter(None, (begin, end)), default=date.min) > timezone.localdate():
            raise ValueError(_("It was collected in the future."))
        if begin and end and begin > end:
            raise ValueError(_("The collection ends before it begins."))
        return self

    def as_json(self) -> dict[str, Any]:
        """What is known; days in ISO 8601."""
        return {
            name: value if isinstance(value, list) else str(value)
            for name, value in vars(self).items()
            if value and name in fields_of(Known)
        }


def known_of(path: Path) -> dict[str, Any]:
    """The fields of Known in the JSON document at ``path``: in place of "source" name and url.

    DomainError where it is no such document; OSError.
    """
    try:
        document = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DomainError(_("“%s” is not JSON in UTF-8.") % path.name) from error
    names = ["name", "url", *(name for name in fields_of(Known) if name != "source")]
    if not isinstance(document, dict) or document.keys() - set(names):
        words = {"file": path.name, "names": ", ".join(names)}
        raise DomainError(_("“%(file)s” is an object of %(names)s, nothing else.") % words)
    address = [document.pop(name, None) for name in ("name", "url")]
    if not all(isinstance(part, str | None) for part in address):
        raise DomainError(_("“%s”: name and url are texts.") % path.name)
    return built(Known, document | {"source": ", ".join(filter(None, address))}).as_json()


@schema(frozen=True)
class Options:
    """What becomes of the rows of a file."""

    task: str = asked("Name of the task of the items and votes", "", max_length=60)
    open_items: bool = asked(
        "Without it a batch opens items later, unless the file has votes", True, flag="no-items"
    )
    skip_faults: bool = asked(
        gettext_lazy("Leave faulty lines out"),
        False,
        gettext_lazy("Otherwise one faulty line is enough for nothing to be stored."),
        flag="skip-faulty",
    )
    repeats: bool = asked(
        gettext_lazy("Keep further judgments of one person as repeats"),
        False,
        gettext_lazy("Each person has one vote on an item; repeats tell who answers the same."),
        flag="keep-repeats",
    )
    allow: list[str] = asked(
        gettext_lazy("Change the task so that it takes the file"),
        [],
        gettext_lazy("Only a task that nobody has judged here can be changed."),
        choices=WIDER,
    )


@schema(frozen=True)
class Classes:
    """What labels and answers to own questions are, where their words do not say it."""

    classes: list[str] = asked(
        gettext_lazy("Classes, in their order"),
        [],
        gettext_lazy("“A,B,C” of the labels, “QUESTION:A,B,C” of a question; else as they occur"),
        max_length=50,
    )
    level: str = asked(gettext_lazy("What the classes are"), "", choices={"": "–", **LEVELS})
    depth: int = asked(
        gettext_lazy("Only answers to this turn of a person; 0 is every turn"), 0, ge=0, le=100
    )


def mapping_for(table: Table, wish: dict) -> Mapping:
    """The mapping of ``wish``: its "columns" and "values", else its "recipe", else a proposal;
    with its "texts" of classes, its "level" and its "depth".

    MappingError where none of them fits the file, FaultsError where no line of it can be read.
    """
    if table.format == "release":
        raise unsupported()
    sample = table.sample
    if not sample:
        faults = Faults()
        for line, reason in table.rows():
            faults.add(line, str(reason))
        raise store.nothing_came(faults)
    if wish.get("columns"):
        mapping = _parted(Mapping.from_json(wish), sample)
        _check_columns(mapping, sample)
    elif wish.get("recipe"):
        mapping = recipes.mapping_of(wish["recipe"], sample)
    elif proposal := recipes.proposed(sample)[0]:
        mapping = proposal
    else:
        raise MappingError(_unclear(sample))
    mapping = mapping.with_classes(wish.get("texts", ()), wish.get("level", ""))
    mapping = replace(mapping, depth=wish.get("depth") or mapping.depth)
    return classed(mapping, sample)


def _parted(mapping: Mapping, sample: list[dict]) -> Mapping:
    """``mapping``, in which "a+b" stands for both columns where none has that name."""
    columns = columns_of(sample)
    parted = {
        target: tuple(
            part
            for name in names
            for part in ([name] if _is_column(name, columns) else name.split("+"))
        )
        for target, names in mapping.columns.items()
    }
    return mappings.checked(replace(mapping, columns=parted))


def _is_column(name: str, columns: list[str]) -> bool:
    return name.startswith(mappings.CONSTANT) or mappings.column_of(name, columns) in columns


def classed(mapping: Mapping, sample: list[dict]) -> Mapping:
    """``mapping``, whose labels are classes as they occur where none of them names an answer."""
    if not mapping.has("label") or "" in mapping.classes or not mapping.wide:
        return mapping
    as_classes = replace(mapping, classes=mapping.classes | {"": ()})
    if _has_votes(sample, mapping) or not _has_votes(sample, as_classes):
        return mapping
    return as_classes


def _has_votes(sample: list[dict], mapping: Mapping) -> bool:
    for record in sample:
        with suppress(RowError):
            if shape.shape(record, mapping).votes:
                return True
    return False


def _unclear(sample: list[dict]) -> str:
    """The sentence about columns whose names say nothing, with the recipes that could read them."""
    columns = ", ".join(columns_of(sample)[:30])
    if fitting := ", ".join(recipes.fitting(sample)):
        sentence = _(
            "What the columns hold is not clear: map them or name a recipe (%(recipes)s would "
            "fit). The file has %(columns)s."
        )
        return sentence % {"recipes": fitting, "columns": columns}
    sentence = _("What the columns hold is not clear: map them or name a recipe. The file has %s.")
    return sentence % columns


def _check_columns(mapping: Mapping, sample: list[dict]) -> None:
    """Refuse a mapping that names a column of which the first rows have nothing."""
    columns = columns_of(sample)
    for target, names in mapping.columns.items():
        for name in names:
            if name and not _is_column(name, columns):
                words = {"target": target, "name": name[:80], "columns": ", ".join(columns[:30])}
                raise MappingError(
                    _("“%(target)s” is mapped to “%(name)s”; the file has %(columns)s.") % words
                )


def provenance(file: str, known: dict) -> dict[str, Any]:
    """The fields of studies.Provenance for a file of which this is ``known``."""
    return {"file": file[:200], **asdict(built(Known, known))}


def of_depth(rows: Rows, depth: int) -> Rows:
    """``rows`` without answers to other turns of a conversation than this one; 0 keeps all."""
    for line, row in rows:
        if not depth or isinstance(row, str) or row.get("depth") == depth:
            yield line, row


def bring(
    study: Study, table: Table, mapping: Mapping, *, rows: Rows | None = None, **options: Any
) -> Result:
    """Store the table's rows in ``study``, with the ``options`` of ``store.store``."""
    rows = of_depth(table.rows() if rows is None else rows, mapping.depth)
    return store.store(study, rows, mapping, sample=table.sample, **options)


def import_votes(study: Study, path: Path | str, progress: Callable = silent) -> dict:
    """Store the votes of the file ``path``: task (an item), worker, label and what VOTES names.

    Each takes an open slot of its item. Returns ``votes``, ``items`` and ``workers``: how many
    votes of the file, on how many items and by how many workers, are in the study now, and
    ``rejected``: line and reason of every other one. DomainError where it is no such file.
    """
    if not Path(path).is_file():
        raise DomainError(f"{path}: there is no such file")
    with tables.opened(Path(path)) as table:
        columns = columns_of(table.sample)
        if missing := [name for name in VOTES[:3] if name not in columns]:
            raise DomainError(f"{path}, line 1: there is no column {missing[0]}")
        named: dict[str, tuple[str, ...]] = {
            "id" if name == "task" else name: (name,) for name in VOTES if name in columns
        }
        rows = iter(progress(table.rows(), "votes", None))
        try:
            result = store.store(study, rows, Mapping(named), skip_faults=True, beyond=False)
        except FaultsError as refusal:
            result = Result(dict.fromkeys((*COUNTS, "judged"), 0), refusal.faults)
    counts = {"votes": result.counts["votes"], "items": result.counts["judged"]}
    return counts | {"workers": result.counts["workers"], "rejected": result.faults.as_json()}


def bring_bundle(
    study: Study | None, table: Table, *, by: User | None = None
) -> tuple[str, Result]:
    """Store a zipped bundle; the slug of its study. ``study``: the only one that it may be for."""
    bundle = bundles.load_bundle(cast(Path, table.folder))
    if study is not None and bundle.study["slug"] != study.slug:
        words = {"slug": bundle.study["slug"], "study": study.slug}
        raise ForeignFileError(
            _("The bundle is of the study “%(slug)s”, not of “%(study)s”.") % words
        )
    totals = bundles.store_bundle(bundle, by)
    counts = {name: totals.get(name, 0) for name in COUNTS}
    return totals["study"], Result(counts)


def study_of_file(path: Path, slug: str = "") -> Study:
    """The study ``slug`` (default: from the file's name), made where it is missing."""
    slug = slug or slugify(path.name.split(".")[0])[:60].strip("-_") or "import"
    slug = slug.replace("_", "-")
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        bundles.check_slug(slug)
        study = Study.objects.create(slug=slug, title=slug.replace("-", " ").capitalize())
    return study


def unsupported() -> DomainError:
    """The refusal of a release, which becomes a study of its own."""
    sentence = _("This is a release: “Study from a release”, on “Create a study”, takes it.")
    return ForeignFileError(sentence)


# Rows that are imported until one is an item: a later line may make the question of an earlier.
ROWS = 5


@contextmanager
def _tried(
    study: Study, begin: Beginning, mapping: Mapping, **options: Any
) -> Iterator[dict[str, int]]:
    """What came in of the first rows of ``begin``; at the end all is rolled back.

    DomainError also where another import holds the study.
    """
    with transaction.atomic():
        try:
            with connection.cursor() as cursor:  # an import may hold it for minutes
                cursor.execute("SET LOCAL lock_timeout = '1s'")
            rows = islice(of_depth(iter(begin.rows), mapping.depth), ROWS)
            yield store.store(study, rows, mapping, **options).counts
        except OperationalError as error:
            raise DomainError(_("Another import into this study is under way.")) from error
        finally:
            transaction.set_rollback(True)


def takes(study: Study, begin: Beginning, mapping: Mapping, task: str) -> bool:
    """Whether the first rows of ``begin``, with their votes, fit the study's ``task``."""
    try:
        with _tried(study, begin, mapping, task=task) as counts:
            return counts["votes"] > 0
    except DomainError:
        return False


def judging_page(
    study: Study, begin: Beginning, options: dict[str, Any], show: Callable
) -> HttpResponse:
    """What ``show(tried)`` gives for the first item that the rows of ``begin`` make.

    ``options`` are those of the mapping's form. DomainError where no item can be made.
    """
    mapping = classed(options["mapping"], begin.records())
    choices = {"task": options["task"], "skip_faults": True, "allow": list(WIDER)}
    last = Item.objects.filter(study=study).order_by("-position").first()
    with _tried(study, begin, mapping, **choices):
        made = Item.objects.filter(study=study, position__gt=last.position if last else 0)
        item = made.order_by("position").select_related("batch__task").first()
        if item is None:
            sentence = _(
                "These rows make no new item that people would judge: choose a task, or say "
                "which column holds labels, scores or answers to questions."
            )
            raise DomainError(sentence)
        return preview.try_task(study, item.batch.task, batch=item.batch, show=show)
