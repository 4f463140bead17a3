"""Training as an annotator meets it, and the curators' pages of checks, raters and rulings."""

import pytest

from annotation.judging.models import Participation, Slot
from annotation.judging.work import queue, submit
from tests.browser.test_axe import check  # noqa: F401 - a fixture
from tests.judging.test_checks import add_checks, purposes, rates

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def checked(cast, tea, ann, bo):
    """The study "tea" with checks of every sort answered, ties to rule on, and somebody paused."""
    cast.open(tea, items=8, overlap=2, reason="optional")
    add_checks(cast, tea, "training", 2)
    add_checks(cast, tea, "gold", 2, expected="2")
    rates(tea, pass_mark=0.5, gold_every=2, repeat_every=2)
    purposes(tea, ann, number=1)
    for number in (1, 1):
        slot = queue.claim(tea, bo)
        option = Slot.objects.get(pk=slot).item.options.get(number=number)
        submit.submit(tea, slot, bo, {"choice": str(option.candidate_id)}, key=f"t{slot}")
    purposes(tea, bo, number=2)
    return tea


def test_the_curators_pages_have_no_violation_and_fit(
    page,
    let_in,
    check,  # noqa: F811
    cast,
    checked,
):
    let_in(page, cast.person("Carol"))
    item = checked.items.filter(batch__purpose="work").first()
    training = checked.items.get(external_id__startswith="training-training-q1")
    ann = cast.person("Ann")
    names = ("tasks", "checks", f"checks/new/{item.pk}", f"checks/{training.pk}", "adjudicate")
    names += (f"adjudicate/{item.pk}", "raters", f"raters/{ann.pk}")
    check(page, *(f"/studies/tea/{name}/" for name in names))


def test_a_training_answer_is_explained_in_place_and_the_next_item_follows(
    open_page,
    let_in,
    check,  # noqa: F811
    cast,
    tea,
):
    cast.open(tea, items=1, overlap=2)
    add_checks(cast, tea, "training", 1)
    ann = cast.person("Ann")
    Participation.objects.create(study=tea, annotator=ann, toured=["best"])
    page = let_in(open_page(), ann)
    page.goto("/studies/tea/judge/")
    page.get_by_role("radio", name="Answer 1").check()
    page.get_by_role("button", name="Submit and next").click()
    page.get_by_text("Because of training 1.").wait_for()
    assert check.look(page) == []
    page.get_by_role("button", name="Next").click()
    page.locator("form.judge").wait_for()
    assert Slot.objects.get(status="held").item.batch.purpose == "work"
