from tests.datasets.conftest import _data  # noqa: F401 - a fixture
