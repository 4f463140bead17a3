from uuid import uuid4

import pytest

from tests.bundle_folder import Folder


@pytest.fixture(autouse=True)
def _alone(settings):
    """Nobody else's tries count against the limits of these tests."""
    settings.CACHES = {"default": settings.CACHES["default"] | {"KEY_PREFIX": uuid4().hex}}


@pytest.fixture
def dora(cast, tea):
    """The administrator of "tea"."""
    return cast.member("Dora", tea, "administrator")


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "bundle")
