"""From scored answers to gold information and a rubric."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.candidates import writing
from annotation.candidates.models import Budget, Candidate
from annotation.core.errors import DomainError
from annotation.judging import claims as work
from annotation.judging.annotator import leaving
from annotation.judging.batches.open import open_batch
from annotation.judging.models import Answer, Item, Judgment
from annotation.judging.work import queue, submit
from annotation.queries import author
from annotation.queries.models import GoldClaim, Rubric
from tests.candidates.conftest import Reply


@pytest.fixture
def gold(judged):
    """The address of the query's gold responses."""
    return f"/studies/tea/my-queries/{judged.external_id}/gold/"


@pytest.fixture
def page(login, ann):
    return login(ann)


def test_only_the_owner_is_handed_the_answers(cast, bespoke, judged):
    assert Item.objects.count() == 2
    assert queue.claim(bespoke, cast.person("Bo")) is None
    assert queue.claim(bespoke, cast.person("Ann")) is None


def test_the_best_scored_answer_comes_first(cast, judged):
    found = work.scored(judged, cast.person("Ann"))
    assert [one["mean"] for one in found] == [5, 2]
    assert found[0]["scores"][0] == ("Need Alignment", 5, "Need Alignment: Because it fits.")


def test_claims_are_split_reviewed_and_become_the_gold_information(bespoke, judged, fake, ann):
    response = author.save_response(judged, ann, "Take the night train at ten. It has beds.")
    row = work.request_claims(response, endpoint="fake", by=ann)
    fake.replies = [Reply("Claims:\n1. The night train leaves at ten.\n- It has beds.\n\n* Cheap.")]
    writing.write_one(row.pk)
    assert work.pull() == 1
    texts = [claim.text for claim in response.claims.all()]
    assert texts == ["The night train leaves at ten.", "It has beds.", "Cheap."]
    slot = queue.claim(bespoke, ann)
    first, second, third = response.claims.all()
    decided = {str(first.pk): "keep", str(second.pk): "edit", str(third.pk): "drop"}
    body = {"claims": decided, "edited": {str(second.pk): "It has twelve beds."}}
    submit.submit(bespoke, slot, ann, body, key="claims")
    assert work.information(work.reviewed(judged, ann)) == [
        "The night train leaves at ten.",
        "It has twelve beds.",
    ]
    assert work.pull() == 0


def test_a_model_refines_a_gold_response_in_rounds_that_are_all_kept(judged, fake, page, gold, ann):
    assert "Save a gold response first" in page.post(gold, {"wish": "x"}, follow=True).text
    author.save_response(judged, ann, "Take the night train.")
    for number, (wish, text) in enumerate(
        (("Say when.", "Take it at ten."), ("Why?", "Cheap.")), 1
    ):
        page.post(gold, {"wish": wish, "endpoint": "fake"})
        assert "A model is refining your response" in page.get(gold).text
        row = Candidate.every.get(purpose="refine", taken_at=None)
        fake.replies = [Reply(text)]
        writing.write_one(row.pk)
        assert wish in row.prompt[-1]["content"] and work.pull() == 1
        newest = author.newest(judged)
        assert (newest.version, newest.text, newest.source) == (number + 1, text, row.pk)
    assert "What the model changed" in page.get(gold).text
    texts = judged.gold_responses.order_by("version").values_list("text", flat=True)
    assert list(texts) == ["Take the night train.", "Take it at ten.", "Cheap."]
    body = {"wish": "Shorter.", "endpoint": "fake"}
    api = f"/api/v1/studies/tea/own-queries/{judged.external_id}/gold/"
    answer = page.post(api, body, content_type="application/json")
    assert (answer.status_code, answer.json()["job"]["status"]) == (202, "requested")


