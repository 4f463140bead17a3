"""Mappings for what people have. A recipe is data: the columns of each target (``recipes.yaml``).

A target has alternatives, of which the first that the file has is taken; a list is all of its
columns together.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.records import number_of
from annotation.imports.mapping import (
    Mapping,
    MappingError,
    checked,
    columns_of,
    has_type,
    propose,
    value_at,
)

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Columns = str | list[str]


@dataclass(frozen=True)
class Recipe:
    """``required`` and ``optional`` targets, each with its alternatives."""

    title: "StrOrPromise"
    required: dict[str, Sequence[Columns]]
    optional: dict[str, Sequence[Columns]] = field(default_factory=dict)
    # Words in labels and scores, and what they stand for.
    values: dict[str, str] = field(default_factory=dict)
    # What is published of where such files come from (studies.Provenance.ASKED).
    provenance: dict[str, "str | list[str]"] = field(default_factory=dict)
    # Every column that is not named otherwise and holds numbers is a criterion.
    criteria: bool = False
    # Of conversations only answers to this turn of a person; 0 takes all.
    depth: int = 0
    # Columns by which its files are told from all others.
    known_by: Sequence[str] = ()


_TITLES = {
    "arena": gettext_lazy("Chatbot Arena battles"),
    "arena-55k": gettext_lazy("Chatbot Arena, 55k battles: turns in lists, a column an outcome"),
    "pandalm": gettext_lazy("PandaLM test set"),
    "mtbench": gettext_lazy("MT-bench human judgments"),
    "preferences": gettext_lazy("Preference pairs: prompt, chosen, rejected"),
    "prompts": gettext_lazy("Questions or prompts"),
    "answers": gettext_lazy("Answers: prompt, answer, model"),
    "ratings": gettext_lazy("Ratings: item, annotator, criterion or one column a criterion"),
    "helpsteer2": gettext_lazy("HelpSteer2: five ratings from 0 to 4 of an answer"),
    "nectar": gettext_lazy("Nectar: seven answers that GPT-4 ranked"),
    "ranks": gettext_lazy("Answers with a rank each"),
    "personas": gettext_lazy("Personas"),
    "conversations": gettext_lazy(
        "Conversations of many people: WildChat, LMSYS-Chat-1M, ShareGPT"
    ),
    "prism": gettext_lazy("PRISM utterances of opening turns: later ones need their conversation"),
    "prism-conversations": gettext_lazy(
        "PRISM conversations: every turn, and the answer that was chosen"
    ),
    "oasst": gettext_lazy("OpenAssistant trees: every message with its answers"),
    "prefeval": gettext_lazy("PrefEval: a stated preference, a question, options"),
    "prefeval-conversations": gettext_lazy(
        "PrefEval conversations: a persona, a preference in it, a question at the end"
    ),
    "personamem": gettext_lazy(
        "PersonaMem questions, with the conversations where they are joined"
    ),
    "lamp": gettext_lazy("LaMP questions"),
}
_COLUMNS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
GENERAL = {name: Recipe(title, **_COLUMNS[name]) for name, title in _TITLES.items()}


# Further recipes by name: those of papers' published tables.
SOURCES: list[Callable[[], dict[str, Recipe]]] = []


def by_name() -> dict[str, Recipe]:
    """Every recipe by its name."""
    return GENERAL | {name: made for source in SOURCES for name, made in source().items()}


def provenance_of(name: str) -> dict:
    """What the recipe ``name`` knows of where its files come from; {} where there is none."""
    recipe = by_name().get(name)
    return dict(recipe.provenance) if recipe else {}


def proposed(rows: list[dict]) -> tuple[Mapping | None, str]:
    """The mapping of a file that begins with ``rows``, and the recipe that its columns tell.

    Without such a recipe ("") what the names of columns say; None where they say nothing.
    """
    for name, recipe in by_name().items():
        if recipe.known_by and _has(rows, list(recipe.known_by)):
            with suppress(MappingError):
                return mapping_of(name, rows), name
    return propose(rows), ""


def fitting(rows: list[dict]) -> list[str]:
    """The names of the recipes that know columns of a file that begins with ``rows``."""
    names = []
    for name in by_name():
        try:
            mapping = mapping_of(name, rows)
        except MappingError:
            continue
        # A recipe that takes the whole row for a text reads any file.
        if ("",) not in mapping.columns.values():
            names.append(name)
    return names


def mapping_of(name: str, rows: list[dict]) -> Mapping:
    """The mapping that the recipe ``name`` gives for a file that begins with ``rows``.

    MappingError where there is no such recipe, or the file lacks a column that it needs.
    """
    recipe = by_name().get(name)
    if recipe is None:
        words = {"name": name[:60], "names": ", ".join(by_name())}
        raise MappingError(_("There is no recipe “%(name)s”. Known: %(names)s.") % words)
    columns: dict[str, tuple[str, ...]] = {}
    for target, alternatives in (recipe.required | recipe.optional).items():
        names = next((names for names in alternatives if _has(rows, names)), None)
        if names is not None:
            columns[target] = (names,) if isinstance(names, str) else tuple(names)
        elif target in recipe.required:
            raise MappingError(
                _("The recipe “%(recipe)s” needs a column %(names)s; the file has %(columns)s.")
                % {
                    "recipe": name,
                    "names": _(" or ").join(f"“{_shown(names)}”" for names in alternatives),
                    "columns": ", ".join(columns_of(rows)[:30]),
                }
            )
    if "type" in columns and not any(has_type(value_at(row, columns["type"][0])) for row in rows):
        del columns["type"]  # a column of that name means other things elsewhere
    if "score" in columns:
        columns.pop("label", None)
    if recipe.criteria and not {"score", "label"} & columns.keys():
        columns["score"] = tuple(_numbers(rows, columns))
    columns = {target: names for target, names in columns.items() if names}
    return checked(Mapping(columns, recipe.values, depth=recipe.depth))


def _has(rows: list[dict], names: Columns) -> bool:
    if isinstance(names, list):
        return all(_has(rows, name) for name in names)
    found = (value_at(row, names) for row in rows)
    each = (value if isinstance(value, list) else [value] for value in found)
    return any(part is not None for value in each for part in value)


def _shown(names: Columns) -> str:
    return names if isinstance(names, str) else " + ".join(names)


def _numbers(rows: list[dict], columns: dict) -> list[str]:
    """Columns that nobody uses and whose values are all numbers."""
    used = {name for names in columns.values() for name in names}

    def holds(value: Any) -> bool:
        return value in (None, "") or number_of(value) is not None

    left = [name for name in columns_of(rows) if name not in used]
    return [name for name in left if all(holds(row.get(name)) for row in rows)]
