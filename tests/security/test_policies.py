"""Who may what, written out a second time: a policy that is changed by mistake fails here."""

import inspect

from annotation import policies
from annotation.policies import ROLES, Member, holding
from annotation.studies.models import Role

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
SITE = ["site", "judging site"]
ADMINISTRATORS = ["administrator", *SITE]
CURATORS = ["curator", *ADMINISTRATORS]
READERS = ["researcher", *CURATORS]
ANNOTATORS = ["annotator", "judging site"]
EXPECTED = {
    "batch.may_read": READERS,
    "batch.may_change": CURATORS,
    "candidate.may_read": READERS,
    "candidate.may_change": CURATORS,
    "check.may_change": CURATORS,
    "data_import.may_manage": CURATORS,
    "generation.may_run": CURATORS,
    "installation.may_operate": SITE,
    "judgment.may_give": ANNOTATORS,
    "judgment.may_read_own": ANNOTATORS,
    "judgment.may_read": READERS,
    "judgment.may_adjudicate": CURATORS,
    "judgment.may_answer_comments": CURATORS,
    "member.may_manage": ADMINISTRATORS,
    "member.may_return": ANNOTATORS,
    "member.may_lack_second_factor": ["stranger", "annotator"],
    "message.may_read": ["annotator", "curator", "administrator", "site", "judging site"],
    "message.may_write_to_all": ["curator", "administrator", "site"],
    "persona.may_read": READERS,
    "persona.may_change": CURATORS,
    "query.may_read": READERS,
    "query.may_change": CURATORS,
    "query.may_write_own": ANNOTATORS,
    "rater.may_read": READERS,
    "rater.may_sanction": CURATORS,
    "release.may_read": READERS,
    "release.may_freeze": READERS,
    "release.may_delete": CURATORS,
    "release.may_import_into": CURATORS,
    "result.may_read": READERS,
    "run.may_read": READERS,
    "run.may_start": CURATORS,
    "source.may_change": CURATORS,
    "study.may_open": ["annotator", *READERS],
    "study.may_read": READERS,
    "study.may_curate": CURATORS,
    "study.may_administer": ADMINISTRATORS,
    "study.may_create": CURATORS,
    "task.may_read": READERS,
    "task.may_change": CURATORS,
    "webhook.may_manage": CURATORS,
}


def test_each_policy_lets_those_whom_this_table_names():
    lets = {
        f"{resource}.{name}": [who for who, member in STANDINGS.items() if policy(member)]
        for resource, table in inspect.getmembers(policies, inspect.isclass)
        for name, policy in vars(table).items()
        if isinstance(policy, policies.Policy)
    }
    assert lets == EXPECTED


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
