"""`judge`: a model as judge of BESPOKE responses, against what the persons said."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError
from django.urls import reverse
from django.utils import timezone

from annotation.core.errors import DomainError
from annotation.datasets import folders
from annotation.datasets.models import Release
from annotation.evaluation import runs, tables, tasks
from annotation.evaluation.models import Reply, Run
from annotation.evaluation.systems import Measurement
from annotation.papers.bespoke import judge as bespoke
from tests.api.caller import Caller
from tests.evaluation.conftest import printed
from tests.scripted_endpoint import prompt_of

pytestmark = pytest.mark.django_db
SCORES = {"r1": (5, 4, 3, 2), "r2": (1, 2, 3, 4), "r3": (4, 4, 5, 5), "r4": (2, 1, 1, 2)}


def entry(name, scores, feedback="Because it is calm."):
    return {"contents": f"Response {name} tells of trains."} | {
        key: {"score": score, "feedback": feedback}
        for key, score in zip(bespoke.KEYS, scores, strict=True)
    }


def write(folder, name, rows, form):
    (folder / name).mkdir(parents=True, exist_ok=True)
    file = {"meta_test": "meta_test_set"}.get(name, name)
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), folder / name / f"{file}.parquet")
    else:
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / name / f"{file}.jsonl").write_text(lines)


def judged(user, query, responses):
    return {
        "query": f"Which train, {query}?",
        "gold_information_need": f"A calm one, {user}.",
        "response_list": responses,
    }


def make(folder, form="parquet"):
    """Two persons with a query each: two responses to test and one shot; the first has claims."""
    tests, shots = [], []
    for user, query, names in (("user1", "1", ("r1", "r2")), ("user2", "2", ("r3", "r4"))):
        row = {"user": user, "query-id": query}
        for number, name in enumerate(names):  # two rows of one query are merged
            value = json.dumps(judged(user, query, [entry(name, SCORES[name])]))
            tests.append(row | {"id": f"{query}-{number}", "meta_test_set_value": value})
        shot = json.dumps(judged(user, query, [entry("shot", (3, 3, 3, 3), "SHOT-FEEDBACK")]))
        shots.append(row | {"id": f"s{query}", "evaluation_shot_value": shot})
    key = {"user": "user1", "query-id": "1", "id": "g"}
    write(folder, "meta_test", tests, form)
    write(folder, "evaluation_shot", shots, form)
    gold = json.dumps({"gold_information": ["It is calm.", "It is slow.", "It is red."]})
    write(folder, "gold_information", [key | {"gold_information_value": gold}], form)
    write(
        folder,
        "personalized_rubric",
        [key | {"personalized_rubric_value": "RUBRIC: calm first."}],
        form,
    )
    return folder


def lines_of(scores):
    rows = zip(bespoke.CRITERIA, scores, strict=True)
    return "THINK\nTone Score: 1 at first sight.\n" + "\n".join(
        f"{name} Score: {score}\n{name} Feedback: So." for name, score in rows
    )


def perfect(request, number):
    """Scores as the person; of the claims it finds "calm" and "slow", of r1 alone."""
    text = prompt_of(request)
    if "\nSecond: " in text:
        # Of Tone it says otherwise than the persons.
        return "\n".join(
            f"{name}: {'no' if name == 'Tone' else 'yes'}" for name in bespoke.CRITERIA
        )
    name = next(n for n in SCORES if f"Response {n} tells" in text)
    if "Claim:\n" in text:
        return "So:\nyes" if name == "r1" and "red" not in text else "no"
    return lines_of(SCORES[name])


def judge(folder, *more):
    return printed("judge", "--release", folder, "--endpoint", "scripted", *more)


def row_of(study):
    """The row of release 1 of the study, of judged answers."""
    return Release.objects.create(
        study=study, version=1, layout="bespoke", format="parquet", salt="0" * 64,
        as_of=timezone.now(), frozen={"about": {"slug": study.slug}}, status="done",
    )  # fmt: skip


def test_a_curator_sees_what_a_judge_costs_and_workers_ask_it(cast, published, server, login):
    server.answer = perfect
    address, browser = reverse("models", args=["tea", 1]), login(cast.person("Carol"))
    assert "No model has judged these answers yet" in browser.get(address).text
    wanted = {"endpoint": "scripted", "setting": "feedback"}
    # Four judgments, three claims of each answer to the one query that has some, and feedback.
    assert "14 calls" in browser.post(address, wanted).text
    assert (Run.objects.count(), server.calls) == (0, 0)
    assert browser.post(address, wanted | {"confirmed": "1"}).status_code == 302
    run = Run.objects.get()
    assert (run.kind, run.prompt, run.calls) == ("judge", bespoke.VERSION, 14)
    tasks.work(run.pk)
    run.refresh_from_db()
    assert (run.status, server.calls) == ("done", 14)
    assert run.result["agreement"]["pearson"]["value"] == pytest.approx(1)
    text = browser.get(address).text
    assert "shots: feedback" in text
    # Need Alignment: 5, 1, 4 and 2, times 20.
    assert ">60.00 <" in text
    export = reverse("models-export", args=["tea", 1, "judges", "csv"])
    assert "Pearson" in browser.get(export).text


def test_the_api_asks_a_judge_and_refuses_another_setting(cast, published, server, client):
    server.answer = perfect
    carol, body = Caller(client, cast.person("Carol")), {"endpoint": "scripted", "limit": 1}
    address = f"releases/{published.public_id}/evaluations/"
    refused = carol("POST", address, body | {"setting": "persona"})
    assert refused.status_code == 400
    assert "one of: feedback, scores, rubric, none" in refused.json()["detail"]
    assert carol("POST", address, body | {"setting": "scores"}).status_code == 202
    run = Run.objects.get()
    tasks.work(run.pk)
    run.refresh_from_db()
    assert (run.status, run.kind, run.setting, run.result["n"]) == ("done", "judge", "scores", 1)


def test_a_judge_is_not_asked_about_a_file_that_has_changed(cast, published, server):
    folder = folders.folder_of(published)
    with (folder / "meta_test/meta_test_set.parquet").open("ab") as file:
        file.write(b"more")
    with pytest.raises(DomainError, match=r"meta_test/meta_test_set\.parquet"):
        runs.of_release(published, Measurement("scripted", "none"))
    assert server.calls == 0


def test_the_row_of_the_paper_is_the_plain_mean_of_five():
    row = bespoke.row(dict(zip(bespoke.CRITERIA, (59.07, 63.73, 85.20, 73.87), strict=True)), 30.53)
    assert round(row["average"], 2) == 62.48


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_judge_that_agrees_has_the_persons_own_means(tmp_path, server, form):
    server.answer = perfect
    result = judge(make(tmp_path / form, form))
    assert result["criteria"] == {
        "Need Alignment": 60, "Content Depth": 55, "Tone": 60, "Explanation Style": 65,
    }  # fmt: skip
    # r1 holds two of three claims, r2 none; user2's query has no claims.
    assert result["recall"] == pytest.approx(100 * (2 / 3) / 4)
    assert result["average"] == pytest.approx((60 + 55 + 60 + 65 + 50 / 3) / 5)
    agreement = result["agreement"]
    assert (agreement["n"], agreement["persons"]) == (16, 2)
    for name in ("pearson", "spearman"):
        assert (agreement[name]["value"], agreement[name]["low"]) == pytest.approx((1, 1))
    assert (server.calls, result["missing_scores"], result["unparsed_claims"]) == (14, 0, 0)
    assert result["feedback"] == {"value": 75, "low": 75, "high": 75, "n": 16, "unparsed": 0}


@pytest.mark.parametrize(
    ("arm", "shown", "feedback", "rubric"),
    [("feedback", 1, 1, 1), ("scores", 1, 0, 1), ("rubric", 0, 0, 1), ("none", 0, 0, 0)],
)
def test_each_arm_shows_its_shots_and_rubric_of_the_same_query_only(
    release, server, arm, shown, feedback, rubric
):
    server.answer = perfect
    judge(release, "--shots", arm)
    asked = [text for text in map(prompt_of, server.requests) if "Response to judge" in text]
    assert {text.count("Response shot tells") for text in asked} == {shown}
    assert {"SHOT-FEEDBACK" in text for text in asked} == {bool(feedback)}
    of_one = [text for text in asked if "Response r1" in text or "Response r2" in text]
    assert all("user2" not in text for text in of_one)
    assert ["RUBRIC" in text for text in of_one] == [bool(rubric)] * 2
    assert len(of_one) == 2


def test_a_score_that_is_missing_is_asked_for_three_times_and_stays_null(release, server):
    def forgets_tone(request, number):
        text = perfect(request, number)
        return text if "Tone Feedback" not in text else text.rpartition("\nTone Score")[0]

    server.answer = forgets_tone
    result = judge(release)
    # What stood after the cut is missing, too; the score in the thought is none.
    assert [result["criteria"][name] for name in bespoke.CRITERIA] == [60, 55, None, None]
    assert (result["average"], result["missing_scores"]) == (None, 8)
    assert result["agreement"]["n"] == 8
    # What was never judged as a whole has no feedback to compare.
    assert (server.calls, result["feedback"]["n"]) == (4 * 3 + 6, 0)
    assert Reply.objects.filter(unit__endswith="judge", value__isnull=True).count() == 4


def test_a_claim_without_yes_or_no_is_not_matched_and_counted(release, server):
    server.answer = lambda request, n: (
        "Perhaps." if "Claim:" in (text := prompt_of(request)) or "Second:" in text
        else perfect(request, n)
    )  # fmt: skip
    result = judge(release)
    assert (result["recall"], result["unparsed_claims"]) == (0, 6)
    # Nor is a comparison that names no criterion, after three tries.
    feedback = result["feedback"]
    assert (feedback["value"], feedback["unparsed"], server.calls) == (None, 4, 10 + 4 * 3)


def test_one_person_has_no_interval():
    query = bespoke.Query("user1", "1")
    response = bespoke.Response("a", dict(zip(bespoke.KEYS, (1, 2, 3, 4), strict=True)), {})
    values = bespoke.agreement([(query, response)], [dict(response.scores)])
    pearson = values["pearson"]
    assert (pearson["value"], pearson["low"]) == (pytest.approx(1), None)
    assert pearson["reason"] == "one person has no interval"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"user": "u", "query-id": "1"}, "'meta_test_set_value' is missing"),
        ({"user": "u", "query-id": "1", "meta_test_set_value": "[]"}, "row 1: the value"),
        ({"user": "u", "query-id": "1", "meta_test_set_value": "{"}, "row 1: the value"),
    ],
)
def test_a_release_that_is_none_is_named_with_its_row(tmp_path, server, row, words):
    write(tmp_path, "meta_test", [row], "jsonl")
    with pytest.raises(CommandError, match=words):
        judge(tmp_path)
    with pytest.raises(CommandError, match="no meta_test"):
        judge(tmp_path / "nowhere")


def test_judges_of_other_responses_stand_apart():
    def result(model, n, value):
        criteria = dict.fromkeys(bespoke.CRITERIA, value)
        figures = {"criteria": criteria, "recall": value, "average": value, "n": n}
        agreement = {name: {"value": value / 100} for name in ("pearson", "spearman")}
        return figures | {"model": model, "setting": "none", "agreement": agreement}

    results = [result("few", 5, 99.0), result("a", 40, 60.0), result("b", 40, 70.0)]
    table = bespoke.table(results)
    lines = tables.as_csv(table).splitlines()
    assert lines[0] == (
        "group,name,responses,n,Need,Content,Tone,Style,Recall,Avg,Pearson,Spearman,Feedback"
    )
    assert [line.split(",")[1:4] for line in lines[1:]] == [
        ["a", "40", "40"], ["b", "40", "40"], ["few", "5", "5"],
    ]  # fmt: skip
    main, others = tables.as_latex(table).split("On other responses: 5")
    assert "b & 40 & \\textbf{70.00}" in main
    assert "\\textbf" not in others


def test_a_run_of_a_judge_that_is_no_longer_installed_stops_with_a_sentence(tea):
    benchmark = runs.register(bespoke.Judged([], "d", "", layout="gone"), tea.slug)
    run = Run.objects.create(benchmark=benchmark, kind="judge", setting="none", background=True)
    sentence = "No judge is installed for the layout gone."
    with pytest.raises(DomainError, match=sentence):
        runs.carry_on(run.pk, 1)
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.Status.FAILED, sentence)
