"""Every command line of the documentation, as it is written there.

A line is taken from the fenced blocks, its files are made, and the command runs. Lines that need a
model server or the embedded services are read by the command's own parser instead; RUN_ELSEWHERE
names the tests that run these commands.
"""

import copy
import io
import json
import re
import shlex
import shutil
from argparse import ArgumentError
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands, load_command_class
from django.db import transaction
from django.test import override_settings

from annotation.candidates.models import AspectScore, Document
from annotation.datasets.models import Release
from annotation.evaluation.models import Verdict
from annotation.histories.models import Session
from annotation.judging.imports import bundles
from annotation.judging.models import Item, Judgment
from annotation.personas import curate
from annotation.studies.models import Membership, Study
from tests import everykind
from tests.conftest import Cast
from tests.core.hostile import pdf
from tests.datasets.conftest import _data, store_votes  # noqa: F401 - a fixture

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).parents[2]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.S | re.M)
RUN_ELSEWHERE = {
    "backup": "tests/local",
    "check_release release/ --online": "tests/datasets/test_withdrawals.py",
    "restore": "tests/local",
    "evaluate": "tests/evaluation",
    "judge": "tests/papers/bespoke/test_judge.py",
    "train": "tests/evaluation",
    "generate": "tests/candidates/test_writing.py",
    "propose": "tests/candidates/test_review.py",
    "leaderboard": "tests/evaluation",
    "interventions": "tests/papers/personalbench/test_others.py",
    "judge_items": "tests/evaluation/test_raters.py",
    "conversations": "tests/personas/test_conversations.py",
    "make_attributes": "tests/candidates/test_attributes.py",
}


def elsewhere(words: list[str]) -> bool:
    """Whether the command, or this line of it, is run by another test."""
    return words[0] in RUN_ELSEWHERE or " ".join(words) in RUN_ELSEWHERE


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


@pytest.fixture(scope="module")
def built(django_db_setup, django_db_blocker, tmp_path_factory):
    """The study of the documentation, with votes of every kind, made once for all lines."""
    folder = everykind.write(tmp_path_factory.mktemp("docs") / "bundle", "tea")
    for file in folder.iterdir():
        # The documentation's task of scores is called so.
        file.write_text(file.read_text("utf-8").replace('"feel"', '"score"'), "utf-8")
    data = override_settings(DATA=tmp_path_factory.mktemp("data"))
    with data, django_db_blocker.unblock(), transaction.atomic():
        cast = Cast()
        tea = cast.study("tea")
        for name, role in PEOPLE.items():
            cast.member(name, tea, role)
        bundles.import_study(folder)
        everykind.judge(tea, [cast.member(f"Judge{n}", tea, "annotator") for n in range(3)])
        raters = [cast.member(f"Rater{n}", tea, "annotator") for n in range(9)]
        for name, options in (("best", 3), ("pairs", 2)):
            for item in cast.open(tea, items=2, options=options, name=name).items.all():
                store_votes(item, "1" * 8 + "2", raters)
        yield tea, folder
        transaction.set_rollback(True)


PEOPLE = {"Carol": "curator", "Rui": "researcher", "Ann": "annotator", "Bo": "annotator"}


@pytest.fixture
def world(built, db, _data, tmp_path, monkeypatch):  # noqa: F811
    """The study, and the folder in which one types."""
    tea, folder = built
    shutil.copytree(folder, tmp_path / "bundle")
    monkeypatch.chdir(tmp_path)
    return copy.deepcopy(tea)


# Commands that read the folders of releases which they name.
READ = ("import_release", "check_release", "review_release", "diff_releases", "push_release")


def votes(world, words):
    item = Item.objects.filter(batch__task__name="best").first()
    if "--options" in words or "--level" in words:
        rows = [f"t{n},w{w},{1 + (n + w) % 2}" for n in range(3) for w in range(9)]
    else:
        item = Cast().open(world, name="later").items.first()
        rows = [f"{item.external_id},w1,{item.options.first().candidate.external_id}"]
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


