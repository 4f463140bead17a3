"""Ratings collected elsewhere become studies with results, on the scale that they were given on."""

import csv
import json
from collections import defaultdict

import pytest
from django.core.management import CommandError, call_command

from annotation.agreement import recompute
from annotation.agreement.models import AgreementResult
from annotation.judging.kinds import kind_of
from annotation.judging.models import Answer, ItemOption
from annotation.studies.models import Study, TaskDefinition
from tests import corpora
from tests.imports.conftest import counts

DICES = corpora.DATA / "dices-990"
pytestmark = pytest.mark.django_db


QUALITY = "id,prompt,answer,annotator,quality\ni,p,a,x,%s\ni,p,a,y,%s\ni,p,a,z,%s\n"
RATED = ("--recipe", "ratings", "--study", "tea")


def bounds_of(question: dict) -> tuple:
    """Lowest and highest number and step; what is not stored is the usual."""
    return tuple(
        question.get(name, usual) for name, usual in (("minimum", 0), ("maximum", 100), ("step", 1))
    )


@pytest.mark.parametrize(
    ("scores", "bounds"),
    [
        (("73.5", "4", "98"), (0, 100, 0.1)),
        (("0.25", "1", "0"), (0, 1, 0.01)),
        (("0", "5", "3"), (0, 5, 1)),
        (("2.5", "4.0", "5"), (2, 5, 0.1)),
        (("-20", "300", "12"), (-20, 300, 1)),
    ],
)
def test_scores_that_no_scale_has_are_answers_to_a_question_for_numbers(bring, scores, bounds):
    assert counts(bring(QUALITY % scores, *RATED)) == [0, 1, 1, 1, 3, 3, 3]
    (question,) = TaskDefinition.objects.get().config["questions"]
    described = tuple(question[name] for name in ("type", "about", "name"))
    assert described == ("number", "option", "quality")
    assert bounds_of(question) == bounds
    stored = Answer.objects.order_by("pk").values_list("label", flat=True)
    assert list(map(float, stored)) == list(map(float, scores))


def test_a_number_outside_the_bounds_of_the_task_is_a_faulty_line(bring):
    bring(QUALITY % ("73", "4", "98"), *RATED)
    report = bring(QUALITY.replace("i,p", "j,q") % ("101", "50", "7.5"), *RATED, "--skip-faulty")
    assert [(fault["line"], fault["reason"]) for fault in report["rejected"]] == [
        (2, "“quality”: 101 is not between 0 and 100."),
        (4, "“quality”: 7.5 is between two steps: from 0 on, go by 1."),
    ]


def test_a_score_off_the_scale_is_a_faulty_line(bring):
    bring(QUALITY % (4, 5, 1), *RATED)
    more = ("--task", "feedback", "--skip-faulty")
    report = bring(QUALITY.replace("i,p", "j,q") % (4, 73, 2.5), *RATED, *more)
    far = "the score 73 of “quality” is not 1 to 5, and no scale has more than 9 points"
    off = (
        "the score 2.5 of “quality” is no whole number from 1 to 5, and people choose a point of "
        "a scale"
    )
    assert report["rejected"] == [
        {"line": line, "reason": f"{words}: import other scores of answers as scores"}
        for line, words in ((3, far), (4, off))
    ]


SAFE = "prompt,answer,annotator,is_safe\np,a,x,Yes\np,a,y,Unsure\np,a,z,No\n"
READ = [f"--map={pair}" for pair in ("prompt=prompt", "answer=answer", "worker=annotator")]
SAFE_READ = [*READ, "--map=label=is_safe"]


def asked() -> list[tuple]:
    """Type, name, classes and order of the questions of the only task."""
    found = []
    for question in TaskDefinition.objects.get().config["questions"]:
        classes = [each["name"] for each in question["classes"]]
        found.append((question["type"], question["name"], classes, question.get("ordinal", False)))
    return found


