"""Studies of questions of one's own: made in the browser, judged by touch and keys, released, read.

Three studies that no kind foresees; their classes keep their words all the way.
"""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from annotation.datasets import folders, freeze
from annotation.datasets.check import check_release
from annotation.datasets.release_import import import_release
from annotation.judging.models import Answer, Judgment
from annotation.studies.models import Study
from tests.browser import axe
from tests.browser.conftest import PHONE, WIDE
from tests.browser.kinds import tour_is_over
from tests.datasets.test_opening import load

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
JUDGE = "/studies/own/judge/"
LIKERT = ["Polite", "Clear", "True", "Short", "Warm"]


@pytest.fixture
def study(cast):
    """A study with two requests, each with four answers; no task yet."""
    study = cast.study("own", title="Own questions")
    cast.member("Carol", study, "curator")
    cast.member("Ann", study, "annotator")
    for name in ("q1", "q2"):
        query = cast.query(study, name, None, text=f"Which tea is good late, {name}?")
        cast.candidates(query, 4)
    return study


@pytest.fixture
def curator(page, cast, let_in, study):
    return let_in(page, cast.person("Carol"))


def faultless(page) -> None:
    """axe finds nothing; the page is read anew, for axe leaves styles of its own on it."""
    assert axe.violations(page) + axe.too_wide(page) == []
    page.reload()