def book() -> bytes:
    """A PDF of one page that says "Tea keeps."."""
    words = b"BT /F 12 Tf 20 100 Td (Tea keeps.) Tj ET"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R"
    return pdf(
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        page + b"/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(words), words),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )


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
            Path(word).write_bytes(book())
    if words[0] == "open_batch":
        Cast().candidates(Cast().query(world, "new", world.personas.first()), 3)
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


RELEASED = (
    r"tea release 1 \({}, jsonl\): 16 items, 95 judgments by 12 workers; pairs: {}; \d+ files"
)
# The salt of a release draws what the reserve takes of the easy pairs.
TIERED = r"\d easy, 0 medium, 5 hard"
# What each line prints first.
SENTENCES = {
    "add_member tea ann@example.org --role annotator": "ann@example.org is annotator of tea",
    "agreement --votes votes.csv --level ordinal --labels 1,2,3,4,5": (
        r"27 votes of 9 annotators on 3 items \(9 / 9 / 9 an item\)"
    ),
    "agreement tea --json": r'{"items": 1, "paired_items": 1, "votes": 3, "workers": 3, .*',
    "agreement tea --without-proposals": (
        r"3 votes of 3 annotators on 1 items \(3 / 3 / 3 an item\)"
    ),
    "agreement tea --task score:Tone": r"2 votes of 2 annotators on 1 items \(2 / 2 / 2 an item\)",
    "check_release release/": "ok",
    "diff_releases release/ again/": r"tea v1 \(long\) -> tea v2 \(long\)",
    "import_data battles.jsonl --recipe arena": (
        "The study “battles” has 1 query, 2 candidates, 1 item, 1 vote, 1 worker of this file."
    ),
    "import_data wildchat.jsonl --study wild --recipe conversations": (
        "The study “wild” has 1 conversation of this file."
    ),
    "import_documents tea pages.jsonl book.pdf": "2 documents added, 0 known",
    "import_history ann@example.org export.zip": (
        r'{"source": "claude", "sessions": 4, "messages": 16, .*'
    ),
    "import_release release/ tea2": r"tea2 \(long\): 16 items, 95 votes, 4 scores, 12 workers",
    "import_scores tea scores.csv": "1 scores of 1 answers; 0 rejected",
    "import_scores tea scores.csv --json": r'{"scores": 1, "candidates": 1, "rejected": \[\]}',
    "import_study bundle/": "tea: 1 personas, 5 queries, 13 candidates, 18 items, 95 slots",
    "import_verdicts tea verdicts.jsonl": r"1 verdicts \(1 new\) on 1 items by 1 models",
    "import_votes tea votes.csv": "1 votes by 1 workers on 1 items; 0 rejected",
    "open_batch tea --task best --dry-run": r"1 items, 9 judgments, .* hours",
    "open_batch tea --task best --number 100": "1 items and 9 slots are open",
    "open_batch tea --task better --again": r"\d+ items and \d+ slots are open",
    "push_release release/ my-lab/tea --dry-run": (
        r"\d+ files, [\d,]+ bytes would be uploaded to my-lab/tea"
    ),
    "release tea --again 1 --out again/": RELEASED.format("long", ".*"),
    "release tea --layout dpo --hard-fill 1/5 --out filled/": RELEASED.format("dpo", TIERED),
    "release tea --layout dpo --rule majority --min-votes 3 --min-margin 1 --out few/": (
        RELEASED.format("dpo", "0 easy, 0 medium, 0 hard, 10 majority")
    ),
    "release tea --layout long --out release/": RELEASED.format("long", TIERED),
    "release tea --layout long --format parquet --shard-rows 100000 --out long/": (
        RELEASED.replace("jsonl", "parquet").format("long", TIERED)
    ),
    "release tea --layout personafeedback --easy-share 2/3 --out strict/": (
        RELEASED.format("personafeedback", TIERED)
    ),
    "release tea --layout personafeedback --licence CC-BY-4.0 --out release/": (
        RELEASED.format("personafeedback", TIERED)
    ),
    "release tea --layout personafeedback --out release/": (
        RELEASED.format("personafeedback", TIERED)
    ),
    "review_release release/": "0 passages to read",
    "split_personas tea --benchmark 200": "benchmark: 200, training: 1",
    "tiers --votes votes.csv --options 2": "rule kappa-bands 1, 2 options",
}
# What is there after a command, as a function of the study, and how many.
LEFT = {
    "add_member": (lambda tea: Membership.objects.filter(study=tea, user__name="Ann"), 1),
    "import_documents": (lambda tea: Document.objects.filter(study=tea), 2),
    "import_history": (lambda tea: Session.objects.filter(owner__name="Ann"), 4),
    "import_release": (lambda tea: Item.objects.filter(study__slug="tea2"), 16),
    "import_scores": (lambda tea: AspectScore.objects.filter(candidate__study=tea), 1),
    "import_study": (lambda tea: Study.objects.filter(slug="tea"), 1),
    "import_verdicts": (lambda tea: Verdict.objects.filter(item__study=tea), 1),
    "import_votes": (lambda tea: Judgment.objects.filter(imported=True, slot__study=tea), 1),
    "release": (lambda tea: Release.objects.filter(study=tea, status="done"), 1),
    "split_personas": (lambda tea: tea.personas.filter(split="benchmark"), 200),
}


@pytest.mark.django_db
@pytest.mark.parametrize("words", [w for w in lines() if not elsewhere(w)], ids=" ".join)
def test_a_documented_line_does_what_it_says(world, words):
    prepare(world, words)
    out = io.StringIO()
    err = io.StringIO()
    call_command(*words, stdout=out, stderr=err)
    first = out.getvalue().splitlines()[0]
    assert re.fullmatch(SENTENCES[" ".join(words)], first), (first, err.getvalue())
    if words[0] in LEFT:
        rows, count = LEFT[words[0]]
        assert rows(world).count() == count
    if "--out" in words:
        folder = Path(words[words.index("--out") + 1])
        assert json.loads((folder / "manifest.json").read_text("utf-8"))["files"]


# --- Blocks that are no lines of ./attune -----------------------------------------------------

BLOCKS = re.compile(r"^```(\w+)\n(.*?)^```", re.S | re.M)
# Which tests run a block, or why none does, by page and first word.
RUN_BY = {
    ("agreement/README.md", "from"): "tests/local/test_wheel.py",
    ("agreement/README.md", "import"): "tests/local/test_wheel.py",
    ("agreement/README.md", "pip"): "tests/local/test_wheel.py",
    ("client/README.md", "import"): "tests/client/test_client.py",
    ("client/README.md", "pip"): "tests/client/test_client.py",
    ("docs/api.md", "curl"): "tests/docs/test_commands.py",
    ("docs/development.md", '[project.entry-points."attune.papers"]'): "tests/papers",
    ("docs/operators.md", "POSTGRES_OWNER_PASSWORD=…"): "tests/local/test_separate_roles.py",
}
# Windows and editors for whoever develops.
INTERACTIVE = {"runserver", "shell", "dbshell", "makemessages"}


def test_every_block_is_run_by_a_test():
    targets = re.findall(r"^([\w-]+):", (REPOSITORY / "Makefile").read_text("utf-8"), re.M)
    pages = [*PAGES, *(REPOSITORY / name / "README.md" for name in ("agreement", "client"))]
    for page in pages:
        place = str(page.relative_to(REPOSITORY))
        for language, block in BLOCKS.findall(page.read_text("utf-8")):
            if (place, block.split()[0]) in RUN_BY:
                assert (REPOSITORY / RUN_BY[place, block.split()[0]]).exists()
            elif language != "text":  # trees of folders
                assert [line for line in typed(block) if not runs(line, targets)] == [], place


def typed(block: str) -> list[list[str]]:
    """The words of each line of a block in the shell's language."""
    lines = block.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def runs(words: list[str], targets: list[str]) -> bool:
    """Whether the line is one of those tested above, of the Makefile, or a setting."""
    if words[0] == ".venv/bin/python":
        return words[1] == "manage.py" and words[2] in INTERACTIVE
    if words[0] == "make":
        return words[1] in targets
    return words[0] in ("./attune", "export")
