"""Tasks with questions of their own: what files say to them, and what is asked of whom."""

import json
from hashlib import sha256

import pytest
from django.core.management import CommandError, call_command

from annotation.judging.kinds import KINDS, kind_of
from annotation.judging.models import Answer, Judgment
from annotation.studies.models import Study, TaskDefinition

pytestmark = pytest.mark.django_db


@pytest.fixture
def bring(tmp_path, capsys):
    """A function that imports a file's text and returns the command's JSON."""

    def run(text, *args, name="own.csv"):
        path = tmp_path / name
        path.write_text(text)
        call_command("import_data", str(path), *args, "--study", "own", "--json")
        return json.loads(capsys.readouterr().out)

    return run


def mapped(*columns):
    return [f"--map={target}={column}" for target, column in columns]


def task(study, options, *questions):
    config = kind_of("questions").check_config({"options": options, "questions": list(questions)})
    return TaskDefinition.objects.create(
        study=study, name="own", kind="questions", overlap=1, config=config
    )


def said():
    rows = Answer.objects.order_by("judgment", "question", "option")
    return [(row.question, row.option, row.label or row.value or row.text) for row in rows]


PAIR = [("id", "id"), ("prompt", "prompt"), ("answer_a", "a"), ("answer_b", "b")]


def test_criteria_of_two_answers_and_a_reason_come_from_a_table(bring):
    text = (
        "id,prompt,a,b,rater,tone/1,tone/2,depth/1,depth/2,why\n"
        "i,p,x,y,Ann,7,1,6,2,First is kinder to me than the second could be.\n"
        "i,p,x,y,Bo,5,3,4,4,Because it is warm\n"
    )
    own = [(f"answers.{name}", name) for name in ("tone/1", "tone/2", "depth/1", "depth/2", "why")]
    report = bring(text, *mapped(*PAIR, ("worker", "rater"), *own))
    assert (report["items"], report["votes"], report["rejected"]) == (1, 2, [])
    assert said()[:5] == [
        ("depth", 1, 6), ("depth", 2, 2), ("tone", 1, 7), ("tone", 2, 1),
        ("why", None, "First is kinder to me than the second could be."),
    ]  # fmt: skip
    questions = {q["name"]: q for q in TaskDefinition.objects.get().config["questions"]}
    assert (questions["tone"]["type"], questions["tone"]["points"]) == ("rating", 7)
    assert questions["tone"]["about"] == "option"
    assert questions["why"]["type"] == "label"


def test_the_best_of_four_and_a_class_for_each_come_into_a_task_that_is_there(bring, cast):
    study = cast.study("own")
    task(
        study,
        4,
        {"type": "choice", "name": "best", "tie": True},
        {"type": "label", "name": "tone", "about": "option", "classes": ["warm", "cold"]},
    )
    rows = [
        {
            "id": "i",
            "prompt": "p",
            "answers": [
                {"text": t, "by": m} for t, m in zip("wxyz", ("m1", "m2", "m3", "m4"), strict=True)
            ],
            "rater": "Ann",
            "best": "m3",
            "tone": {"1": "warm", "2": "cold", "m3": "warm", "4": "cold"},
        }
    ]
    text = "\n".join(json.dumps(row) for row in rows)
    columns = [("id", "id"), ("prompt", "prompt"), ("answer", "answers[].text")]
    columns += [("model", "answers[].by"), ("candidate", "answers[].by"), ("worker", "rater")]
    own = [("answers.best", "best"), ("answers.tone", "tone")]
    report = bring(text, *mapped(*columns, *own), "--task", "own", name="own.jsonl")
    assert (report["votes"], report["rejected"]) == (1, [])
    options = Judgment.objects.get().slot.item.options
    names = dict(options.values_list("number", "candidate__model"))
    tones = {names[number]: label for name, number, label in said() if name == "tone"}
    assert tones == {"m1": "warm", "m2": "cold", "m3": "warm", "m4": "cold"}
    assert names[int(said()[0][2])] == "m3"


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("safe", "Maybe", "“Maybe” is none of its classes"),
        ("colour", "red", "the task has no question “colour”"),
    ],
)
def test_what_no_question_takes_is_refused_and_nothing_is_stored(
    bring, cast, capsys, column, value, words
):
    task(
        cast.study("own"),
        1,
        {"type": "label", "name": "safe", "about": "option", "classes": ["No", "Yes"]},
    )
    text = f"id,prompt,answer,rater,{column}\ni,p,x,Ann,{value}\n"
    columns = [("id", "id"), ("prompt", "prompt"), ("answer", "answer"), ("worker", "rater")]
    whole = [text, *mapped(*columns, (f"answers.{column}", column)), "--task", "own"]
    with pytest.raises(CommandError, match="Nothing was imported"):
        bring(*whole)
    assert not Judgment.objects.exists() and not Study.objects.get().items.exists()
    capsys.readouterr()
    (fault,) = bring(*whole, "--skip-faulty")["rejected"]
    assert fault["line"] == 2 and words in fault["reason"]


# {preset: its version, and the digest of its settings and of what it asks by default}.
PRESETS = {
    "selection": ("1", "d2b6eb8a1d08"),
    "preference": ("1", "7745acf75c5e"),
    "feedback": ("1", "3cccb02fa92b"),
    "attribute": ("1", "7f58f4981f71"),
    "relevance": ("1", "56d30bdca6ba"),
    "claims": ("1", "eb101551bb84"),
    "ranking": ("1", "e59261d93bd4"),
    "questions": ("1", "9375d77f706c"),
}


@pytest.mark.parametrize("code", KINDS)
def test_a_preset_that_asks_something_else_has_another_version(code):
    kind = KINDS[code]
    asked = {
        "settings": kind.settings.model_json_schema(),
        "questions": kind.asks_for(kind.defaults),
    }
    digest = sha256(json.dumps(asked | {"shows": kind.shows}, default=str, sort_keys=True).encode())
    assert (kind.version, digest.hexdigest()[:12]) == PRESETS[code]
