"""Rulings on disputed items: which come first, and that they change no vote."""

import pytest
from django.urls import reverse

from annotation.core.errors import DomainError
from annotation.judging.curator import adjudication, checks
from annotation.judging.models import Adjudication, Slot
from annotation.judging.work import queue, submit
from tests.judging.test_checks import add_checks
from tests.judging.test_queue import choose


@pytest.fixture
def carol(cast, tea):
    return cast.person("Carol")


def voted(cast, tea, *numbers):
    """An item with these votes, in the study's one task."""
    for name, number in zip(("Ann", "Bo", "Chen"), numbers, strict=True):
        person = cast.person(name)
        slot = queue.claim(tea, person)
        answer = choose(slot, number) if isinstance(number, int) else {"choice": number}
        data = answer | {"reason": f"said by {name}"}
        submit.submit(tea, slot, person, data, key=f"{name}{slot}")
    return Slot.objects.get(pk=slot).item


def test_ties_come_first_then_the_smallest_lead_and_clear_items_not_at_all(cast, tea):
    cast.open(tea, items=4, overlap=3, tie=True, none=True, reason="optional")
    clear, two, tied = (
        voted(cast, tea, *numbers) for numbers in ((1, 1, 1), (1, 1, 2), (1, "tie", "none"))
    )
    task = tea.tasks.get()
    found = adjudication.disputed(tea, task)
    assert [(one.pk, one.tied) for one in found] == [(tied.pk, True), (two.pk, False)]
    assert clear.pk not in {one.pk for one in found}


def test_the_list_names_the_choices_that_most_made_in_the_words_of_the_question(
    cast, tea, login, carol
):
    cast.open(tea, items=1, overlap=3, tie=True, none=True, reason="optional")
    voted(cast, tea, 1, "tie", "none")
    page = login(carol).get(reverse("adjudicate", args=["tea"]))
    (item,) = page.context["page"]
    assert item.leading == ["Answer 1", "Equally good", "None meets the need"]
    assert "Answer 1 = Equally good = None meets the need" in page.text


def test_the_list_is_headed_by_questions_with_ids_beside_them(cast, tea, login, carol):
    cast.open(tea, items=1, overlap=3, reason="optional")
    item = voted(cast, tea, 1, 2, 3)
    pages = (
        reverse("adjudicate", args=["tea"]),
        reverse("result-item", args=["tea", item.batch.task.name, item.pk]),
        reverse("items", args=["tea"]),
    )
    client = login(carol)
    for page in map(client.get, pages):
        text = page.text
        assert f'<small class="id">{item.external_id}</small>' in text
        assert text.index(item.query.text) < text.index(f'<small class="id">{item.external_id}')


def test_a_ruling_is_kept_in_versions_and_changes_no_vote(cast, tea, login, carol):
    cast.open(tea, items=1, overlap=3, reason="optional")
    item = voted(cast, tea, 1, 2, 3)
    client = login(carol)
    assert item.external_id in client.get(reverse("adjudicate", args=["tea"])).text
    address = reverse("adjudicate-item", args=["tea", item.pk])
    page = client.get(address).text
    for words in ("said by Ann", "said by Bo", "said by Chen"):
        assert words in page
    for name in ("ann@", "user-", ">Ann<", ">Bo<"):
        assert name not in page
    refused = client.post(address, {"label": "2", "reason": " "})
    assert refused.status_code == 400
    assert "Give the reason" in refused.text
    assert client.post(address, {"label": "tie", "reason": "x"}).status_code == 400
    client.post(address, {"label": "2", "reason": "It names the fact."})
    client.post(address, {"label": "3", "reason": "On second thoughts."})
    rulings = Adjudication.objects.order_by("pk").values_list("label", "reason", "by")
    assert list(rulings) == [
        ("2", "It names the fact.", carol.pk),
        ("3", "On second thoughts.", carol.pk),
    ]
    item.refresh_from_db()
    assert item.counts == {"1": 1, "2": 1, "3": 1}
    assert checks.truth(item) == "3"
    shown = reverse("result-item", args=["tea", item.batch.task.name, item.pk])
    assert "On second thoughts." in client.get(shown).text
    listed = client.get(reverse("adjudicate", args=["tea"]) + "?ruled=on").text
    assert item.external_id in listed
    assert "No finished item waits" in client.get(reverse("adjudicate", args=["tea"])).text


def test_a_ruling_on_a_check_or_another_studys_item_is_refused(cast, tea, login, carol):
    cast.open(tea, items=1, overlap=1)
    (check,) = add_checks(cast, tea, "gold", 1)
    address = reverse("adjudicate-item", args=["tea", check.pk])
    assert login(carol).post(address, {"label": "1", "reason": "x"}).status_code == 404
    with pytest.raises(DomainError):
        adjudication.rule(check, "1", "", by=carol)
