"""The layouts of a release, one pure module each. A new layout copies its nearest sister.

A layout has ``FORMATS`` (the first is the default), ``TIERED`` (whether it publishes tiers, so that
tiers outside their bands block it), ``tables(format)`` giving {name: writers.Table}, and ``ROWS``:
for "personas", "items" and "candidates", where wanted, a function from a record to (table, row).
"""

from annotation.core.errors import DomainError
from annotation.datasets.layouts import dpo, long, personafeedback

LAYOUTS = {"personafeedback": personafeedback, "long": long, "dpo": dpo}
# Published layouts of judgments that a study of the kind "selection" does not hold.
OTHER_KINDS = {
    "bespoke": "scored feedback by the owners of histories",
    "personalbench": "verdicts on attributes",
}


def layout_of(name: str):
    """Return the module of the layout ``name``; DomainError where it cannot be made."""
    if name in OTHER_KINDS:
        raise DomainError(
            f"The {name} layout needs {OTHER_KINDS[name]}, and this study has none.", code="layout"
        )
    if name not in LAYOUTS:
        known = ", ".join(LAYOUTS)
        raise DomainError(f"There is no layout “{name[:40]}”. Known: {known}.", code="layout")
    return LAYOUTS[name]


def format_of(name: str, wanted: str = "") -> str:
    """Return the format in which the layout ``name`` is written; DomainError for another one."""
    formats = layout_of(name).FORMATS
    if wanted and wanted not in formats:
        raise DomainError(
            f"The {name} layout is written as {' or '.join(formats)}, not “{wanted[:20]}”.",
            code="format",
        )
    return wanted or formats[0]
