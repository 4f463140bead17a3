"""BESPOKE from the first page to the last: a person's own history, queries, judgments, gold, exit.

As in `test_whole_path`, everything is real: `manage.py up`, its pages in Chromium, its model.
"""

import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser import keyboard
from tests.browser.test_whole_path import (
    MINUTES,
    PASSWORD,
    invite,
    join,
    person,  # noqa: F401 - a fixture
    press,
    rows,
    server,  # noqa: F401 - a fixture
)

pytestmark = pytest.mark.long

STUDY = "/studies/sea"
ANN, SECRET = "ann@example.org", "mina.park@example.net"
ARMS = (
    "no context: the question and what is found",
    "raw history, the sessions nearest to the question",
)
CRITERIA = ("Need Alignment", "Content Depth", "Tone", "Explanation Style")
QUERIES = {
    "Which train goes to the sea?": "I want to wake up by the sea, and I never fly.",
    "Where can I drink good tea?": "A quiet place that opens early, because I work at night.",
}
GOLD = "Take the night train at ten. It reaches the sea at six. Book a bed two weeks before."
LINES = [
    {"id": "d1", "title": "Night lines", "text": "The night train leaves at ten, by the sea at 6."},
    {"id": "d2", "title": "Tea", "text": "The tea house by the mill opens at five and is quiet."},
]
FILES = {
    "chatgpt.zip": "2 conversations · 4 messages",
    "takeout.zip": "2 searches · 1 visit",
}


# --- What the person brings ------------------------------------------------------------------


def zipped(members: dict) -> bytes:
    """A zip of {name: what becomes JSON}."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, json.dumps(content, ensure_ascii=False))
    return file.getvalue()


def chat(number: int, title: str, *texts: str) -> dict:
    """A conversation as ChatGPT exports it: a tree of messages under an empty root."""
    at = 1735725600.0 + 86_400 * number
    names = ["root", *(f"m{number}-{n}" for n in range(len(texts)))]
    mapping = {"root": {"id": "root", "message": None, "parent": None, "children": names[1:2]}}
    for n, text in enumerate(texts, start=1):
        message = {
            "id": names[n],
            "author": {"role": ("assistant", "user")[n % 2], "name": None, "metadata": {}},
            "create_time": at + n,
            "content": {"content_type": "text", "parts": [text]},
            "status": "finished_successfully",
            "metadata": {},
            "recipient": "all",
        }
        children = names[n + 1 : n + 2]
        mapping[names[n]] = {
            "id": names[n],
            "message": message,
            "parent": names[n - 1],
            "children": children,
        }
    return {
        "title": title,
        "create_time": at,
        "update_time": at + len(texts),
        "mapping": mapping,
        "current_node": names[-1],
        "conversation_id": f"c-{number}",
        "is_archived": False,
    }


def exports() -> list[dict]:
    """What ChatGPT and Google send: two chats, two searches and a visited page."""
    chats = [
        chat(
            0,
            "By night to the sea",
            f"Which night trains go to the sea? Write to {SECRET}.",
            "There is one at ten. It has beds, and breakfast.",
        ),
        chat(1, "A quarrel", "How do I tell my boss that I am ill?", "Say it in one sentence."),
    ]
    at = "2026-08-1{}T15:42:07.123Z"
    search = "https://www.google.com/search?q=tea"
    activity = [
        {"header": "Search", "title": title, "titleUrl": url, "time": at.format(n)}
        for n, (title, url) in enumerate(
            [
                ("Searched for tea house open at five", search),
                ("Searched for quiet tea", search),
                ("Visited The tea house by the mill", "https://example.org/mill"),
            ]
        )
    ]
    files = {
        "chatgpt.zip": {"conversations.json": chats, "user.json": {"id": "u", "email": SECRET}},
        "takeout.zip": {"Takeout/My Activity/Search/MyActivity.json": activity},
    }
    return [
        {"name": name, "mimeType": "application/zip", "buffer": zipped(members)}
        for name, members in files.items()
    ]


# --- The curator -----------------------------------------------------------------------------


def make_study(page):
    page.goto("/accounts/login/")
    page.get_by_label("Email").fill("ada@example.org")
    page.get_by_label("Password").fill(PASSWORD)
    press(page, "Log in")
    page.get_by_text("Create a study", exact=True).click()
    page.get_by_role("link", name="Empty").click()
    page.get_by_label("Title").fill("By the sea")
    page.get_by_label("Address").fill("sea")
    page.get_by_label("Consent text").fill("I bring my own history and judge answers to it.")
    press(page, "Create")
    for kind, name in (("feedback", "score"), ("claims", "claims")):
        page.goto(f"{STUDY}/tasks/?kind={kind}")
        page.get_by_label("Name").fill(name)
        page.get_by_label("Only the owner of a query judges").check()
        press(page, "Save")
        expect(page.locator("article", has_text=name)).to_contain_text("by the query's owner")


def choose_sources(page):
    page.goto(f"{STUDY}/candidates/")
    page.get_by_role("link", name="Sources and arms").click()
    for name in ("the owner's own history", "the study's document collection", *ARMS):
        page.get_by_label(name, exact=True).check()
    press(page, "Save")
    expect(page.get_by_text("Saved.", exact=True)).to_be_visible()
    text = "\n".join(map(json.dumps, LINES)).encode()
    page.locator("input[type=file]").set_input_files(
        {"name": "lines.jsonl", "mimeType": "application/jsonl", "buffer": text}
    )
    press(page, "Add")
    expect(page.locator("main")).to_contain_text("2 documents were added.", timeout=MINUTES)


def accept_held(page):
    """Let answers through that a text check held: a small model's text may be cut off."""
    page.goto(f"{STUDY}/review/answer/")
    held = page.locator("main [name=row]")
    for number in range(held.count()):
        held.nth(number).check()
    if held.count():
        press(page, "Accept the chosen")


