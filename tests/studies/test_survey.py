"""What people say of themselves: their own consent, versions, and what k-anonymity leaves."""

import json

import pytest
from django.test import Client, TestCase
from django.urls import reverse
from django.utils import timezone

from annotation.accounts.models import ApiToken, Consent
from annotation.core.errors import DomainError
from annotation.judging.annotator import leaving
from annotation.judging.models import Slot
from annotation.operations import backup
from annotation.studies import survey

LINES = "Age? | under 40 | 40 to 60 | over 60\nTongue? | English | Korean"
QUESTIONS = survey.read_questions(LINES)
AGE, TONGUE = "Age?", "Tongue?"


def said(*groups):
    """{number: answers} of (how many, age, tongue)."""
    every = [(age, tongue) for n, age, tongue in groups for _ in range(n)]
    return {
        user: {name: value for name, value in ((AGE, age), (TONGUE, tongue)) if value}
        for user, (age, tongue) in enumerate(every)
    }


@pytest.mark.parametrize(
    ("groups", "ages", "tongues", "not_told"),
    [
        # Five of each, alike in both.
        ([(5, "under 40", "Korean"), (5, "over 60", "English")],
         {"under 40": 5, "over 60": 5}, {"Korean": 5, "English": 5}, []),
        # Four are too few, and what is not told needs five, too: the next choice goes with them.
        ([(6, "under 40", "Korean"), (9, "40 to 60", "Korean"), (4, "over 60", "Korean")],
         {"40 to 60": 9}, {"Korean": 19}, ["over 60", "under 40"]),
        # One who says nothing stands alone unless another choice is not told either.
        ([(5, "under 40", "Korean"), (6, "40 to 60", "Korean"), (1, "", "Korean")],
         {"40 to 60": 6}, {"Korean": 12}, ["under 40"]),
        # Each alone has five, together four of one kind: the question with most choices goes.
        ([(5, "under 40", "Korean"), (4, "40 to 60", "Korean"), (5, "40 to 60", "English"),
          (5, "over 60", "Korean")], {}, {"Korean": 14, "English": 5}, []),
        ([(4, "under 40", "Korean")], {}, {}, ["under 40"]),
    ],
)  # fmt: skip
def test_nothing_is_told_of_fewer_than_five_people(groups, ages, tongues, not_told):
    told, (age, tongue) = survey.coarsened(QUESTIONS, said(*groups))
    assert (age["choices"], tongue["choices"], age["not_told"]) == (ages, tongues, not_told)
    rows = [tuple(sorted(row.items())) for row in told.values()]
    assert all(rows.count(row) >= survey.LEAST for row in rows)
    for name, counts in ((AGE, ages), (TONGUE, tongues)):
        values = [row[name] for row in told.values() if name in row]
        assert {value: values.count(value) for value in set(values)} == counts
    assert age["left_out"] == (not ages)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("Age?", "needs 2 to 30"), ("Age? | a | a", "needs 2 to 30"), ("A? | a | ", "1 to 200"),
        ("A? | a | b\nA? | c | d", "twice"), (f"A? | a | {'b' * 201}", "1 to 200"),
        ("\n".join(f"Q{n}? | a | b" for n in range(21)), "20 questions"),
    ],
)  # fmt: skip
def test_questions_that_are_none_are_refused_in_words(lines, words):
    with pytest.raises(DomainError, match=words):
        survey.read_questions(lines)


@pytest.fixture
def asked(tea):
    return survey.publish(tea, QUESTIONS, "I agree to be counted.", by=None)


def test_a_change_is_a_new_version_and_no_question_ends_the_survey(tea, asked):
    assert survey.publish(tea, QUESTIONS, "I agree to be counted.", by=None) == asked
    newer = survey.publish(tea, QUESTIONS[:1], "I agree to be counted.", by=None)
    assert (newer.version, newer.consent_text) == (2, asked.consent_text)
    with pytest.raises(DomainError, match="its own consent"):
        survey.publish(tea, QUESTIONS, " ", by=None)
    assert survey.publish(tea, [], "", by=None) is None
    assert survey.current(tea) is None


def test_an_annotator_is_asked_after_the_consent_answers_skips_and_takes_back(
    cast, tea, asked, login
):
    ann = cast.member("Ann", tea, "annotator", consented=False)
    browser, page = login(ann), reverse("survey", args=["tea"])
    agreed = {"text": tea.consent_text.pk, "agree": "1"}
    assert browser.post(reverse("consent", args=["tea"]), agreed).url == page
    assert "I agree to be counted." in browser.get(page).text
    assert browser.post(page, {"decision": "skip", "q0": "over 60"}).url.endswith("/judge/")
    assert survey.answers_of(asked) == {}
    assert not Consent.objects.filter(user=ann, text=asked.consent_text).exists()
    assert browser.post(page, {"decision": "answer", "q0": "ninety"}).status_code == 400
    assert browser.post(page, {"decision": "answer", "q0": "over 60"}).status_code == 302
    assert survey.answers_of(asked) == {ann.pk: {AGE: "over 60"}}
    assert Consent.objects.filter(user=ann, text=asked.consent_text, withdrawn_at=None).exists()
    assert 'value="over 60" selected' in browser.get(page).text
    browser.post(page, {"decision": "withdraw"})
    assert survey.answers_of(asked) == {}
    assert not Consent.objects.filter(user=ann, text=asked.consent_text, withdrawn_at=None).exists()


