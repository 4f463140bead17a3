"""Addresses that are told what happens."""

from annotation.policies.roles import Member, curates


def may_manage(member: Member) -> bool:
    return curates(member)
