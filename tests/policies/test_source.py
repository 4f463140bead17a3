from annotation.policies import source
from tests.policies import who_may


def test_who_may_what():
    assert who_may(source) == {
        "may_change": ["curator", "administrator", "site", "judging site"],
    }
