"""Tables of models as CSV, LaTeX and SVG."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.datasets import folders
from annotation.evaluation import tables
from tests.evaluation.conftest import make_release

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
