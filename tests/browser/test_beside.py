"""The owner's sessions beside an item come when they come: nobody waits for them."""

import pytest
from playwright.sync_api import expect

from annotation.judging.models import Judgment
from annotation.judging.open import open_batch
from tests.bespoke.conftest import answered, ask, bespoke, fake  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_answer_is_submitted_while_the_sessions_are_still_looked_for(
    page, let_in, cast, bespoke, fake  # noqa: F811
):  # fmt: skip
    ann = cast.person("Ann")
    ask(bespoke, ann)
    answered(bespoke, fake, "Take the night train.", strategies=["search"])
    open_batch(bespoke, bespoke.tasks.get(name="score"))
    let_in(page, ann)
    held = []
    page.route("**/judge/beside/**", lambda route: held.append(route))
    page.goto("/studies/tea/judge/")
    page.keyboard.press("Escape")
    for row in page.locator(".criterion").all():
        row.locator("input[value='4']").check()
        row.locator("textarea").fill("Good.")
    assert len(held) == 1
    page.get_by_role("button", name="Submit and next").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is waiting for you")
    assert Judgment.objects.count() == 1
    held[0].abort()
