"""The main job, end to end, on real parts: `manage.py up`, its pages in Chromium, nine people.

A study is made in the browser, its answers are written by the embedded model, nine people judge it,
and what comes out is a release that `check_release` confirms.
"""

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

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "a long enough secret"
PEOPLE = [f"rater{n}@example.org" for n in range(1, 10)]
EMBEDDED = ("DATABASE_URL", "REDIS_URL", "ATTUNE_ENDPOINTS", "PYTEST_XDIST_WORKER")
MINUTES = 60_000

PERSONAS = [
    {"id": "mina", "profile": {"Name": "Mina Park", "Work": "Night-shift nurse in Busan"}},
    {"id": "joao", "profile": {"Name": "João Prado", "Travel": "Slow trains, never planes"}},
]


class Server:
    """A running `manage.py up` with a data folder of its own."""

    def __init__(self, data: Path, *, administrator: bool = True):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {k: v for k, v in os.environ.items() if k not in EMBEDDED} | {
            "ATTUNE_DATA": str(data)
        }
        if administrator:
            account = {"EMAIL": "ada@example.org", "PASSWORD": PASSWORD}
            self.environment |= {f"ATTUNE_ADMIN_{k}": value for k, value in account.items()}
        command = [sys.executable, "manage.py", "up", "--port", str(self.port)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout.readline() == f"Attune is ready: {self.url}\n"

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
        context = browser.new_context(
            base_url=server.url, viewport={"width": 1440, "height": 900}, accept_downloads=True
        )
        context.set_default_timeout(30_000)
        contexts.append(context)
        return context.new_page()

    yield open_
    for context in contexts:
        context.close()


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
    page.goto("/accounts/login/")
    page.get_by_label("Email").fill("ada@example.org")
    page.get_by_label("Password").fill(PASSWORD)
    press(page, "Log in")
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
    expect(page.locator("#progress tfoot td").first).to_have_text("6", timeout=5 * MINUTES)
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


def test_from_an_empty_machine_to_a_released_benchmark(person, server, tmp_path):
    ada = person()
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
        expect(section).to_contain_text("18 votes of 9 annotators", timeout=MINUTES)

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
