"""`tiers --votes`: what it prints."""

import json

import pytest

from tests.agreement.conftest import run


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
