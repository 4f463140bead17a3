"""Every kind of judgment: submitted, on a phone too, and without a finding of axe."""

import re

import pytest
from playwright.sync_api import expect

from annotation.candidates.models import Candidate
from annotation.judging.models import Judgment
from tests.browser import axe, keyboard
from tests.browser.conftest import PHONE
from tests.browser.kinds import ALL

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
WRONG = {"type": "passages", "name": "wrong", "classes": ["Fact", "Tone"]}
CONFIG = {
    "selection": {
        "tie": True,
        "none": True,
        "strength": True,
        "reason": "required",
        "chips": ["Too long", "Fits my day"],
        "marks": True,
    },
    "preference": {"points": 7, "chips": ["Too long"]},
    "feedback": {"options": 3, "feedback_chips": ["Too long"], "marks": True},
    "attribute": {"reason": "optional"},
    "relevance": {},
    "claims": {},
    "ranking": {"options": 4, "ties": True, "chips": ["Too long"]},
    "questions": {
        "options": 2,
        "reason": "optional",
        "questions": [
            {"type": "choice", "name": "best", "tie": True},
            {"type": "label", "name": "safe", "about": "option", "classes": ["No", "Yes"]},
            {"type": "rating", "name": "depth", "about": "option", "comment": "optional"},
            {"type": "text", "name": "why"},
            WRONG | {"required": False},
        ],
    },
}
CONFIG["selection"]["options"] = 3


@pytest.fixture
def desk(desk):
    return lambda page, kind, **config: desk(page, kind, items=1, **CONFIG[kind] | config)


