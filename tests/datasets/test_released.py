"""A release that is imported again holds the same judgments, of every kind and in every format."""

import json
import shutil
from pathlib import Path

import pytest
from django.core.management import call_command

from annotation.candidates.models import Candidate
from annotation.datasets import folders
from annotation.datasets.release_import import import_release
from annotation.datasets.released import PARTS
from annotation.judging.batches.open import add_items
from annotation.judging.imports import bundles
from annotation.judging.kinds import KINDS, config_of_task, kind_of
from annotation.judging.models import Answer, Judgment, Slot
from annotation.judging.work.submit import submit
from annotation.personas.models import Attribute, Memory, Persona, PersonaVersion
from annotation.queries import author
from annotation.queries.models import GoldClaim, Query
from annotation.studies.models import Study, TaskDefinition
from tests import everykind
from tests.datasets.conftest import build, rows, write_rows

TASKS = {
    "better": {"strength": True, "reason": "optional", "chips": ["Shorter"], "marks": True},
    "feel": {"points": 7, "feedback_chips": ["Too long"]},
}
VERSION_1 = Path(__file__).parents[1] / "data/long_version_1"
FEW = {"rule": "majority", "min_votes": 1, "min_margin": 1}
CLAIMS = ["It is calm.", "It is near.", "It is free."]


# Types of questions that no preset asks.
MORE = [
    {"type": "label", "name": "tone", "several": True, "classes": ["warm, dry", "calm", "tie"]},
    {"type": "label", "name": "faults", "several": True, "about": "option", "required": False,
     "classes": ["long", "rude"]},
    {"type": "number", "name": "quality", "about": "option", "step": 0.5},
    {"type": "number", "name": "drift", "minimum": -1, "maximum": 1, "step": 0.0625},
    {"type": "rating", "name": "depth", "comment": "optional", "chips": ["Long", "Dry"]},
    {"type": "text", "name": "why", "about": "option"},
    {"type": "scale", "name": "better", "points": 7},
    {"type": "choice", "name": "best", "none": True, "strength": True},
]  # fmt: skip


def judge_more(study, person):
    """A judgment under questions of every type that no preset asks."""
    config = kind_of("questions").check_config({"options": 2, "questions": MORE})
    task = TaskDefinition.objects.create(study=study, name="more", kind="questions", config=config)
    own, sea = (study.candidates.get(external_id=name) for name in ("c-own", "c-sea"))
    row = {"external_id": "i-more", "query": study.queries.get(), "overlap": 1}
    add_items(study, task, [row | {"candidates": [sea.pk, own.pk]}])
    slot = study.slots.get(item__external_id="i-more")
    Slot.objects.filter(pk=slot.pk).update(status="held", annotator=person)
    first, second = str(own.pk), str(sea.pk)
    answers = {
        "tone": ["tie", "warm, dry"],
        "faults": {second: ["rude", "long"]},
        "quality": {first: 73.5, second: 80},
        "drift": -0.0625,
        "depth": {"score": 2, "text": "Two.\n“So”, he said.", "chips": ["Dry"]},
        "why": {first: "=1+1", second: "바다"},
        "better": 6,
        "best": {"choice": first, "strength": "clearly"},
    }
    submit(study, slot.pk, person, {"answers": answers}, key="more")


def claims_item(study):
    """An item about the claims of a gold response."""
    query = study.queries.get()
    response = author.save_response(query, None, "A calm walk that is near.")
    author.set_claims(response, CLAIMS)
    task = TaskDefinition.objects.create(study=study, name="check", kind="claims")
    row = {"external_id": "i-claims", "query": query, "gold": response, "overlap": 1}
    add_items(study, task, [row])
    return response


def judge_claims(study, person, response):
    first, second, third = (str(claim.pk) for claim in response.claims.all())
    decided = {first: "keep", second: "edit", third: "drop"}
    answers = {"claims": decided, "edited": {second: "It is close."}}
    slot = study.slots.get(item__external_id="i-claims")
    Slot.objects.filter(pk=slot.pk).update(status="held", annotator=person)
    submit(study, slot.pk, person, {"answers": answers}, key="claims")


def judge_in_full(study, person):
    """A selection with all that can stand beside a choice."""
    slot = study.slots.filter(item__external_id="i-better", status="open").first()
    Slot.objects.filter(pk=slot.pk).update(status="held", annotator=person)
    own = str(study.candidates.get(external_id="c-own").pk)
    mark = {"option": own, "start": 0, "end": 5, "text": "Repot", "sign": "-", "comment": "How?"}
    said = {"choice": own, "strength": "much", "reason": "Fits.", "flags": ["unsafe"]}
    submit(
        study, slot.pk, person, said | {"chips": ["Shorter"], "marks": [mark]}, key="f", seconds=7
    )


