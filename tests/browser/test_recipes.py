"""Studies of each recipe, walked in the browser: made, filled, judged, ruled on, released, read.

Those that walks of their own take (`test_whole_path`, `test_own_questions`) are not among them.
"""

import json
import re

import pytest
from playwright.sync_api import expect

from annotation.agreement.tasks import recompute_due
from annotation.datasets import folders, freeze
from annotation.datasets.check import check_release
from annotation.histories import ingest
from annotation.histories.models import Upload
from annotation.imports import run
from annotation.imports.models import DataImport
from annotation.judging.claims import pull
from annotation.judging.models import Slot
from annotation.judging.work import queue, submit
from annotation.studies.models import Study
from tests.browser import axe
from tests.browser.conftest import PHONE
from tests.browser.kinds import tour_is_over
from tests.browser.test_judge_kinds import scored, with_scores
from tests.browser.test_own_questions import read_back
from tests.candidates.conftest import Reply, fake, write_all  # noqa: F401 - a fixture
from tests.datasets.test_opening import load
from tests.histories.test_ingest import EXPORT
from tests.live.conftest import at_once, models  # noqa: F401 - fixtures
from tests.studies.test_access import BODIES
from tests.studies.test_access import walk as open_every_page

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.proof]
ASKED = [{"prompt": f"Which tea is good at {hour}?", "persona": "mina"} for hour in (9, 21)]
ANSWERED = [row | {f"answer_{letter}": f"Tea {letter}." for letter in "abc"} for row in ASKED]
ALONE = [{"prompt": row["prompt"], "answer": "Rooibos."} for row in ASKED]
TRAITS = [
    {"persona": "mina", "attribute": f"a{n}", "attribute_text": text}
    for n, text in enumerate(("Works at night.", "Drinks tea."))
]
SCORED = {"judgments": 6, "items": 2, "candidates": 2}
CHOSEN = {"personas": 1, "specific": 5, "soft_labels": 8, "annotations": 72}
STAGES = {"attributes": 2, "relevance": 4, "responses": 4, "soft_labels": 10, "annotations": 30}
TALKED = {"judgments": 2, "answers": 5, "items": 2, "candidates": 2, "soft_labels": 1}
OWN = ("queries", "chat_history", "evaluation_shot", "meta_test")
OWN += ("gold_information", "personalized_rubric")
# {recipe: ([(the table that is sent, the task that is judged then, its items)], what is read)}.
WALKS = {
    "best-of-three": ([(ANSWERED, "best", 2), ((), "better", 6)], CHOSEN),
    "rate": ([(ALONE, "rate", 2)], SCORED | {"answers": 18}),
    "own": ([(ALONE, "questions", 2)], SCORED | {"answers": 6}),
    "attributes": (
        [(TRAITS, "attribute", 2), (ASKED, "relevance", 4), ((), "response", 4)],
        STAGES,
    ),
}
OTHERWISE = {
    "selection": lambda slot: {"choice": str(slot.item.options.last().candidate_id)},
    "attribute": lambda slot: {"verdict": "rejected", "cause": "other"},
    "relevance": lambda slot: {"relevant": "no"},
    "preference": lambda slot: {"value": 5},
}


def make(page, recipe: str) -> Study:
    page.goto(f"/studies/new/?recipe={recipe}")
    page.get_by_label("Title").fill("Tea")
    page.get_by_role("button", name="Create").click()
    page.wait_for_url("/studies/tea/overview/")
    return Study.objects.get()


def send(page, rows: list[dict]) -> None:
    """Import a table by the page."""
    page.goto("/studies/tea/data/")
    file = {"name": "rows.jsonl", "mimeType": "application/jsonl"}
    file["buffer"] = "\n".join(map(json.dumps, rows)).encode()
    page.set_input_files("#id_file", file)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("A worker reads what the file begins with.")).to_be_visible()
    row = DataImport.objects.latest("created_at")
    assert run.run(row.pk).status == "waiting"
    expect(page.get_by_role("heading", name="What the columns hold")).to_be_visible()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="Requested")).to_be_visible()
    assert run.run(row.pk).status == "done"
    expect(page.get_by_role("heading", name="Done")).to_be_visible()


def open_batch(page, task: str, items: int) -> None:
    """Open a task's batch, once the answers that it lacks are written."""
    address = f"/studies/tea/tasks/{task}/open/"
    page.goto(address)
    missing = page.get_by_role("button", name=re.compile("Write .* missing"))
    if missing.is_visible():
        missing.click()
        write_all()
        page.goto(address)
    page.get_by_role("button", name=f"Open {items} items").click()
    expect(page.locator("main [role=status]").first).to_contain_text(f"{items} items are open")


