"""Figures that others have printed."""

import csv
import json

import numpy as np
import pytest

from annotation.agreement.report import agreement_report
from annotation.agreement.statistics import correlation, kappas
from annotation.agreement.statistics.kappas import patterns_of
from annotation.agreement.statistics.krippendorff import alpha
from annotation.votes.table import votes_from_columns
from tests.agreement.conftest import SIX_TARGETS, make_votes

# The worked example of the encyclopedia article "Fleiss' kappa": 10 subjects, 14 raters.
FOURTEEN_RATERS = """0 0 0 0 14/0 2 6 4 2/0 0 3 5 6/0 3 9 2 0/2 2 8 1 1/7 7 0 0 0/3 2 6 3 0
/2 5 3 2 2/6 5 2 1 0/0 2 2 3 7"""


# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", section C.
FOUR_OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


def columns(rows, *names):
    return {
        column: [str(row[name]) for row in rows]
        for column, name in zip(("task", "worker", "label"), names, strict=True)
    }


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_fleiss_kappa_of_ten_subjects_and_fourteen_raters():
    counts = [[int(n) for n in row.split()] for row in FOURTEEN_RATERS.split("/")]
    patterns = patterns_of(counts)
    assert round(kappas.percent_agreement(patterns).value, 3) == 0.378
    assert round(kappas.fleiss_kappa(patterns).value, 3) == 0.210


@pytest.mark.parametrize(
    ("level", "published"),
    [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)],
)
def test_krippendorffs_own_example_with_missing_votes(level, published):
    counts = [
        [sum(row[unit] == str(value) for row in FOUR_OBSERVERS) for value in range(1, 6)]
        for unit in range(12)
    ]
    found = alpha(patterns_of(counts), level, [1, 2, 3, 4, 5])
    assert round(found.value, 3) == published


def test_the_report_of_a_complete_table_gives_the_same_six_forms():
    table = {
        f"t{i}": {f"j{j}": str(score) for j, score in enumerate(row)}
        for i, row in enumerate(SIX_TARGETS)
    }
    found = agreement_report(make_votes(table), "interval")["icc"]
    expected = correlation.icc(correlation.sums_of_table(SIX_TARGETS))
    for name, coefficient in expected.items():
        assert found[name]["value"] == pytest.approx(coefficient.value, abs=1e-12)
        assert found[name]["low"] == pytest.approx(coefficient.low, abs=1e-12)


def test_four_raters_with_missing_ratings(shared):
    path = shared / "agreement-reference" / "cac.raw4raters.csv"
    table = {
        row["Units"]: {w: v for w, v in row.items() if w != "Units" and v}
        for row in csv.DictReader(path.open())
    }
    report = agreement_report(make_votes(table))
    named = ("percent_agreement", "gwet_ac1", "fleiss_kappa", "brennan_prediger")
    assert [round(report[name]["value"], 5) for name in named] == [
        0.81818, 0.77544, 0.76117, 0.77273,
    ]  # fmt: skip
    assert round(report["krippendorff_alpha"]["nominal"]["value"], 5) == 0.74342
    assert report["items"] == 12
    assert report["votes_per_item"] == {"min": 1, "median": 4.0, "max": 4}


def test_two_raters_and_a_hundred_subjects(shared):
    path = shared / "agreement-reference" / "cont3x3abstractors.csv"
    header, *rows = list(csv.reader(path.open()))
    table, subject = {}, 0
    for name, *cells in rows:
        for other, count in zip(header[1:], cells, strict=True):
            for _ in range(int(count)):
                table[f"s{subject}"] = {"one": name, "two": other}
                subject += 1
    report = agreement_report(make_votes(table))
    assert report["percent_agreement"]["value"] == pytest.approx(0.89)
    assert report["cohen_kappa"]["mean"] == pytest.approx(0.7964094, abs=1e-7)
    assert report["fleiss_kappa"]["value"] == pytest.approx(0.7962397, abs=1e-7)
    assert report["gwet_ac1"]["value"] == pytest.approx(0.8493305, abs=1e-7)
    assert report["brennan_prediger"]["value"] == pytest.approx(0.835)
    alphas = report["krippendorff_alpha"]["nominal"]["value"]
    assert alphas == pytest.approx(0.7972585, abs=1e-7)


def test_convincing_arguments(shared):
    rows = records(shared / "ukp-convarg" / "judgments.jsonl")
    votes = votes_from_columns(columns(rows, "item_id", "annotator", "choice"))
    report = agreement_report(votes, resamples=0)
    assert round(report["krippendorff_alpha"]["nominal"]["value"], 6) == 0.376657
    counts = kappas.count_votes(votes.task, votes.label, len(votes.tasks), 3)
    five = patterns_of(counts[counts.sum(axis=1) == 5])
    assert five.items == 3911
    assert round(kappas.fleiss_kappa(five).value, 6) == 0.376275
    largest = np.bincount(five.counts.max(axis=1), weights=five.weight)
    assert largest[[5, 4, 3, 2]].tolist() == [1194, 1085, 1214, 418]


def test_safety_of_replies_with_seventy_raters(shared):
    rows = list(csv.DictReader((shared / "dices-990" / "judgments.csv").open()))
    votes = votes_from_columns(columns(rows, "item_id", "slot", "is_safe"))
    found = agreement_report(votes, resamples=0)["krippendorff_alpha"]["nominal"]["value"]
    assert found == pytest.approx(0.14324966231784253, abs=1e-14)


def test_likert_scores_of_recipes(shared):
    rows = records(shared / "recipe-likert" / "judgments.jsonl")
    found = {}
    for criterion in rows[0]["ratings"]:
        known = [
            {**row, "score": row["ratings"][criterion]}
            for row in rows
            if row["ratings"].get(criterion) is not None
        ]
        votes = votes_from_columns(columns(known, "item_id", "annotator", "score"))
        report = agreement_report(votes, "ordinal", resamples=0)
        found[criterion] = round(report["krippendorff_alpha"]["ordinal"]["value"], 6)
    assert found == {
        "grammar": 0.415127, "fluency": 0.432398, "verbosity": 0.399142, "structure": 0.398558,
        "success": 0.362716, "overall": 0.435101,
    }  # fmt: skip


def test_three_answers_ranked(shared):
    rows = records(shared / "squality-eval" / "judgments.jsonl")
    choice = votes_from_columns(columns(rows, "item_id", "annotator", "choice"))
    report = agreement_report(choice, declared=["bart", "bart-dpr", "human"])
    assert report["fleiss_kappa"] == {"value": None, "reason": "only one category was voted for"}
    assert report["percent_agreement"]["value"] == report["symmetric_kappa"]["value"] == 1
    machine = [
        {**row, "better": min(("bart", "bart-dpr"), key=lambda m, r=row: _rank(r, m))}
        for row in rows
    ]
    votes = votes_from_columns(columns(machine, "item_id", "annotator", "better"))
    alphas = agreement_report(votes, resamples=0)["krippendorff_alpha"]
    assert round(alphas["nominal"]["value"], 6) == 0.298824
    scores = [
        {"task": f"{row['item_id']}/{m}", "worker": row["annotator"], "score": r["overall"]}
        for row in rows
        for m, r in row["ratings"].items()
    ]
    votes = votes_from_columns(columns(scores, "task", "worker", "score"))
    report = agreement_report(votes, "interval", resamples=0)
    assert round(report["krippendorff_alpha"]["interval"]["value"], 6) == 0.833734


def _rank(row, model):
    return row["ratings"][model]["rank"]["overall"]
