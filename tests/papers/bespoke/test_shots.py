"""Which responses of a release are shots and which are tests, and what its rubrics know of them."""

import json

import pytest
from django.core.management import CommandError, call_command

from annotation.candidates import writing
from annotation.candidates.models import Candidate
from annotation.datasets import check, freeze
from annotation.datasets.check import check_release
from annotation.datasets.freeze import write
from annotation.datasets.release_import import import_release
from annotation.datasets.writers import describe
from annotation.judging import claims
from annotation.judging.batches.open import open_batch
from annotation.judging.kinds.planning import Scope
from annotation.judging.work import queue, submit
from annotation.papers.bespoke import judge as evaluated
from annotation.queries import author
from annotation.queries.models import Query, Rubric
from annotation.studies.models import Study
from tests.candidates.conftest import Reply
from tests.papers.bespoke.conftest import SHOTS, answered, ask, lines, scores, text_of


def judge_all(bespoke, fake, people):
    """Everybody's answers: eight to each of their queries."""
    answered(bespoke, fake, *(f"Take train {n}." for n in range(8)), strategies=["search"])
    for query in Query.objects.filter(study=bespoke):
        offer(query, *(f"Take bus {n}." for n in range(7)))
    for person in people:
        judge_opened(bespoke, person)


def offer(query, *texts):
    """These texts as answers to ``query``."""
    for text in texts:
        name = f"{query.pk}-{query.candidates.count()}"
        Candidate.objects.create(study=query.study, query=query, external_id=name, text=text)


def judge_opened(bespoke, person):
    """All answers are opened, and the person scores theirs."""
    open_batch(bespoke, bespoke.tasks.get(name="score"), scope=Scope(again=True))
    while slot := queue.claim(bespoke, person):
        submit.submit(bespoke, slot, person, scores(slot, 4), key=str(slot))


def write_rubric(query, fake, text="Calm."):
    """A model writes the rubric of the owner's judgments; what it was shown."""
    row = claims.request_rubric(query, query.owner, endpoint="fake")
    fake.requests.clear()
    fake.replies = [Reply(text)]
    writing.write_one(row.pk)
    assert claims.pull() == 1
    return fake.requests[0][2].decode()


def sides(folder):
    """The texts of shots and of tests, of a release with one query."""
    read = evaluated.read(folder).queries[0]
    return [response.text for response in read.shots], [response.text for response in read.tests]


def test_the_published_evaluator_can_open_each_file_of_every_query_it_tests(
    cast, bespoke, fake, released
):
    people = [cast.person("Ann"), cast.person("Bo")]
    for person in people:
        for n in range(2):
            ask(bespoke, person, f"Which train on day {n}?")
    judge_all(bespoke, fake, people)
    author.save_rubric(Query.objects.filter(study=bespoke).first(), "Calm.", author=people[0])
    folder = released()
    tested = lines(folder, "meta_test/meta_test_set")
    assert sorted(row["query-id"] for row in tested) == ["1", "2", "3", "4"]
    for row in tested:
        user, number, unpacked = row["user"], row["query-id"], folder / "unpacked"
        shots = json.loads(
            (unpacked / f"evaluation_shot/{user}/query-id_{number}.json").read_text()
        )
        rubric = (unpacked / f"personalized_rubric/{user}/query-id_{number}.txt").read_text()
        claims = json.loads(
            (unpacked / f"gold_information/{user}/query-id_{number}.json").read_text()
        )
        value = json.loads(row["meta_test_set_value"])
        assert (shots["query"], shots["gold_information_need"]) == (value["query"], "NEED-CANARY")
        assert rubric.strip() in ("", "Calm.")
        assert claims == {"gold_information": []}
        assert (len(shots["response_list"]), len(value["response_list"])) == (5, 3)
        texts = [one["contents"] for one in shots["response_list"] + value["response_list"]]
        assert len(set(texts)) == 8
    remarks = json.loads((folder / "manifest.json").read_text())["remarks"]
    assert len(remarks["without_rubric"]) == 3
    assert len(remarks["without_gold_information"]) == 4


def test_the_rubric_knows_the_shots_of_the_release_alone(bespoke, fake, released, ann):
    query = ask(bespoke, ann)
    judge_all(bespoke, fake, [ann])
    shown = write_rubric(query, fake)
    shots, tests = sides(released())
    assert (len(shots), len(tests)) == (5, 3)
    assert [text in shown for text in shots] == [True] * 5
    assert [text in shown for text in tests] == [False] * 3


