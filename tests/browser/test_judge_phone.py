"""Judging on a phone: the decision in view, the need readable, scores in a sheet, reason folded."""

import os

import pytest
from playwright.sync_api import expect

from annotation.judging.models import Selection
from tests.browser.kinds import open_kind

pytestmark = pytest.mark.django_db(transaction=True)
JUDGE = "/studies/tea/judge/"
SIZES = [(390, 844), (360, 640), (320, 640)]


@pytest.fixture
def phone(cast, tea, let_in, open_page):
    def open_(kind, width=390, height=844, **config):
        open_kind(cast, tea, kind, **config)
        page = open_page(viewport={"width": width, "height": height}, has_touch=True)
        let_in(page, cast.person("Ann"))
        page.goto(JUDGE)
        if folder := os.environ.get("ATTUNE_PICTURES"):
            page.screenshot(path=f"{folder}/{kind}-{width}.png")
        return page

    return open_


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("selection", {"options": 3, "reason": "optional", "tie": True, "none": True}),
        ("feedback", {"reason": "optional"}),
    ],
)
def test_the_decision_takes_a_fifth_of_the_page_and_nothing_is_wider(
    phone, kind, config, width, height
):
    page = phone(kind, width, height, **config)
    bar = page.locator(".decide").bounding_box()
    # At 320 px “None meets the need” takes a third line.
    assert bar["height"] <= 0.2 * height + (8 if width == 320 else 0)
    assert bar["y"] + bar["height"] <= height
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_need_that_is_cut_can_be_read_to_its_end(phone):
    page = phone("selection", options=2)
    asked = page.locator("#question")
    whole = page.get_by_role("button", name="Show all of it")
    expect(whole).to_be_visible()
    low = asked.bounding_box()["height"]
    whole.tap()
    expect(whole).to_have_attribute("aria-expanded", "true")
    assert asked.bounding_box()["height"] > low


def test_an_optional_reason_opens_where_it_is_wanted_and_is_stored(phone):
    page = phone("selection", options=2, reason="optional")
    field = page.locator("#reason")
    expect(field).to_be_hidden()
    page.get_by_role("button", name="Why this one?").tap()
    expect(field).to_be_focused()
    field.fill("It is near.")
    page.locator(".choice").first.tap()
    page.get_by_role("button", name="Answer 2 of 2").tap()
    expect(page.get_by_role("button", name="Answer 2 of 2")).to_have_class("secondary outline seen")
    page.get_by_role("button", name="Submit and next").tap()
    expect(page.get_by_role("heading", level=1)).to_contain_text("1 of 2 judged")
    assert Selection.objects.get().reason == "It is near."


def test_scores_are_given_in_a_sheet_that_counts_them(phone):
    page = phone("feedback", feedback="off")
    opener = page.get_by_role("button", name="Score 0/4")
    expect(page.locator(".criteria").first).to_be_hidden()
    opener.tap()
    sheet = page.locator(".criteria.open")
    expect(sheet).to_be_visible()
    box = sheet.bounding_box()
    assert box["y"] + box["height"] == pytest.approx(844, abs=1)
    sheet.locator("[value='4']").nth(0).check()
    sheet.locator("[value='3']").nth(1).check()
    sheet.get_by_role("button", name="Close").tap()
    expect(page.get_by_role("button", name="Score 2/4")).to_be_focused()


def test_a_missing_score_is_told_and_its_sheet_opens(phone):
    page = phone("feedback", feedback="off")
    expect(page.get_by_role("button", name="Score 0/4")).to_be_visible()
    page.get_by_role("button", name="Submit and next").tap()
    expect(page.locator("#trouble")).to_have_text("Still to answer: Need Alignment")
    expect(page.locator(".criteria.open")).to_be_visible()


def test_digits_give_one_score_each_to_the_criteria_in_turn(cast, tea, let_in, open_page):
    open_kind(cast, tea, "feedback", feedback="off")
    page = open_page()
    let_in(page, cast.person("Ann"))
    page.goto(JUDGE)
    for digit in "4352":
        page.keyboard.press(digit)
    scores = page.locator(".criterion :checked").evaluate_all("all => all.map(one => one.value)")
    assert scores == ["4", "3", "5", "2"]
