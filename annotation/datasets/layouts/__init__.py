"""The layouts of a release, one pure module each. A new layout copies its nearest sister.

A layout has ``FORMATS`` (the first is the default), ``TIERED`` (whether it publishes pairs by a
rule, so that tiers outside their bands block it), ``tables(format, rule)`` giving {name:
writers.Table}, ``is_main(table)``: without a row in such a table there is no release, since it
would hold no ``ROWS_ARE``; and ``ROWS``: for "personas", "attributes", "owners" and "items", where
wanted, a function from a record to (table, row), for "votes" from a records.Chunk, for
"candidates" from their columns, and for "chunks", in place of items and votes, from a
records.Chunk, its decided.Decided and the posteriors. ``RULES``, if any, go into the
manifest's rules, what ``remarks`` yields of an owner into its remarks; ``texts``, if there, makes
{path: text} of further files from the paths of the tables that have rows; ``KINDS``, if any, are
the kinds of judgment of which the study must have one.
"""

from types import ModuleType

from annotation.core.errors import DomainError
from annotation.datasets.layouts import bespoke, dpo, long, personafeedback, personalbench

LAYOUTS = {
    "bespoke": bespoke,
    "personafeedback": personafeedback,
    "personalbench": personalbench,
    "long": long,
    "dpo": dpo,
}
# The papers' layouts by what they publish.
SUITED = {
    "feedback": "bespoke",
    "selection": "personafeedback",
    "attribute": "personalbench",
    "relevance": "personalbench",
    "preference": "personalbench",
}
# What published layouts are made of, where not every study has it.
NEEDS = {
    "bespoke": "scored feedback by the owners of histories",
    "personalbench": "judgments of attributes, of their relevance, or preferences",
}


def layout_of(name: str) -> ModuleType:
    """Return the module of the layout ``name``; DomainError where it cannot be made."""
    if name not in LAYOUTS:
        names = ", ".join(LAYOUTS)
        raise DomainError(f"There is no layout “{name[:40]}”. Known: {names}.", code="layout")
    return LAYOUTS[name]


def check_kinds(name: str, kinds: set[str]) -> None:
    """DomainError where the layout ``name`` needs other kinds of judgment than ``kinds``."""
    needed = getattr(layout_of(name), "KINDS", None)
    if needed and not kinds.intersection(needed):
        raise _lacks(name)


def suited(kinds: set[str]) -> str:
    """The layout of the paper that collects such kinds of judgment; "long" where there is none."""
    return next((SUITED[kind] for kind in SUITED if kind in kinds), "long")


def _lacks(name: str) -> DomainError:
    sentence = f"The {name} layout needs {NEEDS[name]}, and this study has none."
    return DomainError(sentence, code="layout")


def format_of(name: str, wanted: str = "") -> str:
    """Return the format in which the layout ``name`` is written; DomainError for another one."""
    formats = layout_of(name).FORMATS
    if wanted and wanted not in formats:
        raise DomainError(
            f"The {name} layout is written as {' or '.join(formats)}, not “{wanted[:20]}”.",
            code="format",
        )
    return wanted or formats[0]
