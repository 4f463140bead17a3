"""Tables and bundles that are brought into a study."""

from annotation.policies.roles import Member, curates


def may_manage(member: Member) -> bool:
    return curates(member)
