import pkgutil
from pathlib import Path

from annotation import policies
from annotation.policies.roles import ROLES, Member, holding
from annotation.studies.models import Role


def test_the_roles_are_those_that_a_member_can_have():
    assert set(ROLES) == set(Role.values)


def test_holding_names_the_roles_whose_members_a_policy_lets():
    assert holding(lambda member: member.role in ("curator", "researcher")) == [
        "curator",
        "researcher",
    ]
    # The site's administrator has no role by that.
    assert holding(lambda member: member.is_superuser) == []
    assert holding(lambda member: member == Member("annotator")) == ["annotator"]


def test_each_resource_has_its_policies_written_out_here():
    modules = {module.name for module in pkgutil.iter_modules(policies.__path__)}
    written = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}
    assert modules == written
