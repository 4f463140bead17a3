from annotation.policies import study
from tests.policies import who_may


def test_who_may_what():
    assert who_may(study) == {
        "may_open": ["annotator", "researcher", "curator", "administrator", "site", "judging site"],
        "may_read": ["researcher", "curator", "administrator", "site", "judging site"],
        "may_curate": ["curator", "administrator", "site", "judging site"],
        "may_administer": ["administrator", "site", "judging site"],
        "may_create": ["curator", "administrator", "site", "judging site"],
    }
