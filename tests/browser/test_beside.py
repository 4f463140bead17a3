"""The owner's sessions beside an item come when they come: nobody waits for them."""

import pytest
from playwright.sync_api import expect

from annotation.judging.batches.open import open_batch
from annotation.judging.models import Judgment
from tests.papers.bespoke.conftest import answered, ask, bespoke, fake  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def at_work(page, let_in, cast, bespoke, fake):  # noqa: F811
    """Ann's page with one answer to score, and the request for her sessions, held back."""
    ann = cast.person("Ann")
    ask(bespoke, ann)
    answered(bespoke, fake, "Take the night train.", strategies=["search"])
    open_batch(bespoke, bespoke.tasks.get(name="score"))
    let_in(page, ann)
    held = []
    page.route("**/judge/beside/**", lambda route: held.append(route))
    page.goto("/studies/tea/judge/")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    for row in page.locator(".criterion").all():
        row.locator("input[value='4']").check()
        row.locator("textarea").fill("Good.")
    (request,) = held
    return request


def test_an_answer_is_submitted_while_the_sessions_are_still_looked_for(page, at_work):
    page.get_by_role("button", name="Submit and next").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("You have judged all that is open")
    assert Judgment.objects.count() == 1
    at_work.fulfill(body="")


def test_sessions_that_come_late_open_no_tour_and_take_no_focus(page, at_work):
    typing = page.locator(".criterion textarea").last
    typing.focus()
    at_work.fulfill(body="<p>A session about trains</p>", content_type="text/html")
    expect(page.locator(".card")).to_have_text("A session about trains")
    expect(typing).to_be_focused()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(typing).to_have_value("Good.")


def test_sessions_that_cannot_be_had_say_so_in_their_own_place(page, at_work):
    expect(page.locator(".card")).to_have_text("Loading…")
    at_work.fulfill(status=503, body="")
    expect(page.locator(".card")).to_contain_text("This cannot be loaded now.")
    expect(page.locator("#trouble")).to_be_hidden()
    page.get_by_role("button", name="Submit and next").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("You have judged all that is open")
