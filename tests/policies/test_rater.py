from annotation.policies import rater
from tests.policies import who_may


def test_who_may_what():
    assert who_may(rater) == {
        "may_read": ["researcher", "curator", "administrator", "site", "judging site"],
        "may_sanction": ["curator", "administrator", "site", "judging site"],
    }
