"""The commands `agreement` and `tiers` of a file of votes: what they print and refuse."""

import json
import subprocess
import sys
import warnings

import pytest
from django.core.management import execute_from_command_line

from tests.agreement.conftest import GOOD, refused, run


def test_the_json_report_has_the_contracts_keys(votes_file):
    report = json.loads(run("agreement", "--votes", votes_file(GOOD), "--json"))
    assert list(report) == [
        "items", "paired_items", "votes", "workers", "votes_per_item", "categories",
        "percent_agreement",
        "fleiss_kappa", "symmetric_kappa", "brennan_prediger", "gwet_ac1", "gwet_ac2",
        "krippendorff_alpha", "cohen_kappa", "icc",
    ]  # fmt: skip
    assert (report["items"], report["votes"], report["workers"]) == (2, 4, 2)
    assert report["votes_per_item"] == {"min": 2, "median": 2.0, "max": 2}
    assert report["categories"] == ["a", "b"]
    assert set(report["percent_agreement"]) >= {"value", "se", "low", "high"}
    assert report["percent_agreement"]["value"] == 0.5
    assert report["symmetric_kappa"]["value"] == 0
    assert report["fleiss_kappa"]["value"] == pytest.approx((0.5 - 0.625) / 0.375)
    assert list(report["krippendorff_alpha"]) == ["nominal"]
    pair = report["cohen_kappa"]["pairs"][0]
    assert (pair["a"], pair["b"], pair["n"], pair["value"]) == ("ann", "bo", 2, 0)
    assert report["cohen_kappa"]["mean"] == 0


def test_declared_labels_count_as_options(votes_file):
    path = votes_file(GOOD)
    report = json.loads(run("agreement", "--votes", path, "--labels", "a,b,c,d,e", "--json"))
    assert report["categories"] == ["a", "b", "c", "d", "e"]
    assert report["brennan_prediger"]["value"] == pytest.approx((0.5 - 0.2) / 0.8)
    error = refused("agreement", "--votes", path, "--labels", "a,c")
    assert str(error) == f"{path}:3: the label 'b' is not one of the declared labels"
    assert error.returncode == 1


def test_higher_levels_give_the_lower_alphas_too(votes_file):
    path = votes_file("task,worker,label\n1,a,1\n1,b,1.0\n2,a,2\n2,b,3.5\n")
    report = json.loads(run("agreement", "--votes", path, "--level", "interval", "--json"))
    assert report["categories"] == [1, 2, 3.5]
    assert list(report["krippendorff_alpha"]) == ["nominal", "ordinal", "interval"]
    assert report["gwet_ac2"]["value"] is not None
    assert set(report["icc"]) == {"icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k"}
    assert report["cohen_kappa"]["pairs"][0]["quadratic"] is not None


def test_tables_for_people(votes_file):
    path = votes_file(GOOD)
    printed = run("agreement", "--votes", path)
    assert "4 votes of 2 annotators on 2 items" in printed
    assert "Cohen's kappa, mean of 1 pairs: 0.000" in printed
    printed = run("tiers", "--votes", path)
    assert "pending" in printed


def test_more_numbers_than_can_be_weighed_are_refused_with_advice(votes_file):
    rows = "\n".join(f"t{i},ann,{i / 7}" for i in range(3001))
    path = votes_file(f"task,worker,label\n{rows}\n")
    error = refused("agreement", "--votes", path, "--level", "interval")
    assert str(error).startswith(f"{path}:2: 3,001 different numbers are too many")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("demo", "--votes", "x.csv"),
        ("--votes", "x.csv", "--level", "best"),
        ("--votes", "x.csv", "--bootstrap", "-1"),
        ("--votes", "x.csv", "--bootstrap", "many"),
        ("--votes", "x.csv", "--labels", "a,,b"),
        ("--votes", "x.csv", "--labels", "a,a"),
        ("--votes", "x.csv", "--bootstrap", "1" * 5000),
    ],
)
def test_wrong_usage_is_refused_before_anything_is_read(arguments):
    assert "Error" in str(refused("agreement", *arguments))


