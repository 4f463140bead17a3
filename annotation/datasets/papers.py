"""The papers that are known here: each a folder in ``annotation/papers``, or somebody's package.

A package names its ``Paper`` as an entry point of the group ``attune.papers``. Papers are loaded
when they are first asked for. General code asks this registry and spells no paper's name. Pure.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from django.core.exceptions import ImproperlyConfigured

GROUP = "attune.papers"


@dataclass(frozen=True)
class Card:
    """What the dataset card says of the paper's layout.

    ``about`` tells what a release holds, ``limits`` its limits where it publishes no tiers, and
    ``remarks`` has a sentence for each remark that the layout makes.
    """

    about: str
    limits: tuple[str, ...] = ()
    remarks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Paper:
    """A paper's method: what its studies begin with, how its releases are written and read.

    ``name`` is that of its layout, on the command line as in manifests; ``title`` is the paper's.
    """

    name: str
    title: str
    card: Card
    # The kinds of judgment that it collects.
    kinds: tuple[str, ...]
    # Writes a release (``layouts``).
    layout: ModuleType
    # Tables of which a release has at least one: by them a folder without manifest is recognised.
    tables: tuple[str, ...]
    # Gives a release's rows as those of a bundle: a ``released.Layout``. In its place
    # ``store(folder, slug, by)`` may make the study itself and return ``release_import.report``.
    reader: type | None = None
    store: Callable | None = None
    # Whether its layout suits only items about one person: with a persona, or by their owner.
    persons: bool = False
    # What a study has that can be released so, in words; "" where any study may be tried.
    needs: str = ""
    # (file, what is wrong) of each fault in a folder that digests do not show.
    faults: Callable[[Path], Iterable[tuple[str, str]]] | None = None
    # What a model may be shown that chooses between a release's pairs (``evaluation.pairs``); ()
    # where it has none in a file for each half and tier.
    settings: tuple[str, ...] = ()
    # Asks a model what people were asked (``evaluation.judges``).
    judge: ModuleType | None = None
    # How people and models judge the same items, stage by stage, and the items behind a number of
    # that (``evaluation.gap``).
    report: ModuleType | None = None
    units: ModuleType | None = None
    # Whether some of a query's judged answers are shots for a judge, and the others test it.
    shots: bool = False
    # The folder of what new studies begin with (``judging.curator.recipes``).
    recipes: Path | None = None
    # Ways to have answers written, by name: each a ``candidates.strategies.Strategy``.
    strategies: Mapping[str, Any] = field(default_factory=dict)
    # Columns of published tables by the name of an ``imports.recipes.Recipe``.
    mappings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.reader is None) == (self.store is None):
            raise ImproperlyConfigured(f"The paper {self.name} needs either a reader or a store.")


Source = Callable[[], Iterable[EntryPoint]]
SOURCES: list[Source] = [lambda: entry_points(group=GROUP)]


@cache
def registered() -> dict[str, Paper]:
    """Every paper by its name; ImproperlyConfigured where one cannot be used."""
    papers: dict[str, Paper] = {}
    for entry in (entry for source in SOURCES for entry in source()):
        paper = entry.load()
        if not isinstance(paper, Paper):
            raise ImproperlyConfigured(f"The entry point {entry.name} ({entry.value}) is no Paper.")
        if paper.name in papers:
            raise ImproperlyConfigured(f"Two papers have the name {paper.name}.")
        papers[paper.name] = paper
    return papers


def named(name: str) -> Paper | None:
    return registered().get(name)


def suiting(kinds: set[str], persons: bool = True) -> Paper | None:
    """The first paper that collects such kinds of judgment, of ``persons`` or not."""
    suited = (paper for paper in registered().values() if persons or not paper.persons)
    return next((paper for paper in suited if kinds.intersection(paper.kinds)), None)


def recipe_folders() -> list[Path]:
    """The folders of what new studies begin with."""
    return [paper.recipes for paper in registered().values() if paper.recipes]


def mappings() -> dict[str, Any]:
    """The recipes for the papers' published tables, by name."""
    return {name: made for paper in registered().values() for name, made in paper.mappings.items()}


def strategies() -> dict[str, Any]:
    """The papers' ways to have answers written, by name."""
    every = registered().values()
    return {name: made for paper in every for name, made in paper.strategies.items()}
