"""The bespoke layout: published names, pseudonyms, only what was agreed to; gone once withdrawn."""

import json

import mlcroissant
import pyarrow.parquet as pq
import pytest

from annotation.candidates.models import Candidate
from annotation.core.errors import DomainError
from annotation.datasets import choices, freeze
from annotation.datasets.check import check_release
from annotation.datasets.freeze import write
from annotation.datasets.release_import import import_release
from annotation.histories import consent
from annotation.judging.annotator import leaving
from annotation.judging.batches.open import open_batch
from annotation.judging.models import Answer, Item, Judgment
from annotation.judging.work import queue, submit
from annotation.papers.bespoke import judge as evaluated
from annotation.queries import author, owner_queries
from annotation.queries.models import GoldClaim, GoldResponse, Query, Rubric
from annotation.studies.models import Study
from tests.datasets.test_opening import load, read_everywhere
from tests.papers.bespoke.conftest import SHOTS, lines, text_of


def keep_claims(study, query, *texts):
    """The owner's gold information: these claims of a response, all kept; and a rubric."""
    response = author.save_response(query, query.owner, "Take it.")
    author.set_claims(response, texts)
    open_batch(study, study.tasks.get(name="claims"))
    slot = queue.claim(study, query.owner)
    said = {str(claim.pk): "keep" for claim in response.claims.all()}
    submit.submit(study, slot, query.owner, {"claims": said}, key="c")
    author.save_rubric(query, "Calm.", author=query.owner)


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_the_libraries_that_people_use_open_it_under_the_published_names(
    bespoke, judged, released, tmp_path, format
):
    folder = released(format)
    rows, whole, _splits = load(folder, tmp_path)
    assert rows == whole
    # One answer was judged: an example, and none is left to test.
    assert rows == {"queries": 1, "evaluation_shot": 1}
    read = read_everywhere(folder)
    assert {path.split("/")[0] for path in read} == set(rows)


def test_mlcroissant_reads_every_table_that_has_rows(bespoke, judged, released):
    described = mlcroissant.Dataset(jsonld=str(released() / "croissant.json"))
    read = {one.id: len(list(described.records(one.id))) for one in described.metadata.record_sets}
    assert {"queries-query_table", "evaluation_shot-evaluation_shot"} == set(read)
    assert all(read.values())


def test_every_published_table_and_column_is_there(bespoke, judged, released):
    keep_claims(bespoke, judged, "It leaves at ten.")
    folder = released()
    (query,) = lines(folder, "queries/query_table")
    assert list(query.items()) == [
        ("user", "user1"), ("query-id", "1"), ("query", judged.text),
        ("gold_information_need", "NEED-CANARY"),
    ]  # fmt: skip
    (information,) = lines(folder, "gold_information/gold_information")
    assert list(information) == ["user", "query-id", "id", "gold_information_value"]
    assert json.loads(information["gold_information_value"]) == {
        "gold_information": ["It leaves at ten."]
    }
    (rubric,) = lines(folder, "personalized_rubric/personalized_rubric")
    assert rubric["personalized_rubric_value"] == "Calm."
    (shots,) = lines(folder, "evaluation_shot/evaluation_shot")
    value = json.loads(shots["evaluation_shot_value"])
    assert list(value) == ["query", "gold_information_need", "response_list"]
    assert list(value["response_list"][0]) == [
        *("contents", "need_alignment", "content_depth", "tone", "explanation_style")
    ]
    assert [one["tone"]["score"] for one in value["response_list"]] == [2, 5]
    assert (folder / "unpacked/gold_information/user1/query-id_1.json").read_text() == (
        '{"gold_information": ["It leaves at ten."]}\n'
    )
    assert (folder / "unpacked/personalized_rubric/user1/query-id_1.txt").read_text() == "Calm.\n"


def test_a_history_is_published_with_consent_alone(cast, bespoke, judged, released):
    assert "ANN-CANARY" not in text_of(released())
    consent.grant(cast.person("Ann"), bespoke, "publish")
    folder = released()
    (session,) = lines(folder, "chat_history/chat_history")
    assert session["user"] == "user1"
    assert "ANN-CANARY" in session["history"]
    assert "BO-CANARY" not in text_of(folder)


def test_who_withdrew_is_absent_from_the_next_release(bespoke, judged, released, tmp_path, ann):
    consent.grant(ann, bespoke, "publish")
    assert "NEED-CANARY" in text_of(released())
    leaving.withdraw(bespoke, ann)
    with pytest.raises(DomainError, match="would hold no scored responses"):
        released()
    after = text_of(tmp_path / "2")
    for canary in ("NEED-CANARY", "ANN-CANARY", "Because it fits", "user1"):
        assert canary not in after


