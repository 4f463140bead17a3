"""What is asked, and by which rules."""

from annotation.policies.roles import Member, curates, reads


def may_read(member: Member) -> bool:
    return reads(member)


def may_change(member: Member) -> bool:
    return curates(member)
