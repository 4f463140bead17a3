from annotation.policies import installation
from tests.policies import who_may


def test_who_may_what():
    assert who_may(installation) == {
        "may_operate": ["site", "judging site"],
    }
