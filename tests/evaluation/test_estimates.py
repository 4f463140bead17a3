"""Quantities of a task by people, by people and a model, and by the model alone."""

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.agreement.statistics.coefficient import undefined
from annotation.agreement.statistics.prediction_powered import confidence_sequence
from annotation.core.errors import DomainError
from annotation.evaluation.estimates import (
    Material,
    as_json,
    estimates,
    groups,
    side_of,
    strengths,
)
from annotation.evaluation.raters import Asked, import_verdicts
from annotation.judging.batches.open import ask_for_more
from annotation.judging.models import ItemOption, Judgment, Slot
from annotation.questions.base import Measure
from annotation.studies import survey
from annotation.studies.models import Study
from tests.commands import run
from tests.conftest import Cast, kept
from tests.datasets.conftest import store_votes
from tests.evaluation.conftest import ROWS, printed, write


def quantities(study, task, question=""):
    found = as_json(estimates(study, task, question))
    return {each["name"]: each for each in found["quantities"]}


def verdict(task, label=None, **more):
    return {"task": task, "model": "m-1", "label": label} | more


def test_no_preference_is_a_win_for_neither_answer():
    scale = Asked(Measure("", "ordinal", tuple("12345"), "preference"), scale=True)
    assert [side_of(scale, label) for label in "12345"] == [1, 1, 0, 2, 2]
    choice = Asked(Measure("", "nominal", ("1", "2", "tie"), "choice"), chooses=True)
    assert [side_of(choice, label) for label in ("1", "2", "tie")] == [1, 2, 0]


def test_a_strategy_that_the_model_compared_with_none_has_no_strength_by_it():
    choice = Asked(Measure("", "nominal", ("1", "2"), "choice"), chooses=True)
    pairs = [("a", "b")] * 6 + [("b", "c")] * 6
    origins = {
        str(n): {1: (first, "m"), 2: (second, "m")} for n, (first, second) in enumerate(pairs)
    }
    units = [(item, None) for item in origins]
    votes = [(unit, 1, "12"[n % 3 == 0]) for n, unit in enumerate(units)]
    verdicts = {"judge": {unit: "12"[n % 2] for n, unit in enumerate(units[:6])}}
    material = Material(choice, votes, verdicts, origins, 2, units)
    found = {each.name: each for each in strengths(material, "judge", ["a", "b", "c"])}
    alone = [found[f"strength:{name}"].model for name in "abc"]
    assert alone == [pytest.approx(0), pytest.approx(0), None]
    assert found["strength:a"].people.value > found["strength:c"].people.value


def test_models_agree_with_people_so_often_by_tier(mix, tmp_path):
    import_verdicts(mix, write(tmp_path, *ROWS))
    (found,) = as_json(estimates(mix, "traits"))["agreements"]
    # The model accepts both: so do three and one of three people. No item has seven votes: there
    # are no tiers.
    assert (found["tier"], found["n"], found["value"]) == ("all", 6, pytest.approx(2 / 3))


def test_labels_have_a_share_each_three_ways_and_gold_its_accuracy(mix, tmp_path):
    import_verdicts(mix, write(tmp_path, *ROWS, verdict("g-1", "rejected")))
    found = quantities(mix, "traits")
    names = ["share:accepted", "share:uncertain", "share:rejected", "accuracy:gold"]
    assert list(found) == names
    accepted = found["share:accepted"]
    # All three accept a1, one of three a2; the model accepts both.
    assert accepted["people"]["value"] == pytest.approx(2 / 3)
    assert accepted["people"]["n"] == 6
    assert accepted["model"] == {"value": 1, "n": 2, "model": "m-1"}
    # All items have votes: there is nothing that the model could add.
    assert accepted["combined"]["lambda"] == 0
    assert accepted["combined"]["n_effective"] == 6
    assert accepted["combined"]["value"] == accepted["people"]["value"]
    gold = found["accuracy:gold"]
    assert gold["model"] == {"value": 1, "n": 1, "model": "m-1"}
    assert gold["people"]["value"] is None


