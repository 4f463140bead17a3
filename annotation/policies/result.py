"""Agreement, tiers, ratings and plans: what is computed of the votes."""

from annotation.policies.roles import Member, reads


def may_read(member: Member) -> bool:
    return reads(member)
