from annotation.policies import judgment
from tests.policies import who_may


def test_who_may_what():
    assert who_may(judgment) == {
        "may_give": ["annotator", "judging site"],
        "may_read_own": ["annotator", "judging site"],
        "may_read": ["researcher", "curator", "administrator", "site", "judging site"],
        "may_adjudicate": ["curator", "administrator", "site", "judging site"],
        "may_answer_comments": ["curator", "administrator", "site", "judging site"],
    }