def test_nobody_asks_for_more_texts_a_day_than_one_person_may(bespoke, judged, fake, ann):
    Budget.objects.create(study=bespoke, owner_texts=2)
    author.save_response(judged, ann, "Take the night train.")
    wishes = ("Short.", "Long.")
    rows = [work.request_refined(judged, ann, wish, endpoint="fake") for wish in wishes]
    assert work.request_refined(judged, ann, "Short.", endpoint="fake") == rows[0]
    with pytest.raises(DomainError, match="You have asked models for 2 texts today"):
        work.request_refined(judged, ann, "Kind.", endpoint="fake")
    Candidate.every.filter(pk=rows[0].pk).update(created_at=timezone.now() - timedelta(days=1))
    assert work.request_refined(judged, ann, "Kind.", endpoint="fake").status == "requested"


@pytest.fixture
def split(bespoke, judged, fake, ann):
    """A function that has the newest gold response split into these claims."""

    def go(*claims, again=False):
        response = author.newest(judged)
        ask = work.split_again if again else work.request_claims
        row = ask(response, ann, endpoint="fake") if again else ask(response, endpoint="fake")
        fake.replies = [Reply("\n".join(claims))]
        writing.write_one(row.pk)
        assert work.pull() == 1
        return author.newest(judged)

    author.save_response(judged, ann, "Take the night train at ten. It has beds.")
    return go


def decide(study, owner, response, verdict="keep"):
    slot = queue.claim(study, owner)
    said = {str(claim.pk): verdict for claim in response.claims.all()}
    submit.submit(study, slot, owner, {"claims": said}, key=str(slot))


def test_what_was_decided_counts_until_another_split_is_decided_on(bespoke, judged, split, ann):
    decide(bespoke, ann, split("It leaves at ten, with beds."))
    second = split("It leaves at ten.", "It has beds.", again=True)
    assert (second.version, second.text) == (2, "Take the night train at ten. It has beds.")
    assert work.information(work.reviewed(judged, ann)) == ["It leaves at ten, with beds."]
    decide(bespoke, ann, second)
    assert work.information(work.reviewed(judged, ann)) == ["It leaves at ten.", "It has beds."]
    assert [len(one.claims.all()) for one in judged.gold_responses.order_by("version")] == [1, 2]


@pytest.mark.parametrize("held", [True, False])
def test_a_split_that_nobody_decided_on_is_asked_no_more(bespoke, judged, split, held, ann):
    first = split("All in one.")
    if held:
        queue.claim(bespoke, ann)
    second = split("One.", "Two.", again=True)
    assert first.items.get().slots.get().status == "closed"
    decide(bespoke, ann, second)
    assert queue.claim(bespoke, ann) is None


def test_a_review_that_was_begun_is_not_taken_away(bespoke, judged, split, ann):
    first = split("All in one.")
    slot = queue.claim(bespoke, ann)
    submit.save_draft(bespoke, slot, ann, {"answer-claims/1": ["keep"]})
    second = split("One.", "Two.", again=True)
    assert queue.claim(bespoke, ann) == slot
    decide(bespoke, ann, first)
    assert work.information(work.reviewed(judged, ann)) == ["All in one."]
    decide(bespoke, ann, second)
    assert work.information(work.reviewed(judged, ann)) == ["One.", "Two."]


def test_a_split_that_cannot_be_asked_for_makes_no_version(judged, split, ann):
    response = split("All in one.")
    with pytest.raises(submit.DomainError):
        work.split_again(response, ann, endpoint="nobody")
    assert author.newest(judged) == response


def test_one_claim_for_many_sentences_is_split_by_sentences(judged, split, ann):
    author.save_response(judged, ann, "It leaves at ten. It has beds. 床が三つある。安い。")
    claims = split("It leaves at ten and has three beds.").claims
    assert list(claims.values_list("text", "model")) == [
        (text, "sentences")
        for text in ("It leaves at ten.", "It has beds.", "床が三つある。", "安い。")
    ]


def test_the_field_starts_empty_where_that_is_asked_for(judged, page, gold):
    assert page.get(gold).context["text"]
    assert page.get(f"{gold}?empty=1").context["text"] == ""
    page.post(f"{gold}?empty=1", {"text": "My own."})
    assert author.newest(judged).source is None


