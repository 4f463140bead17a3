"""Passages in a study: sent, shown, told, exported, imported, and erased."""

import json
import re

import pytest
from django.core.management import call_command

from annotation.agreement.board import Board
from annotation.agreement.figures import figure_names, figure_of
from annotation.agreement.tasks import recompute_due
from annotation.judging.annotator import leaving
from annotation.judging.batches.open import open_batch
from annotation.judging.kinds import kind_of
from annotation.judging.models import Answer
from annotation.judging.work.queue import claim
from annotation.judging.work.submit import submit
from tests import everykind

pytestmark = pytest.mark.django_db


@pytest.fixture
def mix(cast, tmp_path):
    return everykind.judged(cast, tmp_path)


@pytest.fixture
def mine(cast):
    """The rows of passages of a person's judgment."""

    def mine_(name):
        rows = Answer.objects.filter(question="odd", judgment__annotator=cast.person(name))
        return list(rows.order_by("option"))

    return mine_


def test_a_row_has_the_passages_of_an_answer_and_whoever_marks_none_has_no_row(mix, mine):
    assert [row.marks for row in mine("Bo")] == [
        [{"start": 0, "end": 10, "class": "Fact", "text": "Why?"}],
        [{"start": 5, "end": 6, "class": "Tone", "text": "Why?"}],
    ]
    assert mine("Chen") == []


def test_the_item_page_has_the_words_of_each_passage_with_its_class_and_remark(mix, login, cast):
    cast.member("Rui", mix, "researcher")
    item = mix.items.get(external_id="i-own")
    page = login(cast.person("Rui")).get(f"/studies/mix/results/own/items/{item.pk}/")
    assert "Answer 1, odd: Fact “Repot your”" in " ".join(page.text.split())
    assert "Answer 2, odd: Why?" in page.text
    # Three judged it: Ann marked "Repot", Bo "Repot your", and a word of the other answer.
    ann, bo = (f"user-{cast.person(name).pk}" for name in ("Ann", "Bo"))
    pattern = 'title="Marked by (.*?)">(.*?)<sup>(.*?)</sup>'
    assert re.findall(pattern, page.text) == [
        (f"{ann}, {bo}", "Repot", "2/3"), (bo, " your", "1/3"), (bo, "a", "1/3")
    ]  # fmt: skip


def test_who_withdraws_takes_their_words_along(mix, mine, cast):
    leaving.withdraw(mix, cast.person("Bo"))
    assert [row.marks for row in mine("Bo")] == [
        [{"start": 0, "end": 10, "class": "Fact"}],
        [{"start": 5, "end": 6, "class": "Tone"}],
    ]
    leaving.withdraw(mix, cast.person("Ann"))
    assert not Answer.objects.filter(judgment__annotator=cast.person("Ann")).exclude(text="")


def test_a_record_has_the_passages_of_answers_by_place_or_name_and_other_places_are_refused(
    cast, tmp_path, capsys
):
    study = cast.study("own")
    config = {"options": 2, "questions": [{"type": "passages", "name": "odd"}]}
    study.tasks.create(
        name="own", kind="questions", overlap=1, config=kind_of("questions").check_config(config)
    )
    record = {"id": "i", "prompt": "p", "a": "Walk 🚶 on", "b": "Rest", "ma": "m1", "mb": "m2"}
    odd = [
        {"option": "1", "start": 5, "end": 6, "text": "?"},
        {"option": "m2", "start": 0, "end": 4},
    ]
    rows = [record | {"by": "Ann", "odd": odd}, record | {"by": "Bo", "odd": json.dumps(odd[:1])}]
    rows.append(record | {"by": "Cy", "odd": [odd[1] | {"end": 5}]})
    file = tmp_path / "own.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    maps = {"id": "id", "prompt": "prompt", "answer_a": "a", "answer_b": "b", "model_a": "ma"}
    maps |= {"model_b": "mb", "worker": "by", "answers.odd": "odd"}
    named = [f"--map={target}={column}" for target, column in maps.items()]
    call_command(
        "import_data", str(file), *named, "--study=own", "--task=own", "--skip-faulty", "--json"
    )
    report = json.loads(capsys.readouterr().out)
    assert (report["votes"], [row["line"] for row in report["rejected"]]) == (2, [3])
    assert "within the 4 characters of its answer" in report["rejected"][0]["reason"]
    told = Answer.objects.values_list("judgment__annotator__worker", "option", "marks")
    names = dict(study.items.get().options.values_list("number", "candidate__model"))
    assert sorted((who, names[option], marks) for who, option, marks in told) == [
        ("own:Ann", "m1", [{"start": 5, "end": 6, "text": "?"}]),
        ("own:Ann", "m2", [{"start": 0, "end": 4}]),
        ("own:Bo", "m1", [{"start": 5, "end": 6, "text": "?"}]),
    ]


def test_results_have_the_share_that_marks_and_the_passages_of_each_class(mix):
    figure = figure_of(Board(mix, mix.tasks.get(name="own")), "passages")
    assert figure.rows == [
        ("odd", "all", 3, 2 / 3, 3), ("odd", "Fact", 3, 2 / 3, 2), ("odd", "Tone", 3, 1 / 3, 1)
    ]  # fmt: skip
    assert "odd: Fact" in figure.svg and figure.votes == 3


@pytest.fixture
def own(cast):
    """A function that opens a task of these questions about one answer, in a study of its own."""

    def open_(*questions):
        study = cast.study("own")
        config = kind_of("questions").check_config({"options": 1, "questions": list(questions)})
        task = study.tasks.create(name="own", kind="questions", overlap=3, config=config)
        cast.candidates(cast.query(study, "q", None), 1)
        open_batch(study, task)
        return study, task, str(study.items.get().options.get().candidate_id)

    return open_


def answer(cast, study, name, **answers):
    person = cast.member(name, study, "annotator")
    submit(study, claim(study, person), person, {"answers": answers}, key=name)


def test_whom_the_question_missed_is_not_counted(cast, own):
    asked = {"question": "fine", "labels": ["No"]}
    odd = {"type": "passages", "name": "odd", "asked_when": asked}
    fine = {"type": "label", "name": "fine", "classes": ["No", "Yes"]}
    study, task, option = own(fine, odd)
    for name in ("Ann", "Bo"):
        answer(cast, study, name, fine="No", odd=[{"option": option, "start": 0, "end": 2}])
    answer(cast, study, "Cy", fine="Yes")
    assert "passages" in figure_names(Board(study, task))
    assert figure_of(Board(study, task), "passages").rows == [("odd", "", 2, 1, 2)]


def test_a_task_of_passages_alone_has_its_figure_as_a_page_and_as_a_table(cast, login, own):
    study, _task, option = own({"type": "passages", "name": "odd", "title": "What is odd?"})
    page = login(cast.member("Rui", study, "researcher"))
    results = "/studies/own/results/own/"
    assert page.get(results).status_code == 200
    for name in ("Ann", "Bo"):
        answer(cast, study, name, odd=[{"option": option, "start": 0, "end": 2}])
    recompute_due()
    assert "Marked passages" in page.get(results).text
    assert "What is odd?,,2,1.0,2" in page.get(f"{results}figures/passages.csv").text
    assert page.get(f"{results}figures/passages.svg").status_code == 200
