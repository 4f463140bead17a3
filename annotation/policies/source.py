"""Where answers may look: documents, histories, the web."""

from annotation.policies.roles import Member, curates


def may_change(member: Member) -> bool:
    return curates(member)
