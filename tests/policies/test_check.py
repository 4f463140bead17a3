from annotation.policies import check
from tests.policies import who_may


def test_who_may_what():
    assert who_may(check) == {
        "may_change": ["curator", "administrator", "site", "judging site"],
    }