def test_a_choice_and_a_scale_have_shares_of_wins_by_strategy(mix, tmp_path):
    rows = [*ROWS, verdict("i-better", "c-generic"), verdict("i-own", "c-own", question="best")]
    import_verdicts(mix, write(tmp_path, *rows))
    better = quantities(mix, "better")
    # Two of three chose c-own (A1), one a tie.
    assert better["share:A1"]["people"]["value"] == pytest.approx(2 / 3)
    assert better["share:generic"]["people"]["value"] == 0
    assert better["share:generic"]["model"]["value"] == 1
    rate = quantities(mix, "rate")
    assert rate["share:A1"]["people"]["value"] == pytest.approx(2 / 3)
    assert rate["share:A1"]["model"]["value"] == 1
    own = quantities(mix, "own")
    assert own["share:A1"]["people"]["value"] == pytest.approx(2 / 3)


def test_scores_and_places_have_means_by_model_and_criterion(mix, tmp_path):
    mix.candidates.filter(external_id="c-own").update(model="writer")
    rows = [
        verdict("i-feel", question="Tone", value=3),
        verdict("i-own", question="depth", value=7),
        verdict("i-order", option="c-own", value=1),
        verdict("i-own", "No", question="polite", option="c-own"),
    ]
    import_verdicts(mix, write(tmp_path, *rows))
    feel = quantities(mix, "feel")
    assert list(feel) == ["mean:writer:Tone"]
    assert feel["mean:writer:Tone"]["people"]["value"] == 4.5
    assert feel["mean:writer:Tone"]["model"]["value"] == 3
    depth = quantities(mix, "own", "depth")["mean:depth"]
    assert (depth["people"]["value"], depth["model"]["value"]) == (pytest.approx(17 / 3), 7)
    order = quantities(mix, "order")
    assert order["mean:writer:ranking"]["people"]["value"] == 1
    polite = quantities(mix, "own", "polite")
    # Six answers on two options: Yes, No; Yes, Unsure; No, Yes.
    assert polite["share:Yes"]["people"]["value"] == 0.5
    assert polite["share:No"]["model"] == {"value": 1, "n": 1, "model": "m-1"}


def test_what_cannot_be_estimated_is_refused(mix, tmp_path):
    with pytest.raises(DomainError, match="No model has judged"):
        estimates(mix, "traits")
    with pytest.raises(DomainError, match="no task “none”"):
        estimates(mix, "none")
    import_verdicts(mix, write(tmp_path, *ROWS))
    with pytest.raises(DomainError, match="questions are verdict"):
        estimates(mix, "traits", "other")


def test_the_command_prints_json_and_a_table(mix, tmp_path):
    import_verdicts(mix, write(tmp_path, *ROWS))
    document = printed("estimates", "mix", task="traits")
    assert document["quantities"][0]["name"] == "share:accepted"
    assert document["alternatives"][0]["passed"] is None
    assert "share:accepted" in run("estimates", "mix", "--task", "traits")
    with pytest.raises(CommandError, match="no task"):
        run("estimates", "mix", "--task", "none")


@kept
def voted_large(folder):
    """90 pairs, 30 of them with three votes each; the judge is right on most of all."""
    cast, rng = Cast(), np.random.default_rng(2)
    study = cast.study("large")
    cast.members(study, {"Rui": "researcher", "Ann": "annotator"})
    opened = cast.open(study, items=90, options=2, overlap=3, name="best").items
    better = rng.random(90) < 0.6
    votes, verdicts = ["task,worker,label"], []
    for n, item in enumerate(opened.select_related("query").order_by("position")):
        first, second = (f"{item.query.external_id}-{place}" for place in range(2))
        for worker in range(3 if n < 30 else 0):
            right = better[n] == (rng.random() < 0.9)
            votes.append(f"{item.external_id},w{worker},{first if right else second}")
        label = first if better[n] else second
        verdicts.append({"task": item.external_id, "model": "m-1", "label": label})
    (folder / "votes.csv").write_text("\n".join(votes))
    call_command("import_votes", "large", str(folder / "votes.csv"))
    import_verdicts(study, write(folder, *verdicts))
    return study.pk


