"""Queries, of curators and of owners."""

from annotation.policies.roles import Member, annotates, curates, reads


def may_read(member: Member) -> bool:
    return reads(member)


def may_change(member: Member) -> bool:
    return curates(member)


def may_write_own(member: Member) -> bool:
    """As the owner of a history; with gold response, claims and rubric."""
    return annotates(member)
