"""What curators do about raters: pause, exclude, reset, reward."""

from functools import partial

import pytest
from django.urls import reverse

from annotation.core.errors import Conflict
from annotation.core.models import AuditEvent
from annotation.judging.curator import sanctions
from annotation.judging.models import Item, Judgment, Participation, Slot
from annotation.judging.work import queue, submit
from tests.agreement.test_records import of
from tests.judging.test_checks import add_checks, purposes, rates
from tests.judging.test_judge_views import URL
from tests.judging.test_queue import choose, expire_now, judge


@pytest.fixture
def carol(cast, tea):
    return cast.person("Carol")


def test_who_is_paused_reads_the_sentence_keeps_what_they_hold_and_may_be_resumed(
    cast, tea, login, carol, ann
):
    cast.open(tea, items=3, overlap=1)
    slot = queue.claim(tea, ann)
    client = login(carol)
    pause = reverse("rater-pause", args=["tea", ann.pk])
    assert "Write the sentence" in client.post(pause, follow=True).text
    client.post(pause, {"sentence": "Please write to us first."})
    assert queue.claim(tea, ann) == slot
    submit.submit(tea, slot, ann, choose(slot), key="k")
    assert queue.claim(tea, ann) is None
    assert "Please write to us first." in login(ann).get(URL).text
    login(carol).post(reverse("rater-resume", args=["tea", ann.pk]))
    assert queue.claim(tea, ann) is not None
    actions = (
        AuditEvent.objects.filter(target="participation")
        .order_by("pk")
        .values_list("action", "actor")
    )
    assert list(actions) == [("participation.pause", carol.pk), ("participation.resume", carol.pk)]


def test_exclusion_takes_the_votes_out_opens_the_items_and_is_for_good(
    cast, tea, login, carol, ann, bo
):
    cast.open(tea, items=3, overlap=1)
    purposes(tea, ann)
    client = login(carol)
    address = reverse("rater-exclude", args=["tea", ann.pk])
    assert "Give the reason" in client.post(address, follow=True).text
    assert Participation.objects.get(annotator=ann).excluded_at is None
    page = client.post(address, {"reason": "a bot"}, follow=True).text
    assert "3 judgments are taken out" in page and "a bot" in page
    assert list(Item.objects.values_list("done", flat=True)) == [0, 0, 0]
    assert tea.memberships.filter(user=ann, left_at=None).exists()
    assert queue.claim(tea, ann) is None
    assert "ended your part" in login(ann).get(URL).text
    assert purposes(tea, bo) == ["work"] * 3
    for again in (sanctions.resume, sanctions.retrain, partial(sanctions.exclude, reason="more")):
        with pytest.raises(Conflict):
            again(tea, ann, by=carol)
    assert of(tea, ann, also=ann).judgments == 3


def test_a_late_answer_of_an_excluded_person_is_refused(cast, tea, carol, ann):
    cast.open(tea, items=1, overlap=1)
    slot = queue.claim(tea, ann)
    expire_now(slot)
    sanctions.exclude(tea, ann, "a bot", by=carol)
    with pytest.raises(Conflict) as refusal:
        submit.submit(tea, slot, ann, choose(slot), key="late")
    assert refusal.value.code == "excluded"
    assert Judgment.objects.count() == 0


def test_a_failed_training_is_done_once_more_after_a_reset(cast, tea, carol, ann, bo):
    cast.open(tea, items=2, overlap=2)
    items = add_checks(cast, tea, "training", 2, expected="1")
    rates(tea, pass_mark=1)
    assert purposes(tea, ann, number=2) == ["training", "training"]
    assert Participation.objects.get(annotator=ann).stopped_at
    assert sanctions.retrain(tea, ann, by=carol) == 2
    order = [Slot.objects.get(pk=judge(tea, ann, 1)).item.repeats for _ in range(2)]
    assert order == items
    assert purposes(tea, ann) == ["work", "work"]
    # The copies are Ann's alone.
    assert purposes(tea, bo, number=1) == ["training", "training", "work", "work"]


def test_a_curator_may_let_somebody_work_who_failed_the_training(cast, tea, carol, ann):
    cast.open(tea, items=1, overlap=2)
    add_checks(cast, tea, "training", 1, expected="1")
    rates(tea, pass_mark=1)
    assert purposes(tea, ann, number=2) == ["training"]
    sanctions.resume(tea, ann, by=carol)
    assert purposes(tea, ann) == ["work"]
