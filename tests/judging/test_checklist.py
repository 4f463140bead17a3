"""The owner's checklist: every step with its state, the same on its page and on the desk."""

import pytest
from django.core import mail
from django.utils import translation

from annotation.candidates import writing
from annotation.candidates.models import Candidate
from annotation.histories import consent
from annotation.histories.models import Session, Upload
from annotation.judging.annotator.checklist import checklist
from annotation.judging.batches import preparation
from annotation.judging.batches.open import mail as mail_owners
from annotation.judging.batches.open import open_batch
from annotation.judging.work import queue, submit
from annotation.queries import author, owner_queries
from annotation.studies.models import Message, Study, items_opened
from tests.papers.bespoke.conftest import SEND, answered, ask, scores


def current(user, study) -> tuple[str, str]:
    step = checklist(user, study).current
    return step.name, step.state


def states(user, study) -> dict:
    return {step.name: step.state for step in checklist(user, study).steps}


def test_the_steps_follow_each_other_from_the_history_to_judging(bespoke, ann, fake):
    sessions = Session.objects.filter(owner=ann)
    Session.objects.filter(owner=ann).update(state="pending")
    consent.withdraw(ann, bespoke, SEND, "fake")
    assert current(ann, bespoke) == ("decide", "now")
    sessions.update(state="kept")
    assert current(ann, bespoke) == ("allow", "now")
    consent.grant(ann, bespoke, SEND, "fake")
    assert current(ann, bespoke) == ("queries", "now")
    ask(bespoke, ann)
    assert current(ann, bespoke) == ("answers", "waits")
    answered(bespoke, fake, "A profile.", "The first.", "The second.")
    assert current(ann, bespoke) == ("answers", "waits")
    assert "All answers are written" in checklist(ann, bespoke).current.note
    open_batch(bespoke, bespoke.tasks.get(name="score"))
    bespoke.refresh_from_db()
    assert current(ann, bespoke) == ("judge", "now")
    assert checklist(ann, bespoke).current.note == "0 judged, 2 waiting."
    assert list(states(ann, bespoke).values()) == ["done"] * 5 + ["now"] + ["later"] * 3


def test_the_first_step_without_a_history_is_to_send_it_and_to_wait_while_it_is_read(bespoke, ann):
    Session.objects.filter(owner=ann).delete()
    assert current(ann, bespoke) == ("history", "now")
    Upload.objects.create(owner=ann, size=1, status="running")
    step = checklist(ann, bespoke).current
    assert (step.name, step.state, step.note) == ("history", "waits", "A file is being read now.")
    assert checklist(ann, bespoke).changes_by_itself


def test_after_judging_come_the_gold_response_and_the_rubric(judged, bespoke, ann):
    assert current(ann, bespoke) == ("gold", "now")
    response = author.save_response(judged, ann, "The answer I wanted.")
    assert current(ann, bespoke) == ("claims", "now")
    author.set_claims(response, ["It is calm."])
    author.save_rubric(judged, "Calm.", author=ann)
    assert current(ann, bespoke) == ("claims", "now")
    assert states(ann, bespoke)["rubric"] == "done"


def test_who_allows_nothing_can_go_on(bespoke, ann):
    consent.withdraw(ann, bespoke, SEND, "fake")
    ask(bespoke, ann)
    assert current(ann, bespoke) == ("answers", "waits")
    notes = {step.name: step.note for step in checklist(ann, bespoke).steps}
    assert notes["allow"] == "Nothing is allowed: answers rest on your questions alone."


def test_what_somebody_else_did_is_not_counted(bespoke, cast, ann, fake):
    ask(bespoke, ann)
    answered(bespoke, fake, "A profile.", "The first.", "The second.")
    open_batch(bespoke, bespoke.tasks.get(name="score"))
    assert states(cast.person("Bo"), bespoke)["queries"] == "later"


def test_the_page_and_the_desk_show_the_same_step_and_never_that_nothing_waits(bespoke, ann, login):
    Study.objects.filter(pk=bespoke.pk).update(status="open")
    page = login(ann)
    assert page.get(f"/studies/{bespoke.slug}/judge/").url == f"/studies/{bespoke.slug}/steps/"
    for address in ("/", f"/studies/{bespoke.slug}/steps/"):
        text = page.get(address).text
        assert "Step 4 of 9" in text
        assert "Write questions of your own" in text
        assert "Nothing is waiting for you" not in text


def test_htmx_gets_the_steps_alone_and_asks_again_only_while_something_is_awaited(
    bespoke, ann, login
):
    page, address = login(ann), f"/studies/{bespoke.slug}/steps/"
    answer = page.get(address, headers={"HX-Request": "true"}).text
    assert answer.lstrip().startswith('<div id="steps"')
    assert "hx-get" not in answer
    ask(bespoke, ann)
    assert "hx-get" in page.get(address, headers={"HX-Request": "true"}).text


