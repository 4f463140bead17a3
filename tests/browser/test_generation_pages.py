"""Plans and review queues of the three kinds of study in a browser: they fit, axe finds nothing."""

import pytest
from playwright.sync_api import expect

from annotation.candidates.models import Proposal
from tests.browser import axe
from tests.candidates.conftest import PROFILE, expand, model, person, script, write_all  # noqa: F401 - fixtures
from tests.candidates.test_attributes import ada, extracted  # noqa: F401 - fixtures
from tests.papers.bespoke.conftest import ask, bespoke, fake  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db(transaction=True)
GENERATION, REVIEW = "/studies/tea/generation/", "/studies/tea/review/"


def fits(page):
    assert axe.violations(page) + axe.too_wide(page) == []


def test_personas_are_planned_and_near_duplicates_reviewed_side_by_side(
    page,
    tea,
    cast,
    model,  # noqa: F811
    script,  # noqa: F811
    let_in,
):
    cast.persona(tea, **PROFILE)
    let_in(page, cast.person("Carol"))
    page.goto(f"{GENERATION}persona/")
    page.get_by_role("button", name="Show the plan").click()
    expect(page.get_by_role("heading", name="The plan")).to_be_visible()
    fits(page)
    script.values = [person("Ole Berg"), person("Ole Berg")]
    expand(tea, 2)
    page.goto(GENERATION)
    fits(page)
    page.goto(f"{REVIEW}persona/")
    sides = page.locator("article", has=page.locator(".warn")).locator(".pair > section")
    expect(sides).to_have_count(2)
    left, right = (sides.nth(side).bounding_box() for side in (0, 1))
    assert (left["y"], left["x"] < right["x"]) == (right["y"], True)
    fits(page)
    for key in "jxa":
        page.keyboard.press(key)
    expect(page.get_by_text("1 accepted.")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("1 decision taken back.")).to_be_visible()
    assert set(Proposal.objects.values_list("review", flat=True)) == {"pending"}
