"""The people of a study: roles, invitations, join codes, crowds."""

from annotation.policies.roles import ANNOTATOR, Member, administers, annotates


def may_manage(member: Member) -> bool:
    return administers(member)


def may_return(member: Member) -> bool:
    """Give a place back to the crowd's platform."""
    return annotates(member)


def may_lack_second_factor(member: Member) -> bool:
    """Where ATTUNE_REQUIRE_MFA is set."""
    return not member.is_superuser and member.role in (None, ANNOTATOR)
