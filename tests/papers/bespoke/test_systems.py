"""`judge --responses`, *Score a system*, the API: a system's answers, judged as people would."""

import csv
import io

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError
from django.urls import reverse

from annotation.core.errors import DomainError
from annotation.datasets import folders
from annotation.evaluation import runs, systems, tasks
from annotation.evaluation.models import Reply, Run
from annotation.papers.bespoke import judge as bespoke
from tests.api.caller import Caller
from tests.commands import run
from tests.evaluation.conftest import write_manifest
from tests.papers.bespoke.test_judge import judge, lines_of, write
from tests.scripted_endpoint import NO_CREDIT, prompt_of

pytestmark = pytest.mark.django_db
# How the scripted judge scores what the system wrote; it finds "slow" alone in the calm answer.
SCORES = {"calm": (5, 4, 3, 2), "fast": (1, 2, 3, 4), "Response": (3, 3, 3, 3)}
CALM, FAST = ["user1", "1", "A calm train."], ["user2", "2", "A fast train."]
SHOT = "Response shot tells of trains."


def verdict(request, number):
    text = prompt_of(request)
    answer = text.rpartition("Response to judge:\n")[2].partition("Response:\n")[2]
    answer = answer or text.rpartition("Response to judge:\n")[2]
    name = next(n for n in SCORES if n in answer)
    if "Claim:\n" in text:
        return "yes" if name == "calm" and "slow" in answer else "no"
    return lines_of(SCORES[name])


def file_of(folder, answers, ending="jsonl"):
    path = folder / f"mine.{ending}"
    if ending == "csv":
        with path.open("w", newline="") as stream:
            csv.writer(stream).writerows([systems.COLUMNS, *answers])
    else:
        path.write_text(systems.as_text(answers))
    return path


def score(folder, file, *more):
    return judge(folder, "--responses", file, *more)


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_a_systems_answers_have_the_papers_row_worked_by_hand(tmp_path, release, server, ending):
    server.answer = verdict
    file = file_of(tmp_path, [CALM, FAST], ending)
    result = score(release, file, "--context", "the profile")
    assert (result["system"], result["context"], result["n"], result["persons"]) == (
        "mine", "the profile", 2, 2,
    )  # fmt: skip
    # The mean of 5 and 1, of 4 and 2, of 3 and 3, of 2 and 4, times 20.
    assert result["criteria"] == dict.fromkeys(bespoke.CRITERIA, 60)
    # One of three claims, and none where the query has no claims.
    assert result["recall"] == pytest.approx(100 / 6)
    assert result["average"] == pytest.approx((4 * 60 + 100 / 6) / 5)
    # Two persons: the worst and the best resample are one person twice.
    assert result["intervals"]["Need Alignment"] == [20, 100]
    assert result["intervals"]["Tone"] == [60, 60]
    assert result["left_out"] == {"answers": 0, "queries": 0, "examples": 0}
    assert (result["without_claims"], server.calls) == (1, 2 + 3)


def test_people_scored_the_releases_answers_to_the_same_queries(tmp_path, release, server):
    server.answer = verdict
    result = score(release, file_of(tmp_path, [CALM]))
    # user1 gave r1 5, 4, 3, 2 and r2 1, 2, 3, 4; nobody asked people about claims.
    assert result["people"] == {
        "n": 2, "persons": 1, "criteria": dict.fromkeys(bespoke.CRITERIA, 60), "recall": None,
        "average": None, "intervals": {},
    }  # fmt: skip
    assert (result["left_out"]["queries"], result["intervals"]) == (1, {})


def test_a_judge_sees_the_persons_shots_and_rubric_with_the_systems_answer(
    tmp_path, release, server
):
    server.answer = verdict
    score(release, file_of(tmp_path, [CALM]))
    (asked,) = [t for t in map(prompt_of, server.requests) if "Response to judge" in t]
    assert "RUBRIC: calm first." in asked
    assert "SHOT-FEEDBACK" in asked
    assert asked.endswith("Response to judge:\nA calm train.")


