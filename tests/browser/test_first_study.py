"""A new researcher's first study, from an empty machine to a table in `datasets`, without a shell.

Everything is real, as in `test_whole_path`; clicks and seconds are counted and printed.
"""

import csv
import io
import os
import re
import time
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.test_whole_path import MINUTES, PASSWORD, Server

pytestmark = pytest.mark.long

PICTURES = os.environ.get("PICTURES")
PEOPLE = ("ann", "bo", "cho")
QUESTIONS = (
    "Which tea is good late in the evening?",
    "How long does green tea steep?",
    "What should I cook for four people?",
    "How do I ask my neighbour to be quieter?",
    "Which book about rivers should I read?",
    "How do I begin to run?",
    "What can I do in Busan on a rainy day?",
    "How do I sleep after a night shift?",
    "What is a good gift for a chess player?",
    "How do I keep basil alive?",
)


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
    """A page whose clicks are counted."""

    def __init__(self, page, name: str):
        self.page, self.name, self.clicks, self.shots = page, name, 0, 0

    def click(self, target) -> None:
        target.click()
        self.clicks += 1

    def press(self, name: str) -> None:
        """Click the button, or the link, of this name."""
        main = self.page.locator("main")
        button = main.get_by_role("button", name=name, exact=True)
        self.click(button.or_(main.get_by_role("link", name=name, exact=True)))

    def picture(self, name: str) -> None:
        """Pictures of the page at two widths, light and dark, where a folder is named."""
        if not PICTURES:
            return
        self.shots += 1
        size = self.page.viewport_size
        for width in (1440, 390):
            self.page.set_viewport_size({"width": width, "height": 900})
            for scheme in ("light", "dark"):
                self.page.emulate_media(color_scheme=scheme)
                file = f"{self.name}-{self.shots:02}-{name}-{scheme}-{width}.png"
                self.page.screenshot(path=str(Path(PICTURES) / file), full_page=True)
        self.page.set_viewport_size(size)
        self.page.emulate_media(color_scheme="light")


def enter(walk: Walk, link: str) -> None:
    page = walk.page
    page.goto(link)
    walk.picture("link")
    for field in page.locator("input[type=password]").all():
        field.fill(PASSWORD)
    walk.click(page.locator("main button").first)
    walk.picture("after-password")


def make_study(walk: Walk) -> str:
    walk.press("Create a study")
    walk.picture("kinds")
    walk.press("Compare models, pair by pair")
    walk.page.get_by_label("Title").fill("Which model answers better?")
    walk.picture("new")
    walk.press("Create")
    walk.picture("overview")
    return re.search(r"/studies/([a-z0-9-]+)/", walk.page.url)[1]


def send_table(walk: Walk) -> None:
    """Import the file from the step that the overview names; its questions and answers alone."""
    page = walk.page
    walk.press("Import a file")
    walk.picture("data")
    file = {"name": "answers.csv", "mimeType": "text/csv", "buffer": table()}
    page.get_by_label("File", exact=True).set_input_files(file)
    walk.clicks += 1
    walk.press("Send")
    expect(page.get_by_role("heading", name="What the columns hold")).to_be_visible()
    walk.picture("map")
    walk.press("Import")
    expect(page.get_by_role("heading", name="Done")).to_be_visible(timeout=MINUTES)
    walk.picture("imported")
    walk.press("See what comes next")


def try_and_open(walk: Walk) -> None:
    """Preview the task, then open its batch of ten items."""
    page = walk.page
    walk.picture("overview")
    walk.press("Tasks: Tasks and preview")
    walk.picture("tasks")
    walk.press("Try pairs as an annotator")
    expect(page.locator("main")).to_contain_text("Which answer is better?")
    walk.picture("preview")
    page.go_back()
    walk.press("Open a batch of pairs")
    walk.picture("batch")
    walk.press("Open 10 items")
    expect(page.locator("main")).to_contain_text("10 items are open.")
    walk.picture("opened")


def join_code(walk: Walk) -> str:
    walk.press("Invite people")
    walk.picture("people")
    walk.press("Make a join code")
    walk.picture("code")
    return walk.page.locator(".secret.big").inner_text()


def join_and_judge(walk: Walk, code: str) -> None:
    """Come in by the code, agree, and judge everything by keys."""
    page = walk.page
    page.goto("/join/")
    walk.picture("join")
    page.get_by_label("Code").fill(code)
    walk.press("Go on")
    walk.picture("invited")
    walk.press("Create an account")
    page.get_by_label("Email").fill(f"{walk.name}@example.org")
    page.get_by_label("Password").fill(PASSWORD)
    walk.picture("account")
    walk.press("Create the account")
    walk.picture("joined")
    walk.press("Join")
    walk.picture("consent")
    page.get_by_label("I have read this and agree.").check()
    walk.clicks += 1
    walk.press("Agree and begin")
    walk.picture("judge")
