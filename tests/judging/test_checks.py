"""Checks that curators make of finished items, and retire."""

import pytest
from django.utils import timezone

from annotation.accounts.models import Consent
from annotation.core.errors import Conflict, DomainError
from annotation.judging.batches.open import add_items, close_batch
from annotation.judging.curator import checks
from annotation.judging.models import Slot
from annotation.judging.work import hidden_checks, queue
from tests.judging.test_queue import judge


def add_checks(cast, study, purpose, count=1, expected="1", task=None):
    """``count`` checks of a study's task, each with an explanation; their items."""
    task = task or study.tasks.get()
    persona = study.personas.first()
    rows = []
    for n in range(count):
        query = cast.query(study, f"{purpose}-q{n + 1}-{study.items.count()}", persona)
        ids = [one.pk for one in cast.candidates(query, task.config["options"])]
        rows.append(
            {
                "external_id": f"{purpose}-{query.external_id}",
                "overlap": 1,
                "query": query,
                "candidates": ids,
                "expected": expected,
                "explanation": f"Because of {purpose} {n + 1}.",
            }
        )
    batch = add_items(study, task, rows, purpose=purpose)
    return list(batch.items.order_by("position"))


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
    task = tea.tasks.get()
    task.config["owner_only"] = True
    task.save()
    assert checks.ready(tea).count() == 0


def test_a_retired_check_is_handed_out_to_nobody_else(cast, tea, ann):
    cast.open(tea, items=1, overlap=3)
    first, second = add_checks(cast, tea, "training", 2)
    slot = queue.claim(tea, ann)
    queue.hand_back(slot, ann, "released")
    checks.retire(first, by=None)
    assert Slot.objects.get(pk=judge(tea, ann)).item == second
    assert purposes(tea, ann) == ["work"]