def test_an_answer_is_to_a_query_by_its_text_too_and_strangers_are_counted(
    tmp_path, release, server
):
    server.answer = verdict
    by_text = ["user1", "Which  train, 1?", "A calm train."]
    strangers = [["user1", "2", "x"], ["user9", "1", "x"]]
    result = score(release, file_of(tmp_path, [by_text, *strangers]))
    assert result["n"] == 1
    assert result["left_out"] == {"answers": 2, "queries": 1, "examples": 0}


def test_an_answer_that_the_judge_is_shown_with_its_scores_is_left_out(tmp_path, release, server):
    server.answer = verdict
    file = file_of(tmp_path, [["user1", "1", SHOT], FAST])
    result = score(release, file)
    assert (result["n"], result["left_out"]["examples"], result["people"]["n"]) == (1, 1, 2)
    # Without shots it has seen none.
    result = score(release, file, "--shots", "rubric")
    assert (result["n"], result["left_out"]["examples"]) == (2, 0)
    with pytest.raises(CommandError, match="Every answer is an example"):
        score(release, file_of(tmp_path, [["user1", "1", SHOT]]))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "file is empty"),
        ("user,query\nu,1\n", "there is no column text"),
        ('{"user": "user1", "query": "1"}', "line 1: “text” is no text or empty"),
        ('{"user": "user1", "query": 1, "text": ["x"]}', "line 1: “text” is no text or empty"),
        ('{"user": "user1", "query": 1, "text": " "}', "line 1: “text” is no text or empty"),
        ("{", "line 1"),
        (systems.as_text([CALM, CALM]), "answers query 1 of user1 twice"),
        (systems.as_text([["x", "1", "x"]]), "No answer is to a query of the release"),
    ],
)
def test_a_file_that_is_none_is_refused_and_nothing_is_stored(
    tmp_path, release, server, content, words
):
    (tmp_path / "mine.txt").write_text(content)
    with pytest.raises(CommandError, match=words):
        score(release, tmp_path / "mine.txt")
    assert (Run.objects.count(), server.calls) == (0, 0)


def test_a_run_goes_on_with_the_same_answers_only(tmp_path, release, server):
    server.answer = lambda request, n: NO_CREDIT if n > 2 else verdict(request, n)
    file = file_of(tmp_path, [CALM, FAST])
    with pytest.raises(CommandError, match="no credit"):
        score(release, file)
    stored, before = Reply.objects.count(), server.calls
    server.answer = verdict
    again = ["--resume", str(Run.objects.get().public_id)]
    with pytest.raises(CommandError, match="about other answers"):
        score(release, file_of(tmp_path, [CALM]), *again)
    with pytest.raises(CommandError, match="has system mine, not ours"):
        score(release, file_of(tmp_path, [CALM, FAST]), *again, "--system", "ours")
    assert score(release, file, *again)["n"] == 2
    assert server.calls - before == 5 - stored


def test_systems_stand_beside_people_and_only_like_is_compared(tmp_path, release, server):
    server.answer = verdict
    score(release, file_of(tmp_path, [CALM, FAST]), "--system", "a", "--context", "none")
    score(release, file_of(tmp_path, [["user1", "1", "A calm, slow train."], FAST]),
          "--system", "b")  # fmt: skip
    # The best of all, on one query: it is never bold beside those on two.
    score(release, file_of(tmp_path, [CALM]), "--system", "few")
    judge(release)

    def table(form):
        asked = ("--release", str(release), "--table", "systems", "--format", form)
        return run("leaderboard", *asked)

    rows = list(csv.DictReader(io.StringIO(table("csv"))))
    assert [(row["name"], row["answers"].split(", ")[0], row["n"]) for row in rows] == [
        ("b", "2 of 2 queries", "2"),
        ("a, none", "2 of 2 queries", "2"),
        ("few", "1 of 2 queries", "1"),
        ("their own scores", "4 responses of the release", "4"),
        ("their own scores", "2 responses of the release", "2"),
        ("shots: feedback", "4 responses of the release", "4"),
    ]
    assert rows[0]["answers"] == "2 of 2 queries, scripted-1, shots: feedback"
    assert (rows[1]["Need"], rows[1]["Need low"], rows[1]["Need high"]) == ("60.0", "20.0", "100.0")
    assert (rows[2]["Need"], rows[2]["Need low"]) == ("100.0", "")
    assert rows[3]["Content"] == "55.0"
    assert (rows[3]["Recall"], rows[3]["Avg"]) == ("", "")
    assert rows[5]["Need"] == "60.0"
    latex = table("latex")
    main, *others = latex.split("\\midrule")[1:]
    assert "b & 2 & 2 & \\textbf{60.00} {\\scriptsize [20.00, 100.00]}" in main
    assert not any("\\textbf" in other for other in others)


