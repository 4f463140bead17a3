"""The bespoke layout: published names, pseudonyms, only what was agreed to; gone once withdrawn."""

import json

import pyarrow.parquet as pq
import pytest

from annotation.candidates.models import Candidate
from annotation.core.errors import DomainError
from annotation.datasets import freeze
from annotation.datasets.bespoke_import import import_bespoke
from annotation.datasets.check import check
from annotation.datasets.freeze import write
from annotation.histories import consent
from annotation.judging.annotator import leaving
from annotation.judging.batches.open import open_batch
from annotation.judging.models import Item, Judgment, Score
from annotation.judging.work import queue, submit
from annotation.queries import gold, own
from annotation.queries.models import GoldClaim, GoldResponse, Query, Rubric
from annotation.studies.models import Study
from tests.bespoke.conftest import answered, ask, scores


@pytest.fixture
def released(tmp_path, bespoke):
    """A function that freezes the study and writes the release; its folder."""

    def go(format="jsonl"):
        release = freeze.request(bespoke, "bespoke", format, None)
        folder = tmp_path / str(release.version)
        folder.mkdir()
        write(release, folder)
        return folder

    return go


def lines(folder, name):
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def text_of(folder):
    return "".join(path.read_text() for path in sorted(folder.rglob("*")) if path.is_file())


def test_every_published_table_and_column_is_there(cast, bespoke, judged, released):
    ann = cast.person("Ann")
    response = gold.save(judged, ann, "Take it.")
    gold.set_claims(response, ["It leaves at ten."])
    open_batch(bespoke, bespoke.tasks.get(name="claims"))
    slot = queue.claim(bespoke, ann)
    said = {str(response.claims.get().pk): {"verdict": "keep"}}
    submit.submit(bespoke, slot, ann, {"claims": said}, key="c")
    gold.save_rubric(judged, "Calm.", author=ann)
    folder = released()
    query = {"user": "user1", "query-id": 1}
    assert lines(folder, "queries/query_table") == [
        query | {"query": judged.text, "gold_information_need": "NEED-CANARY"}
    ]
    (information,) = lines(folder, "gold_information/gold_information")
    assert list(information) == ["user", "query-id", "id", "gold_information_value"]
    assert json.loads(information["gold_information_value"]) == {
        "gold_information": ["It leaves at ten."]
    }
    (rubric,) = lines(folder, "personalized_rubric/personalized_rubric")
    assert rubric["personalized_rubric_value"] == "Calm."
    (tested,) = lines(folder, "meta_test/meta_test_set")
    value = json.loads(tested["meta_test_set_value"])
    assert list(value) == ["query", "gold_information_need", "response_list"]
    assert list(value["response_list"][0]) == [
        *("contents", "need_alignment", "content_depth", "tone", "explanation_style")
    ]
    assert [one["tone"]["score"] for one in value["response_list"]] == [2, 5]
    assert (folder / "gold_information/user1/query-id_1.json").read_text() == (
        '{"gold_information": ["It leaves at ten."]}\n'
    )
    assert (folder / "personalized_rubric/user1/query-id_1.txt").read_text() == "Calm.\n"


def test_parquet_has_the_same_tables(bespoke, judged, released):
    folder = released("parquet")
    table = pq.read_table(folder / "queries/query_table.parquet")
    assert table.column_names == ["user", "query-id", "query", "gold_information_need"]
    assert check(folder) == []


def test_a_history_is_published_with_consent_alone(cast, bespoke, judged, released):
    assert "ANN-CANARY" not in text_of(released())
    consent.grant(cast.person("Ann"), bespoke, "publish")
    folder = released()
    (session,) = lines(folder, "chat_history/chat_history")
    assert session["user"] == "user1"
    assert "ANN-CANARY" in session["history"]
    assert "BO-CANARY" not in text_of(folder)


def test_who_withdrew_is_absent_from_the_next_release(cast, bespoke, judged, released):
    ann = cast.person("Ann")
    consent.grant(ann, bespoke, "publish")
    assert "NEED-CANARY" in text_of(released())
    leaving.withdraw(bespoke, ann)
    after = text_of(released())
    for canary in ("NEED-CANARY", "ANN-CANARY", "Because it fits", "user1"):
        assert canary not in after


def test_half_of_the_judged_queries_are_shots(cast, bespoke, fake, released):
    ann = cast.person("Ann")
    for n in range(4):
        ask(bespoke, ann, f"Which train on day {n}?")
    answered(bespoke, fake, "Take it.", strategies=["search"])
    open_batch(bespoke, bespoke.tasks.get(name="score"))
    while slot := queue.claim(bespoke, ann):
        submit.submit(bespoke, slot, ann, scores(slot, 4), key=str(slot))
    folder = released()
    shots = lines(folder, "evaluation_shot/evaluation_shot")
    tested = lines(folder, "meta_test/meta_test_set")
    assert (len(shots), len(tested)) == (2, 2)
    numbers = {row["query-id"] for row in shots} | {row["query-id"] for row in tested}
    assert numbers == {1, 2, 3, 4}


