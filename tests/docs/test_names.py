"""What the documentation names exists: pages and buttons, links, commands, calls, settings."""

import re
import tomllib
from pathlib import Path

import polib
import pytest
from django.core.management import get_commands
from drf_spectacular.generators import EndpointEnumerator

from annotation.judging.curator.recipes import recipes
from tests.docs.test_deploy import read_by_attune

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
FENCED = re.compile(r"^```.*?^```", re.S | re.M)
CODE = re.compile(r"`[^`\n]*`")
ITALICS = re.compile(r"(?<!\*)\*([^*|]+)\*(?!\*)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)
# In italics, but no words of a page.
STRESSED = {"one particular person"}


@pytest.fixture(scope="module")
def interface():
    """Every string of the interface in small letters, a line each."""
    catalogue = polib.pofile(str(ROOT / "locale/ko/LC_MESSAGES/django.po"))
    strings = [text for entry in catalogue for text in (entry.msgid, entry.msgid_plural)]
    strings += [recipe.title["en"] for recipe in recipes().values()]
    return "\n".join(" ".join(text.split()) for text in strings).lower()


def pattern(name: str) -> str:
    """A regular expression of a name; its … in the middle stands for a placeholder."""
    return re.escape(name.lower()).replace(r"\ …\ ", r"\ %\(\w+\)\w\ ")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_words_in_italics_stand_in_the_interface(page, interface):
    prose = CODE.sub("", FENCED.sub("", page.read_text("utf-8")))
    shown = {" ".join(name.split()) for name in ITALICS.findall(prose)} - STRESSED
    names = {part for name in shown for part in re.split(r" [›→/>] ", name)}
    assert {name for name in names if not re.search(pattern(name), interface)} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_files_and_headings(page):
    for link in LINK.findall(page.read_text("utf-8")):
        if link.startswith("https://"):
            continue
        name, _sharp, heading = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        if heading:
            headings = HEADING.findall(target.read_text("utf-8"))
            anchors = {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}
            assert heading in anchors, link


def test_the_guide_for_operators_names_every_command():
    guide = (DOCS / "operators.md").read_text("utf-8")
    ours = {name for name, app in get_commands().items() if app.startswith("annotation.")}
    assert {name for name in ours if not re.search(rf"`{name}[ `]", guide)} == set()


def test_the_page_of_the_api_names_every_call():
    rows = re.findall(r"^\| (.*?) \|", (DOCS / "api.md").read_text("utf-8"), re.M)
    named = re.sub(r"<\w+>", "{}", " ".join(rows))
    paths = {path for path, *_rest in EndpointEnumerator().get_api_endpoints()}
    undescribed = {"", "/api/schema/", "/api/docs/"}
    tails = {re.sub(r"{\w+}", "{}", path).removeprefix("/api/v1/") for path in paths}
    tails = {tail.removeprefix("studies/{}/") for tail in tails} - undescribed
    assert {tail for tail in tails if f"/{tail}`" not in named} == set()


def test_every_setting_is_documented():
    pages = "\n".join(page.read_text("utf-8") for page in PAGES)
    names = {name.removesuffix("_FILE") for name in read_by_attune()}
    assert {name for name in names if name not in pages} == set()


def test_every_extra_that_is_named_can_be_installed():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    texts = [path.read_text("utf-8") for path in (*PAGES, *(ROOT / "annotation").rglob("*.py"))]
    named = re.findall(r"attune[-_]platform[^\s\[]*\[(\w+)\]|\bextra [“`](\w+)", "\n".join(texts))
    assert {name for pair in named for name in pair if name} == {
        *("evaluate", "laptop", "server", "telemetry", "train")
    }
    assert set(extras["optional-dependencies"]) == {"dev", *(n for p in named for n in p if n)}
