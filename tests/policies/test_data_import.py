from annotation.policies import data_import
from tests.policies import who_may


def test_who_may_what():
    assert who_may(data_import) == {
        "may_manage": ["curator", "administrator", "site", "judging site"],
    }
