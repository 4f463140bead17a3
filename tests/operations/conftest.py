import pytest


@pytest.fixture
def ada(cast, login):
    user = cast.person("Ada")
    user.is_superuser = True
    user.save()
    return login(user)
