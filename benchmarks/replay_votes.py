"""Judge a converted study through its web pages as a votes file says, and compare the release.

    python -m benchmarks.replay_votes --server URL --study SLUG --votes FILE --limit 300

The study's bundle lies beside FILE and has been imported without votes. Everything goes the way of
people: accounts made by ``add_member`` log in through the form and answer the items that the
judging page shows them. The page does not tell which item it shows, so its texts are looked up in
the bundle. Afterwards the votes of a ``long`` release are compared with what was sent.
"""

import argparse
import csv
import http.cookiejar
import json
import math
import secrets
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from collections import Counter, defaultdict
from html.parser import HTMLParser
from pathlib import Path

from annotation.core.text import render

TIMEOUT = 30
ROOT = Path(__file__).parents[1]


class Page(HTMLParser):
    """What a form page holds: hidden fields, and texts and choices by their heading."""

    def __init__(self, html: str):
        super().__init__()
        self.hidden: dict[str, str] = {}
        self.choices: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self._open, self._heading = 0, ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        heading = values.get("aria-labelledby", "")
        if tag == "input" and values.get("type") == "hidden":
            self.hidden.setdefault(values["name"], values.get("value") or "")
        elif tag == "input" and values.get("name") == "choice" and heading:
            self.choices[heading] = values["value"]
        elif tag == "div" and self._open:
            self._open += 1
        elif tag == "div" and "text" in (values.get("class") or "").split():
            self._open, self._heading = 1, heading
            self.texts[heading] = ""

    def handle_endtag(self, tag):
        if tag == "div" and self._open:
            self._open -= 1

    def handle_data(self, data):
        if self._open:
            self.texts[self._heading] += data

    @property
    def answers(self) -> dict[str, str]:
        """Shown text of each answer, and the value of its choice."""
        return {
            " ".join(self.texts[heading].split()): value for heading, value in self.choices.items()
        }


def _as_shown(text: str) -> str:
    """The words of ``text`` as a page shows them."""
    return " ".join(Page(f'<div class="text">{render(text)}</div>').texts[""].split())


class Book:
    """The votes to replay, found by the texts of an item's answers."""

    def __init__(self, votes: Path):
        folder = votes.parent
        shown = {row["id"]: _as_shown(row["text"]) for row in _rows(folder / "candidates.jsonl")}
        self.texts = {}
        self.items = defaultdict(list)
        for row in _rows(folder / "items.jsonl"):
            self.texts[row["id"]] = {candidate: shown[candidate] for candidate in row["candidates"]}
            self.items[frozenset(self.texts[row["id"]].values())].append(row["id"])
        self.votes = defaultdict(list)
        with votes.open(encoding="utf-8", newline="") as stream:
            for vote in csv.DictReader(stream):
                self.votes[vote["task"]].append(vote)
        self.most = max(len(some) for some in self.votes.values())

    def next_vote(self, page: Page) -> tuple[dict, str]:
        """An unused vote for the item on the page, and the choice that says the same there."""
        items = self.items.get(frozenset(page.answers), [])
        if len(items) != 1:
            sys.exit(f"{len(items)} items of the bundle have the answers on the page, not one.")
        item = items[0]
        if not self.votes[item]:
            sys.exit(f"The item {item} is shown more often than it has votes.")
        vote = self.votes[item].pop(0)
        if vote["label"] in ("tie", "none"):
            return vote, vote["label"]
        return vote, page.answers[self.texts[item][vote["label"]]]


class Browser:
    """One signed-in person."""

    def __init__(self, server: str, study: str):
        self.server, self.judge = server, f"{server}/studies/{study}/judge/"
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(jar)

    def open(self, url: str, fields: dict | None = None) -> Page:
        """GET, or POST where there are fields; follows redirects."""
        data = urllib.parse.urlencode(fields).encode() if fields else None
        with self.opener.open(url, data, timeout=TIMEOUT) as answer:
            return Page(answer.read().decode())

    def log_in(self, email: str, password: str) -> None:
        """Through the log-in form, with its token."""
        url = f"{self.server}/accounts/login/"
        form = self.open(url)
        self.open(url, form.hidden | {"login": email, "password": password})

    def answer(self, book: Book, count: int) -> list[tuple[str, str]]:
        """Judge up to ``count`` items; (task, label) of each."""
        page, sent = self.open(self.judge), []
        while "slot" in page.hidden and len(sent) < count:
            vote, choice = book.next_vote(page)
            fields = {"choice": choice, "reason": vote["reason"], "seconds": vote["seconds"]}
            page = self.open(self.judge, page.hidden | fields)
            sent.append((vote["task"], vote["label"]))
        return sent


def replay(server: str, study: str, accounts: list[tuple], book: Book, limit: int) -> dict:
    """Judge ``limit`` items in all, shared among ``accounts`` (e-mail, password).

    Returns what each e-mail sent, as a list of (task, label).
    """
    share, sent = math.ceil(limit / len(accounts)), {}
    for email, password in accounts:
        browser = Browser(server.rstrip("/"), study)
        browser.log_in(email, password)
        left = limit - sum(map(len, sent.values()))
        sent[email] = browser.answer(book, min(share, left))
    return sent


def same(sent: dict, exported: list[dict]) -> bool:
    """Whether the exported votes are those sent: workers are pseudonyms, their votes are not."""
    by_worker = defaultdict(list)
    for row in exported:
        by_worker[row["worker"]].append((row["task"], row["label"]))
    return _kinds(sent) == _kinds(by_worker)


def _kinds(votes: dict) -> Counter:
    return Counter(tuple(sorted(some)) for some in votes.values() if some)


def _rows(path: Path):
    with path.open(encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def _manage(*arguments, words: str = "") -> None:
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, input=words, text=True, stdout=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"`manage.py {arguments[0]}` failed; what it says stands above.")


def main() -> None:
    """Make the accounts, replay, release, compare; exit 1 where the votes differ."""
    parser = argparse.ArgumentParser(prog="replay_votes", description=__doc__.split("\n")[0])
    parser.add_argument("--server", required=True, help="address of a running server")
    parser.add_argument("--study", required=True, help="slug of the imported study")
    parser.add_argument("--votes", required=True, type=Path, help="votes.csv in the bundle folder")
    parser.add_argument("--limit", type=int, default=300, help="votes to replay (300)")
    options = parser.parse_args()
    book = Book(options.votes)
    accounts = [
        (f"replay-{number}@example.org", secrets.token_urlsafe(16))
        for number in range(1, book.most + 1)
    ]
    for email, password in accounts:
        member = (options.study, email, "--role", "annotator", "--password-stdin", "--consented")
        _manage("add_member", *member, words=password)
    sent = replay(options.server, options.study, accounts, book, options.limit)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "release"
        _manage("release", options.study, "--layout", "long", "--format", "csv", "--out", str(out))
        with (out / "votes.csv").open(encoding="utf-8", newline="") as stream:
            exported = list(csv.DictReader(stream))
    equal = same(sent, exported)
    total = sum(map(len, sent.values()))
    print(f"replayed={total} exported={len(exported)} equal={'yes' if equal else 'no'}")
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main()