@pytest.mark.parametrize(
    ("options", "classes", "ordinal"),
    [
        ((), ["Yes", "Unsure", "No"], False),
        (("--classes", "No,Unsure,Yes"), ["No", "Unsure", "Yes"], False),
        (("--classes", "No, Unsure, Yes, Never", "--level", "ordinal"),
         ["No", "Unsure", "Yes", "Never"], True),
    ],
)  # fmt: skip
def test_classes_keep_their_words_and_the_order_declared_or_that_of_the_lines(
    bring, options, classes, ordinal
):  # fmt: skip
    report = bring(SAFE, *SAFE_READ, *options, "--study", "tea")
    assert counts(report) == [0, 1, 1, 1, 3, 0, 3]
    said = Answer.objects.order_by("pk").values_list("question", "label")
    assert list(said) == [("is_safe", "Yes"), ("is_safe", "Unsure"), ("is_safe", "No")]
    assert asked() == [("label", "is_safe", classes, ordinal)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--classes", "No,Yes"), "1 line is faulty"),
        (("--classes", "No,No"), "Each class is named once"),
        (("--classes", "No,,Yes"), "Each class is named once"),
        (("--level", "interval"), "The labels are words"),
        (("--classes", "No,Unsure,Yes", "--level", "interval"), "Classes are nominal or ordinal"),
    ],
)
def test_classes_that_do_not_fit_the_labels_store_nothing(bring, options, words):
    with pytest.raises(CommandError, match=words):
        bring(SAFE, *SAFE_READ, *options, "--study", "tea")
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [((), True), (("--dry-run",), True), (("--level", "interval"), True),
     (("--level", "nominal"), False), (("--level", "ordinal"), False),
     (("--classes", "age:20,35", "--level", "ordinal"), False)],
)  # fmt: skip
def test_numbers_that_become_classes_without_an_order_are_said_to_be(
    tmp_path, capsys, options, said
):  # fmt: skip
    path = tmp_path / "ages.csv"
    path.write_text("prompt,answer,annotator,years\np,a,x,35\np,a,y,20\n")
    call_command("import_data", str(path), *READ, "--map=answers.age=years", *options)
    sentence = "The numbers of “age” are classes without an order"
    assert (sentence in capsys.readouterr().err) is said


def test_numbers_with_an_order_are_in_the_order_of_numbers(bring):
    text = "prompt,answer,annotator,years\np,a,x,35\np,a,y,4.5\np,a,z,120\n"
    bring(text, *READ, "--map=answers.age=years", "--level", "ordinal")
    assert asked() == [("label", "age", ["4.5", "35", "120"], True)]


def test_classes_other_than_those_of_the_task_are_refused(bring):
    bring(SAFE, *SAFE_READ, "--study", "tea")
    with pytest.raises(CommandError, match=r"has other classes \(Yes, Unsure, No\)"):
        bring(SAFE, *SAFE_READ, "--study", "tea", "--classes", "No,Unsure,Yes")


@pytest.mark.parametrize(
    ("options", "kind"), [((), "feedback"), (("--level", "nominal"), "questions")]
)
def test_numbers_are_points_unless_they_are_said_to_be_classes(bring, options, kind):
    text = "prompt,answer,annotator,is_safe\np,a,x,3\np,a,y,1\n"
    bring(text, *SAFE_READ, *options, "--study", "tea")
    assert TaskDefinition.objects.get().kind == kind
    if kind == "questions":
        assert asked() == [("label", "is_safe", ["3", "1"], False)]


PAIRS = "prompt,a,b,annotator,topic,fit\np,x,y,r,near,2\nq,v,w,r,far,3\n"
SIDES = [f"--map={pair}" for pair in ("query=prompt", "answer_a=a", "answer_b=b")]


def test_labels_that_name_no_answer_of_a_pair_are_classes_and_mixed_ones_are_faults(
    bring, capsys, monkeypatch
):  # fmt: skip
    more = [*SIDES, "--map=worker=annotator", "--map=label=topic", "--study", "tea"]
    assert bring(PAIRS, *more)["votes"] == 2
    assert asked() == [("label", "topic", ["near", "far"], False)]
    with pytest.raises(CommandError, match="2 lines are faulty"):
        bring(PAIRS + "s,t,u,r,B,1\n", *more)
    monkeypatch.setattr("annotation.imports.tables.SAMPLE", 2)  # the mapping is made of these
    with pytest.raises(CommandError, match="1 line is faulty"):
        bring(PAIRS + "s,t,u,r,B,1\n", *more)
    assert "“B” names an answer" in json.loads(capsys.readouterr().out)["rejected"][0]["reason"]


def test_columns_become_questions_with_their_own_classes(bring):
    own = ["--map", "answers.subject=topic", "--map", "answers.fit/1=fit"]
    more = [*SIDES, "--map=worker=annotator", *own, "--classes", "subject:far,near,none"]
    assert bring(PAIRS, *more, "--study", "tea")["votes"] == 2
    subject, fit = TaskDefinition.objects.get().config["questions"]
    assert [each["name"] for each in subject["classes"]] == ["far", "near", "none"]
    assert (subject.get("about"), fit["about"]) == (None, "option")
    assert (fit["type"], fit["points"]) == ("rating", 3)