def test_a_study_in_which_nobody_asks_has_no_steps(tea, cast, login):
    assert login(cast.person("Ann")).get(f"/studies/{tea.slug}/steps/").status_code == 404


def test_owners_get_a_message_when_their_items_are_opened(bespoke, cast, ann, fake):
    ask(bespoke, ann)
    answered(bespoke, fake, "A profile.", "The first.", "The second.")
    ann.language = "ko"
    ann.save()
    open_batch(bespoke, bespoke.tasks.get(name="score"), by=cast.person("Cleo"))
    message = Message.objects.get(recipient=ann)
    assert (message.recipient, message.audience) == (ann, "person")
    assert "2" in message.body


def test_a_notice_is_in_the_readers_language_and_goes_with_the_last_of_its_items(
    bespoke, ann, fake, login
):
    ask(bespoke, ann)
    answered(bespoke, fake, "A profile.", "The first.", "The second.")
    open_batch(bespoke, bespoke.tasks.get(name="score"))
    page, waits = login(ann), "2 items made from your own queries are ready."
    assert waits in page.get("/").text
    korean = {"headers": {"accept-language": "ko"}}
    with translation.override("ko"):
        words = items_opened(2)
    assert words in page.get("/", **korean).text
    assert words in page.get(f"/studies/{bespoke.slug}/messages/", **korean).text
    for score in (2, 5):
        slot = queue.claim(bespoke, ann)
        assert waits in page.get("/").text
        submit.submit(bespoke, slot, ann, scores(slot, score), key=f"s{score}")
    assert waits not in page.get("/").text


def test_the_mail_says_the_same_as_the_message(bespoke, cast, ann, fake):
    ask(bespoke, ann)
    answered(bespoke, fake, "A profile.", "The first.", "The second.")
    batch = open_batch(bespoke, bespoke.tasks.get(name="score"), by=cast.person("Cleo"))
    assert mail_owners(batch.pk) == 1
    assert mail.outbox[0].to == [ann.email]
    body = Message.objects.get(recipient=ann).body
    assert mail.outbox[0].body.startswith(body)
    assert f"/studies/{bespoke.slug}/steps/" in mail.outbox[0].body


def test_the_end_of_the_work_leads_to_the_next_step(judged, bespoke, ann, login):
    page = login(ann).get(f"/studies/{bespoke.slug}/judge/").text
    assert "You have judged all that is open" in page
    assert f"/studies/{bespoke.slug}/steps/" in page


@pytest.fixture
def by_itself(bespoke, ann, fake):
    """A query of Ann's that is ready, in a study that needs no curator for it."""
    Study.objects.filter(pk=bespoke.pk).update(automatic=True, status="open")
    bespoke.refresh_from_db()
    return ask(bespoke, ann)


def test_a_study_that_needs_no_curator_writes_passes_and_opens_answers_by_itself(
    by_itself, bespoke, ann, fake
):
    assert "in about 3 minutes" in checklist(ann, bespoke).current.note
    preparation.go_on()
    rows = Candidate.objects.filter(query=by_itself)
    assert {row.status for row in rows} == {"requested"}
    for row in rows:
        writing.write_one(row.pk)
    rows.update(review="pending", flags=[])
    preparation.go_on()
    preparation.go_on()
    assert current(ann, bespoke) == ("judge", "now")
    assert Message.objects.get(recipient=ann).items
    assert set(rows.values_list("review", flat=True)) == {"accepted"}


@pytest.mark.parametrize(
    ("flags", "needs_nobody"), [(["refusal"], True), ([], False)], ids=["flagged", "not chosen"]
)
def test_what_was_flagged_waits_and_so_does_a_study_with_curators(
    by_itself, bespoke, fake, flags, needs_nobody
):
    answered(bespoke, fake, "A profile.", "The first.", "The second.")
    Candidate.objects.filter(query=by_itself).update(review="pending", flags=flags)
    Study.objects.filter(pk=bespoke.pk).update(automatic=needs_nobody)
    preparation.go_on()
    assert not by_itself.items.exists()


def test_the_curators_are_told_once_that_a_query_is_ready_unless_it_goes_on_by_itself(bespoke, ann):
    query = ask(bespoke, ann)
    owner_queries.finish(query, ann)
    assert Message.objects.filter(study=bespoke, audience="curators").count() == 1


def test_the_bar_says_step_minutes_and_next_on_pages_of_the_way(bespoke, ann, login):
    Study.objects.filter(pk=bespoke.pk).update(status="open")
    page = login(ann)
    for address in ("/history/", "/history/consent/", f"/studies/{bespoke.slug}/consent/"):
        text = page.get(address).text
        assert "Step 4 of 9" in text, address
        assert "minutes left for all of it" in text
        assert f'href="/studies/{bespoke.slug}/my-queries/"' in text
