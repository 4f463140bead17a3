"""Reading with care: every answer seen, found words, sources, differences, marks, tour, time."""

from functools import partial

import pytest
from playwright.sync_api import expect

from annotation.candidates.models import Candidate
from annotation.judging.models import Judgment, Participation
from tests.browser.conftest import PHONE, go_offline

pytestmark = pytest.mark.django_db(transaction=True)
JUDGE = "/studies/tea/judge/"


@pytest.fixture
def desk(desk):
    return partial(desk, options=3, marks=True)


def test_on_a_phone_each_answer_is_seen_before_one_is_chosen(open_page, desk):
    page = desk(open_page(viewport=PHONE, has_touch=True))
    page.locator(".choice").first.tap()
    submit = page.get_by_role("button", name="Submit and next")
    submit.tap()
    expect(page.locator("#trouble")).to_contain_text("You have not seen answer 2 yet.")
    page.locator("#trouble").get_by_role("button", name="Answer 2").tap()
    expect(page.get_by_role("button", name="Answer 2 of 3")).to_have_attribute(
        "aria-current", "true"
    )
    submit.tap()
    expect(page.locator("#trouble")).to_contain_text("You have not seen answer 3 yet.")
    assert Judgment.objects.count() == 0
    # A swipe shows it as well as the button does.
    page.locator(".panes").evaluate("box => box.scrollTo({left: 9999, behavior: 'instant'})")
    expect(page.get_by_role("button", name="Answer 3 of 3")).to_have_class("secondary outline seen")
    submit.tap()
    expect(page.get_by_role("heading", level=1)).to_contain_text("1 of 2 judged")


def test_words_are_found_in_the_card_and_enter_sends_nothing(page, desk):
    desk(page)
    field = page.get_by_label("Find in the card")
    field.fill("SHIFT")
    expect(page.locator(".find output")).to_have_text("1 / 15")
    field.press("Enter")
    expect(page.locator(".find output")).to_have_text("2 / 15")
    field.press("Shift+Enter")
    field.press("Shift+Enter")
    expect(page.locator(".find output")).to_have_text("15 / 15")
    assert page.evaluate("CSS.highlights.get('found').size") == 15
    field.fill("zebra")
    expect(page.locator(".find output")).to_have_text("0 / 0")
    assert Judgment.objects.count() == 0


def test_a_traits_words_are_marked_in_the_answers_on_request_and_the_use_is_noted(page, desk):
    desk(page, options=2)
    Candidate.objects.filter(external_id__endswith="-0").update(text="Night shifts: a nurse rests.")
    Candidate.objects.filter(external_id__endswith="-1").update(text="Buy a car.")
    page.reload()
    toggle = page.get_by_role("button", name="Mark in the answers")
    expect(toggle).to_have_attribute("aria-pressed", "false")
    work = page.locator(".traits > div", has_text="night-shift").first
    work.hover()
    assert page.evaluate("CSS.highlights.has('touched')") is False
    toggle.click()
    work.focus()
    numbers = page.locator(".touched").inner_text()
    marked = page.evaluate("[...CSS.highlights.get('touched')].map(String)")
    assert marked == ["Night", "shifts", "nurse"]
    assert sorted(part.split(": ")[1] for part in numbers.split(" · ")) == ["0", "3"]
    page.keyboard.press("1")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("1 of 2 judged")
    assert Judgment.objects.get().circumstances["traits"] is True
    expect(toggle).to_have_attribute("aria-pressed", "false")


WIDE_TEXT = """Pay \\(a_1 < b\\) now.

سأذهب إلى النهر.

| one | two | three | four | five |
|---|---|---|---|---|
| a long cell | a long cell | a long cell | a long cell | a long cell |

    a line of code that is much wider than the column in which the answer stands, and goes on
"""
BOX = "box => { const at = box.getBoundingClientRect(); return [at.left, at.right]; }"


def test_each_choice_stands_under_its_answer_and_an_answers_head_chooses_it(page, desk):
    desk(page, tie=True, none=True)
    for number in (1, 2, 3):
        column = page.locator(".pane").nth(number - 1).evaluate(BOX)
        choice = page.locator(f"#choice-{number}").locator("..").evaluate(BOX)
        assert choice == pytest.approx(column, abs=2)
    page.get_by_role("heading", name="Answer 2").click()
    expect(page.get_by_role("radio", name="Answer 2")).to_be_checked()


def test_an_answer_is_widened_and_back_by_a_key(page, desk):
    desk(page)
    page.locator(".pane").nth(1).hover()
    page.keyboard.press("w")
    expect(page.locator(".pane:visible")).to_have_count(1)
    left, right = page.locator(".pane:visible").evaluate(BOX)
    assert right - left > 1300
    page.get_by_role("button", name="Answer 3 of 3").click()
    expect(page.get_by_role("heading", name="Answer 3")).to_be_visible()
    page.keyboard.press("w")
    expect(page.locator(".pane:visible")).to_have_count(3)
    expect(page.get_by_role("complementary")).to_be_visible()


