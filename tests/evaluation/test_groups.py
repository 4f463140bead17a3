"""Figures by what people said of themselves: of groups of five with votes on the task alone."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.core.errors import DomainError
from annotation.evaluation.estimates import groups
from annotation.judging.models import ItemOption
from annotation.studies import survey
from tests.datasets.conftest import store_votes

LINES = "Age? | under 40 | over 40\nTongue? | English | Korean"


@pytest.fixture
def asked(cast, tea):
    """Five under 40 who choose the first answer of both items, and five who disagree."""
    items = list(cast.open(tea, items=2, options=2, overlap=10).items.order_by("position"))
    people = [cast.member(f"P{n}", tea, "annotator") for n in range(10)]
    for item, pattern in zip(items, ("1111111111", "1111122222"), strict=True):
        store_votes(item, pattern, people)
    asked = survey.publish(tea, survey.read_questions(LINES), "I agree.", by=None)
    for number, person in enumerate([*people, cast.person("Absent")]):
        answers = {"Age?": "under 40" if number < 5 else "over 40"}
        # Four say which tongue they speak: no group.
        survey.answer(asked, person, answers | ({"Tongue?": "Korean"} if number < 4 else {}))
    return asked


def test_each_group_has_its_agreement_and_shares_by_strategy(tea, asked):
    for option in ItemOption.objects.filter(item__study=tea):
        strategy = "A1" if option.number == 1 else "A3"
        tea.candidates.filter(pk=option.candidate_id).update(strategy=strategy)
    young, old = groups(tea, "better")
    assert [(each.answer, each.people, each.votes) for each in (young, old)] == [
        ("under 40", 5, 10), ("over 40", 5, 10)
    ]  # fmt: skip
    assert young.figures["percent_agreement"]["value"] == 1
    assert young.figures["share:A1"]["value"] == 1
    # Each item alone is unanimous: five of five, for one answer and for the other.
    assert old.figures["percent_agreement"]["value"] == 1
    assert (old.figures["share:A1"]["value"], old.figures["share:A3"]["value"]) == (0.5, 0.5)
    assert old.figures["symmetric_kappa"]["value"] == 1
    # All five are alike: resampled people say the same.
    assert (old.figures["share:A1"]["low"], old.figures["share:A1"]["high"]) == (0.5, 0.5)


def test_page_and_command_show_them_and_say_what_lacks(cast, tea, asked, login, capsys):
    browser = login(cast.member("Rea", tea, "researcher"))
    text = browser.get(reverse("groups", args=["tea", "better"])).content.decode()
    assert "Age? under 40" in text
    assert "Korean" not in text
    call_command("groups", "tea", task="better", json=True)
    assert [each["answer"] for each in json.loads(capsys.readouterr().out)] == [
        "under 40", "over 40"
    ]  # fmt: skip
    call_command("groups", "tea", task="better")
    assert "percent_agreement" in capsys.readouterr().out
    survey.publish(tea, [], "", by=None)
    with pytest.raises(CommandError, match="asks people nothing"):
        call_command("groups", "tea", task="better")
    with pytest.raises(DomainError, match="no task"):
        groups(tea, "nowhere")
    text = browser.get(reverse("groups", args=["tea", "better"])).content.decode()
    assert "asks people nothing" in text


def test_scores_have_a_mean_and_labels_a_share_each(mix, monkeypatch):
    monkeypatch.setattr(survey, "LEAST", 2)
    asked = survey.publish(mix, survey.read_questions(LINES), "I agree.", by=None)
    for membership in mix.memberships.filter(role="annotator").select_related("user"):
        survey.answer(asked, membership.user, {"Age?": "under 40"})
    (feel,) = groups(mix, "feel", "Tone")
    # Two people: 4 and 5.
    assert (feel.people, feel.figures["mean"]["value"]) == (2, 4.5)
    (traits,) = groups(mix, "traits")
    shares = {name: value["value"] for name, value in traits.figures.items() if "share" in name}
    assert shares == {
        "share:accepted": pytest.approx(4 / 6), "share:uncertain": pytest.approx(1 / 6),
        "share:rejected": pytest.approx(1 / 6),
    }  # fmt: skip