def ask_for_answers(page):
    page.goto(f"{STUDY}/candidates/")
    for arm in ARMS:
        expect(page.get_by_label(arm)).to_be_checked()
    press(page, "Start")
    expect(page.locator("main")).to_contain_text("4 answers were asked for.")
    expect(page.locator("#progress tfoot td").first).to_have_text("4", timeout=5 * MINUTES)
    accept_held(page)
    page.goto(f"{STUDY}/tasks/")
    page.get_by_role("button", name="Open a batch of score").click()
    press(page, "Open 4 items")
    expect(page.locator("main")).to_contain_text("4 items are open.")


def ask_for_release(page):
    page.goto(f"{STUDY}/releases/")
    page.get_by_label("Layout").select_option("bespoke")
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Format").select_option("jsonl")
    press(page, "Freeze and write")


def release(page, server, folder: Path, number: int) -> Path:  # noqa: F811
    """Make a release in the browser, download it, and have it checked; its folder."""
    ask_for_release(page)
    link = page.get_by_role("link", name=f"Download release {number}")
    expect(link).to_be_visible(timeout=2 * MINUTES)
    with page.expect_download() as download:
        link.click()
    path = folder / f"{number}.zip"
    download.value.save_as(path)
    zipfile.ZipFile(path).extractall(folder / path.stem)
    root = next((folder / path.stem).rglob("manifest.json")).parent
    assert json.loads(server.run("check_release", str(root), "--json")) == {"ok": True}
    return root


# --- The annotator ---------------------------------------------------------------------------


def by_keys(page, name: str):
    """Press a button or a link of the page's main part by keyboard."""
    main = page.locator("main")
    button = main.get_by_role("button", name=name, exact=True)
    keyboard.press(button.or_(main.get_by_role("link", name=name, exact=True)).first)


def bring_history(page):
    """By keyboard alone, as all until the first own query."""
    page.goto("/history/uploads/")
    keyboard.attach(page.get_by_label("Your export"), exports())
    by_keys(page, "Send")
    for counts in FILES.values():
        card = page.locator("#uploads article", has_text=counts)
        expect(card).to_contain_text("imported", timeout=2 * MINUTES)
    expect(page.locator("#uploads progress")).to_have_count(0, timeout=2 * MINUTES)


def decide(page):
    """Keep the chat about trains as others would see it and the searches; drop the quarrel."""
    by_keys(page, "Sessions")
    keyboard.press(page.get_by_role("link", name="By night to the sea"))
    expect(page.locator("mark")).to_have_text(SECRET)
    by_keys(page, "As others would see it")
    expect(page.locator("main")).to_contain_text("Write to [EMAIL_1].")
    expect(page.locator("main")).not_to_contain_text(SECRET)
    by_keys(page, "Your history")
    keyboard.tick(page.get_by_label("all", exact=False).last)
    by_keys(page, "Keep")
    # Many at once are asked about, with what is still unread.
    keyboard.press(page.get_by_role("button", name=re.compile(r"^Keep \d+ sessions?$")))
    keyboard.press(page.get_by_role("link", name="A quarrel"))
    by_keys(page, "Drop d")
    by_keys(page, "Consent and erasing")
    for allowed in range(1, 4):
        by_keys(page, "Allow")
        expect(page.get_by_role("button", name="Take it back")).to_have_count(allowed)


