"""The study "tea" of Ann's two judged answers, made once a file."""

import pytest

from annotation.queries.models import Query
from annotation.studies.models import Study
from tests.conftest import kept
from tests.papers.bespoke.conftest import judged_once

once = kept(judged_once)


@pytest.fixture
def bespoke(once, db, fake):
    return Study.objects.get(slug="tea")


@pytest.fixture
def judged(bespoke):
    return Query.objects.get()