@pytest.fixture
def mix(cast, tmp_path):
    folder = everykind.write(tmp_path / "mix")
    study = json.loads((folder / "study.json").read_text())
    for task in study["tasks"]:
        task |= TASKS.get(task["name"], {})
        if task["name"] == "better":
            task["overlap"] = 4
    (folder / "study.json").write_text(json.dumps(study))
    bundles.import_study(folder)
    study = Study.objects.get(slug="mix")
    people = [cast.member(name, study, "annotator") for name in ("Ann", "Bo", "Chen", "Dana")]
    # The task asked for no strength at first.
    TaskDefinition.objects.filter(name="better").update(
        config=kind_of("selection").check_config(
            {"tie": True, "reason": "optional", "chips": ["Shorter"], "marks": True}
        )
    )
    everykind.judge(study, people)
    TaskDefinition.objects.filter(name="better").update(
        config=kind_of("selection").check_config({"tie": True, **TASKS["better"]})
    )
    judge_in_full(study, people[3])
    judge_claims(study, people[0], claims_item(study))
    judge_more(study, people[0])
    return study


def answers(slug):
    """Every row of the answers that stand in the database, by item; claims by their numbers."""
    rows = Answer.objects.filter(judgment__in=Judgment.objects.standing())
    rows = rows.filter(judgment__slot__study__slug=slug).order_by("pk")
    numbers = dict(GoldClaim.objects.values_list("pk", "number"))
    fields = ("question", "option", "label", "value", "text", "chips", "marks")
    return sorted(
        (repr((item, numbers.get(part), *said)) for item, part, *said in rows.values_list(
            "judgment__slot__item__external_id", "part", *fields
        )),
    )  # fmt: skip


def file_of(folder, name):
    """The rows of a file by item, without the pseudonyms."""
    fresh = ("worker", "imported")
    kept = [{key: row[key] for key in row if key not in fresh} for row in table(folder, name)]
    # An import makes the items about gold responses last.
    return sorted(kept, key=lambda row: row.get("judgment") or row["item_id"])


def table(folder, name):
    return rows(folder, f"{name}.jsonl")


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_every_answer_of_every_type_is_rebuilt_from_its_rows(mix, _data, format):
    before = answers("mix")
    report = import_release(released(mix, "long", format), "again")
    assert report["rejected"] == []
    assert answers("again") == before
    # What is released again is the same, row by row.
    first, second = (
        released(Study.objects.get(slug=slug), "long", "jsonl") for slug in ("mix", "again")
    )
    for name in ("answers", "judgments", "items"):
        assert file_of(first, name) == file_of(second, name)


def test_a_release_of_version_1_with_answers_as_json_comes_in_whole(db):
    """`tests/data/long_version_1` is a release of the same study, before it had ``MORE``."""
    folder, report = VERSION_1, import_release(VERSION_1, "again")
    assert (report["rejected"], report["items"], report["votes"]) == ([], 9, 25)
    judged = {row["item_id"]: row["answer"] for row in file_of(folder, "judgments")}
    back = {row[0]: row[3] for row in judgments("again")}
    assert json.loads(back["i-own"]) == json.loads(judged["i-own"])
    assert json.loads(back["i-claims"]) == json.loads(judged["i-claims"])
    assert len(answers("again")) == 52


def test_answers_in_another_order_are_found_and_those_of_no_judgment_counted(mix, _data):
    folder = released(mix)
    first, *rest = table(folder, "answers")
    stray = first | {"judgment": "i-nowhere/1"}
    write_rows(folder / "answers.jsonl", [stray, *reversed(rest), first])
    (fault,) = import_release(folder, "again")["rejected"]
    reason = "1 answers are of no judgment, or more than it has"
    assert fault == {"file": "answers", "line": None, "reason": reason}
    assert answers("again") == answers("mix")


def judgments(slug):
    """All that a release has of a study's judgments, without who judged; by item."""
    rows = Judgment.objects.standing().filter(slot__study__slug=slug)
    said = []
    for row in rows.select_related("slot__item__batch__task"):
        item, task = row.slot.item, row.slot.item.batch.task
        kind = kind_of(task.kind)
        ids = {option.number: option.candidate.external_id for option in item.options.all()}
        answer = kind.answer_of(row)
        marks = [mark | {"option": ids[mark["option"]]} for mark in row.marks]
        said.append((
            item.external_id, task.name, task.kind,
            json.dumps(kind.answer_json(answer, ids, config_of_task(task))),
            answer.detail, [ids[number] for number in row.shown], row.reason, row.flags, row.chips,
            marks, row.seconds, row.submitted_at.date().isoformat(), row.revision,
        ))  # fmt: skip
    return sorted(said, key=repr)


