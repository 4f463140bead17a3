"""Training items, gold items and repeats."""

from annotation.policies.roles import Member, curates


def may_change(member: Member) -> bool:
    """Also read: whoever sees them knows what annotators must not."""
    return curates(member)
