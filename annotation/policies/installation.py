"""The server itself: accounts, jobs, the audit trail."""

from annotation.policies.roles import Person


def may_operate(person: Person) -> bool:
    return person.is_superuser