def settings(study):
    return {task.name: config_of_task(task) for task in study.tasks.all()}


def released(study, layout="long", format="jsonl", **more):
    return folders.folder_of(build(study, layout, format, **more))


FIELDS = {
    Query: {"id": "queries", "type": "types", "text": "", "scenario": "", "messages": "",
            "asked_on": "queries", "language": "languages"},
    Candidate: {"id": "", "text": "", "strategy": "strategies", "model": "strategies"},
    PersonaVersion: {"profile": "profiles"},
    Memory: dict.fromkeys(("text", "since", "until"), "memories"),
    Attribute: dict.fromkeys(
        ("id", "text", "confidence", "model", "since", "until", "turn"), "attributes"
    ),
}  # fmt: skip
OF_JUDGMENTS = (
    "", "", "", "order", "detail", "order", "", "flags", "chips", "marks", "times", "times", "times"
)  # fmt: skip


def contents(slug, candidates):
    """{(part of a layout, field): values} of a study, of some of its answers."""
    paths = {Query: "study", Candidate: "study", PersonaVersion: "persona__study"}
    values = {
        ("persons", "id"): list(Persona.objects.filter(study__slug=slug).values_list("external_id"))
    }
    for model, fields in FIELDS.items():
        rows = model.objects.filter(**{f"{paths.get(model, 'persona__study')}__slug": slug})
        rows = rows.filter(external_id__in=candidates) if model is Candidate else rows
        for field, part in fields.items():
            column = "external_id" if field == "id" else field
            found = sorted(repr(value) for value in rows.values_list(column, flat=True))
            values[part, f"{model.__name__}.{field}"] = found
    return values


@pytest.mark.parametrize(
    ("layout", "format", "more"),
    [
        *(("long", format, {}) for format in ("jsonl", "csv", "parquet")),
        ("dpo", "jsonl", FEW),
        ("dpo", "parquet", FEW),
        ("personafeedback", "jsonl", FEW),
        ("personalbench", "jsonl", {}),
    ],
)
def test_a_release_that_is_imported_equals_its_study_or_names_every_loss(
    mix, _data, layout, format, more
):
    mix.personas.get().memories.create(text="Ferns.", since="2026-01-02", until="2026-03-04")
    Attribute.objects.filter(external_id="a1").update(until="2026-03-04", turn=2)
    Query.objects.filter(study=mix).update(asked_on="2026-02-03", language="ko")
    report = import_release(released(mix, layout, format, **more), "again")
    answers = Candidate.objects.filter(study__slug="again").values_list("external_id", flat=True)
    before, after = (contents(slug, list(answers)) for slug in ("mix", "again"))
    lost = {part for part, field in before if before[part, field] != after[part, field]}
    rows, back = judgments("mix"), judgments("again")
    items = {row[0] for row in back}
    lost |= {"kinds"} if {row[2] for row in rows} != {row[2] for row in back} else set()
    rows = [row for row in rows if row[0] in items]
    for place, part in enumerate(OF_JUDGMENTS):
        values = [sorted(repr((row[0], row[place])) for row in side) for side in (rows, back)]
        lost |= {part} if values[0] != values[1] else set()
    assert {PARTS[part] for part in lost} == set(report["not_in_layout"])
    assert (report["rejected"], report["votes"]) == ([], len(rows))
    # A table of pairs has the votes of other tasks beside them: these are counted.
    others = {"preference": 3, "attribute": 6, "relevance": 3} if layout == "dpo" else {}
    assert report["left_out"] == {
        f"judgments of the kind {kind}: pairs come in as choices": number
        for kind, number in others.items()
    }


def test_a_long_release_comes_back_with_its_settings_as_often_as_wanted(mix, _data):
    before = judgments("mix")
    assert {row[2] for row in before} == set(KINDS)
    report = import_release(released(mix), "again")
    # Two people scored one answer on two criteria.
    assert (report["items"], report["workers"], report["scores"]) == (10, 4, 4)
    again = Study.objects.get(slug="again")
    assert settings(again) == settings(mix)
    import_release(released(again), "third")
    assert judgments("third") == before


def test_the_same_release_again_changes_nothing_and_a_longer_one_adds_the_rest(mix, _data):
    folder = released(mix)
    whole = table(folder, "judgments")
    write_rows(folder / "judgments.jsonl", whole[:-3])
    assert import_release(folder, "again")["votes"] == len(whole) - 3
    write_rows(folder / "judgments.jsonl", whole)
    assert import_release(folder, "again")["votes"] == len(whole)
    assert judgments("again") == judgments("mix")


