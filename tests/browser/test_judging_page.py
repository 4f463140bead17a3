"""The judging page as a person meets it: keys, phone, no script, what is refused, a change."""

from functools import partial

import pytest
from playwright.sync_api import expect

from annotation.judging.models import Handback, Judgment
from annotation.queries.models import Query
from tests.browser.conftest import PHONE
from tests.browser.kinds import LONG

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk(desk):
    return partial(desk, options=3, reason="optional", tie=True, none=True)


def counted(page, number: int):
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"{number} of 2 judged")


def test_a_digit_chooses_the_answer_shown_there_and_ctrl_enter_submits_it(page, desk):
    desk(page)
    text = page.locator(".pane .text").nth(1).inner_text()
    page.keyboard.press("2")
    expect(page.get_by_role("radio", name="Answer 2")).to_be_checked()
    page.keyboard.press("Control+Enter")
    counted(page, 1)
    stored = Judgment.objects.get()
    number = stored.answers.get().label
    chosen = stored.slot.item.options.get(number=number).candidate.external_id
    assert text.endswith(f"This is {chosen}.")
    expect(page.get_by_role("region", name="What could I do")).to_be_focused()


def test_enter_on_a_choice_submits_once_and_never_skips(page, desk):
    desk(page)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    counted(page, 1)
    assert (Judgment.objects.count(), Handback.objects.count()) == (1, 0)


def test_on_a_phone_the_person_is_one_tap_away_also_without_javascript(open_page, desk):
    page = desk(open_page(java_script_enabled=False, viewport=PHONE))
    expect(page.get_by_text("no hazelnuts")).to_be_hidden()
    page.get_by_role("button", name="About Mina Park").click()
    expect(page.get_by_text("no hazelnuts")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_text("no hazelnuts")).to_be_hidden()


def test_the_next_item_moves_nothing(page, desk):
    desk(page, items=2)
    page.evaluate(
        "new PerformanceObserver(list => list.getEntries().forEach(one => {"
        " window.shift = (window.shift || 0) + one.value }))"
        ".observe({type: 'layout-shift', buffered: true})"
    )
    before = page.locator(".decide").bounding_box()
    page.keyboard.press("3")
    page.keyboard.press("Control+Enter")
    counted(page, 1)
    assert page.locator(".decide").bounding_box() == before
    assert page.evaluate("window.shift || 0") == 0


def test_skipping_asks_first_and_takes_the_words_along(page, desk):
    desk(page)
    first = page.locator("input[name=slot]").get_attribute("value")
    page.get_by_label("Why this one?").fill("I know this person.")
    page.get_by_role("button", name="Skip…").click()
    page.get_by_role("button", name="Go on judging").click()
    assert Handback.objects.count() == 0
    page.get_by_role("button", name="Skip…").click()
    page.get_by_role("button", name="Skip it").click()
    expect(page.locator(f"input[value='{first}']")).to_have_count(0)
    assert list(Handback.objects.values_list("cause", "reason")) == [
        ("skipped", "I know this person.")
    ]
    # Who believes to be typing skips nothing.
    page.locator("body").press_sequentially("so good")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    assert Handback.objects.count() == 1


@pytest.mark.parametrize("size", [(1024, 768), (390, 844)])
def test_a_long_need_scrolls_by_itself_and_leaves_the_screen_to_the_answers(open_page, desk, size):
    width, height = size
    page = open_page(viewport={"width": width, "height": height})
    desk(page, tie=False, none=False)
    Query.objects.update(need=LONG, guide={"want": LONG, "known": "The park.", "annoy": "Cars."})
    page.reload()
    asked = page.locator("#question")
    above = page.locator(".panes").bounding_box()["y"] - page.locator(".head").bounding_box()["y"]
    assert above < (0.3 if width >= 900 else 0.33) * height
    assert page.locator(".pane .text").first.bounding_box()["height"] > 0.35 * height
    asked.focus()
    page.keyboard.press("End")
    expect(page.get_by_text("Cars.", exact=True)).to_be_in_viewport()
    if width < 900:  # a phone's head folds by itself while one scrolls
        return
    fold = page.get_by_role("button", name="Fold", exact=True)
    expect(fold).to_be_in_viewport()
    fold.click()
    expect(asked).to_be_hidden()
    page.get_by_role("button", name="Unfold").click()
    expect(asked).to_be_visible()


def test_the_choice_bar_is_as_low_as_what_is_asked_allows(page, desk):
    desk(page, options=2)
    for width, height in ((1440, 900), (1280, 720)):
        page.set_viewport_size({"width": width, "height": height})
        # The question stands under the person, before the choices; words and buttons below.
        asked = page.locator(".decide legend").first.bounding_box()
        assert asked["x"] + asked["width"] <= page.locator(".choice").first.bounding_box()["x"]
        assert page.locator(".decide").bounding_box()["height"] <= 144


def test_a_link_that_is_called_a_button_answers_to_the_space_bar(page, desk):
    desk(page)
    page.goto("/")
    page.get_by_role("button", name="Go on with the item in your hands").press("Space")
    expect(page.locator("form.judge")).to_be_visible()
