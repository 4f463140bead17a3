import pytest

from tests.bundle_folder import Folder


@pytest.fixture
def dora(cast, tea):
    """The administrator of "tea"."""
    return cast.member("Dora", tea, "administrator")


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "bundle")