def test_what_cannot_be_brought_back_is_named_and_counted(db, tmp_path, capsys):
    folder = shutil.copytree(VERSION_1, tmp_path / "release")
    judged = table(folder, "judgments")
    by_item = {row["item_id"]: row for row in judged}
    faulty = [
        by_item["i-feel"] | {"answer": "4"},
        by_item["i-feel"] | {"answer": json.dumps({"c-own": {"Tone": {"score": 4.5}}})},
        by_item["i-rate"] | {"answer": "12"},
        by_item["i-order"] | {"answer": json.dumps({"c-own": 1, "c-nowhere": 2, "c-sea": 3})},
        by_item["i-order"] | {"answer": json.dumps({"c-own": "1"})},
        by_item["i-a1"] | {"answer": "perhaps"},
        by_item["i-better"] | {"answer": {"a": 1}},
        by_item["i-better"] | {"item_id": "i-nowhere"},
        by_item["i-claims"] | {"answer": json.dumps({"9": {"verdict": "keep"}})},
    ]
    faulty = [row | {"worker": "New"} for row in faulty]
    write_rows(folder / "judgments.jsonl", judged + faulty)
    items = [row | {"adjudicated": "1"} for row in table(folder, "items")]
    items[0]["persona_version"] = 2
    write_rows(folder / "items.jsonl", items)
    call_command("import_release", str(folder), "again", "--json")
    report = json.loads(capsys.readouterr().out)
    first = len(judged) + 1
    reasons = {fault["line"]: fault["reason"] for fault in report["rejected"]}
    assert reasons == {
        first: "the answer has no parts",
        first + 1: "“Tone”: choose a point from 1 to 7.",
        first + 2: "Choose a place on the scale first.",
        first + 3: "the item has no answer “c-nowhere”",
        first + 4: "“1” is no place on the scale",
        first + 5: "Choose a verdict first.",
        first + 6: "the answer is not one label",
        None: "1 judgments are on items that the study does not have",
        first + 8: "there is no claim 9",
    }
    assert {words.split(":")[0]: n for words, n in report["left_out"].items()} == {
        "rulings of curators": 9,
        "items of later versions of their task, query or persona": 1,
    }
    call_command("import_release", str(folder), "again")
    printed = capsys.readouterr()
    assert "9 rulings of curators" in printed.err
    assert "4 scores" in printed.out


@pytest.mark.parametrize(
    ("item", "changes", "reason"),
    [
        ("i-order", {"option": "c-nowhere"}, "the item has no answer “c-nowhere”"),
        ("i-feel", {"value": 4.5}, "“Tone”: choose a point from 1 to 7."),
        ("i-rate", {"value": 12}, "Choose a place on the scale first."),
        ("i-claims", {"part": 9}, "there is no claim 9"),
        ("i-a1", {"label": "perhaps"}, "Choose a verdict first."),
        ("i-a1", {"label": 1}, "“label” of an answer is no text"),
        ("i-a1", {"question": "age"}, "There is no question “age”. Known: cause, verdict."),
        ("i-m1", {"judgment": "i-nowhere/1"}, "0 of its 1 answers are there"),
        ("i-claims", {"part": 2}, "“claims” has two answers"),
    ],
)
def test_a_judgment_whose_answers_are_faulty_is_left_out(mix, _data, item, changes, reason):
    folder = released(mix)
    said = table(folder, "answers")
    first = next(row for row in said if row["judgment"] == f"{item}/1")
    first |= changes
    write_rows(folder / "answers.jsonl", said)
    report = import_release(folder, "again")
    assert reason in [fault["reason"] for fault in report["rejected"]]
    assert report["votes"] in (25, 24)


def test_an_item_whose_claims_are_missing_is_named(mix, _data):
    folder = released(mix)
    items = [row | {"claims": []} for row in table(folder, "items")]
    write_rows(folder / "items.jsonl", items)
    report = import_release(folder, "again")
    assert [fault["reason"] for fault in report["rejected"]] == [
        "the claims of the gold response are missing",
        "1 judgments are on items that the study does not have",
    ]
    assert report["items"] == 9


@pytest.mark.parametrize(
    ("layout", "format", "more"),
    [
        ("long", "csv", {}),
        ("dpo", "parquet", FEW),
        ("personafeedback", "jsonl", FEW),
        ("personalbench", "parquet", {}),
    ],
)
def test_people_without_a_profile_come_back(mix, _data, layout, format, more):
    """People who were taken from conversations have none."""
    PersonaVersion.objects.filter(persona__study=mix).update(profile={})
    report = import_release(released(mix, layout, format, **more), "again")
    assert report["rejected"] == []
    # The stages' tables have people's ids alone.
    bare = {"user": "1"} if layout == "personalbench" else {}
    profiles = PersonaVersion.objects.filter(persona__study__slug="again")
    assert list(profiles.values_list("profile", flat=True)) == [bare]