def test_a_curator_scores_a_system_on_the_releases_page(cast, published, server, login):
    server.answer = verdict
    browser = login(cast.person("Carol"))
    address, back = (reverse(name, args=["tea", 1]) for name in ("models-system", "models"))
    assert address in browser.get(back).text
    wanted = {"endpoint": "scripted", "setting": "feedback", "system": "<b>mine</b>"}
    assert "Choose a file of answers" in browser.post(address, wanted).text
    broken = SimpleUploadedFile("a.csv", b"user,query\nu,1\n")
    assert "there is no column text" in browser.post(address, wanted | {"file": broken}).text
    sent = SimpleUploadedFile("a.jsonl", systems.as_text([CALM, FAST]).encode())
    shown = browser.post(address, wanted | {"file": sent}).text
    assert "5 calls" in shown
    assert (Run.objects.count(), server.calls) == (0, 0)
    confirmed = wanted | {"confirmed": "1", "answers": systems.as_text([CALM, FAST])}
    assert browser.post(address, confirmed).status_code == 302
    run = Run.objects.get()
    assert (run.kind, run.system, run.answers) == ("system", "<b>mine</b>", [CALM, FAST])
    assert "&lt;b&gt;mine&lt;/b&gt;" in browser.get(back).text
    tasks.work(run.pk)
    text = browser.get(back).text
    assert "[20.00, 100.00]" in text
    assert "their own scores" in text


def test_who_may_not_start_a_run_sees_no_page_to_score_a_system(cast, published, tea, login):
    address = reverse("models-system", args=["tea", 1])
    cast.members(tea, {"Ann": "annotator"})
    assert login(cast.person("Ann")).get(address).status_code in (403, 404)


def test_the_api_scores_a_system(cast, published, server, client):
    server.answer = verdict
    carol, body = Caller(client, cast.person("Carol")), {"endpoint": "scripted"}

    def post(**more):
        wanted = body | {"setting": "rubric"} | more
        return carol("POST", f"releases/{published.public_id}/evaluations/", wanted)

    answers = [dict(zip(systems.COLUMNS, answer, strict=True)) for answer in (CALM, FAST)]
    assert post(system="mine").status_code == 400
    assert post(answers=answers).status_code == 400
    assert post(system="mine", answers=answers * 2).status_code == 400
    assert Run.objects.count() == 0
    assert post(system="mine", answers=answers).json()["system"] == "mine"
    run = Run.objects.get()
    tasks.work(run.pk)
    run.refresh_from_db()
    assert (run.status, run.result["criteria"]["Tone"]) == ("done", 60)


def writes(request, number):
    """A writer that answers calmly who is known to be calm, and the judge."""
    text = prompt_of(request)
    if "Response to judge" in text or "Claim:\n" in text:
        return verdict(request, number)
    if "Describe the person" in text or "what bears on their" in text:
        return "They like it calm."
    return "A calm, slow train." if "calm" in text else "A fast train."