def write_queries(page):
    page.goto("/")
    by_keys(page, "Your queries")
    for text, need in QUERIES.items():
        by_keys(page, "Write a query")
        keyboard.write(page.get_by_label("Your question, in few words"), text)
        keyboard.write(page.get_by_label("What do you really want to know?"), need)
        expect(page.get_by_text("Saved.", exact=True)).to_be_visible()
        page.reload()
        expect(page.get_by_label("Your question, in few words")).to_have_value(text)
        expect(page.get_by_label("What do you really want to know?")).to_have_value(need)
        keyboard.write(page.get_by_label("Find in what you keep"), "night train")
        keyboard.tick(page.locator("#hits").get_by_label("By night to the sea"))
        # What is picked stays, above what the next words find.
        keyboard.write(page.get_by_label("Find in what you keep"), "tea house")
        hit = page.locator("#hits label", has_text="tea house").first
        expect(hit).to_be_visible(timeout=MINUTES)
        expect(page.locator("#grounds").get_by_label("By night to the sea")).to_be_checked()
        by_keys(page, "Ready: ask for answers")
        expect(page.locator("main")).to_contain_text("Your query is ready to be answered.")
    expect(page.locator("article")).to_have_count(2)


def begin_judging(page):
    page.goto(f"{STUDY}/judge/")
    tour = page.get_by_role("dialog")
    expect(tour.get_by_role("button", name=re.compile("Next|Start judging"))).to_be_visible()
    while tour.get_by_role("button", name="Next").count():
        tour.get_by_role("button", name="Next").click()
    tour.get_by_role("button", name="Start judging").click()


def submit(page):
    slot = page.locator("input[name=slot]").get_attribute("value")
    page.get_by_role("button", name="Submit and next").click()
    expect(page.locator(f"input[value='{slot}']")).to_have_count(0)


def give_feedback(page) -> list[int]:
    """Score every answer, one at a time; the scores given."""
    begin_judging(page)
    given = []
    while page.locator("form.judge").count():
        assert not re.search(r"SmolLM|smollm|search-raw|strategy", page.content())
        score = len(given) + 2
        given.append(score)
        for name, row in zip(CRITERIA, page.locator(".criterion").all(), strict=True):
            row.locator(f"input[value='{score}']").check()
            row.locator("textarea").fill(f"{name}: worth {score}.")
        submit(page)
    return given


def write_gold(page):
    """Edit the best answer to the first query and have it split; the claims judged."""
    page.goto("/")
    page.get_by_role("link", name="Your queries", exact=True).click()
    article = page.locator("article", has_text=next(iter(QUERIES)))
    article.get_by_role("link", name="Gold response and rubric").click()
    expect(page.get_by_label("The response")).not_to_be_empty()
    page.get_by_label("The response").fill(GOLD)
    press(page, "Save as the gold response")
    page.get_by_text("What you changed in the model's answer").click()
    expect(page.locator(".diff ins").first).to_be_visible()
    press(page, "Split into claims")
    shown = page.get_by_role("link", name="It is written: show it")
    expect(shown).to_be_visible(timeout=3 * MINUTES)
    press(page, "Write it from my judgments")
    expect(page.get_by_text("A model is writing the rubric.")).to_be_visible()
    expect(shown).to_be_visible(timeout=3 * MINUTES)
    shown.click()
    expect(page.locator("#rubric")).not_to_be_empty()


def judge_claims(page) -> list[str]:
    """Edit the first claim, drop the second, keep the others; what is kept."""
    page.get_by_role("button", name="Judge", exact=True).click()
    begin_judging(page)
    kept = []
    for n, claim in enumerate(page.locator(".claim").all()):
        text = claim.locator("legend").inner_text().partition(". ")[2]
        verdict = ("edit", "drop")[n] if n < 2 else "keep"
        claim.locator(f"input[value={verdict}]").check()
        if verdict == "edit":
            text = "The night train leaves at ten."
            claim.locator("textarea").fill(text)
        kept += [text] if verdict != "drop" else []
    submit(page)
    return kept


