from annotation.policies import result
from tests.policies import who_may


def test_who_may_what():
    assert who_may(result) == {
        "may_read": ["researcher", "curator", "administrator", "site", "judging site"],
    }
