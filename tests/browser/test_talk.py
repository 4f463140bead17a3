"""A live comparison in the browser, wide and on a phone: from the first word to the judgment."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from annotation.judging.models import Judgment
from annotation.live.models import Talk
from tests.browser import axe
from tests.browser.conftest import PHONE, WIDE
from tests.browser.kinds import tour_is_over
from tests.candidates.conftest import write_all
from tests.live.conftest import at_once, live, models  # noqa: F401 - fixtures
from tests.scripted_endpoint import BAD_KEY

pytestmark = pytest.mark.django_db(transaction=True)
PICTURES = os.environ.get("PICTURES")
TALK = "/studies/tea/talk/"
LONG = "Along the river, **past the mill**, and home over the hill.\n\n- rain: take the bus\n" * 12


def faultless(page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=str(Path(PICTURES) / f"talk-{name}.png"), full_page=True)
    assert axe.violations(page) + axe.too_wide(page) == []


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_conversation_from_the_desk_to_the_judgment(
    cast, tea, open_page, let_in, live, models, at_once, size  # noqa: F811
):  # fmt: skip
    models.says = lambda request, n: LONG
    live(each_turn="next", turns=3)
    cast.member("Ann", tea, "annotator")
    tour_is_over(tea)
    page = let_in(open_page(viewport=size), cast.person("Ann"))
    name = f"{size['width']}"
    page.goto("/")
    page.get_by_role("button", name="Talk with models").click()
    page.get_by_role("button", name="Begin").click()
    box = page.get_by_label("Your message")
    expect(box).to_be_focused()
    with page.expect_response(lambda answer: answer.status == 204):
        box.fill("Where shall I walk?")
    page.reload()
    expect(box).to_have_value("Where shall I walk?")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Answers are being written")).to_be_visible()
    write_all()
    page.get_by_role("button", name="Go on with answer 1").click()
    expect(page.get_by_text("you went on with this one")).to_be_visible()
    faultless(page, f"chosen-{name}")
    page.reload()
    page.get_by_label("Your next message").fill("And in rain?")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Answers are being written")).to_be_visible()
    write_all()
    choice = page.get_by_role("button", name="Go on with answer 2")
    expect(choice).to_be_visible()
    faultless(page, f"choice-{name}")
    page.reload()
    page.get_by_role("button", name="Go on with answer 2").click()
    page.get_by_role("button", name="End and judge").click()
    page.wait_for_url("**/judge/")
    page.locator(".choice").first.click()
    if size is PHONE:
        page.get_by_role("button", name="Answer 2 of 2").click()
    page.get_by_role("button", name="Submit and next").click()
    page.get_by_role("button", name="Talk with models").click()
    expect(page.get_by_role("button", name="Begin another conversation")).to_be_visible()
    faultless(page, f"again-{name}")
    assert Judgment.objects.count() == 3


def test_one_goes_on_without_a_model_that_fails_and_a_curator_sees_the_settings(
    cast, tea, open_page, let_in, live, models  # noqa: F811
):  # fmt: skip
    models.says = lambda request, n: BAD_KEY if request["model"] == "oak" else "Walk."
    live()
    page = let_in(open_page(), cast.member("Ann", tea, "annotator"))
    page.goto(TALK)
    page.get_by_role("button", name="Begin").click()
    page.get_by_label("Your message").fill("Where shall I walk?")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Answers are being written")).to_be_visible()
    write_all()
    without = page.get_by_role("button", name="Go on without it")
    expect(without).to_be_visible()
    faultless(page, "trouble")
    page.reload()
    without.click()
    page.get_by_role("button", name="End: there is nothing to compare").click()
    expect(page.get_by_role("button", name="Begin another conversation")).to_be_visible()
    assert Talk.objects.get().ended_at
    let_in(page, cast.person("Carol"))
    page.goto(f"{TALK}setup/")
    faultless(page, "setup")
