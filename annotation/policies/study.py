"""A study as a whole."""

from annotation.policies.roles import Member, administers, curates, reads


def may_open(member: Member) -> bool:
    """Know of it, and read what all its members read."""
    return member.is_superuser or member.role is not None


def may_read(member: Member) -> bool:
    """See how far its work is."""
    return reads(member)


def may_curate(member: Member) -> bool:
    """Take things out of it."""
    return curates(member)


def may_administer(member: Member) -> bool:
    """Settings, texts, opening and closing, deletion."""
    return administers(member)


def may_create(member: Member) -> bool:
    """Start another one, for who stands so to any study."""
    return curates(member)
