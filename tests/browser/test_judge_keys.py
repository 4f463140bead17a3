"""Every key of the judging page, the settings of the keys, and whole judgments without a mouse."""

import pytest
from playwright.sync_api import expect

from annotation.judging.models import Judgment

pytestmark = pytest.mark.django_db(transaction=True)
JUDGE = "/studies/tea/judge/"
ALL = {
    "options": 3,
    "tie": True,
    "none": True,
    "strength": True,
    "marks": True,
    "reason": "optional",
}


def checked(page, name: str) -> str:
    return page.locator(f"input[name='{name}']:checked").get_attribute("value")


def test_every_key_does_what_its_button_says(page, desk):
    desk(page, **ALL)
    press = page.keyboard.press
    options = [pane.get_attribute("data-option") for pane in page.locator(".pane").all()]
    for number, option in enumerate(options, start=1):
        press(str(number))
        assert checked(page, "answer-choice") == option
    strengths = []
    for _ in range(4):
        press("3")
        strengths.append(checked(page, "answer-choice/strength"))
    assert strengths == ["slightly", "clearly", "much", "slightly"]
    assert checked(page, "answer-choice") == options[2]
    press("0")
    assert checked(page, "answer-choice") == "tie"
    press("n")
    assert checked(page, "answer-choice") == "none"
    press("f")
    expect(page.get_by_label("Uncomfortable to read")).to_be_focused()
    press("j")
    expect(page.locator(".choices input[value=none]")).to_be_focused()
    press("r")
    expect(page.get_by_role("button", name="Source")).to_have_attribute("aria-pressed", "true")
    press("r")
    expect(page.get_by_role("button", name="Source")).to_have_attribute("aria-pressed", "false")
    dialogs = {"g": "Guideline", "?": "Keys", "d": "Compare words", "m": "Mark a passage"}
    for key, name in dialogs.items():
        press(key)
        expect(page.get_by_role("dialog", name=name)).to_be_visible()
        # Keys of the page below are silent.
        press("1")
        press("Escape")
        expect(page.get_by_role("dialog", name=name)).to_be_hidden()
    press("s")
    expect(page.get_by_role("dialog", name="Skip this item?")).to_be_visible()
    press("Escape")
    assert checked(page, "answer-choice") == "none"
    assert Judgment.objects.count() == 0
    press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("1 of 2 judged")
    press("u")
    expect(page.get_by_role("heading", level=1)).to_contain_text("You judged this on")
    assert checked(page, "answer-choice") == "none"


def test_keys_are_changed_and_switched_off_and_stay_so_for_this_person_alone(
    page, desk, let_in, cast
):
    desk(page, **ALL)
    page.keyboard.press("?")
    page.get_by_label("None meets the need", exact=True).last.fill("x")
    page.keyboard.press("Tab")
    # A key that does something else is refused in words.
    page.get_by_role("dialog").get_by_label("Something is wrong").fill("x")
    page.keyboard.press("Tab")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("already")
    page.keyboard.press("Escape")
    page.reload()
    page.keyboard.press("n")
    expect(page.locator("input[name=answer-choice]:checked")).to_have_count(0)
    page.keyboard.press("x")
    assert checked(page, "answer-choice") == "none"
    expect(page.locator(".choices kbd[data-of=none]")).to_have_text("x")
    page.keyboard.press("?")
    page.get_by_label("Use keys of a single letter").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    assert checked(page, "answer-choice") == "none"
    expect(page.locator(".choices kbd[data-of=none]")).to_be_hidden()
    let_in(page, cast.person("Bo"))
    page.goto(JUDGE)
    page.keyboard.press("n")
    assert checked(page, "answer-choice") == "none"


def test_a_korean_keyboard_reaches_the_same_keys(page, desk):
    desk(page, **ALL)
    page.evaluate(
        "document.body.dispatchEvent(new KeyboardEvent('keydown',"
        " {key: 'ㅜ', code: 'KeyN', bubbles: true}))"
    )
    assert checked(page, "answer-choice") == "none"


def test_scores_and_words_for_every_criterion_without_a_mouse(page, desk):
    desk(page, "feedback", options=2, items=1, criteria=["Tone", "Depth"])
    for number, score in enumerate("2451"):
        page.keyboard.press("j")
        page.keyboard.press(score)
        page.keyboard.press("Tab")
        page.keyboard.type(f"Words of field {number}: 1 2 3 j k n")
        page.keyboard.press("Escape")
    page.keyboard.press("k")
    expect(page.locator(".criterion.at")).to_contain_text("Tone")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is waiting for you")
    scores = Judgment.objects.get().answers.order_by("text")
    assert [one.value for one in scores] == [2, 4, 5, 1]
    assert [one.text[:16] for one in scores] == [f"Words of field {n}" for n in range(4)]


def test_claims_are_kept_edited_and_dropped_without_a_mouse(page, desk):
    desk(page, "claims", items=1)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#trouble")).to_have_text("Still to answer: 1. Tram 2 goes to the river.")
    page.reload()
    expect(page.locator("[data-left]")).to_contain_text("3")
    for verdict in "123":
        page.keyboard.press("j")
        page.keyboard.press(verdict)
        if verdict == "2":
            page.keyboard.press("Tab")
            page.keyboard.press("Control+a")
            page.keyboard.type("It is a walk of five minutes.")
            page.keyboard.press("Escape")
    expect(page.locator("[data-left]")).to_have_text("")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is waiting for you")
    verdicts = Judgment.objects.get().answers.order_by("pk").values_list("label", "text")
    assert list(verdicts) == [
        ("keep", ""),
        ("edit", ""),
        ("drop", ""),
        ("", "It is a walk of five minutes."),
    ]
