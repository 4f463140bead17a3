"""Batches and their items."""

from annotation.policies.roles import Member, curates, reads


def may_read(member: Member) -> bool:
    return reads(member)


def may_change(member: Member) -> bool:
    """Open and close batches, add items, ask more people about some."""
    return curates(member)
