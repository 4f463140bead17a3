"""The main screens of each journey as a screen reader meets them: order, names, announcements."""

from functools import partial

import pytest
from playwright.sync_api import expect

from annotation.judging.models import Judgment
from annotation.studies.models import Invitation
from tests.browser import aloud, keyboard
from tests.browser.conftest import go_offline
from tests.browser.kinds import open_kind
from tests.histories.made import fill_history
from tests.papers.bespoke.conftest import ask, bespoke, fake  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db(transaction=True)
INVITATION = """
link Skip to the content
banner
link Attune
main
heading You are invited to “Tea”
term
definition
button Create an account
link I have an account
contentinfo
"""
CONSENT = """
main
heading Consent
article
checkbox I have read this and agree.
button Agree and begin
"""
JUDGING = """
link Skip to the content
banner
link Guideline
button Keys
status
main
complementary Mina Park
heading Mina Park
heading The question · 0 of 2 judged
region The question · 0 of 2 judged
heading What they need to know
heading Answer 1
region Answer 1
heading Answer 2
region Answer 2
group Which answer fits this person best and helps most?
radio Answer 1
radio Answer 2
radio Equally good
textbox Why this one?
button Skip…
button Submit and next
"""
STEPS = """
main
heading Your steps
status
list
listitem
heading Send your history
heading Decide what is kept
heading Allow what it may be used for
button Choose what to allow
"""
FILES = """
main
heading Your history
navigation Your history
link Sessions
link Files
heading Send an export
button Your export
button Send
status
heading Files you sent
"""
SESSION = """
main
heading A weekend by the sea not decided
navigation This session
button Keep
button Drop
article
heading You
mark
article
heading Assistant
heading Hide something else
textbox Text to hide, exactly as it is written
button Hide it
"""
QUERY = """
main
heading Your query
textbox Your question, in few words
group The need behind it
textbox What do you really want to know?
group About the question
combobox Area of life (optional)
group Sessions it grew out of (optional)
searchbox Find in what you keep of your history
button Find
status
button Ready: ask for answers
"""
OVERVIEW = """
main
heading Tea
navigation Study
link Overview
link Results
region Steps
list
listitem
heading People described
heading Questions
heading Release
"""
TASKS = """
main
navigation Judging
article
heading Best
button Open a batch of Best
region Batches
table
columnheader Task
columnheader Judgments
heading Define a task
textbox Name
spinbutton Judgments an item
textbox Guideline (Markdown)
button Save
"""
RELEASES = """
main
heading New release
combobox Layout
button Freeze and write
heading All releases
"""


def check(page, address: str, expected: str) -> None:
    """The page's tree is as expected, and Tab goes through it all."""
    page.goto(address)
    aloud.outline(page, expected)
    assert keyboard.around(page) > 5


@pytest.fixture
def desk(desk):
    return partial(desk, options=2, reason="required", tie=True)


def test_from_the_invitation_to_the_first_judgment(page, cast, tea, desk, let_in):
    _, key = Invitation.issue(tea, "annotator", by=cast.person("Carol"))
    check(page, f"/invitations/{key}/", INVITATION)
    let_in(page, cast.member("Ann", cast.study("rain"), "annotator", consented=False))
    check(page, "/studies/rain/consent/", CONSENT)
    desk(page)
    check(page, "/studies/tea/judge/", JUDGING)


def test_what_is_announced_while_judging(page, desk):
    desk(page)
    aloud.listen(page)
    page.keyboard.press("1")
    page.keyboard.press("Control+Enter")
    aloud.spoken(page, "Still to answer: Why this one?")
    expect(page.get_by_role("textbox", name="Why this one?")).to_be_focused()
    page.keyboard.type("It fits.")
    aloud.spoken(page, "Saved")
    go_offline(page)
    page.keyboard.press("Control+Enter")
    aloud.spoken(page, "No connection. Your answer waits here and is sent by itself")
    # What waits can have no focus: it is on the button beside the sentence, and comes back.
    expect(page.get_by_role("button", name="Do not send it yet")).to_be_focused()
    page.context.set_offline(False)
    aloud.spoken(page, "Submitted")
    expect(page.get_by_role("region", name="The question · 1 of 2 judged")).to_be_focused()
    assert Judgment.objects.get().reason == "It fits."


def test_from_the_upload_to_the_first_own_query(page, cast, bespoke, let_in):  # noqa: F811
    bo = cast.person("Bo")
    let_in(page, bo)
    check(page, "/studies/tea/steps/", STEPS)
    check(page, "/history/uploads/", FILES)
    session = fill_history(bo)
    page.goto("/history/")
    assert keyboard.around(page) > 40
    check(page, f"/history/sessions/{session.pk}/", SESSION)
    ann = cast.person("Ann")
    let_in(page, ann)
    query = ask(bespoke, ann)
    check(page, f"/studies/tea/my-queries/{query.external_id}/", QUERY)
    aloud.listen(page)
    keyboard.write(page.get_by_label("What do you know already"), "The day train.")
    aloud.spoken(page, "Saved.")


def test_from_an_empty_study_to_the_release(page, cast, tea, let_in):
    open_kind(cast, tea, "selection", name="best", options=3)
    let_in(page, cast.person("Carol"))
    check(page, "/studies/tea/overview/", OVERVIEW)
    check(page, "/studies/tea/tasks/", TASKS)
    check(page, "/studies/tea/releases/", RELEASES)
