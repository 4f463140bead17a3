"""Judging on a phone: the decision in view, the need readable, scores in a sheet, reason folded."""

import pytest
from playwright.sync_api import expect

from annotation.judging.kinds.presets import CRITERIA
from annotation.judging.models import Judgment
from tests.browser.conftest import PHONE, WIDE
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
        return page

    return open_


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("selection", {"options": 3, "reason": "optional", "tie": True, "none": True}),
        ("selection", {"options": 3, "reason": "required", "tie": True, "none": True}),
        ("preference", {"reason": "required"}),
        ("ranking", {"options": 4, "reason": "required", "ties": True}),
        ("feedback", {"reason": "required"}),
        ("attribute", {"reason": "required"}),
    ],
)
def test_the_decision_takes_a_fifth_of_the_page_and_nothing_is_wider(phone, kind, config):
    page = phone(kind, **config)
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        bar = page.locator(".decide").bounding_box()
        # What is decided is never cut, and what depends on an answer has its room from the start.
        most = 0.3 if height < 800 else 0.25 if kind == "attribute" else 0.23
        assert bar["height"] <= most * height, (width, height)
        assert bar["y"] + bar["height"] <= height
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_required_reason_takes_a_row_of_its_own_once_it_is_written(phone):
    page = phone("selection", options=2, reason="required")
    field, flags = page.locator("#reason"), page.locator("#more")
    narrow = field.bounding_box()
    assert narrow["y"] < flags.bounding_box()["y"] + flags.bounding_box()["height"]
    field.fill("It is near.")
    wide = field.bounding_box()
    assert wide["width"] > narrow["width"]
    assert wide["y"] >= flags.bounding_box()["y"] + flags.bounding_box()["height"]


# The height of what is seen of the answer, or of what else is read, in the window.
SEEN = """() => {
  const pane = [...document.querySelectorAll(".pane")].find((one) => one.checkVisibility());
  const box = pane.getBoundingClientRect();
  const bar = document.querySelector(".criteria.open") || document.querySelector(".decide");
  const end = bar.checkVisibility() ? bar.getBoundingClientRect().top : innerHeight;
  const low = Math.min(box.bottom, innerHeight, end);
  return (low - Math.max(box.top, 0)) / innerHeight;
}"""
# The part of the window's height in which the first answer's text is what one sees.
READ = """() => {
  const text = [...document.querySelectorAll(".pane .text")].find((one) => one.checkVisibility());
  const start = text.getBoundingClientRect().left + 20;
  let seen = 0;
  for (let y = 0; y < innerHeight; y += 1)
    seen += text.contains(document.elementFromPoint(start, y));
  return seen / innerHeight;
}"""


@pytest.mark.parametrize("kind", ["selection", "feedback", "preference", "ranking"])
def test_the_answer_has_more_than_half_of_a_phone(phone, kind):
    page = phone(kind)
    assert page.evaluate(SEEN) >= 0.55
    cut = page.locator(".decide .asks, .decide legend").first
    assert cut.evaluate("one => one.scrollWidth <= one.clientWidth + 1")
    sizes = page.evaluate(
        """() => [...document.querySelectorAll(".decide *")].filter((one) => one.checkVisibility()
        && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
        .map((one) => [parseFloat(getComputedStyle(one).fontSize), one.matches(".asks, legend")])"""
    )
    assert max(size for size, asked in sizes if asked) == max(size for size, _ in sizes)


