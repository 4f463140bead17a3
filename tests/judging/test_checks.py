"""Checks that curators make of finished items, and retire."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.accounts.models import Consent
from annotation.core.errors import Conflict, DomainError
from annotation.core.models import AuditEvent
from annotation.judging.batches.open import add_items, close_batch
from annotation.judging.curator import checks
from annotation.judging.models import Checks, Item, Slot
from annotation.judging.work import hidden_checks, queue
from tests.judging.test_queue import judge


def add_checks(cast, study, purpose, count=1, expected="1", task=None):
    """``count`` checks of a study's task, each with an explanation; their items."""
    task = task or study.tasks.get()
    persona = study.personas.first()
    rows = []
    for n in range(1, count + 1):
        query = cast.query(study, f"{purpose}-q{n}-{study.items.count()}", persona)
        options = [option.pk for option in cast.candidates(query, task.config["options"])]
        row = {"external_id": f"{purpose}-{query.external_id}", "query": query, "overlap": 1}
        row |= {"expected": expected, "explanation": f"Because of {purpose} {n}."}
        rows.append(row | {"candidates": options})
    return list(add_items(study, task, rows, purpose=purpose).items.order_by("position"))


def rates(study, **values):
    full = {"pass_mark": 0, "gold_every": 0, "repeat_every": 0, **values}
    return checks.set_rates(study, hidden_checks.Rates(**full), by=None)


def purposes(study, user, number=1, most=60) -> list[str]:
    """Judge all there is; the purposes of the items in the order handed out."""
    seen = []
    while len(seen) < most and (slot := judge(study, user, number)):
        seen.append(Slot.objects.get(pk=slot).item.batch.purpose)
    return seen


def test_a_check_is_made_of_a_finished_item_with_its_majority(cast, tea):
    batch = cast.open(tea, items=2, overlap=3)
    for name, number in (("Ann", 2), ("Bo", 2), ("Chen", 1)):
        judge(tea, cast.person(name), number)
    item = batch.items.get(done=3)
    assert [one.pk for one in checks.ready(tea)] == [item.pk]
    assert checks.truth(item) == "2"
    gold = checks.make(tea, item, "gold", "2", "", by=cast.person("Carol"))
    assert (gold.repeats, gold.expected, gold.persona_version) == (item, "2", item.persona_version)
    with pytest.raises(Conflict):
        checks.make(tea, item, "gold", "2", "", by=None)
    with pytest.raises(DomainError):
        checks.make(tea, item, "training", "2", "  ", by=None)
    with pytest.raises(DomainError):
        checks.make(tea, item, "work", "2", "x", by=None)
    close_batch(batch)
    unfinished = batch.items.get(done=0)
    with pytest.raises(DomainError):
        checks.make(tea, unfinished, "gold", "2", "", by=None)


def test_the_share_of_a_check_leaves_out_who_withdrew(cast, tea, ann, bo):
    cast.open(tea, items=1, overlap=3)
    add_checks(cast, tea, "training")
    judge(tea, ann, 1)
    judge(tea, bo, 2)
    before = checks._rows(tea, "training")[0]
    assert (before["answered"], before["share"]) == (2, 0.5)
    Consent.objects.filter(user=bo).update(withdrawn_at=timezone.now())
    after = checks._rows(tea, "training")[0]
    assert (after["answered"], after["share"]) == (1, 1.0)


def test_an_owners_item_becomes_no_check(cast, tea):
    cast.open(tea, items=1, overlap=1, owner_only=False)
    judge(tea, cast.person("Ann"))
    assert checks.ready(tea).count() == 1
    tea.tasks.update(config=tea.tasks.get().config | {"owner_only": True})
    assert checks.ready(tea).count() == 0


def test_a_retired_check_is_handed_out_to_nobody_else(cast, tea, ann):
    cast.open(tea, items=1, overlap=3)
    first, second = add_checks(cast, tea, "training", 2)
    slot = queue.claim(tea, ann)
    queue.hand_back(slot, ann, "released")
    checks.retire(first, by=None)
    assert Slot.objects.get(pk=judge(tea, ann)).item == second
    assert purposes(tea, ann) == ["work"]


def test_curators_set_rates_and_make_edit_and_retire_checks_in_the_browser(cast, tea, carol):
    batch = cast.open(tea, items=1, overlap=1)
    judge(tea, cast.person("Ann"), 3)
    page = reverse("checks", args=["tea"])
    sent = {"pass_mark": "80", "gold_every": "20", "repeat_every": "30"}
    assert carol.post(page, sent).status_code == 302
    stored = Checks.objects.get()
    assert (stored.pass_mark, stored.gold_every, stored.repeat_every) == (0.8, 20, 30)
    assert carol.post(page, {"pass_mark": "101"}).status_code == 400
    item = batch.items.get()
    make = reverse("check-make", args=["tea", item.pk])
    assert re.search(r'name="label" value="3" required checked', carol.get(make).text)
    refused = carol.post(make, {"purpose": "training", "label": "3"})
    assert refused.status_code == 400 and "Explain the expected answer" in refused.text
    form = {"purpose": "training", "label": "3", "explanation": "It names **three**."}
    assert carol.post(make, form).status_code == 302
    check = Item.objects.get(batch__purpose="training")
    assert (check.expected, check.explanation) == ("3", "It names **three**.")
    edit = reverse("check", args=["tea", check.pk])
    assert "It names **three**." in carol.get(edit).text
    assert carol.post(edit, {"label": "9", "explanation": "x"}).status_code == 400
    assert carol.post(edit, {"label": "tie", "explanation": "x"}).status_code == 400
    assert carol.post(edit, {"label": "2", "explanation": "Two."}).status_code == 302
    check.refresh_from_db()
    assert (check.expected, check.explanation) == ("2", "Two.")
    assert AuditEvent.objects.get(action="check.edit").details["old"]["expected"] == "3"
    carol.post(reverse("check-retire", args=["tea", check.pk]))
    assert "retired" in carol.get(page).text
