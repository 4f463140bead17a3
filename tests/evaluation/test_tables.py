"""Tables of models as CSV, LaTeX and SVG."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.datasets import folders
from annotation.evaluation import tables
from tests.evaluation.conftest import make_release, page

pytestmark = pytest.mark.django_db


def test_tables_leave_as_csv_latex_and_svg(cast, measured, login):
    browser = login(cast.person("Rui"))

    def export(name, ending):
        return browser.get(reverse("models-export", args=["tea", 1, name, ending]))

    rows = list(csv.reader(io.StringIO(export("accuracy", "csv").content.decode())))
    assert rows[0][:6] == ["group", "name", "pairs", "n", "Specific Easy", "Specific Medium"]
    scripted_row = next(row for row in rows if row[1] == "scripted-1")
    assert scripted_row[2:4] == ["18 of 18", "18"]
    assert [float(v) for v in scripted_row[4:7]] == [100, 75, 37.5]
    assert len(rows) == 3
    latex = export("accuracy", "tex").content.decode()
    assert "\\textbf{100.0}" in latex
    assert "co\\_1" in latex
    assert "\\& co" in latex
    settings = list(csv.reader(io.StringIO(export("settings", "csv").content.decode())))
    assert settings[0][2:] == ["pairs", "n", "Persona", "RAG", "RAG, filtered", "No Persona"]
    row = next(row for row in settings if row[1] == "scripted-1")
    assert (row[3], row[5], row[6], row[4] == row[7]) == ("18", "", "", True)
    picture = export("standings", "svg")
    assert picture["Content-Type"] == "image/svg+xml"
    assert picture.content.decode().count("<circle") == 3
    assert "<b>" not in picture.content.decode()
    for name, ending in (("accuracy", "svg"), ("nothing", "csv"), ("accuracy", "exe")):
        assert export(name, ending).status_code == 404


def test_the_command_prints_the_tables_of_a_release(capsys, measured, tmp_path):
    folder = str(folders.folder_of(measured))
    capsys.readouterr()
    call_command("leaderboard", "--release", folder, "--format", "json")
    rows = json.loads(capsys.readouterr().out)
    assert [row["rank"] for row in rows] == [1, 2, 2]
    call_command("leaderboard", "--release", folder, "--format", "latex")
    latex = capsys.readouterr().out
    # Counts and ranks have no digits after the point, and what is no merit is not in bold.
    assert "\\& co\\_1 (persona) & 1 & 18 & \\textbf{100.0} & 82.4 &" in latex
    assert latex.count("scripted-1 (persona) & 2 & 18 & 66.7 & 50.8 &") == 1
    call_command("leaderboard", "--release", folder, "--table", "settings", "--format", "latex")
    assert capsys.readouterr().out.startswith("% Accuracy by setting")
    with pytest.raises(CommandError, match="No model was measured"):
        other = make_release(tmp_path / "other", {("general", "easy"): "r"})
        call_command("leaderboard", "--release", str(other))


def test_latex_marks_the_best_and_dashes_what_is_missing():
    rows = [tables.Row("chat", "a%b", [1.0, None]), tables.Row("chat", "c", [0.5, 2.0])]
    text = tables.as_latex(tables.Table("T", ["x", "y"], rows))
    assert "a\\%b & \\textbf{1.0} & -- \\\\" in text
    assert "c & 0.5 & \\textbf{2.0} \\\\" in text
    assert text.count("\\textit{chat}") == 1


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