def test_formulas_directions_and_wide_parts_of_an_answer(page, desk):
    desk(page)
    Candidate.objects.update(text=WIDE_TEXT)
    page.reload()
    answer = page.locator(".pane .text").first
    expect(answer.locator("math msub")).to_have_count(1)
    starts = answer.locator("p").evaluate_all(
        """all => all.map((one) => {
          const range = new Range();
          range.selectNodeContents(one);
          const [words, box] = [range.getBoundingClientRect(), one.getBoundingClientRect()];
          return words.left - box.left < box.right - words.right ? "left" : "right";
        })"""
    )
    assert starts == ["left", "right"]
    for part in ("table", "pre"):
        assert answer.locator(part).evaluate("one => one.scrollWidth > one.clientWidth")
        assert answer.locator(part).get_attribute("tabindex") == "0"
    assert answer.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_a_chinese_answer_breaks_between_characters_on_a_korean_page(page, desk):
    desk(page)
    breaks = page.locator(".pane .text p").first.evaluate(
        """paragraph => {
          document.documentElement.lang = "ko";
          paragraph.lang = "zh";
          const parts = [paragraph.parentElement, paragraph];
          return parts.map((part) => getComputedStyle(part).wordBreak);
        }"""
    )
    assert breaks == ["keep-all", "normal"]


def test_the_source_and_the_words_that_differ_are_shown_and_their_use_is_noted(page, desk):
    desk(page, options=2)
    texts = {
        "0": "Take **one** walk by the river.\n\n早上去散步。",
        "1": "Take two walks by the river.\n\n早上去游泳。",
    }
    for number, text in texts.items():
        Candidate.objects.filter(external_id__endswith=f"-{number}").update(text=text)
    page.reload()
    page.get_by_role("button", name="Source").click()
    expect(page.locator(".pane .source")).to_have_count(2)
    sources = page.locator(".pane .source").all_inner_texts()
    assert sorted(sources) == sorted(texts.values())
    page.get_by_role("button", name="Source").click()
    expect(page.locator(".pane strong")).to_have_text("one")
    page.get_by_role("button", name="Compare", exact=False).click()
    dialog = page.get_by_role("dialog", name="Compare words")
    gone, come = dialog.locator("del").first, dialog.locator("ins").first
    expect(gone).to_be_visible()
    first, second = (text.replace("\n\n", "") for text in sources)
    shown = dialog.locator(".result").evaluate(
        "box => ['del', 'ins'].map(other => [...box.childNodes]"
        ".filter(one => one.nodeName.toLowerCase() !== other)"
        ".map(one => one.textContent).join('').replaceAll('\\n', ''))"
    )
    assert shown == [second, first]
    assert come.inner_text() != gone.inner_text()
    assert "by the river" not in "".join(dialog.locator("del, ins").all_inner_texts())
    page.keyboard.press("Escape")
    # Two texts of their own have nothing that a reader could follow word by word.
    Candidate.objects.filter(external_id__endswith="-1").update(text="Swim in the lake. " * 5)
    page.reload()
    page.get_by_role("button", name="Compare", exact=False).click()
    expect(dialog.locator(".result")).to_contain_text("differ nearly everywhere")
    expect(dialog.locator(".result del")).to_have_count(0)
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("1 of 2 judged")
    told = Judgment.objects.get().circumstances
    assert (told["diff"], told["raw"], told["device"]) == (True, True, "desktop")


