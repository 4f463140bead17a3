"""`judge` on a release of the three stages: a system beside people, with values worked by hand."""

import csv
import io

import pytest
from django.core.management import CommandError
from django.urls import reverse

from annotation.datasets import folders
from annotation.evaluation import runs, tasks
from annotation.evaluation.models import Run
from annotation.papers.personalbench import judge as stages
from tests.commands import run
from tests.evaluation.conftest import server, write_lines, write_manifest  # noqa: F401 - a fixture
from tests.papers.bespoke.test_judge import judge, row_of
from tests.scripted_endpoint import prompt_of

pytestmark = pytest.mark.django_db
TEA, RAIN, CHESS = "The user drinks green tea.", "The user fears rain.", "The user plays chess."


def votes(key, *labels):
    return [{"worker": f"w{n}", key: label} for n, label in enumerate(labels)]


def make(folder):
    """Two persons: u1 (human chats) with two judged attributes, u2 (synthetic ones) with one."""
    write_lines(folder / "attributes.jsonl", [
        {"attribute_id": "a1", "user": "u1", "text": TEA, "label": "accepted"},
        {"attribute_id": "a2", "user": "u1", "text": RAIN, "label": "problematic"},
        {"attribute_id": "a3", "user": "u2", "text": CHESS, "label": "accepted"},
    ])  # fmt: skip
    write_lines(folder / "conversations.jsonl", [
        {"attribute_id": name, "user": user, "number": 1, "source": source,
         "messages": [{"role": "user", "text": f"Chat of {user}."}]}
        for name, user, source in (("a1", "u1", "human"), ("a2", "u1", "human"),
                                   ("a3", "u2", "synthetic"))
    ])  # fmt: skip
    write_lines(folder / "relevance.jsonl", [
        {"attribute_id": "a1", "user": "u1", "attribute": TEA, "prompt": "[yes] What to drink?",
         "label": "yes", "votes": votes("vote", "yes", "yes", "yes")},
        {"attribute_id": "a1", "user": "u1", "attribute": TEA, "prompt": "[yes] What to wear?",
         "label": "no", "votes": votes("vote", "no", "no", "no")},
        {"attribute_id": "a3", "user": "u2", "attribute": CHESS, "prompt": "[no] Which game?",
         "label": "yes", "votes": votes("vote", "yes", "yes", "yes")},
    ])  # fmt: skip
    write_lines(folder / "responses.jsonl", [
        {"unit_id": f"r{n}", "user": user, "attribute": about, "prompt": prompt, "points": 5,
         "generic": "GENERIC drink", "personalised": answer, "mean": mean, "scenario": scenario,
         "ratings": votes("rating", *ratings)}
        for n, (user, about, prompt, answer, mean, ratings, scenario) in enumerate((
            ("u1", TEA, "What to drink?", "GREEN TEA drinks", 4.0, (4, 4, 4), "Diet Planning"),
            ("u1", TEA, "What now?", "A PLAIN walk", 2.0, (2, 2, 2), "emotionally sensitive"),
            ("u2", CHESS, "Which game?", "CHESS plays", 3.0, (3, 3, 3), ""),
        ))
    ])  # fmt: skip
    return folder


def answers(request, number):
    """A system that extracts tea and rain of u1 and nothing of u2; a judge that likes capitals."""
    text = prompt_of(request)
    if "extract lasting attributes" in text:
        return f"So:\n- {TEA}\n- {RAIN}\n- The user owns a kite." if "u1" in text else "Nothing."
    if "should change the response" in text:
        return "yes" if "[yes]" in text else "no"
    if "First response" not in text:
        return "Drink green tea." if "tea" in text else "A PLAIN answer."
    better = 1 if "GENERIC" in text.partition("Second response")[2] else 2
    likes = "tea" in text.rpartition("The prompt:")[2].lower()
    return f"Rating: {(1 if better == 1 else 5) if likes else 3}"


def test_a_system_has_its_three_stages_beside_people(tmp_path, server):  # noqa: F811
    server.answer = answers
    result = judge(make(tmp_path), "--generate", "attribute")
    # Extraction: three statements; two match an attribute each, one of them accepted; of the two
    # accepted attributes one is extracted.
    extraction = result["extraction"]
    assert (extraction["statements"], extraction["unanswered"]) == (3, 0)
    assert (extraction["accepted"]["n"], extraction["accepted"]["value"]) == (2, 50)
    assert (extraction["extracted"]["n"], extraction["extracted"]["value"]) == (2, 50)
    assert extraction["sources"]["human"]["value"] == 50
    assert extraction["sources"]["synthetic"]["n"] == 0
    people = result["people"]
    assert people["extraction"]["accepted"]["value"] == pytest.approx(200 / 3)
    assert [people["extraction"]["sources"][name]["value"] for name in stages.SOURCES] == [50, 100]
    # Relevance: it says yes, yes, no; people yes, no, yes: one hit, one false, one missed.
    relevance = result["relevance"]
    assert relevance["f1"]["system"]["value"] == pytest.approx(0.5)
    assert relevance["f1"]["people"]["value"] == 1
    assert relevance["selected"]["value"] == pytest.approx(200 / 3)
    assert relevance["people_selected"]["value"] == pytest.approx(200 / 3)
    # Responses: both of u1 name tea and are rated 5, the one of u2 is rated 3.
    response = result["response"]
    assert response["rating"]["value"] == pytest.approx(13 / 3)
    assert response["better"]["value"] == pytest.approx(200 / 3)
    assert response["mention"]["value"] == pytest.approx(200 / 3)
    assert result["scenarios"]["emotionally sensitive"]["rating"]["value"] == 5
    assert people["response"]["rating"]["value"] == 3
    assert people["response"]["better"]["value"] == pytest.approx(100 / 3)
    # Two extractions, three of relevance, three answers, two ratings of each.
    assert result["calls"] == 2 + 3 + 3 + 6