def test_what_is_judged_or_changed_later_makes_no_shot_of_a_rubric_a_test(
    bespoke, fake, released, ann
):
    query = ask(bespoke, ann)
    offer(query, "Take bus 0.", "Take bus 1.")
    judge_opened(bespoke, ann)
    assert "Take bus 0." in write_rubric(query, fake)
    first = bespoke.slots.filter(item__query=query).order_by("pk").first()
    submit.revise(bespoke, first.pk, ann, scores(first.pk, 1), key="changed")
    judge_all(bespoke, fake, [ann])
    author.save_rubric(query, "Calm, and short.", author=ann)
    shots, tests = sides(released())
    # Two more answers have these texts by now: equal texts are on one side.
    assert sorted(shots)[:4] == ["Take bus 0.", "Take bus 0.", "Take bus 1.", "Take bus 1."]
    assert (len(shots), len(tests), set(shots) & set(tests)) == (5, 5, set())
    shown = write_rubric(query, fake, "Kind.")
    assert [text in shown for text in (*shots, *tests)] == [True] * 5 + [False] * 5
    offer(query, *(f"Take ship {n}." for n in range(9)))
    judge_opened(bespoke, ann)
    assert sides(released())[0] == shots


def test_fewer_shots_than_a_rubric_knows_would_test_what_it_tells(bespoke, fake, tmp_path, ann):
    query = ask(bespoke, ann)
    judge_all(bespoke, fake, [ann])
    write_rubric(query, fake)
    write(freeze.request_release(bespoke, "bespoke", "jsonl", None, shots=1), tmp_path)
    assert [len(texts) for texts in sides(tmp_path)] == [5, 3]


def test_a_rubric_of_which_nobody_knows_what_it_saw_is_left_out_beside_tests(
    bespoke, fake, released, ann
):
    query = ask(bespoke, ann)
    judge_all(bespoke, fake, [ann])
    Rubric.objects.create(query=query, text="RUBRIC-CANARY", model="m")
    folder = released()
    assert "RUBRIC-CANARY" not in text_of(folder)
    named = {"user": "user1", "query-id": "1"}
    remarks = json.loads((folder / "manifest.json").read_text())["remarks"]
    assert (remarks["rubric_left_out"], remarks["without_rubric"]) == ([named], [named])
    assert "Rubric left out: it may be written from" in (folder / "README.md").read_text()
    write_rubric(query, fake)
    assert evaluated.read(released()).queries[0].rubric == "Calm."


def test_answers_of_equal_text_are_on_one_side_and_all_come_in_again(
    bespoke, fake, released, tmp_path, ann
):
    query = ask(bespoke, ann)
    offer(query, *["Take a bus."] * 3, *["Take a train."] * 2, *["Take a ship."] * 2, "Walk.")
    judge_opened(bespoke, ann)
    write_rubric(query, fake)
    folder = released("parquet")
    assert check_release(folder) == []
    shots, tests = sides(folder)
    assert (len(shots), len(tests), set(shots) & set(tests)) == (5, 3, set())
    report = import_release(folder, "again")
    assert (report["scores"], report["votes"], report["left_out"]) == (32, 8, {})
    write(
        freeze.request_release(Study.objects.get(slug="again"), "bespoke", "parquet", None),
        tmp_path,
    )
    assert sides(tmp_path) == (shots, tests)


def test_a_shot_that_is_under_test_too_is_named_by_the_check(cast, bespoke, fake, released, capsys):
    ask(bespoke, cast.person("Ann"))
    judge_all(bespoke, fake, [cast.person("Ann")])
    folder = released()
    assert check_release(folder) == []
    path = folder / "meta_test/meta_test_set.jsonl"
    shot = lines(folder, SHOTS)[0]["evaluation_shot_value"]
    row = json.loads(path.read_text())
    value = json.loads(row["meta_test_set_value"])
    value["response_list"][0]["contents"] = json.loads(shot)["response_list"][0]["contents"]
    path.write_text(json.dumps(row | {"meta_test_set_value": json.dumps(value)}) + "\n")
    name = "meta_test/meta_test_set.jsonl"
    reason = "row 1 (user1, query 1) tests 1 text of its shots"
    assert {"path": name, "reason": reason} in check_release(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"] = [
        describe(folder, name, 1) if entry["path"] == name else entry for entry in manifest["files"]
    ]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    check.sign(folder, "release 1 of another")
    with pytest.raises(CommandError, match=r"^1 fault: meta_test/meta_test_set\.jsonl row 1"):
        call_command("check_release", folder, "--json")
    assert json.loads(capsys.readouterr().out) == {
        "ok": False, "files": [{"path": name, "reason": reason}],
    }  # fmt: skip
    # No score is lost where an older release is taken over.
    assert import_release(folder, "again")["scores"] == 32