def leave(page):
    """Take the judgments out of the study, and erase the history."""
    page.goto(f"{STUDY}/leave/")
    press(page, "Leave, and take my judgments out")
    expect(page.locator("main")).to_contain_text("your 5 judgments are taken out.")
    page.get_by_role("link", name="Your history").click()
    page.get_by_role("link", name="Consent and erasing").click()
    page.get_by_label("Yes, erase my whole history").check()
    press(page, "Erase my history")
    page.goto("/history/")
    expect(page.locator("main")).to_contain_text("No session yet.", timeout=MINUTES)


# --- What came of it -------------------------------------------------------------------------


def prompts(server) -> dict[str, str]:  # noqa: F811
    """All that models were sent and answered, by purpose, as text."""
    code = (
        "import json; from annotation.candidates.models import Candidate;"
        "print(json.dumps([[c.purpose, c.strategy, [c.prompt, c.parameters, c.text]]"
        " for c in Candidate.every.filter(study__slug='sea')], ensure_ascii=False))"
    )
    sent = json.loads(server.run("shell", "--no-imports", "-c", code))
    found = {}
    for purpose, strategy, said in sent:
        name = strategy if purpose == "answer" else purpose
        found[name] = found.get(name, "") + json.dumps(said, ensure_ascii=False)
    return found


def nowhere(root: Path, text: str) -> bool:
    """Whether no file below ``root`` holds ``text``."""
    files = [file for file in root.rglob("*") if file.is_file()]
    assert files
    return not any(text.encode() in file.read_bytes() for file in files)


def check_release_of_one(root: Path, given: list[int], kept: list[str]):
    """Everything the person gave and allowed is there, under a pseudonym, and no more."""
    table = rows(root / "queries/query_table.jsonl")
    assert {row["query"]: row["gold_information_need"] for row in table} == QUERIES
    (told,) = rows(root / "chat_history/chat_history.jsonl")
    assert told["user"] == "user1"
    assert "Write to [EMAIL_1]." in told["history"]
    assert len(rows(root / "search_history/search_history.jsonl")) == 3
    judged = [
        json.loads(row[f"{name}_value"])
        for name, file in (
            ("evaluation_shot", "evaluation_shot/evaluation_shot.jsonl"),
            ("meta_test_set", "meta_test/meta_test_set.jsonl"),
        )
        for row in rows(root / file)
    ]
    responses = [one for query in judged for one in query["response_list"]]
    assert sorted(one["tone"]["score"] for one in responses) == sorted(given)
    assert all(
        one["tone"]["feedback"] == f"Tone: worth {one['tone']['score']}." for one in responses
    )
    (gold,) = rows(root / "gold_information/gold_information.jsonl")
    assert json.loads(gold["gold_information_value"]) == {"gold_information": kept}
    (rubric,) = rows(root / "personalized_rubric/personalized_rubric.jsonl")
    assert rubric["personalized_rubric_value"]
    assert nowhere(root, SECRET)
    assert nowhere(root, ANN)
    assert nowhere(root, "quarrel")


def test_a_person_brings_a_history_and_takes_it_away_again(person, server, tmp_path):  # noqa: F811
    ada, ann = person(), person()
    make_study(ada)
    choose_sources(ada)
    join(ann, invite(ada, "sea"), ANN)
    bring_history(ann)
    decide(ann)
    write_queries(ann)
    ask_for_answers(ada)
    given = give_feedback(ann)
    assert given == [2, 3, 4, 5]
    write_gold(ann)
    kept = judge_claims(ann)

    sent = prompts(server)
    assert sorted(sent) == ["claims", "rubric", "search", "search-raw-selected"]
    assert SECRET not in str(sent)
    assert "boss" not in str(sent)
    assert "[EMAIL_1]" in sent["search-raw-selected"]
    assert [
        name for name in sorted(sent) if any(need in sent[name] for need in QUERIES.values())
    ] == ["rubric"]

    first = release(ada, server, tmp_path, 1)
    check_release_of_one(first, given, kept)
    leave(ann)
    # Nothing is left to publish, and a release without rows is refused.
    ask_for_release(ada)
    row = ada.locator("tr", has_text="The release would hold no scored responses.")
    expect(row).to_contain_text("0 items with 0 judgments", timeout=2 * MINUTES)
