import json

import pytest

from annotation.judging.imports import bundles
from annotation.studies.bundle import BundleError


def faults(path):
    with pytest.raises(BundleError) as refusal:
        bundles.load_bundle(path)
    return refusal.value.faults


def test_a_good_bundle_is_read_with_its_counts(folder):
    bundle = bundles.load_bundle(folder.write())
    assert bundle.counts == {
        "personas": 2, "memories": 2, "queries": 2, "candidates": 6, "scores": 0, "attributes": 0,
        "items": 3,
    }  # fmt: skip
    items = [(line, row["id"]) for line, row in bundle.rows("items")]
    assert items == [(1, "i1"), (2, "i2"), (3, "i3")]
    assert [task.guideline for task in bundle.tasks] == ["Choose what fits the person."] * 2


ONE_FAULT = [
    ("personas", 1, {"id": None}, "personas.jsonl, line 2: “id” is missing"),
    ("personas", 1, {"profile": []}, "“profile” must be an object with at least one key"),
    ("personas", 0, {"id": "p2"}, "personas.jsonl, line 2: the id “p2” was used before, in line 1"),
    ("personas", 0, {"id": "a\nb"}, "“id” must be printable and without blanks around it"),
    ("memories", 0, {"persona": "p9"}, "memories.jsonl, line 1: there is no persona “p9”"),
    ("queries", 1, {"persona": "p9"}, "queries.jsonl, line 2: there is no persona “p9”"),
    ("queries", 0, {"text": "  "}, "queries.jsonl, line 1: “text” is empty"),
    ("queries", 0, {"text": 5}, "queries.jsonl, line 1: “text” must be text"),
    ("queries", 0, {"type": "odd"}, "“type” must be specific or general"),
    ("queries", 0, {"text": "a\x00b"}, "queries.jsonl, line 1: the line holds a NUL character"),
    ("candidates", 3, {"query": "q9"}, "candidates.jsonl, line 4: there is no query “q9”"),
    ("candidates", 5, {"id": "tie"}, "“id” cannot be “tie”: that word is an answer of its own"),
    ("candidates", 0, {"urls": "u"}, "candidates.jsonl, line 1: “urls” must be a list of text"),
    ("candidates", 0, {"id": "x" * 101}, "“id” is longer than 100 characters"),
    ("items", 0, {"task": "worst"}, "items.jsonl, line 1: there is no task “worst”"),
    ("items", 1, {"candidates": ["q2-c1", "q1-c1"]},
     "items.jsonl, line 2: the candidate “q1-c1” answers another query"),
    ("items", 1, {"candidates": ["q2-c1", "q2-c2", "q2-c3"]},
     "items.jsonl, line 2: the task “better” shows 2 candidates, not 3"),
    ("items", 1, {"candidates": ["q2-c1", "q2-c1"]}, "a candidate is named twice"),
    ("items", 1, {"candidates": ["q2-c1", "q2-c9"]}, "there is no candidate “q2-c9”"),
    ("items", 1, {"overlap": 0}, "“overlap” must be a whole number from 1 to 1000"),
    ("items", 1, {"overlap": True}, "“overlap” must be a whole number from 1 to 1000"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "index", "change", "words"), ONE_FAULT)
def test_a_fault_is_one_sentence_with_file_and_line(folder, file, index, change, words):
    folder.files[file][index].update(change)
    found = faults(folder.write())
    assert len(found) == 1, found
    assert words in found[0]
    assert found[0].startswith(f"{file}.jsonl, line ")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("slug", None, "study.json, line 2: “slug” is missing"),
        ("slug", "Tea Time", "the slug “Tea Time” is not allowed"),
        ("slug", "-tea", "the slug “-tea” is not allowed"),
        ("slug", "new", "study.json, line 2: the slug “new” is the name of a page"),
        ("title", 5, "study.json, line 3: “title” must be text"),
        ("languages", "en", "“languages” must be a list of text"),
        ("tasks", [5], "“tasks” must be a list of objects"),
        ("tasks", [{"name": "a b", "kind": "selection"}], "the name may have letters"),
        ("tasks", [{"name": "a", "kind": "singing"}], "There is no kind of task “singing”"),
        ("tasks", [{"name": "a", "kind": "selection", "options": 4}], "options must be 2 or 3."),
        ("tasks", [{"name": "a", "kind": "selection", "size": 4}], "no setting “size”"),
        ("tasks", [{"name": "a", "kind": "selection", "overlap": 0}], "“overlap” must be a whole"),
        ("tasks", [{"name": "a", "kind": "selection"}] * 2, "the name is used twice"),
    ],
)
def test_a_fault_of_the_study_is_named(folder, key, value, words):
    folder.study[key] = value
    folder.files = {}
    found = faults(folder.write())
    assert len(found) == 1, found
    assert words in found[0]
    assert found[0].startswith("study.json, line ")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"id": "p3", ', "broken JSON ("),
        (b"[1, 2]", "not a JSON object"),
        (b'{"id": "p3", "profile": {"a": NaN}}', "the line holds NaN, which is not JSON"),
        (b'{"id": "p3", "profile": {"a": 1e999}}', "the line holds a number that is too large"),
        (b'{"id": "p3", "profile": {"a": ' + b"9" * 5000 + b"}}", "number that is too large"),
        (b'{"id": "p3", "profile": {"a": "\\ud800"}}', "the line holds half of a surrogate pair"),
        (b'{"id": "p3", "profile": {"\\u0000": 1}}', "the line holds a NUL character"),
        (b'{"id": "p3", "profile": {"a": "\x00"}}', "broken JSON (a NUL byte)"),
        (b'{"id": "p3", "profile": {"a": "\xff"}}', "the bytes are not UTF-8 text"),
        (b'{"id": "p3", "profile": ' + b'{"a":' * 21 + b"1" + b"}" * 22, "nested deeper than 20"),
        (b'{"id": "p3", "profile": ' + b"[" * 100_000, "nested deeper than 20"),
        (b"x" * 5_000_001, "the line is longer than 5,000,000 bytes"),
    ],
)
def test_a_line_that_cannot_be_stored_is_named(folder, line, words):
    path = folder.write() / "personas.jsonl"
    path.write_bytes(path.read_bytes() + b"\n" + line)
    found = faults(folder.path)
    assert len(found) == 1, found
    assert found[0].startswith("personas.jsonl, line 4: ")
    assert words in found[0]


