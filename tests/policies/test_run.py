from annotation.policies import run
from tests.policies import who_may


def test_who_may_what():
    assert who_may(run) == {
        "may_read": ["researcher", "curator", "administrator", "site", "judging site"],
        "may_start": ["curator", "administrator", "site", "judging site"],
    }
