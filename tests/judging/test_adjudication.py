"""Rulings on disputed items: which come first, and that they change no vote."""

import pytest
from django.urls import reverse

from annotation.core.errors import DomainError
from annotation.judging.curator import adjudication, checks
from annotation.judging.models import Adjudication, Slot
from annotation.judging.work import queue, submit
from tests.judging.test_checks import add_checks
from tests.judging.test_queue import choose


def voted(cast, tea, *numbers):
    """An item with these votes, in the study's one task."""
    for name, number in zip(("Ann", "Bo", "Chen"), numbers, strict=True):
        person = cast.person(name)
        slot = queue.claim(tea, person)
        answer = choose(slot, number) if isinstance(number, int) else {"choice": number}
        data = answer | {"reason": f"said by {name}"}
        submit.submit(tea, slot, person, data, key=f"{name}{slot}")
    return Slot.objects.get(pk=slot).item


def test_ties_come_first_then_the_smallest_lead_and_clear_items_not_at_all(cast, tea, carol):
    cast.open(tea, items=4, overlap=3, tie=True, none=True, reason="optional")
    _clear, two, tied = (
        voted(cast, tea, *numbers) for numbers in ((1, 1, 1), (1, 1, 2), (1, "tie", "none"))
    )
    found = adjudication.disputed(tea, tea.tasks.get())
    assert [(item.pk, item.tied) for item in found] == [(tied.pk, True), (two.pk, False)]
    page = carol.get(reverse("adjudicate", args=["tea"]))
    most = ["Answer 1", "Equally good", "None meets the need"]
    assert [item.leading for item in page.context["page"]] == [most, ["Answer 1"]]
    assert " = ".join(most) in page.text


def test_the_list_is_headed_by_questions_with_ids_beside_them(cast, tea, carol):
    cast.open(tea, items=1, overlap=3, reason="optional")
    item = voted(cast, tea, 1, 2, 3)
    names = {"adjudicate": (), "result-item": (item.batch.task.name, item.pk), "items": ()}
    for name, args in names.items():
        text = carol.get(reverse(name, args=["tea", *args])).text
        assert f'<small class="id">{item.external_id}</small>' in text
        assert text.index(item.query.text) < text.index(f'<small class="id">{item.external_id}')


def test_a_ruling_is_kept_in_versions_and_changes_no_vote(cast, tea, carol):
    cast.open(tea, items=1, overlap=3, reason="optional")
    item = voted(cast, tea, 1, 2, 3)
    listed = reverse("adjudicate", args=["tea"])
    assert item.external_id in carol.get(listed).text
    address = reverse("adjudicate-item", args=["tea", item.pk])
    page = carol.get(address).text
    assert all(f"said by {name}" in page for name in ("Ann", "Bo", "Chen"))
    assert not any(name in page for name in ("ann@", "user-", ">Ann<", ">Bo<"))
    refused = carol.post(address, {"label": "2", "reason": " "})
    assert refused.status_code == 400 and "Give the reason" in refused.text
    assert carol.post(address, {"label": "tie", "reason": "x"}).status_code == 400
    rulings = [("2", "It names the fact."), ("3", "On second thoughts.")]
    for label, reason in rulings:
        carol.post(address, {"label": label, "reason": reason})
    by = cast.person("Carol").pk
    stored = Adjudication.objects.order_by("pk").values_list("label", "reason", "by")
    assert list(stored) == [(*ruling, by) for ruling in rulings]
    item.refresh_from_db()
    assert (item.counts, checks.truth(item)) == ({"1": 1, "2": 1, "3": 1}, "3")
    shown = reverse("result-item", args=["tea", item.batch.task.name, item.pk])
    assert "On second thoughts." in carol.get(shown).text
    assert item.external_id in carol.get(f"{listed}?ruled=on").text
    assert "No finished item waits" in carol.get(listed).text


def test_a_ruling_on_a_check_or_without_a_reason_is_refused(cast, tea, carol):
    cast.open(tea, items=1, overlap=1)
    (check,) = add_checks(cast, tea, "gold", 1)
    address = reverse("adjudicate-item", args=["tea", check.pk])
    assert carol.post(address, {"label": "1", "reason": "x"}).status_code == 404
    with pytest.raises(DomainError):
        adjudication.rule(check, "1", "", by=cast.person("Carol"))
