import json

import pytest
from django.core.management import call_command

from annotation.accounts.models import ConsentText
from annotation.candidates.models import Candidate
from annotation.core.models import AuditEvent
from annotation.judging.imports import bundles
from annotation.judging.kinds import kind_of
from annotation.judging.models import Batch, Item, ItemOption, Slot
from annotation.personas.models import Memory, Persona, PersonaVersion
from annotation.queries.models import Query
from annotation.studies.bundle import BundleError
from annotation.studies.models import Study, TaskDefinition

SLOTS = 4 + 2 + 5
TOTALS = {"study": "walk", "personas": 2, "queries": 2, "candidates": 6, "items": 3, "slots": SLOTS}

pytestmark = pytest.mark.django_db


def rows_of_everything():
    """Every row that an import can touch, with its values."""
    models = (
        *(Study, TaskDefinition, ConsentText, Persona, PersonaVersion, Memory, Query),
        *(Candidate, Batch, Item, ItemOption, Slot, AuditEvent),
    )
    return [list(model.objects.order_by("pk").values()) for model in models]


def test_a_memory_takes_the_dates_of_a_later_bundle(folder):
    bundles.import_study(folder.write())
    first = folder.files["memories"][0]
    for given, kept in (
        ({"since": "2026-05-01"}, ("2026-05-01", "None")),
        ({"until": "2026-06-01"}, ("None", "2026-06-01")),
        ({}, ("None", "2026-06-01")),
    ):
        folder.files["memories"][0] = first | given
        bundles.import_study(folder.write())
        memory = Memory.objects.get(text=first["text"])
        assert (str(memory.since), str(memory.until)) == kept


def test_two_dates_of_one_memory_are_refused_with_the_line(folder):
    first = folder.files["memories"][0]
    folder.files["memories"] = [first | {"since": "2026-05-01"}, first, first]
    bundles.import_study(folder.write())
    assert str(Memory.objects.get(text=first["text"]).since) == "2026-05-01"
    folder.files["memories"][2] = first | {"since": "2026-05-02"}
    with pytest.raises(BundleError, match="line 3: the same memory has other dates in line 1"):
        bundles.import_study(folder.write())


def test_a_bundle_becomes_a_study_open_for_judging(folder):
    assert bundles.import_study(folder.write()) == TOTALS
    study = Study.objects.get(slug="walk")
    assert (study.status, study.languages) == ("open", ["en", "ko"])
    assert study.consent_text.body == "I take part."
    item = study.items.get(external_id="i1")
    shown = [option.candidate.external_id for option in item.options.all()]
    assert shown == ["q1-c2", "q1-c1", "q1-c3"]
    assert item.persona_version.profile["Name"] == "Mina Park"
    named = {"options": 3, "tie": True}
    assert item.batch.task.config == kind_of("selection").defaults | named
    overlaps = dict(study.items.values_list("external_id", "overlap"))
    assert overlaps == {"i1": 4, "i2": 2, "i3": 5}
    assert study.personas.get(external_id="p2").memories.get().text == "秋天的山路。"


def test_the_same_bundle_again_changes_nothing(folder):
    bundles.import_study(folder.write())
    before = rows_of_everything()
    assert bundles.import_study(folder.path) == TOTALS
    assert rows_of_everything() == before


def test_only_study_json_is_required(tmp_path):
    (tmp_path / "study.json").write_text('{"slug": "bare", "title": "Bare"}')
    totals = bundles.import_study(tmp_path)
    assert totals == dict.fromkeys(TOTALS, 0) | {"study": "bare"}
    assert Study.objects.get(slug="bare").status == "draft"


def test_new_rows_are_added_to_a_study(folder):
    bundles.import_study(folder.write())
    folder.files["personas"].append({"id": "p3", "profile": {"Name": "Jo"}})
    folder.files["queries"].append({"id": "q3", "text": "How far is far?"})
    folder.files["candidates"] += [
        {"id": f"q3-c{n}", "query": "q3", "text": f"{n} miles"} for n in (1, 2, 3)
    ]
    folder.files["items"].append(
        {"id": "i4", "task": "best", "query": "q3", "candidates": ["q3-c1", "q3-c2", "q3-c3"]}
    )
    totals = bundles.import_study(folder.write())
    expected = {"personas": 3, "queries": 3, "candidates": 9, "items": 4, "slots": 15}
    assert totals == TOTALS | expected
    item = Item.objects.get(external_id="i4")
    assert (item.persona_version, item.position) == (None, 4)