def test_without_the_attribute_the_prompt_alone_is_answered(tmp_path, server):  # noqa: F811
    server.answer = answers
    result = judge(make(tmp_path), "--generate", "none", "--shots", "none")
    assert (result["context"], result["response"]["rating"]["value"]) == ("none", 3)
    asked = [t for t in map(prompt_of, server.requests) if "First response" in t]
    assert not any("Known of the person" in text for text in asked)


def test_a_judge_is_compared_with_people_on_the_same_answers(tmp_path, server):  # noqa: F811
    def by_place(request, number):
        text = prompt_of(request)
        rating = 5 if "GREEN" in text else 1 if "PLAIN" in text else 3
        return f"Rating: {rating if text.index('GENERIC') < text.index('Second') else 6 - rating}"

    server.answer = by_place
    result = judge(make(tmp_path))
    assert result["agreement"]["system"]["value"] == pytest.approx(1)
    assert result["agreement"]["people"]["value"] == pytest.approx(1)
    assert result["response"]["rating"]["value"] == 3
    assert result["by_mention"]["yes"]["people"]["value"] == pytest.approx(3.5)
    assert result["by_mention"]["no"]["judge"]["value"] == 1
    server.answer = answers
    judge(tmp_path, "--generate", "attribute", "--limit", "1")
    for name, heads in (("judges", "Spearman"), ("systems", "Relevance F1")):
        table = run("leaderboard", "--release", str(tmp_path), "--table", name)
        rows = list(csv.DictReader(io.StringIO(table)))
        assert heads in rows[0]
        assert {"people"} < {row["group"] for row in rows}


def test_what_cannot_be_read_is_counted_and_has_no_rating(tmp_path, server):  # noqa: F811
    def mumbles(request, number):
        text = prompt_of(request)
        return "Perhaps." if "First response" in text or "should change" in text else "- A kite."

    server.answer = mumbles
    result = judge(make(tmp_path), "--generate", "attribute")
    assert (result["unparsed"], result["relevance"]["unparsed"]) == (3, 3)
    assert result["response"]["rating"] == {"n": 0, "value": None, "low": None, "high": None}
    assert result["relevance"]["f1"]["system"]["value"] == 0
    assert result["extraction"]["accepted"]["value"] is None
    asked = ("--release", str(tmp_path), "--endpoint", "scripted", "--generate", "none")
    assert "3 without a rating" in run("judge", *asked)


def test_a_folder_without_the_tables_or_another_arm_is_refused(tmp_path, server):  # noqa: F811
    with pytest.raises(CommandError, match="nothing to judge"):
        judge(tmp_path)
    make(tmp_path)
    with pytest.raises(CommandError, match="written from one of: attribute, none"):
        judge(tmp_path, "--generate", "history")
    with pytest.raises(CommandError, match="shown one of: attribute, none"):
        judge(tmp_path, "--shots", "feedback")
    write_lines(tmp_path / "conversations.jsonl", [{"user": "u1", "messages": [{"role": "x"}]}])
    with pytest.raises(CommandError, match="no list of role and text"):
        judge(tmp_path)


def test_workers_run_the_stages_and_the_page_shows_the_table(
    cast, tea, tmp_path, settings, server, login  # noqa: F811
):  # fmt: skip
    settings.DATA = tmp_path / "data"
    release = row_of(tea)
    release.layout = "personalbench"
    release.save()
    write_manifest(make(folders.folder_of(release)), release)
    server.answer = answers
    browser, page = login(cast.person("Carol")), reverse("models", args=["tea", 1])
    assert "extracts, selects and personalises" in browser.get(page).text
    wanted = {"endpoint": "scripted", "setting": "attribute", "generate": "attribute"}
    address = reverse("models-system", args=["tea", 1])
    assert "14 calls" in browser.post(address, wanted).text
    assert browser.post(address, wanted | {"confirmed": "1"}).status_code == 302
    tasks.work(Run.objects.get().pk)
    assert Run.objects.get().status == runs.DONE
    text = browser.get(page).text
    assert "their own judgments" in text
    assert "Relevance F1" in text