def test_a_column_of_many_numbers_becomes_a_question_for_numbers_and_of_too_many_is_refused(bring):
    maps = (*READ, "--map", "id=id", "answers.fit=fit")

    def fits(fraction):
        lines = [f"{n},p{n},a,r,{n}.{fraction}" for n in range(51)]
        return "\n".join(["id,prompt,answer,annotator,fit", *lines])

    assert bring(fits(5), *maps, "--study", "tea")["votes"] == 51
    (question,) = TaskDefinition.objects.get().config["questions"]
    assert (question["type"], bounds_of(question)) == ("number", (0, 100, 0.1))
    with pytest.raises(CommandError, match="“fit” has more steps than the 1,000 of a question"):
        bring(fits(125), *maps, "--study", "rain")


def test_questions_that_a_task_lacks_are_offered(bring):
    bring(PAIRS, *SIDES, "--map=worker=annotator", "--map=answers.topic=topic", "--study", "tea")
    other = PAIRS.replace(",r,", ",s,")
    more = [*SIDES, "--map=worker=annotator", "--map=answers.fit=fit", "--study", "tea"]
    with pytest.raises(CommandError, match=r"add the file's questions \(questions\)"):
        bring(other, *more)
    assert bring(other, *more, "--allow", "questions")["votes"] == 2


def test_columns_joined_by_a_plus_are_one_text_and_a_missing_one_is_refused(bring):
    text = "instruction,input,a+b\nSort.,2 1,x\n"
    bring(text, "--map=prompt=instruction+input", "--map=answer=a+b", "--study", "tea")
    assert Study.objects.get().queries.get().text == "Sort.\n\n2 1"
    with pytest.raises(CommandError, match="“prompt” is mapped to “inputs”"):
        bring(text, "--map=prompt=instruction+inputs", "--study", "two")


def test_a_label_names_an_answer_by_its_text(bring):
    text = "prompt,a,b,annotator,win\np,Short.,Long.,r,Long.\n"
    bring(text, *SIDES, "--map=worker=annotator", "--map=label=win", "--study", "tea")
    assert Answer.objects.get().label == "2"


def test_scores_of_an_answer_that_the_line_does_not_hold_are_refused(bring):
    row = {"id": "i", "prompt": "p", "answer": "a", "annotator": "x"}
    row |= {"ratings": {"bart": {"overall": 4}}}
    with pytest.raises(CommandError, match="the scores of “bart” belong to no answer of this line"):
        bring([row], *RATED)


def test_ratings_of_answers_by_their_names_need_a_file_of_items_alone(bring):
    texts = [{"system": name, "text": f"By {name}."} for name in ("bart", "org/human")]
    items = [{"item_id": id, "question": f"{id}?", "candidates": texts} for id in ("i", "j")]
    tea = Study.objects.create(slug="tea", title="Tea")
    config = kind_of("feedback").check_config({"criteria": ["overall"], "options": 2})
    TaskDefinition.objects.create(study=tea, name="rate", kind="feedback", config=config)
    bring(items, "--recipe", "answers", "--study", "tea", "--task", "rate")
    bart, human = {"overall": 4, "order": {"overall": 1}}, {"overall": 5}
    rows = [
        {"item_id": "i", "annotator": "x", "ratings": {"bart": bart, "org/human": human}},
        {"item_id": "j", "annotator": "x", "ratings": {"org/human": human, "bart": bart}},
        {"item_id": "j", "annotator": "y", "ratings": {"bart": bart, "nobody": human}},
    ]
    report = bring(rows, *RATED, "--skip-faulty")
    assert (report["items"], report["votes"], report["scores"]) == (2, 2, 4)
    assert report["rejected"] == [{"line": 3, "reason": "the item has no answer “nobody”"}]
    models = {
        (option.item_id, option.number): option.candidate.model
        for option in ItemOption.objects.select_related("candidate")
    }
    stored = Answer.objects.values_list("judgment__slot__item", "option", "value")
    scores = [(models[item, number], score) for item, number, score in stored]
    assert sorted(scores) == [("bart", 4), ("bart", 4), ("org/human", 5), ("org/human", 5)]


def test_scores_of_an_item_that_asks_for_a_choice_are_refused_in_words(bring):
    bring("id,prompt,answer_a,answer_b\ni,p,a,b\n", "--study", "tea")
    rows = [{"id": "i", "annotator": "x", "ratings": {"A": {"overall": 4}, "B": {"overall": 2}}}]
    report = bring(rows, *RATED, "--skip-faulty")
    words = "the item's task asks for a choice, and this line has scores"
    assert report["rejected"] == [{"line": 1, "reason": words}]


