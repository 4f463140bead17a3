"""Imports a file into a study: opens it, finds the mapping, stores what it says."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core.errors import DomainError
from annotation.core.records import Rows
from annotation.imports import conversations, paths, recipes, store
from annotation.imports import mapping as mappings
from annotation.imports.limits import TableError
from annotation.imports.mapping import Mapping, MappingError
from annotation.imports.tables import Table
from annotation.judging.imports import bundles
from annotation.studies.models import Study

COUNTS = (
    *("personas", "queries", "candidates", "items", "votes", "scores", "workers"),
    "conversations",
)


@dataclass
class Brought:
    """What an import brought in; ``unknown`` columns were not read."""

    counts: dict[str, int]
    rejected: list[tuple[int, str]]
    rejected_count: int
    unknown: list[str]


def columns_of(sample: list[dict]) -> list[str]:
    """The columns of rows, in order."""
    return list(dict.fromkeys(key for row in sample for key in row))


def mapping_for(table: Table, wish: dict) -> Mapping:
    """The mapping of ``wish``: its "columns" and "values", else its "recipe", else a proposal.

    MappingError where none of them fits the file, FaultsError where no line of it can be read.
    """
    if table.format == "release":
        raise unsupported()
    sample = [row for _line, row in table.sample]
    if not sample:
        faults = store.Faults()
        for line, reason in table.rows():
            faults.add(line, str(reason))
        raise store.nothing_came(faults)
    if wish.get("columns"):
        chosen = Mapping.from_json(wish)
        _check_columns(chosen, sample)
        return chosen
    if wish.get("recipe"):
        return recipes.mapping_of(wish["recipe"], sample)
    proposal = mappings.propose(sample)
    if proposal is None:
        raise MappingError(_unclear(sample))
    return proposal


def _unclear(sample: list[dict]) -> str:
    """The sentence about columns whose names say nothing, with the recipes that could read them."""
    columns = ", ".join(columns_of(sample)[:30])
    fitting = ", ".join(recipes.fitting(sample))
    if not fitting:
        return (
            _("What the columns hold is not clear: map them or name a recipe. The file has %s.")
            % columns
        )
    words = {"recipes": fitting, "columns": columns}
    return (
        _(
            "What the columns hold is not clear: map them or name a recipe (%(recipes)s would "
            "fit). The file has %(columns)s."
        )
        % words
    )


def _check_columns(mapping: Mapping, sample: list[dict]) -> None:
    """Refuse a mapping that names a column of which the first rows have nothing."""
    columns = columns_of(sample)
    for target, names in mapping.columns.items():
        for name in names:
            if name and paths.column_of(name, columns) not in columns:
                words = {"target": target, "name": name[:80], "columns": ", ".join(columns[:30])}
                raise MappingError(
                    _("“%(target)s” is mapped to “%(name)s”; the file has %(columns)s.") % words
                )


def provenance(file: str, known: dict) -> dict[str, Any]:
    """The fields of studies.Provenance for a file of which this is ``known``."""
    days = {name: known.get(name) or None for name in ("collected_from", "collected_to")}
    texts = {name: known.get(name) or "" for name in ("source", "citation", "licence", "consent")}
    return {"file": file[:200], **texts, **days, "languages": known.get("languages") or []}


def bring(
    study: Study, table: Table, mapping: Mapping, *, rows: Rows | None = None, **options: Any
) -> Brought:
    """Store the table's rows in ``study``, with the ``options`` of ``store.store``."""
    act = conversations.store if mapping.has("conversation") else store.store
    result = act(study, table.rows() if rows is None else rows, mapping, **options)
    unknown = _unknown(mapping, result.columns, table)
    return Brought(result.counts, result.faults.rows, result.faults.count, unknown)


def _unknown(mapping: Mapping, columns: list[str], table: Table) -> list[str]:
    if mapping.has("conversation"):
        return []
    return mappings.unknown(mapping, columns, [row for _line, row in table.sample])


def bring_bundle(
    study: Study | None, table: Table, *, by: User | None = None
) -> tuple[str, Brought]:
    """Store a zipped bundle; the slug of its study. ``study``: the only one that it may be for."""
    bundle = bundles.read(cast(Path, table.folder))
    if study is not None and bundle.study["slug"] != study.slug:
        words = {"slug": bundle.study["slug"], "study": study.slug}
        raise TableError(_("The bundle is of the study “%(slug)s”, not of “%(study)s”.") % words)
    totals = bundles.store(bundle, by)
    counts = {name: totals.get(name, 0) for name in COUNTS}
    return totals["study"], Brought(counts, [], 0, [])


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
    return TableError(sentence)
