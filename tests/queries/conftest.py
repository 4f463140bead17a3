from tests.papers.bespoke.conftest import bespoke, fake  # noqa: F401 - fixtures
