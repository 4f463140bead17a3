"""Who may what, written out a second time: a policy that is changed by mistake fails here."""

import inspect
from types import ModuleType

from annotation.policies.roles import Member

# Each way of standing to a study, under the name by which the tests here speak of it.
STANDINGS = {
    "stranger": Member(None),
    "annotator": Member("annotator"),
    "researcher": Member("researcher"),
    "curator": Member("curator"),
    "administrator": Member("administrator"),
    # The site's administrator, who is no member, and one who annotates.
    "site": Member(None, is_superuser=True),
    "judging site": Member("annotator", is_superuser=True),
}


def who_may(policies: ModuleType) -> dict[str, list[str]]:
    """{policy: the standings that it lets}, of all policies of a resource."""
    functions = inspect.getmembers(policies, inspect.isfunction)
    return {
        name: [standing for standing, member in STANDINGS.items() if policy(member)]
        for name, policy in functions
        if policy.__module__ == policies.__name__
    }
