"""Releases of judgments of every kind."""

import hashlib
import json

import pytest

from annotation.core.learned import ModelError
from annotation.datasets import choices, folders
from annotation.datasets.check import check_release
from annotation.datasets.layouts import long
from annotation.datasets.release_import import import_release
from annotation.evaluation import training
from annotation.judging.models import Adjudication, Item, Slot
from annotation.judging.work.submit import revise
from annotation.studies.models import Study
from tests import everykind
from tests.conftest import Cast, kept
from tests.datasets.conftest import (
    build,
    card,
    files_of,
    left_out,
    lines,
    votes_of,
    written_again,
)
from tests.datasets.test_opening import load, read_everywhere


@kept
def judged_mix(folder):
    return everykind.judged(Cast(), folder).pk


@pytest.fixture
def mix(judged_mix, db):
    return Study.objects.get(pk=judged_mix)


@pytest.fixture
def release_of(mix, _data):
    def release_of_(layout, format="", **options):
        release = build(mix, layout, format, **options)
        assert check_release(folders.folder_of(release)) == []
        return release

    return release_of_


def by_item(rows):
    found = {}
    for row in rows:
        found.setdefault(row["item_id"], []).append(row)
    return found


SAID = ("question", "option", "label", "value", "text")


def test_the_long_layout_has_a_row_a_judgment_of_every_kind_and_a_row_an_answer(release_of):
    release = release_of("long")
    rows = by_item(lines(release, "judgments.jsonl"))
    said = {}
    for row in lines(release, "answers.jsonl"):
        assert list(row) == list(long.ANSWERS)
        said.setdefault(row["judgment"], []).append(tuple(row[name] for name in SAID))
    assert list(long.ANSWERS)[:7] == ["judgment", *SAID[:2], "part", *SAID[2:]]
    answers = {item: [said[row["judgment"]] for row in found] for item, found in rows.items()}
    assert [row["judgment"] for row in rows["i-m1"]] == ["i-m1/1", "i-m1/2", "i-m1/3"]
    assert [row["answers"] for row in rows["i-a2"]] == [2, 2, 1]
    assert [each for (each,) in answers["i-better"]] == [
        ("choice", None, label, None, None) for label in ("c-own", "c-own", "tie")
    ]
    # 1 is the first candidate of the item much better: here the personalised one.
    assert [value for ((*_about, value, _text),) in answers["i-rate"]] == [1, 1, 4]
    assert [each[0][2] for each in answers["i-m1"]] == ["yes", "yes", "no"]
    assert answers["i-order"][2] == [
        ("ranking", id, None, place, None)
        for id, place in (("c-own", 1), ("c-generic", 2), ("c-sea", 2))
    ]
    assert [[each[:3:2] for each in judged] for judged in answers["i-a2"]] == [
        [("verdict", "uncertain"), ("cause", "missing-evidence")],
        [("verdict", "rejected"), ("cause", "overgeneralised")],
        [("verdict", "accepted")],
    ]
    assert answers["i-feel"][0] == [
        ("Tone", "c-own", None, 4, "4 it is"),
        ("Depth", "c-own", None, 2, "2 it is"),
    ]
    passages = [row for row in lines(release, "answers.jsonl") if row["question"] == "odd"]
    assert [
        tuple(row[name] for name in ("judgment", "option", "label", "start", "end"))
        for row in passages
    ] == [
        ("i-own/1", "c-own", "Fact", 0, 5),
        ("i-own/2", "c-own", "Fact", 0, 10),
        ("i-own/2", "c-generic", "Tone", 5, 6),
    ]
    assert {row["kind"] for found in rows.values() for row in found} == {
        *("selection", "preference", "feedback", "attribute", "relevance", "ranking", "questions")
    }
    items = {row["item_id"]: row for row in lines(release, "items.jsonl")}
    # Checks are for the annotators.
    names = ("a1", "a2", "better", "feel", "m1", "order", "own", "rate")
    assert sorted(items) == [f"i-{name}" for name in names]
    assert (items["i-m1"]["winner"], items["i-m1"]["tier"]) == ("yes", "")
    assert items["i-a2"]["winner"] is None
    assert items["i-a2"]["labels"] == ["accepted", "uncertain", "rejected"]
    assert (items["i-a1"]["query_id"], items["i-a1"]["attribute"]) == ("", "Grows ferns at home.")


def test_votes_csv_has_the_kinds_whose_answer_is_one_label(release_of):
    rows = votes_of(release_of("long"))
    assert {row["task"] for row in rows} == {"i-better", "i-rate", "i-m1", "i-a1", "i-a2"}
    assert len(rows) == 15