def test_the_same_release_gives_the_same_bytes(bespoke, judged, tmp_path):
    release = freeze.request(bespoke, "bespoke", "parquet", None)
    manifests = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        manifests.append(write(release, tmp_path / name))
    assert manifests[0] == manifests[1]


def test_a_release_imported_and_released_again_says_the_same(
    cast,
    bespoke,
    judged,
    released,
    tmp_path,
):
    ann = cast.person("Ann")
    consent.grant(ann, bespoke, "publish")
    response = gold.save(judged, ann, "Take it.")
    gold.set_claims(response, ["It leaves at ten.", "It has beds."])
    open_batch(bespoke, bespoke.tasks.get(name="claims"))
    slot = queue.claim(bespoke, ann)
    said = {str(claim.pk): {"verdict": "keep"} for claim in response.claims.all()}
    submit.submit(bespoke, slot, ann, {"claims": said}, key="c")
    gold.save_rubric(judged, "Calm.", author=ann)
    first = released("parquet")
    counts = import_bespoke(first, "again")
    assert counts == {
        "users": 1,
        "queries": 1,
        "judgments": 2,
        "claims": 2,
        "rubrics": 1,
        "sessions": 1,
    }
    again = freeze.request(Study.objects.get(slug="again"), "bespoke", "parquet", None)
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


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("queries/query_table", '{"user": "user1"}', "there is no “query-id”"),
        ("queries/query_table", "no json", "cannot be read"),
        (
            "meta_test/meta_test_set",
            '{"user": "user1", "query-id": 1, "id": "x", "meta_test_set_value": "{}"}',
            "there is no list “response_list”",
        ),
        (
            "meta_test/meta_test_set",
            '{"user": "u", "query-id": 9, "id": "x", "meta_test_set_value": "{}"}',
            "u has no query 9",
        ),
        (
            "queries/query_table",
            '{"user": "u", "query-id": "one", "query": "", "gold_information_need": ""}',
            "row 1: “query-id” is no integer",
        ),
        (
            "queries/query_table",
            '{"user": 7, "query-id": 1, "query": "", "gold_information_need": ""}',
            "row 1: “user” is no text",
        ),
        (
            "personalized_rubric/personalized_rubric",
            '{"user": "u", "query-id": 1, "id": "x", "personalized_rubric_value": "A"}\n'
            '{"user": "u", "query-id": 1, "id": "y", "personalized_rubric_value": "B"}',
            "row 2: u, 1 was in an earlier row",
        ),
    ],
)
def test_a_release_that_cannot_be_read_is_refused_whole(
    bespoke,
    judged,
    released,
    name,
    text,
    sentence,
):
    folder = released()
    (folder / f"{name}.jsonl").write_text(text + "\n")
    with pytest.raises(DomainError, match=sentence):
        import_bespoke(folder, "again")
    assert not Study.objects.filter(slug="again").exists()


def test_any_end_of_a_line_may_stand_in_a_text(cast, bespoke, judged, released):
    gold.save_rubric(judged, "One\u2028two\x85three", author=cast.person("Ann"))
    import_bespoke(released(), "again")
    assert Rubric.objects.get(query__study__slug="again").text == "One\u2028two\x85three"


def test_numbers_may_be_written_as_text(cast, bespoke, judged, released):
    folder = released()
    for path in folder.rglob("*.jsonl"):
        path.write_text(path.read_text().replace('"query-id": 1', '"query-id": "1"'))
    assert import_bespoke(folder, "again")["judgments"] == 2


def test_an_address_that_no_study_can_have_is_refused(bespoke, judged, released):
    with pytest.raises(DomainError, match="not allowed"):
        import_bespoke(released(), "Not an/address")


def test_a_query_that_two_tables_judge_is_refused(bespoke, judged, released):
    folder = released()
    (row,) = lines(folder, "meta_test/meta_test_set")
    row["evaluation_shot_value"] = row.pop("meta_test_set_value")
    (folder / "evaluation_shot/evaluation_shot.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(DomainError, match="user1 judges query 1 in two tables"):
        import_bespoke(folder, "again")


def test_withdrawing_erases_ones_own_words_from_the_database(cast, bespoke, judged):
    ann = cast.person("Ann")
    gold.set_claims(gold.save(judged, ann, "GOLD-CANARY"), ["GOLD-CANARY"])
    gold.save_rubric(judged, "RUBRIC-CANARY", author=ann)
    leaving.withdraw(bespoke, ann)
    everything = "".join(
        str(list(model.objects.values()))
        for model in (Query, GoldResponse, GoldClaim, Rubric, Score, Judgment, Item)
    ) + str(list(Candidate.every.values()))
    for canary in ("NEED-CANARY", "GOLD-CANARY", "RUBRIC-CANARY", "Because it fits", "The second."):
        assert canary not in everything
    assert not own.of(bespoke, ann).exists()


def test_the_long_layout_tells_nothing_of_a_history(cast, bespoke, judged, tmp_path):
    consent.grant(cast.person("Ann"), bespoke, "publish")
    release = freeze.request(bespoke, "long", "jsonl", None)
    write(release, tmp_path)
    assert "ANN-CANARY" not in text_of(tmp_path)
    assert "Because it fits" in text_of(tmp_path)
