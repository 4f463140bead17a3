"""The recipe for own histories, from one endpoint to a release that can test a judge."""

import pytest

from annotation.datasets import freeze
from annotation.histories import consent
from annotation.judging.batches.open import open_batch
from annotation.judging.curator import recipes
from annotation.judging.work import queue, submit
from annotation.overview.steps import figures_of, steps_of
from annotation.papers.bespoke import judge as evaluated
from annotation.queries.scenarios import FEWEST
from tests.candidates.conftest import fake  # noqa: F401 - a fixture
from tests.papers.bespoke.conftest import SEND, answered, ask, keep, scores

pytestmark = pytest.mark.django_db


@pytest.fixture
def own(cast):
    """A study of the recipe, with Ann's history and one query of hers."""
    recipe = recipes.recipes()["own-history"]
    fields = {"title": "Own", "slug": "own", "description": "", "languages": ["en"]}
    study = recipes.start_study(recipe, fields, recipe.consent["en"], cast.person("Carol"))
    ann = cast.member("Ann", study, "annotator")
    keep(ann, "Trains", "I love night trains.", "They are slow, and calm.")
    ask(study, ann)
    return study


def step(study, user, name):
    study.role = "administrator"
    return next(s for s in steps_of(study, figures_of(study), [], user) if s.name == name)


def judge(study, ann):
    open_batch(study, study.tasks.get(name="score"))
    study.refresh_from_db()
    while slot := queue.claim(study, ann):
        submit.submit(study, slot, ann, scores(slot, 4), key=str(slot))


def release(study, folder):
    wanted = freeze.request_release(study, "bespoke", "jsonl", None)
    folder.mkdir()
    freeze.write(wanted, folder)
    type(wanted).objects.filter(pk=wanted.pk).update(status="done")


def test_one_endpoint_leaves_answers_to_test_a_judge_on(cast, own, fake, tmp_path):  # noqa: F811
    ann, carol = cast.person("Ann"), cast.person("Carol")
    consent.grant(ann, own, SEND, "fake")
    rows = answered(own, fake, *(f"Take train {n}." for n in range(40)))
    assert len(rows) == 7 >= FEWEST
    assert step(own, carol, "answers").state == "done"
    judge(own, ann)
    words = "queries that can be released with tests of a judge: 1 of 1"
    assert step(own, carol, "release").figures == ["0 releases", words]
    release(own, tmp_path / "1")
    (query,) = evaluated.read(tmp_path / "1").queries
    assert (len(query.shots), len(query.tests)) == (5, 2)
    assert step(own, carol, "release").state == "done"


def test_the_overview_says_what_a_query_lacks_until_it_can_test_a_judge(
    cast,
    own,
    fake,  # noqa: F811
    tmp_path,
):
    ann, carol = cast.person("Ann"), cast.person("Carol")
    # Nothing of Ann's history may be shown: one way to answer is left.
    rows = answered(own, fake, "Take the night train.")
    assert [row.strategy for row in rows] == ["search"]
    answers = step(own, carol, "answers")
    assert answers.figures == ["1 answer", "1 query with fewer than 6 answers"]
    assert answers.state != "done"
    judge(own, ann)
    release(own, tmp_path / "1")
    released = step(own, carol, "release")
    assert released.figures == [
        "1 release",
        "queries that can be released with tests of a judge: 0 of 1",
        "A query with tests needs 6 judged answers, not all of one text: 5 are shown to the judge "
        "as examples, the others test it.",
    ]
    assert released.state != "done"


def test_an_answer_that_failed_is_none(cast, own, fake):  # noqa: F811
    ann, carol = cast.person("Ann"), cast.person("Carol")
    consent.grant(ann, own, SEND, "fake")
    rows = answered(own, fake, *(f"Take train {n}." for n in range(40)))
    own.candidates.filter(pk=rows[0].pk).update(status="failed")
    assert step(own, carol, "answers").state == "done"
    own.candidates.filter(pk=rows[1].pk).update(status="failed")
    answers = step(own, carol, "answers")
    assert answers.figures == ["5 answers", "2 failed", "1 query with fewer than 6 answers"]
    assert answers.state != "done"


def test_answers_of_one_text_test_nothing(cast, own, fake):  # noqa: F811
    ann, carol = cast.person("Ann"), cast.person("Carol")
    consent.grant(ann, own, SEND, "fake")
    answered(own, fake, *["The same."] * 40)
    judge(own, ann)
    words = "queries that can be released with tests of a judge: 0 of 1"
    assert words in step(own, carol, "release").figures
