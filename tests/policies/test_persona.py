from annotation.policies import persona
from tests.policies import who_may


def test_who_may_what():
    assert who_may(persona) == {
        "may_read": ["researcher", "curator", "administrator", "site", "judging site"],
        "may_change": ["curator", "administrator", "site", "judging site"],
    }
