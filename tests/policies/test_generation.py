from annotation.policies import generation
from tests.policies import who_may


def test_who_may_what():
    assert who_may(generation) == {
        "may_run": ["curator", "administrator", "site", "judging site"],
    }
