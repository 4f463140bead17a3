"""Judgments, and what is said about them."""

from annotation.policies.roles import Member, annotates, curates, reads


def may_give(member: Member) -> bool:
    return annotates(member)


def may_read_own(member: Member) -> bool:
    """See and download what one gave, and take it out."""
    return annotates(member)


def may_read(member: Member) -> bool:
    """Those of all annotators."""
    return reads(member)


def may_adjudicate(member: Member) -> bool:
    return curates(member)


def may_answer_comments(member: Member) -> bool:
    return curates(member)
