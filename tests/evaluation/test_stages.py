"""The stages with people and models, for readers alone."""

import json

import pytest
from django.core.management import CommandError, call_command

from annotation.evaluation import gap, stages
from annotation.evaluation.verdicts import import_verdicts
from tests.evaluation.conftest import ROWS, write


def test_the_stages_stand_in_order_with_people_and_models(mix, tmp_path):
    import_verdicts(mix, write(tmp_path, *ROWS))
    traits, matter, rate = stages.of_study(mix)
    assert [stage["task"].name for stage in (traits, matter, rate)] == ["traits", "matter", "rate"]
    assert traits["people"] == pytest.approx([400 / 6, 100 / 6, 100 / 6])
    assert traits["models"][0]["shares"] == [100, 0, 0]
    assert matter["people"] == pytest.approx([200 / 3, 100 / 3])
    # People rate the personalised answer 5, 5 and 2; the model, first candidate much better, too.
    assert rate["people"] == pytest.approx([0, 100 / 3, 0, 0, 200 / 3])
    assert rate["models"][0]["shares"] == [0, 0, 0, 0, 100]
    assert (rate["no_better"], rate["models"][0]["no_better"]) == (pytest.approx(100 / 3), 0)


def test_a_study_that_no_model_has_judged_has_its_stages(mix):
    traits, matter, rate = stages.of_study(mix)
    assert [stage["models"] for stage in (traits, matter, rate)] == [[], [], []]
    assert traits["between_models"].value is None


def test_ratings_without_a_generic_answer_are_left_out(mix, tmp_path):
    import_verdicts(mix, write(tmp_path, *ROWS))
    mix.candidates.update(strategy="A1")
    rate = stages.of_study(mix)[2]
    assert (rate["items"], rate["left_out"], rate["no_better"]) == (0, 1, None)


@pytest.mark.parametrize("name", ["Ann", "Rui"])
def test_readers_see_the_page_and_annotators_do_not(mix, cast, login, tmp_path, name):
    import_verdicts(mix, write(tmp_path, *ROWS))
    answer = login(cast.person(name)).get("/studies/mix/gap/")
    assert answer.status_code == (200 if name == "Rui" else 403)
    assert ("m-1" in answer.content.decode()) == (name == "Rui")


def test_a_study_without_such_tasks_says_so(tea, cast, login):
    page = login(cast.person("Rui")).get("/studies/tea/gap/").content.decode()
    assert "Nothing is judged yet" in page


def test_no_annotator_sees_a_models_verdict(mix, cast, tmp_path, login):
    import_verdicts(mix, write(tmp_path, *(row | {"model": "m-canary"} for row in ROWS)))
    cast.member("Dana", mix, "annotator")
    mix.items.exclude(batch__purpose="work").delete()
    mix.slots.filter(status="done").update(status="void")
    page = login(cast.person("Dana")).get("/studies/mix/judge/").content.decode()
    assert "m-canary" not in page


def test_the_command_prints_over_selection_mean_ratings_and_kappa_between_models(
    mix, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(gap.pairs, "__defaults__", (2,))
    rows = [*ROWS, {"task": "i-a1", "model": "m-2", "label": "accepted"}]
    rows.append({"task": "i-a2", "model": "m-2", "label": "rejected"})
    import_verdicts(mix, write(tmp_path, *rows))
    call_command("gap", "mix")
    traits, matter, rate = json.loads(capsys.readouterr().out)["stages"]
    # m-1 accepts both attributes, people 4 of 6 times; m-2 one of two.
    factors = [model["over_selection"] for model in traits["models"]]
    assert factors == pytest.approx([1.5, 0.75])
    # m-1 never says "yes", people two of three times.
    assert matter["models"][0]["over_selection"] == 0
    # Models agree on one of two, as by chance: 0.5 observed, 1 * 0.5 + 0 * 0.5 expected.
    assert traits["between_models"]["value"] == 0
    assert (rate["mean_rating"], rate["models"][0]["mean_rating"]) == (4, 5)
    with pytest.raises(CommandError, match="There is no study"):
        call_command("gap", "none")
