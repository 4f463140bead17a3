"""The layouts of a release, one pure module each: the general ones, and those of papers.

A layout has ``FORMATS`` (the first is the default), ``TIERED`` (whether it publishes pairs by a
rule, so that tiers outside their bands block it), ``tables(format, rule)`` giving {name:
writers.Table}, ``MAIN``: without a row in a table whose name begins so there is no release, since
it would hold no ``ROWS_ARE``; and ``ROWS``: for "personas", "attributes", "owners", "items" and
"candidates", where wanted, a function from a record to (table, row); that of an item takes its
verdict, pair or None, and posterior, too. ``VERSION``, if other than 1, is that of its files:
another form of them is another version. ``RULES``, if any, go into the manifest's rules, what
``remarks`` yields of an owner into its remarks; ``texts``, if there, makes {path: text} of further
files from the paths of the tables that have rows.
"""

from types import ModuleType

from annotation.core.errors import DomainError
from annotation.datasets import papers
from annotation.datasets.layouts import arena, dpo, long

GENERAL = {"long": long, "dpo": dpo, "arena": arena}


def by_name() -> dict[str, ModuleType]:
    """Every layout by its name, those of papers first."""
    return {paper.name: paper.layout for paper in papers.registered().values()} | GENERAL


def measured() -> list[str]:
    """The layouts on whose releases models are measured: of pairs, or of what a judge is asked."""
    asked = [paper.name for paper in papers.registered().values() if paper.settings or paper.judge]
    return [*asked, "dpo"]


def layout_of(name: str) -> ModuleType:
    """Return the module of the layout ``name``; DomainError where it cannot be made."""
    known = by_name()
    if name not in known:
        names = ", ".join(known)
        raise DomainError(f"There is no layout “{name[:40]}”. Known: {names}.", code="layout")
    return known[name]


def version_of(name: str) -> int:
    return getattr(layout_of(name), "VERSION", 1)


def check_kinds(name: str, kinds: set[str]) -> None:
    """DomainError where the layout ``name`` needs other kinds of judgment than ``kinds``."""
    paper = papers.named(name)
    if paper and paper.needs and not kinds.intersection(paper.kinds):
        sentence = f"The {name} layout needs {paper.needs}, and this study has none."
        raise DomainError(sentence, code="layout")


def suited(kinds: set[str], persons: bool = True) -> str:
    """The layout of the paper that collects such kinds of judgment; "long" where there is none.

    ``persons``: whether each item is about one person.
    """
    paper = papers.suiting(kinds, persons)
    return paper.name if paper else "long"


def format_of(name: str, wanted: str = "") -> str:
    """Return the format in which the layout ``name`` is written; DomainError for another one."""
    formats = layout_of(name).FORMATS
    if wanted and wanted not in formats:
        raise DomainError(
            f"The {name} layout is written as {' or '.join(formats)}, not “{wanted[:20]}”.",
            code="format",
        )
    return wanted or formats[0]
