"""Two studies, end to end, on real parts: `manage.py up` on an empty folder, its pages in Chromium.

A new researcher's first study goes from a spreadsheet to a table in `datasets` by keyboard alone;
what is pressed is counted. In the other the embedded model writes the answers, nine people judge
them, and what comes out is a release that `check_release` confirms.
"""

import csv
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from annotation.local.model import free_port
from tests.browser import keyboard
from tests.browser.conftest import WIDE

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "a long enough secret"
NEWCOMERS = ("ann", "bo", "cho")
QUESTIONS = [f"Which tea is good at {hour}?" for hour in range(10)]
PEOPLE = [f"rater{n}@example.org" for n in range(1, 10)]
EMBEDDED = ("DATABASE_URL", "REDIS_URL", "ATTUNE_ENDPOINTS", "PYTEST_XDIST_WORKER")
MINUTES = 60_000

PERSONAS = [
    {"id": "mina", "profile": {"Name": "Mina Park", "Work": "Night-shift nurse in Busan"}},
    {"id": "joao", "profile": {"Name": "João Prado", "Travel": "Slow trains, never planes"}},
]


class Server:
    """A running `manage.py up` with a data folder of its own."""

    def __init__(self, data: Path):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {k: v for k, v in os.environ.items() if k not in EMBEDDED}
        self.environment["ATTUNE_DATA"] = str(data)
        command = [sys.executable, "manage.py", "up", "--port", str(self.port)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout.readline() == f"Attune is ready: {self.url}\n"
        self.link_of_the_first_account = self.process.stdout.readline().split(": ", 1)[1].strip()

    def run(self, *command: str, check: bool = True) -> str:
        """Run a `manage.py` command against this server's services; what it printed."""
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
            check=check,
        )
        return done.stdout

    def stop(self):
        self.process.terminate()
        assert self.process.wait(60) == 0


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("attune") / "var")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def person(browser, server):
    """A function that opens a page of a browser of one's own."""
    contexts = []

    def open_():
        context = browser.new_context(base_url=server.url, viewport=WIDE, accept_downloads=True)
        context.set_default_timeout(30_000)
        contexts.append(context)
        return context.new_page()

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def ada(person, server):
    """The first account's page, logged in."""
    walk = Walk(person(), "ada")
    enter(walk, server.link_of_the_first_account)
    return walk


