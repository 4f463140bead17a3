"""The page of models on a release: cost first, workers, standings, exports."""

import json

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from annotation.datasets import folders
from annotation.evaluation import leaderboard, tasks
from annotation.evaluation.models import Benchmark, Run
from tests.evaluation.conftest import CELLS, ask, page

pytestmark = pytest.mark.django_db


def test_a_curator_sees_the_cost_before_anything_is_asked(cast, release, server, login):
    browser = login(cast.person("Carol"))
    shown = ask(browser, release)
    assert (shown.status_code, "36 calls" in shown.content.decode()) == (200, True)
    assert (Run.objects.count(), server.calls) == (0, 0)
    assert ask(browser, release, confirmed="1").status_code == 302
    run = Run.objects.get()
    assert (run.status, run.background, run.created_by.name) == ("requested", True, "Carol")
    assert "No worker is running" in browser.get(page(release)).content.decode()
    tasks.work(run.pk)
    assert run.benchmark.release == release
    run.refresh_from_db()
    assert run.result["average"]["value"] == pytest.approx(1200 / 18)
    shown = browser.get(page(release)).content.decode()
    assert "66.7" in shown
    # Six of the pairs have answers of nearly equal length.
    assert "cannot be told" in shown
    assert "fewer than 10 pairs" in run.result["length_controlled"]["reason"]


def test_models_that_differ_by_chance_share_a_rank(cast, measured, login):
    rows = leaderboard.standings(Benchmark.objects.get())
    assert [(row.rank, row.run.setting) for row in rows] == [
        (1, "persona"), (2, "persona"), (2, "none"),
    ]  # fmt: skip
    assert rows[1].behind.value == pytest.approx(1200 / 18 - 100)
    assert rows[1].behind.high < 0
    shown = login(cast.person("Rui")).get(page(measured)).content.decode()
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


def test_runs_on_other_pairs_stand_apart_and_are_never_the_best(cast, partly, login, capsys):
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
    capsys.readouterr()
    for table in ("accuracy", "settings"):
        call_command("leaderboard", "--release", folder, "--table", table, "--format", "latex")
        main, *others = capsys.readouterr().out.split("On other pairs: ")
        assert [part.split(" \\\\")[0] for part in others] == [
            "5 of 18}", "3 of 18}",
        ]  # fmt: skip
        assert "scripted-1 & 18 & " in main
        assert "more & 5 & " in others[0]
        assert not any("\\textbf" in part for part in (main, *others))
    call_command("leaderboard", "--release", folder, "--format", "json")
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert (found["more (persona)"]["rank"], found["more (persona)"]["pairs"]) == (None, "5 of 18")
    shown = login(cast.person("Rui")).get(page(partly)).content.decode()
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


def test_the_api_asks_and_tells(cast, release, server):
    from django.test import Client

    from annotation.accounts.models import ApiToken

    def api(name, method, address, body=None):
        headers = {"Authorization": f"Bearer {ApiToken.issue(cast.person(name))[1]}"}
        return getattr(Client(), method)(
            address, body, content_type="application/json", headers=headers
        )

    address = reverse("api-evaluations", args=[release.public_id])
    wanted = json.dumps({"endpoint": "scripted", "setting": "none", "limit": 4})
    assert api("Rui", "post", address, wanted).status_code == 403
    assert api("Carol", "post", address, json.dumps({"setting": "x"})).status_code == 400
    answer = api("Carol", "post", address, wanted)
    assert (answer.status_code, answer.json()["status"]) == (202, "requested")
    tasks.work(Run.objects.get().pk)
    row = api("Rui", "get", answer["Location"]).json()
    assert (row["status"], row["result"]["n"]) == ("done", 4)
    assert [r["id"] for r in api("Rui", "get", address).json()] == [row["id"]]
