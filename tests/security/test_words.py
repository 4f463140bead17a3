"""Every page speaks in words: no task's address, no code of an act, no plural of one thing."""

import re

import lxml.html
import pytest
from django.urls import reverse

from annotation.agreement.models import AgreementResult
from annotation.agreement.tasks import recompute_due
from annotation.core import acts
from annotation.studies.models import TaskDefinition
from tests.security.table import TABLE
from tests.security.test_routes import NAMES, ROLES

# Programs, commands, ids, and what people wrote.
SILENT = "//script|//style|//pre|//code|//template|//*[contains(@class, 'id')]|//*[@dir='auto']"
RENAMED = {"best": "best-answer", "other": "other-answer", "judged": "was-judged"}


def said(body: str) -> str:
    """What a page says: its text and the names of its parts."""
    tree = lxml.html.fromstring(body)
    for part in tree.xpath(SILENT):
        part.drop_tree()
    named = tree.xpath("//@aria-label|//@title|//@alt|//@placeholder")
    lines = [*tree.itertext(), *named]
    return "\n".join(" ".join(line.split()) for line in lines if line.strip())


@pytest.fixture
def pages(world):
    """A function that gives what each page says to two who may read it: (page and role, text)."""
    recompute_due()
    for old, new in RENAMED.items():
        TaskDefinition.objects.filter(name=old).update(name=new)
        AgreementResult.objects.filter(task=old).update(task=new)

    def read(language="en"):
        for name in NAMES:
            row = TABLE[name]
            if row.api or "GET" not in row.methods:
                continue
            readers = [role for role in ROLES if row.expected("GET", role) == 200]
            args = {key: RENAMED.get(value, value) for key, value in row.args(world).items()}
            for role in {*readers[:1], *readers[-1:]}:
                browser = world.browser(role, headers={"Accept-Language": language})
                answer = browser.get(reverse(name, kwargs=args))
                if answer.status_code == 200 and "html" in answer["Content-Type"]:
                    yield f"{name} as {role}", said(answer.content.decode())

    return read


def found(pages, pattern: str) -> list[str]:
    hits = []
    for address, text in pages():
        for line in text.splitlines():
            if re.search(pattern, line):
                hits.append(f"{address}: {line[:120]}")
    print("\n".join(hits))
    return hits


def test_no_page_shows_a_tasks_address(pages):
    assert found(pages, "best-answer|other-answer|was-judged") == []


def test_no_page_shows_the_code_of_an_act(pages):
    assert found(pages, "|".join(map(re.escape, acts.WORDS))) == []


def test_one_thing_is_told_in_the_singular(pages):
    assert found(pages, r"(?<![\d.,])\b1 \w+s\b") == []
