"""The history beside an item: one's own for its owner, for others what the owner shows."""

import pytest

from annotation.histories import consent
from annotation.judging.batches.open import open_batch
from annotation.judging.work import queue
from annotation.queries import owner_queries
from annotation.studies.models import TaskDefinition
from tests.papers.bespoke.conftest import answered, checked, keep


@pytest.fixture
def shown(cast, bespoke, fake, login, ann):
    """A function: what stands beside the first item of Ann's query for somebody, as text."""
    ground = keep(ann, "Sleepers", "GROUND-CANARY of a sleeper")
    query = owner_queries.begin(bespoke, ann)
    said = {"text": "Which night train?", "guide": {"want": "Sleep."}, "grounds": [ground.pk]}
    owner_queries.finish(owner_queries.write_query(query, ann, **said), ann)
    answered(bespoke, fake, strategies=["search"])
    third = TaskDefinition.objects.create(
        study=bespoke, name="others", kind="feedback", overlap=1, config=checked("feedback", {})
    )
    open_batch(bespoke, bespoke.tasks.get(name="score"))
    open_batch(bespoke, third)

    def of(name):
        person = cast.person(name)
        slot = queue.claim(bespoke, person)
        page = login(person)
        assert f"/judge/beside/{slot}/" in page.get("/studies/tea/judge/").text
        return page.get(f"/studies/tea/judge/beside/{slot}/").text

    return of


def test_the_owner_sees_the_sessions_nearest_to_the_question(shown):
    text = shown("Ann")
    assert "ANN-CANARY" in text
    assert "GROUND-CANARY" in text
    assert "BO-CANARY" not in text


def test_another_judge_sees_only_grounds_and_only_with_consent(cast, bespoke, shown):
    assert "CANARY" not in shown("Bo")
    consent.grant(cast.person("Ann"), bespoke, "show_to_judges")
    text = shown("Bo")
    assert "GROUND-CANARY" in text
    assert "ANN-CANARY" not in text
