"""Days that owners collect: which are there, what the pages say, and who is reminded when."""

from datetime import timedelta

import pytest
from django.core import mail
from django.urls import reverse

from annotation.histories import collection
from annotation.studies.models import Membership
from tests.histories.conftest import NOON, chat, search

DAY = timedelta(days=1)


@pytest.fixture
def collecting(tea, bring, monkeypatch, settings, ann):
    """Ann joined tea on 14 March, which collects 5 days; it is 17 March, and two days are here."""
    settings.EMAIL_URL = "smtp://mail.example"
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    tea.collect_days, tea.status = 5, "open"
    tea.save()
    Membership.objects.exclude(user=ann).update(left_at=NOON)
    Membership.objects.filter(user=ann).update(joined_at=NOON)
    bring(ann, chat("c-1"), search(minutes=2 * 24 * 60), search(minutes=-24 * 60))
    monkeypatch.setattr(collection.timezone, "now", lambda: NOON + 3 * DAY)
    return tea


def test_days_that_are_over_are_there_or_missing(collecting, ann):
    (found,) = collection.collections(ann, [collecting])
    first = NOON.date()
    assert (found.first, found.last) == (first, first + 4 * DAY)
    assert (found.present, found.missing) == ([first, first + 2 * DAY], [first + DAY])
    collecting.collect_days = 0
    assert collection.collections(ann, [collecting]) == []


def test_the_page_names_what_is_missing(collecting, cast, login):
    page = login(cast.person("Ann")).get(reverse("history-uploads")).content.decode()
    assert "Days that are here: 2." in page
    assert '<time datetime="2026-03-15">' in page
    assert '<time datetime="2026-03-16">' not in page


def test_who_lacks_days_is_reminded_every_third_day_until_two_weeks_after_the_last(
    collecting, cast, monkeypatch
):
    assert (collection.remind(), collection.remind()) == (1, 0)
    (message,) = mail.outbox
    assert message.to == [cast.person("Ann").email]
    assert "15 Mar 2026" in message.body
    assert "/history/uploads/" in message.body
    for days, sent in ((5, 0), (7, 1), (19, 0)):
        monkeypatch.setattr(collection.timezone, "now", lambda days=days: NOON + days * DAY)
        assert collection.remind() == sent


def test_nobody_is_reminded_without_a_mail_server_or_of_a_closed_study(collecting, settings):
    collecting.status = "closed"
    collecting.save()
    assert collection.remind() == 0
    collecting.status = "open"
    collecting.save()
    settings.EMAIL_URL = ""
    assert collection.remind() == 0


def test_a_mail_server_that_is_away_is_asked_again(collecting, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    assert collection.remind() == 0
    assert Membership.objects.get(left_at=None).reminded_at is None