@pytest.fixture
def large(voted_large, db):
    return Study.objects.get(pk=voted_large)


def test_a_good_model_on_further_items_narrows_the_interval(large):
    found = quantities(large, "best")
    assert list(found) == ["share:A1", "share:A2", "strength:A1", "strength:A2"]
    for each in found.values():
        people, both = each["people"], each["combined"]
        # The three raters are the same on all items, and no model knows their own levels.
        assert both["high"] - both["low"] < 0.95 * (people["high"] - people["low"])
        assert 0 < both["lambda"] <= 1
        assert both["n_effective"] > 90
        assert (people["n"], each["model"]["n"]) == (90, 90)
    one, two = found["share:A1"], found["share:A2"]
    assert one["combined"]["value"] + two["combined"]["value"] == pytest.approx(1)
    effective = f"{one['combined']['n_effective']:,.0f}"
    assert one["sentence"] == f"as precise as {effective} votes; 90 were cast"


def test_the_interval_that_one_may_look_at_every_day_is_of_items_in_the_order_of_votes(large):
    quantity = estimates(large, "best")["quantities"][0]
    items = large.items.filter(done=3).order_by("position")
    one = {item: item.options.get(candidate__strategy="A1").number for item in items}
    last = {item: max(slot.judgments.latest("pk").submitted_at for slot in item.slots.all())
            for item in items}  # fmt: skip
    means = [item.counts.get(str(one[item]), 0) / 3 for item in sorted(items, key=last.get)]
    low, high = confidence_sequence(np.array(means))
    assert quantity.always == (low[-1], high[-1])
    assert low[-1] < quantity.people.low < quantity.people.high < high[-1]
    # Who waits for a vote is left out, so that the next look only adds items.
    newest = sorted(items, key=last.get)[-1]
    ask_for_more([newest], 4)
    assert estimates(large, "best")["quantities"][0].always == (low[-2], high[-2])
    ask_for_more([item for item in items if item != newest], 4)
    assert estimates(large, "best")["quantities"][0].always is None
    Slot.objects.filter(status="open").delete()
    items.filter(position__lte=10).update(chance=0.5)
    assert estimates(large, "best")["quantities"][0].always is None


def test_page_api_and_command_say_how_many_votes_three_points_need(large, cast, login):
    share = estimates(large, "best")["quantities"][0]
    assert share.planned == {"half_width": 0.03, "people": None, "combined": None}
    words = "± 0.03 needs more than all items give votes, more than all items give without the"
    assert words in run("estimates", "large", "--task", "best")
    page = login(cast.person("Rui")).get("/studies/large/results/best/estimates/")
    assert "more than these items give" in page.text


def test_the_model_passes_the_test_of_an_alternative_annotator(large):
    test = estimates(large, "best")["alternatives"]["m-1"]
    assert (test.passed, len(test.raters)) == (True, 3)


def test_readers_see_page_and_api_and_annotators_do_not(large, cast, login):
    page = login(cast.person("Rui")).get("/studies/large/results/best/estimates/")
    text = page.text
    assert "Strength of A1" in text
    assert "as good a rater as they are" in text
    api = login(cast.person("Rui")).get("/api/v1/studies/large/estimates/?task=best")
    assert api.json() == as_json(estimates(large, "best"))
    wrong = login(cast.person("Rui")).get("/api/v1/studies/large/estimates/?task=none")
    assert wrong.status_code == 400
    assert login(cast.person("Rui")).get("/studies/large/results/no/estimates/").status_code == 404
    other = login(cast.person("Rui")).get("/studies/large/results/best/estimates/?question=no")
    assert "questions are" in other.text


