from annotation.policies import message
from tests.policies import who_may


def test_who_may_what():
    assert who_may(message) == {
        "may_read": ["annotator", "curator", "administrator", "site", "judging site"],
        "may_write_to_all": ["curator", "administrator", "site"],
    }
