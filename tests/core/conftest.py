from tests.datasets.conftest import panel  # noqa: F401 - a fixture
