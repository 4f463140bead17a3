"""Steps that have models write material, their prompts and rules, and the review."""

from annotation.policies.roles import Member, curates


def may_run(member: Member) -> bool:
    return curates(member)