def test_queries_with_too_few_responses_are_all_shots_and_named(bespoke, judged, released):
    folder = released()
    assert lines(folder, "meta_test/meta_test_set") == []
    (row,) = lines(folder, "evaluation_shot/evaluation_shot")
    assert len(json.loads(row["evaluation_shot_value"])["response_list"]) == 2
    manifest = json.loads((folder / "manifest.json").read_text())
    named = {"user": "user1", "query-id": "1", "responses": 2}
    assert manifest["remarks"] == {"too_few_responses": [named]}
    card = (folder / "README.md").read_text()
    assert "- Too few responses, so all of them are shots: 1 query (user1/1)." in card


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_the_card_speaks_of_csv_cells_where_there_are_some(bespoke, judged, tmp_path, format):
    write(freeze.request_release(bespoke, "long", format, None, safe_csv=True), tmp_path)
    assert ("CSV cells" in (tmp_path / "README.md").read_text()) == (format == "csv")


def test_the_number_of_shots_is_a_choice(bespoke, judged, tmp_path):
    release = freeze.request_release(bespoke, "bespoke", "jsonl", None, shots=1)
    write(release, tmp_path)
    for name in ("evaluation_shot/evaluation_shot", "meta_test/meta_test_set"):
        (row,) = lines(tmp_path, name)
        value = json.loads(row[f"{name.partition('/')[2]}_value"])
        assert len(value["response_list"]) == 1
    with pytest.raises(DomainError, match="from 1 to 100"):
        freeze.request_release(bespoke, "bespoke", "jsonl", None, shots=0)


def test_its_tables_in_shards_are_read_as_one(bespoke, judged, tmp_path, monkeypatch):
    monkeypatch.setattr(choices, "FEWEST_SHARD_ROWS", 1)
    author.set_claims(author.save_response(judged, judged.owner, "Take it."), ["It leaves at ten."])
    release = freeze.request_release(bespoke, "bespoke", "parquet", None, shots=1, shard_rows=1)
    write(release, tmp_path)
    assert check_release(tmp_path) == []
    (path,) = (tmp_path / "meta_test").iterdir()
    assert path.name == "meta_test_set-00000.parquet"
    # The published evaluator opens these.
    assert (tmp_path / "unpacked/meta_test/user1/query-id_1.json").is_file()
    read = evaluated.read(tmp_path)
    assert [(len(query.shots), len(query.tests)) for query in read.queries] == [(1, 1)]
    assert import_release(tmp_path, "again")["judgments"] == 2


def test_the_same_release_gives_the_same_bytes(bespoke, judged, tmp_path):
    release = freeze.request_release(bespoke, "bespoke", "parquet", None)
    manifests = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        manifests.append(write(release, tmp_path / name))
    assert manifests[0] == manifests[1]


def test_a_release_imported_and_released_again_says_the_same(
    bespoke, judged, released, tmp_path, ann
):
    consent.grant(ann, bespoke, "publish")
    keep_claims(bespoke, judged, "It leaves at ten.", "It has beds.")
    first = released("parquet")
    assert check_release(first) == []
    expected = {
        "users": 1, "queries": 1, "judgments": 2, "claims": 2, "rubrics": 1, "sessions": 1,
        "items": 3, "votes": 3, "scores": 8, "workers": 1, "rejected": [], "left_out": {},
    }  # fmt: skip
    report = import_release(first, "again")
    assert {name: report[name] for name in expected} == expected
    again = freeze.request_release(Study.objects.get(slug="again"), "bespoke", "parquet", None)
    second = tmp_path / "again"
    second.mkdir()
    write(again, second)
    for path in sorted(first.rglob("*.parquet")):
        name = path.relative_to(first)
        assert _without_ids(first / name) == _without_ids(second / name), name


def _without_ids(path):
    rows = pq.read_table(path).to_pylist()
    for row in rows:
        row.pop("id", None)
    return rows


