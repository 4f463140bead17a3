"""Studies of each recipe, walked in the browser: made, filled, opened, judged, released, read.

Those that walks of their own take (`test_whole_path`, `test_talk`, `test_own_questions`) are not
among them.
"""

import json

import pytest
from playwright.sync_api import expect

from annotation.imports import run
from annotation.imports.models import DataImport
from annotation.judging.models import Judgment
from annotation.studies.models import Study
from tests.browser import axe
from tests.browser.kinds import tour_is_over
from tests.browser.test_own_questions import read_back

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.proof]
ASKED = [{"prompt": f"Which tea is good at {hour}?", "persona": "mina"} for hour in (9, 21)]
ANSWERED = [row | {f"answer_{letter}": f"Tea {letter}." for letter in "abc"} for row in ASKED]
ALONE = [{"prompt": row["prompt"], "answer": "Rooibos."} for row in ASKED]
TRAITS = [
    {"persona": "mina", "attribute": f"a{n}", "attribute_text": text}
    for n, text in enumerate(("Works at night.", "Drinks tea."))
]
# {recipe: the table that is sent, the tasks that are opened, judgments of one person}.
WALKS = {
    "best-of-three": (ANSWERED, ("best", "better"), 8),
    "rate": (ALONE, ("rate",), 2),
    "own": (ALONE, ("questions",), 2),
    "attributes": (TRAITS, ("attribute",), 2),
}


def send(page, study: str, rows: list[dict]) -> None:
    """Import a table by the page."""
    page.goto(f"/studies/{study}/data/")
    file = {"name": "rows.jsonl", "mimeType": "application/jsonl"}
    file["buffer"] = "\n".join(map(json.dumps, rows)).encode()
    page.set_input_files("#id_file", file)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("A worker reads what the file begins with.")).to_be_visible()
    row = DataImport.objects.get()
    assert run.run(row.pk).status == "waiting"
    expect(page.get_by_role("heading", name="What the columns hold")).to_be_visible()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="Requested")).to_be_visible()
    assert run.run(row.pk).status == "done"
    expect(page.get_by_role("heading", name="Done")).to_be_visible()


def answer(page) -> None:
    """Choose the first of each question that is seen, and submit."""
    slot = page.locator("input[name=slot]").get_attribute("value")
    for name in dict.fromkeys(
        each.get_attribute("name") for each in page.locator("form.judge input[type=radio]").all()
    ):
        first = page.locator(f'form.judge label:has(input[name="{name}"])').first
        if first.is_visible():
            first.click()
    page.get_by_role("button", name="Submit and next").click()
    expect(page.locator(f"input[value='{slot}']")).to_have_count(0)


@pytest.mark.parametrize("recipe", WALKS)
def test_a_study_of_a_recipe_is_walked_to_what_datasets_reads(
    open_page, cast, let_in, tmp_path, recipe
):
    rows, tasks, judgments = WALKS[recipe]
    page = let_in(open_page(), cast.person("Ada", is_superuser=True))
    page.goto(f"/studies/new/?recipe={recipe}")
    page.get_by_label("Title").fill("Tea")
    page.get_by_role("button", name="Create").click()
    study = Study.objects.get()
    send(page, study.slug, rows)
    for task in tasks:
        page.goto(f"/studies/{study.slug}/tasks/{task}/open/")
        page.get_by_role("button", name="Open").first.click()
        expect(page.locator("main [role=status]").first).to_contain_text("open")
    cast.member("Ann", study, "annotator")
    tour_is_over(study)
    let_in(page, cast.person("Ann"))
    page.goto(f"/studies/{study.slug}/judge/")
    while page.locator("form.judge").count():
        answer(page)
    assert Judgment.objects.count() == judgments
    let_in(page, cast.person("Ada"))
    page.goto(f"/studies/{study.slug}/overview/")
    assert axe.violations(page) + axe.too_wide(page) == []
    read_back(study, tmp_path)