@pytest.mark.parametrize("kind", ALL)
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(page, desk, kind):
    desk(page, kind)
    assert axe.violations(page) == []
    # Some colours are forced a moment late.
    page.emulate_media(forced_colors="active")
    page.reload()
    assert axe.violations(page, "light", forced_colors="active") == []
    for width, height in ((320, 640), (360, 740), (720, 450), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        bar = page.locator(".decide").bounding_box()
        assert bar["y"] + bar["height"] == height
    assert axe.violations(page, "light", forced_colors="none") == []
    for target in page.locator("a:visible, button:visible, form.judge label:visible").all():
        box = target.bounding_box()
        within = target.evaluate("one => Boolean(one.closest('.why'))")
        assert within or min(box["width"], box["height"]) >= 24, target.inner_text()


def with_scores(page, n: int, pane, fill) -> None:
    """Call ``fill`` with the scores of answer ``n`` open, where they stand in a sheet."""
    opener = page.locator(".score-open")
    sheet = opener.is_visible()
    if sheet:
        if page.locator(".stack button").count():
            dot = page.locator(".stack button").nth(n)
            dot.tap()
            expect(dot).to_have_attribute("aria-current", "true")
        opener.tap()
    fill()
    if sheet:
        pane.get_by_role("button", name="Close").tap()


def of_option(pane) -> None:
    pane.locator(".choice").nth(1).tap()
    pane.locator(".score").nth(3).tap()


def scored(pane) -> None:
    for row in pane.locator(".criterion").all():
        if not row.is_visible():  # a sheet shows one at a time
            pane.get_by_role("button", name="Next", exact=True).tap()
        row.locator(".score").nth(3).tap()
        row.locator("textarea").fill("Good.")


def answer(page, kind: str) -> None:
    """Fill in the form of ``kind`` by tapping."""
    if kind == "selection":
        page.locator(".choice").nth(1).tap()
        page.locator(".strength .choice").nth(2).tap()
        page.get_by_label("Why this one?").fill("It fits.")
    elif kind == "preference":
        page.locator(".point").nth(5).tap()
    elif kind == "questions":
        page.locator(".columns .choice").first.tap()
        for n, pane in enumerate(page.locator(".pane").all()):
            with_scores(page, n, pane, lambda pane=pane: of_option(pane))
        page.locator(".decide .written textarea").first.fill("Short.")
    elif kind == "feedback":
        for n, pane in enumerate(page.locator(".pane").all()):
            with_scores(page, n, pane, lambda pane=pane: scored(pane))
    elif kind == "ranking":
        opener = page.locator(".score-open")
        if sheet := opener.is_visible():
            opener.tap()
        for n, row in enumerate(page.locator(".rank").all()):
            row.locator(".score").nth(n).tap()
        if sheet:
            page.locator(".ranks").get_by_role("button", name="Close").tap()
    elif kind == "claims":
        for claim in page.locator(".claim").all():
            claim.locator(".choice").first.tap()
    else:
        page.locator(".choices .choice").nth(1).tap()
    if kind == "attribute":
        page.locator(".causes .choice").first.tap()


@pytest.mark.parametrize("kind", ALL)
def test_every_kind_is_judged_on_a_phone(open_page, desk, kind):
    page = desk(open_page(viewport=PHONE, has_touch=True), kind)
    answer(page, kind)
    for dot in page.locator(".stack button").all():
        dot.tap()
        expect(dot).to_have_class("secondary outline seen")
    page.get_by_role("button", name="Submit and next").tap()
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is waiting for you")
    stored = Judgment.objects.get()
    assert stored.circumstances["device"] == "phone"
    page.get_by_role("link", name="Change the last answer").tap()
    expect(page.get_by_role("heading", level=1)).to_contain_text("You judged this on")
    page.get_by_role("button", name="Change my answer").tap()
    expect(page.locator("main")).to_contain_text("The earlier one is kept.")
    assert Judgment.objects.get(replaces=stored).revision == 2


def test_a_kind_is_judged_without_javascript(open_page, desk):
    kind = "questions"
    page = desk(open_page(java_script_enabled=False, has_touch=True, viewport=PHONE), kind)
    answer(page, kind)
    lines = page.get_by_label("Passages of answer 2")
    lines.fill("Fact: no such words")
    page.get_by_role("button", name="Submit and next").tap()
    expect(page.locator("main")).to_contain_text("“no such words” is not in this answer")
    lines.fill("Fact: This   is")
    page.get_by_role("button", name="Submit and next").tap()
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is waiting for you")
    judgment = Judgment.objects.get()
    row = judgment.answers.get(question="wrong")
    (mark,) = row.marks
    text = judgment.slot.item.options.get(number=row.option).candidate.text
    assert (row.option, text[mark["start"] : mark["end"]]) == (judgment.shown[1], "This is")
    assert mark["class"] == "Fact"


def test_passages_are_marked_by_keys_on_a_narrow_page_and_come_back_to_be_changed(open_page, desk):
    asked = [{"type": "text", "name": "why", "required": False}, WRONG]
    page = desk(open_page(viewport=PHONE), "questions", options=1, questions=asked, reason="off")
    Candidate.objects.update(text="\r\n**Walk** 🚶 to <b>\rthe mill, the mill.")
    page.reload()
    # From question to question: words, then passages.
    for key in ("j", "Escape", "j", "Enter"):
        page.keyboard.press(key)
    for words, mark in (("🚶 to", "Fact"), ("the mill", "Tone")):
        if mark == "Tone":
            page.keyboard.press("m")
        dialog = page.get_by_role("dialog", name="Mark a passage")
        expect(dialog.get_by_label("The passage")).to_be_focused()
        page.keyboard.type(words)
        page.keyboard.press("Tab")
        if mark == "Tone":
            page.keyboard.press("ArrowDown")
        expect(dialog.get_by_label(mark)).to_be_checked()
        page.keyboard.press("Tab")
        page.keyboard.type(f"Not my {mark}.")
        keyboard.to(dialog.get_by_role("button", name="Mark it"))
        assert axe.violations(page, "light") == []
        page.keyboard.press("Enter")
        expect(dialog).to_be_hidden()
    marks = page.locator(".marks li")
    expect(marks).to_have_text([re.compile("Fact 🚶 to Not my Fact."), re.compile("Tone the mill")])
    assert page.evaluate("[...CSS.highlights.get('mark-2')].map(String)") == ["the mill"]
    assert axe.violations(page) + axe.too_wide(page) == []
    # What overlaps a passage of its class is refused at once.
    page.keyboard.press("m")
    page.keyboard.type("mill, the")
    dialog.get_by_label("Tone").check()
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("A passage of this class overlaps it.")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is waiting for you")
    (row,) = Judgment.objects.get().answers.all()
    assert row.marks == [
        {"start": 11, "end": 15, "class": "Fact", "text": "Not my Fact."},
        {"start": 20, "end": 28, "class": "Tone", "text": "Not my Tone."},
    ]
    page.get_by_role("link", name="Change the last answer").click()
    page.get_by_role("button", name="Remove: 🚶 to").press("Enter")
    page.get_by_role("button", name="Change my answer").press("Enter")
    expect(page.locator("main")).to_contain_text("The earlier one is kept.")
    (changed,) = Judgment.objects.get(revision=2).answers.all()
    assert changed.marks == row.marks[1:]


@pytest.mark.parametrize(
    ("size", "place"), [((1920, 1080), "beside"), ((1440, 900), "below"), ((1280, 720), "after")]
)
def test_the_scores_stand_where_they_leave_the_answer_most_room(open_page, desk, size, place):
    page = open_page(viewport={"width": size[0], "height": size[1]})
    desk(page, "feedback", options=2)
    pane = page.locator(".pane").first
    text, form = pane.locator(".text").bounding_box(), pane.locator(".criteria").bounding_box()
    whole = pane.bounding_box()
    if place == "beside":
        assert text["x"] + text["width"] <= form["x"] + 1
        assert text["height"] > 0.9 * whole["height"] - 40
        assert min(text["width"], form["width"]) > 0.4 * whole["width"]
    else:
        assert text["y"] + text["height"] <= form["y"] + 1
        inside = form["y"] + form["height"] <= whole["y"] + whole["height"]
        # In a low window the answer is read first, and the scores come by scrolling.
        assert inside == (place == "below")
    # From the keyboard the last score is brought into view whole.
    last = page.locator(".criterion").last.locator(".score").last
    last.locator("input").focus()
    expect(last).to_be_in_viewport(ratio=1)
