from annotation.policies import webhook
from tests.policies import who_may


def test_who_may_what():
    assert who_may(webhook) == {
        "may_manage": ["curator", "administrator", "site", "judging site"],
    }