def test_a_study_of_one_criterion_needs_no_name_for_its_agreement(bring, capsys):
    bring(QUALITY % (4, 4, 4), *RATED)
    call_command("agreement", "tea", "--json", "--bootstrap", "0")
    assert json.loads(capsys.readouterr().out)["percent_agreement"]["value"] == 1.0


@pytest.mark.skipif(not DICES.exists(), reason="the excerpt of DICES-990 is not on this machine")
def test_the_alpha_of_dices_is_the_one_computed_from_its_counts(tmp_path, capsys):
    """30 conversations of DICES-990 with all their raters; no rater is named in the source."""
    answers = defaultdict(list)
    with (DICES / "judgments.csv").open() as file:
        for row in csv.DictReader(file):
            answers[row["item_id"]].append(row)
    path = tmp_path / "dices.jsonl"
    items = [json.loads(line) for line in (DICES / "items.jsonl").read_text().splitlines()[:30]]
    with path.open("w") as file:
        for item in items:
            for row in answers[str(item["item_id"])]:
                label = {"id": item["item_id"], "rater": row["slot"], "safe": row["is_safe"]}
                texts = {"prompt": item["context"], "answer": item["response"]}
                file.write(json.dumps(label | texts) + "\n")
    maps = ("--map", "id=id", "prompt=prompt", "answer=answer", "worker=rater", "label=safe")
    call_command("import_data", str(path), *maps, "--study", "dices", "--json")
    report = json.loads(capsys.readouterr().out)
    size = sum(len(answers[str(item["item_id"])]) for item in items)
    assert (report["items"], report["votes"], report["rejected"]) == (30, size, [])
    study = Study.objects.get(slug="dices")
    recompute.recompute(study, "questions")
    alphas = AgreementResult.objects.get(study=study).parts[0][1]["krippendorff_alpha"]
    patterns = [[row["is_safe"] for row in answers[str(item["item_id"])]] for item in items]
    assert alphas["nominal"]["value"] == pytest.approx(_alpha(patterns), abs=1e-9)


def _alpha(units: list[list[str]]) -> float:
    """Nominal alpha straight from its definition: 1 - observed / expected disagreement."""
    units = [unit for unit in units if len(unit) > 1]
    total = sum(map(len, units))
    differ = [sum(a != b for a in unit for b in unit) / (len(unit) - 1) for unit in units]
    observed = sum(differ) / total
    pooled = [label for unit in units for label in unit]
    sizes = {label: pooled.count(label) for label in set(pooled)}
    same = sum(n * (n - 1) for n in sizes.values())
    return 1 - observed / (1 - same / (total * (total - 1)))


def test_a_task_of_own_questions_takes_the_files_criteria_when_told(bring, tea):
    rating = {"type": "rating", "name": "grammar", "points": 5, "about": "option"}
    config = {"options": 1, "questions": [rating | {"title": {"en": "How clean is it?"}}]}
    TaskDefinition.objects.create(study=tea, name="own", kind="questions", config=config)
    text = "id,prompt,answer,annotator,criterion,score\ni,p,a,x,grammar,4\ni,p,a,x,fluency,2\n"
    assert bring(text, *RATED, "--task", "own", "--allow", "criteria")["votes"] == 1
    questions = TaskDefinition.objects.get().config["questions"]
    assert [each["name"] for each in questions] == ["grammar", "fluency"]
    assert "title" not in questions[1]


@pytest.mark.parametrize(
    ("first", "then", "words"),
    [
        ((1, 5), (0, 10), "Scores of 0–10 on “tone” do not fit the task “feedback” of 1–5"),
        ((0, 10), (1, 5), "Scores of 1–5 on “tone” do not fit the task “questions” of 0–10"),
    ],
)
def test_scores_on_another_scale_go_to_no_second_task_unless_one_is_named(
    bring, first, then, words
):
    lines = "prompt,answer,annotator,tone\n{0}1,a,r,{1}\n{0}2,a,r,{2}\n"
    rows, others = lines.format("p", *first), lines.format("other", *then)
    maps = (*READ, "--map=score=tone")
    bring(rows, *maps, "--study", "tea")
    with pytest.raises(CommandError, match=words):
        bring(others, *maps, "--study", "tea")
    tea = Study.objects.get()
    assert (tea.tasks.count(), tea.queries.count()) == (1, 2)
    assert bring(others, *maps, "--study", "tea", "--task", "second")["votes"] == 2
    assert bring(rows, *maps, "--study", "tea")["votes"] == 2
    assert tea.tasks.count() == 2
