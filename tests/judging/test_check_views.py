"""Curators' page of checks."""

import re

from django.urls import reverse

from annotation.core.models import AuditEvent
from annotation.judging.models import Checks, Item
from tests.judging.test_queue import judge


def test_curators_set_rates_and_make_edit_and_retire_checks_in_the_browser(cast, tea, login):
    batch = cast.open(tea, items=1, overlap=1)
    judge(tea, cast.person("Ann"), 3)
    client = login(cast.person("Carol"))
    page = reverse("checks", args=["tea"])
    answer = client.post(page, {"pass_mark": "80", "gold_every": "20", "repeat_every": "30"})
    assert answer.status_code == 302
    stored = Checks.objects.get()
    assert (stored.pass_mark, stored.gold_every, stored.repeat_every) == (0.8, 20, 30)
    assert client.post(page, {"pass_mark": "101"}).status_code == 400
    item = batch.items.get()
    make = reverse("check-make", args=["tea", item.pk])
    assert re.search(r'name="label" value="3" required checked', client.get(make).text)
    refused = client.post(make, {"purpose": "training", "label": "3"})
    assert refused.status_code == 400
    assert "Explain the expected answer" in refused.text
    form = {"purpose": "training", "label": "3", "explanation": "It names **three**."}
    assert client.post(make, form).status_code == 302
    check = Item.objects.get(batch__purpose="training")
    assert (check.expected, check.explanation) == ("3", "It names **three**.")
    edit = reverse("check", args=["tea", check.pk])
    assert "It names **three**." in client.get(edit).text
    assert client.post(edit, {"label": "9", "explanation": "x"}).status_code == 400
    assert client.post(edit, {"label": "tie", "explanation": "x"}).status_code == 400
    assert client.post(edit, {"label": "2", "explanation": "Two."}).status_code == 302
    check.refresh_from_db()
    assert (check.expected, check.explanation) == ("2", "Two.")
    assert AuditEvent.objects.get(action="check.edit").details["old"]["expected"] == "3"
    client.post(reverse("check-retire", args=["tea", check.pk]))
    assert "retired" in client.get(page).text
