import pytest

from annotation.datasets import folders
from tests.bespoke.conftest import bespoke, fake, judged  # noqa: F401 - fixtures
from tests.evaluation.conftest import (
    server,  # noqa: F401 - a fixture
    write_manifest,
)
from tests.papers.bespoke.test_judge import make, row_of


@pytest.fixture
def release(tmp_path):
    return make(tmp_path / "bespoke")


@pytest.fixture
def published(tea, tmp_path, settings):
    """Release 1 of "tea", of judged answers."""
    settings.DATA = tmp_path / "data"
    row = row_of(tea)
    write_manifest(make(folders.folder_of(row)), row)
    return row