def test_the_request_folds_to_a_line_while_an_answer_is_read_and_a_tap_unfolds_it(phone):
    page = phone("selection", options=2)
    text = page.locator(".pane .text", has_text="Step 0")
    text.evaluate("one => { one.scrollTop = 200; }")
    expect(page.locator(".judge.folded")).to_be_visible()
    line = page.locator("#question").bounding_box()
    assert line["height"] < 30
    traits = page.locator(".gist").inner_text().split(" · ")
    assert len(traits) == 2
    assert page.evaluate(SEEN) >= 0.6
    page.locator("#question").tap()
    expect(page.locator(".judge.folded")).to_have_count(0)


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("selection", {"options": 3, "reason": "required", "tie": True, "none": True}),
        ("feedback", {}),
        ("preference", {"reason": "required"}),
        ("ranking", {"options": 4, "reason": "required"}),
        ("attribute", {}),
    ],
)
def test_two_fifths_of_a_low_window_are_text_and_the_choice_stands_beside_it(phone, kind, config):
    page = phone(kind, **config)
    # Landscape of three phones, 200 % zoom of a laptop.
    for width, height in ((844, 390), (667, 331), (932, 430), (720, 450)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate(READ) >= 0.4, (width, height)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        button = page.get_by_role("button", name="Submit and next").bounding_box()
        assert button["y"] + button["height"] <= height
        bar = page.locator(".decide")
        assert bar.evaluate("one => one.scrollWidth <= one.clientWidth")
        left = bar.locator("[data-act=skip]").bounding_box()["x"]
        assert left >= bar.bounding_box()["x"]
    page.set_viewport_size({"width": 844, "height": 390})
    if kind in ("feedback", "ranking"):
        page.locator(".score-open").tap()
        expect(page.locator(".criteria.open, .ranks.open")).to_be_visible()
        assert page.evaluate(READ) >= 0.4


def test_with_a_keyboard_the_answer_the_field_and_its_button_are_left(phone):
    page = phone("selection", options=2, reason="required")
    page.locator("#reason").tap()
    page.set_viewport_size({"width": 390, "height": 480})
    expect(page.locator("html.typing")).to_be_visible()
    expect(page.locator("#question")).to_be_hidden()
    expect(page.get_by_role("button", name="Submit and next")).to_be_visible()
    expect(page.locator("#reason")).to_be_focused()
    assert page.evaluate(SEEN) >= 0.3
    page.locator(".choice").first.evaluate("one => one.querySelector('input').checked = true")
    page.locator("#reason").fill("It is near.")
    page.get_by_role("button", name="Submit and next").tap()
    expect(page.locator("#trouble")).to_contain_text("You have not seen answer 2")


def test_a_verdict_does_not_change_the_height_of_the_bar(phone):
    page = phone("attribute")
    heights = set()
    for choice in page.locator("[name=answer-verdict]").all():
        choice.check()
        heights.add(page.locator(".decide").bounding_box()["height"])
    assert len(heights) == 1


def test_the_tools_of_the_answers_are_in_one_menu(phone):
    page = phone("selection", options=2)
    expect(page.get_by_role("button", name="Source")).to_be_hidden()
    page.get_by_role("button", name="Tools").tap()
    page.get_by_role("button", name="Source").tap()
    expect(page.locator(".pane .source").first).to_be_visible()
    expect(page.get_by_role("button", name="Source")).to_be_hidden()


def test_the_places_of_a_ranking_are_given_in_a_sheet(phone):
    page = phone("ranking", options=3, reason="off")
    page.get_by_role("button", name="Submit and next").tap()
    expect(page.locator("#trouble")).to_have_text("Still to answer: Answer 1")
    sheet = page.locator(".ranks.open")
    for number in range(3):
        sheet.locator(".rank").nth(number).locator("input").nth(number).check()
    sheet.get_by_role("button", name="Close").tap()
    expect(page.get_by_role("button", name="Rank 3/3")).to_be_focused()


def test_a_need_that_is_cut_can_be_read_to_its_end(phone):
    page = phone("selection", options=2)
    asked = page.locator("#question")
    whole = page.get_by_role("button", name="Show all of it")
    expect(whole).to_be_visible()
    low = asked.bounding_box()["height"]
    whole.tap()
    expect(whole).to_have_attribute("aria-expanded", "true")
    assert asked.bounding_box()["height"] > low
    # The request was folded when the answer was given; the next one is cut as well.
    page.locator(".pane .text", has_text="Step 0").evaluate("one => { one.scrollTop = 200; }")
    expect(page.locator(".judge.folded")).to_be_visible()
    page.locator(".choice").first.tap()
    page.get_by_role("button", name="Answer 2 of 2").tap()
    expect(page.get_by_role("button", name="Answer 2 of 2")).to_have_class("secondary outline seen")
    page.get_by_role("button", name="Submit and next").tap()
    expect(page.get_by_role("heading", level=1)).to_contain_text("1 of 2 judged")
    expect(whole).to_be_visible()


def test_what_was_missing_is_asked_for_no_longer_once_it_has_come(phone):
    page = phone("selection", options=2)
    page.get_by_role("button", name="Submit and next").tap()
    expect(page.locator("#trouble")).to_contain_text("Still to answer")
    page.locator(".choice").first.tap()
    expect(page.locator("#trouble")).to_be_hidden()


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
    assert Judgment.objects.get().reason == "It is near."


def test_scores_are_given_in_a_sheet_that_counts_them(phone):
    page = phone("feedback", feedback="off")
    expect(page.get_by_role("button", name="Score 0/4")).to_be_visible()
    expect(page.locator(".criteria").first).to_be_hidden()
    # What lacks is said, and its sheet opens.
    page.get_by_role("button", name="Submit and next").tap()
    expect(page.locator("#trouble")).to_have_text("Still to answer: Need Alignment")
    sheet = page.locator(".criteria.open")
    expect(sheet).to_be_visible()
    box = sheet.bounding_box()
    assert box["y"] + box["height"] == pytest.approx(844, abs=1)
    assert box["height"] <= 0.4 * 844
    assert page.evaluate(SEEN) >= 0.4
    expect(sheet.locator(".criterion:visible")).to_have_count(1)
    sheet.locator("[value='4']").nth(0).check()
    expect(sheet.locator(".paging")).to_contain_text("2 / 4")
    sheet.locator("[value='3']").nth(1).check()
    expect(sheet.locator(".paging")).to_contain_text("3 / 4")
    sheet.get_by_role("button", name="Close").tap()
    expect(page.get_by_role("button", name="Score 2/4")).to_be_focused()


@pytest.mark.parametrize("size", [PHONE, WIDE])
def test_missing_words_beside_a_score_are_named_marked_and_focused(page, desk, size):
    page.set_viewport_size(size)
    desk(page, "feedback", items=1, least=3)
    if size == PHONE:
        page.get_by_role("button", name="Score 0/4").click()
    for place, name in enumerate(CRITERIA, start=1):
        page.locator(f"[name='answer-{name}/1'][value='4']").check()
        page.locator(f"[name='answer-{name}/1/text']").fill("Good." if place > 1 else "")
        if size == PHONE and place < 4:
            page.get_by_role("button", name="Next", exact=True).click()
    if size == PHONE:
        page.keyboard.press("Escape")
    page.get_by_role("button", name="Submit and next").click()
    told = "Still to answer: Feedback on Need Alignment, answer 1"
    expect(page.locator("#trouble")).to_have_text(told)
    words = page.get_by_label("Feedback on Need Alignment, answer 1")
    expect(words).to_be_focused()
    expect(page.locator("[aria-invalid]")).to_have_count(1)
    expect(words).to_have_attribute("aria-invalid", "true")
    words.press_sequentially("Why")
    expect(page.locator("[aria-invalid]")).to_have_count(0)


def test_a_card_that_was_not_in_view_is_said_once_and_nobody_is_kept_from_submitting(
    phone, tea, cast
):
    tea.remind_to_read = True
    tea.save()
    page = phone("preference", items=2)
    page.locator("[name=answer-preference]").nth(1).check(force=True)
    page.get_by_role("button", name="Answer 2 of 2").tap()
    expect(page.get_by_role("button", name="Answer 2 of 2")).to_have_class("secondary outline seen")
    submit = page.get_by_role("button", name="Submit and next")
    submit.tap()
    told = page.locator("#trouble")
    expect(told).to_contain_text("You have not seen what is known of Mina Park.")
    told.get_by_role("button", name="About Mina Park").tap()
    expect(page.locator("#person")).to_be_visible()
    page.keyboard.press("Escape")
    submit.tap()
    expect(page.get_by_role("heading", level=1)).to_contain_text("1 of 2 judged")
    stored = Judgment.objects.get().circumstances
    assert (stored["card"], stored["reminded"]) == (True, True)