def table() -> bytes:
    """Two models' answers to ten questions, as a spreadsheet saves them."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(("prompt", "answer_a", "answer_b", "model_a", "model_b"))
    for number, question in enumerate(QUESTIONS, start=1):
        answers = (f"In short: way {number}.", f"Step by step, with reasons: way {number}.")
        writer.writerow((question, *answers, "model-one", "model-two"))
    return file.getvalue().encode("utf-8-sig")


class Walk:
    """A page gone through by keys; what is pressed, chosen and typed into is counted."""

    def __init__(self, page, name: str):
        self.page, self.name = page, name
        self.acts = 0

    def activate(self, target) -> None:
        keyboard.press(target)
        self.acts += 1

    def press(self, name: str) -> None:
        """Press the button, or the link, of this name."""
        main = self.page.locator("main")
        button = main.get_by_role("button", name=name, exact=True)
        self.activate(button.or_(main.get_by_role("link", name=name, exact=True)))

    def write(self, label: str, text: str) -> None:
        keyboard.write(self.page.get_by_label(label), text)


def enter(walk: Walk, link: str) -> None:
    page = walk.page
    page.goto(link)
    for field in page.locator("input[type=password]").all():
        keyboard.write(field, PASSWORD)
    walk.activate(page.locator("main button").first)
    page.wait_for_url(lambda address: "password" not in address)


def compare_models(walk: Walk) -> None:
    walk.press("Create a study")
    walk.press("Compare models, pair by pair")
    walk.write("Title", "Which model answers better?")
    walk.press("Create")


def send_table(walk: Walk) -> None:
    """Import the file from the step that the overview names; its questions and answers alone."""
    page = walk.page
    walk.press("Import a file")
    file = {"name": "answers.csv", "mimeType": "text/csv", "buffer": table()}
    keyboard.attach(page.get_by_label("File", exact=True), file)
    walk.acts += 1
    walk.press("Send")
    expect(page.get_by_role("heading", name="What the columns hold")).to_be_visible()
    walk.press("Import")
    expect(page.get_by_role("heading", name="Done")).to_be_visible(timeout=MINUTES)
    walk.press("See what comes next")


def try_and_open(walk: Walk) -> None:
    """Preview the task, then open its batch of ten items."""
    page = walk.page
    walk.press("Tasks: Tasks and preview")
    walk.press("Preview: Pairs as an annotator")
    expect(page.locator("main")).to_contain_text("Which answer is better?")
    page.go_back()
    walk.press("Open a batch of Pairs")
    walk.press("Open 10 items")
    expect(page.locator("main")).to_contain_text("10 items are open.")


def join_code(walk: Walk) -> str:
    walk.press("Invite people")
    walk.press("Make a join code")
    return walk.page.locator(".secret.big").inner_text()


def join_and_judge(walk: Walk, code: str) -> None:
    """Come in by the code, agree, and judge everything by keys."""
    page = walk.page
    page.goto("/join/")
    walk.write("Code", code)
    walk.press("Go on")
    walk.press("Create an account")
    walk.write("Email", f"{walk.name}@example.org")
    walk.write("Password", PASSWORD)
    walk.press("Create the account")
    walk.press("Join")
    keyboard.tick(page.get_by_label("I have read this and agree."))
    walk.acts += 1
    walk.press("Agree and begin")
    tour = page.get_by_role("dialog")
    for name in ("Next", "Next", "Start judging"):
        walk.activate(tour.get_by_role("button", name=name))
    judged = 0
    while page.locator("form.judge").count():
        slot = page.locator("input[name=slot]").get_attribute("value")
        texts = page.locator(".pane .text").all_inner_texts()
        page.keyboard.press("1" if texts[0].startswith("Step") else "2")
        page.keyboard.press("Control+Enter")
        expect(page.locator(f"input[value='{slot}']")).to_have_count(0)
        # The swap has not lost it: the next question, or what is said at the end.
        expect(page.locator("#question")).to_be_focused()
        judged += 1
    assert judged == len(QUESTIONS)


def read_results(walk: Walk, folder: Path) -> None:
    """Look at the agreement and fetch the plot of models as SVG."""
    page = walk.page
    expect(page.locator("#steps")).to_contain_text("Pairs: ", timeout=MINUTES)
    walk.press("Agreement: Look at the results")
    walk.press("All figures of Pairs, with disputed items")
    link = page.get_by_role("link", name=re.compile("^SVG")).first
    with page.expect_download() as download:
        walk.activate(link)
    download.value.save_as(folder / "figure.svg")
    assert "<svg" in (folder / "figure.svg").read_text()


def release_table(walk: Walk, folder: Path) -> Path:
    """Freeze everything and download it; the unpacked folder."""
    page = walk.page
    walk.press("Overview")
    walk.press("Freeze a release")
    keyboard.select(page.get_by_label("Layout"), "long")
    walk.acts += 1
    walk.press("Freeze and write")
    link = page.get_by_role("link", name="Download release 1")
    expect(link).to_be_visible(timeout=2 * MINUTES)
    with page.expect_download() as download:
        walk.activate(link)
    download.value.save_as(folder / "release.zip")
    zipfile.ZipFile(folder / "release.zip").extractall(folder)
    return next(folder.rglob("manifest.json")).parent


def loaded(folder: Path) -> dict:
    """Rows of each table, as the library reads them in a process of its own."""
    code = (
        "import datasets, json, sys;"
        "names = datasets.get_dataset_config_names(sys.argv[1]);"
        "print(json.dumps({name: datasets.load_dataset(sys.argv[1], name, split='all').num_rows"
        " for name in names}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        env=os.environ | {"HF_HOME": str(folder.parent / "hf"), "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_a_new_researcher_gets_from_a_spreadsheet_to_a_dataset(ada, person, tmp_path):
    compare_models(ada)
    send_table(ada)
    try_and_open(ada)
    code = join_code(ada)
    for name in NEWCOMERS:
        join_and_judge(Walk(person(), name), code)
    ada.press("Overview")
    read_results(ada, tmp_path)
    rows = loaded(release_table(ada, tmp_path))
    assert (rows["judgments"], rows["answers"], rows["items"]) == (30, 30, 10)
    assert ada.acts <= 30


def press(page, name: str):
    page.locator("main").get_by_role("button", name=name, exact=True).click()


def upload(page, path: str, rows: list[dict]):
    page.goto(path)
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    # The page of personas takes their attributes too, below.
    form = page.locator("main form", has=page.locator("input[type=file]")).first
    form.locator("input[type=file]").set_input_files(
        {"name": "rows.jsonl", "mimeType": "application/jsonl", "buffer": text.encode()}
    )
    form.get_by_role("button", name="Import", exact=True).click()


def make_study(page):
    page.goto("/")
    page.get_by_text("Create a study", exact=True).click()
    page.get_by_role("link", name="Empty").click()
    page.get_by_label("Title").fill("A walk through everything")
    page.get_by_label("Address").fill("walk")
    page.get_by_label("Consent text").fill("I judge answers for **two people**.")
    press(page, "Create")
    upload(page, "/studies/walk/personas/", PERSONAS)
    expect(page.locator("main")).to_contain_text("2 personas")
    questions = [
        {"id": "q1", "persona": "mina", "text": "How do I sleep well after a night shift?"},
        {"id": "q2", "persona": "joao", "text": "Plan a weekend away for me."},
    ]
    upload(page, "/studies/walk/queries/", questions)
    expect(page.locator("main")).to_contain_text("2 queries")


def generate(page):
    page.goto("/studies/walk/candidates/")
    press(page, "Start")
    expect(page.locator("#progress")).to_be_visible()
    expect(page.locator("#progress tr:last-child td").first).to_have_text("6", timeout=5 * MINUTES)
    page.reload()
    expect(page.locator("main")).to_contain_text("6 written answers")


def open_task(page, name: str, options: int):
    page.goto("/studies/walk/tasks/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Answers side by side").select_option(str(options))
    page.get_by_label("Guideline").fill("Choose what fits this person best *and* helps most.")
    press(page, "Save")
    page.locator("article", has_text=name).get_by_role("button", name="Open a batch").click()
    press(page, "Open 2 items")
    expect(page.locator("main")).to_contain_text("2 items are open.")


def invite(page, study: str = "walk") -> str:
    page.goto(f"/studies/{study}/people/")
    press(page, "Make an invitation link")
    return page.locator(".secret").inner_text()


def join(page, link: str, email: str):
    page.goto(link)
    page.get_by_text("Create an account", exact=True).click()
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    press(page, "Create the account")
    press(page, "Join")
    page.get_by_label("I have read this and agree.").check()
    press(page, "Agree and begin")


def judge_all(page) -> int:
    """Judge with the keys until nothing is left: always the first answer by its text."""
    page.goto("/studies/walk/judge/")
    # A further task of the study has its example alone.
    tour = page.get_by_role("dialog").get_by_role(
        "button", name=re.compile("^(Next|Start judging)$")
    )
    while tour.filter(visible=True).first.inner_text() == "Next":
        tour.filter(visible=True).first.click()
    tour.filter(visible=True).first.click()
    judged = 0
    while page.locator("form.judge").count():
        slot = page.locator("input[name=slot]").get_attribute("value")
        html = page.content()
        assert not re.search(r"SmolLM|smollm|\bA[123]\b|strategy", html)
        texts = page.locator(".pane .text").all_inner_texts()
        page.keyboard.press(str(texts.index(min(texts)) + 1))
        page.keyboard.press("Control+Enter")
        expect(page.locator(f"input[value='{slot}']")).to_have_count(0)
        judged += 1
    expect(page.locator("main")).to_contain_text("Nothing is waiting for you")
    return judged


def release(page, server, layout: str, folder: Path, study: str = "walk") -> Path:
    """Make a release in the browser, download it, and have it checked; its folder."""
    page.goto(f"/studies/{study}/releases/")
    page.get_by_label("Layout").select_option(layout)
    press(page, "Freeze and write")
    row = page.locator("tr", has_text=layout)
    link = row.get_by_role("link", name="Download release")
    expect(link).to_be_visible(timeout=2 * MINUTES)
    with page.expect_download() as download:
        link.click()
    path = folder / f"{study}-{layout}.zip"
    download.value.save_as(path)
    zipfile.ZipFile(path).extractall(folder / path.stem)
    root = next((folder / path.stem).rglob("manifest.json")).parent
    assert json.loads(server.run("check_release", str(root), "--json")) == {"ok": True}
    return root


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.proof
def test_from_generated_answers_to_a_released_benchmark(ada, person, server, tmp_path):
    ada = ada.page
    make_study(ada)
    generate(ada)
    open_task(ada, "best", 3)
    raters = [person() for _ in PEOPLE]
    for page, email in zip(raters, PEOPLE, strict=True):
        join(page, invite(ada), email)
    assert [judge_all(page) for page in raters] == [2] * 9
    open_task(ada, "better", 2)
    assert [judge_all(page) for page in raters] == [2] * 9

    ada.goto("/studies/walk/")
    for task in ("best", "better"):
        section = ada.locator("section", has=ada.locator(f"#task-{task}"))
        expect(section).to_contain_text("votes: 18 · annotators: 9", timeout=MINUTES)

    benchmark = release(ada, server, "personafeedback", tmp_path)
    assert len(rows(benchmark / "persona/all_personas.jsonl")) == 2
    medium = rows(benchmark / "data/specific/medium.jsonl")
    assert [list(row)[:4] for row in medium] == [["user_id", "question", "chosen", "reject"]] * 2
    assert all(row["chosen"].split() <= row["reject"].split() for row in medium)

    table = release(ada, server, "long", tmp_path)
    judgments = rows(table / "judgments.jsonl")
    assert len(judgments) == 36
    assert not any("example.org" in file.read_text() for file in table.rglob("*.jsonl"))
    report = json.loads(server.run("agreement", "--votes", str(table / "votes.csv"), "--json"))
    assert (report["votes"], report["workers"], report["percent_agreement"]["value"]) == (36, 9, 1)