def test_personalbench_has_its_three_stages_with_the_published_keys_first(release_of):
    release = release_of("personalbench")
    paths = {entry["path"] for entry in release.manifest["files"]}
    assert paths == {
        *("README.md", "attributes.jsonl", "relevance.jsonl", "responses.jsonl", "votes.csv"),
        *("soft_labels.jsonl", "annotations.jsonl", "croissant.json", "conversations.jsonl"),
        *(f"harness/choices/{name}-people.jsonl" for name in ("relevance", "responses")),
        *(f"harness/{name}" for name in ("inspect_task.py", "lm_eval/verdict.py")),
        *(f"harness/lm_eval/attune{name}{end}.yaml" for name in
          ("", "_relevance_people", "_responses_people") for end in ("", "_chat")),
    }  # fmt: skip
    one, two = lines(release, "attributes.jsonl")
    assert list(one)[:6] == ["attribute_id", "user", "text", "confidence", "verdicts", "label"]
    assert (one["attribute_id"], one["label"], one["confidence"]) == ("a1", "accepted", 0.9)
    # Uncertain or rejected: no verdict has a majority, but that it is problematic has.
    assert (two["label"], two["counts"]) == (
        "problematic",
        [{"verdict": name, "n": 1} for name in ("accepted", "uncertain", "rejected")],
    )
    assert [verdict["reason"] for verdict in two["verdicts"]] == ["Only once.", "", ""]

    (matter,) = lines(release, "relevance.jsonl")
    assert list(matter)[:5] == ["attribute_id", "prompt_id", "prompt", "votes", "label"]
    assert (matter["attribute_id"], matter["prompt_id"], matter["label"]) == ("a1", "q1", "yes")
    assert sorted(vote["vote"] for vote in matter["votes"]) == ["no", "yes", "yes"]

    (unit,) = lines(release, "responses.jsonl")
    assert list(unit)[:5] == ["unit_id", "generic", "personalised", "ratings", "mean"]
    assert (unit["unit_id"], unit["generic"], unit["personalised"]) == (
        *("i-rate", "Take a walk.", "Repot your ferns."),
    )
    # The first candidate is the personalised one, so the stored 1 is the highest rating.
    assert [rating["rating"] for rating in unit["ratings"]] == [5, 5, 2]
    assert unit["mean"] == 4.0
    # Each option first once; the majority says yes, and the mean is for the personalised answer.
    for name, right in (("relevance", "yes"), ("responses", "Repot your ferns.")):
        for row in lines(release, f"harness/choices/{name}-people.jsonl"):
            assert f"Option {'AB'[row['answer']]}: {right}" in row["text"]
            assert "Grows ferns at home." in row["text"]
    # "ferns" of "grows", "ferns", "home".
    assert (unit["explicit_mention"], round(unit["mention_share"], 3)) == (False, 0.333)


def test_personalbench_opens_in_the_libraries_that_people_use(release_of, tmp_path):
    folder = folders.folder_of(release_of("personalbench"))
    rows, whole, _splits = load(folder, tmp_path)
    tables = {"attributes": 2, "relevance": 1, "responses": 1}
    tables |= {"soft_labels": 4, "annotations": 12, "conversations": 1}
    assert rows == whole == tables
    paths = {f"{name}.jsonl": number for name, number in tables.items()}
    asked = {f"harness/choices/{name}-people.jsonl": 2 for name in ("relevance", "responses")}
    assert read_everywhere(folder) == paths | asked | {"votes.csv": 12}


def test_a_rating_counts_towards_the_personalised_answer_on_whichever_side_it_is(mix, release_of):
    for strategies, expected in ((("A1", "generic"), [5, 5, 2]), (("A3", "A1"), [1, 1, 4])):
        for key, strategy in zip(("c-own", "c-generic"), strategies, strict=True):
            mix.candidates.filter(external_id=key).update(strategy=strategy)
        (unit,) = lines(release_of("personalbench"), "responses.jsonl")
        assert [rating["rating"] for rating in unit["ratings"]] == expected


def test_without_one_generic_answer_there_is_no_rating_and_the_manifest_says_so(mix, release_of):
    mix.candidates.update(strategy="A1")
    release = release_of("personalbench")
    assert lines(release, "responses.jsonl") == []
    assert left_out(release, "preferences") == {"generic_answer_not_known": 1}


def test_only_what_stands_is_released_and_what_comes_after_the_freeze_changes_nothing(
    cast, mix, release_of, tmp_path
):
    item = Item.objects.get(external_id="i-m1")
    slots = {slot.annotator.name: slot for slot in item.slots.select_related("annotator")}

    def revise_vote(name, label):
        said = {"relevant": label}
        revise(mix, slots[name].pk, cast.person(name), said, key=f"{name} {label}")

    revise_vote("Chen", "yes")
    revise_vote("Chen", "no")
    Slot.objects.filter(pk=slots["Bo"].pk).update(status="void")
    kept_all = slots["Chen"].judgments.order_by("revision")
    assert list(kept_all.values_list("revision", "answers__label")) == [
        (1, "no"), (2, "yes"), (3, "no")
    ]  # fmt: skip
    release = release_of("long")
    rows = by_item(lines(release, "judgments.jsonl"))["i-m1"]
    said = {row["judgment"]: row["label"] for row in lines(release, "answers.jsonl")}
    assert [(said[row["judgment"]], row["revision"]) for row in rows] == [("yes", 1), ("no", 3)]
    revise_vote("Ann", "no")
    Slot.objects.filter(pk=slots["Chen"].pk).update(status="void")
    Adjudication.objects.create(item=item, label="no", reason="No.", by=cast.person("Carol"))
    assert written_again(release, tmp_path / "again") == files_of(release)


