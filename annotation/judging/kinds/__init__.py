"""The kinds of judgment, one module each. A new kind copies its nearest sister.

A kind has ``MODEL``, ``TEMPLATE``, ``NAME``, ``QUESTION``, ``ASKS`` (what its items must have:
"query", "options", "attribute", "gold"), ``DEFAULTS``, ``check_config(config)``,
``read(data, held) -> Answer``, ``store(answer, **common)``, ``answer_of(judgment) -> Answer``,
``typed(answer, shown)`` (the form's fields that give the answer again) and
``context(shown, typed)`` for its template. An Answer has a ``label`` on which annotators agree or
not, and the ``counter`` of the item that counts it, or "". Hand-out and submit know nothing else.
"""

from annotation.core.errors import DomainError
from annotation.judging.kinds import (
    attribute,
    claims,
    feedback,
    preference,
    relevance,
    selection,
    words,
)

KINDS = {
    "selection": selection,
    "preference": preference,
    "feedback": feedback,
    "attribute": attribute,
    "relevance": relevance,
    "claims": claims,
}


def kind_of(name: str):
    """Return the module of the kind ``name``; DomainError where there is none."""
    if name not in KINDS:
        known = ", ".join(KINDS)
        raise DomainError(f"There is no kind of task “{name}”. Known: {known}.", code="kind")
    return KINDS[name]


def config_of(name: str, stored: dict) -> dict:
    """A task's stored settings, with the defaults of those that came after it was defined."""
    return words.CONFIG | kind_of(name).DEFAULTS | stored
