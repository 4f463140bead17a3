from annotation.policies import release
from tests.policies import who_may


def test_who_may_what():
    assert who_may(release) == {
        "may_read": ["researcher", "curator", "administrator", "site", "judging site"],
        "may_freeze": ["researcher", "curator", "administrator", "site", "judging site"],
        "may_delete": ["curator", "administrator", "site", "judging site"],
        "may_import_into": ["curator", "administrator", "site", "judging site"],
    }
