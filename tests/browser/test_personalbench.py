"""PersonalBench in a browser: a prompt with its attributes on one screen, and the gap report."""

import pytest
from playwright.sync_api import expect

from annotation.judging.batches.open import open_batch
from annotation.judging.kinds import kind_of
from annotation.judging.models import Judgment
from annotation.personas.models import Attribute
from tests.browser import axe
from tests.browser.conftest import PHONE
from tests.browser.kinds import tour_is_over
from tests.papers.personalbench.test_report import bench  # noqa: F401 - a fixture

pytestmark = pytest.mark.django_db(transaction=True)
STATEMENTS = (
    "Bakes rye bread at home every Sunday.",
    "Prefers answers of a few lines.",
    "Lives in a small flat without a balcony, and looks after two nephews after school.",
    "Is learning Korean.",
    "Works night shifts as a nurse.",
    "Does not drink coffee.",
)


@pytest.fixture
def matter(tea, cast):
    persona = cast.persona(tea)
    for number, text in enumerate(STATEMENTS):
        Attribute.objects.create(persona=persona, external_id=f"a{number}", text=text)
    for key in ("q1", "q2"):
        cast.query(tea, key, persona=persona, text="How do I keep herbs alive over the winter?")
    config = kind_of("relevance").check_config({"together": True, "reason": "optional"})
    open_batch(tea, tea.tasks.create(name="matter", kind="relevance", overlap=3, config=config))
    ann = cast.member("Ann", tea, "annotator")
    tour_is_over(tea)
    return ann


@pytest.mark.parametrize("size", [{"width": 1440, "height": 900}, PHONE])
def test_a_screen_of_attributes_is_judged_by_keys_and_fits(page, matter, let_in, size):
    page.set_viewport_size(size)
    let_in(page, matter)
    page.goto("/studies/tea/judge/")
    expect(page.locator("fieldset.claim")).to_have_count(len(STATEMENTS))
    assert axe.violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
    for key in "122121":
        page.keyboard.press(key)
    expect(page.locator(".claim:has(:checked)")).to_have_count(len(STATEMENTS))
    page.keyboard.press("Control+Enter")
    expect(page.locator(".claim:has(:checked)")).to_have_count(0)
    expect(page.locator("fieldset.claim")).to_have_count(len(STATEMENTS))
    chosen = Judgment.objects.values_list("answers__label", flat=True)
    assert sorted(chosen) == ["no"] * 3 + ["yes"] * 3


def test_the_gap_report_fits_and_its_numbers_lead_to_their_units(page, bench, cast, let_in):  # noqa: F811
    let_in(page, cast.member("Carol", bench, "curator"))
    for address in (
        "gap/",
        "conversations/",
        "generation/clusters/",
        "gap/relevance/units/?who=m-1&label=yes",
    ):
        page.goto(f"/studies/tea/{address}")
        assert axe.violations(page) + axe.too_wide(page) == []
    page.goto("/studies/tea/gap/")
    page.get_by_role("region", name="What is said: relevance").get_by_text("42.5").click()
    expect(page.get_by_role("heading", level=2)).to_have_text("11 items")
