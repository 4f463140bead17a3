"""The demo: loaded once, open for judging, with its votes and its history."""

import json

import pytest
from django.conf import settings

from annotation.candidates.models import Candidate
from annotation.judging.models import Slot
from annotation.studies.models import Study
from tests.commands import run

pytestmark = pytest.mark.django_db


def test_the_demo_is_loaded_once_and_open_for_judging(django_assert_max_num_queries):
    assert run("load_demo") == (
        "demo: 6 personas, 12 queries, 36 candidates, 12 items, 108 slots\n"
        "demo-votes: 0 personas, 2 queries, 70 candidates, 150 items, 750 slots\n"
        "demo-own: 0 personas, 0 queries, 0 candidates, 0 items, 0 slots\n"
    )
    assert set(Study.objects.values_list("status", flat=True)) == {"open"}
    demo = Study.objects.get(slug="demo")
    # Nobody begins with an item that they cannot read.
    assert demo.match_languages
    assert set(demo.queries.values_list("language", flat=True)) == {"en", "ko", "zh"}
    demo.title = "Our own title"
    demo.save()
    with django_assert_max_num_queries(1):
        assert run("load_demo") == ""
    demo.refresh_from_db()
    assert demo.title == "Our own title"


def test_the_demos_answers_say_who_wrote_them_and_its_votes_are_all_there():
    run("load_demo")
    answers = Candidate.objects.filter(study__slug="demo")
    assert set(answers.values_list("model", flat=True)) == {"written for the demo"}
    assert set(answers.values_list("strategy", flat=True)) == {"generic", "profile", "memories"}
    votes = Slot.objects.filter(study__slug="demo-votes", status="done")
    assert (votes.count(), votes.values("annotator").distinct().count()) == (750, 201)
    for study in Study.objects.exclude(slug="demo-votes"):
        assert set(study.consent_text.translations) == {"zh", "ko", "es"}
        assert all(set(task.translations) == {"zh", "ko", "es"} for task in study.tasks.all())
    own = Study.objects.get(slug="demo-own")
    assert own.retrieval.sources == ["history"]


def test_the_demos_history_is_read_as_one(cast):
    file = settings.BASE_DIR / "demo" / "own" / "history.json"
    study = cast.study("rain")
    cast.member("Ann", study, "annotator")
    out = json.loads(run("import_history", "ann@example.org", str(file), "--dry-run", "--json"))
    assert (out["sessions"], out["messages"], out["skipped"]) == (4, 16, [])
