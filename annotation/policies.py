"""Who may what: a table for each resource, asked by pages and API alike.

A policy is a pure function of how somebody stands to the study. What belongs to one person alone
(histories, tokens, own queries, slots in hand) needs none: it is fetched by its owner.
"""

from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(eq=False)
class Policy:
    """A rule under a name of its own; called with a member, or with a person for the server."""

    rule: Callable[..., bool]

    def __call__(self, member: Member | Person) -> bool:
        return self.rule(member)


class batch:
    """Batches and their items."""

    may_read = Policy(reads)
    # Open and close batches, add items, ask more people about some.
    may_change = Policy(curates)


class candidate:
    """Answers to queries, written by models or brought along."""

    may_read = Policy(reads)
    # Have answers written, add and drop them.
    may_change = Policy(curates)


class check:
    """Training items, gold items and repeats."""

    # Also read: whoever sees them knows what annotators must not.
    may_change = Policy(curates)


class data_import:
    """Tables and bundles that are brought into a study."""

    may_manage = Policy(curates)


class generation:
    """Steps that have models write material, their prompts and rules, and the review."""

    may_run = Policy(curates)


class installation:
    """The server itself: accounts, jobs, the audit trail."""

    may_operate = Policy(lambda person: person.is_superuser)


class judgment:
    """Judgments, and what is said about them."""

    may_give = Policy(annotates)
    # See and download what one gave, and take it out.
    may_read_own = Policy(annotates)
    # Those of all annotators.
    may_read = Policy(reads)
    may_adjudicate = Policy(curates)
    may_answer_comments = Policy(curates)


class member:
    """The people of a study: roles, invitations, join codes, crowds."""

    may_manage = Policy(administers)
    # Give a place back to the crowd's platform.
    may_return = Policy(annotates)
    # Where ATTUNE_REQUIRE_MFA is set.
    may_lack_second_factor = Policy(
        lambda member: not member.is_superuser and member.role in (None, ANNOTATOR)
    )


class message:
    """What curators and annotators write to each other."""

    # Also write: an annotator to the curators.
    may_read = Policy(lambda member: annotates(member) or curates(member))
    # Also to one annotator, and read what others wrote.
    may_write_to_all = Policy(lambda member: curates(member) and (not annotates(member)))


class persona:
    """Personas with their memories and attributes."""

    may_read = Policy(reads)
    may_change = Policy(curates)


class query:
    """Queries, of curators and of owners."""

    may_read = Policy(reads)
    may_change = Policy(curates)
    # As the owner of a history; with gold response, claims and rubric.
    may_write_own = Policy(annotates)


class rater:
    """Annotators as raters: signs, answers to checks, what was done about them."""

    may_read = Policy(reads)
    # Pause, exclude, train again.
    may_sanction = Policy(curates)


class release:
    """Releases of a study, and studies made of releases."""

    may_read = Policy(reads)
    may_freeze = Policy(reads)
    may_delete = Policy(curates)
    # Bring a release into a study that is there already.
    may_import_into = Policy(curates)


class result:
    """Agreement, tiers, ratings and plans: what is computed of the votes."""

    may_read = Policy(reads)


class run:
    """Runs of models on releases and on the items of a study."""

    may_read = Policy(reads)
    # Start a run or go on with one: it costs money.
    may_start = Policy(curates)


class source:
    """Where answers may look: documents, histories, the web."""

    may_change = Policy(curates)


class study:
    """A study as a whole."""

    # Know of it, and read what all its members read.
    may_open = Policy(lambda member: member.is_superuser or member.role is not None)
    # See how far its work is.
    may_read = Policy(reads)
    # Take things out of it.
    may_curate = Policy(curates)
    # Settings, texts, opening and closing, deletion.
    may_administer = Policy(administers)
    # Start another one, for who stands so to any study.
    may_create = Policy(curates)


class task:
    """What is asked, and by which rules."""

    may_read = Policy(reads)
    may_change = Policy(curates)


class webhook:
    """Addresses that are told what happens."""

    may_manage = Policy(curates)
