"""The page of models on a release: cost first, workers, standings, exports."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from annotation.datasets import folders
from annotation.evaluation import leaderboard, tables, tasks
from annotation.evaluation.models import Benchmark, Run
from tests.api.caller import Caller
from tests.commands import run
from tests.evaluation.conftest import CELLS, ask, make_release, page

pytestmark = pytest.mark.django_db


def test_a_curator_sees_the_cost_before_anything_is_asked(cast, release, server, login):
    browser = login(cast.person("Carol"))
    shown = ask(browser, release)
    assert (shown.status_code, "36 calls" in shown.text) == (200, True)
    assert (Run.objects.count(), server.calls) == (0, 0)
    assert ask(browser, release, confirmed="1").status_code == 302
    run = Run.objects.get()
    assert (run.status, run.background, run.created_by.name) == ("requested", True, "Carol")
    assert "No worker is running" in browser.get(page(release)).text
    tasks.work(run.pk)
    assert run.benchmark.release == release
    run.refresh_from_db()
    assert run.result["average"]["value"] == pytest.approx(1200 / 18)
    shown = browser.get(page(release)).text
    assert "66.7" in shown
    # Six of the pairs have answers of nearly equal length.
    assert "cannot be told" in shown
    assert "fewer than 10 pairs" in run.result["length_controlled"]["reason"]


def test_models_that_differ_by_chance_share_a_rank(cast, measured, login):
    rows = leaderboard.standings(Benchmark.objects.get())
    placed = [(row.rank, row.run.setting) for row in rows]
    assert placed == [(1, "persona"), (2, "persona"), (2, "none")]
    assert rows[1].behind.value == pytest.approx(1200 / 18 - 100)
    assert rows[1].behind.high < 0
    shown = login(cast.person("Rui")).get(page(measured)).text
    assert "&lt;b&gt;oracle" in shown
    assert "<b>oracle" not in shown
    assert "Ask a model" not in shown


def test_the_page_takes_the_same_queries_at_one_run_and_three(
    cast, measured, login, django_assert_max_num_queries
):
    browser = login(cast.person("Rui"))
    browser.get(page(measured))
    with django_assert_max_num_queries(14) as three:
        browser.get(page(measured))
    Run.objects.exclude(model="scripted-1", setting="persona").delete()
    browser.get(page(measured))
    with django_assert_max_num_queries(14) as alone:
        browser.get(page(measured))
    assert len(three) == len(alone)


@pytest.fixture
def partly(measured, tmp_path):
    """Beside the three runs on all pairs one on three and one on five of them, always right."""
    folder = folders.folder_of(measured)
    lines = ["candidate,score"]
    lines += [f"{half}-{tier}-{n}-{side}" for (half, tier), marks in CELLS.items()
              for n in range(len(marks)) for side in ("c,2", "r,1")]  # fmt: skip
    (tmp_path / "few.csv").write_text("\n".join(lines) + "\n")
    options = {"scores": tmp_path / "few.csv", "group": "chat"}
    call_command("evaluate", release=folder, name="few", limit=3, **options)
    call_command("evaluate", release=folder, name="more", limit=5, **options)
    return measured


def test_runs_on_other_pairs_stand_apart_and_are_never_the_best(cast, partly, login):
    """A run on five pairs is not compared with one on eighteen, by rank or by bold type."""
    benchmark = Benchmark.objects.get()
    rows = leaderboard.standings(benchmark)
    assert [(row.rank, row.run.model, row.measured_on) for row in rows] == [
        (1, "<b>oracle</b> & co_1", "18 of 18"), (2, "scripted-1", "18 of 18"),
        (2, "scripted-1", "18 of 18"), (None, "more", "5 of 18"), (None, "few", "3 of 18"),
    ]  # fmt: skip
    Run.objects.filter(model="more").update(
        result=Run.objects.get(model="more").result | {"average": {"value": 100.0, "low": 90.0,
                                                                   "high": 100.0, "n": 5}}
    )  # fmt: skip
    Run.objects.filter(model__contains="oracle").delete()
    folder = str(folders.folder_of(partly))
    for table in ("accuracy", "settings"):
        latex = run("leaderboard", "--release", folder, "--table", table, "--format", "latex")
        main, *others = latex.split("On other pairs: ")
        assert [part.split(" \\\\")[0] for part in others] == ["5 of 18}", "3 of 18}"]
        assert "scripted-1 & 18 & " in main
        assert "more & 5 & " in others[0]
        assert not any("\\textbf" in part for part in (main, *others))
    rows = json.loads(run("leaderboard", "--release", folder, "--format", "json"))
    found = {row["name"]: row for row in rows}
    assert (found["more (persona)"]["rank"], found["more (persona)"]["pairs"]) == (None, "5 of 18")
    shown = login(cast.person("Rui")).get(page(partly)).text
    assert shown.count("Measured on others (5 of 18): not comparable with the rows above") == 3
    assert "more (persona), 5 of 18" in shown


def test_runs_on_as_many_but_other_pairs_are_told_apart(partly):
    benchmark = Benchmark.objects.get()
    run = Run.objects.get(model="few")
    free = next(n for n in range(18) if n not in run.outcomes["place"])
    places = [*run.outcomes["place"][:-1], free]
    Run.objects.create(
        benchmark=benchmark, kind=run.kind, model="other", setting="persona", status="done",
        result=run.result | {"model": "other"}, finished_at=timezone.now(),
        outcomes=run.outcomes | {"place": places},
    )  # fmt: skip
    names = leaderboard.measured_on(benchmark, leaderboard.newest(benchmark))
    assert sorted(names) == ["18 of 18"] * 3 + ["3 of 18", "3 of 18 (2)", "5 of 18"]


def test_the_api_asks_and_tells(cast, release, server, client):
    carol, rui = (Caller(client, cast.person(name)) for name in ("Carol", "Rui"))
    address = f"releases/{release.public_id}/evaluations/"
    wanted = {"endpoint": "scripted", "setting": "none", "limit": 4}
    assert rui("POST", address, wanted).status_code == 403
    assert carol("POST", address, {"setting": "x"}).status_code == 400
    answer = carol("POST", address, wanted)
    assert (answer.status_code, answer.json()["status"]) == (202, "requested")
    tasks.work(Run.objects.get().pk)
    row = rui("GET", answer["Location"].partition("/api/v1/")[2]).json()
    assert (row["status"], row["result"]["n"]) == ("done", 4)
    assert [r["id"] for r in rui("GET", address).json()] == [row["id"]]


def test_tables_leave_as_csv_latex_and_svg(cast, measured, login):
    browser = login(cast.person("Rui"))

    def export(name, ending):
        return browser.get(reverse("models-export", args=["tea", 1, name, ending]))

    rows = list(csv.reader(io.StringIO(export("accuracy", "csv").text)))
    assert rows[0][:6] == ["group", "name", "pairs", "n", "Specific Easy", "Specific Medium"]
    scripted_row = next(row for row in rows if row[1] == "scripted-1")
    assert scripted_row[2:4] == ["18 of 18", "18"]
    assert [float(v) for v in scripted_row[4:7]] == [100, 75, 37.5]
    assert len(rows) == 3
    latex = export("accuracy", "tex").text
    assert "\\textbf{100.0}" in latex
    assert "co\\_1" in latex
    assert "\\& co" in latex
    settings = list(csv.reader(io.StringIO(export("settings", "csv").text)))
    assert settings[0][2:] == ["pairs", "n", "Persona", "RAG", "RAG, filtered", "No Persona"]
    row = next(row for row in settings if row[1] == "scripted-1")
    assert (row[3], row[5], row[6], row[4] == row[7]) == ("18", "", "", True)
    picture = export("standings", "svg")
    assert picture["Content-Type"] == "image/svg+xml"
    assert picture.text.count("<circle") == 3
    assert "<b>" not in picture.text
    for name, ending in (("accuracy", "svg"), ("nothing", "csv"), ("accuracy", "exe")):
        assert export(name, ending).status_code == 404


def test_the_command_prints_the_tables_of_a_release(measured, tmp_path):
    asked = ("leaderboard", "--release", str(folders.folder_of(measured)))
    rows = json.loads(run(*asked, "--format", "json"))
    assert [row["rank"] for row in rows] == [1, 2, 2]
    latex = run(*asked, "--format", "latex")
    # Counts and ranks have no digits after the point, and what is no merit is not in bold.
    assert "\\& co\\_1 (persona) & 1 & 18 & \\textbf{100.0} & 82.4 &" in latex
    assert latex.count("scripted-1 (persona) & 2 & 18 & 66.7 & 50.8 &") == 1
    settings = run(*asked, "--table", "settings", "--format", "latex")
    assert settings.startswith("% Accuracy by setting")
    other = make_release(tmp_path / "other", {("general", "easy"): "r"})
    with pytest.raises(CommandError, match="No model was measured"):
        run("leaderboard", "--release", str(other))


def test_latex_marks_the_best_and_dashes_what_is_missing():
    rows = [tables.Row("chat", "a%b", [1.0, None]), tables.Row("chat", "c", [0.5, 2.0])]
    text = tables.as_latex(tables.Table("T", ["x", "y"], rows))
    assert "a\\%b & \\textbf{1.0} & -- \\\\" in text
    assert "c & 0.5 & \\textbf{2.0} \\\\" in text
    assert text.count("\\textit{chat}") == 1


def test_equal_scores_on_aspects_count_a_half_as_everywhere(tmp_path):
    """Table 4: the chosen answer scores higher. Figure 4: answers as rows."""
    folder = make_release(tmp_path / "r", {("specific", "easy"): "rr", ("general", "hard"): "r"})
    scores = {"specific-easy-0": (5, 3), "specific-easy-1": (2, 2), "general-hard-0": (1, 4)}
    lines = [f"{name}-{side},helpfulness,{value}" for name, pair in scores.items()
             for side, value in zip("cr", pair, strict=True)]  # fmt: skip
    (tmp_path / "a.csv").write_text("\n".join(["candidate,aspect,score", *lines]) + "\n")
    options = ("--release", str(folder), "--aspects", str(tmp_path / "a.csv"), "--format", "json")
    rows = json.loads(run("leaderboard", *options, "--table", "aspects"))
    values = {(row["group"], row["name"]): (row["n helpfulness"], row["helpfulness"])
              for row in rows}  # fmt: skip
    assert values["specific", "easy"] == values["specific", "whole"] == (2, 0.75)
    assert (values["general", "hard"], values["general", "easy"]) == ((1, 0), (0, None))
    rows = json.loads(run("leaderboard", *options, "--table", "correlations"))
    assert (rows[0]["n"], rows[0]["helpfulness"]) == (6, pytest.approx(1))
    # By hand, of 5, 2, 1, 3, 2, 4 and 1, 1, 1, 0, 0, 0: -0.5 / sqrt(65 / 6 * 1.5).
    assert rows[0]["chosen"] == pytest.approx(-0.5 / (65 / 6 * 1.5) ** 0.5)


def test_scores_of_a_studys_answers_on_aspects_stand_on_the_page(cast, release, login):
    """The scores that `import_scores` stored; a source of its own is a column of its own."""
    study, browser = release.study, login(cast.person("Rui"))
    assert "aspects" not in browser.get(page(release)).text
    query = cast.query(study)
    for side, value in (("c", 4.0), ("r", 2.0)):
        answer = study.candidates.create(
            query=query, external_id=f"specific-easy-0-{side}", text=side
        )
        answer.aspect_scores.create(aspect="helpfulness", score=value, source="one")
        answer.aspect_scores.create(aspect="helpfulness", score=-value, source="two")
        answer.aspect_scores.create(aspect="coherence", score=1.0)
    text = browser.get(page(release)).text
    assert "Accuracy on aspects" in text
    assert "Pearson&#x27;s correlation of aspects and choice" in text
    address = reverse("models-export", args=["tea", release.version, "aspects", "csv"])
    rows = list(csv.DictReader(io.StringIO(browser.get(address).text)))
    easy = next(row for row in rows if (row["group"], row["name"]) == ("specific", "easy"))
    assert easy == {
        "group": "specific", "name": "easy", "n coherence": "1", "coherence": "0.5",
        "n helpfulness (one)": "1", "helpfulness (one)": "1.0",
        "n helpfulness (two)": "1", "helpfulness (two)": "0.0",
    }  # fmt: skip