def test_the_page_splits_again(judged, split, page, gold):
    split("All in one.")
    assert "All in one." in page.get(gold).text
    page.post(f"{gold}claims/", {"endpoint": "fake", "again": "1"})
    assert author.newest(judged).version == 2
    assert "A model is splitting your response" in page.get(gold).text


def test_the_page_is_there_while_the_endpoints_are_configured_wrongly(page, gold, settings):
    settings.ENDPOINTS = {"name": "no list"}
    answer = page.get(gold)
    assert (answer.status_code, answer.context["servers"]) == (200, [])


def test_a_claim_without_a_verdict_is_named(bespoke, judged, ann):
    response = author.save_response(judged, ann, "Take it.")
    author.set_claims(response, ["One.", "Two."])
    open_batch(bespoke, bespoke.tasks.get(name="claims"))
    slot = queue.claim(bespoke, ann)
    said = {str(response.claims.first().pk): "keep"}
    with pytest.raises(submit.DomainError, match="Decide on claim 2"):
        submit.submit(bespoke, slot, ann, {"claims": said}, key="k")


def test_the_rubric_is_written_from_the_judgments_and_edited(judged, fake, ann):
    row = work.request_rubric(judged, ann, endpoint="fake")
    fake.requests.clear()
    fake.replies = [Reply("Tone: calm.")]
    writing.write_one(row.pk)
    assert "Tone: Because it fits." in fake.requests[0][2].decode()
    work.pull()
    assert judged.rubrics.get().text == "Tone: calm."
    author.save_rubric(judged, "Tone: calm and short.", author=ann)
    assert [rubric.version for rubric in judged.rubrics.order_by("version")] == [1, 2]


def test_a_rubric_that_cannot_be_stored_fails_and_keeps_nobody_waiting(judged, split, fake, ann):
    rubric = work.request_rubric(judged, ann, endpoint="fake")
    fake.replies = [Reply("x" * (author.TEXT_LIMIT + 1))]
    writing.write_one(rubric.pk)
    assert split("One.").claims.get().text == "One."
    rubric.refresh_from_db()
    assert (rubric.status, rubric.taken_at) == ("failed", None)
    assert rubric.error == "A text has at most 50000 characters."


def test_what_was_written_for_who_withdrew_is_not_taken_over(bespoke, judged, fake, ann):
    rows = [
        work.request_rubric(judged, ann, endpoint="fake"),
        work.request_claims(author.save_response(judged, ann, "Take it."), endpoint="fake"),
    ]
    fake.replies = [Reply("Tone: calm."), Reply("One.")]
    for row in rows:
        writing.write_one(row.pk)
    leaving.withdraw(bespoke, ann)
    assert work.pull() == 0
    assert not Rubric.objects.exists() and not GoldClaim.objects.exists()


def test_the_download_of_ones_data_has_own_questions_and_what_was_made_of_them(cast, judged, login):
    ann = cast.person("Ann")
    author.save_response(judged, ann, "Take the night train at ten.")
    author.save_rubric(judged, "Tone: calm.", author=ann)
    data = login(ann).get("/studies/tea/mine/download/").getvalue()
    given = json.loads(data)
    (question,), (response,), (rubric,) = (
        given[name] for name in ("queries", "gold_responses", "rubrics")
    )
    assert (question["question"], question["text"]) == (judged.external_id, judged.text)
    assert (question["need"], question["guide"]) == (judged.need, judged.guide)
    assert response["question"] == rubric["question"] == judged.external_id
    assert (response["text"], rubric["text"]) == ("Take the night train at ten.", "Tone: calm.")
    cast.member("Dan", judged.study, "annotator")
    other = json.loads(login(cast.person("Dan")).get("/studies/tea/mine/download/").getvalue())
    assert (other["queries"], other["gold_responses"], other["rubrics"]) == ([], [], [])


