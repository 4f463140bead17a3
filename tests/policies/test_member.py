from annotation.policies import member
from tests.policies import who_may


def test_who_may_what():
    assert who_may(member) == {
        "may_manage": ["administrator", "site", "judging site"],
        "may_return": ["annotator", "judging site"],
        "may_lack_second_factor": ["stranger", "annotator"],
    }