def test_the_newest_ruling_stands_beside_the_votes(cast, mix, release_of):
    rulings = [("i-m1", "no"), ("i-m1", "yes"), ("i-better", "2"), ("i-feel", {"1/Tone": 3})]
    for key, label in rulings:
        item = Item.objects.get(external_id=key)
        Adjudication.objects.create(item=item, label=label, reason="So.", by=cast.person("Carol"))
    items = {row["item_id"]: row for row in lines(release_of("long"), "items.jsonl")}
    assert [items[key]["adjudicated"] for key in ("i-m1", "i-better", "i-a1")] == [
        *("yes", "c-generic", None)
    ]
    assert json.loads(items["i-feel"]["adjudicated"]) == {"c-own/Tone": 3}
    # Votes stay as they are.
    assert items["i-better"]["votes"] == [2, 0, 1]


def test_the_manifest_measures_agreement_on_the_scale_of_each_kind(release_of):
    agreement = release_of("long").manifest["agreement"]
    assert {name: entry["level"] for name, entry in sorted(agreement.items())} == {
        "better v1": "nominal", "feel v1: Depth": "ordinal", "feel v1: Tone": "ordinal",
        "matter v1": "nominal", "own v1: best": "nominal", "own v1: depth": "ordinal",
        "own v1: polite": "ordinal", "rate v1": "ordinal", "traits v1": "nominal",
    }  # fmt: skip
    rate = agreement["rate v1"]["all"]
    assert rate["categories"] == ["1", "2", "3", "4", "5"]
    assert set(rate["krippendorff_alpha"]) == {"nominal", "ordinal"}
    assert agreement["feel v1: Depth"]["all"]["percent_agreement"]["value"] == 1.0
    assert agreement["feel v1: Tone"]["all"]["percent_agreement"]["value"] == 0.0
    assert agreement["traits v1"]["tiers"] == {}
    # Of a1 all pairs agree, of a2 none.
    assert agreement["traits v1"]["all"]["percent_agreement"]["value"] == 0.5


@pytest.mark.parametrize(
    ("layout", "format"), [("personalbench", "jsonl"), ("long", "jsonl"), ("long", "csv")]
)
def test_no_file_holds_a_real_name_or_an_id_of_the_database(mix, release_of, layout, format):
    secrets = ["example.org", "Chen", "key-"]
    for item in mix.items.all():
        secrets += [str(item.pk), *(str(pk) for pk in item.slots.values_list("pk", flat=True))]
    secrets += [str(pk) for pk in mix.candidates.values_list("pk", flat=True)]
    release = release_of(layout, format)
    for path in folders.folder_of(release).rglob("*.*"):
        data = path.read_text(encoding="utf-8")
        assert [s for s in (*secrets, release.salt) if s in data] == [], path.name


def test_the_stages_of_personalbench_in_shards_are_read_as_one(release_of, monkeypatch):
    monkeypatch.setattr(choices, "FEWEST_SHARD_ROWS", 1)
    folder = folders.folder_of(release_of("personalbench", shard_rows=1))
    names = [f"attributes-0000{n}.jsonl" for n in range(2)]
    assert sorted(path.name for path in folder.glob("attributes*")) == names
    rows, digest = training.labelled_rows(folder, "attributes", ("text", "user"))
    assert sorted(row["item_id"] for row in rows) == ["i-a1", "i-a2"]
    content = b"".join((folder / name).read_bytes() for name in names)
    assert digest == hashlib.sha256(content).hexdigest()
    counts = import_release(folder, "again")
    assert (counts["items"], counts["rejected"]) == (4, [])
    (folder / names[1]).write_text("{}\n")
    with pytest.raises(ModelError, match=r"attributes-00001\.jsonl, line 1: “text”"):
        training.labelled_rows(folder, "attributes", ("text", "user"))


def test_csv_shards_whose_columns_look_different_are_opened_as_one(
    release_of, monkeypatch, tmp_path
):
    monkeypatch.setattr(choices, "FEWEST_SHARD_ROWS", 1)
    folder = folders.folder_of(release_of("long", "csv", shard_rows=6))
    rows, whole, _splits = load(folder, tmp_path)
    tables = {"judgments": 23, "answers": 47, "items": 8, "candidates": 3, "personas": 1}
    assert rows == whole == tables | {"attributes": 2, "soft_labels": 5}


def test_the_card_names_the_method_of_its_layout(release_of):
    text = card(release_of("personalbench"))
    assert "Re-Centering Humans in LLM Personalization" in text
    assert "tier" not in text.split("## Limits")[1]