BAD = [
    ("queries/query_table", '{"user": "user1"}', "there is no text “query-id”"),
    ("queries/query_table", "no json", "the line is no JSON"),
    (SHOTS, '{"user": "user1", "query-id": "1", "evaluation_shot_value": "{}"}',
     "there is no list “response_list”"),
    (SHOTS, '{"user": "u", "query-id": 9, "evaluation_shot_value": "{}"}',
     "u has no query 9 in the query table"),
    ("queries/query_table", '{"user": {}, "query-id": 1, "query": ""}', "there is no text “user”"),
    (SHOTS, '{"user": "user1", "query-id": 1.0, "evaluation_shot_value": '
     '{"response_list": [{"contents": "x", "tone": {"score": 9}}]}}',
     "response 1 of user1, query 1: it has no score of Need Alignment from 1 to 5"),
    (SHOTS, "[]", "the row is no object"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "reason"), BAD)
def test_what_is_not_whole_is_listed_with_file_and_row_and_the_rest_comes_in(
    bespoke, judged, released, name, text, reason
):
    folder = released()
    path = folder / f"{name}.jsonl"
    path.write_text(f"{path.read_text()}{text}\n")
    counts = import_release(folder, "again")
    assert counts["rejected"] == [{"file": f"{name}.jsonl", "line": 2, "reason": reason}]
    assert (counts["queries"], counts["judgments"]) == (1, 2)


def test_several_rows_of_a_query_are_merged(bespoke, judged, released):
    folder = released()
    value = json.loads(lines(folder, SHOTS)[0]["evaluation_shot_value"])
    value["response_list"][0]["contents"] = "Take a third one."
    added = {
        SHOTS: [{"evaluation_shot_value": json.dumps(value)}],
        "personalized_rubric/personalized_rubric": [
            {"personalized_rubric_value": text} for text in ("Calm.", "Kind.")
        ],
    }
    for name, rows in added.items():
        with (folder / f"{name}.jsonl").open("a") as file:
            for row in rows:
                another = row | {"user": "user1", "query-id": "1", "id": "another"}
                file.write(f"{json.dumps(another)}\n")
    counts = import_release(folder, "again")
    assert (counts["judgments"], counts["rubrics"], counts["rejected"]) == (3, 1, [])
    assert counts["left_out"] == {"responses that stand in an earlier row of their query, too": 1}
    assert Rubric.objects.get(query__study__slug="again").text == "Calm.\n\nKind."


def test_without_a_query_table_nothing_is_stored(bespoke, judged, released):
    folder = released()
    (folder / "queries/query_table.jsonl").write_text("")
    with pytest.raises(DomainError, match=r"query to import \(the table is empty\)"):
        import_release(folder, "again")
    (folder / "queries/query_table.jsonl").unlink()
    with pytest.raises(DomainError, match="is missing"):
        import_release(folder, "again")
    assert not Study.objects.filter(slug="again").exists()


def test_any_end_of_a_line_may_stand_in_a_text(cast, bespoke, judged, released):
    author.save_rubric(judged, "One\u2028two\x85three", author=cast.person("Ann"))
    import_release(released(), "again")
    assert Rubric.objects.get(query__study__slug="again").text == "One\u2028two\x85three"


def test_numbers_may_be_written_as_text(cast, bespoke, judged, released):
    folder = released()
    for path in folder.rglob("*.jsonl"):
        path.write_text(path.read_text().replace('"query-id": "1"', '"query-id": 1'))
    assert import_release(folder, "again")["judgments"] == 2


def test_an_address_that_no_study_can_have_is_refused(bespoke, judged, released):
    with pytest.raises(DomainError, match="not allowed"):
        import_release(released(), "Not an/address")


def test_withdrawing_erases_ones_own_words_from_the_database(bespoke, judged, ann):
    author.set_claims(author.save_response(judged, ann, "GOLD-CANARY"), ["GOLD-CANARY"])
    author.save_rubric(judged, "RUBRIC-CANARY", author=ann)
    leaving.withdraw(bespoke, ann)
    everything = "".join(
        str(list(model.objects.values()))
        for model in (Query, GoldResponse, GoldClaim, Rubric, Answer, Judgment, Item)
    ) + str(list(Candidate.every.values()))
    for canary in ("NEED-CANARY", "GOLD-CANARY", "RUBRIC-CANARY", "Because it fits", "The second."):
        assert canary not in everything
    assert not owner_queries.of(bespoke, ann).exists()


def test_the_long_layout_tells_nothing_of_a_history(cast, bespoke, judged, tmp_path):
    consent.grant(cast.person("Ann"), bespoke, "publish")
    release = freeze.request_release(bespoke, "long", "jsonl", None)
    write(release, tmp_path)
    assert "ANN-CANARY" not in text_of(tmp_path)
    assert "Because it fits" in text_of(tmp_path)