def test_broken_json_in_the_study_names_its_line(folder):
    path = folder.write() / "study.json"
    path.write_text('{\n  "slug": "walk",\n  "title" "Walks"\n}')
    assert faults(folder.path) == [
        "study.json, line 3: broken JSON (Expecting ':' delimiter, column 11)"
    ]


def test_a_byte_order_mark_blank_lines_and_windows_line_ends_are_fine(folder):
    for path in folder.write().iterdir():
        data = path.read_bytes().replace(b"\n", b"\r\n\r\n" if path.suffix == ".jsonl" else b"\r\n")
        path.write_bytes(b"\xef\xbb\xbf" + data)
    assert bundles.load_bundle(folder.path).counts["candidates"] == 6


def test_twenty_faults_are_shown_and_no_more(folder):
    folder.files["queries"] = [{"id": f"q{n}"} for n in range(50)]
    found = faults(folder.write())
    assert len(found) == 21
    assert found[0] == "queries.jsonl, line 1: “text” is missing"
    assert found[19] == "queries.jsonl, line 20: “text” is missing"
    assert found[20] == "There may be more: the reading ended here."


def test_a_missing_file_that_is_referred_to_is_named_once(tmp_path):
    task = {"name": "best", "kind": "selection", "options": 3}
    study = {"slug": "gone", "title": "Gone", "tasks": [task]}
    (tmp_path / "study.json").write_text(json.dumps(study))
    rows = [{"id": f"c{n}", "query": "q1", "text": "x"} for n in range(30)]
    (tmp_path / "candidates.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(BundleError) as refusal:
        bundles.load_bundle(tmp_path)
    sentence = "queries.jsonl: there is no such file, and candidates.jsonl, line 1 names a query"
    assert refusal.value.faults == [sentence]


BUNDLE = {
    "slug": "walk",
    "title": {"en": "Walks", "ko": "산책"},
    "description": "About walking.",
    "guideline": {"en": "Choose.", "ko": "고르세요."},
    "consent": {"ko": "참여합니다.", "en": "I take part."},
    "languages": ["en", "ko"],
    "tasks": [
        {"name": "best", "kind": "selection", "options": 3},
        {"name": "better", "kind": "selection", "options": 2,
         "guideline": {"ko": "둘 중 하나.", "en": "One of two."}},
    ],
}  # fmt: skip


def read(tmp_path, **changes):
    (tmp_path / "study.json").write_text(json.dumps({**BUNDLE, **changes}, ensure_ascii=False))
    return bundles.load_bundle(tmp_path)


def test_a_bundle_gives_texts_by_language(tmp_path):
    bundle = read(tmp_path)
    assert bundle.study["title"] == "Walks"
    assert bundle.study["translations"] == {"ko": {"title": "산책"}}
    assert bundle.study["consent"] == "I take part."
    assert bundle.study["consent_translations"] == {"ko": "참여합니다."}
    best, better = bundle.tasks
    assert (best.guideline, best.translations) == ("Choose.", {"ko": {"guideline": "고르세요."}})
    assert better.guideline == "One of two."
    assert better.translations == {"ko": {"guideline": "둘 중 하나."}}


def test_a_study_that_names_no_languages_has_those_of_its_texts(tmp_path):
    bundle = read(tmp_path, languages=[])
    assert bundle.study["languages"] == ["en", "ko"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"title": {}}, "“title” is empty"),
        ({"title": {"en": ""}}, "“title” in “en” is empty"),
        ({"title": {"en": 5}}, "“title” in “en” must be text"),
        ({"title": {"English!": "x"}}, "“title” names “English!”, which is no language code"),
        ({"title": {"en": "x", "fr": "y"}}, "“title” is in “fr”, which “languages” does not name"),
        ({"title": {"en": "x" * 201}}, "“title” in “en” is longer than 200 characters"),
        ({"title": ["x"]}, "“title” must be text"),
        ({"guideline": {"en": "x", "fr": "y"}}, "“guideline” is in “fr”"),
    ],
)
def test_a_fault_in_a_text_by_language_is_one_sentence(tmp_path, change, words):
    with pytest.raises(BundleError) as refusal:
        read(tmp_path, **change)
    assert len(refusal.value.faults) == 1
    assert words in refusal.value.faults[0]
    assert refusal.value.faults[0].startswith("study.json, line ")


def test_a_task_names_a_preset_or_brings_questions_of_its_own(folder):
    questions = [{"type": "text", "name": "why"}]
    preset, own = {"name": "best", "preset": "selection"}, {"name": "why", "questions": questions}
    folder.study["tasks"] = [preset, own]
    folder.files["items"] = []
    bundle = bundles.load_bundle(folder.write())
    kinds = {task.name: task.kind for task in bundle.tasks}
    assert kinds == {"best": "selection", "why": "questions"}