def judge(page, fill=None) -> None:
    """Judge what is open by tapping the first of each question; ``fill`` scores an answer."""
    fill = fill or tap_first_of_each
    page.goto("/studies/tea/judge/")
    while page.locator("form.judge").count():
        slot = page.locator("input[name=slot]").get_attribute("value")
        for n, pane in enumerate(page.locator(".pane:has(.criteria)").all()):
            with_scores(page, n, pane, lambda pane=pane: fill(pane))
        tap_first_of_each(page.locator("form.judge"), ":not(.criteria input)")
        for dot in page.locator(".stack button").all():
            dot.tap()
            expect(dot).to_have_class(re.compile("seen"))
        page.get_by_role("button", name="Submit and next").tap()
        expect(page.locator(f"input[value='{slot}']")).to_have_count(0)


def tap_first_of_each(part, outside: str = "") -> None:
    """Tap the first answer to each question; a sheet shows one at a time."""
    following = part.get_by_role("button", name="Next", exact=True)
    for name in names(part.locator(f"input[type=radio]{outside}")):
        first = part.locator(f'label:has(input[name="{name}"])').first
        if not first.is_visible() and following.is_visible():
            following.tap()
        if first.is_visible():
            first.tap()


def names(fields) -> list[str]:
    return list(dict.fromkeys(each.get_attribute("name") for each in fields.all()))


def judge_too(study, people: list) -> None:
    """The others judge; half of them say otherwise of one item."""
    for n, person in enumerate(people):
        while pk := queue.claim(study, person):
            slot = Slot.objects.select_related("item__batch__task").get(pk=pk)
            kind = slot.item.batch.task.kind
            first = slot.item.batch.items.earliest("position")
            differs = slot.item == first and n >= len(people) / 2
            body = (OTHERWISE if differs else BODIES).get(kind, BODIES[kind])
            submit.submit(study, pk, person, body(slot), key=str(pk))


def rule(page, task: str) -> None:
    """Rule on the first item that people disagree on."""
    page.goto(f"/studies/tea/adjudicate/?task={task}")
    page.locator("tbody a").first.click()
    for name in names(page.locator("main form input[type=radio]")):
        page.locator(f'main form input[name="{name}"]').first.check()
    page.get_by_label("Reason (required)").fill("She said so.")
    page.get_by_role("button", name="Store the ruling").click()
    expect(page.get_by_role("heading", name="Rulings, the last one stands")).to_be_visible()


def look_at_results(page, tasks: dict[str, str]) -> None:
    """The results say of each task how many voted."""
    recompute_due()
    page.goto("/studies/tea/")
    for task, words in tasks.items():
        section = page.locator("section", has=page.locator(f"#task-{task}"))
        expect(section).to_contain_text(words)
    assert axe.violations(page) + axe.too_wide(page) == []


def release(page, study, tmp_path) -> dict[str, int]:
    """A release with what the page proposes; the rows of each table, as ``datasets`` reads it."""
    page.goto("/studies/tea/releases/")
    page.get_by_role("button", name="Freeze and write").click()
    freeze.build(study.releases.get().pk)
    expect(page.get_by_role("link", name="Download release 1")).to_be_visible()
    folder = folders.folder_of(study.releases.get())
    assert check_release(folder) == []
    rows, _whole, _splits = load(folder, tmp_path)
    return rows


@pytest.mark.parametrize("recipe", WALKS)
def test_a_study_of_a_recipe_is_walked_to_what_datasets_reads(
    open_page, cast, client, let_in, fake, tmp_path, recipe  # noqa: F811
):  # fmt: skip
    phone = let_in(open_page(viewport=PHONE, has_touch=True), cast.person("A"))
    # Logging in would end the session before.
    client.cookies.clear()
    page = let_in(open_page(), cast.person("Ada", is_superuser=True))
    study = make(page, recipe)
    panel = "ABCDEFGHI"[: study.tasks.first().overlap]
    _ann, *others = cast.members(study, dict.fromkeys(panel, "annotator"))
    tour_is_over(study)
    stages, released = WALKS[recipe]
    for rows, task, items in stages:
        if rows:
            send(page, rows)
        open_batch(page, task, items)
        judge(phone)
        judge_too(study, others)
        rule(page, task)
    votes = {task: f"votes: {items * len(panel)} · " for _rows, task, items in stages}
    look_at_results(page, votes)
    assert release(page, study, tmp_path) == released
    read_back(study, tmp_path)
    open_every_page(client, "/studies/tea/overview/")