def test_changed_texts_become_new_versions_and_old_items_keep_theirs(folder):
    bundles.import_study(folder.write())
    folder.row("personas", "p1")["profile"]["Name"] = "Mina Lee"
    folder.row("queries", "q1")["text"] = "Where may I walk?"
    folder.study["guideline"] = "Choose with care."
    folder.study["consent"] = "I take part, freely."
    folder.study["tasks"][0]["overlap"] = 7
    assert bundles.import_study(folder.write()) == TOTALS
    study = Study.objects.get(slug="walk")
    item = study.items.get(external_id="i1")
    assert item.persona_version.profile["Name"] == "Mina Park"
    assert study.personas.get(external_id="p1").current.profile["Name"] == "Mina Lee"
    assert (item.query.text, item.query.version) == ("Where can I walk?", 1)
    current = study.queries.get(external_id="q1", replaced_at=None)
    assert (current.text, current.version) == ("Where may I walk?", 2)
    assert (item.overlap, item.batch.task.guideline) == (4, "Choose what fits the person.")
    newest = study.tasks.filter(name="best").latest("version")
    assert (newest.version, newest.overlap, newest.guideline) == (2, 7, "Choose with care.")
    assert (study.consent_text.version, study.consent_text.body) == (2, "I take part, freely.")
    before = rows_of_everything()
    bundles.import_study(folder.path)
    assert rows_of_everything() == before


def test_texts_and_settings_of_a_study_are_changed_by_its_administrators_alone(folder, cast):
    bundles.import_study(folder.write())
    walk = Study.objects.get(slug="walk")
    carol, ada = (cast.member(name, walk, role) for name, role in
                  (("Carol", "curator"), ("Ada", "administrator")))  # fmt: skip
    assert bundles.import_study(folder.path, carol) == TOTALS
    folder.study |= {"consent": "I agree to anything.", "settings": {"edit_hours": 900}}
    with pytest.raises(BundleError, match=r"only an administrator .* consent_text, edit_hours"):
        bundles.import_study(folder.write(), carol)
    walk.refresh_from_db()
    assert (walk.edit_hours, walk.consent_text.version) == (24, 1)
    bundles.import_study(folder.path, ada)
    walk.refresh_from_db()
    assert (walk.edit_hours, walk.consent_text.version) == (900, 2)


@pytest.mark.parametrize(
    ("file", "key", "change", "place"),
    [
        ("candidates", "q1-c2", {"text": "Another answer."}, "candidates.jsonl, line 2"),
        ("candidates", "q2-c1", {"strategy": "A3"}, "candidates.jsonl, line 4"),
        ("items", "i2", {"candidates": ["q2-c1", "q2-c2"]}, "items.jsonl, line 2"),
        ("items", "i2", {"candidates": ["q2-c3", "q2-c1"]}, "items.jsonl, line 2"),
        ("items", "i3", {"overlap": 6}, "items.jsonl, line 3"),
    ],
)
def test_what_people_may_have_seen_is_never_changed(folder, file, key, change, place):
    bundles.import_study(folder.write())
    folder.row(file, key).update(change)
    folder.study["title"] = "Another title"
    folder.write()
    before = rows_of_everything()
    with pytest.raises(BundleError) as refusal:
        bundles.import_study(folder.path)
    assert [fault.split(": ")[0] for fault in refusal.value.faults] == [place]
    assert rows_of_everything() == before


def test_answers_to_two_versions_of_a_query_are_not_compared(folder):
    bundles.import_study(folder.write())
    folder.row("queries", "q1")["text"] = "Where may I walk?"
    folder.files["candidates"].append({"id": "q1-c4", "query": "q1", "text": "Here."})
    folder.files["items"].append(
        {"id": "i4", "task": "better", "query": "q1", "candidates": ["q1-c1", "q1-c4"]}
    )
    with pytest.raises(BundleError, match=r"items.jsonl, line 4: .* different versions of “q1”"):
        bundles.import_study(folder.write())


def test_a_key_outside_the_format_is_named_and_left_out(folder, capsys):
    folder.row("queries", "q2")["colour"] = "blue"
    call_command("import_study", str(folder.write()), "--json")
    printed = capsys.readouterr()
    assert json.loads(printed.out) == TOTALS
    assert "queries.jsonl, line 2: the key “colour” is not part of the format" in printed.err


def test_large_imports_open_several_batches(folder, monkeypatch):
    monkeypatch.setattr(bundles, "BATCH", 2)
    monkeypatch.setattr(bundles, "CHUNK", 1)
    assert bundles.import_study(folder.write()) == TOTALS
    assert sorted(Batch.objects.values_list("task__name", "size")) == [("best", 1), ("better", 2)]
    folder.files["items"] += [
        {"id": f"n{n}", "task": "better", "query": "q2", "candidates": ["q2-c1", "q2-c2"]}
        for n in range(5)
    ]
    assert bundles.import_study(folder.write())["items"] == 8
    assert sorted(Batch.objects.values_list("size", flat=True)) == [1, 1, 2, 2, 2]
    assert sorted(Item.objects.values_list("position", flat=True)) == list(range(1, 9))
