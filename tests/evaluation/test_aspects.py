"""Scores on aspects beside the standings."""

import csv
import io
import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from tests.evaluation.conftest import make_release, page

pytestmark = pytest.mark.django_db


def test_equal_scores_on_aspects_count_a_half_as_everywhere(capsys, tmp_path):
    """Table 4: the chosen answer scores higher. Figure 4: answers as rows."""
    folder = make_release(tmp_path / "r", {("specific", "easy"): "rr", ("general", "hard"): "r"})
    scores = {"specific-easy-0": (5, 3), "specific-easy-1": (2, 2), "general-hard-0": (1, 4)}
    lines = [f"{name}-{side},helpfulness,{value}" for name, pair in scores.items()
             for side, value in zip("cr", pair, strict=True)]  # fmt: skip
    (tmp_path / "a.csv").write_text("\n".join(["candidate,aspect,score", *lines]) + "\n")
    options = ("--release", str(folder), "--aspects", str(tmp_path / "a.csv"), "--format", "json")
    call_command("leaderboard", *options, "--table", "aspects")
    values = {(row["group"], row["name"]): (row["n helpfulness"], row["helpfulness"]) for row in
              json.loads(capsys.readouterr().out)}  # fmt: skip
    assert values["specific", "easy"] == values["specific", "whole"] == (2, 0.75)
    assert (values["general", "hard"], values["general", "easy"]) == ((1, 0), (0, None))
    call_command("leaderboard", *options, "--table", "correlations")
    rows = json.loads(capsys.readouterr().out)
    assert (rows[0]["n"], rows[0]["helpfulness"]) == (6, pytest.approx(1))
    # By hand, of 5, 2, 1, 3, 2, 4 and 1, 1, 1, 0, 0, 0: -0.5 / sqrt(65 / 6 * 1.5).
    assert rows[0]["chosen"] == pytest.approx(-0.5 / (65 / 6 * 1.5) ** 0.5)


def test_scores_of_a_studys_answers_on_aspects_stand_on_the_page(cast, release, login):
    """The scores that `import_scores` stored; a source of its own is a column of its own."""
    study, browser = release.study, login(cast.person("Rui"))
    assert "aspects" not in browser.get(page(release)).content.decode()
    query = cast.query(study)
    for side, value in (("c", 4.0), ("r", 2.0)):
        answer = study.candidates.create(
            query=query, external_id=f"specific-easy-0-{side}", text=side
        )
        answer.aspect_scores.create(aspect="helpfulness", score=value, source="one")
        answer.aspect_scores.create(aspect="helpfulness", score=-value, source="two")
        answer.aspect_scores.create(aspect="coherence", score=1.0)
    text = browser.get(page(release)).content.decode()
    assert "Accuracy on aspects" in text
    assert "Pearson&#x27;s correlation of aspects and choice" in text
    address = reverse("models-export", args=["tea", release.version, "aspects", "csv"])
    rows = list(csv.DictReader(io.StringIO(browser.get(address).content.decode())))
    easy = next(row for row in rows if (row["group"], row["name"]) == ("specific", "easy"))
    assert easy == {
        "group": "specific", "name": "easy", "n coherence": "1", "coherence": "0.5",
        "n helpfulness (one)": "1", "helpfulness (one)": "1.0",
        "n helpfulness (two)": "1", "helpfulness (two)": "0.0",
    }  # fmt: skip