def go_on(page) -> None:
    """Take the step that the person's list names."""
    page.goto("/studies/tea/steps/")
    page.locator("[aria-current=step] a[role=button]").click()


def bring_history(page) -> None:
    go_on(page)
    file = {"name": "export.json", "mimeType": "application/json", "buffer": EXPORT}
    page.get_by_label("Your export").set_input_files(file)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("It waits to be read.")).to_be_visible()
    assert ingest.run(Upload.objects.get().pk).status == "done"
    go_on(page)
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Keep").click()
    expect(page.get_by_text("1 session kept.")).to_be_visible()
    go_on(page)
    for _use in range(page.get_by_role("button", name="Allow").count()):
        page.get_by_role("button", name="Allow").first.click()
    expect(page.get_by_role("button", name="Take it back")).to_have_count(3)


def ask(page) -> None:
    go_on(page)
    page.get_by_role("button", name="Write a query").click()
    page.get_by_label("Your question, in few words").fill("Where can I drink tea by the lake?")
    page.locator("#want").fill("A calm place.")
    page.get_by_role("button", name="Ready: ask for answers").click()


def make_gold(page) -> None:
    go_on(page)
    page.get_by_role("button", name="Save as the gold response").click()
    go_on(page)
    page.get_by_label("Claims, one a line").fill("There is tea.\nIt is calm.")
    page.get_by_role("button", name="Save these claims").click()
    judge(page)
    go_on(page)
    page.get_by_role("button", name="Write it from my judgments").click()
    write_all()
    assert pull() == 1
    page.goto("/studies/tea/steps/")
    expect(page.locator("main")).to_contain_text("You have done every step")


def two_pages(open_page, let_in, cast, client, recipe: str) -> tuple:
    """An annotator's phone, an administrator's page, and the study that they made by ``recipe``."""
    phone = let_in(open_page(viewport=PHONE, has_touch=True), cast.person("A"))
    client.cookies.clear()
    page = let_in(open_page(), cast.person("Ada", is_superuser=True))
    study = make(page, recipe)
    cast.member("A", study, "annotator")
    tour_is_over(study)
    return phone, page, study


def test_a_study_of_own_histories_is_walked_to_what_datasets_reads(
    open_page, cast, client, let_in, fake, settings, tmp_path  # noqa: F811
):  # fmt: skip
    settings.DATA = tmp_path
    fake.replies = [Reply(f"Take tea {n}.") for n in range(40)]
    phone, page, study = two_pages(open_page, let_in, cast, client, "own-history")
    bring_history(phone)
    ask(phone)
    page.goto("/studies/tea/candidates/")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("main [role=status]").first).to_contain_text("7 answers were asked for")
    write_all()
    open_batch(page, "score", 7)
    judge(phone, scored)
    make_gold(phone)
    look_at_results(page, {"score": "votes: 7 · ", "claims": "votes: 1 · "})
    assert release(page, study, tmp_path) == dict.fromkeys(OWN, 1)
    read_back(study, tmp_path)
    open_every_page(client, "/studies/tea/overview/")


def talk(page) -> None:
    """A conversation of two turns, to its end."""
    page.goto("/studies/tea/talk/")
    page.get_by_role("button", name="Begin").click()
    for label, text in (("Your message", "Where to?"), ("Your next message", "And in rain?")):
        page.get_by_label(label).fill(text)
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("Answers are being written")).to_be_visible()
        write_all()
    page.get_by_role("button", name="End and judge").click()
    page.wait_for_url("**/judge/")


def test_a_study_of_talks_is_walked_to_what_datasets_reads(
    open_page, cast, client, let_in, models, at_once, tmp_path  # noqa: F811
):  # fmt: skip
    phone, page, study = two_pages(open_page, let_in, cast, client, "talk")
    page.goto("/studies/tea/talk/setup/")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("People talk now")).to_be_visible()
    talk(phone)
    judge(phone)
    look_at_results(page, {"served": "votes: 1 · ", "rate": "votes: 1 · "})
    assert release(page, study, tmp_path) == TALKED
    read_back(study, tmp_path)
    open_every_page(client, "/studies/tea/overview/")
