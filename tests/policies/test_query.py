from annotation.policies import query
from tests.policies import who_may


def test_who_may_what():
    assert who_may(query) == {
        "may_read": ["researcher", "curator", "administrator", "site", "judging site"],
        "may_change": ["curator", "administrator", "site", "judging site"],
        "may_write_own": ["annotator", "judging site"],
    }
