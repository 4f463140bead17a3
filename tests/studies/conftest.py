from uuid import uuid4

import pytest


@pytest.fixture(autouse=True)
def _alone(settings):
    """Nobody else's tries count against the limits of these tests."""
    settings.CACHES = {"default": settings.CACHES["default"] | {"KEY_PREFIX": uuid4().hex}}


@pytest.fixture
def dora(cast, tea):
    """The administrator of "tea"."""
    return cast.member("Dora", tea, "administrator")
