"""The kinds of judgment, one module each. A new kind copies its nearest sister.

A kind has ``MODEL``, ``TEMPLATE``, ``check_config(config)``, ``read(data, config, options)`` and
``store(held, answer, **common)``; hand-out and submit know nothing of what its answers are.
"""

from annotation.core.errors import DomainError
from annotation.judging.kinds import selection

KINDS = {"selection": selection}


def kind_of(name: str):
    """Return the module of the kind ``name``; DomainError where there is none."""
    if name not in KINDS:
        known = ", ".join(KINDS)
        raise DomainError(f"There is no kind of task “{name}”. Known: {known}.", code="kind")
    return KINDS[name]
