"""The names of the roles in a study, and how somebody stands to one: all that policies know."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

ANNOTATOR = "annotator"
CURATOR = "curator"
RESEARCHER = "researcher"
ADMINISTRATOR = "administrator"
ROLES = (ANNOTATOR, CURATOR, RESEARCHER, ADMINISTRATOR)


class Person(Protocol):
    """Anybody, logged in or not; ``is_superuser``: administers the site."""

    @property
    def is_superuser(self) -> bool: ...


class Member(NamedTuple):
    """A person as one study sees them; ``role`` is None for who is no member."""

    role: str | None
    is_superuser: bool = False


def annotates(member: Member) -> bool:
    """The one role that the site's administrator has not: whoever judges must be a member."""
    return member.role == ANNOTATOR


def administers(member: Member) -> bool:
    return member.is_superuser or member.role == ADMINISTRATOR


def curates(member: Member) -> bool:
    return administers(member) or member.role == CURATOR


def reads(member: Member) -> bool:
    return curates(member) or member.role == RESEARCHER


def holding(may: Callable[[Member], bool]) -> list[str]:
    """The roles whose members a policy lets, for a query."""
    return [role for role in ROLES if may(Member(role))]
