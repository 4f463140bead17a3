"""Releases are compared with each other and uploaded; nothing leaves without being asked for."""

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.datasets import folders
from annotation.datasets.difference import compare


def test_a_difference_names_rows_that_were_added_or_changed(cast, items, vote, built, capsys):
    first, second, third = items(3)
    vote(first, "1" * 9)
    vote(second, "1" * 8)
    old = folders.folder_of(built("long"))
    again = folders.folder_of(built("long"))
    assert compare(old, again)["tables"] == {}  # pseudonyms differ, rows do not
    vote(second, "2", people=[cast.person("Nina")])
    vote(third, "2" * 9)
    new = folders.folder_of(built("long"))
    difference = compare(old, new)
    judgments = difference["tables"]["judgments"]
    assert (judgments["added"], judgments["changed"], judgments["removed"]) == (1, 1, 0)
    assert judgments["ids"]["added"] == [third.external_id]
    assert difference["tables"]["items"]["ids"]["changed"] == [
        second.external_id, third.external_id
    ]  # fmt: skip
    assert difference["counts"]["judgments"] == [17, 27]
    call_command("diff_releases", old, new)
    assert "judgments: 1 added, 0 removed, 1 changed, 1 same" in capsys.readouterr().out
    call_command("diff_releases", old, again)
    assert capsys.readouterr().out.endswith("no row differs\n")
    with pytest.raises(CommandError, match=r"manifest\.json"):
        call_command("diff_releases", old, old.parent)


def test_a_dry_run_checks_and_lists_what_would_be_uploaded(items, vote, built, capsys):
    vote(items(1)[0], "1" * 9)
    folder = folders.folder_of(built("long"))
    call_command("push_release", folder, "lab/tea", "--dry-run", "--json")
    report = json.loads(capsys.readouterr().out)
    assert (report["private"], report["uploaded"]) == (True, False)
    assert report["files"] == sum(path.is_file() for path in folder.rglob("*"))
    with pytest.raises(CommandError, match="OWNER/NAME"):
        call_command("push_release", folder, "tea", "--dry-run")
    (folder / "items.jsonl").write_text("{}\n")
    with pytest.raises(CommandError, match=r"not whole: items\.jsonl has changed"):
        call_command("push_release", folder, "lab/tea", "--dry-run")


def test_a_hub_out_of_reach_is_one_sentence(items, vote, built, monkeypatch):
    pytest.importorskip("huggingface_hub", reason="the extra [hub] is not installed")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    vote(items(1)[0], "1" * 9)
    with pytest.raises(CommandError, match="The Hub did not take it"):
        call_command("push_release", folders.folder_of(built("long")), "lab/tea")


def test_a_review_lists_what_looks_like_personal_data_with_its_place(items, vote, built, capsys):
    first, second = items(2)
    vote(first, "1", reason="Write to mina.park@example.org about it.")
    vote(second, "2", reason="It is calm.")
    folder = folders.folder_of(built("long"))
    call_command("review_release", folder, "--json")
    (passage,) = json.loads(capsys.readouterr().out)["passages"]
    assert (passage["file"], passage["line"], passage["field"], passage["text"]) == (
        "judgments.jsonl", 1, "reason", "mina.park@example.org"
    )  # fmt: skip
    call_command("review_release", folder)
    assert "1 passages to read" in capsys.readouterr().out
    with pytest.raises(CommandError, match="manifest"):
        call_command("review_release", folder.parent)