def test_passages_are_marked_by_selecting_and_by_typing(page, desk):
    desk(page)
    Candidate.objects.update(text="Walk 🚶 along **the river** and rest.")
    page.reload()
    # With the blank before it, as a hasty hand would.
    page.locator(".pane").nth(1).locator("strong").evaluate(
        "words => getSelection().setBaseAndExtent("
        "words.previousSibling, words.previousSibling.length - 1, words, 1)"
    )
    page.keyboard.press("m")
    dialog = page.get_by_role("dialog", name="Mark a passage")
    expect(dialog.get_by_label("The passage")).to_have_value("the river")
    dialog.get_by_label("Comment").fill("She loves water.")
    dialog.get_by_role("button", name="Mark it").click()
    second = page.locator(".pane").nth(1)
    expect(second.locator(".marks li")).to_contain_text("Strength the river She loves water.")
    page.locator("[data-act=mark]").click()
    dialog.get_by_label("The passage").fill("no such words")
    dialog.get_by_role("button", name="Mark it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("not in any of the answers")
    dialog.get_by_label("The passage").fill("and rest")
    dialog.get_by_label("Weakness").check()
    dialog.get_by_role("button", name="Mark it").click()
    expect(page.locator(".marks li")).to_have_count(2)
    assert page.evaluate("[...CSS.highlights.get('mark-2')].map(String)") == ["and rest"]
    expect(page.locator("#saved")).to_have_text("Saved")
    page.reload()
    expect(page.locator(".marks li")).to_have_count(2)
    page.locator(".pane").first.get_by_role("button", name="Remove").click()
    page.keyboard.press("2")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("1 of 2 judged")
    stored = Judgment.objects.get()
    # Characters, not UTF-16 units: the sign before counts once.
    assert stored.marks == [
        {"option": stored.shown[1], "start": 13, "end": 22, "text": "the river", "sign": "+",
         "comment": "She loves water."}
    ]  # fmt: skip
    page.keyboard.press("u")
    expect(page.locator(".marks li")).to_contain_text("the river")


def test_the_guideline_opens_beside_the_item_once_loaded_and_keeps_what_is_typed(page, desk):
    desk(page, reason="optional")
    asked = []
    page.on("request", lambda request: "guideline" in request.url and asked.append(request.url))
    page.get_by_label("Why this one?").fill("Half a thought")
    for _ in range(2):
        page.get_by_role("link", name="Guideline").click()
        drawer = page.get_by_role("dialog", name="Guideline")
        expect(drawer.get_by_role("heading", name="第一周")).to_be_visible()
        drawer.get_by_role("button", name="Close").click()
    assert len(asked) == 1
    assert page.url.endswith(JUDGE)
    expect(page.get_by_label("Why this one?")).to_have_value("Half a thought")
    # Without a line it says so.
    page.reload()
    go_offline(page)
    page.keyboard.press("g")
    expect(drawer).to_contain_text("cannot be loaded now")
    page.keyboard.press("Escape")
    page.context.set_offline(False)
    page.keyboard.press("g")
    expect(drawer.get_by_role("heading", name="第一周")).to_be_visible()


def test_a_guideline_is_printed_whole_and_without_what_is_around_it(page, desk):
    desk(page)
    page.goto("/studies/tea/guideline/")
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", name="第一周")).to_be_visible()
    for around in ("body > .bar", "body > .foot", ".skip-link"):
        expect(page.locator(around)).to_be_hidden()
    assert page.locator("article").evaluate("one => getComputedStyle(one).borderTopWidth") == "0px"


def test_the_tour_comes_once_a_person_and_task_and_can_be_had_again(page, desk, cast):
    desk(page)
    Participation.objects.update(toured=[])
    page.reload()
    tour = page.get_by_role("dialog", name="How to judge")
    expect(tour.get_by_role("heading", name="What you do here")).to_be_focused()
    tour.get_by_role("button", name="Next").click()
    expect(tour).to_contain_text("Answer 2 is the better one")
    tour.get_by_role("button", name="Back").click()
    tour.get_by_role("button", name="Next").click()
    tour.get_by_role("button", name="Next").click()
    with page.expect_response(lambda answer: "/tour/" in answer.url and answer.status == 204):
        tour.get_by_role("button", name="Start judging").click()
    page.reload()
    expect(page.locator("form.judge")).to_be_visible()
    expect(tour).to_be_hidden()
    page.keyboard.press("g")
    page.get_by_role("button", name="Show the tour again").click()
    expect(tour.get_by_role("heading", name="What you do here")).to_be_visible()
    # A further task of a study adds its example alone.
    Participation.objects.update(toured=["another"])
    page.reload()
    expect(tour.get_by_role("heading", level=2)).to_have_text(["An example"])
    expect(tour.get_by_role("button", name="Start judging")).to_be_visible()


def test_the_tour_stays_away_though_the_next_item_comes_before_its_end_is_stored(page, desk):
    desk(page)
    Participation.objects.update(toured=[])
    asked = []

    def hold_its_end(route):
        asked.append(route.request.method)
        if route.request.method == "GET":
            route.continue_()

    page.route("**/tour/**", hold_its_end)
    page.reload()
    tour = page.get_by_role("dialog", name="How to judge")
    for name in ("Next", "Next", "Start judging"):
        tour.get_by_role("button", name=name).click()
    for _item in range(2):
        slot = page.locator("input[name=slot]").input_value()
        page.keyboard.press("1")
        page.keyboard.press("Control+Enter")
        expect(page.locator(f"input[value='{slot}']")).to_have_count(0)
    assert asked == ["GET", "POST"]


def test_time_is_kept_apart_by_answer_and_goes_on_after_a_reload(page, desk):
    page.clock.install()
    desk(page)
    page.locator(".pane").nth(1).hover()
    page.clock.run_for(5_000)
    # Nobody moves for a while: the first half minute still counts.
    page.locator(".pane").nth(2).hover()
    page.clock.run_for(60_000)
    page.reload()
    page.clock.run_for(2_000)
    page.keyboard.press("1")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("1 of 2 judged")
    stored = Judgment.objects.get()
    assert 35 <= stored.seconds <= 40
    assert 28 <= stored.circumstances["idle"] <= 33
    panes = stored.circumstances["panes"]
    assert 4 <= panes[1] <= 7
    assert 28 <= panes[2] <= 33


def test_a_break_is_suggested_after_the_studys_time_at_work_and_can_be_switched_off(page, desk):
    page.add_init_script("sessionStorage.setItem('attune:work', '2699500')")
    desk(page)
    note = page.locator("#trouble")
    expect(note).to_contain_text("You have been at work for 45 minutes.")
    note.get_by_role("button", name="Go on").click()
    expect(note).to_be_hidden()
    page.reload()
    note.get_by_role("button", name="Suggest no more breaks").click()
    expect(note).to_be_hidden()
    page.keyboard.press("?")
    expect(page.get_by_label("Suggest breaks")).not_to_be_checked()