def test_declared_labels_must_be_numbers_where_the_level_wants_them(votes_file):
    path = votes_file("task,worker,label\nt1,ann,1\nt1,bo,2\n")
    error = refused("agreement", "--votes", path, "--level", "ordinal", "--labels", "1,2,tie")
    assert str(error) == "--labels: 'tie' is not a number (ordinal level)"
    assert error.returncode == 2


@pytest.mark.parametrize("scores", ["0 1e-200 0", "1e-320 2e-320 1e-320", "1e100 -1e100 0"])
def test_numbers_at_the_ends_of_floating_point_give_values_or_reasons(votes_file, scores):
    first, second, third = scores.split()
    rows = f"t1,a,{first}\nt1,b,{second}\nt2,a,{third}\nt2,b,{third}\nt3,a,0.5\n"
    path = votes_file("task,worker,label\n" + rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = json.loads(run("agreement", "--votes", path, "--level", "interval", "--json"))
    alpha = report["krippendorff_alpha"]["interval"]
    assert alpha["value"] is not None or "too close" in alpha["reason"]


def test_one_item_has_values_and_no_interval_by_any_way(votes_file):
    report = json.loads(run("agreement", "--votes", votes_file(GOOD[: GOOD.index("t2")]), "--json"))
    for found in (report["percent_agreement"], report["krippendorff_alpha"]["nominal"]):
        assert found == {
            "value": 0, "se": None, "low": None, "high": None,
            "reason": "one item has no standard error",
        }  # fmt: skip


def test_a_reader_that_has_seen_enough_is_no_error(votes_file):
    path = votes_file("task,worker,label\n" + "".join(f"t,w{i},a\n" for i in range(700)))
    command = [sys.executable, "manage.py", "agreement", "--votes", path, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""


def test_exit_statuses_and_what_stands_on_which_stream(votes_file, capsys):
    def status(*arguments):
        try:
            execute_from_command_line(["manage.py", *map(str, arguments)])
        except SystemExit as leaving:
            return leaving.code, *capsys.readouterr()
        return 0, *capsys.readouterr()

    code, out, err = status("agreement", "--votes", votes_file(GOOD), "--json")
    assert (code, json.loads(out)["votes"], err) == (0, 4, "")
    bad = votes_file("task,worker\n", "bad.csv")
    code, out, err = status("agreement", "--votes", bad, "--json")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert f"{bad}:1: there is no column label" in err
    assert status("tiers", "--votes", bad, "--options", "1")[0] == 2
    assert status("agreement")[0] == 2


def test_the_tiers_of_a_file_say_of_all_items_what_they_say_of_each_tier(votes_file):
    rows = [f"t{i},w{j},{'a' if j >= i else 'b'}" for i in range(3) for j in range(9)]
    path = votes_file("task,worker,label\n" + "\n".join([*rows, "t9,w0,a"]))
    report = json.loads(run("tiers", "--votes", path, "--json"))
    assert report["all"]["items"] == 4
    assert report["all"]["votes_per_item"] == {"min": 1, "median": 9, "max": 9}
    assert report["all"]["symmetric_kappa"]["value"] == pytest.approx((1 + 5 / 9 + 2 / 9) / 3)
    assert set(report["all"]) < set(report["tiers"]["hard"]) >= {"gwet_ac1", "krippendorff_alpha"}
    assert report["tiers"]["pending"]["votes_per_item"] == {"min": 1, "median": 1, "max": 1}
    assert report["tiers"]["ambiguous"]["votes_per_item"]["max"] is None
    lines = run("tiers", "--votes", path).splitlines()
    assert lines[2].split() == [
        *("tier", "items", "votes", "agreement", "kappa", "raw", "Fleiss", "AC1", "alpha"),
        *("new", "panel", "band", "in", "band"),
    ]
    assert lines[3].split()[:3] == ["all", "4", "1/9/9"]