@pytest.fixture
def with_history(release, published):
    """Two chats and a search of the first person; the second has none."""
    for folder in (release, folders.folder_of(published)):
        chats = [{"user": "user1", "id": str(n), "history": text} for n, text in
                 enumerate(("Chat of a calm river.", "Chat of bread."))]  # fmt: skip
        write(folder, "chat_history", chats, "jsonl")
        write(folder, "search_history", [
            {"user": "user1", "id": "s", "history": "Search of boats."}], "jsonl")  # fmt: skip
    return release


@pytest.mark.parametrize(
    ("arm", "calls", "need", "shown"),
    [
        ("none", 2, (1, 1), ""),
        ("history", 2, (5, 1), "Chat of a calm river.\n\n---\n\nChat of bread."),
        ("search", 2, (1, 1), "Search of boats."),
        ("profile", 4, (5, 5), "Chat of bread."),
        ("aware-nearest", 4, (5, 5), "Chat of bread."),
        ("oracle", 2, (5, 5), "A calm one, user1."),
    ],
)
def test_an_endpoint_writes_the_answers_from_the_release_alone(
    with_history, server, arm, calls, need, shown
):
    server.answer = writes
    result = judge(with_history, "--generate", arm)
    assert (result["system"], result["context"], result["n"]) == ("scripted-1", arm, 2)
    assert result["criteria"]["Need Alignment"] == 20 * sum(need) / 2
    asked = [text for text in map(prompt_of, server.requests) if "Response to judge" not in text
             and "Claim:\n" not in text]  # fmt: skip
    assert len(asked) == calls
    assert any(shown in text for text in asked)
    if arm != "oracle":
        assert not any("A calm one" in text for text in asked)
    # A judgment of each answer, and the three claims of one query.
    assert result["calls"] == calls + 2 + 3
    assert result["people"]["criteria"]["Content Depth"] == 55


def test_a_query_whose_answer_does_not_come_is_counted(with_history, server):
    def silent(request, number):
        text = prompt_of(request)
        if "Which train, 1?" in text and "to judge" not in text and "Claim" not in text:
            return "<think>Hm.</think>"
        return writes(request, number)

    server.answer = silent
    result = judge(with_history, "--generate", "none")
    assert (result["n"], result["left_out"]["queries"]) == (1, 1)
    with pytest.raises(CommandError, match="written from one of: none, history"):
        judge(with_history, "--generate", "persona")


@pytest.mark.parametrize("by", ["page", "api"])
def test_workers_have_the_answers_written_for_who_asks_on_the_page_or_by_api(
    cast, published, with_history, server, client, login, by
):
    folder = folders.folder_of(published)
    (folder / "manifest.json").unlink()
    write_manifest(folder, published)
    server.answer = writes
    wanted = {"endpoint": "scripted", "setting": "rubric", "generate": "profile"}
    if by == "page":
        browser, address = login(cast.person("Carol")), reverse("models-system", args=["tea", 1])
        # Two profiles, two answers, two judgments and three claims.
        assert "9 calls" in browser.post(address, wanted).text
        assert browser.post(address, wanted | {"confirmed": "1"}).status_code == 302
    else:
        carol = Caller(client, cast.person("Carol"))
        address = f"releases/{published.public_id}/evaluations/"
        both = wanted | {"answers": [dict(zip(systems.COLUMNS, CALM, strict=True))]}
        assert carol("POST", address, both).status_code == 400
        assert carol("POST", address, wanted).json()["context"] == "profile"
    run = Run.objects.get()
    assert (run.writer, run.system, run.calls) == ("scripted", "scripted-1", 9)
    tasks.work(run.pk)
    run.refresh_from_db()
    assert (run.status, run.result["criteria"]["Need Alignment"]) == ("done", 100)


def test_a_release_of_pairs_scores_no_system(published, server):
    published.layout = "personafeedback"
    asked = systems.Measurement("scripted", "persona", system="mine")
    with pytest.raises(DomainError):
        runs.of_release(published, asked, [CALM])
