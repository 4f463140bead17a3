"""What curators and annotators write to each other."""

from annotation.policies.roles import Member, annotates, curates


def may_read(member: Member) -> bool:
    """Also write: an annotator to the curators."""
    return annotates(member) or curates(member)


def may_write_to_all(member: Member) -> bool:
    """Also to one annotator, and read what others wrote."""
    return curates(member) and not annotates(member)
