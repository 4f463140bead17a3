"""Nothing typed is lost, nothing is stored twice, and nothing is left to the next person."""

from datetime import timedelta
from functools import partial

import pytest
from django.db.models import F
from playwright.sync_api import expect

from annotation.judging.models import Draft, Judgment, Slot
from annotation.judging.work import queue
from tests.browser.conftest import go_offline

pytestmark = pytest.mark.django_db(transaction=True)
JUDGE = "/studies/tea/judge/"
DRAFTS = "Object.keys(localStorage).filter(key => key.startsWith('attune:draft'))"


@pytest.fixture
def desk(desk):
    return partial(desk, reason="optional", options=3)


def why(page):
    return page.get_by_label("Why this one?")


def judged(page, number: int):
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"{number} of 2 judged")


def saved(page):
    expect(page.locator("#saved")).to_have_text("Saved")


def test_each_field_is_saved_on_the_server_and_the_copy_here_goes(page, desk, cast, let_in):
    desk(page)
    page.keyboard.press("2")
    why(page).fill("It is short.")
    saved(page)
    assert Draft.objects.get().data["reason"] == ["It is short."]
    assert page.evaluate(DRAFTS) == []
    # Another browser of the same person goes on from there.
    second = let_in(page.context.browser.new_page(base_url=page.url), cast.person("Ann"))
    second.goto(JUDGE)
    expect(why(second)).to_have_value("It is short.")
    expect(second.get_by_role("radio", name="Answer 2")).to_be_checked()
    second.context.close()


def test_ticks_alone_stay_in_the_browser_for_a_minute_and_go_along_with_text(page, desk):
    page.clock.install()
    desk(page)
    drafts = []
    page.on("request", lambda request: drafts.extend([1] * request.url.endswith("/draft/")))
    page.keyboard.press("2")
    page.clock.run_for(5_000)
    page.keyboard.press("3")
    page.clock.run_for(5_000)
    assert (drafts, len(page.evaluate(DRAFTS)), Draft.objects.count()) == ([], 1, 0)
    page.clock.run_for(60_000)
    page.keyboard.press("1")
    page.clock.run_for(5_000)
    saved(page)
    assert page.evaluate(DRAFTS) == []
    # From here on the server has a draft, which must not be older than what is ticked.
    page.keyboard.press("2")
    page.clock.run_for(5_000)
    expect(page.locator("#saved.typing")).to_have_count(0)
    why(page).fill("It is short.")
    page.clock.run_for(5_000)
    expect(page.locator("#saved.typing")).to_have_count(0)
    assert Draft.objects.get().data["reason"] == ["It is short."]
    assert len(drafts) == 3


def test_ticks_that_one_browser_has_never_replace_what_was_typed_in_another(
    page, desk, cast, let_in
):
    desk(page)
    page.keyboard.press("2")
    second = let_in(page.context.browser.new_page(base_url=page.url), cast.person("Ann"))
    second.goto(JUDGE)
    second.keyboard.press("1")
    why(second).fill("Typed elsewhere.")
    saved(second)
    second.context.close()
    # As after a crash: nothing more is sent from here.
    page.evaluate("document.querySelector('form.judge').dataset.stale = 'yes'")
    page.reload()
    expect(why(page)).to_have_value("Typed elsewhere.")
    expect(page.get_by_role("radio", name="Answer 1")).to_be_checked()
    assert page.evaluate(DRAFTS) == []


def test_a_killed_tab_loses_nothing(page, desk):
    desk(page)
    go_offline(page)
    page.keyboard.press("3")
    why(page).fill("An hour of thought.")
    expect(page.locator("#saved")).to_have_text("Kept on this device")
    context = page.context
    page.close()
    context.set_offline(False)
    again = context.new_page()
    again.goto(JUDGE)
    expect(why(again)).to_have_value("An hour of thought.")
    expect(again.get_by_role("radio", name="Answer 3")).to_be_checked()
    saved(again)
    assert Draft.objects.get().data["reason"] == ["An hour of thought."]


def test_without_a_line_the_answer_waits_and_goes_out_once(page, desk):
    desk(page)
    page.keyboard.press("1")
    why(page).fill("Written in a tunnel.")
    go_offline(page)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#trouble")).to_contain_text("is sent by itself when the line is back")
    page.keyboard.press("2")
    expect(page.get_by_role("radio", name="Answer 1")).to_be_checked()
    page.get_by_role("button", name="Do not send it yet").click()
    why(page).fill("Written in a tunnel, twice.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#trouble")).to_contain_text("is sent by itself when the line is back")
    page.context.set_offline(False)
    judged(page, 1)
    assert [one.reason for one in Judgment.objects.all()] == ["Written in a tunnel, twice."]
    assert page.evaluate(DRAFTS) == []
    assert Draft.objects.count() == 0


def lose_the_receipt(route):
    route.fetch()
    route.abort("internetdisconnected")


@pytest.mark.parametrize(
    "answer", [lose_the_receipt, lambda route: route.fulfill(status=503, body="later")]
)
def test_an_answer_without_a_receipt_is_sent_again_and_stored_once(page, desk, answer):
    desk(page)
    page.route(f"**{JUDGE}", answer, times=1)
    page.keyboard.press("1")
    page.keyboard.press("Control+Enter")
    judged(page, 1)
    assert Judgment.objects.count() == 1


