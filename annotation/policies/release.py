"""Releases of a study, and studies made of releases."""

from annotation.policies.roles import Member, curates, reads


def may_read(member: Member) -> bool:
    return reads(member)


def may_freeze(member: Member) -> bool:
    return reads(member)


def may_delete(member: Member) -> bool:
    return curates(member)


def may_import_into(member: Member) -> bool:
    """Bring a release into a study that is there already."""
    return curates(member)