def test_a_withdrawal_from_the_study_takes_the_answers_along(cast, tea, asked):
    ann = cast.member("Ann", tea, "annotator")
    survey.answer(asked, ann, {AGE: "over 60"})
    leaving.withdraw(tea, ann)
    assert not asked.answers.exists()


def test_a_full_group_is_refused_kindly_and_its_people_part_without_a_trace(
    cast, tea, asked, login
):
    tea.group_places = 1
    tea.save()
    page = reverse("survey", args=["tea"])
    survey.answer(asked, cast.member("Ann", tea, "annotator"), {AGE: "over 60"})
    bo = cast.member("Bo", tea, "annotator")
    answer = login(bo).post(page, {"decision": "answer", "q0": "over 60"})
    assert (answer.status_code, "Thank you for coming" in answer.text) == (409, True)
    assert tea.memberships.get(user=bo).left_at is not None
    assert list(survey.answers_of(asked)) == [cast.person("Ann").pk]
    cleo = cast.member("Cleo", tea, "annotator")
    survey.answer(asked, cleo, {AGE: "under 40"})
    # Who left makes room, who has work stays.
    tea.memberships.filter(user=cast.person("Ann")).update(left_at=timezone.now())
    survey.answer(asked, cast.member("Dee", tea, "annotator"), {AGE: "over 60"})
    cast.open(tea, items=1, overlap=1)
    Slot.objects.update(status="held", annotator=cleo)
    survey.answer(asked, cleo, {AGE: "over 60"})
    assert survey.answers_of(asked)[cleo.pk] == {AGE: "over 60"}


def test_answers_that_were_taken_back_go_again_after_a_restore(
    cast, tea, asked, settings, tmp_path
):
    settings.DATA = tmp_path
    ann = cast.member("Ann", tea, "annotator")
    survey.answer(asked, ann, {AGE: "over 60"})
    stored = list(asked.answers.values())
    with TestCase.captureOnCommitCallbacks(execute=True):
        survey.take_back(tea, ann)
    asked.answers.create(user=ann, answers=stored[0]["answers"])
    asked.answers.update(answered_at=stored[0]["answered_at"])
    assert backup.replay_withdrawals() == 1
    assert not asked.answers.exists()
    survey.answer(asked, ann, {AGE: "under 40"})
    assert backup.replay_withdrawals() == 0


def test_an_administrator_enters_questions_and_sees_what_is_lost(cast, tea, login):
    browser = login(cast.member("Adam", tea, "administrator"))
    page = reverse("survey-questions", args=["tea"])
    wrong = browser.post(page, {"questions": "Age?", "consent": "I agree."})
    assert (wrong.status_code, "needs 2 to 30" in wrong.text) == (400, True)
    assert browser.post(page, {"questions": LINES, "consent": "I agree."}).status_code == 302
    asked = survey.current(tea)
    for number in range(9):
        age = "over 60" if number < 4 else "under 40"
        survey.answer(asked, cast.person(f"P{number}"), {AGE: age, TONGUE: "Korean"})
    text = browser.get(page).text
    assert "9 people have answered" in text
    # Four over 60 are not told, and five under 40 with them: else the four could be told apart.
    assert "Korean 9" in text


def test_the_api_asks_and_answers_as_the_page_does(cast, tea):
    asked = {"version": 1, "questions": QUESTIONS, "consent": "I agree."}
    address = reverse("api-survey", args=["tea"])

    def call(person, method="get", **body):
        key = ApiToken.issue(person)[1]
        return getattr(Client(headers={"Authorization": f"Bearer {key}"}), method)(
            address, json.dumps(body) if body else None, content_type="application/json"
        )

    adam, ann = cast.member("Adam", tea, "administrator"), cast.member("Ann", tea, "annotator")
    same = {"questions": LINES, "consent": "I agree."}
    told = call(adam, "put", **same).json()
    assert told == asked | survey.summary(survey.current(tea))
    assert call(ann).json() == asked
    assert call(ann, "post", answers={AGE: "ninety"}).json()["detail"].endswith("of the choices.")
    assert call(ann, "post", answers={AGE: "over 60"}).status_code == 200
    assert call(adam).json()["people"] == 1
    assert call(ann, "delete").status_code == 204
    assert call(adam).json()["people"] == 0


@pytest.mark.parametrize(
    ("people", "even"), [([5, 5], 1), ([8], None), ([], None), ([5, 15], 0.8113), ([7, 7, 7], 1)]
)
def test_shannons_evenness(people, even):
    assert survey.evenness(people) == (even if even is None else pytest.approx(even, abs=1e-4))
