"""Runs of models on releases and on the items of a study."""

from annotation.policies.roles import Member, curates, reads


def may_read(member: Member) -> bool:
    return reads(member)


def may_start(member: Member) -> bool:
    """Start a run or go on with one: it costs money."""
    return curates(member)
