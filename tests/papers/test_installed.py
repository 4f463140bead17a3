"""A fourth paper, installed as a package beside Attune (``installed``), is a paper like the others.

Nothing in Attune names it: it is found by its entry point alone.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from django.conf import settings as configured
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command

from annotation.api.releases import ReleaseBody
from annotation.datasets import folders, freeze, papers, release_import
from annotation.datasets.check import check_release
from annotation.judging.batches.open import open_batch
from annotation.judging.curator import recipes
from annotation.judging.models import Judgment
from annotation.judging.work import queue, submit
from annotation.studies.models import Study

INSTALLED = Path(__file__).parent / "installed"
OURS = ["bespoke", "personafeedback", "personalbench"]
ORDERS = {"Ann": ("q1-0", "q1-1", "q1-2"), "Bo": ("q1-2", "q1-0", "q1-1")}


def forget():
    papers.registered.cache_clear()
    recipes.recipes.cache_clear()


@pytest.fixture
def podium(monkeypatch):
    """The package is installed: its folder is on the path, as site-packages is."""
    monkeypatch.syspath_prepend(INSTALLED)
    forget()
    yield
    for name in [name for name in sys.modules if name.startswith("attune_podium")]:
        del sys.modules[name]
    forget()


@pytest.fixture
def ranked(cast, login, podium):
    """The study "medals", made of the paper's recipe in the browser, whose item two people rank."""
    ada = login(cast.person("Ada", is_superuser=True))
    assert "Three on a podium" in ada.get("/studies/new/").text
    fields = {"title": "Medals", "languages": ["en", "ko"], "consent": "I take part."}
    assert ada.post("/studies/new/", fields | {"recipe": "podium"}).status_code == 302
    study = Study.objects.get(slug="medals")
    cast.candidates(cast.query(study), 3)
    open_batch(study, study.tasks.get())
    cast.members(study, dict.fromkeys(ORDERS, "annotator"))
    study.refresh_from_db()
    ids = {c.external_id: str(c.pk) for c in study.candidates.all()}
    for name, order in ORDERS.items():
        person = cast.person(name)
        slot = queue.claim(study, person)
        answer = {"ranking": [ids[answer] for answer in order]}
        submit.submit(study, slot, person, answer, key=name)
    return study


def rankings(folder) -> list[dict]:
    """What people said in a release, in whatever order they said it."""
    (line,) = (folder / "podiums.jsonl").read_text().splitlines()
    places = [ranking["places"] for ranking in json.loads(line)["rankings"]]
    return sorted(places, key=lambda places: places["q1-0"])


def released(study) -> Path:
    release = freeze.request_release(study, "podium", "", None)
    freeze.build(release.pk)
    return folders.folder_of(release)


def test_a_process_finds_it_by_its_entry_point(tmp_path):
    program = "import django; django.setup(); from annotation.datasets import papers"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; print(*papers.registered())"],
        cwd=configured.BASE_DIR,
        env={**os.environ, "ATTUNE_DATA": str(tmp_path), "PYTHONPATH": str(INSTALLED)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout.split() == [*OURS, "podium"]


def test_it_is_not_there_where_it_is_not_installed():
    assert list(papers.registered()) == OURS


def test_its_recipe_makes_a_study_with_its_guideline_and_the_consent_text_of_all(ranked):
    task = ranked.tasks.get()
    assert (task.kind, task.overlap, task.config["options"]) == ("ranking", 2, 3)
    assert task.guideline == "Put the answer that you would hang a medal on first."
    assert recipes.recipes()["podium"].consent == recipes.recipes()["empty"].consent


def test_its_layout_is_offered_and_proposed_by_the_page_the_api_and_the_command(
    ranked, _data, client, tmp_path, capsys
):
    page = client.get("/studies/medals/releases/").text
    assert '<option value="podium" selected>podium: in the form of its paper</option>' in page
    assert "“podium”: JSON Lines" in page
    assert ReleaseBody(data={"layout": "podium"}).is_valid()
    call_command("release", "medals", "--layout", "podium", "--out", str(tmp_path / "out"))
    assert "medals release 1 (podium, jsonl): 1 items, 2 judgments" in capsys.readouterr().out


def test_the_card_is_the_papers(ranked, _data):
    card = (released(ranked) / "README.md").read_text()
    assert "Questions with three answers, and in which order each person puts them." in card
    assert "- Nobody said how far apart two answers are." in card
    assert "after the method of the paper “Podium: Three Answers in Order”" in card
    assert "Tiers" not in card and "lm_eval" not in card


@pytest.mark.parametrize("manifest", [True, False])
def test_a_release_is_recognised_and_read_back_as_it_was(ranked, _data, manifest):
    folder = released(ranked)
    assert check_release(folder) == []
    if not manifest:
        (folder / "manifest.json").unlink()
    report = release_import.import_release(folder, "again")
    assert (report["layout"], report["items"], report["votes"]) == ("podium", 1, 2)
    assert report["rejected"] == [] and report["unknown_columns"] == []
    again = Study.objects.get(slug="again")
    assert Judgment.objects.filter(slot__study=again, imported=True).count() == 2
    said = [{name: place for place, name in enumerate(o, 1)} for o in ORDERS.values()]
    assert rankings(folder) == rankings(released(again)) == said


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("json:dumps", r"The entry point odd \(json:dumps\) is no Paper\."),
        ("annotation.papers.bespoke.paper:PAPER", r"Two papers have the name bespoke\."),
    ],
)
def test_an_entry_point_that_is_no_paper_or_has_the_name_of_one_is_refused(
    monkeypatch, value, sentence
):
    odd = EntryPoint("odd", value, papers.GROUP)
    monkeypatch.setattr(papers, "SOURCES", [*papers.SOURCES, lambda: [odd]])
    papers.registered.cache_clear()
    with pytest.raises(ImproperlyConfigured, match=sentence):
        papers.registered()


def test_a_paper_whose_releases_nothing_reads_is_refused(podium):
    from attune_podium.paper import PAPER

    with pytest.raises(ImproperlyConfigured, match="podium needs either a reader or a store"):
        replace(PAPER, reader=None)


@pytest.mark.parametrize("name", OURS)
def test_hardly_any_general_code_spells_a_papers_name(name):
    code = (configured.BASE_DIR / "annotation").rglob("*.py")
    general = [path for path in code if "papers" not in path.parts]
    assert len([path for path in general if name in path.read_text("utf-8").lower()]) <= 3