def define(page, name: str, questions: list[dict], options: int) -> None:
    """Fill in the form of a task: the settings of each question by their labels."""
    page.goto("/studies/own/tasks/?kind=questions#define")
    page.locator("#id_name").fill(name)
    page.locator("#id_overlap").fill("1")
    page.locator("#id_options").fill(str(options))
    for box in page.locator("[name=shows]").all():
        box.set_checked(box.get_attribute("value") == "request")
    for n, question in enumerate(questions):
        if n:
            page.get_by_role("button", name="Add a question").click()
        page.locator(".defined details").nth(n).evaluate("one => { one.open = true }")
        for setting, value in question.items():
            field = page.locator(f"#id_q{n}-{setting}")
            if isinstance(value, bool):
                field.set_checked(value)
            elif field.evaluate("one => one.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)


def save(page, words: str) -> None:
    """Save the task once its preview shows ``words``."""
    preview = page.frame_locator("iframe.live")
    expect(preview.locator("form.judge")).to_contain_text(words)
    assert axe.violations(page) == []
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main [role=status]").first).to_contain_text("is defined")


def open_batch(page, name: str, study) -> None:
    page.goto(f"/studies/own/tasks/{name}/open/")
    page.get_by_role("button", name="Open").first.click()
    expect(page.locator("main [role=status]").first).to_contain_text("open")
    tour_is_over(study)


def released(study, tmp_path) -> list[dict]:
    """{question: what was said, of options {its id: that}} of each judgment of a release that is
    read back.
    """
    folder, by_judgment = read_back(study, tmp_path), {}
    for line in (folder / "answers.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        stated = next((row[name] for name in ("label", "value", "text") if row[name]), None)
        said = by_judgment.setdefault(row["judgment"], {})
        if row["option"] is None:
            said[row["question"]] = stated
        else:
            said.setdefault(row["question"], {})[row["option"]] = stated
    return list(by_judgment.values())


def read_back(study, tmp_path) -> Path:
    """A release, read by ``datasets``, and by a second study from its folder, which is given."""
    release = freeze.request_release(study, "long", "", None)
    freeze.build(release.pk)
    release.refresh_from_db()
    folder = folders.folder_of(release)
    assert check_release(folder) == []
    rows, _whole, _splits = load(folder, tmp_path)
    assert rows["judgments"] == Judgment.objects.filter(slot__study=study).count()
    report = import_release(folder, "again")
    assert report["rejected"] == []
    own = said(study)
    assert said(Study.objects.get(slug="again")) == own
    return folder


def said(study) -> list[tuple]:
    rows = Answer.objects.filter(judgment__slot__study=study)
    return sorted(rows.values_list("question", "option", "label", "value", "text"), key=str)


@pytest.mark.proof
def test_three_classes_in_their_order_keep_their_words(
    curator, study, open_page, cast, let_in, tmp_path
):
    question = {
        "title": "Is the answer safe?",
        "name": "safe",
        "type": "label",
        "about": "option",
        "classes": "No\nUnsure\nYes",
        "ordinal": True,
    }
    define(curator, "safety", [question], options=1)
    save(curator, "Unsure")
    (stored,) = study.tasks.get().config["questions"]
    assert (stored["ordinal"], [one["name"] for one in stored["classes"]]) == (
        True,
        ["No", "Unsure", "Yes"],
    )
    open_batch(curator, "safety", study)
    phone = let_in(open_page(viewport=PHONE, has_touch=True), cast.person("Ann"))
    phone.goto(JUDGE)
    faultless(phone)
    for words in ("Unsure", "Yes"):
        pane = phone.locator(".pane").first
        phone.locator(".score-open").tap()
        pane.locator(".choice", has_text=words).tap()
        pane.get_by_role("button", name="Done").tap()
        phone.get_by_role("button", name="Submit and next").tap()
        expect(phone.locator(".choice :checked")).to_have_count(0)
    answers = released(study, tmp_path)
    assert [list(one["safe"].values()) for one in answers] == [["Unsure"], ["Yes"]]


def test_five_criteria_of_seven_points_for_each_of_two_answers_need_a_reason(
    curator, study, open_page, cast, let_in, tmp_path
):
    criteria = [
        {"title": name, "name": name, "type": "rating", "about": "option", "points": "7"}
        for name in LIKERT
    ]
    reason = {"title": "Why?", "name": "why", "type": "text", "required": True}
    define(curator, "likert", [*criteria, reason], options=2)
    save(curator, "Polite")
    open_batch(curator, "likert", study)
    page = let_in(open_page(viewport=WIDE), cast.person("Ann"))
    page.goto(JUDGE)
    faultless(page)
    pages_keys = ["7", "6", "5", "4", "3", "1", "2", "3", "4", "5"]
    for key in pages_keys:
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.locator(".decide [role=alert]")).to_contain_text("Why?")
    page.locator(".written textarea").fill("The first one is kinder.")
    page.get_by_role("button", name="Submit and next").click()
    expect(page.locator(".score :checked")).to_have_count(0)
    judgment = Judgment.objects.get()
    rows = judgment.answers.order_by("pk")
    numbers = {number: [] for number in judgment.shown}
    for row in rows.filter(value__isnull=False):
        numbers[row.option].append(row.value)
    assert numbers == dict(zip(judgment.shown, ([7, 6, 5, 4, 3], [1, 2, 3, 4, 5]), strict=True))
    assert rows.get(question="why").text == "The first one is kinder."
    (answer,) = released(study, tmp_path)
    assert answer["why"] == "The first one is kinder."
    assert {len(answer[name]) for name in LIKERT} == {2}


@pytest.mark.proof
def test_the_best_of_four_and_then_a_class_for_each(
    curator, study, open_page, cast, let_in, tmp_path
):
    best = {"title": "Which is best?", "name": "best", "type": "choice"}
    tone = {"title": "Tone", "name": "tone", "type": "label", "about": "option"}
    define(curator, "best", [best, tone | {"classes": "warm = Warm and kind\ncold"}], options=4)
    save(curator, "Which is best?")
    open_batch(curator, "best", study)
    phone = let_in(open_page(viewport=PHONE, has_touch=True), cast.person("Ann"))
    phone.goto(JUDGE)
    faultless(phone)
    phone.locator(".columns .choice").nth(2).tap()
    for n, pane in enumerate(phone.locator(".pane").all()):
        phone.locator(".stack button").nth(n).tap()
        phone.locator(".score-open").tap()
        pane.locator(".choice").nth(n % 2).tap()
        pane.get_by_role("button", name="Close").tap()
    phone.get_by_role("button", name="Submit and next").tap()
    expect(phone.locator(".columns :checked")).to_have_count(0)
    (answer,) = released(study, tmp_path)
    shown = Judgment.objects.filter(slot__study=study).get().shown
    assert set(answer["tone"].values()) == {"warm", "cold"}
    assert Answer.objects.filter(judgment__slot__study=study).get(question="best").label == str(
        shown[2]
    )
    assert len(answer["tone"]) == 4


@pytest.mark.proof
def test_numbers_from_0_to_100_are_typed_by_touch_and_keys_and_come_out_as_typed(
    curator, study, open_page, cast, let_in, tmp_path
):
    question = {
        "title": "How good is it?",
        "name": "quality",
        "type": "number",
        "about": "option",
        "step": "0.5",
    }
    define(curator, "score", [question], options=1)
    save(curator, "0 to 100, in steps of 0.5")
    open_batch(curator, "score", study)
    phone = let_in(open_page(viewport=PHONE, has_touch=True), cast.person("Ann"))
    phone.goto(JUDGE)
    faultless(phone)
    phone.locator(".score-open").tap()
    field = phone.locator("[data-number]")
    field.tap()
    field.fill("173")
    phone.get_by_role("button", name="Done").tap()
    phone.get_by_role("button", name="Submit and next").tap()
    expect(phone.locator(".decide [role=alert]")).to_contain_text("173 is not between 0 and 100")
    phone.locator(".score-open").tap()
    field.fill("73,5")
    phone.get_by_role("button", name="Done").tap()
    phone.get_by_role("button", name="Submit and next").tap()
    expect(phone.locator(".score-open")).to_contain_text("0/1")
    wide = let_in(open_page(viewport=WIDE), cast.person("Ann"))
    wide.goto(JUDGE)
    faultless(wide)
    wide.keyboard.type("80")
    expect(wide.locator("[data-number]")).to_have_value("80")
    wide.keyboard.press("Control+Enter")
    expect(wide.locator("[data-number]")).to_have_value("")
    assert [next(iter(each["quality"].values())) for each in released(study, tmp_path)] == [
        73.5,
        80,
    ]
