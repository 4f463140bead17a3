"""Borderline items are a reserve: more people may be asked about them."""

import pytest
from django.urls import reverse

from annotation.agreement import recompute
from annotation.agreement.models import ItemTier
from annotation.agreement.tasks import recompute_due
from annotation.agreement.tiers import collection
from annotation.core.errors import DomainError
from annotation.core.models import AuditEvent
from annotation.datasets import freeze
from annotation.datasets.frozen import Reading
from annotation.datasets.truth import verdict
from annotation.judging.models import Slot
from annotation.judging.work import queue

pytestmark = pytest.mark.usefixtures("without_rests")


@pytest.fixture
def items(cast, tea, say):
    """Three items: borderline, hard, and one that waits for votes."""
    found = list(cast.open(tea, items=3, options=2, overlap=9).items.order_by("position"))
    for item, pattern in zip(found, ("aaaaaaabb", "aaaaaaaab", "aab"), strict=True):
        say(item, pattern)
    recompute_due()
    return found


def tier(item) -> tuple:
    return ItemTier.objects.values_list("tier", "votes").get(item=item)


def test_more_people_are_asked_about_borderline_items_alone_and_first(cast, tea, items, say):
    assert [tier(item) for item in items] == [("borderline", 9), ("hard", 9), ("pending", 3)]
    assert collection.top_up(tea, "better", by=cast.person("Carol")) == 1
    items[0].refresh_from_db()
    assert (items[0].overlap, items[0].slots.filter(status="open").count()) == (13, 4)
    event = AuditEvent.objects.get(action="tiers.top_up")
    assert event.details == {"task": "better", "items": 1, "slots": 4}
    newcomer = cast.member("Nora", tea, "annotator")
    assert Slot.objects.get(pk=queue.claim(tea, newcomer)).item == items[0]
    # Whoever has judged it is not asked again.
    rater = cast.person("Rater0")
    assert Slot.objects.get(pk=queue.claim(tea, rater)).item == items[2]


def test_the_tier_follows_with_the_thirteenth_vote(tea, items, say):
    collection.top_up(tea, "better")
    say(items[0], "aaa")
    recompute_due()
    assert tier(items[0]) == ("borderline", 9)
    say(items[0], "a")
    recompute_due()
    assert tier(items[0]) == ("hard", 13)
    assert recompute.due() == []


def test_an_item_is_topped_up_once_and_only_while_the_study_is_open(tea, items):
    collection.top_up(tea, "better")
    with pytest.raises(DomainError, match="No borderline item"):
        collection.top_up(tea, "better")
    tea.status = "paused"
    assert collection.reserve(tea, "better").count() == 0


def test_votes_beyond_nine_count_only_where_an_item_was_topped_up(cast, tea, say):
    item = cast.open(tea, items=1, options=2, overlap=13).items.get()
    say(item, "aaaaaaabbaaaa")
    recompute_due()
    assert tier(item) == ("borderline", 9)
    assert collection.top_up(tea, "better") == 1
    assert item.slots.count() == 13
    recompute_due()
    assert tier(item) == ("hard", 13)


def test_a_release_judges_by_the_votes_that_were_asked_for_before_it(tea, items, say):
    before = freeze.request_release(tea, "long", "", None)
    collection.top_up(tea, "better")
    say(items[0], "aaaa")
    after = freeze.request_release(tea, "long", "", None)

    def found(release):
        one = next(Reading(release, lambda: None).items())
        return verdict(one).tier, verdict(one).n

    assert (found(before), found(after)) == (("borderline", 9), ("hard", 13))


def test_a_curator_does_it_from_the_list_of_borderline_items(tea, items, login, cast):
    client = login(cast.person("Carol"))
    page = reverse("results", args=["tea", "better"])
    html = client.get(f"{page}?tier=borderline").content.decode()
    assert "Ask more people about 1 item" in html
    assert items[0].external_id in html
    assert items[1].external_id not in html
    answer = client.post(reverse("top-up", args=["tea", "better"]), follow=True)
    assert "More people are asked about 1 item." in answer.content.decode()
    assert "Ask more people about" not in answer.content.decode()
    answer = client.post(reverse("top-up", args=["tea", "better"]), follow=True)
    assert "No borderline item waits to be topped up." in answer.content.decode()