def test_without_verdicts_the_command_names_study_task_and_endpoint(cast, tea, login, settings):
    cast.open(tea, name="best")
    rui = login(cast.member("Rui", tea, "researcher"))
    settings.ENDPOINTS = []
    page = rui.get("/studies/tea/results/best/estimates/").text
    assert ("judge_items" in page, "NAME" in page) == (False, False)
    settings.ENDPOINTS = [{"name": "laptop", "base_url": "http://127.0.0.1:9/v1", "model": "m"}]
    page = rui.get("/studies/tea/results/best/estimates/").text
    assert "judge_items tea --task best --endpoint laptop" in page


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


def test_a_strategy_has_its_share_of_the_items_that_offer_it(tea, asked):
    """A1 against A3 on the first item, A2 against A3 on the second."""
    for option in ItemOption.objects.filter(item__study=tea):
        strategy = "A3" if option.number == 2 else f"A{option.item.position}"
        tea.candidates.filter(pk=option.candidate_id).update(strategy=strategy)
    _young, old = groups(tea, "better")
    shares = {name: old.figures[f"share:{name}"]["value"] for name in ("A1", "A2", "A3")}
    assert shares == {"A1": 1, "A2": 0, "A3": 0.5}
    # Of a group none of whose items offers a strategy nothing is told.
    Judgment.objects.filter(annotator__name__in=[f"P{n}" for n in range(5)]).filter(
        slot__item__position=1
    ).delete()
    young, _old = groups(tea, "better")
    assert young.figures["share:A1"] == undefined("no items").as_json()


def test_page_and_command_show_them_and_say_what_lacks(cast, tea, asked, login):
    browser = login(cast.member("Rea", tea, "researcher"))
    text = browser.get(reverse("groups", args=["tea", "better"])).text
    assert "Age? under 40" in text
    assert "Korean" not in text
    told = printed("groups", "tea", task="better")
    assert [each["answer"] for each in told] == ["under 40", "over 40"]
    assert "percent_agreement" in run("groups", "tea", "--task", "better")
    survey.publish(tea, [], "", by=None)
    with pytest.raises(CommandError, match="asks people nothing"):
        run("groups", "tea", "--task", "better")
    with pytest.raises(DomainError, match="no task"):
        groups(tea, "nowhere")
    text = browser.get(reverse("groups", args=["tea", "better"])).text
    assert "asks people nothing" in text


def test_groups_are_told_with_and_without_what_began_from_a_proposal(
    cast, tea, asked, login, capsys
):
    tea.tasks.update(config=tea.tasks.get().config | {"proposal": "earlier"})
    began = Judgment.objects.filter(slot__item__position=2, annotator__name__in=("P0", "P1", "P9"))
    assert began.update(proposal={"from": "earlier"}) == 3
    browser = login(cast.member("Rea", tea, "researcher"))
    page = reverse("groups", args=["tea", "better"])
    for left_out, votes, words in ((False, 10, "are among them"), (True, 8, "are left out")):
        young, _old = groups(tea, "better", proposed=not left_out)
        assert young.votes == votes
        query = {"task": "better", "without_proposals": str(left_out).lower()}
        answer = browser.get("/api/v1/studies/tea/groups/", query).json()
        assert answer["proposals"] == {"judgments": 3, "left_out": left_out}
        assert answer["results"][0]["votes"] == votes
        call_command("groups", "tea", task="better", without_proposals=left_out)
        assert f"3 judgments began from a proposal: they {words}" in capsys.readouterr().err
        text = browser.get(page, {"without_proposals": 1} if left_out else {}).text
        assert "3 judgments began from" in text
        assert ("They are left out." in text) == left_out
    wrong = browser.get("/api/v1/studies/tea/groups/", {"task": "better", "without_proposals": "x"})
    assert wrong.status_code == 400


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
