"""Personas with their memories and attributes."""

from annotation.policies.roles import Member, curates, reads


def may_read(member: Member) -> bool:
    return reads(member)


def may_change(member: Member) -> bool:
    return curates(member)
