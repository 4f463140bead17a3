"""The way out of a study: what stays, what is taken out, and the way back."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from annotation.accounts import consent
from annotation.judging.annotator import leaving
from annotation.judging.models import Batch, Draft, Handback, Item, ItemComment, Judgment, Slot
from annotation.judging.work import comments, queue
from annotation.studies.models import Membership
from tests.judging.conftest import CONSENT, LEAVE, PAST, join_by_a_link, judge, place


def test_who_stops_taking_part_leaves_their_judgments(cast, tea, ann, page):
    cast.open(tea, items=2, overlap=1)
    judge(tea, ann)
    held = queue.claim(tea, ann)
    assert "What you judged stays." in page.post(LEAVE, {"choice": "stay"}, follow=True).text
    assert Membership.objects.get(user=ann).left_at is not None
    assert Slot.objects.get(pk=held).status == "open"
    assert Item.objects.filter(done=1).count() == 1
    assert consent.stands(ann, tea.consent_text)
    assert page.get("/studies/tea/judge/").status_code == 404


def test_who_takes_their_judgments_out_leaves_nothing_that_counts(cast, tea, ann, page):
    cast.open(tea, items=3, overlap=1)
    slots = [judge(tea, ann), judge(tea, ann)]
    held = queue.claim(tea, ann)
    Draft.objects.create(slot_id=held, annotator=ann, data={"reason": ["half a thought"]})
    comments.write_comment(tea, slots[0], ann, "Odd.")
    comments.answer(tea, slots[0], cast.person("Carol"), "Why?")
    answer = page.post(LEAVE, {"choice": "withdraw"}, follow=True)
    assert "your 2 judgments are taken out" in answer.text
    assert not consent.stands(ann, tea.consent_text)
    assert Item.objects.filter(done=0).count() == 3
    assert Slot.objects.filter(status="open").count() == 3
    assert not Draft.objects.exists()
    assert not ItemComment.objects.exists()
    assert Judgment.objects.count() == 2, "raw judgments are kept"


def test_leaving_without_a_choice_changes_nothing(tea, page, ann):
    answer = page.post(LEAVE, {})
    assert answer.status_code == 400
    assert "Choose one of the ways below." in answer.text
    assert Membership.objects.get(user=ann).left_at is None


@pytest.mark.parametrize("choice", ["stay", "withdraw"])
def test_who_comes_back_begins_where_that_leaves_them(cast, tea, ann, page, choice):
    cast.open(tea, items=3, overlap=1)
    judge(tea, ann)
    page.post(LEAVE, {"choice": choice})
    cast.member("Ann", tea, "annotator", consented=False)
    Membership.objects.filter(user=ann).update(left_at=None)
    state = place(tea, ann).state
    consent.grant(ann, tea.consent_text)
    told = place(tea, ann)
    if choice == "stay":
        assert (state, told.done, told.taken_out, told.waiting) == ("work", 1, 0, 2)
    else:
        # The item judged before is somebody else's by now.
        assert (state, told.done, told.taken_out, told.waiting) == ("consent", 0, 1, 2)


def test_withdrawing_on_the_consent_page_does_the_same_and_can_be_agreed_to_again(
    cast, tea, ann, page
):
    cast.open(tea, items=2, overlap=1)
    judge(tea, ann)
    held = queue.claim(tea, ann)
    page.post(CONSENT, {"decision": "withdraw"})
    assert Slot.objects.get(pk=held).status == "open"
    assert Item.objects.filter(done=0).count() == 2
    assert Membership.objects.get(user=ann).left_at is None
    page.post(CONSENT, {"decision": "grant", "text": tea.consent_text.pk, "agree": "1"})
    assert judge(tea, ann) == held
    assert judge(tea, ann) is None, "what was taken out stays out"
    told = place(tea, ann)
    assert (told.done, told.taken_out) == (1, 1)
    html = page.get(PAST).text
    assert html.count("Taken out: it does not count any more.") == 1


def test_what_is_left_after_a_withdrawal_does_not_betray_the_checks(cast, tea, ann, page):
    cast.open(tea, items=2)
    judge(tea, ann)
    checks = cast.open(tea, items=1, options=2)
    while judge(tea, ann):
        pass
    Batch.objects.filter(pk=checks.pk).update(purpose=Batch.Purpose.GOLD)
    # One before the withdrawal, as in life; in a test all of it is one transaction.
    Judgment.objects.update(submitted_at=timezone.now() - timedelta(minutes=5))
    judged = Judgment.objects.count()
    page.post(CONSENT, {"decision": "withdraw"})
    slots = Judgment.objects.values_list("slot", flat=True)
    assert {page.get(f"/studies/tea/judged/{slot}/").status_code for slot in slots} == {404}
    told = place(tea, ann)
    assert (told.done, told.taken_out) == (0, judged)
    html = page.get(PAST).text
    assert html.count("Taken out: it does not count any more.") == judged
    assert "/judged/" not in html


def test_a_study_without_a_consent_text_can_be_left_as_well(cast, ann, login):
    study = cast.study("open-air", consent_text=None)
    cast.member("Ann", study, "annotator")
    cast.open(study, overlap=1)
    judge(study, ann)
    login(ann).post("/studies/open-air/leave/", {"choice": "withdraw"})
    assert study.items.get().done == 0


def test_a_lapsed_item_is_not_handed_back_twice(cast, tea, ann):
    cast.open(tea)
    slot = queue.claim(tea, ann)
    Slot.objects.filter(pk=slot).update(lease_expires_at=Now() - timedelta(minutes=1))
    queue.expire()
    leaving.leave(tea, ann)
    assert [one.cause for one in Handback.objects.all()] == ["expired"]


def test_a_returned_submission_frees_the_item_in_hand(cast, tea, page, ann):
    cast.open(tea)
    held = queue.claim(tea, ann)
    join_by_a_link(tea, ann)
    assert page.post("/studies/tea/return/").status_code == 302
    assert Slot.objects.get(pk=held).status == "open"


def test_a_crowd_participant_who_leaves_frees_their_place_once(tea, ann):
    source = join_by_a_link(tea, ann)
    leaving.leave(tea, ann)
    assert source.entries.get().returned_at is not None
    left = Membership.objects.get(user=ann).left_at
    leaving.leave(tea, ann)
    assert Membership.objects.get(user=ann).left_at == left is not None


def test_one_press_on_the_consent_page_withdraws_nothing(page):
    html = page.get(CONSENT).text
    # The button is shown only to who opened what stands before it.
    before, after = html.split('value="withdraw"')
    assert before.rindex("<details>") > before.rindex("</form>")
    assert after.index("</details>") < after.index("<footer")
