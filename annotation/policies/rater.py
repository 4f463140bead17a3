"""Annotators as raters: signs, answers to checks, what was done about them."""

from annotation.policies.roles import Member, curates, reads


def may_read(member: Member) -> bool:
    return reads(member)


def may_sanction(member: Member) -> bool:
    """Pause, exclude, train again, note a bonus."""
    return curates(member)
