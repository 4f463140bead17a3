"""Every command line of the documentation, as it is written there.

A line is taken from the fenced blocks, its files are made, and the command runs. Lines that need a
model server or the embedded services are read by the command's own parser instead; RUN_ELSEWHERE
names the tests that run these commands.
"""

import io
import json
import re
import shlex
from argparse import ArgumentError
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands, load_command_class

from annotation.judging.imports import bundles
from annotation.judging.models import Item
from annotation.personas import curate
from tests import everykind
from tests.datasets.conftest import _data, vote  # noqa: F401 - fixtures

REPOSITORY = Path(__file__).parents[2]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.S | re.M)
RUN_ELSEWHERE = {
    "backup": "tests/local",
    "restore": "tests/local",
    "evaluate": "tests/evaluation",
    "judge": "tests/evaluation",
    "train": "tests/evaluation",
    "generate": "tests/candidates/test_command.py",
    "propose": "tests/candidates/test_proposals.py",
    "leaderboard": "tests/evaluation",
    "interventions": "tests/evaluation",
    "judge_items": "tests/evaluation/test_raters.py",
    "conversations": "tests/personalbench/test_conversations.py",
    "make_attributes": "tests/personalbench/test_extraction.py",
    "request_answers": "tests/judging/test_personalised.py",
}


def lines() -> list[list[str]]:
    """The words of each line that begins with ./attune, after that; a page and line once."""
    seen = {}
    for page in PAGES:
        for block in BLOCK.findall(page.read_text("utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line.partition(" > ")[0], comments=True)
                if words[:1] == ["./attune"]:
                    seen[" ".join(words[1:])] = words[1:]
    return list(seen.values())


def test_no_command_of_the_documentation_needs_an_activated_environment():
    for page in PAGES:
        assert not re.search(r"^\s*python manage\.py", page.read_text("utf-8"), re.M), page


@pytest.mark.parametrize("words", lines(), ids=" ".join)
def test_a_documented_line_is_one_that_the_command_takes(words):
    name, *arguments = words
    command = load_command_class(get_commands()[name], name)
    parser = command.create_parser("attune", name)
    parser.exit_on_error = False
    try:
        refusal, taken = None, vars(parser.parse_args(arguments))
    except (ArgumentError, SystemExit) as error:
        refusal, taken = error, {}
    assert refusal is None
    assert "verbosity" in taken


# --- The world in which they run --------------------------------------------------------------


@pytest.fixture
def world(cast, tea, vote, _data, tmp_path, monkeypatch, settings):  # noqa: F811
    """The study of the documentation: votes of every kind, and the folder in which one types."""
    folder = everykind.write(tmp_path / "bundle", "tea")
    for file in folder.iterdir():
        # The documentation's task of scores is called so.
        file.write_text(file.read_text("utf-8").replace('"feel"', '"score"'), "utf-8")
    bundles.import_study(folder)
    judges = [cast.member(f"Judge{n}", tea, "annotator") for n in range(3)]
    everykind.judge(tea, judges)
    raters = [cast.member(f"Rater{n}", tea, "annotator") for n in range(9)]
    for name, options in (("best", 3), ("pairs", 2)):
        for item in cast.open(tea, items=2, options=options, name=name).items.all():
            vote(item, "1" * 8 + "2", people=raters)
    monkeypatch.chdir(tmp_path)
    return tea


# Commands that read the folders of releases which they name.
READ = ("import_release", "check_release", "review_release", "diff_releases", "push_release")


def votes(world, words):
    item = Item.objects.filter(batch__task__name="best").first()
    if "--options" in words or "--level" in words:
        rows = [f"t{n},w{w},{1 + (n + w) % 2}" for n in range(3) for w in range(9)]
    else:
        rows = [f"{item.external_id},w1,tie"]
    return "task,worker,label\n" + "\n".join(rows) + "\n"


def scores(world, words):
    return "candidate,aspect,score\nc-own,helpfulness,1.5\n"


def verdicts(world, words):
    return json.dumps({"task": "i-a1", "model": "m", "label": "accepted"}) + "\n"


def chats(world, words):
    turns = [{"role": "user", "content": "Hi", "hashed_ip": "1f"}]
    return json.dumps({"conversation_hash": "a", "conversation": turns}) + "\n"


def battles(world, words):
    sides = {
        f"conversation_{side}": [
            {"role": "user", "content": "Which tea?"},
            {"role": "assistant", "content": f"Tea {side}."},
        ]
        for side in "ab"
    }
    row = {"question_id": "q1", "model_a": "m1", "model_b": "m2", "winner": "model_a"}
    return json.dumps(row | {"judge": "j1"} | sides) + "\n"


def documents(world, words):
    return json.dumps({"id": "d1", "title": "Tea", "text": "Tea keeps."}) + "\n"


def history(world, words):
    return (REPOSITORY / "demo" / "own" / "history.json").read_text("utf-8")


def pdf() -> bytes:
    """A file of one page that says "Tea keeps."."""
    words = b"BT /F 12 Tf 20 100 Td (Tea keeps.) Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R"
        b"/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(words), words),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 6\n0000000000 65535 f \n"
    tail = b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % len(data)
    return data + head + table + tail


TEXTS = {
    "votes.csv": votes,
    "scores.csv": scores,
    "verdicts.jsonl": verdicts,
    "battles.jsonl": battles,
    "wildchat.jsonl": chats,
    "pages.jsonl": documents,
    "export.zip": history,
}


def prepare(world, words) -> None:
    """Make the files and folders that the line names and does not write itself."""
    for word in words:
        if word in TEXTS:
            Path(word).write_text(TEXTS[word](world, words), "utf-8")
        if word == "book.pdf":
            Path(word).write_bytes(pdf())
    if words[0] == "split_personas":
        curate.save_all(
            world, [{"id": f"of-{n}", "profile": {"Name": f"Person {n}"}} for n in range(200)]
        )
    folders = [word for word in words[1:] if word in ("release/", "again/")]
    if words[0] in READ or "--again" in words:
        for folder in folders if words[0] in READ else ["release/"]:
            call_command(
                "release", "tea", "--layout", "long", "--out", folder, stdout=io.StringIO()
            )


@pytest.mark.django_db
@pytest.mark.parametrize("words", [w for w in lines() if w[0] not in RUN_ELSEWHERE], ids=" ".join)
def test_a_documented_line_runs(world, words):
    prepare(world, words)
    call_command(*words, stdout=io.StringIO(), stderr=io.StringIO())