def test_a_login_that_ran_out_leads_back_to_the_same_words(page, desk, cast):
    desk(page)
    slot = page.locator("input[name=slot]").get_attribute("value")
    page.context.clear_cookies(name="attune-session")
    page.keyboard.press("2")
    why(page).fill("It knows her shifts.")
    expect(page.locator("#trouble")).to_contain_text("You are logged out.")
    page.locator("#trouble").get_by_role("link", name="Log in").click()
    page.get_by_label("Email").fill(cast.person("Ann").email)
    page.get_by_label("Password").fill(cast.password)
    page.locator("main").get_by_role("button", name="Log in", exact=True).click()
    page.wait_for_url(f"**{JUDGE}")
    assert page.locator("input[name=slot]").get_attribute("value") == slot
    expect(why(page)).to_have_value("It knows her shifts.")
    page.keyboard.press("Control+Enter")
    judged(page, 1)
    assert Judgment.objects.get().reason == "It knows her shifts."


def test_a_copy_goes_with_a_logout_and_is_hidden_from_the_next_person(page, desk, cast, log_in):
    desk(page)
    go_offline(page)
    why(page).fill("A private thought.")
    expect(page.locator("#saved")).to_have_text("Kept on this device")
    assert len(page.evaluate(DRAFTS)) == 1
    page.context.set_offline(False)
    page.context.clear_cookies(name="attune-session")
    log_in(page, cast.person("Bo"))
    assert page.evaluate(DRAFTS) == []
    page.goto(JUDGE)
    expect(why(page)).to_have_value("")
    go_offline(page)
    why(page).fill("Another one.")
    expect(page.locator("#saved")).to_have_text("Kept on this device")
    page.context.set_offline(False)
    page.get_by_role("button", name="Log out").click()
    page.get_by_label("Email").wait_for()
    kept = page.evaluate("[...Object.keys(localStorage), ...Object.keys(sessionStorage)]")
    assert [key for key in kept if key.startswith("attune")] == []


def test_two_tabs_show_the_same_words_and_the_second_never_overwrites(page, desk):
    desk(page)
    second = page.context.new_page()
    second.goto(JUDGE)
    page.keyboard.press("1")
    why(page).fill("In the first tab.")
    expect(why(second)).to_have_value("In the first tab.")
    expect(second.get_by_role("radio", name="Answer 1")).to_be_checked()
    page.keyboard.press("Control+Enter")
    judged(page, 1)
    expect(second.locator("#trouble")).to_contain_text("in another tab")
    second.get_by_role("button", name="Submit and next").click()
    expect(second.locator("#trouble")).to_contain_text("Nothing is sent from here")
    assert Judgment.objects.count() == 1
    second.get_by_role("button", name="Show the current item").click()
    judged(second, 1)
    expect(why(second)).to_have_value("")
    assert Slot.objects.filter(status="held").count() == 1


def test_the_back_button_submits_nothing_twice(page, desk):
    desk(page)
    page.goto("/")
    page.goto(JUDGE)
    page.keyboard.press("1")
    page.keyboard.press("Control+Enter")
    judged(page, 1)
    page.go_back()
    page.go_forward()
    judged(page, 1)
    assert Judgment.objects.count() == 1


def test_an_answer_is_changed_within_the_window_and_the_earlier_one_is_kept(page, desk, tea):
    desk(page)
    page.keyboard.press("1")
    why(page).fill("My first thought.")
    page.keyboard.press("Control+Enter")
    judged(page, 1)
    page.keyboard.press("u")
    expect(why(page)).to_have_value("My first thought.")
    page.keyboard.press("2")
    why(page).fill("My second thought.")
    saved(page)
    # A change that was begun goes on where it was left.
    page.reload()
    expect(why(page)).to_have_value("My second thought.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("main")).to_contain_text("The earlier one is kept.")
    judged(page, 1)
    rows = Judgment.objects.order_by("revision")
    assert [one.reason for one in rows] == ["My first thought.", "My second thought."]
    assert rows[1].replaces_id == rows[0].pk
    assert Draft.objects.count() == 0
    Judgment.objects.update(submitted_at=F("submitted_at") - timedelta(hours=25))
    page.goto(f"/studies/tea/judged/{rows[0].slot_id}/")
    expect(page.locator("main")).to_contain_text("can no longer be changed")
    expect(page.get_by_role("radio", name="Answer 2")).to_be_disabled()


def test_a_lapsed_item_says_so_and_takes_the_answer_while_it_is_free(page, desk):
    desk(page)
    page.keyboard.press("1")
    Slot.objects.filter(status="held").update(lease_expires_at="2020-01-01T00:00Z")
    queue.expire()
    why(page).fill("Back from lunch.")
    expect(page.locator("#trouble")).to_contain_text("Your time for this item ran out")
    page.keyboard.press("Control+Enter")
    judged(page, 1)
    assert Judgment.objects.get().reason == "Back from lunch."
