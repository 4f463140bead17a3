from tests.bespoke.conftest import bespoke, fake, judged  # noqa: F401 - fixtures
from tests.evaluation.conftest import server  # noqa: F401 - a fixture
