"""Answers to queries, written by models or brought along."""

from annotation.policies.roles import Member, curates, reads


def may_read(member: Member) -> bool:
    return reads(member)


def may_change(member: Member) -> bool:
    """Have answers written, add and drop them."""
    return curates(member)