def test_claims_and_rubrics_are_no_answers_to_judge(bespoke, judged, fake, ann):
    work.request_rubric(judged, ann, endpoint="fake")
    response = author.save_response(judged, ann, "Take it.")
    work.request_claims(response, endpoint="fake")
    assert Candidate.objects.count() == 2
    assert Candidate.every.count() == 4
    assert judged.candidates.count() == 2


def test_asked_twice_it_is_one_request(judged, ann):
    first = work.request_rubric(judged, ann, endpoint="fake")
    assert work.request_rubric(judged, ann, endpoint="fake") == first


def test_the_page_shows_versions_and_what_changed(cast, judged, page, gold, login, ann):
    best = work.scored(judged, ann)[0]["candidate"]
    assert best.text in page.get(gold).text
    page.post(gold, {"text": f"{best.text} But better."})
    assert "<ins>" in page.get(gold).text
    newest = author.newest(judged)
    assert (newest.text, newest.source) == (f"{best.text} But better.", best.pk)
    assert login(cast.person("Bo")).get(gold).status_code == 404


def test_an_empty_gold_response_is_refused_with_the_page(page, gold):
    answer = page.post(gold, {"text": "  "})
    assert (answer.status_code, "There is no text to save." in answer.text) == (400, True)


def test_an_owner_writes_claims_by_hand_and_decides_on_them(judged, page, gold, ann):
    author.save_response(judged, ann, "Take the night train.")
    claims = f"{gold}claims/"
    page.post(claims, {"by_hand": "1", "claims": "It is a train.\x00\n- It goes by night."})
    assert list(author.newest(judged).claims.values_list("text", "model")) == [
        ("It is a train.", ""), ("It goes by night.", ""),
    ]  # fmt: skip
    assert "It goes by night." in page.get("/studies/tea/judge/").text
    page.post(claims, {"by_hand": "1", "claims": "It is a train."})
    newest = author.newest(judged)
    assert (newest.version, newest.claims.count()) == (2, 1)
    answer = page.post(claims, {"by_hand": "1", "claims": " \n"}, follow=True)
    assert "Write at least one claim" in answer.text
    assert author.newest(judged) == newest


@pytest.fixture
def restaurant(bespoke, judged, ann):
    """Two claims to decide on, of which one has a word that the gold response has not."""
    response = author.save_response(judged, ann, "Take the night train.")
    author.set_claims(response, ["It is a night train.", "It has a restaurant."], model="m")
    open_batch(bespoke, bespoke.tasks.get(name="claims"))


def test_words_that_are_not_in_the_response_are_marked(restaurant, page):
    text = page.get("/studies/tea/judge/").text
    assert text.count("Not in the right answer:") == 1
    assert "<strong>restaurant</strong>" in text
    assert "1 claim has words that are not in the right answer." in text


def test_claims_with_other_words_are_dropped_at_once_without_a_script(
    bespoke, restaurant, page, ann
):
    page.get("/studies/tea/judge/")
    slot = bespoke.slots.get(status="held", annotator=ann)
    typed = {"slot": slot.pk, "answer-claims/1": "edit", "answer-edited/1": "By night."}
    filled = page.post("/studies/tea/judge/", {**typed, "fill": "drop"})
    text = " ".join(filled.text.split())
    assert 'name="answer-claims/2" value="drop" data-key="3" required checked' in text
    assert 'name="answer-claims/1" value="edit" data-key="2" required checked' in text
    assert ">By night.</textarea>" in text
    assert not Answer.objects.filter(judgment__slot=slot).exists()
    page.post("/studies/tea/judge/", {**typed, "answer-claims/2": "drop", "key": "k"})
    verdicts = Judgment.objects.get(slot=slot).answers.filter(question="claims").order_by("part")
    assert list(verdicts.values_list("label", flat=True)) == ["edit", "drop"]
    again = page.post(f"/studies/tea/judged/{slot.pk}/", {**typed, "fill": "drop"})
    assert again.status_code == 200
    assert 'value="drop" data-key="3" required checked' in " ".join(again.text.split())
    assert Judgment.objects.filter(slot=slot).count() == 1
